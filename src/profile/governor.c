/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/governor.h"

#define CALM_WINDOWS	   3u
#define STEP_UP_MAX	   8.0
#define STEP_UP_MIN	   1.1
#define STEP_DOWN_MAX	   2.0
#define AIM_WHEN_EXCEEDED  0.8	/* of the limit: some of the cost does not follow the frequency */
#define BPF_LEAST	   0.1	/* of the limit */
#define AIM_WHEN_SHRINKING 0.75 /* of the limit: above half of it, where it would shrink again */

void governor_init(struct governor *governor, double percent, uint64_t period_ns,
		   const struct governor_use *use)
{
	*governor = (struct governor){
		.limit = percent / 100,
		.wanted_ns = period_ns,
		.period_ns = period_ns,
		.begin = *use,
	};
}

/* @cost_ns as a share of the work of the window that ends with @end. */
static double share_of(uint64_t cost_ns, const struct governor_use *begin,
		       const struct governor_use *end)
{
	uint64_t wall_ns = end->now_ns - begin->now_ns;
	uint64_t work_ns = end->work_ns - begin->work_ns;

	return (double)cost_ns / (double)(work_ns > wall_ns ? work_ns : wall_ns);
}

/* @period_ns by @factor, within what was asked for and the longest. */
static uint64_t scale(const struct governor *governor, double factor)
{
	double ns = (double)governor->period_ns * factor;
	uint64_t max = governor->wanted_ns > GOVERNOR_PERIOD_MAX_NS ? governor->wanted_ns
								    : GOVERNOR_PERIOD_MAX_NS;

	if (ns <= (double)governor->wanted_ns)
		return governor->wanted_ns;
	return ns < (double)max ? (uint64_t)ns : max;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* @bpf: the part of the overhead that is the sampling program's. */
static uint64_t next_period(struct governor *governor, double bpf)
{
	double limit = governor->limit, overhead = governor->overhead;

	governor->is_stuck = false;
	if (overhead > limit) {
		double factor = least(overhead / (limit * AIM_WHEN_EXCEEDED), STEP_UP_MAX);

		factor = least(factor, bpf / (limit * BPF_LEAST));
		governor->nr_calm = 0;
		governor->is_stuck = factor < STEP_UP_MIN;
		return governor->is_stuck ? governor->period_ns : scale(governor, factor);
	}
	if (overhead > limit / 2 || governor->period_ns == governor->wanted_ns) {
		governor->nr_calm = 0;
		return governor->period_ns;
	}
	if (++governor->nr_calm < CALM_WINDOWS)
		return governor->period_ns;
	governor->nr_calm = 0;

	double room = limit * AIM_WHEN_SHRINKING;
	double factor = overhead * STEP_DOWN_MAX < room ? 1 / STEP_DOWN_MAX : overhead / room;

	return scale(governor, factor);
}

bool governor_judge(struct governor *governor, const struct governor_use *use)
{
	const struct governor_use *begin = &governor->begin;
	uint64_t period_ns, bpf_ns, own_ns;
	double bpf;

	if (governor->limit <= 0 || use->now_ns < governor->begin.now_ns + GOVERNOR_WINDOW_NS)
		return false;
	bpf_ns = use->bpf_ns - begin->bpf_ns;
	own_ns = use->own_ns - begin->own_ns;
	governor->overhead = share_of(bpf_ns + own_ns, begin, use);
	bpf = share_of(bpf_ns, begin, use);
	governor->begin = *use;
	if (governor->nr_windows++ == 0)
		return false;
	period_ns = next_period(governor, bpf);
	if (period_ns == governor->period_ns)
		return false;
	governor->period_ns = period_ns;
	governor->nr_changes++;
	return true;
}
