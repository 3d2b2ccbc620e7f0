/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word of accesses to an address, as perf has it: mem:ADDR[/LEN][:ACCESS][:u|:k], with r, w,
 * rw or x as ACCESS (rw). The CPU's debug registers watch the LEN bytes there: 1, 2, 4 or 8 (4), of
 * which ADDR is a multiple; of x it is the size of a long. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes that the CPU watches. */
struct breakpoint_word {
	uint64_t addr, len;
	uint32_t access; /* HW_BREAKPOINT_* */
};

/* Does the word begin as such a one? */
bool breakpoint_word_is(const char *word);

/*
 * Parse @word; *ret_rest: what stands behind ACCESS, "" or a colon and modifiers. Writes both on
 * success only. -EINVAL, with a line that begins with the word.
 */
FPL_MUST_CHECK int breakpoint_word_parse(const char *word, struct breakpoint_word *ret,
					 const char **ret_rest, struct fpl_err *err);
