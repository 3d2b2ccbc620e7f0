/* SPDX-License-Identifier: Apache-2.0 */
/* An exact row, applied to a made-up machine: what the compact rule made of it must come to. */
#pragma once

#include "unwind/rows.h"
#include "verify/machine.h"

/* Find the caller that @row gives on @machine, every register of it (see unwind/rows.h). */
void row_eval(const struct cfi_row *row, const struct machine *machine, struct caller *ret);
