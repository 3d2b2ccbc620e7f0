/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/trampoline.h"

#include <errno.h>
#include <stdbool.h>

#include "bpf/entry_x86_64.h"

/* jmp reg, with any prefix */
static bool is_jump(const uint8_t *code)
{
	if ((code[0] & 0xf0) == 0x40)
		code++;
	return code[0] == 0xff && (code[1] & 0xf8) == 0xe0;
}

/* Is a trampoline at @addr? *rule: that of the code which it jumps to. */
static bool read_trampoline(struct jit_memory *memory, uint64_t addr, struct fpl_rule *rule)
{
	uint8_t bytes[ENTRY_BYTES + 8];
	struct entry entry = { .bytes = bytes, .nr = ENTRY_BYTES, .rule = rule };

	if (!jit_read(memory, addr, bytes, sizeof(bytes)))
		return false;
	entry_begin(rule);
	for (uint32_t i = 0; i < ENTRY_INSNS && !entry_step(i, &entry); i++)
		;
	return entry.is_whole && entry.at < ENTRY_BYTES && is_jump(bytes + entry.at);
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
