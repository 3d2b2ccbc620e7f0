/* SPDX-License-Identifier: Apache-2.0 */
/* Windows become a recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/merge.h"
#include "recording/must_add.h"
#include "recording/recount.h"
#include "recording/sources.h"
#include "store/store_state.h"

/* The windows of one run, added up. */
struct sum {
	uint32_t run;
	uint64_t t0, busy_ns;
	uint64_t refused; /* samples that the range does not want */
	size_t nr_windows;
	struct window_data data;
	/* Two arrays find an entry, in place of an id_table: leaves ascend in a window, so they are
	 * read in order, and a day has millions. 1 + the last entry of a node, 0: none yet; 1 + the
	 * one before it of the same node. */
	VECTOR(uint32_t) heads, nexts;
};

struct reading {
	struct store *store;
	const struct store_range *range;
	struct store_filter filter;
	VECTOR(struct sum) sums;

	/* of the recording that is made */
	struct recording *to;
	VECTOR(uint32_t) frames;  /* by node: 1 + the frame that ends there, 0: not made */
	VECTOR(uint32_t) callers; /* by node, where its frame is made: the node of the caller */
	uint32_t *texts;	  /* owned: by row, 1 + the text */
	uint8_t sources[RECORDING_SOURCES_MAX]; /* by number in the run: that in the recording */
	size_t nr_sources;			/* of the run */
	VECTOR(uint32_t) user, kernel;
};

static void sum_fini(struct sum *sum)
{
	window_data_fini(&sum->data);
	vector_fini(&sum->heads);
	vector_fini(&sum->nexts);
}

static void forget_recording(struct reading *reading)
{
	free(reading->texts);
	reading->texts = NULL;
	reading->frames.nr = reading->callers.nr = 0;
}

static void reading_fini(struct reading *reading)
{
	for (size_t i = 0; i < reading->sums.nr; i++)
		sum_fini(&reading->sums.list[i]);
	vector_fini(&reading->sums);
	forget_recording(reading);
	vector_fini(&reading->frames);
	vector_fini(&reading->callers);
	vector_fini(&reading->user);
	vector_fini(&reading->kernel);
	store_filter_fini(&reading->filter);
}

static bool is_like(const struct window_entry *a, const struct window_entry *b)
{
	return a->series == b->series && a->stop == b->stop && a->no_user == b->no_user;
}

/* The entry of @sum like @key, which is made at first sight, with nothing counted. */
static struct window_entry *entry_of(struct sum *sum, const struct window_entry *key)
{
	struct window_entry entry = *key;
	uint32_t at;

	while (key->node >= sum->heads.nr)
		must_push(&sum->heads, 0);
	for (at = sum->heads.list[key->node]; at; at = sum->nexts.list[at - 1])
		if (is_like(&sum->data.entries.list[at - 1], key))
			return &sum->data.entries.list[at - 1];
	entry.count = entry.weight = 0;
	must_push(&sum->data.entries, entry);
	must_push(&sum->nexts, sum->heads.list[key->node]);
	sum->heads.list[key->node] = (uint32_t)sum->data.entries.nr;
	return &sum->data.entries.list[sum->data.entries.nr - 1];
}

static int add_entry(struct sum *sum, const struct window_entry *from)
{
	struct window_entry *to = entry_of(sum, from);

	if (from->elided > to->elided)
		to->elided = from->elided;
	return __builtin_add_overflow(to->count, from->count, &to->count) ||
			       __builtin_add_overflow(to->weight, from->weight, &to->weight)
		       ? -EOVERFLOW
		       : 0;
}

static struct sum *sum_of(struct reading *reading, const struct store_window *window)
{
	size_t i = 0;

	while (i < reading->sums.nr && reading->sums.list[i].run != window->run)
		i++;
	if (i == reading->sums.nr)
		must_push(&reading->sums,
			  (struct sum){ .run = (uint32_t)window->run, .t0 = window->t0 });
	return &reading->sums.list[i];
}

