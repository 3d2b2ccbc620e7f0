/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run, and the steps of engine_run: for engine*.c alone. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/vector.h"
#include "proc/cgroup_names.h"
#include "proc/host.h"
#include "profile/catalog.h"
#include "profile/code_names.h"
#include "profile/collect.h"
#include "profile/comm_filter.h"
#include "profile/command.h"
#include "profile/engine.h"
#include "profile/events.h"
#include "profile/governor.h"
#include "profile/kernel_side.h"
#include "profile/lookups.h"
#include "profile/publisher.h"
#include "profile/replayer.h"
#include "profile/retirement.h"
#include "profile/tables.h"
#include "profile/targets.h"
#include "profile/tracker.h"
#include "profile/usage.h"

/* A thread without a CPU for longer was stopped, or starved; a loaded machine delays by less. */
#define AWAY_MIN_MS 600u

/* Meaning of a descriptor of the loop. */
enum watch { WATCH_SIGNAL, WATCH_COMMAND, WATCH_PID, WATCH_DATA, WATCH_LISTENER };

/* State for the looks of a listener. */
struct engine_looks {
	/* by number in the store: the number it was told by, or STACK_STORE_NONE */
	VECTOR(uint32_t) places;
	VECTOR(uint64_t) counts; /* by the number it was told by */
	uint64_t nr_frameless;	 /* samples whose frames are on their way */
	uint64_t nr_unwanted;	 /* of tasks whose name is not wanted */
	uint32_t nr;		 /* looks so far */
	uint64_t next_ns;
};

struct engine {
	struct engine_options given;	      /* with the defaults filled in */
	const struct engine_options *options; /* the same, for reading */
	struct host host;		      /* before rights were given up */
	sigset_t signals;		      /* blocked when the run began */
	struct command command;
	struct events events;
	struct kernel_side kernel;
	struct sideband *sideband;
	struct catalog *catalog;
	struct lookups *lookups; /* NULL: they have not begun, or have ended */
	struct stack_store *store;
	struct table_keeper *keeper; /* NULL: tables are not kept */
	struct tables tables;
	struct publisher publisher;
	struct tracker tracker;
	struct replayer replayer;
	struct retirement retirement;
	struct collect collect;
	struct timeline timeline;
	uint32_t told_id; /* of the last object that the listener was told of */
	struct engine_looks looks;
	int64_t listen_unix_ns; /* the time at timeline.start_ns by the clock of now */
	struct walk_file *walk_file;
	struct code_names *code_names;

	int epoll_fd, signal_fd;
	struct targets target;
	struct comm_filter *comm_filter;   /* NULL: every name */
	struct cgroup_names *cgroup_names; /* NULL: not asked for */
	bool stop;
	bool is_interrupted; /* stop, by a signal */

	uint64_t began_ns, enabled_ns, disabled_ns, start_unix_ns;
	uint64_t next_check_ns, next_count_ns;
	bool has_compiled; /* tables, since memory was last given back */
	uint64_t next_trim_ns;
	uint64_t away_ns;	 /* in which the ring's reader was stopped or had no CPU */
	uint64_t rss_peak_bytes; /* helpers included */
	struct usage_helpers helpers;
	uint64_t next_helpers_ns; /* when they are looked at again */

	struct governor governor;
	uint64_t nr_samples, work_ns; /* of what is profiled, at the last look */
	bool has_said_stuck;
};

/*
 * Open everything, down to the last map; no event is enabled, a command is held. Errors: as
 * engine_run; engine_close must be called then, too.
 */
FPL_MUST_CHECK int engine_open(struct engine *engine, struct fpl_err *err);

/* timeline_fn: the listener of the options is told of a sample. */
void engine_listen_sample(void *engine, const struct profile_event *event);
/* retirement.before, retirement.after: the listener knows what there is of an object before it
 * goes, and then that it has gone. */
bool engine_listen_before(void *engine);
void engine_listen_after(void *engine, const struct object *object);
/* The looks have ended for the moment. */
void engine_listen_pause(struct engine *engine);
/* Have it look, where it is time; sampling begins at @now. */
void engine_look_begin(struct engine *engine, uint64_t now);
/* Returns true where the look that is due is the last: that is engine_look_last()'s. */
bool engine_look_due(struct engine *engine, uint64_t now);
/* All is counted, and the books are about to be closed. */
void engine_look_last(struct engine *engine);

/* Stop what still runs, and give everything back. */
void engine_close(struct engine *engine);

/* Note the memory in use, and what the helpers use, at most once a second unless @all. */
void engine_overhead_look(struct engine *engine, uint64_t now, bool all);
/* Watch what the run costs from here on, where events are enabled; --max-overhead. */
void engine_overhead_begin(struct engine *engine, uint64_t now);
/* Sample less often where it costs too much, and as often as was asked where it does not. */
void engine_overhead_check(struct engine *engine, const struct fpl_counters *counters,
			   uint64_t now);

/* Close the books of a run that has ended and been drained. Errors: as engine_run. */
FPL_MUST_CHECK int engine_result(struct engine *engine, struct profile *profile,
				 struct fpl_err *err);
