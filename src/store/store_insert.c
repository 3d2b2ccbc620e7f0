/* SPDX-License-Identifier: Apache-2.0 */
/* A recording becomes a window. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/sources.h"
#include "store/store_state.h"

enum { NO_ROW = 0 };

/* A frame, and the node it leads to. */
struct path_step {
	uint32_t frame, node;
};

struct insertion {
	struct store *store;
	const struct recording *from;
	/* The rows of a frame's functions, from the function itself to the innermost inlined:
	 * chains[begins[frame] ..], [frame's nr_lines], at least one; begins: 1 + it, 0: not made.
	 */
	VECTOR(uint32_t) chains;
	uint32_t *begins; /* owned [nr_frames] */
	uint32_t *texts;  /* owned: the row of a text of from; NO_ROW: not made, or "" */
	/* The stack before, from the root on: many begin alike. */
	VECTOR(struct path_step) path;
	struct window_data data;
	int error; /* the first: -E2BIG, -EOVERFLOW */
};

static void insertion_fini(struct insertion *insertion)
{
	window_data_fini(&insertion->data);
	vector_fini(&insertion->chains);
	vector_fini(&insertion->path);
	free(insertion->begins);
	free(insertion->texts);
}

static struct dictionary *dictionary_of(const struct insertion *insertion)
{
	return &insertion->store->dictionary;
}

static uint32_t text_row(struct insertion *insertion, uint32_t text)
{
	uint32_t *row = &insertion->texts[text];

	if (text && *row == NO_ROW && !insertion->error)
		insertion->error = rows_add_text(dictionary_of(insertion),
						 recording_string(insertion->from, text), row);
	return *row;
}

static uint32_t row_of(struct insertion *insertion, enum rows_table table, const uint64_t *cells)
{
	uint32_t row = NO_ROW;

	if (!insertion->error)
		insertion->error = rows_add(dictionary_of(insertion), table, cells, &row);
	return row;
}

static uint32_t object_row(struct insertion *insertion, uint32_t object)
{
	const struct recording_object *from = &insertion->from->objects[object];

	if (!object)
		return NO_ROW;

	const uint64_t cells[OBJECT_COLUMNS] = {
		[OBJECT_PATH] = text_row(insertion, from->path),
		[OBJECT_BUILD_ID] = text_row(insertion, from->build_id),
		[OBJECT_OFFSETS] = from->offsets,
		/* of objects that are equal the first one's counts */
		[OBJECT_BIAS] = 0,
	};

	return row_of(insertion, ROWS_OBJECT, cells);
}

/*
 * The address of code without a name. Only what is the same in each process and after each boot
 * tells rows apart: an address of the kernel, or of code in no file, would be new each time.
 */
static uint64_t start_of(const struct recording_frame *frame)
{
	if (frame->kind == RECORDING_KERNEL || !frame->object)
		return RECORDING_NO_ADDRESS;
	if (frame->start != RECORDING_NO_ADDRESS || frame->nr_lines ||
	    frame->address == RECORDING_NO_ADDRESS)
		return frame->start;
	return frame_lookup_pc(frame->address, frame->exact);
}

/* The row of line @idx of @frame; of a frame without a name idx is 0. */
static uint32_t function_row(struct insertion *insertion, const struct recording_frame *frame,
			     size_t idx)
{
	bool inlined = frame->nr_lines && idx + 1 < frame->nr_lines;
	bool kernel = frame->kind == RECORDING_KERNEL;
	uint64_t cells[FUNCTION_COLUMNS] = {
		[FUNCTION_OBJECT] = object_row(insertion, frame->object),
		[FUNCTION_START] = start_of(frame),
		[FUNCTION_KIND] = kernel ? FUNCTION_OF_KERNEL : FUNCTION_OF_USER,
		[FUNCTION_ORIGIN] = frame->origin,
	};

	if (inlined) {
		cells[FUNCTION_KIND] = kernel ? FUNCTION_INLINED_KERNEL : FUNCTION_INLINED;
		cells[FUNCTION_START] = RECORDING_NO_ADDRESS;
	}
	if (frame->nr_lines) {
		const struct recording *from = insertion->from;
		const struct recording_function *function =
			&from->functions[from->lines[frame->first_line + idx].function];

		cells[FUNCTION_NAME] = text_row(insertion, function->name);
		cells[FUNCTION_FILE] = text_row(insertion, function->file);
		cells[FUNCTION_LINE] = function->start_line;
	}
	return row_of(insertion, ROWS_FUNCTION, cells);
}

