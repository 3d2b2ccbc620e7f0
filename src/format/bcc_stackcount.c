/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bcc_stackcount.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "format/bcc_entries.h"
#include "view/measure.h"

void bcc_stackcount_head(FILE *to, const struct bcc_output *options)
{
	if (options->folded)
		return;
	fputs("Tracing 1 functions for \"", to);
	bcc_put_safe(to, options->pattern);
	fputs("\"... Hit Ctrl-C to end.\n", to);
}

static bool by_process(const struct bcc_output *options)
{
	return options->per_process || !options->kernel_only;
}

/* Unlike bcc's profile it delimits also where a stack has only one part. */
static bool is_delimited(const struct bcc_output *options)
{
	return options->delimited && !options->user_only && !options->kernel_only;
}

static void put_frame(FILE *to, const struct recording *recording,
		      const struct recording_stack *stack, size_t i)
{
	bcc_put_function(to, recording, recording_frame_at(recording, stack, i));
}

/* comm;root;...;leaf, the kernel last. */
static void put_folded(FILE *to, const struct bcc_output *options,
		       const struct recording *recording, const struct recording_stack *stack)
{
	const char *between = "";

	if (by_process(options)) {
		bcc_put_safe(to, recording_string(recording, stack->comm));
		between = ";";
	}
	for (size_t i = stack->nr_user; i-- > 0; between = ";") {
		fputs(between, to);
		put_frame(to, recording, stack, i);
	}
	if (is_delimited(options))
		fputs(";-", to);
	for (size_t i = stack->nr_kernel; i-- > 0; between = ";") {
		fputs(between, to);
		put_frame(to, recording, stack, (size_t)stack->nr_user + i);
	}
}

/* A line per frame, leaf and kernel first. */
static void put_lines(FILE *to, const struct bcc_output *options, const struct recording *recording,
		      const struct recording_stack *stack)
{
	for (size_t i = 0; i < stack->nr_kernel; i++) {
		fputs("  ", to);
		put_frame(to, recording, stack, (size_t)stack->nr_user + i);
		putc('\n', to);
	}
	if (is_delimited(options))
		fputs("    --\n", to);
	for (size_t i = 0; i < stack->nr_user; i++) {
		fputs("  ", to);
		put_frame(to, recording, stack, i);
		putc('\n', to);
	}
	if (!by_process(options) || options->one_process)
		return;
	fputs("    ", to);
	bcc_put_safe(to, recording_string(recording, stack->comm));
	fprintf(to, " [%u]\n", stack->pid);
}

static struct bcc_entry entry_of(const struct bcc_output *options, const struct measure *measure,
				 const struct recording *recording,
				 const struct recording_stack *stack)
{
	struct bcc_entry entry = { .shown = measure_stack(measure, stack),
				   .pid = by_process(options) ? stack->pid : 0 };
	size_t size = 0;
	FILE *to = must_memstream(&entry.text, &size);

	if (options->folded)
		put_folded(to, options, recording, stack);
	else
		put_lines(to, options, recording, stack);
	must_memstream_close(to);
	return entry;
}

void bcc_stackcount_write(FILE *to, const struct bcc_output *options, const char *time,
			  const struct recording *recording)
{
	CLEANUP(bcc_entries_fini) struct bcc_entries entries = { 0 };
	struct measure measure;

	measure_init(recording, &measure);
	entries.list = must_calloc(recording->nr_stacks, sizeof(*entries.list));
	for (; entries.nr < recording->nr_stacks; entries.nr++)
		entries.list[entries.nr] =
			entry_of(options, &measure, recording, &recording->stacks[entries.nr]);
	bcc_entries_merge(&entries, 1);
	if (!options->folded)
		putc('\n', to);
	if (time)
		fprintf(to, "%s\n", time);
	for (size_t i = 0; i < entries.nr; i++)
		fprintf(to, options->folded ? "%s %" PRIu64 "\n" : "%s    %" PRIu64 "\n\n",
			entries.list[i].text, entries.list[i].shown);
	if (!options->folded)
		fputs("Detaching...\n", to);
}
