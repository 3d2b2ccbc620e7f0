/* SPDX-License-Identifier: Apache-2.0 */
#include "view/neighbours.h"
#include "view/share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Callers, and callees, that are told apart. */
enum { NR_SHOWN = 5 };

#define NOBODY UINT32_MAX

/* How often each function is next to one. */
struct side {
	uint64_t *counts; /* owned [nr functions] */
	size_t *stamps;	  /* owned [nr functions]: index + 1 of the stack that counted it last */
	uint64_t nobody;  /* samples in which none is */
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

static int side_init(struct side *side, size_t nr)
{
	side->counts = calloc(nr, sizeof(*side->counts));
	side->stamps = calloc(nr, sizeof(*side->stamps));
	return side->counts && side->stamps ? 0 : -ENOMEM;
}

static void side_fini(struct side *side)
{
	free(side->counts);
	free(side->stamps);
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

static void count_neighbour(struct side *side, uint32_t function, size_t stack_idx, uint64_t count)
{
	if (side->stamps[function] != stack_idx + 1)
		side->counts[function] += count;
	side->stamps[function] = stack_idx + 1;
}

static void count_chain(struct entry *entry, const struct chain *chain, size_t stack_idx,
			uint64_t count)
{
	bool there = false;

	for (size_t i = 0; i < chain->nr; i++) {
		if (chain->ids[i] != entry->function)
			continue;
		there = true;
		if (i)
			count_neighbour(&entry->callees, chain->ids[i - 1], stack_idx, count);
		else
			entry->self += count;
		if (i + 1 < chain->nr)
			count_neighbour(&entry->callers, chain->ids[i + 1], stack_idx, count);
		else
			entry->callers.nobody += count;
	}
	entry->total += there ? count : 0;
}

/* The function counted most often that comes behind (@count, @function); NOBODY: there is none. */
static uint32_t next_most(const struct side *side, size_t nr, uint64_t count, uint32_t function)
{
	uint32_t most = NOBODY;

	for (uint32_t i = 0; i < nr; i++) {
		bool behind = side->counts[i] < count || (side->counts[i] == count && i > function);

		if (side->counts[i] && behind &&
		    (most == NOBODY || side->counts[i] > side->counts[most]))
			most = i;
	}
	return most;
}

static const char *text_of(const struct function_index *index, uint32_t function)
{
	return strings_text(&index->texts->strings, index->list[function].text);
}

static void write_side(FILE *to, const struct function_index *index, const struct side *side,
		       const char *indent, uint64_t samples)
{
	uint64_t count = UINT64_MAX;
	uint32_t function = 0;
	size_t nr_left = 0;

	for (size_t i = 0; i < index->nr; i++)
		nr_left += side->counts[i] > 0;
	for (size_t i = 0; i < NR_SHOWN && nr_left; i++, nr_left--) {
		function = next_most(side, index->nr, count, function);
		count = side->counts[function];
		fprintf(to, " %6.1f%%  %s%s\n", share_percent(count, samples), indent,
			text_of(index, function));
	}
	if (side->nobody)
		fprintf(to, " %6.1f%%  %s(outermost)\n", share_percent(side->nobody, samples),
			indent);
	if (nr_left)
		fprintf(to, "          %s... and %zu more\n", indent, nr_left);
}

static void write_entry(FILE *to, const struct function_index *index, const struct entry *entry,
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

	for (; entries.nr < nr && entries.nr < NEIGHBOURS_FUNCTIONS_MAX;) {
		struct entry *entry = &entries.list[entries.nr++];

		entry->function = functions[entries.nr - 1];
		if (side_init(&entry->callers, index->nr) || side_init(&entry->callees, index->nr))
			return -ENOMEM;
	}
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		if (make_chain(&entries.chain, index, &recording->stacks[i]))
			return -ENOMEM;
		for (size_t j = 0; j < entries.nr; j++)
			count_chain(&entries.list[j], &entries.chain, i,
				    recording->stacks[i].count);
	}
	for (size_t i = 0; i < entries.nr; i++)
		write_entry(to, index, &entries.list[i], samples);
	return 0;
}
