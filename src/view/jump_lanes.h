/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jumps drawn beside rows: each target has a lane, a line from the first to the last of the rows
 * that jump there and itself. Lanes that do not overlap share a column.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JUMP_LANES_MAX 8u /* columns; a jump for which none is free is not drawn */
#define JUMP_NONE      UINT32_MAX
#define JUMP_TARGET    (1u << 31)

/* A part of a lane in a row. */
enum jump_part {
	JUMP_BLANK,
	JUMP_PASSES, /* up and down */
	JUMP_BEGINS, /* the highest row of the lane: down, and to the instruction */
	JUMP_ENDS,   /* the lowest */
	JUMP_MEETS,  /* between them */
};

struct jump_lanes {
	/* Owned [nr]: part of column k of each row, 3 bits from bit 3 * k on, and JUMP_TARGET;
	 * column 0 is the one beside the instruction. */
	uint32_t *rows;
	size_t nr;
	unsigned nr_columns; /* in use */
};

static inline enum jump_part jump_part(const struct jump_lanes *lanes, size_t row, unsigned column)
{
	return (enum jump_part)(lanes->rows[row] >> 3 * column & 7);
}

/* Does a line that is drawn lead to @row? */
static inline bool jump_is_target(const struct jump_lanes *lanes, size_t row)
{
	return lanes->rows[row] & JUMP_TARGET;
}

/*
 * @to [@nr]: the row that each row jumps to, JUMP_NONE: it does not. Short lanes come first. A lack
 * of memory ends the process. Cost: O(rows that lanes pass), at most JUMP_STEPS_MAX; jumps beyond
 * that are not drawn.
 */
#define JUMP_STEPS_MAX (64u << 20)
void jump_lanes_make(const uint32_t *to, size_t nr, struct jump_lanes *ret);
void jump_lanes_fini(struct jump_lanes *lanes);
