/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/vector.h"
#include "recording/must_add.h"
#include "recording/place_list.h"
#include "recording/sample_type.h"
#include "recording/sources.h"

/* A merge under way: indexes of @from as those of @to, ID_TABLE_NONE until they are asked for. */
struct merger {
	struct recording *to;
	const struct recording *from;
	const struct merge_filter *filter; /* NULL: none */
	struct merge_result *result;
	uint32_t *texts, *objects, *functions, *frames, *stacks; /* owned */
	uint8_t sources[RECORDING_SOURCES_MAX]; /* sources of from as those of to */
	size_t source;				/* the only one that is taken; SOURCES_NONE: all */
	VECTOR(uint32_t) stack_frames;
};

static void merger_fini(struct merger *merger)
{
	free(merger->texts);
	free(merger->objects);
	free(merger->functions);
	free(merger->frames);
	free(merger->stacks);
	vector_fini(&merger->stack_frames);
}

static void merger_init(struct merger *merger)
{
	const struct recording *from = merger->from;

	merger->texts = must_id_map(from->strings.nr);
	merger->objects = must_id_map(from->nr_objects);
	merger->functions = must_id_map(from->nr_functions);
	merger->frames = must_id_map(from->nr_frames);
	merger->stacks = must_id_map(from->nr_stacks);
}

static uint32_t map_text(struct merger *merger, uint32_t text)
{
	uint32_t *mapped = &merger->texts[text];

	if (*mapped == ID_TABLE_NONE)
		*mapped = must_add_text(merger->to, recording_string(merger->from, text));
	return *mapped;
}

static uint32_t map_object(struct merger *merger, uint32_t object)
{
	uint32_t *mapped = &merger->objects[object];
	struct recording_object key = merger->from->objects[object];

	if (*mapped == ID_TABLE_NONE) {
		key.path = map_text(merger, key.path);
		key.build_id = map_text(merger, key.build_id);
		*mapped = must_add_object(merger->to, &key);
	}
	return *mapped;
}

static uint32_t map_function(struct merger *merger, uint32_t function)
{
	uint32_t *mapped = &merger->functions[function];
	struct recording_function key = merger->from->functions[function];

	if (*mapped == ID_TABLE_NONE) {
		key.name = map_text(merger, key.name);
		key.file = map_text(merger, key.file);
		*mapped = must_add_function(merger->to, &key);
	}
	return *mapped;
}

static void map_lines(struct merger *merger, const struct recording_frame *frame,
		      struct recording_line *lines)
{
	for (size_t i = 0; i < frame->nr_lines; i++) {
		lines[i] = merger->from->lines[frame->first_line + i];
		lines[i].function = map_function(merger, lines[i].function);
	}
}

static uint32_t map_frame(struct merger *merger, uint32_t frame)
{
	const struct merge_filter *filter = merger->filter;
	uint32_t *mapped = &merger->frames[frame];
	struct recording_line lines[RECORDING_LINES_MAX];
	struct recording_frame key = merger->from->frames[frame];
	int renamed = 0;

	if (*mapped == ID_TABLE_NONE) {
		if (filter && filter->rename)
			renamed =
				filter->rename(filter->ctx, merger->from, merger->to, &key, lines);
		alloc_check(renamed < 0);
		if (!renamed)
			map_lines(merger, &merger->from->frames[frame], lines);
		key.object = map_object(merger, key.object);
		*mapped = must_add_frame(merger->to, &key, lines);
	}
	return *mapped;
}

static int add_checked(uint64_t *sum, uint64_t value)
{
	return __builtin_add_overflow(*sum, value, sum) ? -EOVERFLOW : 0;
}

/* The rest of a stack after the filter judged its events. */
struct left {
	uint64_t count, weight;
	double squares; /* of weights */
};

/* Add stack @idx with what is @left of it. */
static int add_stack(struct merger *merger, size_t idx, const struct left *left)
{
	struct recording_stack key = merger->from->stacks[idx];
	size_t nr = (size_t)key.nr_user + key.nr_kernel + key.nr_fp;
	struct merge_result *result = merger->result;
	int err = add_checked(&result->shown, left->count);

	key.comm = map_text(merger, key.comm);
	key.count = left->count;
	key.weight = left->weight;
	key.squares = left->squares;
	key.source = merger->sources[key.source];
	err = err ? err : add_checked(&result->weight, left->weight);
	result->has_weight = result->has_weight || left->weight;
	result->has_weightless = result->has_weightless || (left->count && !left->weight);
	key.cgroup = map_text(merger, key.cgroup);
	key.key = map_text(merger, key.key);
	merger->stack_frames.nr = 0;
	for (size_t i = 0; i < nr; i++)
		must_push(&merger->stack_frames,
			  map_frame(merger, merger->from->frame_ids[key.first_frame + i]));
	if (err)
		return err;
	merger->stacks[idx] = must_add_stack(merger->to, &key, merger->stack_frames.list);
	if (merger->from->has_heap) {
		const struct recording_heap heap = recording_heap_of(merger->from, idx);

		must_add_heap(merger->to, merger->stacks[idx], &heap);
	}
	return 0;
}

