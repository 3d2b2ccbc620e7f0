/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/overhead.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

/* A load that swings would say the same again and again. */
#define CHANGES_SAID 16u
/* Looking at helpers reads some thirty files of /proc: often only where their time is judged by. */
#define HELPERS_PERIOD_JUDGED_NS NS_PER_S
#define HELPERS_PERIOD_NS	 (60 * NS_PER_S)

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
	if (overhead->clock && nr_samples > overhead->nr_samples) {
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

void overhead_look(struct overhead *overhead, uint64_t now, uint64_t most_age_ns)
{
	uint64_t period_ns =
		overhead->config.limit > 0 ? HELPERS_PERIOD_JUDGED_NS : HELPERS_PERIOD_NS;
	uint64_t rss_bytes = usage_rss_anon_bytes();

	if (most_age_ns > period_ns)
		most_age_ns = period_ns;
	if (now >= overhead->helpers_ns + most_age_ns) {
		struct usage_helpers before = overhead->helpers;

		usage_helpers(overhead->config.command, &overhead->helpers);
		/* one that has died takes its time along, and what it had of memory */
		if (overhead->helpers.cpu_ns < before.cpu_ns)
			overhead->helpers.cpu_ns = before.cpu_ns;
		if (overhead->helpers.rss_anon_peak_bytes < before.rss_anon_peak_bytes)
			overhead->helpers.rss_anon_peak_bytes = before.rss_anon_peak_bytes;
		overhead->helpers_ns = now;
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
	throttle_init(&overhead->throttle,
		      overhead->clock || overhead->config.block_ns ? overhead->config.limit : 0,
		      overhead->clock		  ? overhead->clock->period
		      : overhead->config.block_ns ? overhead->config.block_ns
						  : 1,
		      &use);
	overhead->begun_ns = overhead->throttle.period_ns;
	if (overhead->config.max_hz)
		overhead->throttle.wanted_ns = NS_PER_S / overhead->config.max_hz;
}

static void say(const struct overhead *overhead, bool is_lower)
{
	const struct throttle *throttle = &overhead->throttle;
	char what[64];

	if (throttle->nr_changes > CHANGES_SAID)
		return;
	if (overhead->clock)
		snprintf(what, sizeof(what), "sampling at %.4g Hz",
			 1e9 / (double)throttle->period_ns);
	else
		snprintf(what, sizeof(what), "one sample for each %.4g ms of short waits",
			 (double)throttle->period_ns / 1e6);
	fpl_log(is_lower ? FPL_LOG_WARN : FPL_LOG_INFO,
		"overhead %.3g %%, --max-overhead %.3g: %s from here on%s",
		100 * throttle->overhead, 100 * throttle->limit, what,
		throttle->nr_changes == CHANGES_SAID ? " (further changes are not said)" : "");
}

static void say_stuck(const struct overhead *overhead)
{
	const struct throttle *throttle = &overhead->throttle;

	if (overhead->clock)
		fpl_log(FPL_LOG_WARN,
			"overhead %.3g %%, --max-overhead %.3g: little of it is sampling, so a frequency below %.4g Hz would not help",
			100 * throttle->overhead, 100 * throttle->limit,
			1e9 / (double)throttle->period_ns);
	else
		fpl_log(FPL_LOG_WARN,
			"overhead %.3g %%, --max-overhead %.3g: little of it is sampling, so fewer waits would not help",
			100 * throttle->overhead, 100 * throttle->limit);
}

/* Sample the clock with the period of the throttle. */
static void set_clock(struct overhead *overhead)
{
	struct fpl_err err;

	/* off meanwhile: no sample may have the weight of another period */
	source_disable(overhead->clock);
	source_set_period(overhead->clock, overhead->throttle.period_ns);
	kernel_side_set_weight(overhead->config.kernel, overhead->clock->number,
			       overhead->clock->period);
	if (source_enable(overhead->clock, &err))
		fpl_log(FPL_LOG_WARN, "%s", err.msg);
}

/* Sample waits as much less often than at first as the throttle says. */
static void set_waits(struct overhead *overhead)
{
	struct throttle *throttle = &overhead->throttle;
	double factor = (double)throttle->period_ns / (double)overhead->begun_ns;
	double ns = (double)overhead->config.block_ns * factor;
	uint64_t most = ns < THROTTLE_PERIOD_MAX_NS ? (uint64_t)ns : THROTTLE_PERIOD_MAX_NS;

	if (most > kernel_side_block_ns(overhead->config.kernel))
		kernel_side_set_block_ns(overhead->config.kernel, most);
	if (!overhead->clock)
		throttle->wanted_ns = throttle->period_ns; /* it never shrinks again */
}

void overhead_check(struct overhead *overhead, const struct fpl_counters *counters, uint64_t now)
{
	struct throttle *throttle = &overhead->throttle;
	uint64_t before_ns = throttle->period_ns;
	struct throttle_use use;

	if (throttle->limit <= 0)
		return;
	use = use_now(overhead, counters, now);
	if (!throttle_judge(throttle, &use)) {
		if (throttle->is_stuck && !overhead->has_said_stuck)
			say_stuck(overhead);
		overhead->has_said_stuck = overhead->has_said_stuck || throttle->is_stuck;
		return;
	}
	if (overhead->clock)
		set_clock(overhead);
	if (overhead->config.block_ns)
		set_waits(overhead);
	say(overhead, throttle->period_ns > before_ns);
}
