/* SPDX-License-Identifier: Apache-2.0 */
/* Selection of samples: processes, threads, CPUs, user, cgroup, name. Options of every verb that
 * samples. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/vector.h"
#include "proc/cpu_list.h"
#include "profile/engine.h"

struct target_options {
	bool all;
	VECTOR(const char *) names; /* each borrowed from argv */
	pid_t *pids;		    /* owned [nr_pids], once checked with those of names */
	size_t nr_pids;
	pid_t *tids; /* owned [nr_tids] */
	size_t nr_tids;
	struct cpu_list cpus; /* owned; nr 0: all */
	bool has_uid;
	uid_t uid;
	const char *cgroup; /* borrowed from argv; NULL: all */
	const char *comm;   /* borrowed from argv: a regular expression that holds up; NULL: all */
};

void target_options_fini(struct target_options *options);

/* Argp of these options; its input is a struct target_options, zero at first. An invalid option
 * ends the process with CLI_EXIT_USAGE and one line. */
extern const struct argp target_argp;

/* Checks that need the whole command line, and a look for the processes of -n: without one of them
 * the process ends with CLI_EXIT_NO_SAMPLES. */
void target_options_check(struct target_options *options, struct argp_state *state);

/*
 * Set the fields of @ret that the options determine. @has_command: it is the target unless others
 * are chosen, which are then sampled for as long as it runs. Borrows from @options.
 */
void target_options_to_engine(const struct target_options *options, bool has_command,
			      struct engine_options *ret);
