/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/throttle.h"

#define CALM_WINDOWS	   3u
#define STEP_UP_MAX	   8.0
#define STEP_UP_MIN	   1.1
#define STEP_DOWN_MAX	   2.0
#define AIM_WHEN_EXCEEDED  0.8	/* of the limit: some of the cost does not follow the frequency */
#define BPF_LEAST	   0.1	/* of the limit */
#define AIM_WHEN_SHRINKING 0.75 /* of the limit: above half of it, where it would shrink again */

void throttle_init(struct throttle *throttle, double percent, uint64_t period_ns,
		   const struct throttle_use *use)
{
	*throttle = (struct throttle){
		.limit = percent / 100,
		.wanted_ns = period_ns,
		.period_ns = period_ns,
		.begin = *use,
	};
}

/* @cost_ns as a share of the work of the window that ends with @end. */
static double share_of(uint64_t cost_ns, const struct throttle_use *begin,
		       const struct throttle_use *end)
{
	uint64_t wall_ns = end->now_ns - begin->now_ns;
	uint64_t work_ns = end->work_ns - begin->work_ns;

	return (double)cost_ns / (double)(work_ns > wall_ns ? work_ns : wall_ns);
}

/* @period_ns by @factor, within what was asked for and the longest. */
static uint64_t scale(const struct throttle *throttle, double factor)
{
	double ns = (double)throttle->period_ns * factor;
	uint64_t max = throttle->wanted_ns > THROTTLE_PERIOD_MAX_NS ? throttle->wanted_ns
								    : THROTTLE_PERIOD_MAX_NS;

	if (ns <= (double)throttle->wanted_ns)
		return throttle->wanted_ns;
	return ns < (double)max ? (uint64_t)ns : max;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* @bpf: the part of the overhead that is the sampling program's. */
static uint64_t next_period(struct throttle *throttle, double bpf)
{
	double limit = throttle->limit, overhead = throttle->overhead;

	throttle->is_stuck = false;
	if (overhead > limit) {
		double factor = least(overhead / (limit * AIM_WHEN_EXCEEDED), STEP_UP_MAX);

		factor = least(factor, bpf / (limit * BPF_LEAST));
		throttle->nr_calm = 0;
		throttle->is_stuck = factor < STEP_UP_MIN;
		return throttle->is_stuck ? throttle->period_ns : scale(throttle, factor);
	}
	if (overhead > limit / 2 || throttle->period_ns == throttle->wanted_ns) {
		throttle->nr_calm = 0;
		return throttle->period_ns;
	}
	if (++throttle->nr_calm < CALM_WINDOWS)
		return throttle->period_ns;
	throttle->nr_calm = 0;

	double room = limit * AIM_WHEN_SHRINKING;
	double factor = overhead * STEP_DOWN_MAX < room ? 1 / STEP_DOWN_MAX : overhead / room;

	return scale(throttle, factor);
}

bool throttle_judge(struct throttle *throttle, const struct throttle_use *use)
{
	const struct throttle_use *begin = &throttle->begin;
	uint64_t period_ns, bpf_ns, own_ns;
	double bpf;

	if (throttle->limit <= 0 || use->now_ns < throttle->begin.now_ns + THROTTLE_WINDOW_NS)
		return false;
	bpf_ns = use->bpf_ns - begin->bpf_ns;
	own_ns = use->own_ns - begin->own_ns;
	throttle->overhead = share_of(bpf_ns + own_ns, begin, use);
	bpf = share_of(bpf_ns, begin, use);
	throttle->begin = *use;
	if (throttle->nr_windows++ == 0)
		return false;
	period_ns = next_period(throttle, bpf);
	if (period_ns == throttle->period_ns)
		return false;
	throttle->period_ns = period_ns;
	throttle->nr_changes++;
	return true;
}
