/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a process one thread of which is stopped: the words around its stack pointer are read
 * at once, and what its instructions are is remembered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "judge/insn.h"

#define MEMORY_WINDOW	  1024u /* bytes */
#define MEMORY_BELOW	  128u	/* of them below the stack pointer: the red zone */
#define MEMORY_INSNS_LOG2 12u

struct memory {
	pid_t pid;
	uint64_t window_addr;
	size_t window_size; /* 0: what it holds is old */
	uint8_t window[MEMORY_WINDOW];
	struct memory_insn {
		uint64_t pc;  /* 0: free */
		uint8_t kind; /* enum insn_kind */
	} insns[1u << MEMORY_INSNS_LOG2];
};

/* The thread has executed something: forget words. Its stack pointer is @sp. */
void memory_step(struct memory *memory, uint64_t sp);
/* Other code may be where some was: forget instructions, too. */
void memory_forget(struct memory *memory);

/* Copy @size bytes at @addr to @dst; false: not all can be read. A machine_memory's, and with a
 * word a shadow_read_fn's; @ctx is a struct memory. */
bool memory_read(void *ctx, uint64_t addr, size_t size, void *dst);
bool memory_read_word(void *ctx, uint64_t addr, uint64_t *ret);

/* As many of @size bytes at @addr as can be read; how many that is. */
size_t memory_read_some(const struct memory *memory, uint64_t addr, size_t size, void *dst);

/* What the instruction at @pc is; OTHER where it cannot be read. @keep: the code there does not
 * change. */
enum insn_kind memory_insn(struct memory *memory, uint64_t pc, bool keep);
