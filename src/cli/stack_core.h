/* SPDX-License-Identifier: Apache-2.0 */
/* `fpless stack CORE`. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Print the stacks of the threads in the core file @path: of @tids [@nr_tids], or of all where
 * @nr_tids is 0. Returns an enum cli_exit; errors are reported.
 */
int stack_core(const char *path, const pid_t *tids, size_t nr_tids);
