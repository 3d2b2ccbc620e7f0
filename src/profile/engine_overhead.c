/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "profile/engine_state.h"
#include "profile/usage.h"

/* A load that swings would say the same again and again. */
#define CHANGES_SAID 16u
/* Looking for helpers reads ten files of /proc: more often only where their time is judged by. */
#define HELPERS_PERIOD_NS	 (4000 * NS_PER_MS)
#define HELPERS_PERIOD_JUDGED_NS (1000 * NS_PER_MS)

static struct governor_use use_now(struct engine *engine, const struct fpl_counters *counters,
				   uint64_t now)
{
	uint64_t nr_samples = counters->fired - counters->idle - counters->filtered;

	/* between two looks all samples have the weight of the period in force */
	engine->work_ns += (nr_samples - engine->nr_samples) * engine->events.period_ns;
	engine->nr_samples = nr_samples;
	return (struct governor_use){
		.now_ns = now,
		.bpf_ns = counters->bpf_ns,
		.own_ns = usage_cpu_ns() + engine->helpers.cpu_ns,
		.work_ns = engine->work_ns,
	};
}

void engine_overhead_look(struct engine *engine, uint64_t now, bool all)
{
	uint64_t rss_bytes = usage_rss_anon_bytes();

	if (all || now >= engine->next_helpers_ns) {
		struct usage_helpers before = engine->helpers;

		usage_helpers(engine->command.pid, &engine->helpers);
		/* one that has died takes its time along, and what it had of memory */
		if (engine->helpers.cpu_ns < before.cpu_ns)
			engine->helpers.cpu_ns = before.cpu_ns;
		if (engine->helpers.rss_anon_peak_bytes < before.rss_anon_peak_bytes)
			engine->helpers.rss_anon_peak_bytes = before.rss_anon_peak_bytes;
		engine->next_helpers_ns =
			now + (engine->options->max_overhead > 0 ? HELPERS_PERIOD_JUDGED_NS
								 : HELPERS_PERIOD_NS);
	}
	rss_bytes += engine->helpers.rss_anon_peak_bytes;
	if (rss_bytes > engine->rss_peak_bytes)
		engine->rss_peak_bytes = rss_bytes;
}

void engine_overhead_begin(struct engine *engine, uint64_t now)
{
	const struct governor_use use = { .now_ns = now, .own_ns = usage_cpu_ns() };

	governor_init(&engine->governor, engine->options->max_overhead, engine->events.period_ns,
		      &use);
	if (engine->options->max_hz)
		engine->governor.wanted_ns = NS_PER_S / engine->options->max_hz;
}

static void say(const struct governor *governor, bool is_lower)
{
	double hz = 1e9 / (double)governor->period_ns;

	if (governor->nr_changes > CHANGES_SAID)
		return;
	fpl_log(is_lower ? FPL_LOG_WARN : FPL_LOG_INFO,
		"overhead %.3g %%, --max-overhead %.3g: sampling at %.4g Hz from here on%s",
		100 * governor->overhead, 100 * governor->limit, hz,
		governor->nr_changes == CHANGES_SAID ? " (further changes are not said)" : "");
}

void engine_overhead_check(struct engine *engine, const struct fpl_counters *counters, uint64_t now)
{
	struct governor *governor = &engine->governor;
	uint64_t before_ns = governor->period_ns;
	struct governor_use use;
	struct fpl_err err;

	if (governor->limit <= 0)
		return;
	use = use_now(engine, counters, now);
	if (!governor_judge(governor, &use)) {
		if (governor->is_stuck && !engine->has_said_stuck)
			fpl_log(FPL_LOG_WARN,
				"overhead %.3g %%, --max-overhead %.3g: little of it is sampling, "
				"so a frequency below %.4g Hz would not help",
				100 * governor->overhead, 100 * governor->limit,
				1e9 / (double)governor->period_ns);
		engine->has_said_stuck = engine->has_said_stuck || governor->is_stuck;
		return;
	}
	/* off meanwhile: no sample may have the weight of another period */
	events_disable(&engine->events);
	events_set_period(&engine->events, governor->period_ns);
	kernel_side_set_weight(&engine->kernel, engine->events.period_ns);
	if (events_enable(&engine->events, &err))
		fpl_log(FPL_LOG_WARN, "%s", err.msg);
	say(governor, governor->period_ns > before_ns);
}
