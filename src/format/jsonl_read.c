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
#include "base/log.h"
#include "base/text.h"
#include "format/jsonl_books.h"
#include "format/jsonl_frame.h"
#include "format/jsonl_known.h"
#include "format/jsonl_labels.h"
#include "format/jsonl_samples.h"
#include "format/jsonl_tree_read.h"
#include "format/jsonl_value.h"
#include "format/reading.h"
#include "recording/keys.h"
#include "recording/sample_type.h"
#include "recording/sources.h"
#include "recording/verdict_class.h"

/* Containers and values of a line: a stack of all frames has a few thousand and ten times that. */
enum { DEPTH_MAX = 16, CONTAINERS_MAX = 1 << 18, VALUES_MAX = 1 << 20 };

struct jsonl {
	struct reading *reading;
	struct json_tokener *tokener; /* owned */
	struct jsonl_known known;
	struct jsonl_samples samples;
	struct jsonl_tree_reader tree;
	bool is_tree; /* format 2 or 3 */
	bool has_last;
	struct recording_stack last; /* format 3: the stack read last, without frames */
	bool has_meta, has_books;
	bool is_cut;	/* its last line is not whole */
	bool has_stops; /* user stacks were walked: a stack without a stop has no user part */
};

static void jsonl_fini(struct jsonl *jsonl)
{
	if (jsonl->tokener)
		json_tokener_free(jsonl->tokener);
	jsonl_samples_fini(&jsonl->samples);
	jsonl_tree_reader_fini(&jsonl->tree);
	jsonl_known_fini(&jsonl->known);
}

static void cleanup_json(json_object **object)
{
	json_object_put(*object);
}

static void read_labels(struct reading *reading, json_object *meta)
{
	json_object *by = json_object_object_get(meta, "by");

	if (!by)
		return;
	if (!json_object_is_type(by, json_type_array)) {
		reading_fail(reading, "\"by\" is no list");
		return;
	}
	for (size_t i = 0; i < json_object_array_length(by); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(by, i));

		for (size_t j = 0; name && j < JSONL_LABELS; j++)
			if (!strcmp(name, jsonl_labels[j].key))
				reading->recording->by |= jsonl_labels[j].has;
	}
}

static void read_args(struct reading *reading, json_object *meta)
{
	json_object *args = json_object_object_get(meta, "argv");

	if (!args)
		return;
	if (!json_object_is_type(args, json_type_array)) {
		reading_fail(reading, "\"argv\" is no list");
		return;
	}
	for (size_t i = 0; i < json_object_array_length(args); i++) {
		AUTO_FREE char *arg =
			jsonl_text_of(reading, "argv", json_object_array_get_idx(args, i));

		must_add_arg(reading->recording, arg);
	}
}

/* The fields of one of several sources. */
static void read_source(struct reading *reading, json_object *object)
{
	struct recording *to = reading->recording;
	struct recording_source source = { .event = jsonl_interned(reading, object, "event") };

	if (!source.event || sources_find(to, recording_string(to, source.event)) != SOURCES_NONE)
		reading_fail(reading, "a source without an event of its own");
	source.weight_type = jsonl_interned(reading, object, "weight_type");
	source.weight_unit = jsonl_interned(reading, object, "weight_unit");
	if (sample_unit_ns(recording_string(to, source.weight_unit)) > 1)
		reading_fail(reading, "a source weighs a time in other than nanoseconds");
	source.period = jsonl_number(reading, object, source.weight_unit ? "period" : "period_ns",
				     UINT64_MAX);
	source.hz = jsonl_number(reading, object, "hz", UINT64_MAX);
	to->sources[to->nr_sources++] = source;
}

