/* SPDX-License-Identifier: Apache-2.0 */
/* The part that the tools of bcc share. */
#pragma once

#include <argp.h>
#include <stdint.h>

struct names;

/* @arg, of the option @name, as a number from @min to INT_MAX. Another one ends the process with
 * CLI_EXIT_USAGE. */
uint64_t bcc_number(const char *name, const char *arg, uint64_t min, struct argp_state *state);

/*
 * The stacks are written: flush stdout, and add up in @ret_lost how many samples were lost. Returns
 * CLI_EXIT_OK, or CLI_EXIT_OUTPUT after a line to stderr.
 */
int bcc_end(const struct names *names, uint64_t *ret_lost);
