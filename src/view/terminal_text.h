/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports as a terminal shows them: lines cut to its width, headings and large shares marked. What
 * goes elsewhere is the report itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TERMINAL_TEXT_NARROW 44u /* columns: below, a row has one share and its name */

struct terminal_text {
	size_t columns; /* 0: lines are not cut */
	bool colour;
};

/*
 * Write @text, whose names are escaped, to @to. A line that does not begin with a space is a
 * heading; one that begins with a share ("  35.9%") is of that weight.
 */
void terminal_text_write(FILE *to, const struct terminal_text *terminal, const char *text);
