/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit-PID.dump: binary records of a program about the code it makes at run time, each with its
 * time. They are hostile. Linux, tools/perf/Documentation/jitdump-specification.txt, version 1
 * of the header.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "symbolize/code_file.h"
#include "symbolize/code_table.h"

/* Bytes read of one file: it holds the code itself, of which most is passed over unread. */
#define JITDUMP_READ_MAX (256u << 20)

/*
 * Read the jitdump that is open as @fd (a regular file) into @table: functions from the time on at
 * which they were loaded or moved. @pid: of the program, as itself sees it; 0: whatever the header
 * says. Records of another process are left out; a last record that is not whole is being written
 * and is left alone. Times that are no CLOCK_MONOTONIC (header flag 1) count for the order only.
 *
 * Errors: -EINVAL no jitdump of this machine and process, @err says why; as read(2); -ENOMEM.
 * Cost: O(records), at most @read_max bytes are read.
 */
FPL_MUST_CHECK int jitdump_read(int fd, uint64_t read_max, uint32_t pid, struct code_table *table,
				struct code_file_result *ret, struct fpl_err *err);
