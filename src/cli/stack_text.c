/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stack_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "bpf/shared.h"
#include "cli/cli.h"
#include "format/stream_format.h"
#include "proc/thread.h"
#include "recording/keys.h"

/* Threads of a process with equal names, states and stacks. */
struct threads {
	const struct recording_stack *stack; /* borrowed: of one of them */
	uint64_t nr;
	uint64_t least_ns, most_ns; /* off a CPU; 0: not known of any */
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* 0: they are written as one. */
static int compare_texts(const struct recording *recording, const struct recording_stack *a,
			 const struct recording_stack *b)
{
	size_t nr = (size_t)a->nr_user + a->nr_kernel;
	int order = compare(a->pid, b->pid);

	order = order ? order : compare(a->comm, b->comm);
	order = order ? order : compare(a->key, b->key);
	order = order ? order : compare(a->stop, b->stop);
	order = order ? order : compare(a->nr_user, b->nr_user);
	order = order ? order : compare(a->nr_kernel, b->nr_kernel);
	return order || !nr ? order
			    : memcmp(recording->frame_ids + a->first_frame,
				     recording->frame_ids + b->first_frame,
				     nr * sizeof(*recording->frame_ids));
}

/* Those that are written as one beside each other, in the order of the recording. */
static int compare_stacks(const void *a, const void *b, void *recording)
{
	const struct threads *one = a, *other = b;
	int order = compare_texts(recording, one->stack, other->stack);

	return order ? order : compare((uintptr_t)one->stack, (uintptr_t)other->stack);
}

/* By process, those of most threads first, then in the order of the recording. */
static int compare_threads(const void *a, const void *b)
{
	const struct threads *one = a, *other = b;
	int order = compare(one->stack->pid, other->stack->pid);

	order = order ? order : compare(other->nr, one->nr);
	return order ? order : compare((uintptr_t)one->stack, (uintptr_t)other->stack);
}

/* Those of @stack are written with @to. */
static void threads_add(struct threads *to, const struct recording_stack *stack)
{
	uint64_t ns = stack->count == 1 && stack->has & RECORDING_HAS_KEY ? stack->weight : 0;

	to->nr += stack->count;
	if (ns && (!to->least_ns || ns < to->least_ns))
		to->least_ns = ns;
	if (ns > to->most_ns)
		to->most_ns = ns;
}

/* The stacks of @recording but the first @skipped in @list. Returns how many are written. */
static size_t merge(const struct recording *recording, size_t skipped, struct threads *list)
{
	size_t nr = 0, kept = 0;

	for (size_t i = skipped; i < recording->nr_stacks; i++)
		list[nr++] = (struct threads){ .stack = &recording->stacks[i] };
	qsort_r(list, nr, sizeof(*list), compare_stacks, (void *)recording);
	for (size_t i = 0; i < nr; i++) {
		const struct recording_stack *stack = list[i].stack;

		if (!kept || compare_texts(recording, list[kept - 1].stack, stack))
			list[kept++] = (struct threads){ .stack = stack };
		threads_add(&list[kept - 1], stack);
	}
	qsort(list, kept, sizeof(*list), compare_threads);
	return kept;
}

static void write_duration(uint64_t ns)
{
	double s = (double)ns / NS_PER_S;

	if (s < 1)
		printf("%.0f ms", 1000 * s);
	else if (s < 120)
		printf("%.1f s", s);
	else if (s < 120 * 60)
		printf("%.0f min", s / 60);
	else if (s < 48 * 3600)
		printf("%.1f h", s / 3600);
	else
		printf("%.1f days", s / 86400);
}

/* Their state and its time, as far as these are known: ", S (sleeping) for 20 ms to 1.3 s". */
static void write_state(const struct recording *recording, const struct threads *threads)
{
	const char *state = recording_string(recording, threads->stack->key);

	if (!(threads->stack->has & RECORDING_HAS_KEY))
		return;
	printf(", %s", thread_state_text(strtoull(state, NULL, 10)));
	if (!threads->most_ns)
		return;
	printf(" for ");
	/* a range whose ends differ by less than a tenth is a number */
	if (threads->most_ns - threads->least_ns > threads->most_ns / 10) {
		write_duration(threads->least_ns);
		printf(" to ");
	}
	write_duration(threads->most_ns);
}

static void write_threads(const struct recording *recording, const struct threads *threads,
			  int signal)
{
	const struct recording_stack *stack = threads->stack;
	char comm[4 * FPL_COMM_SIZE + 1];

	text_escape(comm, sizeof(comm), recording_string(recording, stack->comm), "");
	printf("%s (pid %u)", comm, stack->pid);
	if (signal)
		printf(", thread %u: got signal %d (%s)", stack->tid, signal, strsignal(signal));
	else if (threads->nr == 1 && stack->has & RECORDING_HAS_TID)
		printf(", thread %u", stack->tid);
	else
		printf(": %" PRIu64 " thread%s", threads->nr, threads->nr == 1 ? "" : "s");
	write_state(recording, threads);
	putchar('\n');
	stream_format_frames(stdout, recording, stack, true);
	putchar('\n');
}

int stack_text_write(const struct recording *recording, int signal, uint64_t *ret_shown)
{
	size_t first = signal && recording->nr_stacks ? 1 : 0;
	AUTO_FREE struct threads *list = must_calloc(recording->nr_stacks, sizeof(*list));
	size_t nr = merge(recording, first, list);

	*ret_shown = 0;
	if (first) {
		struct threads culprit = { .stack = recording->stacks };

		threads_add(&culprit, recording->stacks);
		write_threads(recording, &culprit, signal);
		*ret_shown = culprit.nr;
	}
	for (size_t i = 0; i < nr; i++) {
		write_threads(recording, &list[i], 0);
		*ret_shown += list[i].nr;
	}
	if (fflush(stdout)) {
		fprintf(stderr, "fpless: stdout: %s\n", strerror(errno));
		return CLI_EXIT_OUTPUT;
	}
	return CLI_EXIT_OK;
}
