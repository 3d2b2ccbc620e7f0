/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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
	vector_fini(&table->rows);
	id_table_fini(&table->ids);
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

static void table_add(struct comparison_table *table, const struct comparison_row *key,
		      enum verdict_class class, uint64_t count)
{
	const uint32_t words[] = { key->text, key->object, key->class, key->rule };
	uint64_t hash = id_table_hash(0, words, sizeof(words));
	uint32_t at = ID_TABLE_FIND(&table->ids, hash, i, same_key(&table->rows.list[i], key));

	if (at == ID_TABLE_NONE) {
		at = (uint32_t)table->rows.nr;
		must_id_table_add(&table->ids, hash, at);
		must_push(&table->rows, *key);
	}
	table->rows.list[at].counts[class] += count;
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
	if (table->rows.nr)
		qsort_r(table->rows.list, table->rows.nr, sizeof(*table->rows.list), compare_rows,
			names);
	id_table_fini(&table->ids);
}

static void ask_rules(const struct profile *profile, const struct verdict *verdicts,
		      struct fp_rules *rules)
{
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct verdict *verdict = &verdicts[i];

		if (verdict->class != VERDICT_AGREE && verdict->nr_followed)
			fp_rules_ask(rules, profile->stacks[i].frames[verdict->nr_followed - 1]);
	}
	fp_rules_resolve(rules);
}

/* Count a sample whose walks part under the frame where they do. */
static void count_parting(struct comparison *comparison, struct names *names,
			  const struct profile_stack *stack, const struct verdict *verdict,
			  const struct fp_rules *rules)
{
	struct comparison_row key = { .class = verdict->class, .rule = FP_RULE_UNKNOWN };
	struct comparison_row before = { .object = 0 };
	struct frame_name name;

	names_user(names, stack, stack->frames[verdict_parting(stack, verdict)], &name);
	alloc_check(names_text(names, &name, &key.text));
	if (verdict->nr_followed) {
		uint64_t frame = stack->frames[verdict->nr_followed - 1];

		key.rule = fp_rules_find(rules, frame);
		if (!frame_is_raw(frame) && frame_object(frame) <= names->profile->nr_objects)
			before.object = frame_object(frame);
	}
	key.object = name.object;
	comparison->rules[key.class][key.rule] += stack->count;
	table_add(&comparison->partings, &key, verdict->class, stack->count);
	table_add(&comparison->objects, &(struct comparison_row){ .object = name.object },
		  verdict->class, stack->count);
	table_add(&comparison->before, &before, verdict->class, stack->count);
}

static void count_stack(struct comparison *comparison, struct names *names,
			const struct profile_stack *stack, const struct verdict *verdict,
			const struct fp_rules *rules)
{
	struct comparison_row program = { .comm = stack->comm };

	alloc_check(names_comm(names, stack->comm, &program.text));
	comparison->shown += stack->count;
	comparison->counts[verdict->class] += stack->count;
	if (verdict->class != VERDICT_UNJUDGED) {
		uint64_t reach = names->profile->fp_max;

		comparison->frames +=
			stack->count * (stack->nr_user < reach ? stack->nr_user : reach);
		comparison->frames_common += stack->count * verdict->nr_common;
	}
	table_add(&comparison->programs, &program, verdict->class, stack->count);
	if (verdict->class == VERDICT_UNJUDGED)
		comparison->reasons[verdict->reason] += stack->count;
	else if (verdict->class != VERDICT_AGREE)
		count_parting(comparison, names, stack, verdict, rules);
}

static void cleanup_rules(struct fp_rules *rules)
{
	fp_rules_fini(rules);
}

void comparison_make(struct names *names, const struct recording *recording, struct comparison *ret)
{
	const struct profile *profile = names->profile;
	CLEANUP(cleanup_rules) struct fp_rules rules;
	AUTO_FREE struct verdict *verdicts = must_calloc(profile->nr_stacks, sizeof(*verdicts));

	*ret = (struct comparison){ .names = names, .recording = recording };
	fp_rules_init(&rules, names->namer);
	for (size_t i = 0; i < profile->nr_stacks; i++)
		verdicts[i] = verdict_of(&profile->stacks[i], profile->fp_max);
	ask_rules(profile, verdicts, &rules);
	for (size_t i = 0; i < profile->nr_stacks; i++)
		count_stack(ret, names, &profile->stacks[i], &verdicts[i], &rules);
	ret->judged = ret->shown - ret->counts[VERDICT_UNJUDGED];
	table_sort(&ret->programs, names);
	table_sort(&ret->objects, names);
	table_sort(&ret->before, names);
	table_sort(&ret->partings, names);
}
