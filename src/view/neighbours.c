/* SPDX-License-Identifier: Apache-2.0 */
#include "view/neighbours.h"
#include "view/share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/text.h"

/* Callers, and callees, that are told apart. */
enum { NR_SHOWN = 5 };

/* A function that is next to one. */
struct neighbour {
	uint32_t function;
	uint32_t last_stack; /* index + 1 of the stack that counted it last */
	uint64_t count;
};

/* All that are. */
struct side {
	struct neighbour *list; /* owned [nr] */
	size_t nr, room;
	struct id_table ids;
	uint64_t nobody; /* samples in which none is */
};

struct entry {
	uint32_t function;
	uint64_t self, total;
	struct side callers, callees;
};

/* A stack as functions, leaf first. */
struct chain {
	uint32_t *ids; /* owned [room] */
	size_t nr, room;
};

static void side_fini(struct side *side)
{
	free(side->list);
	id_table_fini(&side->ids);
}

struct entries {
	struct entry list[NEIGHBOURS_FUNCTIONS_MAX];
	size_t nr;
	struct chain chain;
};

static void entries_fini(struct entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++) {
		side_fini(&entries->list[i].callers);
		side_fini(&entries->list[i].callees);
	}
	free(entries->chain.ids);
}

static int put_frames(struct chain *chain, const struct function_index *index,
		      const uint32_t *frames, size_t nr_frames)
{
	for (size_t i = 0; i < nr_frames; i++) {
		size_t nr;
		const uint32_t *ids = function_index_of(index, frames[i], &nr);

		if (chain->nr + nr > chain->room) {
			size_t room = 2 * (chain->nr + nr);
			uint32_t *more = reallocarray(chain->ids, room, sizeof(*more));

			if (!more)
				return -ENOMEM;
			chain->ids = more;
			chain->room = room;
		}
		memcpy(chain->ids + chain->nr, ids, nr * sizeof(*ids));
		chain->nr += nr;
	}
	return 0;
}

static int make_chain(struct chain *chain, const struct function_index *index,
		      const struct recording_stack *stack)
{
	const uint32_t *frames = &index->texts->recording->frame_ids[stack->first_frame];
	int err;

	chain->nr = 0;
	err = put_frames(chain, index, frames + stack->nr_user, stack->nr_kernel);
	return err ? err : put_frames(chain, index, frames, stack->nr_user);
}

static bool neighbour_is(const void *ctx, uint32_t index, const void *key)
{
	return ((const struct side *)ctx)->list[index].function == *(const uint32_t *)key;
}

/* @stack_number: index + 1. */
static int count_neighbour(struct side *side, uint32_t function, uint32_t stack_number,
			   uint64_t count)
{
	uint64_t hash = id_table_hash(0, &function, sizeof(function));
	uint32_t idx = id_table_find(&side->ids, hash, neighbour_is, side, &function);

	if (idx == ID_TABLE_NONE) {
		idx = (uint32_t)side->nr;
		if (array_reserve(&side->list, sizeof(*side->list), &side->room, side->nr + 1) ||
		    id_table_add(&side->ids, hash, idx))
			return -ENOMEM;
		side->list[side->nr++] = (struct neighbour){ .function = function };
	}

	struct neighbour *neighbour = &side->list[idx];

	if (neighbour->last_stack != stack_number)
		neighbour->count += count;
	neighbour->last_stack = stack_number;
	return 0;
}

static int count_chain(struct entry *entry, const struct chain *chain, uint32_t stack_number,
		       uint64_t count)
{
	bool there = false;
	int err = 0;

	for (size_t i = 0; !err && i < chain->nr; i++) {
		if (chain->ids[i] != entry->function)
			continue;
		there = true;
		if (i)
			err = count_neighbour(&entry->callees, chain->ids[i - 1], stack_number,
					      count);
		else
			entry->self += count;
		if (i + 1 == chain->nr)
			entry->callers.nobody += count;
		else if (!err)
			err = count_neighbour(&entry->callers, chain->ids[i + 1], stack_number,
					      count);
	}
	entry->total += there ? count : 0;
	return err;
}

/* Most often first; as functions are numbered where that is the same. */
static int compare_neighbours(const void *left, const void *right)
{
	const struct neighbour *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static const char *text_of(const struct function_index *index, uint32_t function)
{
	return strings_text(&index->texts->strings, index->list[function].text);
}

static void write_side(FILE *to, const struct function_index *index, struct side *side,
		       const char *indent, uint64_t samples)
{
	size_t nr_left = 0;

	if (side->nr)
		qsort(side->list, side->nr, sizeof(*side->list), compare_neighbours);
	for (size_t i = 0; i < side->nr && side->list[i].count; i++) {
		if (i < NR_SHOWN)
			fprintf(to, " %6.1f%%  %s%s\n", share_percent(side->list[i].count, samples),
				indent, text_of(index, side->list[i].function));
		else
			nr_left++;
	}
	if (side->nobody)
		fprintf(to, " %6.1f%%  %s(outermost)\n", share_percent(side->nobody, samples),
			indent);
	if (nr_left)
		fprintf(to, "          %s... and %zu more\n", indent, nr_left);
}

static void write_entry(FILE *to, const struct function_index *index, struct entry *entry,
			uint64_t samples)
{
	char buf[128], place[128];

	text_escape(place, sizeof(place),
		    function_index_place(index, entry->function, buf, sizeof(buf)), "");
	putc('\n', to);
	write_side(to, index, &entry->callers, "  ", samples);
	fprintf(to, " %6.1f%%  %s  (%s), self %.1f%%\n", share_percent(entry->total, samples),
		text_of(index, entry->function), place, share_percent(entry->self, samples));
	write_side(to, index, &entry->callees, "    ", samples);
}

int neighbours_write(FILE *to, const struct function_index *index, const uint32_t *functions,
		     size_t nr, uint64_t samples)
{
	const struct recording *recording = index->texts->recording;
	CLEANUP(entries_fini) struct entries entries = { .nr = 0 };

	for (; entries.nr < nr && entries.nr < NEIGHBOURS_FUNCTIONS_MAX; entries.nr++)
		entries.list[entries.nr].function = functions[entries.nr];
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		if (make_chain(&entries.chain, index, &recording->stacks[i]))
			return -ENOMEM;
		for (size_t j = 0; j < entries.nr; j++)
			if (count_chain(&entries.list[j], &entries.chain, (uint32_t)(i + 1),
					recording->stacks[i].count))
				return -ENOMEM;
	}
	for (size_t i = 0; i < entries.nr; i++)
		write_entry(to, index, &entries.list[i], samples);
	return 0;
}
