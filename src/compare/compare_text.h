/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for readers. */
#pragma once

#include <stdio.h>

#include "compare/comparison.h"

void compare_text_write(FILE *to, const struct comparison *comparison);

/* The line of the closing report. */
void compare_text_report(FILE *to, const struct comparison *comparison);
