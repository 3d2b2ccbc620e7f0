/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/output_series.h"
#include "base/prometheus.h"
#include "recording/keys.h"
#include "report/tally.h"

/* Counts of the sources, whose list is the same in all windows of a run. */
static void add_samples(struct agent_sums *sums, const struct profile *profile)
{
	sums->nr_sources = profile->nr_sources ? profile->nr_sources : 1;
	for (size_t i = 0; i < sums->nr_sources; i++) {
		const struct profile_source *source =
			profile->nr_sources ? &profile->sources[i] : &profile->source;

		snprintf(sums->sources[i], sizeof(sums->sources[i]), "%s", source->name);
	}
	for (size_t i = 0; i < profile->nr_stacks; i++)
		if (profile->stacks[i].source < sums->nr_sources)
			sums->samples[profile->stacks[i].source] += profile->stacks[i].count;
}

void agent_sums_add(struct agent_sums *sums, const struct profile *profile, bool is_kept)
{
	struct tally tally;

	tally_count(profile, &tally);
	sums->nr_kept += is_kept;
	sums->nr_refused += !is_kept;
	/* a number that does not come was dropped on its way */
	if (profile->window.number > sums->nr_numbered)
		sums->nr_dropped += profile->window.number - sums->nr_numbered;
	sums->nr_numbered = profile->window.number + 1;
	sums->bpf_ns += profile->books.bpf_ns;
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		sums->lost[i] += profile->books.lost[i];
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		sums->stops[i] += tally.stops[i];
	add_samples(sums, profile);
	sums->last.start_unix_ns = profile->start_unix_ns;
	sums->last.end_unix_ns = profile->start_unix_ns + profile->duration_ns;
	sums->last.samples = profile_shown(profile);
	sums->last.lost = tally.lost;
}

void agent_sums_write_status(FILE *to, const struct agent_sums *sums)
{
	char stamp[OUTPUT_SERIES_STAMP];

	output_series_stamp(sums->last.start_unix_ns, false, stamp);
	fprintf(to,
		"%" PRIu64 " windows kept, %" PRIu64 " not; the last of %s has %" PRIu64
		" samples, %" PRIu64 " more lost",
		sums->nr_kept, sums->nr_refused + sums->nr_dropped, stamp, sums->last.samples,
		sums->last.lost);
}

static void write_windows(FILE *to, const struct agent_sums *sums)
{
	prometheus_number(to, "windows_total", "counter", sums->nr_kept,
			  "Windows put into the store.");
	prometheus_family(to, "windows_lost_total", "counter",
			  "Windows that are not in the store.");
	prometheus_labelled(to, "windows_lost_total", "reason", "dropped", sums->nr_dropped);
	prometheus_labelled(to, "windows_lost_total", "reason", "refused", sums->nr_refused);
	prometheus_number(to, "last_window_samples", "gauge", sums->last.samples,
			  "Samples of the last window.");
	prometheus_time(to, "last_window_timestamp_seconds", "gauge", sums->last.end_unix_ns,
			"When the last window ended.");
	prometheus_number(to, "store_bytes", "gauge", sums->store_bytes,
			  "Size of the store and of its log.");
}

static void write_samples(FILE *to, const struct agent_sums *sums)
{
	prometheus_family(to, "samples_total", "counter", "Samples that have a stack.");
	for (size_t i = 0; i < sums->nr_sources; i++)
		prometheus_labelled(to, "samples_total", "source", sums->sources[i],
				    sums->samples[i]);
	prometheus_family(to, "lost_total", "counter", "Samples that are lost.");
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		prometheus_labelled(to, "lost_total", "reason", lost_key((enum fpl_lost)i),
				    sums->lost[i]);
	prometheus_family(to, "incomplete_total", "counter",
			  "Samples whose user stack ends before its outermost frame.");
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		if (i != FPL_STOP_OUTERMOST)
			prometheus_labelled(to, "incomplete_total", "stop",
					    stop_key((enum fpl_stop)i), sums->stops[i]);
}

/* The samples of all functions whose label is @label, *ret_first: the place of
 * the first one. */
static uint64_t self_of_label(const struct hottest *hottest, const char *label, size_t *ret_first)
{
	uint64_t self = 0;

	*ret_first = hottest->nr;
	for (size_t i = hottest->nr; i-- > 0;) {
		char other[PROMETHEUS_LABEL_SIZE];

		prometheus_label(function_index_text(&hottest->index, hottest->list[i]), other);
		if (strcmp(label, other) != 0)
			continue;
		self += hottest->tallies.list[hottest->list[i]].self;
		*ret_first = i;
	}
	return self;
}

static void write_top(FILE *to, const struct hottest *hottest, size_t max)
{
	size_t nr = 0;

	prometheus_family(to, "top_function_share", "gauge",
			  "Share of the hottest functions, by themselves, in the last window.");
	for (size_t i = 0; i < hottest->nr && nr < max; i++) {
		const char *name = function_index_text(&hottest->index, hottest->list[i]);
		char label[PROMETHEUS_LABEL_SIZE];
		uint64_t self;
		size_t first;

		prometheus_label(name, label);
		self = self_of_label(hottest, label, &first);
		/* functions of one name in several files are one series */
		if (first < i)
			continue;
		prometheus_series(to, "top_function_share",
				  &(const struct prometheus_label){ "function", name }, 1);
		fprintf(to, "%.6f\n", (double)self / (double)hottest->sum);
		nr++;
	}
}

void agent_sums_write_metrics(FILE *to, const struct agent_sums *sums,
			      const struct hottest *hottest, size_t top)
{
	prometheus_family(to, "build_info", "gauge", "The version of fpless.");
	prometheus_labelled(to, "build_info", "version", FPL_VERSION, 1);
	write_windows(to, sums);
	write_samples(to, sums);
	prometheus_time(to, "bpf_seconds_total", "counter", sums->bpf_ns,
			"CPU time of fpless's programs in the kernel.");
	if (top && hottest->sum)
		write_top(to, hottest, top);
}
