/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vector.h"

/* A thread that was walked. */
struct walked {
	size_t thread;	  /* of the core file */
	uint64_t *frames; /* owned [nr] until a stack has them */
	uint32_t nr, elided;
	uint8_t stop;
};

static bool is_wanted(uint32_t tid, const pid_t *tids, size_t nr_tids)
{
	for (size_t i = 0; i < nr_tids; i++) {
		if ((uint32_t)tids[i] == tid)
			return true;
	}
	return !nr_tids;
}

/* Did this thread get the signal? */
static bool is_culprit(const struct core_file *core, const struct walked *walked)
{
	return core->signal && !walked->thread;
}

static int compare_frames(const struct walked *a, const struct walked *b)
{
	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	if (a->stop != b->stop)
		return a->stop < b->stop ? -1 : 1;
	return a->nr ? memcmp(a->frames, b->frames, a->nr * sizeof(*a->frames)) : 0;
}

/* Equal stacks beside each other, in the order of threads. */
static int by_frames(const void *a, const void *b)
{
	const struct walked *x = a, *y = b;
	int order = compare_frames(x, y);

	return order ? order : (x->thread > y->thread) - (x->thread < y->thread);
}

static struct profile_stack stack_of(const struct core_file *core, struct walked *walked)
{
	struct profile_stack stack = {
		.count = 1,
		.pid = core->pid,
		.tid = core->threads.list[walked->thread].tid,
		.stop = walked->stop,
		.nr_user = (uint16_t)walked->nr,
		.elided = walked->elided,
		.frames = walked->frames,
	};

	memcpy(stack.comm, core->comm, sizeof(stack.comm));
	walked->frames = NULL;
	return stack;
}

void core_stacks_make(const struct core_file *core, struct core_code *code, const pid_t *tids,
		      size_t nr_tids, struct profile *ret)
{
	VECTOR(struct walked) list = { 0 };
	VECTOR(struct profile_stack) stacks = { 0 };
	struct replay_result *result = must_malloc(sizeof(*result));
	size_t first = 0;

	for (size_t i = 0; i < core->threads.nr; i++) {
		struct walked walked = { .thread = i };

		if (!is_wanted(core->threads.list[i].tid, tids, nr_tids))
			continue;
		core_code_walk(code, &core->threads.list[i], result);
		walked.nr = result->nr_frames;
		walked.elided = result->elided;
		walked.stop = result->stop;
		walked.frames = must_calloc(walked.nr, sizeof(*walked.frames));
		memcpy(walked.frames, result->frames, walked.nr * sizeof(*walked.frames));
		must_push(&list, walked);
	}
	if (list.nr && is_culprit(core, &list.list[0]))
		must_push(&stacks, stack_of(core, &list.list[first++]));
	if (list.nr > first)
		qsort(list.list + first, list.nr - first, sizeof(*list.list), by_frames);
	for (size_t i = first; i < list.nr; i++) {
		/* the frames of the one before are with its stack, which is the last */
		struct profile_stack *last = stacks.nr > first ? &stacks.list[stacks.nr - 1] : NULL;
		const struct walked before = last ? (struct walked){ .nr = last->nr_user,
								     .stop = last->stop,
								     .frames = last->frames }
						  : (struct walked){ 0 };

		if (last && !compare_frames(&before, &list.list[i])) {
			last->count++;
			free(list.list[i].frames);
		} else {
			must_push(&stacks, stack_of(core, &list.list[i]));
		}
	}
	free(result);
	vector_fini(&list);
	core_code_export(code, ret);
	ret->user = true;
	ret->stacks = stacks.list;
	ret->nr_stacks = stacks.nr;
}
