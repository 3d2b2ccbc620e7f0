/* SPDX-License-Identifier: Apache-2.0 */
/* The options of bcc's offcputime and offwaketime, which are the same. */
#pragma once

#include "cli/bcc_run.h"

extern const struct argp_option bcc_offcpu_options[];

/* Their parser, of an argp whose input is a struct bcc_run. */
error_t bcc_offcpu_parse(int key, char *arg, struct argp_state *state);

/* Sample all waits, told apart as both tools do. */
void bcc_offcpu_init(struct bcc_run *run, enum bcc_tool tool);
