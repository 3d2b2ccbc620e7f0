/* SPDX-License-Identifier: Apache-2.0 */
/* --window: a run that is cut into windows. */
#pragma once

#include <argp.h>
#include <stdint.h>

struct output_options;
struct recording;

#define WINDOW_LEAST_MS 50u

struct window_options {
	uint64_t length_ms; /* 0: the run is not cut */
	uint64_t every_ms;  /* from one beginning to the next */
	/* Takes each window, for a verb that keeps them itself: each is handed to it, by the thread
	 * that writes them. Outputs are allowed, and not needed. Returns 0 or an error, which was
	 * reported. NULL: none does. */
	int (*take)(void *ctx, const struct recording *recording);
	void *take_ctx;
};

/* Its input is a struct window_options, zero at first. An invalid option ends the process. */
extern const struct argp window_argp;

/* Checks of the outputs, once their options are complete. No effect without --window. */
void window_options_check(const struct window_options *options, const struct output_options *output,
			  struct argp_state *state);
