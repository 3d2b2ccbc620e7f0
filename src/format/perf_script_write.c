/* SPDX-License-Identifier: Apache-2.0 */
#include "format/perf_script_write.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "recording/keys.h"
#include "recording/sources.h"
#include "recording/sample_type.h"
#include "view/frame_list.h"
#include "view/frame_texts.h"
#include "view/measure.h"
#include "view/samples.h"

/* Longer names are cut: readers of lines have limits of their own. */
enum { TEXT_MAX = 4096 };

/* A line of an untrusted file can claim any count: an hour of 28 CPUs at 999 Hz, and no more. */
#define BLOCKS_MAX 100000000u

/*
 * Readers take the name for all up to white space and a number, and a line that does not begin with
 * a name for something else.
 */
static void write_comm(FILE *to, const char *comm)
{
	char safe[256];

	text_escape(safe, sizeof(safe), comm, "");
	for (const char *s = safe; *s; s++) {
		if (*s == ' ' && (s == safe || !s[1] || isdigit((unsigned char)s[1])))
			fputs("\\x20", to);
		else if (*s == '#' && s == safe) /* a comment */
			fputs("\\x23", to);
		else
			putc(*s, to);
	}
}

/* A name that begins with a parenthesis is skipped by readers: old versions print comm that way. */
static void write_name(FILE *to, const char *name)
{
	char safe[TEXT_MAX];

	text_escape(safe, sizeof(safe), name, "");
	if (!*safe)
		fputs("[unknown]", to);
	else if (*safe == '(')
		fprintf(to, "\\x28%s", safe + 1);
	else
		fputs(safe, to);
}

/* White space and parentheses end a path for readers. */
static void write_object(FILE *to, const struct recording *recording,
			 const struct recording_frame *frame)
{
	const char *path = recording_string(recording, recording->objects[frame->object].path);
	char safe[TEXT_MAX];

	if (!*path)
		path = frame->kind == RECORDING_KERNEL ? "[kernel.kallsyms]" : "[unknown]";
	text_escape(safe, sizeof(safe), path, " ()");
	fprintf(to, " (%s)\n", safe);
}

static void write_function(FILE *to, const struct recording *recording,
			   const struct recording_frame *frame,
			   const struct recording_function *function)
{
	AUTO_FREE char *unnamed = NULL, *place = NULL;
	char safe[TEXT_MAX];

	if (function) {
		place = frame_script_place(recording, frame);
		alloc_check(!place);
		write_name(to, recording_string(recording, function->name));
		text_escape(safe, sizeof(safe), place, "");
		fputs(safe, to);
		return;
	}
	unnamed = frame_unnamed_text(recording, frame, false);
	alloc_check(!unnamed);
	write_name(to, unnamed);
}

static void write_frame(FILE *to, const struct recording *recording,
			const struct recording_frame *frame, const struct format_options *options)
{
	bool inlined = options->inlined != FORMAT_INLINED_NEVER;
	uint64_t address = frame->address == RECORDING_NO_ADDRESS ? 0 : frame->address;
	const struct recording_function *function = recording_function_of(recording, frame);

	for (unsigned i = 0; inlined && i + 1 < frame->nr_lines; i++) {
		uint32_t idx = recording->lines[frame->first_line + i].function;

		fprintf(to, "\t%16" PRIx64 " ", address);
		write_name(to, recording_string(recording, recording->functions[idx].name));
		fputs(" (inlined)\n", to);
	}
	fprintf(to, "\t%16" PRIx64 " ", address);
	write_function(to, recording, frame, function);
	if (options->origin && frame->kind == RECORDING_USER)
		fputs(origin_mark(frame->origin), to);
	if (function && frame->start <= frame->address && frame->address != RECORDING_NO_ADDRESS)
		fprintf(to, "+0x%" PRIx64, frame->address - frame->start);
	write_object(to, recording, frame);
}

/* The weight of a sample is its period, if weights are what is shown. */
static void write_heading(FILE *to, const struct recording *recording,
			  const struct measure *measure, const struct sample *sample)
{
	const struct recording_stack *stack = &recording->stacks[sample->stack];
	const char *comm = recording_string(recording, stack->comm);
	const char *event = recording_string(recording, sources_event(recording, stack));
	char safe[64];

	if (*comm)
		write_comm(to, comm);
	else
		fprintf(to, ":%u", sample->pid);
	fprintf(to, " %7u/%-7u ", sample->pid,
		sample->has & RECORDING_HAS_TID ? sample->tid : sample->pid);
	if (sample->has & RECORDING_HAS_CPU)
		fprintf(to, "[%03u] ", sample->cpu);
	text_escape(safe, sizeof(safe), *event ? event : "samples", " :");
	fprintf(to, "%5" PRIu64 ".%06" PRIu64 ": ", sample->time_ns / 1000000000,
		sample->time_ns / 1000 % 1000000);
	if (measure->weight)
		fprintf(to, "%10" PRIu64 " ", sample->weight);
	fprintf(to, "%s: \n", safe);
}

