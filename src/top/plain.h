/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live view as text, a block for each look, for files, pipes and programs. The form is a promise:
 *
 *   top 2 time=2026-11-22T16:20:01.123Z seconds=1.000 samples=198 fired=400 idle=0 filtered=202
 *   lost=0 view=functions        (one line)
 *     SELF%<tab>TOTAL%<tab>    SELF<tab>   TOTAL<tab>OBJECT<tab>FUNCTION
 *     35.86<tab> 35.86<tab>      71<tab>      71<tab>libc.so.6<tab>memcpy
 *   (an empty line)
 *
 * Numbers have spaces before them. OBJECT and FUNCTION are TASK and STACK (as a folded line has it)
 * of stacks, PID and COMMAND of processes; by state a column STATE follows. Where samples weigh
 * something (view/measure.h), SELF and TOTAL are weights, and the first line ends in weight=SUM
 * type=TYPE unit=UNIT, and by state in the part of the sum of each: on-cpu=N and so on. Names are
 * escaped: a tab is never part of one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/engine.h"
#include "top/model.h"
#include "top/table.h"
#include "view/measure.h"

struct plain_block {
	uint32_t number;
	const struct engine_look *look, *before; /* what came between them is shown */
	uint64_t length_ns;
	const char *event;	       /* NULL: a clock, which is not said */
	const struct measure *measure; /* of the table's numbers */
	size_t max_rows;
};

void plain_write(FILE *to, const struct plain_block *block, const struct model *model,
		 const struct table_query *query, const struct table *table);
