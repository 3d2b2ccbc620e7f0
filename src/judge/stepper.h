/* SPDX-License-Identifier: Apache-2.0 */
/* Steps a thread, and judges each instruction before it is executed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "judge/code.h"
#include "judge/findings.h"
#include "judge/shadow.h"
#include "judge/tracees.h"

/* Limits of a run, and the steps that count. */
struct judge_bounds {
	uint64_t steps;	    /* judged ones that count, in all */
	uint64_t burst;	    /* steps of a thread at a time */
	const char *object; /* borrowed: a pattern its path or name must match; NULL: any */
	bool synth_only;    /* only rows made from code count */
	uint64_t end_ns;    /* CLOCK_MONOTONIC, when it is over; UINT64_MAX: never */
};

struct stepper;

/* All borrowed. Errors: -ENOMEM. */
FPL_MUST_CHECK int stepper_create(struct tracees *tracees, struct code *code,
				  struct findings *findings, const struct judge_bounds *bounds,
				  struct stepper **ret, struct fpl_err *err);
void stepper_destroy(struct stepper *stepper);

/* How a burst ended. */
enum burst_end {
	BURST_DONE,    /* limit of steps; nothing of interest for long; the whole request done */
	BURST_BLOCKED, /* the thread sleeps in a system call */
	BURST_GONE,    /* the thread ended */
	BURST_INTERRUPTED, /* the user wants to stop, or a signal stopped the process */
};

/*
 * Step thread @tid, which is stopped, and let it run again. If it is at the first instruction of a
 * function, as memory proves, that is judged, too. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int stepper_burst(struct stepper *stepper, pid_t tid, enum burst_end *ret,
				 struct fpl_err *err);

/* Judged steps that count, so far. */
uint64_t stepper_counted(const struct stepper *stepper);
const struct shadow *stepper_shadow(const struct stepper *stepper);

/* Does code of @object count? */
bool stepper_wants(struct stepper *stepper, uint32_t object);