static int add_window(struct reading *reading, const struct store_window *window,
		      const struct window_data *data)
{
	struct sum *sum = sum_of(reading, window);
	int error = __builtin_add_overflow(sum->busy_ns, window->busy_ns, &sum->busy_ns)
			    ? -EOVERFLOW
			    : 0;

	sum->nr_windows++;
	for (size_t i = 0; !error && i < data->entries.nr; i++) {
		const struct window_entry *entry = &data->entries.list[i];

		if (store_filter_wants(&reading->filter, reading->store, window->run,
				       entry->series))
			error = add_entry(sum, entry);
		else if (__builtin_add_overflow(sum->refused, entry->count, &sum->refused))
			error = -EOVERFLOW;
	}
	for (size_t i = 0; !error && i < data->numbers.nr; i++)
		must_push(&sum->data.numbers, data->numbers.list[i]);
	return error;
}

static uint32_t text_of(struct reading *reading, uint64_t row)
{
	uint32_t *text = &reading->texts[row];

	if (!*text)
		*text = must_add_text(reading->to, rows_text(&reading->store->dictionary, row)) + 1;
	return *text - 1;
}

static uint32_t object_of(struct reading *reading, uint64_t row)
{
	const uint64_t *cells;

	if (!row)
		return 0;
	cells = rows_cells(&reading->store->dictionary, ROWS_OBJECT, (uint32_t)row);

	const struct recording_object key = { .path = text_of(reading, cells[OBJECT_PATH]),
					      .build_id = text_of(reading, cells[OBJECT_BUILD_ID]),
					      .offsets = (uint32_t)cells[OBJECT_OFFSETS] };

	return must_add_object(reading->to, &key);
}

static struct recording_line line_of(struct reading *reading, const uint64_t *function)
{
	const struct recording_function key = {
		.name = text_of(reading, function[FUNCTION_NAME]),
		.file = text_of(reading, function[FUNCTION_FILE]),
		.start_line = (uint32_t)function[FUNCTION_LINE],
	};

	return (struct recording_line){ .function = must_add_function(reading->to, &key) };
}

static const uint64_t *node_of(const struct reading *reading, uint32_t node)
{
	return rows_cells(&reading->store->dictionary, ROWS_NODE, node);
}

static const uint64_t *function_of(const struct reading *reading, uint32_t node)
{
	return rows_cells(&reading->store->dictionary, ROWS_FUNCTION,
			  (uint32_t)node_of(reading, node)[NODE_FUNCTION]);
}

static bool is_inlined(const uint64_t *function)
{
	return function[FUNCTION_KIND] == FUNCTION_INLINED ||
	       function[FUNCTION_KIND] == FUNCTION_INLINED_KERNEL;
}

static bool is_kernel(const uint64_t *function)
{
	return function[FUNCTION_KIND] == FUNCTION_OF_KERNEL ||
	       function[FUNCTION_KIND] == FUNCTION_INLINED_KERNEL;
}

/* The frame whose innermost function is that of @node, and the node of its caller. */
static uint32_t make_frame(struct reading *reading, uint32_t node, uint32_t *ret_caller)
{
	struct recording_line lines[RECORDING_LINES_MAX];
	const uint64_t *function = function_of(reading, node);
	struct recording_frame frame = { 0 };

	/* the last line is the function's own, which a damaged store may lack */
	while (is_inlined(function) && frame.nr_lines < RECORDING_LINES_MAX - 1 &&
	       node_of(reading, node)[NODE_PARENT]) {
		lines[frame.nr_lines++] = line_of(reading, function);
		node = (uint32_t)node_of(reading, node)[NODE_PARENT];
		function = function_of(reading, node);
	}
	if (function[FUNCTION_NAME])
		lines[frame.nr_lines++] = line_of(reading, function);
	frame.object = object_of(reading, function[FUNCTION_OBJECT]);
	frame.start = function[FUNCTION_START];
	frame.address = frame.nr_lines ? RECORDING_NO_ADDRESS : frame.start;
	frame.exact = frame.address != RECORDING_NO_ADDRESS;
	frame.kind = is_kernel(function) ? RECORDING_KERNEL : RECORDING_USER;
	frame.origin = (uint8_t)function[FUNCTION_ORIGIN];
	*ret_caller = (uint32_t)node_of(reading, node)[NODE_PARENT];
	return must_add_frame(reading->to, &frame, lines);
}

static void grow(struct reading *reading, uint32_t node)
{
	while (node >= reading->frames.nr) {
		must_push(&reading->frames, 0);
		must_push(&reading->callers, 0);
	}
}