static void write_label(FILE *to, const char *name, const char *value)
{
	char safe[TEXT_MAX];

	text_escape(safe, sizeof(safe), name, PERF_SCRIPT_LABELS_ESCAPED);
	fprintf(to, " %s=", safe);
	text_escape(safe, sizeof(safe), value, PERF_SCRIPT_LABELS_ESCAPED);
	fputs(safe, to);
}

/* The labels that a block has no other place for. */
static void write_labels(FILE *to, const struct recording *recording,
			 const struct recording_stack *stack)
{
	bool has_key = stack->has & RECORDING_HAS_KEY && recording->key;

	if (!stack->state && !has_key)
		return;
	fputs(PERF_SCRIPT_LABELS, to);
	if (stack->state)
		write_label(to, "state", state_key(stack->state));
	if (has_key)
		write_label(to, recording_string(recording, recording->key),
			    recording_string(recording, stack->key));
	putc('\n', to);
}

/*
 * Say what the periods are, and which labels stacks are shown by, in comments as perf has them:
 * readers skip those, and they know a file by its first line.
 */
static void write_head(FILE *to, const struct recording *recording, const struct measure *measure)
{
	bool by_state = recording->by & RECORDING_HAS_STATE,
	     by_key = recording->by & RECORDING_HAS_KEY;
	char safe[256];

	if (!measure->weight && !by_state && !by_key)
		return;
	fputs("# ========\n", to);
	if (measure->weight) {
		text_escape(safe, sizeof(safe), measure->type, " ");
		fprintf(to, PERF_SCRIPT_WEIGHT "%s %s\n", safe, measure->unit);
	}
	if (by_state || by_key)
		fprintf(to, PERF_SCRIPT_BY "%s%s\n", by_state ? " state" : "",
			by_key ? " key" : "");
	fputs("# ========\n#\n", to);
}

/* Kernel frames first: the leaf is. One without any is skipped by some readers: it gets one. */
static void write_frames(FILE *to, const struct recording *recording, const struct frame_list *list,
			 const struct recording_stack *stack)
{
	const uint32_t *frames = &recording->frame_ids[stack->first_frame];

	for (size_t i = 0; i < stack->nr_kernel; i++)
		frame_list_put(list, frames[stack->nr_user + i], to);
	for (size_t i = 0; i < stack->nr_user; i++)
		frame_list_put(list, frames[i], to);
	if (!stack->nr_kernel && !stack->nr_user)
		fputs("\t               0 [unknown] ([unknown])\n", to);
	putc('\n', to);
}

int perf_script_write(FILE *to, const struct recording *recording,
		      const struct format_options *options, uint64_t *ret_shown,
		      struct fpl_err *err)
{
	CLEANUP(frame_list_fini) struct frame_list list = { .text = NULL };
	CLEANUP(samples_fini) struct samples samples = { .left = NULL };
	struct sample sample;
	char counted[128];
	struct measure measure;
	uint64_t shown = 0;

	frame_list_make(recording, write_frame, options, &list);
	measure_init(recording, &measure);
	samples_init(recording, &samples);
	if (samples.nr_total > BLOCKS_MAX)
		return fpl_fail(err, -EFBIG,
				"%" PRIu64 " %s, of which each has a block here: at most %u",
				samples.nr_total,
				sample_type_text(recording, counted, sizeof(counted)), BLOCKS_MAX);
	write_head(to, recording, &measure);
	/* up to BLOCKS_MAX blocks: where a disk is full the others are not tried */
	for (; !ferror(to) && samples_next(&samples, &sample);) {
		write_heading(to, recording, &measure, &sample);
		write_labels(to, recording, &recording->stacks[sample.stack]);
		shown += measure_of(&measure, 1, sample.weight);
		write_frames(to, recording, &list, &recording->stacks[sample.stack]);
	}
	/* who asks for them is told of the write error */
	*ret_shown = ferror(to) ? measure_sum(recording) : shown;
	return 0;
}
