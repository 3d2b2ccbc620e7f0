/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/machine.h"

/* One round of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every input bit reaches every
 * output bit. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

void machine_init(struct machine *machine, uint64_t seed, uint64_t pc)
{
	machine->seed = mix(seed);
	machine->pc = pc;
	machine->memory = NULL;
	for (size_t i = 0; i < FPL_NR_REGS; i++)
		machine->reg[i] = mix(machine->seed + i + 1);
}

static uint64_t read_memory(struct machine_memory *memory, uint64_t addr, size_t size)
{
	uint64_t value = 0;

	if (memory->read(memory->ctx, addr, size, &value))
		return value;
	memory->faulted = true;
	return 0;
}

uint64_t machine_read(const struct machine *machine, uint64_t addr, size_t size)
{
	if (machine->memory)
		return read_memory(machine->memory, addr, size);

	uint64_t word_addr = addr & ~7ull;
	unsigned int shift = (unsigned int)(addr & 7) * 8;
	uint64_t value = mix(word_addr ^ machine->seed) >> shift;

	if (shift != 0)
		value |= mix((word_addr + 8) ^ machine->seed) << (64 - shift);
	return size < 8 ? value & ((1ull << (size * 8)) - 1) : value;
}
