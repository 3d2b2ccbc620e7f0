/* SPDX-License-Identifier: Apache-2.0 */
/* The perf events whose overflow runs the sampler: one per CPU that is sampled. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proc/cpu_list.h"
#include "profile/engine.h"

struct events {
	struct cpu_list cpus; /* owned: the online CPUs */
	int *fds;	      /* owned [cpus.nr]; -1: not to be sampled, or it went offline */
	int *links;	      /* owned [cpus.nr]: BPF links, -1: none */
	size_t nr_sampled;    /* CPUs with an event */
	const char *name;     /* "cpu-clock" or "cpu-cycles" */
	bool is_clock;	      /* cpu-clock */
	bool is_second_best;  /* cycles were wanted, but this machine has no counter for them */
	uint64_t period_ns;   /* wanted time between two samples of a busy CPU */
	/* up to the last change of the period: samples that should have fired, time enabled */
	uint64_t expected_before, enabled_before_ns;
};

/*
 * Open the events, disabled, of the kind options->event asks for. Errors: -EOPNOTSUPP no such
 * event; -ESRCH a CPU of options->cpus is not online; -EACCES no right to; -ERANGE hz is above
 * kernel.perf_event_max_sample_rate; -ENOMEM.
 */
FPL_MUST_CHECK int events_open(const struct engine_options *options, struct events *ret,
			       struct fpl_err *err);
/* Time between two samples that the options ask for. */
uint64_t events_wanted_period_ns(const struct engine_options *options);

/* kernel.perf_event_max_sample_rate, Hz; 0: it cannot be read. */
uint64_t events_max_hz(void);

/*
 * Can @event, of all tasks, be opened? Opens it on one CPU and closes it again. Returns 0 or a
 * negative errno of perf_event_open(2), untranslated.
 */
int events_try(enum engine_event event);

void events_close(struct events *events);

/* Have @prog_fd run at each overflow. */
FPL_MUST_CHECK int events_attach(struct events *events, int prog_fd, struct fpl_err *err);

FPL_MUST_CHECK int events_enable(struct events *events, struct fpl_err *err);
void events_disable(struct events *events);

/*
 * Sample every @period_ns from the next enabling on: between events_disable and events_enable. Time
 * since the last sample of a CPU does not count then: half a period is lost on average.
 */
void events_set_period(struct events *events, uint64_t period_ns);

/* Samples that should have fired: time enabled over all CPUs with an event / period. */
uint64_t events_expected(const struct events *events);
