/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a process with one stopped thread: the words around its stack pointer are read at once,
 * and decoded instructions are remembered.
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

/* Forget the words: the thread has executed instructions. Its stack pointer is @sp. */
void memory_step(struct memory *memory, uint64_t sp);
/* Forget the instructions, too: the code may have changed. */
void memory_forget(struct memory *memory);

/* Copy @size bytes at @addr to @dst; false: not all are readable. Serves as machine_memory and, for
 * a word, as shadow_read_fn; @ctx is a struct memory. */
bool memory_read(void *ctx, uint64_t addr, size_t size, void *dst);
bool memory_read_word(void *ctx, uint64_t addr, uint64_t *ret);

/* Copy the readable part of @size bytes at @addr; returns its size. */
size_t memory_read_some(const struct memory *memory, uint64_t addr, size_t size, void *dst);

/* Kind of the instruction at @pc; OTHER if unreadable. @keep: the code there does not change. */
enum insn_kind memory_insn(struct memory *memory, uint64_t pc, bool keep);