static void read_sources(struct reading *reading, json_object *meta)
{
	json_object *sources = json_object_object_get(meta, "sources");
	size_t nr = json_object_is_type(sources, json_type_array)
			    ? json_object_array_length(sources)
			    : 0;

	if (!sources)
		return;
	if (nr < 2 || nr > RECORDING_SOURCES_MAX) {
		reading_fail(reading, "\"sources\" is no list of 2 to %u", RECORDING_SOURCES_MAX);
		return;
	}
	for (size_t i = 0; !reading->error && i < nr; i++) {
		json_object *source = json_object_array_get_idx(sources, i);

		if (json_object_is_type(source, json_type_object))
			read_source(reading, source);
		else
			reading_fail(reading, "a source is no object");
	}
}

static void read_weight_unit(struct reading *reading, json_object *meta)
{
	struct recording *to = reading->recording;

	to->weight_unit = jsonl_interned(reading, meta, "weight_unit");
	if (!strcmp(recording_string(to, to->weight_unit), "nanoseconds")) {
		/* of a clock its stacks have "weight_ns", and of what else weighs a time "weight"
		 */
		if (!json_object_object_get_ex(meta, "period", NULL))
			to->weight_unit = 0;
	} else if (sample_unit_ns(recording_string(to, to->weight_unit)))
		reading_fail(reading, "a weight is a time in other than nanoseconds");
}

static void read_meta(struct jsonl *jsonl, json_object *meta)
{
	struct reading *reading = jsonl->reading;
	struct recording *to = reading->recording;
	uint64_t format;

	if (jsonl->has_meta)
		reading_fail(reading, "a second meta line");
	jsonl->has_meta = true;
	format = jsonl_number(reading, meta, "format", UINT64_MAX);
	jsonl->is_tree = format == 2 || format == 3;
	jsonl->tree.has_alike = format == 3;
	jsonl->samples.by_news = format == 3;
	if (format < 1 || format > 3)
		reading_fail(reading, "format %s: this program reads 1 to 3",
			     json_object_get_string(json_object_object_get(meta, "format")));
	to->event = jsonl_interned(reading, meta, "event");
	to->hz = jsonl_number(reading, meta, "hz", UINT64_MAX);
	to->start_unix_ns = jsonl_number(reading, meta, "start_unix_ns", UINT64_MAX);
	to->duration_ns = jsonl_number(reading, meta, "duration_ns", UINT64_MAX);
	to->nr_cpus = jsonl_number32(reading, meta, "cpus");
	to->kernel = jsonl_interned(reading, meta, "kernel");
	to->sample_type = jsonl_interned(reading, meta, "sample_type");
	to->sample_unit = jsonl_interned(reading, meta, "sample_unit");
	to->weight_type = jsonl_interned(reading, meta, "weight_type");
	read_weight_unit(reading, meta);
	to->key = jsonl_interned(reading, meta, "key");
	to->by_count = json_object_get_boolean(json_object_object_get(meta, "by_count"));
	to->period = jsonl_number(reading, meta, period_key(to), UINT64_MAX);
	read_args(reading, meta);
	read_labels(reading, meta);
	read_sources(reading, meta);
}

/* A number that may be absent or null; where it is there @stack has @has. */
static uint32_t read_label(struct reading *reading, json_object *object, const char *key,
			   unsigned has, struct recording_stack *stack)
{
	if (json_object_object_get(object, key))
		stack->has |= (uint8_t)has;
	return jsonl_number32(reading, object, key);
}

/* Which of several sources the stack is of. */
static void read_event(struct reading *reading, json_object *object, struct recording_stack *stack)
{
	const struct recording *recording = reading->recording;
	const char *event = json_object_get_string(json_object_object_get(object, "event"));
	size_t source = event ? sources_find(recording, event) : SOURCES_NONE;

	if (!recording->nr_sources)
		return;
	if (source == SOURCES_NONE)
		reading_fail(reading, "a stack of no source of the recording");
	else
		stack->source = (uint8_t)source;
}

/* The value under @name, whose text @of_key knows; @none: the member is not there. */
static uint8_t read_keyed(struct reading *reading, json_object *object, const char *name,
			  uint8_t (*of_key)(const char *text), uint8_t none)
{
	const char *text = json_object_get_string(json_object_object_get(object, name));
	uint8_t value = text ? of_key(text) : none;

	if (text && value == none)
		reading_fail(reading, "no %s is called \"%.40s\"", name, text);
	return value;
}

