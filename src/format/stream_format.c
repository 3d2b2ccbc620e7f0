/* SPDX-License-Identifier: Apache-2.0 */
#include "format/stream_format.h"
#include "recording/keys.h"
#include "recording/sources.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "view/frame_json.h"
#include "view/json.h"

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

static void put_frame(FILE *to, const struct recording *recording,
		      const struct recording_frame *frame, size_t idx)
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
	putc('\n', to);
}

void stream_format_frames(FILE *to, const struct recording *recording,
			  const struct recording_stack *stack)
{
	if (stack->nr_kernel)
		fputs("  Kernel:\n", to);
	for (size_t i = 0; i < stack->nr_kernel; i++)
		put_frame(to, recording, recording_frame_at(recording, stack, stack->nr_user + i),
			  i);
	if (stack->nr_user || stack->stop != RECORDING_NO_STOP)
		fputs("  Userspace:\n", to);
	for (size_t i = 0; i < stack->nr_user; i++)
		put_frame(to, recording, recording_frame_at(recording, stack, i), i);
	if (stack->stop != RECORDING_NO_STOP && stack->stop != FPL_STOP_OUTERMOST)
		fprintf(to, "    incomplete: %s: %s\n", stop_key((enum fpl_stop)stack->stop),
			stop_text(stack->stop));
}

static void put_block(FILE *to, const struct recording *recording,
		      const struct recording_stack *stack, uint64_t unix_ns)
{
	put_time(to, unix_ns);
	fputs(" COMM: ", to);
	put_safe(to, recording_string(recording, stack->comm), "");
	fprintf(to, " (pid=%u tid=%u) @ CPU %u", stack->pid, stack->tid, stack->cpu);
	if (recording->nr_sources)
		fprintf(to, " EVENT: %s",
			recording_string(recording, sources_event(recording, stack)));
	putc('\n', to);
	stream_format_frames(to, recording, stack);
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

static void put_row(FILE *to, const struct recording *recording,
		    const struct recording_stack *stack, uint64_t unix_ns)
{
	char comm[4 * FPL_COMM_SIZE + 1];

	/* one word, whatever the name */
	text_escape(comm, sizeof(comm), recording_string(recording, stack->comm), " ");
	put_time(to, unix_ns);
	fprintf(to, " %-16s %7u %7u %4u %6u %6u ", comm, stack->pid, stack->tid, stack->cpu,
		stack->nr_kernel, stack->nr_user);
	if (recording->nr_sources)
		fprintf(to, "%-16s ", recording_string(recording, sources_event(recording, stack)));
	put_top(to, recording, stack);
	putc('\n', to);
}

static void put_json(FILE *to, const struct recording *recording,
		     const struct recording_stack *stack, uint64_t unix_ns)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "sample");
	json_number(&json, "time_unix_ns", unix_ns);
	json_number(&json, weight_key(recording), stack->weight / stack->count);
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

void stream_format_head(FILE *to, enum stream_format format, bool has_several)
{
	if (format != STREAM_FORMAT_TABLE)
		return;
	fprintf(to, "%-31s %-16s %7s %7s %4s %6s %6s ", "TIME", "COMM", "PID", "TID", "CPU",
		"KDEPTH", "UDEPTH");
	if (has_several)
		fprintf(to, "%-16s ", "EVENT");
	fputs("TOP\n", to);
}

void stream_format_sample(FILE *to, enum stream_format format, const struct recording *recording,
			  const struct recording_stack *stack, uint64_t unix_ns)
{
	switch (format) {
	case STREAM_FORMAT_TABLE:
		put_row(to, recording, stack, unix_ns);
		break;
	case STREAM_FORMAT_JSON:
		put_json(to, recording, stack, unix_ns);
		break;
	case STREAM_FORMAT_BLOCKS:
	case STREAM_FORMAT_COUNT:
	default:
		put_block(to, recording, stack, unix_ns);
		break;
	}
}
