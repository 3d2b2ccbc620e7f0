/* SPDX-License-Identifier: Apache-2.0 */
/* An exact row, applied to a made-up machine: what the compact rule made of it must come to. */
#pragma once

#include "unwind/rows.h"
#include "verify/machine.h"

/*
 * Find the caller that @row gives on @machine (see unwind/rows.h). Callee-saved registers, rsp and
 * the return address are always claimed; the others only where the CFI says something of them.
 */
void row_eval(const struct cfi_row *row, const struct machine *machine, struct caller *ret);
