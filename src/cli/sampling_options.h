/* SPDX-License-Identifier: Apache-2.0 */
/* The options common to all verbs that sample: parsed, checked, not yet acted upon. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/target_options.h"
#include "output/formats.h"
#include "profile/engine.h"

struct sampling_output {
	const char *path; /* borrowed from argv; "-" is stdout */
	const struct format *format;
};

struct sampling_options {
	/* what to sample */
	struct target_options target;
	char **command; /* borrowed from argv, NULL-terminated; NULL: none */

	enum engine_event event;
	uint64_t hz;
	uint64_t duration_ms; /* 0: until Ctrl-C or the command's end */
	uint64_t delay_ms;
	double max_overhead; /* per cent; 0: no limit */
	bool user, kernel;   /* which stacks to show */
	bool idle;
	unsigned by; /* PROFILE_BY_*; 0: the task's name */

	/* how to walk */
	enum engine_unwind unwind;
	uint32_t max_depth;
	uint64_t table_memory;		      /* bytes */
	const char *table_cache;	      /* borrowed; NULL: the default place */
	uint64_t table_cache_bytes;	      /* 0: none */
	uint64_t jit_memory;		      /* bytes; 0: the engine's choice */
	uint64_t ring_memory;		      /* bytes; 0: the engine's choice */
	uint64_t max_processes, max_mappings; /* 0: the engine's choice */
	uint64_t stack_memory;		      /* bytes; 0: the engine's choice */
	uint32_t snapshot;		      /* bytes; 0: off */
	const char *record_path;	      /* borrowed; walks are recorded into it; NULL: none */
	uint32_t record_every;
	bool compare; /* walk twice */

	/* what to write */
	struct sampling_output *outputs; /* owned [nr_outputs] */
	size_t nr_outputs;
	const char *stats_path; /* borrowed; NULL: none */
	bool folded_stdout;	/* -f */
	bool delimited, annotate, origin;
	bool strict;
	double strict_percent;
	bool quiet;
	const char
		*own_stdout; /* an option by which the verb itself writes to stdout; NULL: none */
	int verbosity;	     /* 0, 1: -v, 2: -vv */
};

/* Set the defaults. Nothing is owned yet. */
void sampling_options_init(struct sampling_options *options);
void sampling_options_fini(struct sampling_options *options);

/*
 * Argp of the common options and positional arguments; its input is a struct sampling_options that
 * sampling_options_init has seen. Nonsense ends the process with CLI_EXIT_USAGE and one line.
 * Parse with ARGP_IN_ORDER, or "10 -- COMMAND" loses which words came before the "--".
 */
extern const struct argp sampling_argp;

/* True where the readable format goes to stdout because nothing else was asked for. */
bool sampling_options_use_text(const struct sampling_options *options);

/* Fill in what the options say of @ret; the rest of it is zero. Borrows from @options. */
void sampling_options_to_engine(const struct sampling_options *options, struct engine_options *ret);
