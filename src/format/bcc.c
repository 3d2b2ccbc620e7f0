/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bcc.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "format/bcc_entries.h"
#include "format/bcc_offwake.h"
#include "view/measure.h"

/* "[1, 2]" */
static void put_list(FILE *to, const pid_t *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fprintf(to, "%s%d", i ? ", " : "[", (int)list[i]);
	putc(']', to);
}

static const char *stacks_of(const struct bcc_output *options)
{
	return options->user_only ? "user" : options->kernel_only ? "kernel" : "user + kernel";
}

static void put_targets(FILE *to, const struct bcc_output *options)
{
	if (options->nr_pids) {
		fputs("PID ", to);
		put_list(to, options->pids, options->nr_pids);
	} else if (options->nr_tids) {
		fputs("TID ", to);
		put_list(to, options->tids, options->nr_tids);
	} else {
		fprintf(to, "%s threads",
			options->user_threads	  ? "user"
			: options->kernel_threads ? "kernel"
						  : "all");
	}
	fprintf(to, " by %s stack", stacks_of(options));
}

static void put_what(FILE *to, const struct bcc_output *options)
{
	if (options->tool == BCC_WAKEUPTIME) {
		fputs("Tracing blocked time (us) by kernel stack", to);
		return;
	}
	if (options->tool == BCC_OFFWAKETIME) {
		fprintf(to, "Tracing blocked time (us) by %s off-CPU and waker stack",
			stacks_of(options));
		return;
	}
	if (options->tool == BCC_OFFCPUTIME)
		fputs("Tracing off-CPU time (us) of ", to);
	else if (options->period)
		fprintf(to, "Sampling at every %" PRIu64 " events of ", options->period);
	else
		fprintf(to, "Sampling at %" PRIu64 " Hertz of ", options->hz);
	put_targets(to, options);
}

void bcc_head(FILE *to, const struct bcc_output *options)
{
	if (options->folded)
		return;
	put_what(to, options);
	if (options->cpu >= 0)
		fprintf(to, " on CPU#%d", options->cpu);
	if (options->seconds)
		fprintf(to, " for %" PRIu64 " secs.\n", options->seconds);
	else
		fputs("... Hit Ctrl-C to end.\n", to);
}

/* Frame @i of @stack, with @before and @after around it. */
static void put_frame(FILE *to, const struct bcc_output *options, const struct recording *recording,
		      const struct recording_stack *stack, size_t i, const char *before,
		      const char *after)
{
	const struct recording_frame *frame = recording_frame_at(recording, stack, i);

	fputs(before, to);
	bcc_put_function(to, recording, frame);
	if (options->annotate && frame->kind == RECORDING_KERNEL)
		fputs("_[k]", to);
	fputs(after, to);
}

static bool is_delimited(const struct bcc_output *options, const struct recording_stack *stack)
{
	return options->delimited && stack->nr_user && stack->nr_kernel;
}

/* comm;root;...;leaf, the kernel last, but for the thread that was woken up. */
static void put_folded(FILE *to, const struct bcc_output *options,
		       const struct recording *recording, const struct recording_stack *stack)
{
	bcc_put_safe(to, recording_string(recording, stack->comm));
	for (size_t i = stack->nr_user; i-- > 0;)
		put_frame(to, options, recording, stack, i, ";", "");
	if (is_delimited(options, stack))
		fputs(";-", to);
	for (size_t i = (size_t)stack->nr_user + stack->nr_kernel; i-- > stack->nr_user;)
		put_frame(to, options, recording, stack, i, ";", "");
	if (options->tool == BCC_WAKEUPTIME) {
		putc(';', to);
		bcc_put_safe(to, recording_string(recording, stack->key));
	}
}

/* The number that bcc calls a stack's pid. */
static uint32_t task_of(const struct recording_stack *stack)
{
	return stack->has & RECORDING_HAS_TID ? stack->tid : stack->pid;
}

/* A thread's name, in the column of the functions. */
static void put_name(FILE *to, const char *what, const char *name)
{
	fprintf(to, "    %-16s ", what);
	bcc_put_safe(to, name);
}

/* A line per frame, leaf and kernel first. */
static void put_lines(FILE *to, const struct bcc_output *options, const struct recording *recording,
		      const struct recording_stack *stack)
{
	for (size_t i = 0; i < stack->nr_kernel; i++)
		put_frame(to, options, recording, stack, stack->nr_user + i, "    ", "\n");
	if (is_delimited(options, stack))
		fputs("    --\n", to);
	for (size_t i = 0; i < stack->nr_user; i++)
		put_frame(to, options, recording, stack, i, "    ", "\n");
	put_name(to, "-", recording_string(recording, stack->comm));
	fprintf(to, " (%u)\n", task_of(stack));
}

/* The thread that was woken up, the kernel's frames with their addresses, leaf first, the waker. */
static void put_wakeup(FILE *to, const struct bcc_output *options,
		       const struct recording *recording, const struct recording_stack *stack)
{
	put_name(to, "target:", recording_string(recording, stack->key));
	putc('\n', to);
	for (size_t i = 0; i < stack->nr_kernel; i++) {
		size_t frame = (size_t)stack->nr_user + i;

		fprintf(to, "    %-16" PRIx64,
			recording_frame_at(recording, stack, frame)->address);
		put_frame(to, options, recording, stack, frame, " ", "\n");
	}
	put_name(to, "waker:", recording_string(recording, stack->comm));
	putc('\n', to);
}

static void add(struct bcc_entries *entries, const struct bcc_output *options,
		const struct measure *measure, const struct recording *recording,
		const struct recording_stack *stack)
{
	struct bcc_entry *entry = &entries->list[entries->nr++];
	size_t size = 0;
	FILE *to;

	*entry = (struct bcc_entry){ .shown = measure_stack(measure, stack) };
	if (options->tool != BCC_WAKEUPTIME)
		entry->pid = task_of(stack);
	to = must_memstream(&entry->text, &size);
	if (options->tool == BCC_OFFWAKETIME)
		bcc_put_offwake(to, options->folded, options->delimited, recording, stack);
	else if (options->folded)
		put_folded(to, options, recording, stack);
	else if (options->tool == BCC_WAKEUPTIME)
		put_wakeup(to, options, recording, stack);
	else
		put_lines(to, options, recording, stack);
	must_memstream_close(to);
}

static bool is_wanted(const struct bcc_output *options, const struct recording_stack *stack)
{
	return stack->no_user ? !options->user_threads : !options->kernel_threads;
}

void bcc_write(FILE *to, const struct bcc_output *options, const struct recording *recording)
{
	CLEANUP(bcc_entries_fini) struct bcc_entries entries = { 0 };
	struct measure measure;

	measure_init(recording, &measure);
	entries.list = must_calloc(recording->nr_stacks, sizeof(*entries.list));
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (is_wanted(options, &recording->stacks[i]))
			add(&entries, options, &measure, recording, &recording->stacks[i]);
	bcc_entries_merge(&entries, options->tool == BCC_PROFILE ? 1 : NS_PER_US);
	if (!options->folded)
		putc('\n', to);
	for (size_t i = 0; i < entries.nr; i++)
		fprintf(to, options->folded ? "%s %" PRIu64 "\n" : "%s        %" PRIu64 "\n\n",
			entries.list[i].text, entries.list[i].shown);
	if (options->tool == BCC_WAKEUPTIME && !options->folded)
		fputs("Detaching...\n", to);
}
