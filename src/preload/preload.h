/* SPDX-License-Identifier: Apache-2.0 */
/* The names and numbers that fpless and its library share. */
#pragma once

#define PRELOAD_FILE "libfpless-heap.so"

/* In the environment: one byte in so many is sampled, a number from 1 on. */
#define PRELOAD_STRIDE	       "FPLESS_SAMPLE_BYTES"
#define PRELOAD_STRIDE_MAX     (1u << 30)
#define PRELOAD_STRIDE_DEFAULT (512u << 10)

/* A thread takes about so many samples a second at most, with more bytes to each (preload/pace.h);
 * 0 or none: as many as its bytes give. */
#define PRELOAD_RATE	 "FPLESS_SAMPLE_RATE"
#define PRELOAD_RATE_MAX 1000000u
