/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `fpless stack`. */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

/*
 * Write the stacks of @recording to stdout, by process, those of most threads first. The first one
 * is that of a thread which got @signal; 0: no thread did. *ret_shown: how many threads that are.
 * Returns an enum cli_exit; errors are reported.
 */
int stack_text_write(const struct recording *recording, int signal, uint64_t *ret_shown);
