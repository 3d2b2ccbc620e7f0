/* SPDX-License-Identifier: Apache-2.0 */
/* The options common to all verbs that sample: parsed, checked, not yet acted upon. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vector.h"
#include "cli/event_options.h"
#include "cli/cache_options.h"
#include "cli/output_options.h"
#include "cli/target_options.h"
#include "cli/window_options.h"
#include "profile/engine.h"
#include "recording/filter.h"
#include "source/source_spec.h"

struct sampling_options {
	/* what to sample */
	struct target_options target;
	char **command; /* borrowed from argv, NULL-terminated; NULL: none */

	const char *own_source; /* the name of what the verb samples; NULL: the user says what */
	struct source_spec sources[FPL_SOURCES_MAX];
	size_t nr_sources;    /* 1.. */
	VECTOR(char *) words; /* owned: the arguments of -e, which sources borrow from */
	uint64_t hz;	      /* of a clock */
	uint64_t max_hz;      /* -F max: what the kernel allows, from hz on; 0: not given */
	uint64_t duration_ms; /* 0: until Ctrl-C or the command's end */
	uint64_t delay_ms;
	double max_overhead; /* per cent; 0: no limit */
	bool user, kernel;   /* which stacks to show */
	bool idle;
	struct engine_blocks blocks; /* of SOURCE_BLOCKED */
	struct event_options events;
	struct filter_options stacks; /* of what was sampled: what is shown */

	/* how to walk */
	enum engine_unwind unwind;
	bool synth;
	bool jit;
	struct script_options script;
	uint32_t max_depth, root_depth; /* as engine_options has them */
	uint64_t table_memory;		/* bytes */
	struct cache_options cache;
	uint64_t jit_memory;		      /* bytes; 0: the engine's choice */
	uint64_t ring_memory;		      /* bytes; 0: the engine's choice */
	uint64_t max_processes, max_mappings; /* 0: the engine's choice */
	uint64_t stack_memory;		      /* bytes; 0: the engine's choice */
	uint32_t snapshot;		      /* bytes; 0: off */
	const char *record_path;	      /* borrowed; walks are recorded into it; NULL: none */
	uint32_t record_every;
	bool keep_command;			/* it goes on after the run */
	struct engine_heap heap;		/* what is shown of allocations */
	const char *const *command_environment; /* as of engine_options */
	bool rss;				/* whose memory is resident */
	bool compare;				/* walk twice */
	bool command_off_terminal;		/* as of engine_options */

	/* what to write */
	struct output_options output;
	struct window_options window;
	bool code; /* a page gets the code of the hottest functions */
	bool strict;
	double strict_percent;
};

/* The waits that verbs sample by default: of any length, in @states (ENGINE_STATE_*), each of 10 ms
 * or more, and of shorter ones one for so much of them. */
struct engine_blocks sampling_options_waits(uint32_t states);

/* Set the defaults. Nothing is owned yet. */
void sampling_options_init(struct sampling_options *options);
void sampling_options_fini(struct sampling_options *options);

/*
 * Argp of the common options and positional arguments; its input is a struct sampling_options that
 * sampling_options_init has seen. An invalid option ends the process with CLI_EXIT_USAGE and one
 * line. Parse with ARGP_IN_ORDER, or "10 -- COMMAND" loses which words came before the "--".
 */
extern const struct argp sampling_argp;

/* The same of verbs that have sources of their own: one of them a clock, waits, or others
 * (cli/source_parsing.h). */
extern const struct argp sampling_clock_argp, sampling_waits_argp, sampling_own_argp;

/* The names of what is sampled to @buf, with ", " between them, "wall" of the time of threads;
 * NULL: a clock alone, which views need not name. */
const char *sampling_options_events(const struct sampling_options *options, char *buf, size_t size);

/* Say on stderr which frequency -F max has chosen; nothing without it. */
void sampling_options_say_max(const struct sampling_options *options);

/*
 * Set the fields of @ret that the options determine; its other fields stay zero. Borrows from
 * @options.
 */
void sampling_options_to_engine(const struct sampling_options *options, struct engine_options *ret);
