/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /tmp/perf-PID.map: a line "START SIZE name" in hexadecimal per function that a program made at
 * run time, written as they are made. The text is hostile. There is no time in it: where lines
 * overlap, the later one wins. Linux, tools/perf/Documentation/jit-interface.txt.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "symbolize/code_file.h"
#include "symbolize/code_table.h"

#define PERF_MAP_READ_MAX (64u << 20) /* bytes read of one file: a million functions */

/*
 * Read the perf map that is open as @fd (a regular file) into @table, from its start. What makes no
 * sense is counted in *ret and left out; a last line without its end is one that is being written
 * and is left alone. Errors: as read(2); -ENOMEM. Cost: O(bytes), at most @read_max of them.
 */
FPL_MUST_CHECK int perf_map_read(int fd, uint64_t read_max, struct code_table *table,
				 struct code_file_result *ret);
