/* SPDX-License-Identifier: Apache-2.0 */
/* What linkers and assemblers put between functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum filler_kind {
	FILLER_INSTRUCTIONS, /* nops of all lengths (Intel SDM, volume 2, NOP; gas), and int3 */
	FILLER_ZEROES,	     /* and zeroes */
};

/*
 * How many of the @size bytes at @code are filler, from the first on; an instruction that is cut
 * off by the end is none. Cost: linear in what it returns.
 */
size_t filler_size(const uint8_t *code, size_t size, enum filler_kind kind);