static void read_task(struct reading *reading, json_object *object, struct recording_stack *stack)
{
	stack->comm = jsonl_interned(reading, object, "comm");
	if (json_object_object_get(object, "comm"))
		stack->has |= RECORDING_HAS_COMM;
	stack->pid = read_label(reading, object, "pid", RECORDING_HAS_PID, stack);
	stack->tid = read_label(reading, object, "tid", RECORDING_HAS_TID, stack);
	stack->cpu = read_label(reading, object, "cpu", RECORDING_HAS_CPU, stack);
	stack->cgroup = jsonl_interned(reading, object, "cgroup");
	if (json_object_object_get(object, "cgroup"))
		stack->has |= RECORDING_HAS_CGROUP;
	stack->key = jsonl_interned(reading, object, "key");
	if (json_object_object_get(object, "key"))
		stack->has |= RECORDING_HAS_KEY;
	stack->state = read_keyed(reading, object, "state", state_of_key, RECORDING_STATE_NONE);
	stack->task = jsonl_number(reading, object, "process_start_ns", UINT64_MAX);
	stack->no_user = json_object_get_boolean(json_object_object_get(object, "no_user"));
}

/* Add the frames under @key to the stack at hand. Returns how many they are. */
static uint16_t read_frames(struct reading *reading, json_object *object, const char *key,
			    enum recording_kind kind)
{
	json_object *list = json_object_object_get(object, key);
	size_t nr = 0;

	if (list && !json_object_is_type(list, json_type_array))
		reading_fail(reading, "\"%s\" is no list", key);
	else if (list)
		nr = json_object_array_length(list);
	if (nr > READING_FRAMES_MAX)
		reading_fail(reading, "a stack of more than %u frames", READING_FRAMES_MAX);
	for (size_t i = 0; !reading->error && i < nr; i++)
		jsonl_frame_read(reading, json_object_array_get_idx(list, i), kind, i == 0);
	return (uint16_t)nr;
}

/* The same of any format, but for the frames that were taken out of the line. */
static uint16_t read_list(struct jsonl *jsonl, json_object *object, const char *key,
			  enum jsonl_list list)
{
	struct reading *reading = jsonl->reading;
	enum recording_kind kind = list == JSONL_USER ? RECORDING_USER : RECORDING_KERNEL;
	size_t nr = jsonl->known.taken[list].nr;

	if (jsonl->is_tree)
		return jsonl_tree_read(&jsonl->tree, reading, object, kind);
	if (!nr)
		return read_frames(reading, object, key, kind);
	for (size_t i = 0; i < nr; i++)
		must_push(&reading->frames, jsonl->known.taken[list].list[i]);
	return (uint16_t)nr;
}

static void read_comparison(struct reading *reading, json_object *object,
			    struct recording_stack *stack)
{
	const char *text = json_object_get_string(json_object_object_get(object, "class"));

	if (!json_object_object_get_ex(object, "fp", NULL))
		return;
	stack->has |= RECORDING_HAS_FP;
	stack->class = (uint8_t)(text ? verdict_class_of_key(text) : VERDICT_CLASS_COUNT);
	if (stack->class == VERDICT_CLASS_COUNT)
		reading_fail(reading, "\"fp\" without a class of its own");
	stack->nr_fp = read_frames(reading, object, "fp", RECORDING_USER);
}

/*
 * Add the stack. Two that read the same are those of two tasks that had one pid: they stay two,
 * told apart by the line.
 */
static void add_stack(struct reading *reading, struct recording_stack *stack)
{
	struct recording_stack probe = *stack;
	size_t nr_before = reading->recording->nr_stacks;

	if (reading->error)
		return;
	probe.count = probe.weight = 0;
	must_add_stack(reading->recording, &probe, reading->frames.list);
	if (reading->recording->nr_stacks == nr_before)
		stack->task = RECORDING_TASK_READ + reading->input->line;
	reading_stack(reading, stack);
}

