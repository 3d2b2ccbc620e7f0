/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of samples: it runs the sampler. Each kind of source is a file of functions (struct
 * source_ops) and a line in source.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/cpu_list.h"
#include "profile/engine.h"
#include "profile/profile.h"

struct source;

/* Functions of a kind. Those that are told to may be NULL. */
struct source_ops {
	/*
	 * Open it, disabled. @source has its cpus and its number; fill in what, period, nr_sampled,
	 * sampler and own. Its close is called also when this fails. Errors: as source_open.
	 */
	int (*open)(struct source *source, const struct engine_options *options,
		    struct fpl_err *err);
	int (*attach)(struct source *source, int prog_fd, struct fpl_err *err);
	/* NULL, both: it has no switch but the gate (kernel_side_open_gate). */
	int (*enable)(struct source *source, struct fpl_err *err);
	void (*disable)(struct source *source);
	/* For clocks: as source_set_period and source_expected. NULL: it is never a clock. */
	void (*set_period)(struct source *source, uint64_t period_ns);
	uint64_t (*expected)(const struct source *source);
	/* For the others: as source_counted. NULL: the kernel does not count. */
	uint64_t (*counted)(const struct source *source, uint64_t fired);
	void (*close)(struct source *source);
};

/* The program that takes its samples: the kernel has a type of program for each. */
enum sampler {
	SAMPLER_PERF,
	SAMPLER_TRACEPOINT,
	SAMPLER_KPROBE,
	SAMPLER_UPROBE,
	SAMPLER_RSS,	       /* where a process's memory has changed */
	SAMPLER_ALLOC,	       /* at the return of functions that allocate */
	SAMPLER_SWITCH,	       /* at the end of a switch between threads */
	SAMPLER_SWITCH_KPROBE, /* likewise, in kernels without a tracepoint there */
	SAMPLER_SWITCH_OUT,    /* at its beginning, where nothing tells of its end */
	SAMPLER_NO_SWITCH,     /* none: the times of threads are added up, and no more */
	SAMPLER_WAKING,	       /* where a thread wakes another one up */
	SAMPLER_COUNT
};

/* Is it about waits, which switches between threads begin and end? */
static inline bool sampler_is_of_switches(enum sampler sampler)
{
	return sampler >= SAMPLER_SWITCH && sampler <= SAMPLER_NO_SWITCH;
}

struct source {
	const struct source_ops *ops; /* NULL: not open */
	enum sampler sampler;
	uint32_t number;	    /* of those of the run, 0..: its links' cookie */
	struct cpu_list cpus;	    /* owned: the online CPUs */
	size_t nr_sampled;	    /* of them */
	struct profile_source what; /* that was asked for */
	uint64_t period;	    /* in force, in the source's unit */
	bool is_second_best; /* cycles were wanted, but this machine has no counter for them */
	/* Questions about the event's record, for the kernel side; NULL: it has no record. Owned by
	 * its kind. */
	const struct fpl_source *event;
	/* Probes that tell of allocations, of SAMPLER_ALLOC only, [nr_tolds], owned like event. */
	const struct fpl_told *tolds;
	size_t nr_tolds; /* at most FPL_TOLDS_MAX */
	/* Borrowed, before it is attached: of SAMPLER_ALLOC the programs of samplers_alloc_fd() and
	 * samplers_free_fd(). */
	int alloc_fd, free_fd;
	bool is_multi;	     /* its programs are for links to many places (probe_set.h) */
	int64_t preempt_off; /* of SAMPLER_WAKING: as in struct fpl_config */
	void *own;	     /* of its kind */
};

/*
 * Open source number @number of @options, disabled. Errors: -EOPNOTSUPP no such event; -EINVAL
 * options that it does not take; -ESRCH a CPU of options->cpus is not online; -EACCES no right to;
 * -ERANGE hz is above kernel.perf_event_max_sample_rate; -ENOMEM. source_close is needed on success
 * only.
 */
FPL_MUST_CHECK int source_open(const struct engine_options *options, uint32_t number,
			       struct source *ret, struct fpl_err *err);

/* The spec it is opened by. */
static inline const struct source_spec *source_asked(const struct source *source,
						     const struct engine_options *options)
{
	return &options->sources[source->number];
}

/* kernel.perf_event_max_sample_rate, Hz; 0: it cannot be read. */
uint64_t source_max_hz(void);

/*
 * Can @spec, of all tasks, be opened? Opens it on one CPU and closes it again. Returns 0 or a
 * negative errno of the system call, untranslated.
 */
int source_try(const struct source_spec *spec);

void source_close(struct source *source);

/* Have @prog_fd run at each sample. Where there are several, it finds the number by the cookie. */
FPL_MUST_CHECK int source_attach(struct source *source, int prog_fd, struct fpl_err *err);

/*
 * A switch that the program reads first must be on before source_enable, and off after
 * source_disable: source_counted counts each event between the two.
 */
FPL_MUST_CHECK int source_enable(struct source *source, struct fpl_err *err);
void source_disable(struct source *source);

/*
 * Sample a clock every @period_ns from the next enabling on: between source_disable and
 * source_enable. Time since the last sample of a CPU does not count then: half a period is lost on
 * average.
 */
void source_set_period(struct source *source, uint64_t period_ns);

/* Samples of a clock that should have fired: time enabled over all CPUs / period; else 0. */
uint64_t source_expected(const struct source *source);

/*
 * The samples that are due by the kernel's own count of events, of which @fired were taken; 0: it
 * is a clock, or nothing counts. The kernel counts events for which it does not run the program,
 * too. Of an event with a record it is @fired, and the runs that the kernel left out of its
 * program, which others may share.
 */
uint64_t source_counted(const struct source *source, uint64_t fired);

/* Is one of them sampled by @sampler? */
static inline bool sources_have(const struct source *sources, size_t nr, enum sampler sampler)
{
	for (size_t i = 0; i < nr; i++)
		if (sources[i].sampler == sampler)
			return true;
	return false;
}

/* Samples that were due so far, of all sources: they only grow. */
struct source_due {
	uint64_t expected; /* of clocks, by their time */
	uint64_t counted;  /* of others without a record, by the kernel's count of events */
	uint64_t left_out; /* of events with a record: runs that the kernel left out */
};
struct source_due sources_due(const struct source *sources, size_t nr);

/*
 * Samples due and missed of all sources together, of which @due says what was due. @fired: of all;
 * @entered: of events with a record.
 */
struct source_sums {
	uint64_t expected, counted, missed;
};
struct source_sums sources_sum(const struct source_due *due, uint64_t fired, uint64_t entered);
