/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/jit_list.h"

#include <errno.h>

#include "jit/symbols.h"

/* In the descriptor: version, action, relevant and first entry. */
#define DESCRIPTOR_FIRST 16u

struct entry {
	uint64_t next, previous, addr, size;
};

int jit_list_open(struct jit_memory *memory, uint64_t base, struct jit_list *ret)
{
	struct jit_symbols symbols;
	uint64_t descriptor;
	int code = jit_symbols_open(memory, base, &symbols);

	*ret = (struct jit_list){ .memory = memory, .left = JIT_LIST_MAX };
	if (code)
		return code;
	if (!jit_symbol_find(&symbols, "__jit_debug_descriptor", &descriptor))
		return -ENOENT;
	return jit_read_uint(memory, descriptor + DESCRIPTOR_FIRST, 8, &ret->next) ? 0 : -EFAULT;
}

bool jit_list_next(struct jit_list *list, uint64_t *ret_addr, uint64_t *ret_size)
{
	struct entry entry;

	if (!list->next || !list->left ||
	    !jit_read(list->memory, list->next, &entry, sizeof(entry)))
		return false;
	list->next = entry.next;
	list->left--;
	*ret_addr = entry.addr;
	*ret_size = entry.size;
	return true;
}
