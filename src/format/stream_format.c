/* SPDX-License-Identifier: Apache-2.0 */
#include "format/stream_format.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "recording/keys.h"
#include "recording/sources.h"
#include "view/frame_json.h"
#include "view/json.h"
#include "view/measure.h"

/* Names are as long as their authors like: what is longer than this is cut. */
#define NAME_SIZE 1024

/* @text without what a terminal would obey, nor any character of @also. */
static void put_safe(FILE *to, const char *text, const char *also)
{
	char safe[NAME_SIZE];

	text_escape(safe, sizeof(safe), text, also);
	fputs(safe, to);
}

/* Local time with the offset from UTC, so that it means one moment everywhere. */
static void put_time(FILE *to, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char date[32] = "", zone[16] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm)) {
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
		strftime(zone, sizeof(zone), "%z", &tm);
	}
	fprintf(to, "%s.%06u%s", date, (unsigned)(unix_ns % 1000000000 / 1000), zone);
}

static void put_source(FILE *to, const struct recording *recording,
		       const struct recording_line *line)
{
	const struct recording_function *function = &recording->functions[line->function];

	if (!function->file)
		return;
	putc(' ', to);
	put_safe(to, recording_string(recording, function->file), "");
	if (line->line)
		fprintf(to, ":%u", line->line);
	if (line->line && line->column)
		fprintf(to, ":%u", line->column);
}

/* symbol+0xoffset, or where the code is if it has no name. */
static void put_name(FILE *to, const struct recording *recording,
		     const struct recording_frame *frame)
{
	const struct recording_function *function = recording_function_of(recording, frame);

	if (function) {
		put_safe(to, recording_string(recording, function->name), "");
		if (frame->start != RECORDING_NO_ADDRESS)
			fprintf(to, "+0x%" PRIx64, frame->address - frame->start);
	} else if (frame->object && frame->kind == RECORDING_USER) {
		const char *path =
			recording_string(recording, recording->objects[frame->object].path);

		putc('[', to);
		put_safe(to, path, "");
		fprintf(to, "+0x%" PRIx64 "]", frame->address);
	} else {
		fprintf(to, "[0x%" PRIx64 "]", frame->address);
	}
}

/* @times: this many equal frames begin at @idx. */
static void put_frame(FILE *to, const struct recording *recording,
		      const struct recording_frame *frame, size_t idx, size_t times)
{
	const struct recording_line *lines = &recording->lines[frame->first_line];
	const char *path = recording_string(recording, recording->objects[frame->object].path);

	/* what is inlined there has no address of its own */
	for (unsigned i = 0; i + 1 < frame->nr_lines; i++) {
		uint32_t name = recording->functions[lines[i].function].name;

		fprintf(to, "    %3zu %18s ", idx, "inlined");
		put_safe(to, recording_string(recording, name), "");
		put_source(to, recording, &lines[i]);
		putc('\n', to);
	}
	if (frame->address == RECORDING_NO_ADDRESS)
		fprintf(to, "    %3zu %18s ", idx, "");
	else
		fprintf(to, "    %3zu %#018" PRIx64 " ", idx, frame->address);
	if (frame->nr_lines || !frame->object)
		put_name(to, recording, frame);
	else
		fputs("[unknown]", to); /* the address and the object are there anyway */
	if (frame->nr_lines)
		put_source(to, recording, &lines[frame->nr_lines - 1]);
	if (frame->object) {
		fputs(" (", to);
		put_safe(to, path, "");
		putc(')', to);
	}
	if (frame->kind == RECORDING_USER && frame->origin != FPL_ORIGIN_CFI)
		fprintf(to, " [%s]", origin_key((enum fpl_origin)frame->origin));
	if (times > 1)
		fprintf(to, " [%zu times]", times);
	putc('\n', to);
}

/* Frames [first, first + nr) of @stack. */
static void put_frames(FILE *to, const struct recording *recording,
		       const struct recording_stack *stack, size_t first, size_t nr, bool fold)
{
	const uint32_t *ids = &recording->frame_ids[stack->first_frame + first];

	for (size_t i = 0, times; i < nr; i += times) {
		for (times = 1; fold && i + times < nr && ids[i + times] == ids[i]; times++)
			;
		put_frame(to, recording, &recording->frames[ids[i]], i, times);
	}
}

void stream_format_frames(FILE *to, const struct recording *recording,
			  const struct recording_stack *stack, bool fold)
{
	if (stack->nr_kernel)
		fputs("  Kernel:\n", to);
	put_frames(to, recording, stack, stack->nr_user, stack->nr_kernel, fold);
	if (stack->nr_user || stack->stop != RECORDING_NO_STOP)
		fputs("  Userspace:\n", to);
	put_frames(to, recording, stack, 0, stack->nr_user, fold);
	if (stack->stop != RECORDING_NO_STOP && stack->stop != FPL_STOP_OUTERMOST)
		fprintf(to, "    incomplete: %s: %s\n", stop_key((enum fpl_stop)stack->stop),
			stop_text(stack->stop));
}

/* ", 12.3 ms of blocked time": what the sample weighs, unless that is the time of a clock, or it is
 * one event. */
