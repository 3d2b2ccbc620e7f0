/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts of the program of test_fp_chain. */
#pragma once

#include <linux/types.h>

struct fp_chain_result {
	__u64 nr_samples;
	__u64 nr_frames;
	__u64 nr_wrong;	 /* samples */
	__u64 wrong_idx; /* of the last: the first frame that differs, or how many there are */
	__u64 own, kernel;
	__u64 longest; /* frames */
};