/* The chain of frame @idx. Returns where it begins. */
static size_t chain_of(struct insertion *insertion, uint32_t idx)
{
	const struct recording_frame *frame = &insertion->from->frames[idx];
	size_t nr = frame->nr_lines ? frame->nr_lines : 1;

	if (insertion->begins[idx])
		return insertion->begins[idx] - 1;
	insertion->begins[idx] = (uint32_t)insertion->chains.nr + 1;
	for (size_t i = nr; i-- > 0;)
		must_push(&insertion->chains, function_row(insertion, frame, i));
	return insertion->begins[idx] - 1;
}

/* The node of frame @idx, called from @node. */
static uint32_t step(struct insertion *insertion, uint32_t node, uint32_t idx)
{
	const struct recording_frame *frame = &insertion->from->frames[idx];
	size_t begin = chain_of(insertion, idx), nr = frame->nr_lines ? frame->nr_lines : 1;

	for (size_t i = 0; i < nr && !insertion->error; i++) {
		const uint64_t cells[NODE_COLUMNS] = {
			[NODE_PARENT] = node,
			[NODE_FUNCTION] = insertion->chains.list[begin + i],
		};

		node = row_of(insertion, ROWS_NODE, cells);
	}
	return node;
}

/* Go on by frame @idx, which is number @depth of the stack from the root. */
static uint32_t walk(struct insertion *insertion, size_t depth, uint32_t idx)
{
	uint32_t node = depth ? insertion->path.list[depth - 1].node : NO_ROW;

	if (depth < insertion->path.nr && insertion->path.list[depth].frame == idx)
		return insertion->path.list[depth].node;
	/* from here on it is another stack */
	insertion->path.nr = depth;
	node = step(insertion, node, idx);
	must_push(&insertion->path, (struct path_step){ idx, node });
	return node;
}

static uint32_t series_of(struct insertion *insertion, const struct recording_stack *stack)
{
	const uint8_t kept = RECORDING_HAS_COMM | RECORDING_HAS_CGROUP | RECORDING_HAS_KEY;
	const uint64_t cells[SERIES_COLUMNS] = {
		[SERIES_COMM] = text_row(insertion, stack->comm),
		[SERIES_CGROUP] = text_row(insertion, stack->cgroup),
		[SERIES_KEY] = text_row(insertion, stack->key),
		[SERIES_HAS] = stack->has & kept,
		[SERIES_STATE] = stack->state,
		[SERIES_SOURCE] = stack->source,
	};

	return row_of(insertion, ROWS_SERIES, cells);
}

static void add_stack(struct insertion *insertion, const struct recording_stack *stack)
{
	const uint32_t *frames = &insertion->from->frame_ids[stack->first_frame];
	struct window_entry entry = {
		.count = stack->count,
		.weight = stack->weight,
		.series = series_of(insertion, stack),
		.elided = stack->elided,
		.stop = stack->stop,
		.no_user = stack->no_user,
	};
	size_t depth = 0;

	for (size_t i = stack->nr_user; i-- > 0;)
		entry.node = walk(insertion, depth++, frames[i]);
	for (size_t i = stack->nr_kernel; i-- > 0;)
		entry.node = walk(insertion, depth++, frames[stack->nr_user + i]);
	must_push(&insertion->data.entries, entry);
}

