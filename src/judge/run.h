/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge at work: it attaches to a process, steps its threads in bursts, at random moments and
 * from functions without CFI on, lets them run freely between, and leaves the process as it was.
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "judge/code.h"
#include "judge/findings.h"
#include "judge/stepper.h"

struct judge_options {
	pid_t pid;		    /* 0: a command is started */
	char **command;		    /* borrowed, NULL-terminated; its stdout becomes its stderr */
	uint64_t duration_ms;	    /* 0: without end */
	struct judge_bounds bounds; /* without end_ns */
	const volatile sig_atomic_t *stop; /* borrowed: becomes true when the user wants to stop */
};

/* Why it ended. X(name, text) */
#define JUDGE_END_LIST(X)                                           \
	X(STEPS, "the requested number of instructions was judged") \
	X(TIME, "the time is over")                                 \
	X(TARGET, "the process ended")                              \
	X(USER, "interrupted")

#define X(name, text) JUDGE_END_##name,
enum judge_end { JUDGE_END_LIST(X) JUDGE_END_COUNT };
#undef X

struct judge_run {
	struct findings findings;
	uint64_t frames_entered, frames_ended[SHADOW_END_COUNT];
	pid_t pid;
	size_t nr_threads; /* the most at a time */
	uint64_t bursts, breakpoints_met;
	uint64_t counted; /* judged steps within bounds.object and synth_only */
	uint64_t elapsed_ms;
	enum judge_end end;
};

/*
 * Judge. @code: borrowed; afterwards it has the names of the findings. judge_run_fini() is safe
 * after an error. Errors: those of tracees_attach() and command_release(); -ENOMEM.
 */
FPL_MUST_CHECK int judge_process(const struct judge_options *options, struct code *code,
				 struct judge_run *ret, struct fpl_err *err);
void judge_run_fini(struct judge_run *run);

const char *judge_end_text(enum judge_end end);
