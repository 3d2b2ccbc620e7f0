/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places where a process describes the code it makes at run time: /tmp/perf-PID.map in its own
 * root, PID being its number in its own namespace, and a mapped jit-PID.dump. They are untrusted
 * files: opened never through a symbolic link in the last component, never if a FIFO or a device,
 * and only if the process's user or root owns them under that one name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "obj/opener.h"

#define CODE_PLACE_UIDS 4u

struct code_place {
	pid_t pid;		     /* here */
	pid_t own_pid;		     /* in the innermost PID namespace of the process */
	uid_t uids[CODE_PLACE_UIDS]; /* real, effective, saved, of files */
	int tmp_fd;		     /* owned: the process's /tmp, O_PATH; -1: it has no /tmp */
	struct opener *opener;	     /* borrowed; may be NULL */
};

/*
 * Find the place of process @pid, while it lives. @start_ns: its start by CLOCK_BOOTTIME, so that
 * another process that has the number by now is not taken for it; 0: do not compare. @opener, which
 * may be NULL, opens what is in it.
 * Errors: -ESRCH it is gone; else as open(2).
 */
FPL_MUST_CHECK int code_place_open(struct opener *opener, pid_t pid, uint64_t start_ns,
				   struct code_place *ret, struct fpl_err *err);
void code_place_close(struct code_place *place);

/* The name of the perf map in /tmp, for messages: "/tmp/perf-PID.map". */
void code_place_map_name(const struct code_place *place, char *to, size_t size);

/*
 * Open the perf map, as opener_take() does; the process may have gone. Errors: -ENOENT no perf map
 * (no message); an unsafe one is refused: -ELOOP a symbolic link, -ENOEXEC not a regular file,
 * -EPERM another owner or more than one name; else as open(2).
 */
FPL_MUST_CHECK int code_place_open_map(const struct code_place *place, int *ret,
				       struct fpl_err *err);

/*
 * Open the jitdump that the process has mapped (executable, so that tools hear of it), if any. The
 * process must live. Errors as code_place_open_map. Cost: reads the process's mappings.
 */
FPL_MUST_CHECK int code_place_open_dump(const struct code_place *place, int *ret,
					struct fpl_err *err);

/* Is @path, from a list of mappings, the path of a jitdump: .../jit-NUMBER.dump? */
bool code_place_is_dump(const char *path);
