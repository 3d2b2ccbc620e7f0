/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `fpless stack`. */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

/*
 * Write the stacks of @recording to stdout, by process, those of most threads first; equal stacks
 * of threads of one name and one state once. The key of a stack, if it has one, is the kernel's
 * state of the threads, and its weight how long they have been off their CPUs, in ns; 0: not known.
 * The first stack is that of a thread which got @signal; 0: no thread did. *ret_shown: the number
 * of threads.
 * Returns an enum cli_exit; errors are reported.
 */
int stack_text_write(const struct recording *recording, int signal, uint64_t *ret_shown);
