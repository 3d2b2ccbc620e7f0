/* SPDX-License-Identifier: Apache-2.0 */
/* verify --live: its options, and the run. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct live_cli {
	bool live;
	pid_t pid;	/* 0: none was given */
	char **command; /* borrowed from argv; NULL: none was given */
	uint64_t steps, burst, duration_ms;
	const char *object; /* borrowed from argv; NULL: any */
	bool synth_only;
	bool given; /* an option of these, besides --live */
	bool verbose;
};

/* Argp of these options; its input is a struct live_cli, zero at first. An invalid option ends the
 * process with CLI_EXIT_USAGE and one line. */
extern const struct argp live_argp;

/* A word that is no option: of --live, a process or the beginning of a command. */
void live_cli_word(struct live_cli *cli, char *arg, struct argp_state *state);

/* Checks that need the whole command line. */
void live_cli_check(const struct live_cli *cli, struct argp_state *state);

/* Judge, and print what was found. Returns an enum cli_exit. */
int live_cli_run(const struct live_cli *cli);