/* All of them or none: a stack of allocations has all. It is the one added last. */
static void read_heap(struct reading *reading, json_object *object)
{
	struct recording_heap heap;

	if (!json_object_object_get(object, "alloc_space"))
		return;
	heap = (struct recording_heap){
		.alloc_objects = jsonl_number(reading, object, "alloc_objects", INT64_MAX),
		.alloc_space = jsonl_number(reading, object, "alloc_space", INT64_MAX),
		.inuse_objects = jsonl_number(reading, object, "inuse_objects", INT64_MAX),
		.inuse_space = jsonl_number(reading, object, "inuse_space", INT64_MAX),
	};
	if (!reading->error)
		must_add_heap(reading->recording, (uint32_t)reading->recording->nr_stacks - 1,
			      &heap);
}

/* 0: the samples weigh the same, or the file does not say. */
static double read_squares(json_object *object)
{
	json_object *value = json_object_object_get(object, "weight_squares");

	return value ? json_object_get_double(value) : 0;
}

/* Read all but the frames. In format 3 a stack without a count has them from the one before. */
static struct recording_stack read_head(struct jsonl *jsonl, json_object *object)
{
	struct reading *reading = jsonl->reading;
	struct recording_stack stack;

	if (jsonl->tree.has_alike && !json_object_object_get_ex(object, "count", NULL)) {
		if (!jsonl->has_last)
			reading_fail(reading, "the first stack has no \"count\"");
		return jsonl->last;
	}
	stack = (struct recording_stack){
		.count = jsonl_number(reading, object, "count", UINT64_MAX),
		.weight = jsonl_number(reading, object, weight_key(reading->recording), UINT64_MAX),
		.squares = read_squares(object),
		.stop = read_keyed(reading, object, "stop", stop_of_key, RECORDING_NO_STOP),
		.elided = jsonl_number32(reading, object, "elided"),
	};
	read_task(reading, object, &stack);
	read_event(reading, object, &stack);
	jsonl->has_last = true;
	jsonl->last = stack;
	return stack;
}

static void read_stack(struct jsonl *jsonl, json_object *object)
{
	struct reading *reading = jsonl->reading;
	struct recording_stack stack = read_head(jsonl, object);

	reading->frames.nr = 0;
	stack.nr_user = read_list(jsonl, object, "user", JSONL_USER);
	stack.nr_kernel = read_list(jsonl, object, "kernel", JSONL_KERNEL);
	read_comparison(reading, object, &stack);
	jsonl->has_stops = jsonl->has_stops || stack.stop != RECORDING_NO_STOP;
	if (jsonl->samples.left)
		reading_fail(reading, "a stack behind the samples in time");
	add_stack(reading, &stack);
	if (jsonl->is_tree && !reading->error)
		jsonl_tree_added(&jsonl->tree,
				 &reading->recording->stacks[reading->recording->nr_stacks - 1]);
	read_heap(reading, object);
}

static void read_books(struct reading *reading, json_object *object)
{
	uint64_t shown = jsonl_number(reading, object, "shown", UINT64_MAX);

	if (shown != reading->shown)
		reading_fail(reading,
			     "the books show %" PRIu64 " samples, the stacks add up to %" PRIu64,
			     shown, reading->shown);
	jsonl_books_read(reading, object);
}

static void read_object(struct jsonl *jsonl, json_object *object)
{
	struct reading *reading = jsonl->reading;
	const char *type = json_object_is_type(object, json_type_object)
				   ? json_object_get_string(json_object_object_get(object, "type"))
				   : NULL;

	if (!type) {
		reading_fail(reading, "no object with a \"type\"");
	} else if (!strcmp(type, "meta")) {
		read_meta(jsonl, object);
	} else if (!jsonl->has_meta) {
		reading_fail(reading, "the first line is no \"meta\"");
	} else if (jsonl->has_books) {
		reading_fail(reading, "something behind the books");
	} else if (!strcmp(type, "stack")) {
		read_stack(jsonl, object);
	} else if (!strcmp(type, "samples")) {
		jsonl_samples_read(&jsonl->samples, reading, object);
	} else if (!strcmp(type, "books")) {
		jsonl->has_books = true;
		read_books(reading, object);
	} else {
		reading_fail(reading, "no line is of type \"%.40s\"", type);
	}
}

