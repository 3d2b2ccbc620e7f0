/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own .jsonl, all of it: written again it is the same bytes. json-c parses one line at a time,
 * strictly; what a line may cost is bounded before.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "recording/jsonl_books.h"
#include "recording/jsonl_frame.h"
#include "recording/jsonl_value.h"
#include "recording/reading.h"

/* Containers and values of a line: a stack of all frames has a few thousand and ten times that. */
enum { DEPTH_MAX = 16, CONTAINERS_MAX = 1 << 18, VALUES_MAX = 1 << 20 };

struct jsonl {
	struct reading *reading;
	struct json_tokener *tokener; /* owned */
	bool has_meta, has_books;
	bool has_stops; /* user stacks were walked: a stack without a stop has no user part */
};

static void jsonl_fini(struct jsonl *jsonl)
{
	if (jsonl->tokener)
		json_tokener_free(jsonl->tokener);
}

static void cleanup_json(json_object **object)
{
	json_object_put(*object);
}

static int read_labels(struct reading *reading, json_object *meta, struct fpl_err *err)
{
	static const struct {
		const char *name;
		unsigned label;
	} labels[] = {
		{ "comm", RECORDING_HAS_COMM },	    { "pid", RECORDING_HAS_PID },
		{ "tid", RECORDING_HAS_TID },	    { "cpu", RECORDING_HAS_CPU },
		{ "cgroup", RECORDING_HAS_CGROUP },
	};
	json_object *by = json_object_object_get(meta, "by");

	if (!by)
		return 0;
	if (!json_object_is_type(by, json_type_array))
		return line_input_fail(reading->input, err, "\"by\" is no list");
	for (size_t i = 0; i < json_object_array_length(by); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(by, i));

		for (size_t j = 0; name && j < ARRAY_SIZE(labels); j++)
			if (!strcmp(name, labels[j].name))
				reading->recording->by |= labels[j].label;
	}
	return 0;
}

static int read_args(struct reading *reading, json_object *meta, struct fpl_err *err)
{
	json_object *args = json_object_object_get(meta, "argv");
	int error = 0;

	if (!args)
		return 0;
	if (!json_object_is_type(args, json_type_array))
		return line_input_fail(reading->input, err, "\"argv\" is no list");
	for (size_t i = 0; !error && i < json_object_array_length(args); i++) {
		AUTO_FREE char *arg = NULL;

		error = jsonl_text_of(reading, "argv", json_object_array_get_idx(args, i), &arg,
				      err);
		if (!error)
			must_add_arg(reading->recording, arg);
	}
	return error;
}

static int read_meta(struct jsonl *jsonl, json_object *meta, struct fpl_err *err)
{
	struct reading *reading = jsonl->reading;
	struct recording *to = reading->recording;
	uint64_t format, cpus;
	int error;

	if (jsonl->has_meta)
		return line_input_fail(reading->input, err, "a second meta line");
	jsonl->has_meta = true;
	error = jsonl_number(reading, meta, "format", UINT64_MAX, &format, err);
	if (!error && format != 1)
		return line_input_fail(
			reading->input, err, "format %s: this program reads 1",
			json_object_get_string(json_object_object_get(meta, "format")));
	if (!error)
		error = jsonl_interned(reading, meta, "event", &to->event, err);
	if (!error)
		error = jsonl_number(reading, meta, "period_ns", UINT64_MAX, &to->period_ns, err);
	if (!error)
		error = jsonl_number(reading, meta, "hz", UINT64_MAX, &to->hz, err);
	if (!error)
		error = jsonl_number(reading, meta, "start_unix_ns", UINT64_MAX, &to->start_unix_ns,
				     err);
	if (!error)
		error = jsonl_number(reading, meta, "duration_ns", UINT64_MAX, &to->duration_ns,
				     err);
	if (!error)
		error = jsonl_number(reading, meta, "cpus", UINT32_MAX, &cpus, err);
	if (!error) {
		to->nr_cpus = (uint32_t)cpus;
		error = jsonl_interned(reading, meta, "kernel", &to->kernel, err);
	}
	if (!error)
		error = jsonl_interned(reading, meta, "sample_type", &to->sample_type, err);
	if (!error)
		error = jsonl_interned(reading, meta, "sample_unit", &to->sample_unit, err);
	if (!error)
		error = jsonl_interned(reading, meta, "weight_type", &to->weight_type, err);
	if (!error)
		error = read_args(reading, meta, err);
	return error ? error : read_labels(reading, meta, err);
}

/* A number that may be absent or null. @has: set in key->has where it is there. */
static int read_label(struct reading *reading, json_object *object, const char *key, unsigned has,
		      struct recording_stack *stack, uint32_t *ret, struct fpl_err *err)
{
	uint64_t value;
	int error;

