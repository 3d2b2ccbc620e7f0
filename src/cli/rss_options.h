/* SPDX-License-Identifier: Apache-2.0 */
/* The option of `profile` that samples resident memory: --rss. */
#pragma once

#include <argp.h>

struct sampling_options;

/* Argp of the option; its input is the struct sampling_options it is part of. */
extern const struct argp rss_argp;

/* Refuse the options that --rss does not go with, once all are known, with CLI_EXIT_USAGE and one
 * line; nothing without it. */
void rss_options_check(struct sampling_options *options, struct argp_state *state);

/* Sample page faults, and say so, where the kernel does not tell how resident memory changes. */
void rss_options_settle(struct sampling_options *options);
