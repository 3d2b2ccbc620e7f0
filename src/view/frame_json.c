/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/keys.h"
#include "view/frame_json.h"

#include "recording/sources.h"
#include "view/frame_texts.h"

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

/* The place of the frame in its source, and the functions inlined there, the innermost first. */
static void write_source(struct json *json, const struct recording *recording,
			 const struct recording_frame *frame)
{
	const struct recording_line *lines;

	if (!frame->nr_lines)
		return;
	lines = &recording->lines[frame->first_line];
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
		if (object->file_bias)
			json_address(json, "file_bias", object->file_bias);
		if (object->offsets)
			json_true(json, "offsets");
		write_address(json, "vaddr", frame->address);
	} else {
		write_address(json, "addr", frame->address);
	}
	write_symbol(json, recording, frame);
	write_source(json, recording, frame);
	json_string(json, "origin", origin_key((enum fpl_origin)frame->origin));
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

void frame_json_write(struct json *json, const struct recording *recording,
		      const struct recording_frame *frame)
{
	if (frame->kind == RECORDING_KERNEL)
		write_kernel_frame(json, recording, frame);
	else
		write_user_frame(json, recording, frame);
}

void frame_json_write_task(struct json *json, const struct recording *recording,
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
	if (stack->state)
		json_string(json, "state", state_key(stack->state));
	if (stack->has & RECORDING_HAS_KEY)
		json_string(json, "key", recording_string(recording, stack->key));
	if (recording->nr_sources)
		json_string(json, "event",
			    recording_string(recording, sources_event(recording, stack)));
}