static int add_stack(struct reading *reading, const struct window_entry *entry)
{
	const uint64_t *series =
		rows_cells(&reading->store->dictionary, ROWS_SERIES, entry->series);
	struct recording_stack key = {
		.count = entry->count,
		.weight = entry->weight,
		.elided = entry->elided,
		.stop = entry->stop,
		.no_user = entry->no_user,
		.has = (uint8_t)series[SERIES_HAS],
		.state = (uint8_t)series[SERIES_STATE],
		.comm = text_of(reading, series[SERIES_COMM]),
		.cgroup = text_of(reading, series[SERIES_CGROUP]),
		.key = text_of(reading, series[SERIES_KEY]),
	};

	if (series[SERIES_SOURCE] >= reading->nr_sources)
		return -EBADMSG;
	key.source = reading->sources[series[SERIES_SOURCE]];
	reading->user.nr = reading->kernel.nr = 0;
	for (uint32_t node = entry->node; node; node = reading->callers.list[node]) {
		uint32_t frame;

		grow(reading, node);
		if (!reading->frames.list[node])
			reading->frames.list[node] =
				make_frame(reading, node, &reading->callers.list[node]) + 1;
		frame = reading->frames.list[node] - 1;
		if (reading->to->frames[frame].kind == RECORDING_KERNEL)
			must_push(&reading->kernel, frame);
		else
			must_push(&reading->user, frame);
	}
	if (reading->user.nr > UINT16_MAX || reading->kernel.nr > UINT16_MAX)
		return -EBADMSG;
	key.nr_user = (uint16_t)reading->user.nr;
	key.nr_kernel = (uint16_t)reading->kernel.nr;
	for (size_t i = 0; i < reading->kernel.nr; i++)
		must_push(&reading->user, reading->kernel.list[i]);
	must_add_stack(reading->to, &key, reading->user.list);
	return 0;
}

static int take_sources(struct reading *reading, uint64_t row)
{
	struct recording_source list[RECORDING_SOURCES_MAX];
	const struct dictionary *dictionary = &reading->store->dictionary;
	const char *wanted = reading->range->source;
	size_t nr = 0;

	reading->nr_sources = 0;
	while (row && reading->nr_sources < RECORDING_SOURCES_MAX) {
		const uint64_t *cells = rows_cells(dictionary, ROWS_SOURCE, (uint32_t)row);

		row = cells[SOURCE_NEXT];
		reading->sources[reading->nr_sources++] = (uint8_t)nr;
		if (wanted &&
		    !sources_word_means(wanted, rows_text(dictionary, cells[SOURCE_EVENT]),
					RECORDING_STATE_COUNT))
			continue;
		list[nr++] = (struct recording_source){
			.event = text_of(reading, cells[SOURCE_EVENT]),
			.weight_type = text_of(reading, cells[SOURCE_WEIGHT_TYPE]),
			.weight_unit = text_of(reading, cells[SOURCE_WEIGHT_UNIT]),
			.hz = cells[SOURCE_HZ],
			.period = cells[SOURCE_PERIOD],
		};
	}
	if (row)
		return -EBADMSG;
	if (!nr)
		return 0;
	alloc_check(sources_set(reading->to, list, nr) == -ENOMEM);
	return 0;
}

static int take_run(struct reading *reading, const struct sum *sum)
{
	const uint64_t *cells = rows_cells(&reading->store->dictionary, ROWS_RUN, sum->run);
	struct recording *to = reading->to;

	to->kernel = text_of(reading, cells[RUN_KERNEL]);
	to->nr_cpus = (uint32_t)cells[RUN_CPUS];
	to->sample_type = text_of(reading, cells[RUN_SAMPLE_TYPE]);
	to->sample_unit = text_of(reading, cells[RUN_SAMPLE_UNIT]);
	to->key = text_of(reading, cells[RUN_KEY]);
	to->start_unix_ns = sum->t0;
	to->duration_ns = sum->busy_ns;
	return take_sources(reading, cells[RUN_SOURCE]);
}

/* The recording of one run. */
static int make_recording(struct reading *reading, struct sum *sum, struct recording *ret)
{
	int error;

	forget_recording(reading);
	reading->to = ret;
	reading->texts = must_calloc(reading->store->dictionary.tables[ROWS_STRING].used.nr,
				     sizeof(*reading->texts));
	error = take_run(reading, sum);
	if (!error)
		error = window_data_settle(&sum->data);
	for (size_t i = 0; !error && i < sum->data.entries.nr; i++)
		error = add_stack(reading, &sum->data.entries.list[i]);
	for (size_t i = 0; !error && i < sum->data.numbers.nr; i++)
		must_add_number(
			ret, rows_text(&reading->store->dictionary, sum->data.numbers.list[i].key),
			sum->data.numbers.list[i].value);
	return error;
}