/* Refuse what would cost a multiple of its bytes. Those inside of texts count, too. */
static void check_size(struct reading *reading, const char *line)
{
	size_t containers = 0, values = 0;

	for (; *line; line++) {
		containers += *line == '{' || *line == '[';
		values += *line == ',';
	}
	if (containers > CONTAINERS_MAX || values > VALUES_MAX)
		reading_fail(reading, "more than %u values", VALUES_MAX);
}

static void read_line(struct jsonl *jsonl, char *line, size_t length)
{
	static const char stack[] = "{\"type\":\"stack\",";
	struct reading *reading = jsonl->reading;

	check_size(reading, line);
	if (reading->error)
		return;
	for (size_t i = 0; i < JSONL_NR_LISTS; i++)
		jsonl->known.taken[i].nr = 0;
	if (jsonl->has_meta && !jsonl->is_tree && !strncmp(line, stack, strlen(stack)))
		jsonl_known_take(&jsonl->known, reading, jsonl->tokener, line, &length);
	json_tokener_reset(jsonl->tokener);

	/* with its NUL: a number at the end is whole then */
	CLEANUP(cleanup_json)
	json_object *object = json_tokener_parse_ex(jsonl->tokener, line, (int)length + 1);
	enum json_tokener_error parsed = json_tokener_get_error(jsonl->tokener);
	size_t end = json_tokener_get_parse_end(jsonl->tokener);

	if (parsed != json_tokener_success && reading->input->is_open && jsonl->has_meta)
		jsonl->is_cut = true;
	else if (parsed != json_tokener_success)
		reading_fail(reading, "no JSON at byte %zu: %s", end,
			     parsed == json_tokener_continue ? "it ends too early"
							     : json_tokener_error_desc(parsed));
	else if (end < length)
		reading_fail(reading, "something behind the object");
	else
		read_object(jsonl, object);
}

/* In a recording of user stacks a stack without a stop is that of a task without a user part. */
static void mark_kernel_tasks(struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++)
		recording->stacks[i].no_user |= recording->stacks[i].stop == RECORDING_NO_STOP;
}

/* A crash or a full disk cuts files: what came before is good. */
static void tell_cut(const struct jsonl *jsonl)
{
	const struct reading *reading = jsonl->reading;

	fpl_log(FPL_LOG_WARN,
		"%s: cut off %s line %" PRIu64 " (offset %" PRIu64 "): %" PRIu64
		" samples in %zu stacks are read; %sthe books are missing",
		reading->input->name, jsonl->is_cut ? "in" : "behind", reading->input->line,
		jsonl->is_cut ? reading->input->line_off : reading->input->next_off, reading->shown,
		reading->recording->nr_stacks,
		jsonl->samples.left ? "" : "what was behind them and ");
}

void jsonl_read(struct reading *reading)
{
	CLEANUP(jsonl_fini) struct jsonl jsonl = { .reading = reading };
	size_t length;
	char *line;

	jsonl_known_init(&jsonl.known);
	jsonl.tokener = json_tokener_new_ex(DEPTH_MAX);
	alloc_check(!jsonl.tokener);
	json_tokener_set_flags(jsonl.tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	while (reading_next(reading, &line, &length))
		read_line(&jsonl, line, length);
	if (!jsonl.has_meta)
		reading_fail(reading, "the file ends before its first line does");
	if (!jsonl.has_books && !reading->error)
		tell_cut(&jsonl);
	if (jsonl.has_stops)
		mark_kernel_tasks(reading->recording);
}