	if (!json_object_object_get(object, key))
		return 0;
	error = jsonl_number(reading, object, key, UINT32_MAX, &value, err);
	if (error)
		return error;
	stack->has |= (uint8_t)has;
	*ret = (uint32_t)value;
	return 0;
}

static int read_task(struct reading *reading, json_object *object, struct recording_stack *stack,
		     struct fpl_err *err)
{
	int error = jsonl_interned(reading, object, "comm", &stack->comm, err);

	if (error)
		return error;
	if (json_object_object_get(object, "comm"))
		stack->has |= RECORDING_HAS_COMM;
	error = read_label(reading, object, "pid", RECORDING_HAS_PID, stack, &stack->pid, err);
	if (!error)
		error = read_label(reading, object, "tid", RECORDING_HAS_TID, stack, &stack->tid,
				   err);
	if (!error)
		error = read_label(reading, object, "cpu", RECORDING_HAS_CPU, stack, &stack->cpu,
				   err);
	if (!error)
		error = jsonl_interned(reading, object, "cgroup", &stack->cgroup, err);
	if (!error && json_object_object_get(object, "cgroup"))
		stack->has |= RECORDING_HAS_CGROUP;
	return error;
}

static int read_stop(struct reading *reading, json_object *object, uint8_t *ret,
		     struct fpl_err *err)
{
	static const char *const keys[FPL_STOP_COUNT] = {
#define X(name, key, text) [FPL_STOP_##name] = #key,
		FPL_STOP_LIST(X)
#undef X
	};
	json_object *stop = json_object_object_get(object, "stop");
	const char *text = json_object_get_string(stop);

	*ret = RECORDING_NO_STOP;
	if (!stop)
		return 0;
	for (uint8_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(text, keys[i]) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return line_input_fail(reading->input, err, "no stop is called \"%.40s\"", text);
}

/* Add the frames under @key to the stack at hand; *ret_nr is how many. */
static int read_frames(struct reading *reading, json_object *object, const char *key,
		       enum recording_kind kind, uint16_t *ret_nr, struct fpl_err *err)
{
	json_object *list = json_object_object_get(object, key);
	size_t nr;
	int error = 0;

	*ret_nr = 0;
	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return line_input_fail(reading->input, err, "\"%s\" is no list", key);
	nr = json_object_array_length(list);
	if (nr > READING_FRAMES_MAX)
		return line_input_fail(reading->input, err, "a stack of more than %u frames",
				       READING_FRAMES_MAX);
	for (size_t i = 0; !error && i < nr; i++)
		error = jsonl_frame_read(reading, json_object_array_get_idx(list, i), kind, i == 0,
					 err);
	*ret_nr = (uint16_t)nr;
	return error;
}

/* Names of the classes of output/verdict.h, in the order of their numbers. */
static const char *const classes[] = { "agree", "wrong", "skip", "cut", "unjudged" };

static int read_comparison(struct reading *reading, json_object *object,
			   struct recording_stack *stack, struct fpl_err *err)
{
	const char *text = json_object_get_string(json_object_object_get(object, "class"));

