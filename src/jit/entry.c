/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/entry.h"

#include "bpf/entry_x86_64.h"

uint32_t jit_entry_read(struct jit_memory *memory, uint64_t addr, struct fpl_rule *ret)
{
	uint8_t bytes[ENTRY_BYTES + 8];
	struct entry entry = { .bytes = bytes, .nr = ENTRY_BYTES, .rule = ret };

	if (!jit_read(memory, addr, bytes, sizeof(bytes)))
		return 0;
	entry_begin(ret);
	for (uint32_t i = 0; i < ENTRY_INSNS && !entry_step(i, &entry); i++)
		;
	return entry.is_whole && entry.at < ENTRY_BYTES && fpl_region_rule_holds(ret) ? entry.at
										      : 0;
}

void jit_entry_lowered(uint32_t bytes, struct fpl_rule *ret)
{
	entry_begin(ret);
	ret->cfa_off += (int32_t)bytes;
}
