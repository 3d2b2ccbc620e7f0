/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes of those that a thread allocates are sampled. They are cut into strata of a stride
 * each, as on the kernel side (bpf/heap.h): each has one point that is chosen at random, so each
 * byte has the same chance, and a sample weighs a stride for each of its points. The stride may
 * change: a stratum that has begun keeps its own. Pure.
 */
#pragma once

#include <stdint.h>

/* All 0: not begun. */
struct strata {
	uint64_t left;	 /* an allocation of fewer bytes has no point. 0: ask strata_take() */
	uint64_t after;	 /* bytes of the stratum behind its point */
	uint64_t stride; /* of the stratum with that point */
	uint64_t seed;
};

/* The next random number; the finalizer of MurmurHash3 over a Weyl sequence, as in SplitMix64. */
static inline uint64_t strata_random(struct strata *strata)
{
	uint64_t x = strata->seed += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Choose the point of the stratum that begins @ahead bytes from here. */
static inline void strata_next(struct strata *strata, uint64_t ahead, uint64_t stride)
{
	uint64_t point = (strata_random(strata) >> 32) * stride >> 32;

	strata->left = ahead + point + 1;
	strata->after = stride - 1 - point;
	strata->stride = stride;
}

/* @stride: 1..UINT32_MAX, here and below the same. With 1 each allocation is asked about. */
static inline void strata_begin(struct strata *strata, uint64_t seed, uint64_t stride)
{
	strata->seed = seed;
	if (stride > 1)
		strata_next(strata, 0, stride);
}

/* Returns the weight of a sample of the next @size bytes, at least strata->left of them, below
 * 2^63.
 * @stride: of strata that begin from here on; 1 if the last one was 1. */
static inline uint64_t strata_take(struct strata *strata, uint64_t size, uint64_t stride)
{
	uint64_t beyond, behind, in_last, weight = strata->stride;

	if (stride == 1)
		return size;
	beyond = size - strata->left; /* bytes behind the first point */
	if (beyond <= strata->after) {
		strata_next(strata, strata->after - beyond, stride);
		return weight;
	}
	behind = beyond - strata->after; /* bytes of later strata */
	in_last = behind % stride;
	weight += behind - in_last;
	strata_next(strata, 0, stride);
	if (strata->left > in_last) {
		strata->left -= in_last;
		return weight;
	}
	strata_next(strata, stride - in_last, stride);
	return weight + stride;
}
