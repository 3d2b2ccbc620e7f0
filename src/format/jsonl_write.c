/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_write.h"
#include "recording/keys.h"

#include "base/cleanup.h"
#include "format/jsonl_labels.h"
#include "format/jsonl_tree_write.h"
#include "recording/sample_type.h"
#include "recording/verdict_class.h"
#include "view/books.h"
#include "view/frame_json.h"
#include "view/frame_list.h"
#include "view/json.h"
#include "view/measure.h"

/* A sum of squares is written where samples differ, by more than is computed wrong. */
#define SQUARES_APART (1 + 1e-6)

/* Samples of a line: some 100 KiB; a file that was cut loses no more. */
#define SAMPLES_MAX 4096u

static void write_by(struct json *json, unsigned by)
{
	if (!by)
		return;
	json_open(json, "by", '[');
	for (size_t i = 0; i < JSONL_LABELS; i++)
		if (by & jsonl_labels[i].has)
			json_string(json, NULL, jsonl_labels[i].key);
	json_close(json, ']');
}

static void write_sources(struct json *json, const struct recording *recording)
{
	if (!recording->nr_sources)
		return;
	json_open(json, "sources", '[');
	for (size_t i = 0; i < recording->nr_sources; i++) {
		json_open(json, NULL, '{');
		books_write_source(json, recording, i);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_meta(FILE *to, const struct recording *recording, unsigned format)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "meta");
	json_number(&json, "format", format);
	json_string(&json, "event", recording_string(recording, recording->event));
	json_number(&json, period_key(recording), recording->period);
	json_number(&json, "hz", recording->hz);
	json_number(&json, "start_unix_ns", recording->start_unix_ns);
	json_number(&json, "duration_ns", recording->duration_ns);
	json_number(&json, "cpus", recording->nr_cpus);
	json_string(&json, "kernel", recording_string(recording, recording->kernel));
	if (!sample_type_is_samples(recording)) {
		json_string(&json, "sample_type",
			    recording_string(recording, recording->sample_type));
		json_string(&json, "sample_unit",
			    recording_string(recording, recording->sample_unit));
	}
	if (recording->weight_type)
		json_string(&json, "weight_type",
			    recording_string(recording, recording->weight_type));
	if (recording->weight_unit)
		json_string(&json, "weight_unit",
			    recording_string(recording, recording->weight_unit));
	if (recording->by_count && sample_type_weighs_else(recording))
		json_bool(&json, "by_count", true);
	write_by(&json, recording->by);
	if (recording->key)
		json_string(&json, "key", recording_string(recording, recording->key));
	write_sources(&json, recording);
	json_open(&json, "argv", '[');
	for (size_t i = 0; i < recording->nr_args; i++)
		json_string(&json, NULL, recording_string(recording, recording->args[i]));
	json_close(&json, ']');
	json_close(&json, '}');
	putc('\n', to);
}

static void write_frame(FILE *to, const struct recording *recording,
			const struct recording_frame *frame, const struct format_options *options)
{
	struct json json = { .to = to };

	(void)options;
	frame_json_write(&json, recording, frame);
}

