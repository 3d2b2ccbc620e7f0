/* SPDX-License-Identifier: Apache-2.0 */
#include "report/thread_tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/must_add.h"

enum { NR_NUMBERED = 256 }; /* each has nine numbers, and adding one costs a search of all */

static uint64_t busy_ns(const struct fpl_thread_sum *sum)
{
	return sum->ns[FPL_TIME_ON_CPU] + sum->ns[FPL_TIME_RUNNABLE];
}

/* Pointers to threads, the busiest first. */
static int compare(const void *left, const void *right)
{
	const struct profile_thread *a = *(const struct profile_thread *const *)left;
	const struct profile_thread *b = *(const struct profile_thread *const *)right;
	uint64_t a_ns = busy_ns(&a->sum), b_ns = busy_ns(&b->sum);

	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return (a > b) - (a < b);
}

static void add_up(struct fpl_thread_sum *to, const struct fpl_thread_sum *sum)
{
	for (size_t i = 0; i < FPL_TIME_COUNT; i++)
		to->ns[i] += sum->ns[i];
	to->blocks += sum->blocks;
	to->waits += sum->waits;
	to->threads += sum->threads;
}

static void add_number(struct recording *to, const char *head, const char *name, uint64_t value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s.%s", head, name);
	must_add_number(to, key, value);
}

static void add_sum(struct recording *to, const char *head, const struct fpl_thread_sum *sum)
{
	add_number(to, head, "threads", sum->threads);
	add_number(to, head, "on_cpu", sum->ns[FPL_TIME_ON_CPU]);
	add_number(to, head, "runnable", sum->ns[FPL_TIME_RUNNABLE]);
	add_number(to, head, "blocked", sum->ns[FPL_TIME_BLOCKED]);
	add_number(to, head, "unseen", sum->ns[FPL_TIME_UNSEEN]);
	add_number(to, head, "blocks", sum->blocks);
	add_number(to, head, "runnable_waits", sum->waits);
}

static void add_thread(struct recording *to, size_t idx, const struct profile_thread *thread)
{
	char head[32], key[64], comm[sizeof(thread->sum.comm) + 1] = "";

	snprintf(head, sizeof(head), "threads[].%zu", idx);
	snprintf(key, sizeof(key), "%s.comm", head);
	memcpy(comm, thread->sum.comm, sizeof(thread->sum.comm));
	must_set_note(to, key, comm);
	add_number(to, head, "pid", thread->pid);
	add_number(to, head, "tid", thread->tid);
	add_sum(to, head, &thread->sum);
}

void thread_tally_add(struct recording *to, const struct profile *profile)
{
	AUTO_FREE const struct profile_thread **list = NULL;
	struct fpl_thread_sum others = profile->threads_beyond;

	if (!profile->has_threads)
		return;
	list = must_calloc(profile->nr_threads + 1, sizeof(const struct profile_thread *));
	for (size_t i = 0; i < profile->nr_threads; i++)
		list[i] = &profile->threads[i];
	qsort(list, profile->nr_threads, sizeof(*list), compare);
	must_add_number(to, "threads[]", 0);
	for (size_t i = 0; i < profile->nr_threads; i++) {
		if (i < NR_NUMBERED)
			add_thread(to, i, list[i]);
		else
			add_up(&others, &list[i]->sum);
	}
	add_sum(to, "threads_others", &others);
}