static bool takes_stack(const struct merger *merger, size_t idx)
{
	if (merger->source != SOURCES_NONE && merger->from->stacks[idx].source != merger->source)
		return false;
	return !merger->filter || !merger->filter->stack ||
	       merger->filter->stack(merger->filter->ctx, merger->from, idx);
}

static bool takes_event(const struct merger *merger, const struct recording_event *event)
{
	return !merger->filter || !merger->filter->event ||
	       merger->filter->event(merger->filter->ctx, merger->from, event);
}

/* @left: [nr_stacks] */
static void count_events(const struct merger *merger, struct left *left)
{
	for (size_t i = 0; i < merger->from->nr_events; i++) {
		const struct recording_event *event = &merger->from->events[i];

		if (!takes_event(merger, event))
			continue;
		left[event->stack].count++;
		left[event->stack].weight += event->weight;
		left[event->stack].squares += (double)event->weight * (double)event->weight;
	}
}

static int merge_stacks(struct merger *merger)
{
	const struct recording *from = merger->from;
	bool by_events = merger->filter && merger->filter->event;
	AUTO_FREE struct left *left =
		by_events ? must_calloc(from->nr_stacks, sizeof(*left)) : NULL;
	int err = 0;

	if (by_events)
		count_events(merger, left);
	for (size_t i = 0; !err && i < from->nr_stacks; i++) {
		const struct recording_stack *stack = &from->stacks[i];
		const struct left all = { stack->count, stack->weight, stack->squares };
		const struct left *taken = by_events ? &left[i] : &all;

		if (!takes_stack(merger, i) || (by_events && !taken->count)) {
			err = add_checked(&merger->result->refused, stack->count);
			continue;
		}
		err = add_checked(&merger->result->refused, stack->count - taken->count);
		if (!err)
			err = add_stack(merger, i, taken);
	}
	return err;
}

static void merge_events(struct merger *merger, uint64_t shift_ns)
{
	for (size_t i = 0; i < merger->from->nr_events; i++) {
		struct recording_event event = merger->from->events[i];

		if (merger->stacks[event.stack] == ID_TABLE_NONE || !takes_event(merger, &event))
			continue;
		event.stack = merger->stacks[event.stack];
		event.time_ns += shift_ns;
		must_add_event(merger->to, &event);
	}
	recording_sort_events(merger->to);
}

/* Sizes and peaks of a run: of several the largest is said. */
static bool is_peak(const char *key)
{
	static const char *const peaks[] = { "tables.",		 "maps.",	"maps_bytes",
					     "rss_peak_bytes",	 "hz_end",	"startup_ms",
					     "drain_gap_max_ms", "times.period" };

	for (size_t i = 0; i < ARRAY_SIZE(peaks); i++)
		if (!strncmp(key, peaks[i], strlen(peaks[i])))
			return true;
	return false;
}

static const char *note_of(const struct recording *from, const struct recording_number *number)
{
	return number->note == RECORDING_NO_NOTE ? NULL : recording_string(from, number->note);
}

/* Notes are those of the first run; the command of runs of two is left out. */
static void merge_note(struct merger *merger, const char *key, const char *note)
{
	const char *before = recording_note(merger->to, key);

	if (!merger->result->nr)
		must_set_note(merger->to, key, note);
	else if (!strcmp(key, "command") && before && (!note || strcmp(note, before) != 0))
		must_set_note(merger->to, key, NULL);
}

/* Sums of locks and threads: those of several runs would have to be joined by name. The stacks are
 * what is left. */
static bool is_named_sum(const char *key)
{
	return !strncmp(key, "locks", sizeof("locks") - 1) ||
	       !strncmp(key, "threads", sizeof("threads") - 1);
}

static int merge_number(struct merger *merger, const struct recording_number *number)
{
	static const char by_owner[] = "no_room.by_";
	const char *key = recording_string(merger->from, number->key);
	uint64_t value = number->value, before = recording_number(merger->to, key);

	if (merger->result->nr && place_list_has_key(key))
		return 0; /* place_list_merge() */
	if (merger->result->nr && !strncmp(key, by_owner, strlen(by_owner)))
		return 0; /* of the first run: owners of two may be two machines' */
	if (merger->result->nr && is_named_sum(key))
		return 0;
	if (number->note) {
		merge_note(merger, key, note_of(merger->from, number));
		return 0;
	}
	if (is_peak(key))
		value = value > before ? value - before : 0;
	else if (value > UINT64_MAX - before)
		return -EOVERFLOW;
	must_add_number(merger->to, key, value);
	return 0;
}

