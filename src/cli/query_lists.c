/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query_lists.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/vector.h"
#include "cli/hottest.h"
#include "cli/time_point.h"
#include "recording/must_add.h"
#include "view/json.h"
#include "view/neighbours.h"
#include "view/share.h"

enum { TOP_LIMIT = 20, FIND_LIMIT = 10, ANALYZE_LIMIT = 10 };

/* The longest window there is, and what clocks may differ by. */
#define WINDOW_MAX_NS (2 * 3600 * NS_PER_S)

struct windows_of_list {
	VECTOR(struct store_found) list;
};

static int take_window(void *ctx, const struct store_window *window)
{
	struct windows_of_list *windows = ctx;

	must_push(&windows->list, (struct store_found){ .window = *window });
	return 0;
}

static int take_found(void *ctx, const struct store_found *found)
{
	struct windows_of_list *windows = ctx;

	must_push(&windows->list, *found);
	return 0;
}

static void windows_fini(struct windows_of_list *windows)
{
	vector_fini(&windows->list);
}

/* "2026-11-29 03:12:30    10.0 s" */
static void write_time(FILE *to, const struct store_window *window)
{
	char began[TIME_TEXT_SIZE];

	fprintf(to, "%s %8.1f s", time_text(window->t0, began),
		(double)window->busy_ns / (double)NS_PER_S);
}

static void write_window(FILE *to, const struct store_window *window)
{
	write_time(to, window);
	fprintf(to, " %10" PRIu64, window->samples);
	if (window->judged)
		fprintf(to, " %8.1f %%", share_whole_percent(window->complete, window->judged));
	else
		fprintf(to, " %10s", "-");
	fprintf(to, " %8" PRIu64 "\n", window->lost);
}

static void write_window_heading(FILE *to)
{
	fprintf(to, "%-19s %10s %10s %10s %8s\n", "began", "sampled", "samples", "complete",
		"lost");
}

/* The members of a window, in an object that is open. */
static void json_window(struct json *json, const struct store_window *window)
{
	json_number(json, "start_unix_ns", window->t0);
	json_number(json, "end_unix_ns", window->t1);
	json_number(json, "duration_ns", window->busy_ns);
	json_number(json, "level", window->level);
	json_number(json, "samples", window->samples);
	json_number(json, "judged", window->judged);
	json_number(json, "complete", window->complete);
	json_number(json, "lost", window->lost);
}

int query_list(FILE *to, struct store *store, const struct query_options *options,
	       struct fpl_err *err)
{
	CLEANUP(windows_fini) struct windows_of_list windows = { 0 };
	struct json json = { .to = to };
	int code = store_list(store, &options->input.range, take_window, &windows, err);
	size_t first = 0;

	if (code)
		return code;
	if (options->limit && options->limit < windows.list.nr)
		first = windows.list.nr - options->limit;
	if (!options->json && windows.list.nr)
		write_window_heading(to);
	if (options->json) {
		json_open(&json, NULL, '{');
		json_open(&json, "windows", '[');
	}
	for (size_t i = first; i < windows.list.nr; i++) {
		const struct store_window *window = &windows.list.list[i].window;

		if (!options->json) {
			write_window(to, window);
			continue;
		}
		json_open(&json, NULL, '{');
		json_window(&json, window);
		json_close(&json, '}');
	}
	if (options->json) {
		json_close(&json, ']');
		json_close(&json, '}');
		fputc('\n', to);
	}
	return windows.list.nr ? 0 : -ENODATA;
}

static void write_hottest(FILE *to, const struct hottest *hottest)
{
	char buf[128], place[128];

	fputs("   self   total  function\n", to);
	for (size_t i = 0; i < hottest->nr; i++) {
		uint32_t function = hottest->list[i];
		const struct function_tally *tally = &hottest->tallies.list[function];

		text_escape(place, sizeof(place),
			    function_index_place(&hottest->index, function, buf, sizeof(buf)), "");
		fprintf(to, "%6.1f%% %6.1f%%  %s  (%s)\n", share_percent(tally->self, hottest->sum),
			share_percent(tally->total, hottest->sum),
			function_index_text(&hottest->index, function), place);
	}
}

