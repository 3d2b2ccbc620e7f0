/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/trampoline.h"

#include <errno.h>
#include <stdbool.h>

#include "jit/entry.h"

/* Is a trampoline at @addr? *rule: that of the code which it jumps to. */
static bool read_trampoline(struct jit_memory *memory, uint64_t addr, struct fpl_rule *rule)
{
	uint32_t size = jit_entry_read(memory, addr, rule);
	uint8_t code[3], *at = code;

	if (!size || !jit_read(memory, addr + size, code, sizeof(code)))
		return false;
	/* jmp reg, with any prefix */
	if ((*at & 0xf0) == 0x40)
		at++;
	return at[0] == 0xff && (at[1] & 0xf8) == 0xe0;
}

int trampoline_find(struct jit_memory *memory, const uint64_t *bounds, size_t nr,
		    struct fpl_region *ret)
{
	size_t i = 0;

	*ret = (struct fpl_region){ .kind = FPL_REGION_FRAME };
	while (i < nr && !read_trampoline(memory, bounds[2 * i], &ret->rule))
		i++;
	if (i >= nr)
		return -ENOENT;
	ret->start = bounds[2 * i];
	ret->end = bounds[2 * i + 1];
	while (++i < nr && bounds[2 * i] - ret->end <= JIT_PAGE_SIZE)
		ret->end = bounds[2 * i + 1];
	return fpl_region_holds(ret) ? 0 : -ENOENT;
}
