/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query_metrics.h"

#include "base/prometheus.h"

struct sums {
	uint64_t windows, samples;
	struct store_window last;
};

/* store_list's */
static int add_window(void *ctx, const struct store_window *window)
{
	struct sums *sums = ctx;

	sums->windows++;
	/* no window has more than 2^63 */
	if (__builtin_add_overflow(sums->samples, window->samples, &sums->samples))
		sums->samples = UINT64_MAX;
	sums->last = *window;
	return 0;
}

static void write_last(FILE *to, const struct store_window *last)
{
	prometheus_number(to, "last_window_samples", "gauge", last->samples,
			  "Samples of the last window.");
	prometheus_number(to, "last_window_judged", "gauge", last->judged,
			  "Its samples whose stack could be whole.");
	prometheus_number(to, "last_window_complete", "gauge", last->complete,
			  "Those of them whose stack is whole.");
	prometheus_number(to, "last_window_lost", "gauge", last->lost, "Samples that it lost.");
	prometheus_time(to, "last_window_timestamp_seconds", "gauge", last->t1,
			"When the last window ended.");
}

int query_metrics(FILE *to, struct store *store, const struct query_options *options,
		  struct fpl_err *err)
{
	const struct store_range all = { .to_ns = INT64_MAX };
	struct sums sums = { 0 };
	int code = store_list(store, &all, add_window, &sums, err);

	(void)options;
	if (code)
		return code;
	prometheus_family(to, "build_info", "gauge", "The version of fpless.");
	prometheus_labelled(to, "build_info", "version", FPL_VERSION, 1);
	prometheus_number(to, "store_windows", "gauge", sums.windows, "Windows in the store.");
	prometheus_number(to, "store_samples", "gauge", sums.samples, "Their samples.");
	prometheus_number(to, "store_bytes", "gauge", store_bytes(store),
			  "Size of the store and of its log.");
	if (sums.windows)
		write_last(to, &sums.last);
	return 0;
}
