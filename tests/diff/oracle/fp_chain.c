/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/oracle/fp_chain.h"

#include <string.h>

#define RBP 6 /* by DWARF number */

/* A certain end of a chain: no address at either end is ever mapped. */
static bool is_end(uint64_t fp)
{
	return fp < 4096 || fp >= 1ull << 56;
}

static bool page_is_missing(const struct fpl_regs *regs, uint64_t addr)
{
	uint64_t page = addr / FPL_STACK_PAGE - regs->stack_addr / FPL_STACK_PAGE;

	return page < 32 && (regs->missing >> page & 1);
}

/* The saved frame pointer and the return address at @fp, if all of them was copied. */
static bool read_frame(const struct walk *walk, uint64_t fp, uint64_t words[2])
{
	const struct fpl_regs *regs = walk->regs;
	uint64_t off = fp - regs->stack_addr;
	const uint64_t size = 2 * sizeof(*words);

	if (fp < regs->stack_addr || regs->stack_size < size || off > regs->stack_size - size ||
	    page_is_missing(regs, fp) || page_is_missing(regs, fp + size - 1))
		return false;
	memcpy(words, walk->stack + off, size);
	return true;
}

void fp_chain_follow(const struct walk *walk, size_t max, struct fp_chain *ret)
{
	uint64_t fp = walk->regs->reg[RBP];
	uint64_t words[2];

	ret->nr = 0;
	ret->left_copy = false;
	if (max > 0)
		ret->pc[ret->nr++] = walk->regs->pc;
	while (ret->nr < max && !is_end(fp)) {
		if (!read_frame(walk, fp, words)) {
			ret->left_copy = true;
			return;
		}
		fp = words[0];
		ret->pc[ret->nr++] = words[1];
	}
}
