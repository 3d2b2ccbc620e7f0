/* SPDX-License-Identifier: Apache-2.0 */
/* Judge the compact table of one file by libdw's CFI interpreter on the same file. */
#pragma once

#include "base/err.h"
#include "verify/report.h"

/*
 * Compare both answers at every row boundary either side has, at pcs inside each row, and in the
 * gaps between FDEs, and fill @ret. @fd: the file, which its user calls @path; @debug_fd: its
 * separate debug file, -1: none; both are closed. Opens nothing else. Runs libdw on bytes that may
 * be hostile: call it in a process of its own, without rights. Cost: O(rows of an FDE squared) in
 * libdw, which starts each FDE anew for every row.
 */
void verify_file(const char *path, int fd, int debug_fd, struct report *ret);

/* The report on a file that could not be opened, with the reason @err; -ENOEXEC: it was skipped. */
void verify_refuse(const struct fpl_err *err, struct report *ret);
