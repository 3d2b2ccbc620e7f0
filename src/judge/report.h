/* SPDX-License-Identifier: Apache-2.0 */
/* The judge's findings as text. */
#pragma once

#include <stdio.h>

#include "judge/code.h"
#include "judge/run.h"

/* Write @run; sorts its findings. @code has the names. @objects: also list files whose code is all
 * covered by CFI. */
void judge_report_write(FILE *out, struct judge_run *run, struct code *code, bool objects);
