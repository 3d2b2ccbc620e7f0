/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apply an exact row to a made-up machine: the compact rule packed from it must have the same
 * result.
 */
#pragma once

#include "unwind/rows.h"
#include "verify/machine.h"

/*
 * Find the caller that @row gives on @machine (see unwind/rows.h). Callee-saved registers, rsp and
 * the return address are always claimed; the others only if the CFI mentions them.
 */
void row_eval(const struct cfi_row *row, const struct machine *machine, struct caller *ret);
