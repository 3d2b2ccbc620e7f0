/* SPDX-License-Identifier: Apache-2.0 */
#include "output/jsonl.h"

#include <errno.h>

#include "base/cleanup.h"
#include "output/books.h"
#include "output/frame_list.h"
#include "output/frame_texts.h"
#include "output/json.h"
#include "output/tally.h"
#include "output/verdict.h"

static void write_meta(FILE *to, const struct recording *recording)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "meta");
	json_number(&json, "format", 1);
	json_string(&json, "event", recording_string(recording, recording->event));
	json_number(&json, "period_ns", recording->period_ns);
	json_number(&json, "hz", recording->hz);
	json_number(&json, "start_unix_ns", recording->start_unix_ns);
	json_number(&json, "duration_ns", recording->duration_ns);
	json_number(&json, "cpus", recording->nr_cpus);
	json_string(&json, "kernel", recording_string(recording, recording->kernel));
	json_open(&json, "argv", '[');
	for (size_t i = 0; i < recording->nr_args; i++)
		json_string(&json, NULL, recording_string(recording, recording->args[i]));
	json_close(&json, ']');
	json_close(&json, '}');
	putc('\n', to);
}

static void write_address(struct json *json, const char *key, uint64_t address)
{
	if (address == RECORDING_NO_ADDRESS)
		json_null(json, key);
	else
		json_address(json, key, address);
}

/* Members of a function at a line; those of a source only where it is known. */
static void write_line(struct json *json, const struct recording *recording,
		       const struct recording_line *line)
{
	const struct recording_function *function = &recording->functions[line->function];

	if (function->file)
		json_string(json, "file", recording_string(recording, function->file));
	if (line->line)
		json_number(json, "line", line->line);
	if (line->column)
		json_number(json, "column", line->column);
	if (function->start_line)
		json_number(json, "start_line", function->start_line);
}

static void write_symbol(struct json *json, const struct recording *recording,
			 const struct recording_frame *frame)
{
	const struct recording_function *function = recording_function_of(recording, frame);

	if (function)
		json_string(json, "symbol", recording_string(recording, function->name));
	else
		json_null(json, "symbol");
	if (function && frame->start != RECORDING_NO_ADDRESS &&
	    frame->address != RECORDING_NO_ADDRESS)
		json_number(json, "offset", frame->address - frame->start);
	else
		json_null(json, "offset");
	/* of code without a name, where its CFI says where its function begins */
	if (!function && frame->start != RECORDING_NO_ADDRESS)
		json_address(json, "start", frame->start);
}

