/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say what is sampled: -e and what belongs to an event, -F. For sampling_options.c
 * and source_options.c alone. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared.h"

struct sampling_options;

/* Words behind an event; NULL: not given. */
struct source_asked {
	const char *period; /* -c */
	const char *filter, *weight, *unit;
};

/* State of parsing, for checks that need all options. All zero but @options at the start. */
struct source_parsing {
	struct sampling_options *options;
	bool has_hz, is_hz_max; /* -F; it is max */
	bool has_event;		/* -e */
	/* By source. What stands behind an -e is of its events; what stands before the first
	 * is of that, too. */
	struct source_asked asked[FPL_SOURCES_MAX];
	size_t first, behind; /* sources of the last -e: [first, behind) */
};

/*
 * Argps of these options, whose input is a struct source_parsing. An invalid option ends the
 * process with CLI_EXIT_USAGE and one line. A verb that has sources of its own refuses them by
 * name, and does not list them; where one of these is a clock, -F and --max-overhead are for it,
 * and where they are waits, --max-overhead.
 */
extern const struct argp source_argp, own_source_argp, own_clock_argp, own_waits_argp;

/* Check the sources, and give each what was asked of it. Errors: as the argps. */
void source_options_check(struct source_parsing *parsing, struct argp_state *state);

/* The same of what depends on the targets, which are checked before. */
void source_options_check_probes(const struct sampling_options *options, struct argp_state *state);
