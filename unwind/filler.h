/* SPDX-License-Identifier: Apache-2.0 */
/* Filler that linkers and assemblers put between functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum filler_kind {
	FILLER_INSTRUCTIONS, /* nops of all lengths (Intel SDM, volume 2, NOP; gas), and int3 */
	FILLER_ZEROES,	     /* and zeroes */
};

/*
 * Number of the @size bytes at @code that are filler, from the first on, without an instruction cut
 * off by the end. Cost: linear in the result.
 */
size_t filler_size(const uint8_t *code, size_t size, enum filler_kind kind);
