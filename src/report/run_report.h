/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closing report about a run: a summary, and a line for each thing that is wrong. With details
 * the quality of the profile, its cost, and the books. For stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "report/hints.h"
#include "report/summary.h"

void run_report_write(FILE *to, const struct summary *summary, const struct hints *hints,
		      bool details);
