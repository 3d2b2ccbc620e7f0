/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stack_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "bpf/shared.h"
#include "cli/cli.h"
#include "format/stream_format.h"
#include "recording/keys.h"

/* By process, those of most threads first. */
static int compare_stacks(const void *a, const void *b)
{
	const struct recording_stack *one = *(const struct recording_stack *const *)a;
	const struct recording_stack *other = *(const struct recording_stack *const *)b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return one < other ? -1 : one > other;
}

static void write_stack(const struct recording *recording, const struct recording_stack *stack,
			int signal)
{
	char comm[4 * FPL_COMM_SIZE + 1];

	text_escape(comm, sizeof(comm), recording_string(recording, stack->comm), "");
	printf("%s (pid %u)", comm, stack->pid);
	if (signal)
		printf(", thread %u: got signal %d (%s)\n", stack->tid, signal, strsignal(signal));
	else if (stack->count == 1 && stack->has & RECORDING_HAS_TID)
		printf(", thread %u\n", stack->tid);
	else
		printf(": %" PRIu64 " thread%s\n", stack->count, stack->count == 1 ? "" : "s");
	stream_format_frames(stdout, recording, stack, true);
	putchar('\n');
}

int stack_text_write(const struct recording *recording, int signal, uint64_t *ret_shown)
{
	size_t nr = recording->nr_stacks, first = signal && nr ? 1 : 0;
	AUTO_FREE const struct recording_stack **sorted =
		must_calloc(nr, sizeof(struct recording_stack *));

	*ret_shown = 0;
	for (size_t i = 0; i < nr; i++) {
		sorted[i] = &recording->stacks[i];
		*ret_shown += sorted[i]->count;
	}
	qsort(sorted + first, nr - first, sizeof(struct recording_stack *), compare_stacks);
	for (size_t i = 0; i < nr; i++)
		write_stack(recording, sorted[i], i < first ? signal : 0);
	if (fflush(stdout)) {
		fprintf(stderr, "fpless: stdout: %s\n", strerror(errno));
		return CLI_EXIT_OUTPUT;
	}
	return CLI_EXIT_OK;
}