/* Is the number @key of the books a sum over samples, as those of several windows are? */
static bool is_kept(const char *key)
{
	static const char *const kept[] = { "expected",	 "missed",   "fired",
					    "counted",	 "passed",   "shown",
					    "idle",	 "filtered", "user_samples",
					    "complete",	 "frames",   "elided.samples",
					    "weight_ns", "weight",   "uretprobe_samples",
					    "bpf_ns",	 "bpf_runs" };
	static const char *const groups[] = { "lost.", "stop.", "frames_by_origin.",
					      "samples_by_origin." };

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!strcmp(key, kept[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strncmp(key, groups[i], strlen(groups[i])))
			return true;
	return false;
}

static void add_numbers(struct insertion *insertion, struct store_window *window)
{
	const struct recording *from = insertion->from;

	for (size_t i = 0; i < from->nr_numbers; i++) {
		const struct recording_number *number = &from->numbers[i];
		const char *key = recording_string(from, number->key);

		if (number->note || !is_kept(key))
			continue;
		if (!strncmp(key, "lost.", 5) &&
		    __builtin_add_overflow(window->lost, number->value, &window->lost))
			insertion->error = insertion->error ? insertion->error : -EOVERFLOW;
		must_push(&insertion->data.numbers,
			  (struct window_number){ .key = text_row(insertion, number->key),
						  .value = number->value });
	}
}

/* The row of the first source; the others follow it. */
static uint32_t source_rows(struct insertion *insertion)
{
	uint32_t next = NO_ROW;

	for (size_t i = sources_nr(insertion->from); i-- > 0;) {
		const struct recording_source source = sources_at(insertion->from, i);
		const uint64_t cells[SOURCE_COLUMNS] = {
			[SOURCE_EVENT] = text_row(insertion, source.event),
			[SOURCE_HZ] = source.hz,
			[SOURCE_PERIOD] = source.period,
			[SOURCE_WEIGHT_TYPE] = text_row(insertion, source.weight_type),
			[SOURCE_WEIGHT_UNIT] = text_row(insertion, source.weight_unit),
			[SOURCE_NEXT] = next,
		};

		next = row_of(insertion, ROWS_SOURCE, cells);
	}
	return next;
}

static uint32_t run_row(struct insertion *insertion, const char *labels)
{
	const struct recording *from = insertion->from;
	uint32_t label_row = NO_ROW;

	if (!insertion->error)
		insertion->error = rows_add_text(dictionary_of(insertion), labels, &label_row);

	const uint64_t cells[RUN_COLUMNS] = {
		[RUN_LABELS] = label_row,
		[RUN_KERNEL] = text_row(insertion, from->kernel),
		[RUN_CPUS] = from->nr_cpus,
		[RUN_SAMPLE_TYPE] = text_row(insertion, from->sample_type),
		[RUN_SAMPLE_UNIT] = text_row(insertion, from->sample_unit),
		[RUN_KEY] = text_row(insertion, from->key),
		[RUN_SOURCE] = source_rows(insertion),
	};

	return row_of(insertion, ROWS_RUN, cells);
}

static int add_up(const struct window_data *data, struct store_window *window)
{
	int error = 0;

	for (size_t i = 0; !error && i < data->entries.nr; i++)
		error = store_windows_count(window, &data->entries.list[i]);
	return error ? error : window->lost > INT64_MAX ? -EOVERFLOW : 0;
}

static int make_window(struct insertion *insertion, const char *labels, struct store_window *ret)
{
	const struct recording *from = insertion->from;
	int error;

	*ret = (struct store_window){ .t0 = from->start_unix_ns,
				      .t1 = from->start_unix_ns + from->duration_ns,
				      .busy_ns = from->duration_ns };
	insertion->begins = must_calloc(from->nr_frames, sizeof(*insertion->begins));
	insertion->texts = must_calloc(from->strings.nr, sizeof(*insertion->texts));
	for (size_t i = 0; i < from->nr_stacks && !insertion->error; i++)
		add_stack(insertion, &from->stacks[i]);
	add_numbers(insertion, ret);
	ret->run = run_row(insertion, labels);
	error = insertion->error ? insertion->error : window_data_settle(&insertion->data);
	return error ? error : add_up(&insertion->data, ret);
}

static int save(struct store *store, const struct store_window *window,
		const struct window_data *data, struct fpl_err *err)
{
	int code = store_begin(store, err);

	if (code)
		return code;
	code = store_rows_save(store, err);
	if (!code)
		code = store_windows_put(store, window, data, err);
	return store_end(store, code, err);
}

static const char *refusal(const struct recording *recording)
{
	if (recording->has_heap)
		return "what was not freed belongs to no window";
	if (!recording->start_unix_ns)
		return "it does not say when it was recorded";
	if (recording->start_unix_ns > INT64_MAX / 2 || recording->duration_ns > INT64_MAX / 2)
		return "it is of no time that there is";
	return NULL;
}

int store_insert(struct store *store, const struct recording *recording, const char *labels,
		 struct fpl_err *err)
{
	CLEANUP(insertion_fini) struct insertion insertion = { .store = store, .from = recording };
	const char *why = refusal(recording);
	struct store_window window;
	int code;

	if (why)
		return fpl_fail(err, -EINVAL, "%s: a recording is not kept: %s", store->path, why);
	code = store_rows_load(store, err);
	if (code)
		return code;
	code = make_window(&insertion, labels, &window);
	if (code)
		fpl_fail(err, code, "%s: a recording is not kept: %s", store->path,
			 code == -EOVERFLOW ? "its counts add up to more than 2^63"
					    : "there is no room for more rows");
	else
		code = save(store, &window, &insertion.data, err);
	if (code)
		store_rows_forget(store);
	return code;
}
