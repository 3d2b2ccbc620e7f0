/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of counts, in per cent. */
#pragma once

#include <stdint.h>

/* 100 * part / whole, 0 of nothing. */
static inline double share_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* The same for verdicts: never rounds up to 100, which has to mean all of them. */
static inline double share_whole_percent(uint64_t part, uint64_t whole)
{
	double value = share_percent(part, whole);

	return part < whole && value > 99.99 ? 99.99 : value;
}