/* Where in its source the frame is, and what is inlined there, the innermost first. */
static void write_source(struct json *json, const struct recording *recording,
			 const struct recording_frame *frame)
{
	const struct recording_line *lines = &recording->lines[frame->first_line];

	if (!frame->nr_lines)
		return;
	write_line(json, recording, &lines[frame->nr_lines - 1]);
	if (frame->nr_lines == 1)
		return;
	json_open(json, "inlined", '[');
	for (unsigned i = 0; i + 1 < frame->nr_lines; i++) {
		uint32_t name = recording->functions[lines[i].function].name;

		json_open(json, NULL, '{');
		json_string(json, "symbol", recording_string(recording, name));
		write_line(json, recording, &lines[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_user_frame(struct json *json, const struct recording *recording,
			     const struct recording_frame *frame)
{
	json_open(json, NULL, '{');
	if (frame->object) {
		const struct recording_object *object = &recording->objects[frame->object];

		json_string(json, "object", recording_string(recording, object->path));
		json_string(json, "build_id", recording_string(recording, object->build_id));
		write_address(json, "vaddr", frame->address);
	} else {
		write_address(json, "addr", frame->address);
	}
	write_symbol(json, recording, frame);
	write_source(json, recording, frame);
	json_string(json, "origin", tally_origin_key((enum fpl_origin)frame->origin));
	if (frame->exact)
		json_true(json, "exact");
	json_close(json, '}');
}

static void write_kernel_frame(struct json *json, const struct recording *recording,
			       const struct recording_frame *frame)
{
	char module[128];

	frame_module(recording, frame, module, sizeof(module));
	json_open(json, NULL, '{');
	write_address(json, "addr", frame->address);
	write_symbol(json, recording, frame);
	write_source(json, recording, frame);
	if (*module)
		json_string(json, "module", module);
	else
		json_null(json, "module");
	json_close(json, '}');
}

/* What tells of the task; tid, cpu and cgroup where stacks are told apart by them. */
static void write_task(struct json *json, const struct recording *recording,
		       const struct recording_stack *stack)
{
	if (stack->has & RECORDING_HAS_COMM)
		json_string(json, "comm", recording_string(recording, stack->comm));
	else
		json_null(json, "comm");
	if (stack->has & RECORDING_HAS_PID)
		json_number(json, "pid", stack->pid);
	else
		json_null(json, "pid");
	if (stack->has & RECORDING_HAS_TID)
		json_number(json, "tid", stack->tid);
	if (stack->has & RECORDING_HAS_CPU)
		json_number(json, "cpu", stack->cpu);
	if (stack->has & RECORDING_HAS_CGROUP)
		json_string(json, "cgroup", recording_string(recording, stack->cgroup));
}

static void write_frame(FILE *to, const struct recording *recording,
			const struct recording_frame *frame)
{
	struct json json = { .to = to };

	if (frame->kind == RECORDING_KERNEL)
		write_kernel_frame(&json, recording, frame);
	else
		write_user_frame(&json, recording, frame);
}

/* What all lines are written from. */
struct writer {
	FILE *to;
	const struct recording *recording;
	struct frame_list frames;
};

static void writer_fini(struct writer *writer)
{
	frame_list_fini(&writer->frames);
}

/* Frames [first, end) of @stack under @key. */
static void write_frames(struct json *json, const char *key, const struct writer *writer,
			 const struct recording_stack *stack, size_t first, size_t end)
{
	json_open(json, key, '[');
	for (size_t i = first; i < end; i++) {
		json_next(json);
		frame_list_put(&writer->frames,
			       writer->recording->frame_ids[stack->first_frame + i], json->to);
	}
	json_close(json, ']');
}

static void write_stack(const struct writer *writer, const struct recording_stack *stack)
{
	size_t nr_walked = (size_t)stack->nr_user + stack->nr_kernel;
	struct json json = { .to = writer->to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "stack");
	json_number(&json, "count", stack->count);
	json_number(&json, "weight_ns", stack->weight_ns);
	write_task(&json, writer->recording, stack);
	if (stack->stop == RECORDING_NO_STOP)
		json_null(&json, "stop");
	else
		json_string(&json, "stop", tally_stop_key((enum fpl_stop)stack->stop));
	write_frames(&json, "user", writer, stack, 0, stack->nr_user);
	write_frames(&json, "kernel", writer, stack, stack->nr_user, nr_walked);
	if (stack->has & RECORDING_HAS_FP) {
		write_frames(&json, "fp", writer, stack, nr_walked, nr_walked + stack->nr_fp);
		json_string(&json, "class", verdict_class_key((enum verdict_class)stack->class));
	}
	json_close(&json, '}');
	putc('\n', writer->to);
}

int jsonl_write(FILE *to, const struct recording *recording, const struct format_options *options,
		uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(writer_fini) struct writer writer = { .to = to, .recording = recording };
	struct json json = { .to = to };
	uint64_t shown = 0;

	(void)options;
	if (frame_list_make(recording, write_frame, &writer.frames))
		return fpl_fail(err, -ENOMEM, "out of memory for %zu frames", recording->nr_frames);
	write_meta(to, recording);
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		write_stack(&writer, &recording->stacks[i]);
		shown += recording->stacks[i].count;
	}
	json_open(&json, NULL, '{');
	json_string(&json, "type", "books");
	books_write_json(&json, recording, shown);
	json_close(&json, '}');
	putc('\n', to);
	*ret_shown = shown;
	return 0;
}
