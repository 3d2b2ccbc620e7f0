/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of verbs. A verb consists of a line here, `const struct argp NAME_argp` and `cmd_NAME`
 * in cmd_NAME.c, and docs/man/fpless-NAME.1.scd: help, manual and completions follow.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define CLI_VERB_LIST(X)                                                                   \
	X(profile, "sample on-CPU stacks")                                                 \
	X(offcpu, "show where threads wait, and for how long")                             \
	X(wall, "show where the time of threads goes, on a CPU and off")                   \
	X(wakeup, "show who ends the waits of threads, and how long those were")           \
	X(locks, "show which locks make threads wait, who waits there, and who held them") \
	X(stack, "print the stack of each thread, without stopping it")                    \
	X(record, "sample into a recording, for report, script and diff")                  \
	X(top, "show the hottest functions while they run")                                \
	X(heap, "show which stacks allocate memory, and which of it is not freed")         \
	X(compare, "sample, and judge frame-pointer stacks by CFI stacks")                 \
	X(report, "read recordings, add them up, filter them, write them in any format")   \
	X(annotate, "show where in a function its samples are, by line and instruction")   \
	X(script, "print a recording as perf script does")                                 \
	X(diff, "compare recordings: the changes, and whether they exceed noise")          \
	X(agent, "sample the whole machine all the time, into a store of windows")         \
	X(query, "ask the store of windows what was hot, when, and what has changed")      \
	X(serve, "serve the store of windows to browsers and programs of this machine")    \
	X(push, "send the store of windows to Pyroscope, a collector or Parca")            \
	X(tables, "show the unwind rows of an ELF file")                                   \
	X(verify, "compare the unwind tables of ELF files with libdw")                     \
	X(events, "the events that can be sampled")                                        \
	X(doctor, "check whether fpless can run here, or examine a file or process")

/* clang-format off */
#define X(name, text) extern const struct argp name##_argp;
CLI_VERB_LIST(X)
X(bcc_profile, "")
X(bcc_offcputime, "")
X(bcc_offwaketime, "")
X(bcc_wakeuptime, "")
X(bcc_stackcount, "")
#undef X
/* clang-format on */

/*
 * A heading of group 0, which comes before those of all tables that a verb shares with others: two
 * headings of one group would stand one below the other, the first of them with nothing to it.
 * argp takes 0 for the group after that of the option before; 0xffff is no letter and has no name.
 */
#define FIRST_HEADING(text)                                     \
	{ .key = 0xffff, .flags = OPTION_HIDDEN, .group = -1 }, \
	{                                                       \
		.doc = (text)                                   \
	}

/* "fpless NAME". */
struct cli_verb {
	const char *name;
	const char *text; /* what it does, in a line */
	int (*run)(int argc, char **argv);
	const struct argp *argp;
	bool program; /* "fpless-NAME" is the same */
};

extern const struct cli_verb cli_verbs[]; /* [cli_verbs_nr] */
extern const size_t cli_verbs_nr;

/* NULL: no verb has this name. */
const struct cli_verb *cli_verb_find(const char *name);
