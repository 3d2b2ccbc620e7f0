/* SPDX-License-Identifier: Apache-2.0 */
/* --window: a run that is cut into windows. */
#pragma once

#include <argp.h>
#include <stdint.h>

struct output_options;
struct profile;
struct recording;

#define WINDOW_LEAST_MS 50u

/* Its functions get @ctx. */
struct window_keeper {
	/* Sampling has begun; by the thread of the run. */
	void (*began)(void *ctx);
	/* Take a window, by the thread that writes them: @recording is made from @profile. Returns
	 * 0 or an error, which was reported. */
	int (*take)(void *ctx, const struct profile *profile, const struct recording *recording);
	/* Sampling is over, and windows still come; by the thread of the run. */
	void (*ending)(void *ctx);
	void *ctx;
};

struct window_options {
	uint64_t length_ms; /* 0: the run is not cut */
	uint64_t every_ms;  /* from one beginning to the next */
	/* Borrowed: the verb that keeps the windows itself. Outputs are allowed then, and not
	 * needed. NULL: none does. */
	const struct window_keeper *keeper;
};

/* Its input is a struct window_options, zero at first. An invalid option ends the process. */
extern const struct argp window_argp;

/* Checks of the outputs, once their options are complete. No effect without --window. */
void window_options_check(const struct window_options *options, const struct output_options *output,
			  struct argp_state *state);
