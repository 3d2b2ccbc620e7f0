/* SPDX-License-Identifier: Apache-2.0 */
/* Options about single samples: kept with their times, or printed as they arrive. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/stream_format.h"

struct event_options {
	bool timeline;
	uint64_t timeline_memory; /* bytes; 0: the engine's choice */
	bool stream;		  /* on stdout */
	enum stream_format stream_format;
};

/* Argp of these options; its input is the struct sampling_options they are part of. An invalid
 * option ends the process with CLI_EXIT_USAGE and one line. */
extern const struct argp event_argp;

struct engine_options;

/* Fill in what the options say of @ret. */
void event_options_to_engine(const struct event_options *options, struct engine_options *ret);