/*
 * A file without books has shown all that it counted: without these numbers the books of others
 * would not close.
 */
static int provide_books(struct merger *merger)
{
	uint64_t shown = 0;
	int err = 0;

	for (size_t i = 0; i < merger->from->nr_numbers; i++)
		if (!strcmp(recording_string(merger->from, merger->from->numbers[i].key), "fired"))
			return 0;
	for (size_t i = 0; !err && i < merger->from->nr_stacks; i++)
		err = add_checked(&shown, merger->from->stacks[i].count);
	must_add_number(merger->to, "fired", shown);
	must_add_number(merger->to, "shown", shown);
	return err;
}

static int merge_numbers(struct merger *merger, uint64_t refused)
{
	size_t common = 0;
	int err = provide_books(merger);

	if (merger->result->nr)
		recording_drop_numbers(merger->to, is_named_sum);
	for (size_t i = 0; !err && i < merger->from->nr_numbers; i++)
		err = merge_number(merger, &merger->from->numbers[i]);
	if (!err && merger->result->nr)
		err = place_list_merge(merger->to, merger->from, &common);
	if (!err && common && common <= recording_number(merger->to, "incomplete.places"))
		must_add_number(merger->to, "incomplete.places", -(uint64_t)common);
	if (refused)
		must_add_number(merger->to, "filtered", refused);
	return err;
}

static void take_run(struct merger *merger)
{
	struct recording *to = merger->to;
	const struct recording *from = merger->from;

	to->event = map_text(merger, from->event);
	to->kernel = map_text(merger, from->kernel);
	for (size_t i = 0; i < from->nr_args; i++)
		must_add_arg(to, recording_string(from, from->args[i]));
	to->hz = from->hz;
	to->period = from->period;
	to->start_unix_ns = from->start_unix_ns;
	to->duration_ns = from->duration_ns;
	to->nr_cpus = from->nr_cpus;
	to->by = from->by;
	to->sample_type = map_text(merger, from->sample_type);
	to->sample_unit = map_text(merger, from->sample_unit);
	to->weight_type = map_text(merger, from->weight_type);
	to->weight_unit = map_text(merger, from->weight_unit);
	to->by_count = from->by_count;
	to->has_heap = from->has_heap;
	to->key = map_text(merger, from->key);
}

/* The place of @source among @list [*@nr], where it stands from here on. */
static int place_source(struct merger *merger, const struct recording_source *source,
			struct recording_source *list, size_t *nr)
{
	size_t i = 0;

	while (i < *nr &&
	       (list[i].event != source->event || list[i].weight_type != source->weight_type ||
		list[i].weight_unit != source->weight_unit))
		i++;
	if (i == RECORDING_SOURCES_MAX)
		return -E2BIG;
	if (i == *nr)
		list[(*nr)++] = *source;
	else if (list[i].period != source->period)
		merger->result->periods_differ = true;
	return (int)i;
}

/* The sources of a run of several, beside those of runs before. */
static int take_sources(struct merger *merger)
{
	const struct recording *from = merger->from;
	struct recording_source list[RECORDING_SOURCES_MAX];
	bool is_first = !merger->result->nr;
	size_t nr = is_first ? 0 : sources_nr(merger->to);

	if (!from->nr_sources && (is_first || !merger->to->nr_sources))
		return 0;
	for (size_t i = 0; i < nr; i++)
		list[i] = sources_at(merger->to, i);
	for (size_t i = 0; i < sources_nr(from); i++) {
		struct recording_source source = sources_at(from, i);
		int place;

		source.event = map_text(merger, source.event);
		source.weight_type = map_text(merger, source.weight_type);
		source.weight_unit = map_text(merger, source.weight_unit);
		place = place_source(merger, &source, list, &nr);
		if (place < 0)
			return place;
		merger->sources[i] = (uint8_t)place;
	}

	bool by_count = merger->to->by_count;
	int err = sources_set(merger->to, list, nr);

	alloc_check(err == -ENOMEM);
	merger->to->by_count = merger->to->by_count || by_count;
	return err;
}

/* An unknown value, 0, differs from no other. */
static bool differ(uint64_t a, uint64_t b)
{
	return a && b && a != b;
}

