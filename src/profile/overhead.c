/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/overhead.h"

#include "base/clock.h"
#include "base/log.h"

/* A load that swings would say the same again and again. */
#define CHANGES_SAID 16u
/* Looking for helpers reads ten files of /proc: more often only where their time is judged by. */
#define HELPERS_PERIOD_NS	 (4000 * NS_PER_MS)
#define HELPERS_PERIOD_JUDGED_NS (1000 * NS_PER_MS)

/* Samples of the clock in what is profiled, or fewer: idle and filtered ones are not counted by
 * source, so those of other sources are taken off, too. */
static uint64_t clock_samples(const struct overhead *overhead, const struct fpl_counters *counters)
{
	const struct overhead_config *config = &overhead->config;
	uint64_t others = counters->idle + counters->filtered;

	if (config->nr_sources > 1)
		others += counters->entered;
	for (size_t i = 0; i < config->nr_sources; i++)
		if (!config->sources[i].event)
			others += source_counted(&config->sources[i], 0);
	return counters->fired > others ? counters->fired - others : 0;
}

static struct throttle_use use_now(struct overhead *overhead, const struct fpl_counters *counters,
				   uint64_t now)
{
	uint64_t nr_samples = clock_samples(overhead, counters);

	/* between two looks all samples have the weight of the period in force */
	if (nr_samples > overhead->nr_samples) {
		overhead->work_ns += (nr_samples - overhead->nr_samples) * overhead->clock->period;
		overhead->nr_samples = nr_samples;
	}
	return (struct throttle_use){
		.now_ns = now,
		.bpf_ns = counters->bpf_ns,
		.own_ns = usage_cpu_ns() + overhead->helpers.cpu_ns,
		.work_ns = overhead->work_ns,
	};
}

void overhead_look(struct overhead *overhead, uint64_t now, bool all)
{
	uint64_t rss_bytes = usage_rss_anon_bytes();

	if (all || now >= overhead->next_helpers_ns) {
		struct usage_helpers before = overhead->helpers;

		usage_helpers(overhead->config.command, &overhead->helpers);
		/* one that has died takes its time along, and what it had of memory */
		if (overhead->helpers.cpu_ns < before.cpu_ns)
			overhead->helpers.cpu_ns = before.cpu_ns;
		if (overhead->helpers.rss_anon_peak_bytes < before.rss_anon_peak_bytes)
			overhead->helpers.rss_anon_peak_bytes = before.rss_anon_peak_bytes;
		overhead->next_helpers_ns =
			now +
			(overhead->config.limit > 0 ? HELPERS_PERIOD_JUDGED_NS : HELPERS_PERIOD_NS);
	}
	rss_bytes += overhead->helpers.rss_anon_peak_bytes;
	if (rss_bytes > overhead->rss_peak_bytes)
		overhead->rss_peak_bytes = rss_bytes;
}

void overhead_begin(struct overhead *overhead, uint64_t now)
{
	const struct throttle_use use = { .now_ns = now, .own_ns = usage_cpu_ns() };

	for (size_t i = 0; i < overhead->config.nr_sources; i++)
		if (profile_source_is_clock(&overhead->config.sources[i].what))
			overhead->clock = &overhead->config.sources[i];
	throttle_init(&overhead->throttle, overhead->clock ? overhead->config.limit : 0,
		      overhead->clock ? overhead->clock->period : 1, &use);
	if (overhead->config.max_hz)
		overhead->throttle.wanted_ns = NS_PER_S / overhead->config.max_hz;
}

static void say(const struct throttle *throttle, bool is_lower)
{
	double hz = 1e9 / (double)throttle->period_ns;

	if (throttle->nr_changes > CHANGES_SAID)
		return;
	fpl_log(is_lower ? FPL_LOG_WARN : FPL_LOG_INFO,
		"overhead %.3g %%, --max-overhead %.3g: sampling at %.4g Hz from here on%s",
		100 * throttle->overhead, 100 * throttle->limit, hz,
		throttle->nr_changes == CHANGES_SAID ? " (further changes are not said)" : "");
}

void overhead_check(struct overhead *overhead, const struct fpl_counters *counters, uint64_t now)
{
	struct throttle *throttle = &overhead->throttle;
	uint64_t before_ns = throttle->period_ns;
	struct throttle_use use;
	struct fpl_err err;

	if (throttle->limit <= 0)
		return;
	use = use_now(overhead, counters, now);
	if (!throttle_judge(throttle, &use)) {
		if (throttle->is_stuck && !overhead->has_said_stuck)
			fpl_log(FPL_LOG_WARN,
				"overhead %.3g %%, --max-overhead %.3g: little of it is sampling, "
				"so a frequency below %.4g Hz would not help",
				100 * throttle->overhead, 100 * throttle->limit,
				1e9 / (double)throttle->period_ns);
		overhead->has_said_stuck = overhead->has_said_stuck || throttle->is_stuck;
		return;
	}
	/* off meanwhile: no sample may have the weight of another period */
	source_disable(overhead->clock);
	source_set_period(overhead->clock, throttle->period_ns);
	kernel_side_set_weight(overhead->config.kernel, overhead->clock->number,
			       overhead->clock->period);
	if (source_enable(overhead->clock, &err))
		fpl_log(FPL_LOG_WARN, "%s", err.msg);
	say(throttle, throttle->period_ns > before_ns);
}