static int fail(const struct reading *reading, int error, struct fpl_err *err)
{
	switch (error) {
	case -EBADMSG:
		return store_damaged(reading->store, "a stack", err);
	case -EOVERFLOW:
		return fpl_fail(err, error, "%s: counts add up to more than 2^64",
				reading->store->path);
	case -EDOM:
		return fpl_fail(
			err, error,
			"%s: windows of the range do not count the same: choose a shorter one",
			reading->store->path);
	default:
		return error;
	}
}

static int add_windows(struct reading *reading, struct fpl_err *err)
{
	const struct store_range *range = reading->range;
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = store_windows_begin(reading->store, "WHERE t0>=?1 AND t0<?2 ORDER BY t0,id",
				       range->from_ns, range->to_ns, &statement, err);

	while (!code) {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_window window;

		code = store_windows_next(reading->store, statement, &window, &data, err);
		if (code != 1)
			return code;
		code = add_window(reading, &window, &data);
		if (code)
			return fail(reading, code, err);
	}
	return code;
}

int store_read(struct store *store, const struct store_range *range, struct recording *ret,
	       size_t *ret_nr, struct fpl_err *err)
{
	CLEANUP(reading_fini) struct reading reading = { .store = store, .range = range };
	struct merge_result result = { 0 };
	uint64_t refused = 0;
	int code = store_filter_init(&reading.filter, range, err);

	*ret_nr = 0;

	if (!code)
		code = store_rows_load(store, err);
	if (!code)
		code = add_windows(&reading, err);
	for (size_t i = 0; !code && i < reading.sums.nr; i++) {
		CLEANUP(recording_fini) struct recording run = { 0 };
		struct recording *to = reading.sums.nr > 1 ? &run : ret;
		struct sum *sum = &reading.sums.list[i];

		/* nor are the books of a run wanted that has no such source */
		if (range->source && !sum->data.entries.nr)
			continue;
		*ret_nr += sum->nr_windows;
		if (to == &run)
			must_recording_init(&run);
		code = __builtin_add_overflow(refused, sum->refused, &refused)
			       ? -EOVERFLOW
			       : make_recording(&reading, sum, to);
		if (!code && to == &run)
			code = recording_merge(ret, &run, NULL, &result);
		if (code)
			code = fail(&reading, code, err);
	}
	if (!code && refused) {
		must_add_number(ret, "filtered", refused);
		recording_recount(ret, true);
	}
	return code;
}

/* Let the sums of @window be those of the entries that are wanted. Errors: -EOVERFLOW. */
static int count_wanted(struct store *store, struct store_filter *filter,
			const struct window_data *data, struct store_window *window)
{
	window->samples = window->weight = window->judged = window->complete = 0;
	for (size_t i = 0; i < data->entries.nr; i++) {
		const struct window_entry *entry = &data->entries.list[i];

		if (store_filter_wants(filter, store, window->run, entry->series) &&
		    store_windows_count(window, entry))
			return -EOVERFLOW;
	}
	return 0;
}

int store_list(struct store *store, const struct store_range *range,
	       int (*each)(void *ctx, const struct store_window *window), void *ctx,
	       struct fpl_err *err)
{
	CLEANUP(store_filter_fini) struct store_filter filter = { 0 };
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = store_filter_init(&filter, range, err);
	bool is_whole = store_filter_is_empty(&filter);

	if (!code && !is_whole)
		code = store_rows_load(store, err);
	if (!code)
		code = store_windows_begin(store, "WHERE t0>=?1 AND t0<?2 ORDER BY t0,id",
					   range->from_ns, range->to_ns, &statement, err);
	while (!code) {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_window window;

		code = store_windows_next(store, statement, &window, is_whole ? NULL : &data, err);
		if (code != 1)
			return code;
		if (!is_whole && count_wanted(store, &filter, &data, &window))
			return store_damaged(store, "the weights of a window", err);
		code = is_whole || window.samples ? each(ctx, &window) : 0;
	}
	return code;
}
