/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/memory.h"

#include <string.h>
#include <sys/uio.h>

#define PAGE_SIZE 4096u

void memory_step(struct memory *memory, uint64_t sp)
{
	memory->window_addr = sp - MEMORY_BELOW;
	memory->window_size = 0;
}

void memory_forget(struct memory *memory)
{
	memset(memory->insns, 0, sizeof(memory->insns));
	memory->window_size = 0;
}

static size_t read_once(const struct memory *memory, uint64_t addr, size_t size, void *dst)
{
	struct iovec here = { dst, size };
	struct iovec there = { (void *)addr, size }; /* NOLINT: an address of another process */
	ssize_t n = process_vm_readv(memory->pid, &here, 1, &there, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

size_t memory_read_some(const struct memory *memory, uint64_t addr, size_t size, void *dst)
{
	size_t in_page = PAGE_SIZE - (addr & (PAGE_SIZE - 1));
	size_t nr = read_once(memory, addr, size, dst);

	/* the kernel may refuse all of a range that ends in an unmapped page */
	return nr || size <= in_page ? nr : read_once(memory, addr, in_page, dst);
}

static bool is_in_window(const struct memory *memory, uint64_t addr, size_t size)
{
	uint64_t off = addr - memory->window_addr;

	return off <= memory->window_size && memory->window_size - off >= size;
}

bool memory_read(void *ctx, uint64_t addr, size_t size, void *dst)
{
	struct memory *memory = ctx;

	if (!memory->window_size && addr - memory->window_addr < MEMORY_WINDOW)
		memory->window_size = memory_read_some(memory, memory->window_addr, MEMORY_WINDOW,
						       memory->window);
	if (!is_in_window(memory, addr, size))
		return read_once(memory, addr, size, dst) == size;
	memcpy(dst, memory->window + (addr - memory->window_addr), size);
	return true;
}

bool memory_read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	return memory_read(ctx, addr, sizeof(*ret), ret);
}

enum insn_kind memory_insn(struct memory *memory, uint64_t pc, bool keep)
{
	uint64_t at = pc * 0x9e3779b97f4a7c15ull >> (64 - MEMORY_INSNS_LOG2);
	struct memory_insn *insn = &memory->insns[at];
	uint8_t code[INSN_SIZE_MAX];

	if (keep && insn->pc == pc)
		return (enum insn_kind)insn->kind;

	enum insn_kind kind = insn_kind(code, memory_read_some(memory, pc, sizeof(code), code));

	if (keep)
		*insn = (struct memory_insn){ .pc = pc, .kind = (uint8_t)kind };
	return kind;
}
