/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge found, as text. */
#pragma once

#include <stdio.h>

#include "judge/code.h"
#include "judge/run.h"

/* Write @run, whose findings are sorted on the way; @code has its names. @objects: also list files
 * all code of which has CFI. */
void judge_report_write(FILE *out, struct judge_run *run, struct code *code, bool objects);
