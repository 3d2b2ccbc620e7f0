/* SPDX-License-Identifier: Apache-2.0 */
#include "view/neighbours.h"
#include "view/share.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/text.h"
#include "base/vector.h"
#include "view/measure.h"
#include "view/stack_slots.h"

/* Callers, and callees, that are told apart: for readers, and for programs. */
enum { NR_SHOWN = 5, NR_IN_JSON = 20 };

/* A function that is next to one. */
struct neighbour {
	uint32_t function;
	uint32_t last_stack; /* index + 1 of the stack that counted it last */
	uint64_t count;
};

/* All that are. */
struct side {
	VECTOR(struct neighbour) all;
	struct id_table ids;
	uint64_t outermost; /* of what is shown, in which the function has no caller */
};

struct entry {
	uint32_t function;
	uint64_t self, total;
	struct side callers, callees;
};

static void side_fini(struct side *side)
{
	vector_fini(&side->all);
	id_table_fini(&side->ids);
}

struct entries {
	struct entry list[NEIGHBOURS_FUNCTIONS_MAX];
	size_t nr;
	struct stack_slots chain; /* a stack as functions, from the root to the leaf */
};

static void entries_fini(struct entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++) {
		side_fini(&entries->list[i].callers);
		side_fini(&entries->list[i].callees);
	}
	vector_fini(&entries->chain);
}

static void make_chain(struct entries *entries, const struct function_index *index,
		       const struct recording_stack *stack)
{
	struct stack_slots *chain = &entries->chain;

	chain->nr = 0;
	must_stack_slots(index->texts, stack, &(struct stack_slot_options){ .own = true }, chain);
	for (size_t i = 0; i < chain->nr; i++)
		chain->list[i] = index->of_slots[chain->list[i]];
}

/* @stack_number: index + 1. */
static void count_neighbour(struct side *side, uint32_t function, uint32_t stack_number,
			    uint64_t count)
{
	uint64_t hash = id_table_hash(0, &function, sizeof(function));
	uint32_t idx = ID_TABLE_FIND(&side->ids, hash, i, side->all.list[i].function == function);

	if (idx == ID_TABLE_NONE) {
		idx = (uint32_t)side->all.nr;
		must_id_table_add(&side->ids, hash, idx);
		must_push(&side->all, { .function = function });
	}

	struct neighbour *neighbour = &side->all.list[idx];

	if (neighbour->last_stack != stack_number)
		neighbour->count += count;
	neighbour->last_stack = stack_number;
}

/* @chain [nr]: a stack. */
static void count_chain(struct entry *entry, const uint32_t *chain, size_t nr,
			uint32_t stack_number, uint64_t count)
{
	bool there = false;

	for (size_t i = 0; i < nr; i++) {
		if (chain[i] != entry->function)
			continue;
		there = true;
		if (i + 1 < nr)
			count_neighbour(&entry->callees, chain[i + 1], stack_number, count);
		else
			entry->self += count;
		if (i)
			count_neighbour(&entry->callers, chain[i - 1], stack_number, count);
		else
			entry->callers.outermost += count;
	}
	entry->total += there ? count : 0;
}

/* Most often first; as functions are numbered where that is the same. */
static int compare_neighbours(const void *left, const void *right)
{
	const struct neighbour *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static void write_side(FILE *to, const struct function_index *index, struct side *side,
		       const char *indent, uint64_t sum)
{
	const struct neighbour *list = side->all.list;
	size_t nr_left = 0;

	for (size_t i = 0; i < side->all.nr && list[i].count; i++) {
		if (i < NR_SHOWN)
			fprintf(to, " %6.1f%%  %s%s\n", share_percent(list[i].count, sum), indent,
				function_index_text(index, list[i].function));
		else
			nr_left++;
	}
	if (side->outermost)
		fprintf(to, " %6.1f%%  %s(outermost)\n", share_percent(side->outermost, sum),
			indent);
	if (nr_left)
		fprintf(to, "          %s... and %zu more\n", indent, nr_left);
}

static void write_entry(FILE *to, const struct function_index *index, struct entry *entry,
			uint64_t sum)
{
	char buf[128], place[128];

	text_escape(place, sizeof(place),
		    function_index_place(index, entry->function, buf, sizeof(buf)), "");
	putc('\n', to);
	write_side(to, index, &entry->callers, "  ", sum);
	fprintf(to, " %6.1f%%  %s  (%s), self %.1f%%\n", share_percent(entry->total, sum),
		function_index_text(index, entry->function), place,
		share_percent(entry->self, sum));
	write_side(to, index, &entry->callees, "    ", sum);
}

static void sort_side(struct side *side)
{
	if (side->all.nr)
		qsort(side->all.list, side->all.nr, sizeof(*side->all.list), compare_neighbours);
}

/* Count those of @functions [@nr]; *ret is zero at first. */
static void count_entries(const struct function_index *index, const uint32_t *functions, size_t nr,
			  struct entries *ret)
{
	const struct recording *recording = index->texts->recording;
	struct measure measure;

	measure_init(recording, &measure);
	for (; ret->nr < nr && ret->nr < NEIGHBOURS_FUNCTIONS_MAX; ret->nr++)
		ret->list[ret->nr].function = functions[ret->nr];
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		make_chain(ret, index, &recording->stacks[i]);
		for (size_t j = 0; j < ret->nr; j++)
			count_chain(&ret->list[j], ret->chain.list, ret->chain.nr,
				    (uint32_t)(i + 1),
				    measure_stack(&measure, &recording->stacks[i]));
	}
	for (size_t i = 0; i < ret->nr; i++) {
		sort_side(&ret->list[i].callers);
		sort_side(&ret->list[i].callees);
	}
}

void neighbours_write(FILE *to, const struct function_index *index, const uint32_t *functions,
		      size_t nr, uint64_t sum)
{
	CLEANUP(entries_fini) struct entries entries = { .nr = 0 };

	count_entries(index, functions, nr, &entries);
	for (size_t i = 0; i < entries.nr; i++)
		write_entry(to, index, &entries.list[i], sum);
}

static void json_side(struct json *json, const char *key, const struct function_index *index,
		      const struct side *side)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < side->all.nr && i < NR_IN_JSON; i++) {
		const struct neighbour *neighbour = &side->all.list[i];

		if (!neighbour->count)
			break;
		json_open(json, NULL, '{');
		function_index_json(index, neighbour->function, json);
		json_number(json, "total", neighbour->count);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_entry(struct json *json, const struct function_index *index,
		       const struct entry *entry)
{
	json_open(json, NULL, '{');
	function_index_json(index, entry->function, json);
	json_number(json, "self", entry->self);
	json_number(json, "total", entry->total);
	json_number(json, "outermost", entry->callers.outermost);
	json_side(json, "callers", index, &entry->callers);
	json_side(json, "callees", index, &entry->callees);
	json_close(json, '}');
}

void neighbours_json(struct json *json, const char *key, const struct function_index *index,
		     const uint32_t *functions, size_t nr)
{
	CLEANUP(entries_fini) struct entries entries = { .nr = 0 };

	count_entries(index, functions, nr, &entries);
	JSON_ARRAY(json, key, entries.nr, json_entry(json, index, &entries.list[i]));
}