static void put_weight(FILE *to, const struct recording *recording, uint64_t weight)
{
	struct measure measure;
	char text[MEASURE_NUMBER_SIZE + sizeof(measure.noun) + 8];

	measure_init(recording, &measure);
	if (measure.kind != MEASURE_SAMPLES && (measure.kind != MEASURE_COUNT || weight != 1))
		fprintf(to, ", %s", measure_said(&measure, weight, text, sizeof(text)));
}

static void put_block(FILE *to, const struct recording *recording,
		      const struct stream_sample *sample)
{
	const struct recording_stack *stack = sample->stack;

	put_time(to, sample->unix_ns);
	fputs(" COMM: ", to);
	put_safe(to, recording_string(recording, stack->comm), "");
	fprintf(to, " (pid=%u tid=%u) @ CPU %u", stack->pid, stack->tid, stack->cpu);
	if (recording->nr_sources)
		fprintf(to, " EVENT: %s",
			recording_string(recording, sources_event(recording, stack)));
	if (stack->has & RECORDING_HAS_KEY) {
		fputs(", ", to);
		put_safe(to, recording_string(recording, recording->key), "");
		putc(' ', to);
		put_safe(to, recording_string(recording, stack->key), "");
	}
	put_weight(to, recording, sample->weight);
	putc('\n', to);
	stream_format_frames(to, recording, stack, false);
	putc('\n', to);
}

/* The innermost function: what ran. */
static void put_top(FILE *to, const struct recording *recording,
		    const struct recording_stack *stack)
{
	const struct recording_frame *frame;

	if (!stack->nr_user && !stack->nr_kernel) {
		putc('-', to);
		return;
	}
	frame = recording_frame_at(recording, stack, stack->nr_kernel ? stack->nr_user : 0);
	if (frame->nr_lines > 1) {
		const struct recording_line *line = &recording->lines[frame->first_line];

		put_safe(to, recording_string(recording, recording->functions[line->function].name),
			 "");
	} else {
		put_name(to, recording, frame);
	}
	if (frame->nr_lines)
		put_source(to, recording, &recording->lines[frame->first_line]);
}

static void put_row(FILE *to, const struct recording *recording, const struct stream_sample *sample)
{
	const struct recording_stack *stack = sample->stack;
	char comm[4 * FPL_COMM_SIZE + 1], key[NAME_SIZE];
	struct measure measure;

	measure_init(recording, &measure);
	/* one word, whatever the name */
	text_escape(comm, sizeof(comm), recording_string(recording, stack->comm), " ");
	put_time(to, sample->unix_ns);
	fprintf(to, " %-16s %7u %7u %4u %6u %6u ", comm, stack->pid, stack->tid, stack->cpu,
		stack->nr_kernel, stack->nr_user);
	if (recording->nr_sources)
		fprintf(to, "%-16s ", recording_string(recording, sources_event(recording, stack)));
	if (recording->key) {
		text_escape(key, sizeof(key),
			    stack->has & RECORDING_HAS_KEY ? recording_string(recording, stack->key)
							   : "-",
			    " ");
		fprintf(to, "%-16s ", key);
	}
	if (measure.kind != MEASURE_SAMPLES && !recording->nr_sources)
		fprintf(to, "%12" PRIu64 " ", sample->weight);
	put_top(to, recording, stack);
	putc('\n', to);
}

static void put_json(FILE *to, const struct recording *recording,
		     const struct stream_sample *sample)
{
	const struct recording_stack *stack = sample->stack;
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "sample");
	json_number(&json, "time_unix_ns", sample->unix_ns);
	json_number(&json, weight_key(recording), sample->weight);
	frame_json_write_task(&json, recording, stack);
	if (stack->stop == RECORDING_NO_STOP)
		json_null(&json, "stop");
	else
		json_string(&json, "stop", stop_key((enum fpl_stop)stack->stop));
	json_open(&json, "user", '[');
	for (size_t i = 0; i < stack->nr_user; i++)
		frame_json_write(&json, recording, recording_frame_at(recording, stack, i));
	json_close(&json, ']');
	json_open(&json, "kernel", '[');
	for (size_t i = 0; i < stack->nr_kernel; i++)
		frame_json_write(&json, recording,
				 recording_frame_at(recording, stack, stack->nr_user + i));
	json_close(&json, ']');
	json_close(&json, '}');
	putc('\n', to);
}

void stream_format_head(FILE *to, enum stream_format format, const struct stream_columns *columns)
{
	if (format != STREAM_FORMAT_TABLE)
		return;
	fprintf(to, "%-31s %-16s %7s %7s %4s %6s %6s ", "TIME", "COMM", "PID", "TID", "CPU",
		"KDEPTH", "UDEPTH");
	if (columns->event)
		fprintf(to, "%-16s ", "EVENT");
	if (columns->key)
		fprintf(to, "%-16s ", "KEY");
	if (columns->weight)
		fprintf(to, "%12s ", "WEIGHT");
	fputs("TOP\n", to);
}

void stream_format_sample(FILE *to, enum stream_format format, const struct recording *recording,
			  const struct stream_sample *sample)
{
	switch (format) {
	case STREAM_FORMAT_TABLE:
		put_row(to, recording, sample);
		break;
	case STREAM_FORMAT_JSON:
		put_json(to, recording, sample);
		break;
	case STREAM_FORMAT_BLOCKS:
	case STREAM_FORMAT_COUNT:
	default:
		put_block(to, recording, sample);
		break;
	}
}
