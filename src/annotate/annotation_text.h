/* SPDX-License-Identifier: Apache-2.0 */
/* An annotation as text for readers. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "view/annotation.h"
#include "view/measure.h"

struct annotation_text_options {
	const struct measure *measure; /* borrowed: of the recording */
	bool ascii; /* lines of jumps are drawn by ASCII, else by characters of Unicode */
};

/*
 * Write @annotation: what it is of, the hottest lines, then all instructions with the lines of
 * source between them. A line of source stands where the code goes over to it, with the samples of
 * the instructions that follow up to the next. Everything is escaped. Errors stay in the stream.
 */
void annotation_text_write(FILE *to, const struct annotation *annotation,
			   const struct annotation_text_options *options);
