/* SPDX-License-Identifier: Apache-2.0 */
/* fpless events FILE: the USDT probes of a file. */
#pragma once

#include <stdbool.h>

/*
 * Write the probes of the file at @path to stdout, sorted, each once: with @fields their arguments,
 * too; with @json as an array. Returns an enum cli_exit; a failure is logged.
 */
int file_probes_list(const char *path, bool fields, bool json);