	if (!json_object_object_get_ex(object, "fp", NULL))
		return 0;
	stack->has |= RECORDING_HAS_FP;
	for (uint8_t i = 0; text && i < ARRAY_SIZE(classes); i++) {
		if (strcmp(text, classes[i]) != 0)
			continue;
		stack->class = i;
		return read_frames(reading, object, "fp", RECORDING_USER, &stack->nr_fp, err);
	}
	return line_input_fail(reading->input, err, "\"fp\" without a class of its own");
}

/*
 * Add the stack. Two that read the same are those of two tasks that had one pid: they stay two,
 * told apart by the line.
 */
static int add_stack(struct reading *reading, struct recording_stack *stack, struct fpl_err *err)
{
	const struct recording_stack none = *stack;
	struct recording_stack probe = none;
	size_t nr_before = reading->recording->nr_stacks;
	uint32_t unused;

	probe.count = probe.weight_ns = 0;
	must_add_stack(reading->recording, &probe, reading->frames.list);
	if (reading->recording->nr_stacks == nr_before)
		stack->task = reading->input->line;
	return reading_stack(reading, stack, &unused, err);
}

static int read_stack(struct jsonl *jsonl, json_object *object, struct fpl_err *err)
{
	struct reading *reading = jsonl->reading;
	struct recording_stack stack = { 0 };
	uint64_t elided = 0;
	int error = jsonl_number(reading, object, "count", UINT64_MAX, &stack.count, err);

	if (!error)
		error = jsonl_number(reading, object, "weight_ns", UINT64_MAX, &stack.weight_ns,
				     err);
	if (!error)
		error = read_task(reading, object, &stack, err);
	if (!error)
		error = read_stop(reading, object, &stack.stop, err);
	if (!error)
		error = jsonl_number(reading, object, "elided", UINT32_MAX, &elided, err);
	stack.elided = (uint32_t)elided;
	reading->frames.nr = 0;
	if (!error)
		error = read_frames(reading, object, "user", RECORDING_USER, &stack.nr_user, err);
	if (!error)
		error = read_frames(reading, object, "kernel", RECORDING_KERNEL, &stack.nr_kernel,
				    err);
	if (!error)
		error = read_comparison(reading, object, &stack, err);
	jsonl->has_stops = jsonl->has_stops || stack.stop != RECORDING_NO_STOP;
	return error ? error : add_stack(reading, &stack, err);
}

static int read_books(struct reading *reading, json_object *object, struct fpl_err *err)
{
	uint64_t shown;
	int error = jsonl_number(reading, object, "shown", UINT64_MAX, &shown, err);

	if (!error && shown != reading->shown)
		return line_input_fail(reading->input, err,
				       "the books show %" PRIu64
				       " samples, the stacks add up to %" PRIu64,
				       shown, reading->shown);
	return error ? error : jsonl_books_read(reading, object, err);
}

static int read_object(struct jsonl *jsonl, json_object *object, struct fpl_err *err)
{
	struct reading *reading = jsonl->reading;
	const char *type = json_object_is_type(object, json_type_object)
				   ? json_object_get_string(json_object_object_get(object, "type"))
				   : NULL;

	if (!type)
		return line_input_fail(reading->input, err, "no object with a \"type\"");
	if (!strcmp(type, "meta"))
		return read_meta(jsonl, object, err);
	if (!jsonl->has_meta)
		return line_input_fail(reading->input, err, "the first line is no \"meta\"");
	if (jsonl->has_books)
		return line_input_fail(reading->input, err, "something behind the books");
	if (!strcmp(type, "stack"))
		return read_stack(jsonl, object, err);
	if (!strcmp(type, "books")) {
		jsonl->has_books = true;
		return read_books(reading, object, err);
	}
	return line_input_fail(reading->input, err, "no line is of type \"%.40s\"", type);
}

/* Refuse what would cost a multiple of its bytes. Those inside of texts count, too. */
static int check_size(const struct reading *reading, const char *line, struct fpl_err *err)
{
	size_t containers = 0, values = 0;

	for (; *line; line++) {
		containers += *line == '{' || *line == '[';
		values += *line == ',';
	}
	if (containers > CONTAINERS_MAX || values > VALUES_MAX)
		return line_input_fail(reading->input, err, "more than %u values", VALUES_MAX);
	return 0;
}

static int read_line(struct jsonl *jsonl, const char *line, size_t length, struct fpl_err *err)
{
	struct reading *reading = jsonl->reading;
	int error = check_size(reading, line, err);

	if (error)
		return error;
	json_tokener_reset(jsonl->tokener);

	/* with its NUL: a number at the end is whole then */
	CLEANUP(cleanup_json)
	json_object *object = json_tokener_parse_ex(jsonl->tokener, line, (int)length + 1);
	enum json_tokener_error parsed = json_tokener_get_error(jsonl->tokener);

	if (parsed != json_tokener_success)
		return line_input_fail(reading->input, err, "no JSON at byte %zu: %s",
				       json_tokener_get_parse_end(jsonl->tokener),
				       parsed == json_tokener_continue
					       ? "it ends too early"
					       : json_tokener_error_desc(parsed));
	if (json_tokener_get_parse_end(jsonl->tokener) < length)
		return line_input_fail(reading->input, err, "something behind the object");
	return read_object(jsonl, object, err);
}

/* In a recording of user stacks a stack without a stop is that of a task without a user part. */
static void mark_kernel_tasks(struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++)
		recording->stacks[i].no_user = recording->stacks[i].stop == RECORDING_NO_STOP;
}

int jsonl_read(struct reading *reading, struct fpl_err *err)
{
	CLEANUP(jsonl_fini) struct jsonl jsonl = { .reading = reading };
	size_t length;
	char *line;
	int more;

	jsonl.tokener = json_tokener_new_ex(DEPTH_MAX);
	alloc_check(!jsonl.tokener);
	json_tokener_set_flags(jsonl.tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	while ((more = reading_next(reading, &line, &length, err)) > 0) {
		int error = read_line(&jsonl, line, length, err);

		if (error)
			return error;
	}
	if (more)
		return more;
	if (!jsonl.has_books)
		return line_input_fail(reading->input, err,
				       "the file ends without the books: it was cut off");
	if (jsonl.has_stops)
		mark_kernel_tasks(reading->recording);
	return 0;
}