/* The state of a writer of all lines. */
struct writer {
	FILE *to;
	const struct recording *recording;
	struct frame_list frames;
	struct jsonl_tree_writer *tree; /* borrowed; NULL: format 1 */
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

static void write_heap(struct json *json, const struct recording *recording,
		       const struct recording_stack *stack)
{
	const struct recording_heap heap =
		recording_heap_of(recording, (size_t)(stack - recording->stacks));

	json_number(json, "alloc_objects", heap.alloc_objects);
	json_number(json, "alloc_space", heap.alloc_space);
	json_number(json, "inuse_objects", heap.inuse_objects);
	json_number(json, "inuse_space", heap.inuse_space);
}

/* Write all of @stack but its frames. */
static void write_head(struct json *json, const struct recording *recording,
		       const struct recording_stack *stack)
{
	json_number(json, "count", stack->count);
	json_number(json, weight_key(recording), stack->weight);
	if (stack->squares > SQUARES_APART * recording_equal_squares(stack->count, stack->weight))
		json_real(json, "weight_squares", stack->squares);
	if (recording->has_heap)
		write_heap(json, recording, stack);
	frame_json_write_task(json, recording, stack);
	if (stack->task && stack->task < RECORDING_TASK_READ)
		json_number(json, "process_start_ns", stack->task);
	if (stack->no_user)
		json_true(json, "no_user");
	if (stack->stop == RECORDING_NO_STOP)
		json_null(json, "stop");
	else
		json_string(json, "stop", stop_key((enum fpl_stop)stack->stop));
	if (stack->elided)
		json_number(json, "elided", stack->elided);
}

static bool are_of_one_task(const struct recording_stack *a, const struct recording_stack *b)
{
	return a->task == b->task && a->has == b->has && a->pid == b->pid && a->tid == b->tid &&
	       a->cpu == b->cpu && a->comm == b->comm && a->cgroup == b->cgroup && a->key == b->key;
}

/* Does @stack differ from the stack before it in its frames alone? */
static bool is_like_last(const struct recording *recording, const struct recording_stack *stack)
{
	const struct recording_stack *last = stack - 1;

	return stack != recording->stacks && !recording->has_heap && stack->count == last->count &&
	       stack->weight == last->weight && stack->squares <= last->squares &&
	       stack->squares >= last->squares && are_of_one_task(stack, last) &&
	       stack->no_user == last->no_user && stack->stop == last->stop &&
	       stack->elided == last->elided && stack->source == last->source &&
	       stack->state == last->state;
}

static void write_stack(const struct writer *writer, const struct recording_stack *stack)
{
	size_t nr_walked = (size_t)stack->nr_user + stack->nr_kernel;
	struct json json = { .to = writer->to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "stack");
	if (!writer->tree || !is_like_last(writer->recording, stack))
		write_head(&json, writer->recording, stack);
	if (writer->tree) {
		const uint32_t *ids = writer->recording->frame_ids + stack->first_frame;

		jsonl_tree_write(writer->tree, &json, "user", "user_rest", ids, stack->nr_user);
		jsonl_tree_write(writer->tree, &json, "kernel", "kernel_rest", ids + stack->nr_user,
				 stack->nr_kernel);
	} else {
		write_frames(&json, "user", writer, stack, 0, stack->nr_user);
		write_frames(&json, "kernel", writer, stack, stack->nr_user, nr_walked);
	}
	if (stack->has & RECORDING_HAS_FP) {
		write_frames(&json, "fp", writer, stack, nr_walked, nr_walked + stack->nr_fp);
		json_string(&json, "class", verdict_class_key((enum verdict_class)stack->class));
	}
	json_close(&json, '}');
	putc('\n', writer->to);
}

/*
 * The number of @stack in a line of samples: itself; by *@next, if not NULL, 0 for the stack behind
 * the highest before, else 1 more. Most samples of deep stacks are the first of theirs.
 */
static uint64_t stack_number(uint32_t stack, uint32_t *next)
{
	uint32_t highest = next ? *next : 0;

	if (!next)
		return stack;
	if (stack >= highest)
		*next = stack + 1;
	return stack == highest ? 0 : (uint64_t)stack + 1;
}

/* @nr samples in time, by columns: what is alike stands together, for those who pack the file. */
static void write_samples(FILE *to, const char *weight_key, const struct recording_event *events,
			  size_t nr, uint32_t *next)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "samples");
	JSON_COLUMN(&json, "time_ns", nr, events[i].time_ns - (i ? events[i - 1].time_ns : 0));
	JSON_COLUMN(&json, "stack", nr, stack_number(events[i].stack, next));
	JSON_COLUMN(&json, "tid", nr, events[i].tid);
	JSON_COLUMN(&json, "cpu", nr, events[i].cpu);
	JSON_COLUMN(&json, weight_key, nr, events[i].weight);
	json_close(&json, '}');
	putc('\n', to);
}

static void write_all_samples(const struct writer *writer)
{
	const struct recording *recording = writer->recording;
	uint32_t next = 0;

	for (size_t i = 0; i < recording->nr_events; i += SAMPLES_MAX) {
		size_t left = recording->nr_events - i;

		write_samples(writer->to, weight_key(recording), &recording->events[i],
			      left < SAMPLES_MAX ? left : SAMPLES_MAX, writer->tree ? &next : NULL);
	}
}

/* Write all lines. Returns the sum of what is shown. */
static uint64_t write_all(const struct writer *writer)
{
	const struct recording *recording = writer->recording;
	FILE *to = writer->to;
	struct json json = { .to = to };
	struct measure measure;
	uint64_t shown = 0, weight = 0;

	measure_init(recording, &measure);
	write_meta(to, recording, writer->tree ? 3 : 1);
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		write_stack(writer, &recording->stacks[i]);
		shown += recording->stacks[i].count;
		weight += recording->stacks[i].weight;
	}
	write_all_samples(writer);
	json_open(&json, NULL, '{');
	json_string(&json, "type", "books");
	books_write_json(&json, recording, shown);
	json_close(&json, '}');
	putc('\n', to);
	return measure_of(&measure, shown, weight);
}

int jsonl_write(FILE *to, const struct recording *recording, const struct format_options *options,
		uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(writer_fini) struct writer writer = { .to = to, .recording = recording };

	(void)err;
	frame_list_make(recording, write_frame, options, &writer.frames);
	*ret_shown = write_all(&writer);
	return 0;
}

int jsonl_write_tree(FILE *to, const struct recording *recording,
		     const struct format_options *options, uint64_t *ret_shown, struct fpl_err *err)
{
	CLEANUP(writer_fini) struct writer writer = { .to = to, .recording = recording };
	CLEANUP(jsonl_tree_writer_fini) struct jsonl_tree_writer tree = { 0 };

	(void)err;
	frame_list_make(recording, write_frame, options, &writer.frames);
	jsonl_tree_writer_init(recording, &writer.frames, &tree);
	writer.tree = &tree;
	*ret_shown = write_all(&writer);
	return 0;
}
