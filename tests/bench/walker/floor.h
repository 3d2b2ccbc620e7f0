/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts of floor.bpf.c, for its loaders. */
#pragma once

#include <linux/types.h>

/* Value of the per-CPU array `floor_counters`: runs in the target. */
struct floor_counters {
	__u64 samples;
	__u64 frames; /* words read */
	__u64 ns;     /* in the program, by its own clock */
};
