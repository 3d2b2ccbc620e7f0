/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/heap_live.h"

#include <stdlib.h>

void heap_live_fini(struct heap_live *live)
{
	vector_fini(&live->ends);
}

void heap_live_note(struct heap_live *live, const struct fpl_life *life)
{
	const struct heap_end end = {
		.start_ns = life->start_ns,
		.time_ns = life->header.time_ns,
		.tgid = life->tgid,
		.is_exit = life->header.type == FPL_RECORD_EXIT,
	};

	if (life->header.type != FPL_RECORD_EXEC && life->header.type != FPL_RECORD_EXIT)
		return;
	if (live->ends.nr >= HEAP_LIVES_MAX || vector_push(&live->ends, end))
		live->nr_unknown++;
}

static int compare_process(const struct heap_end *a, uint32_t tgid, uint64_t start_ns)
{
	if (a->tgid != tgid)
		return a->tgid < tgid ? -1 : 1;
	return (a->start_ns > start_ns) - (a->start_ns < start_ns);
}

static int by_process(const void *left, const void *right)
{
	const struct heap_end *b = right;

	return compare_process(left, b->tgid, b->start_ns);
}

void heap_live_begin(struct heap_live *live)
{
	if (live->ends.nr)
		qsort(live->ends.list, live->ends.nr, sizeof(*live->ends.list), by_process);
}

/* The first end of the process; NULL: none. */
static const struct heap_end *first_of(const struct heap_live *live, uint32_t tgid,
				       uint64_t start_ns)
{
	size_t from = 0, to = live->ends.nr;

	while (from < to) {
		size_t at = from + (to - from) / 2;

		if (compare_process(&live->ends.list[at], tgid, start_ns) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from < live->ends.nr && !compare_process(&live->ends.list[from], tgid, start_ns)
		       ? &live->ends.list[from]
		       : NULL;
}

/* Has the program that allocated the memory at @time_ns gone, and the memory with it? */
static bool has_gone(const struct heap_live *live, const struct heap_live_question *question,
		     const struct profile_stack *stack, uint64_t time_ns)
{
	const struct heap_end *end = first_of(live, stack->pid, stack->start_ns);
	const struct heap_end *behind = live->ends.list + live->ends.nr;
	bool is_named = question->is_named(question->ctx, stack->pid);

	for (; end && end < behind && !compare_process(end, stack->pid, stack->start_ns); end++)
		if (end->is_exit ? !is_named : end->time_ns > time_ns)
			return true;
	return false;
}

void heap_live_count(const struct heap_live *live, const struct heap_live_question *question,
		     const struct fpl_live *entry, struct stack_store *store,
		     struct profile_heap *ret)
{
	uint32_t place = stack_store_find(store, entry->id);
	struct profile_stack stack;

	if (place == STACK_STORE_NONE) {
		ret->lost++;
		return;
	}
	stack_store_look(store, place, &stack);
	if (has_gone(live, question, &stack, entry->time_ns)) {
		ret->gone++;
	} else if (entry->time_ns >= question->before_ns) {
		ret->young++;
	} else {
		ret->live++;
		stack_store_live(store, place, entry->weight, entry->objects);
	}
}