/* Two runs are one: both began when the first began. *ret_shift_ns is for the events of @from. */
static int join_runs(struct merger *merger, uint64_t *ret_shift_ns)
{
	struct recording *to = merger->to;
	const struct recording *from = merger->from;
	struct merge_result *result = merger->result;
	uint32_t event = map_text(merger, from->event), kernel = map_text(merger, from->kernel);
	bool has_sources = from->nr_sources || to->nr_sources;

	event = has_sources ? 0 : event;
	result->events_differ = result->events_differ || differ(event, to->event);
	result->periods_differ = result->periods_differ || differ(from->period, to->period);
	result->kernels_differ = result->kernels_differ || differ(kernel, to->kernel);
	to->event = to->event ? to->event : event;
	to->kernel = to->kernel ? to->kernel : kernel;
	if (!has_sources) {
		to->hz = to->hz ? to->hz : from->hz;
		to->period = to->period ? to->period : from->period;
	}
	to->by |= from->by;
	if (!to->key)
		to->key = map_text(merger, from->key);
	if (from->nr_cpus > to->nr_cpus)
		to->nr_cpus = from->nr_cpus;
	if (from->start_unix_ns && to->start_unix_ns && from->start_unix_ns < to->start_unix_ns) {
		for (size_t i = 0; i < to->nr_events; i++)
			to->events[i].time_ns += to->start_unix_ns - from->start_unix_ns;
		to->start_unix_ns = from->start_unix_ns;
	}
	if (from->start_unix_ns && to->start_unix_ns)
		*ret_shift_ns = from->start_unix_ns - to->start_unix_ns;
	return add_checked(&to->duration_ns, from->duration_ns);
}

int recording_merge(struct recording *to, const struct recording *from,
		    const struct merge_filter *filter, struct merge_result *result)
{
	CLEANUP(merger_fini)
	struct merger merger = {
		.to = to, .from = from, .filter = filter, .result = result, .source = SOURCES_NONE
	};
	uint64_t shift_ns = 0, refused_before = result->refused;
	struct recording one;
	int err = 0;

	if (filter && filter->source && from->nr_sources) {
		merger.source = sources_find(from, filter->source);
		one = *from;
		if (merger.source != SOURCES_NONE)
			sources_choose(&one, merger.source);
		merger.from = from = &one;
	}
	/* bytes and samples have no sum */
	if (result->nr && !sample_types_equal(to, from))
		return -EDOM;
	merger_init(&merger);
	if (result->nr)
		err = join_runs(&merger, &shift_ns);
	else
		take_run(&merger);
	if (!err)
		err = take_sources(&merger);
	if (!err)
		err = merge_stacks(&merger);
	if (!err)
		merge_events(&merger, shift_ns);
	if (!err)
		err = merge_numbers(&merger, result->refused - refused_before);
	result->nr++;
	return err;
}

/* How many of each a merge has made so far. */
struct numbering {
	size_t frames, lines, functions, objects;
};

/* Is @index one of those made, or the next one? */
static bool comes_next(size_t *nr, uint32_t index)
{
	if (index > *nr)
		return false;
	*nr += index == *nr;
	return true;
}

static bool frame_comes_next(const struct recording *from, uint32_t idx, struct numbering *made)
{
	const struct recording_frame *frame = &from->frames[idx];

	if (idx < made->frames)
		return true;
	if (idx > made->frames || (frame->nr_lines && frame->first_line != made->lines))
		return false;
	made->frames++;
	for (size_t i = 0; i < frame->nr_lines; i++)
		if (!comes_next(&made->functions, from->lines[made->lines++].function))
			return false;
	return comes_next(&made->objects, frame->object);
}

/*
 * Would a merge number all of it as it is numbered? Order shows: in what ties are written by. Of
 * texts it does not.
 */
static bool is_as_merged(const struct recording *from)
{
	struct numbering made = { .functions = 1, .objects = 1 };

	if (from->nr_numbers || from->nr_args || from->nr_events)
		return false;
	for (size_t i = 0; i < from->nr_frame_ids; i++)
		if (!frame_comes_next(from, from->frame_ids[i], &made))
			return false;
	return made.frames == from->nr_frames && made.lines == from->nr_lines &&
	       made.functions == from->nr_functions && made.objects == from->nr_objects;
}

int recording_merge_whole(struct recording *to, struct recording *from, struct merge_result *result)
{
	struct recording taken = *from;
	struct merger merger = { .to = to, .from = to, .result = result };

	if (result->nr || to->nr_stacks || !is_as_merged(from))
		return recording_merge(to, from, NULL, result);
	*from = *to;
	*to = taken;
	for (size_t i = 0; i < to->nr_stacks; i++) {
		const struct recording_stack *stack = &to->stacks[i];

		if (add_checked(&result->shown, stack->count) ||
		    add_checked(&result->weight, stack->weight))
			return -EOVERFLOW;
		result->has_weight = result->has_weight || stack->weight;
		result->has_weightless = result->has_weightless || (stack->count && !stack->weight);
	}
	result->nr++;
	return provide_books(&merger);
}
