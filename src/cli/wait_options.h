/* SPDX-License-Identifier: Apache-2.0 */
/* Options about waits: which of them are sampled. Of verbs whose samples weigh them. */
#pragma once

#include <argp.h>

#include "cli/sampling_options.h"

/* Argp of these options, the first child of the verb's; its input is a struct sampling_options,
 * whose blocks it fills in. An invalid option ends the process with CLI_EXIT_USAGE and one line. */
extern const struct argp wait_argp;
/* The same without a heading: they stand with the verb's own. */
extern const struct argp bare_wait_argp;
/* The same of waits at locks, which are all in one state, and of those in all states together with
 * time on a CPU. */
extern const struct argp lock_wait_argp, wall_wait_argp;

/* The label with the name of the thread that was woken up, where wakeups are sampled. */
#define WAKEE "wakee"
/* The label with the lock, where waits at locks are. */
#define LOCK "lock"

/* The label with the name of the thread that ended the wait, where both are sampled. */
#define WAKER "waker"

/* The label with the system call that a thread waited in. */
#define SYSCALL "syscall"

/* Give each of @children, argps of a verb about waits, its part of @options as input. */
void wait_options_hand_down(const struct argp_child *children, struct sampling_options *options,
			    struct argp_state *state);

/* Sample wakeups. */
void wait_options_of_wakers(struct sampling_options *options);

/* Sample the time of threads: a clock, and waits in all states. */
void wait_options_of_wall(struct sampling_options *options);

/* Sample waits together with who ended them. */
void wait_options_of_pairs(struct sampling_options *options);

/* Stacks are joined with those of wakers when the run, or its window, is over: what shows them
 * before ends the process in the same way. @name: the option that asks for that. */
void wait_options_check_joined(const struct sampling_options *options, const char *name,
			       struct argp_state *state);

/* Tell stacks apart by @label, the verb's own field, and by task, where --by says nothing. Another
 * field of --by ends the process in the same way. */
void wait_options_label(struct output_options *output, const char *label, struct argp_state *state);

/* Can a wait be as long as -m and -M say? If not, the process ends in the same way. */
void wait_options_check(const struct engine_blocks *blocks, struct argp_state *state);
