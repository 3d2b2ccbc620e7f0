/* SPDX-License-Identifier: Apache-2.0 */
/* The perf events whose overflow runs the sampler: one per online CPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/engine.h"

struct events {
	int *cpus;  /* owned [nr]: the online CPUs */
	int *fds;   /* owned [nr]; -1: the CPU went offline */
	int *links; /* owned [nr]: BPF links, -1: none */
	size_t nr;
	const char *name;    /* "cpu-clock" or "cpu-cycles" */
	bool is_second_best; /* cycles were wanted, but this machine has no counter for them */
	uint64_t period_ns;  /* wanted time between two samples of a busy CPU */
};

/*
 * Open the events, disabled, of the kind options->event asks for. Errors: -EOPNOTSUPP no such
 * event; -EACCES no right to; -ERANGE hz is above kernel.perf_event_max_sample_rate; -ENOMEM.
 */
FPL_MUST_CHECK int events_open(const struct engine_options *options, struct events *ret,
			       struct fpl_err *err);
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

/* Samples that should have fired: time enabled over all CPUs / period. */
uint64_t events_expected(const struct events *events);