static void json_hottest(struct json *json, const struct hottest *hottest)
{
	json_number(json, "sum", hottest->sum);
	json_string(json, "of", hottest->measure.noun);
	json_open(json, "functions", '[');
	for (size_t i = 0; i < hottest->nr; i++) {
		uint32_t function = hottest->list[i];

		json_open(json, NULL, '{');
		function_index_json(&hottest->index, function, json);
		json_number(json, "self", hottest->tallies.list[function].self);
		json_number(json, "total", hottest->tallies.list[function].total);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static size_t limit_of(const struct query_options *options)
{
	if (options->limit)
		return options->limit;
	return options->what == QUERY_ANALYZE ? ANALYZE_LIMIT : TOP_LIMIT;
}

/* Write the hottest functions of @range, below @window where it is given. */
static int write_range(FILE *to, struct store *store, const struct store_range *range,
		       const struct store_window *window, const struct query_options *options,
		       struct fpl_err *err)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(hottest_fini) struct hottest hottest = { 0 };
	struct json json = { .to = to };
	char said[256];
	size_t nr;
	int code;

	must_recording_init(&recording);
	code = store_read(store, range, &recording, &nr, err);
	if (code || !recording.nr_stacks)
		return code ? code : -ENODATA;
	hottest_init(&recording, limit_of(options), &hottest);
	if (options->json) {
		json_open(&json, NULL, '{');
		if (window)
			json_window(&json, window);
		json_number(&json, "windows", nr);
		json_hottest(&json, &hottest);
		json_number(&json, "stacks", recording.nr_stacks);
		json_close(&json, '}');
		fputc('\n', to);
		return 0;
	}
	fprintf(to, "%s in %zu window%s, %.1f s",
		measure_reported(&hottest.measure, hottest.sum, said, sizeof(said)), nr,
		nr == 1 ? "" : "s", (double)recording.duration_ns / (double)NS_PER_S);
	if (options->what == QUERY_ANALYZE)
		fprintf(to, ", %zu stacks", (size_t)recording.nr_stacks);
	fputs("\n\n", to);
	write_hottest(to, &hottest);
	return 0;
}

int query_top(FILE *to, struct store *store, const struct query_options *options,
	      struct fpl_err *err)
{
	return write_range(to, store, &options->input.range, NULL, options, err);
}

/* The window that holds @time_ns, or else the last one before it. */
static int find_time(FILE *to, struct store *store, uint64_t time_ns,
		     const struct query_options *options, struct fpl_err *err)
{
	CLEANUP(windows_fini) struct windows_of_list windows = { 0 };
	struct store_range range;
	const struct store_window *window;
	int code;

	/* also a window without a sample that is wanted holds the time */
	range = (struct store_range){
		.from_ns = time_ns > WINDOW_MAX_NS ? time_ns - WINDOW_MAX_NS : 0,
		.to_ns = time_ns + 1,
	};
	code = store_list(store, &range, take_window, &windows, err);
	if (code || !windows.list.nr)
		return code ? code : -ENODATA;
	window = &windows.list.list[windows.list.nr - 1].window;
	range = options->input.range;
	range.from_ns = window->t0;
	range.to_ns = window->t0 + 1;
	if (!options->json) {
		if (time_ns >= window->t1)
			fprintf(to,
				"No window holds this time; the last one before it ended %.1f s earlier.\n",
				(double)(time_ns - window->t1) / (double)NS_PER_S);
		write_window_heading(to);
		write_window(to, window);
		fputc('\n', to);
	}
	return write_range(to, store, &range, window, options, err);
}

static int compare_found(const void *left, const void *right)
{
	const struct store_found *a = left, *b = right;
	double share_of_a = share_percent(a->total, a->wanted);
	double share_of_b = share_percent(b->total, b->wanted);

	if (share_of_a != share_of_b)
		return share_of_a > share_of_b ? -1 : 1;
	return (a->window.t0 > b->window.t0) - (a->window.t0 < b->window.t0);
}

static void write_found(FILE *to, const struct store_found *found)
{
	write_time(to, &found->window);
	fprintf(to, " %10" PRIu64 " %6.1f%% %6.1f%%\n", found->total,
		share_percent(found->self, found->wanted),
		share_percent(found->total, found->wanted));
}

static void json_found(struct json *json, const struct store_found *found)
{
	json_open(json, NULL, '{');
	json_window(json, &found->window);
	json_number(json, "of", found->wanted);
	json_number(json, "self", found->self);
	json_number(json, "total", found->total);
	json_close(json, '}');
}

/* Windows with functions that match the first word, to *ret: those in which they had the largest
 * share first. */
static int read_found(struct store *store, const struct query_options *options,
		      struct windows_of_list *ret, struct fpl_err *err)
{
	int code =
		store_find(store, &options->input.range, options->words[0], take_found, ret, err);

	if (ret->list.nr)
		qsort(ret->list.list, ret->list.nr, sizeof(*ret->list.list), compare_found);
	return code;
}

static size_t nr_found(const struct windows_of_list *windows, const struct query_options *options)
{
	size_t limit = options->limit ? options->limit : FIND_LIMIT;

	return windows->list.nr < limit ? windows->list.nr : limit;
}

static void write_all_found(FILE *to, const struct windows_of_list *windows, size_t nr)
{
	fprintf(to, "%-19s %10s %10s %7s %7s\n", "began", "sampled", "samples", "self", "total");
	for (size_t i = 0; i < nr; i++)
		write_found(to, &windows->list.list[i]);
	if (windows->list.nr > nr)
		fprintf(to, "... and %zu more windows with less\n", windows->list.nr - nr);
}

/* Members of the object that is open. */
static void json_all_found(struct json *json, const struct windows_of_list *windows, size_t nr)
{
	json_number(json, "windows_with_it", windows->list.nr);
	JSON_ARRAY(json, "windows", nr, json_found(json, &windows->list.list[i]));
}

static int find_function(FILE *to, struct store *store, const struct query_options *options,
			 struct fpl_err *err)
{
	CLEANUP(windows_fini) struct windows_of_list windows = { 0 };
	struct json json = { .to = to };
	int code = read_found(store, options, &windows, err);

	if (code || !windows.list.nr)
		return code ? code : -ENODATA;
	if (!options->json) {
		write_all_found(to, &windows, nr_found(&windows, options));
		return 0;
	}
	json_open(&json, NULL, '{');
	json_all_found(&json, &windows, nr_found(&windows, options));
	json_close(&json, '}');
	fputc('\n', to);
	return 0;
}

/* Functions of @hottest whose name matches @regex, those that are most on stacks first, to @ret
 * [NEIGHBOURS_FUNCTIONS_MAX]; *ret_nr: how many match. Returns how many are in @ret. */
static size_t match_functions(const struct hottest *hottest, const regex_t *regex, uint32_t *ret,
			      size_t *ret_nr)
{
	const struct recording *recording = hottest->texts.recording;
	const struct function_tally *tallies = hottest->tallies.list;
	AUTO_FREE uint32_t *sources = function_index_sources(&hottest->index);
	size_t nr = 0;

	*ret_nr = 0;
	for (uint32_t i = 0; i < hottest->tallies.nr; i++) {
		uint32_t name = recording->functions[sources[i]].name;
		size_t at;

		if (!sources[i] || !tallies[i].total ||
		    regexec(regex, recording_string(recording, name), 0, NULL, 0))
			continue;
		++*ret_nr;
		if (nr < NEIGHBOURS_FUNCTIONS_MAX)
			nr++;
		else if (tallies[ret[nr - 1]].total >= tallies[i].total)
			continue;
		for (at = nr - 1; at && tallies[ret[at - 1]].total < tallies[i].total; at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
	}
	return nr;
}

/* Those that match in the whole range, with who calls them. */
static void write_functions(FILE *to, const struct recording *recording, const regex_t *regex,
			    struct json *json)
{
	CLEANUP(hottest_fini) struct hottest hottest = { 0 };
	uint32_t list[NEIGHBOURS_FUNCTIONS_MAX];
	size_t nr, nr_matching;

	hottest_init(recording, 1, &hottest);
	nr = match_functions(&hottest, regex, list, &nr_matching);
	if (json) {
		json_number(json, "sum", hottest.sum);
		json_string(json, "of", hottest.measure.noun);
		json_number(json, "functions_matching", nr_matching);
		neighbours_json(json, "functions", &hottest.index, list, nr);
		return;
	}
	neighbours_write(to, &hottest.index, list, nr, hottest.sum);
	if (nr_matching > nr)
		fprintf(to, "\n... and %zu more functions with less\n", nr_matching - nr);
}

static void cleanup_regex(regex_t *regex)
{
	regfree(regex);
}

int query_function(FILE *to, struct store *store, const struct query_options *options,
		   struct fpl_err *err)
{
	CLEANUP(windows_fini) struct windows_of_list windows = { 0 };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(cleanup_regex) regex_t regex = { 0 };
	struct json json = { .to = to };
	size_t nr;
	int code = read_found(store, options, &windows, err);

	if (code || !windows.list.nr)
		return code ? code : -ENODATA;
	/* store_find() has compiled it, too */
	alloc_check(regcomp(&regex, options->words[0], REG_EXTENDED | REG_NOSUB));
	must_recording_init(&recording);
	code = store_read(store, &options->input.range, &recording, &nr, err);
	if (code)
		return code;
	if (!options->json) {
		write_all_found(to, &windows, nr_found(&windows, options));
		write_functions(to, &recording, &regex, NULL);
		return 0;
	}
	json_open(&json, NULL, '{');
	json_all_found(&json, &windows, nr_found(&windows, options));
	write_functions(to, &recording, &regex, &json);
	json_close(&json, '}');
	fputc('\n', to);
	return 0;
}

int query_find(FILE *to, struct store *store, const struct query_options *options,
	       struct fpl_err *err)
{
	uint64_t time_ns;

	if (time_point_parse(options->words[0], options->input.now_ns, &time_ns))
		return find_time(to, store, time_ns, options, err);
	return find_function(to, store, options, err);
}

int query_analyze(FILE *to, struct store *store, const struct query_options *options,
		  struct fpl_err *err)
{
	uint64_t time_ns = options->input.now_ns;

	if (options->nr_words &&
	    !time_point_parse(options->words[0], options->input.now_ns, &time_ns))
		return fpl_fail(err, -EINVAL, "analyze %s: expected a time", options->words[0]);
	return find_time(to, store, time_ns, options, err);
}
