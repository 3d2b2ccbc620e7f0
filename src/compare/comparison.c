/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

uint64_t comparison_parted(const struct comparison_row *row)
{
	return row->counts[VERDICT_WRONG] + row->counts[VERDICT_SKIP] + row->counts[VERDICT_CUT];
}

uint64_t comparison_judged(const struct comparison_row *row)
{
	return row->counts[VERDICT_AGREE] + comparison_parted(row);
}

static void table_fini(struct comparison_table *table)
{
	free(table->rows);
	free(table->slots);
}

void comparison_fini(struct comparison *comparison)
{
	table_fini(&comparison->programs);
	table_fini(&comparison->objects);
	table_fini(&comparison->before);
	table_fini(&comparison->partings);
}

static bool same_key(const struct comparison_row *a, const struct comparison_row *b)
{
	return a->text == b->text && a->object == b->object && a->class == b->class &&
	       a->rule == b->rule;
}

static size_t *find_slot(const struct comparison_table *table, const struct comparison_row *key)
{
	/* Classes and rules of one place are few: they are told apart by looking. */
	uint64_t hash = ((uint64_t)key->text << 32 | key->object) * 0x9e3779b97f4a7c15u;
	size_t idx = (hash >> 20) & (table->nr_slots - 1);

	while (table->slots[idx] && !same_key(&table->rows[table->slots[idx] - 1], key))
		idx = (idx + 1) & (table->nr_slots - 1);
	return &table->slots[idx];
}

static int table_grow(struct comparison_table *table)
{
	size_t nr_slots = table->nr_slots ? 2 * table->nr_slots : 64;
	struct comparison_row *rows = reallocarray(table->rows, nr_slots / 2, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	table->room = nr_slots / 2;

	size_t *slots = calloc(nr_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->nr_slots = nr_slots;
	for (size_t i = 0; i < table->nr; i++)
		*find_slot(table, &rows[i]) = i + 1;
	return 0;
}

static int table_add(struct comparison_table *table, const struct comparison_row *key,
		     enum verdict_class class, uint64_t count)
{
	if (table->nr == table->room && table_grow(table))
		return -ENOMEM;

	size_t *slot = find_slot(table, key);
	if (!*slot) {
		table->rows[table->nr] = *key;
		*slot = ++table->nr;
	}
	table->rows[*slot - 1].counts[class] += count;
	return 0;
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct comparison_row *a = left, *b = right;
	uint64_t parted_a = comparison_parted(a), parted_b = comparison_parted(b);
	uint64_t judged_a = comparison_judged(a), judged_b = comparison_judged(b);
	const struct names *names = ctx;

	if (judged_a != judged_b)
		return judged_a > judged_b ? -1 : 1;
	if (parted_a != parted_b)
		return parted_a > parted_b ? -1 : 1;
	if (a->counts[VERDICT_UNJUDGED] != b->counts[VERDICT_UNJUDGED])
		return a->counts[VERDICT_UNJUDGED] > b->counts[VERDICT_UNJUDGED] ? -1 : 1;
	if (a->text != b->text)
		return strcmp(strings_text(&names->strings, a->text),
			      strings_text(&names->strings, b->text));
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

static void table_sort(struct comparison_table *table, struct names *names)
{
	if (table->nr)
		qsort_r(table->rows, table->nr, sizeof(*table->rows), compare_rows, names);
	free(TAKE_PTR(table->slots));
}

static int ask_rules(const struct profile *profile, const struct verdict *verdicts,
		     struct fp_rules *rules)
{
	int err = 0;

	for (size_t i = 0; !err && i < profile->nr_stacks; i++) {
		const struct verdict *verdict = &verdicts[i];

		if (verdict->class != VERDICT_AGREE && verdict->nr_followed)
			err = fp_rules_ask(rules,
					   profile->stacks[i].frames[verdict->nr_followed - 1]);
	}
	fp_rules_resolve(rules);
	return err;
}

/* Count a sample whose walks part under the frame where they do. */
static int count_parting(struct comparison *comparison, struct names *names,
			 const struct profile_stack *stack, const struct verdict *verdict,
			 const struct fp_rules *rules)
{
	struct comparison_row key = { .class = verdict->class, .rule = FP_RULE_UNKNOWN };
	struct comparison_row before = { .object = 0 };
	struct frame_name name;
	int err;

	names_user(names, stack, stack->frames[verdict_parting(stack, verdict)], &name);
	err = names_text(names, &name, &key.text);
	if (err)
		return err;
	if (verdict->nr_followed) {
		uint64_t frame = stack->frames[verdict->nr_followed - 1];

		key.rule = fp_rules_find(rules, frame);
		if (!frame_is_raw(frame) && frame_object(frame) <= names->profile->nr_objects)
			before.object = frame_object(frame);
	}
	key.object = name.object;
	comparison->rules[key.class][key.rule] += stack->count;
	err = table_add(&comparison->partings, &key, verdict->class, stack->count);
	if (!err)
		err = table_add(&comparison->objects,
				&(struct comparison_row){ .object = name.object }, verdict->class,
				stack->count);
	if (!err)
		err = table_add(&comparison->before, &before, verdict->class, stack->count);
	return err;
}

static int count_stack(struct comparison *comparison, struct names *names,
		       const struct profile_stack *stack, const struct verdict *verdict,
		       const struct fp_rules *rules)
{
	struct comparison_row program = { .comm = stack->comm };
	int err = names_comm(names, stack->comm, &program.text);

	comparison->shown += stack->count;
	comparison->counts[verdict->class] += stack->count;
	if (verdict->class != VERDICT_UNJUDGED) {
		uint64_t reach = names->profile->fp_max;

		comparison->frames +=
			stack->count * (stack->nr_user < reach ? stack->nr_user : reach);
		comparison->frames_common += stack->count * verdict->nr_common;
	}
	if (!err)
		err = table_add(&comparison->programs, &program, verdict->class, stack->count);
	if (err || verdict->class == VERDICT_AGREE)
		return err;
	if (verdict->class == VERDICT_UNJUDGED) {
		comparison->reasons[verdict->reason] += stack->count;
		return 0;
	}
	return count_parting(comparison, names, stack, verdict, rules);
}

static void cleanup_rules(struct fp_rules *rules)
{
	fp_rules_fini(rules);
}

int comparison_make(struct names *names, const struct recording *recording, struct comparison *ret,
		    struct fpl_err *err)
{
	const struct profile *profile = names->profile;
	CLEANUP(cleanup_rules) struct fp_rules rules;
	AUTO_FREE struct verdict *verdicts = calloc(profile->nr_stacks + 1, sizeof(*verdicts));
	int error = verdicts ? 0 : -ENOMEM;

	*ret = (struct comparison){ .names = names, .recording = recording };
	fp_rules_init(&rules, names->namer);
	for (size_t i = 0; !error && i < profile->nr_stacks; i++)
		verdicts[i] = verdict_of(&profile->stacks[i], profile->fp_max);
	if (!error)
		error = ask_rules(profile, verdicts, &rules);
	for (size_t i = 0; !error && i < profile->nr_stacks; i++)
		error = count_stack(ret, names, &profile->stacks[i], &verdicts[i], &rules);
	if (error)
		return fpl_fail(err, error, "out of memory to compare %zu stacks",
				profile->nr_stacks);
	ret->judged = ret->shown - ret->counts[VERDICT_UNJUDGED];
	table_sort(&ret->programs, names);
	table_sort(&ret->objects, names);
	table_sort(&ret->before, names);
	table_sort(&ret->partings, names);
	return 0;
}
