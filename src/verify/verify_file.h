/* SPDX-License-Identifier: Apache-2.0 */
/* Judge the compact table of one file by libdw's CFI interpreter on the same file. */
#pragma once

#include "verify/report.h"

/*
 * Compare both answers at every row boundary either side has, at pcs inside each row, and in the
 * gaps between FDEs, and fill @ret. Runs libdw on bytes that may be hostile: call it in a process
 * of its own. Cost: O(rows of an FDE squared) in libdw, which starts each FDE anew for every row.
 */
void verify_file(const char *path, struct report *ret);
