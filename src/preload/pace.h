/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many samples a thread takes: where more than a rate, each stands for twice as many bytes, and
 * for half as many again once there are fewer than a quarter. So the cost of a thread is a bounded
 * share of its time, whatever it allocates. Pure.
 */
#pragma once

#include <stdint.h>

#define PACE_SAMPLES  16u /* between two looks at the clock */
#define PACE_NS_PER_S 1000000000u

struct pace {
	uint64_t stride; /* bytes that a sample of the thread stands for */
	uint64_t since_ns;
	uint32_t nr; /* samples since then */
};

static inline void pace_begin(struct pace *pace, uint64_t stride, uint64_t now_ns)
{
	*pace = (struct pace){ .stride = stride, .since_ns = now_ns };
}

/* One sample more. Returns whether pace_look() is due. */
static inline int pace_count(struct pace *pace)
{
	return ++pace->nr >= PACE_SAMPLES;
}

/*
 * Fit the stride to what PACE_SAMPLES took. @least, @most: of a stride, 1 <= @least <= @most <
 * 2^63;
 * @rate: samples a second, from 1 on.
 */
static inline void pace_look(struct pace *pace, uint64_t least, uint64_t most, uint32_t rate,
			     uint64_t now_ns)
{
	uint64_t due_ns = (uint64_t)PACE_SAMPLES * PACE_NS_PER_S / rate;
	uint64_t ns = now_ns - pace->since_ns;

	if (ns < due_ns && pace->stride <= most / 2)
		pace->stride *= 2;
	else if (ns > 4 * due_ns && pace->stride / 2 >= least)
		pace->stride /= 2;
	pace->since_ns = now_ns;
	pace->nr = 0;
}
