/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run, and the steps of engine_run: for engine*.c alone. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "proc/cgroup_names.h"
#include "proc/host.h"
#include "profile/catalog.h"
#include "profile/code_names.h"
#include "profile/jvm_codes.h"
#include "profile/collect.h"
#include "profile/comm_filter.h"
#include "profile/command.h"
#include "profile/engine.h"
#include "profile/heap_live.h"
#include "profile/rss_book.h"
#include "profile/kernel_side.h"
#include "profile/listening.h"
#include "profile/lookups.h"
#include "profile/overhead.h"
#include "profile/publisher.h"
#include "profile/replayer.h"
#include "profile/retirement.h"
#include "profile/regions.h"
#include "profile/script_reader.h"
#include "profile/scripts.h"
#include "profile/source.h"
#include "profile/tables.h"
#include "profile/targets.h"
#include "profile/tracker.h"
#include "profile/run_window.h"

/* A thread without a CPU for longer was stopped, or starved; a loaded machine delays by less. */
#define AWAY_MIN_MS 600u
/* Limit of the age of what a window knows of helpers, where it begins after a pause and where it
 * ends. */
#define HELPERS_AGE_NS (4 * NS_PER_S)

/* Meaning of a descriptor of the loop. */
enum watch {
	WATCH_SIGNAL,
	WATCH_COMMAND,
	WATCH_PID,
	WATCH_LISTENER,
	WATCH_ANSWERS, /* of lookups */
	WATCH_ALERTS,  /* engine.alerts_fd: one of the above */
	WATCH_DATA,
};

struct engine {
	struct engine_options given;	      /* with the defaults filled in */
	const struct engine_options *options; /* the same, for reading */
	struct host host;		      /* before rights were given up */
	sigset_t signals;		      /* blocked when the run began */
	struct command command;
	uint32_t command_pid;			/* also when it has ended; 0: none */
	struct source sources[FPL_SOURCES_MAX]; /* [nr_sources] */
	size_t nr_sources;			/* that are open */
	struct kernel_side kernel;
	struct sideband *sideband;
	struct catalog *catalog;
	struct lookups *lookups;     /* NULL: they have not begun, or have ended */
	struct table_writer *writer; /* NULL: tables are not kept */
	struct tables tables;
	struct publisher publisher;
	struct tracker tracker;
	struct replayer replayer;
	struct retirement retirement;
	struct collect collect;
	struct heap_live heap_live;
	struct rss_book rss_book;
	struct run_window windows[2]; /* a run that is not cut has the first alone */
	struct run_window *window;    /* that is sampled, or will be */
	struct run_window *closing;   /* that has ended; NULL: none is open */
	bool is_paused;		      /* none is sampled for the moment */
	uint64_t next_turn_ns;	      /* CLOCK_MONOTONIC: it ends, or the next one begins */
	struct intakes intakes;
	struct listening listening;
	struct overhead overhead;
	struct walk_file *walk_file;
	struct code_names *code_names;
	struct jvm_codes *jvm_codes; /* NULL: no JVM is asked */
	struct regions regions;
	struct scripts *scripts; /* NULL: script frames are not walked; each window has codes */
	struct script_reader *script_reader; /* NULL: their code objects are sent */

	int epoll_fd;  /* of all that the loop waits for */
	int alerts_fd; /* an epoll of its own: of what ends a sleep, too */
	int signal_fd;
	struct targets target;
	struct comm_filter *comm_filter;   /* NULL: every name */
	struct cgroup_names *cgroup_names; /* NULL: not asked for */
	bool stop;
	bool is_interrupted; /* stop, by a signal */

	uint64_t began_ns, enabled_ns, disabled_ns;
	uint64_t next_check_ns, next_count_ns;
	bool has_compiled; /* tables, since memory was last given back */
	uint64_t next_trim_ns;
	uint64_t away_ns; /* in which the ring's reader was stopped or had no CPU */
};

/* The clock that is asked for; NULL: no source is one. */
const struct source_spec *engine_clock(const struct engine_options *options);

/*
 * Open everything, down to the last map; no event is enabled, a command is held. Errors: as
 * engine_run; engine_close must be called then, too.
 */
FPL_MUST_CHECK int engine_open(struct engine *engine, struct fpl_err *err);

/* Stop what still runs, and give everything back. */
void engine_close(struct engine *engine);

/* Did the user name the process, by -p or as the command? @engine: struct engine. */
bool engine_names_process(void *engine, uint32_t pid);

/* Close the books of @window, which has ended, and whose samples have all come. Errors: as
 * engine_run. */
FPL_MUST_CHECK int engine_result(struct engine *engine, struct run_window *window,
				 struct profile *profile, struct fpl_err *err);
/* Windows that a run has at a time. */
static inline size_t engine_nr_windows(const struct engine_options *options)
{
	return options->window_ms ? 2 : 1;
}

/* For the script frames of a window, or of the run. Errors: -ENOMEM. */
FPL_MUST_CHECK int engine_make_script_codes(const struct engine_options *options,
					    struct script_codes **ret);
/* Fill in the facts of the run, which are the same in all its windows. */
void engine_describe(const struct engine *engine, struct profile *profile);

/*
 * Gather what there is, apply what is old enough (@all: all of it), publish what follows from it.
 * Returns false if the ring holds more.
 */
bool engine_drain(struct engine *engine, bool all);

/* Sample the window at hand, which comes after @before (NULL: it is the first). Errors: as
 * engine_run. */
FPL_MUST_CHECK int engine_begin_window(struct engine *engine, struct run_window *before,
				       struct fpl_err *err);
/* End the window that is sampled, or begin the next, where it is time. Errors: as engine_run. */
FPL_MUST_CHECK int engine_turn_window(struct engine *engine, uint64_t now, struct fpl_err *err);
/* Hand over the window that has ended, where nothing of it is missing any more, or it is late.
 * @drained: the ring was read to its end after it had ended. */
void engine_review_windows(struct engine *engine, bool drained, uint64_t now);
/* Sampling has ended, and all has come: close the books of all windows. *ret is the profile of a
 * run that is not cut. Errors: as engine_run. */
FPL_MUST_CHECK int engine_end_windows(struct engine *engine, struct profile *ret,
				      struct fpl_err *err);
