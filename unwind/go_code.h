/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts read from the x86-64 code of a Go function that the run time's tables omit: the place of
 * the caller's rbp, and the point where the stack pointer changes to another stack. Instructions
 * are compared with the forms that Go's assembler writes (cmd/internal/obj/x86/obj6.go); other
 * forms prove nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/synth/op.h"

/* Stands for "nowhere" in offsets from the first byte of a function. */
#define GO_NOWHERE UINT64_MAX

/* The frame that a prologue makes. */
struct go_frame {
	uint64_t saved; /* from here on the caller's rbp is at CFA - 16 */
	uint64_t owned; /* from here on rbp is CFA - 16; GO_NOWHERE: never */
	bool popped;	/* rbp is restored by a pop (since Go 1.21): until the depth is 0 it holds
			   CFA - 16 */
};

/*
 * Find the frame of the function at @code [size], whose stack is first deeper than at its entry, by
 * @depth bytes, at offset @at. False: rbp is not saved there, as far as the code shows.
 */
bool go_code_frame(const uint8_t *code, uint64_t size, uint64_t at, int64_t depth,
		   struct go_frame *ret);

/* The point where a function leaves its stack. */
struct go_switch {
	uint64_t written; /* the first instruction that writes rsp; GO_NOWHERE: not found */
	uint64_t called;  /* a system call before it: clone, whose child is on another stack already
			   */
	/* From here on there is no caller: rbp is set to 0 right behind it (mcall, morestack: their
	 * callees do not return to them). GO_NOWHERE: never. */
	uint64_t ended;
};

void go_code_switch(const uint8_t *code, uint64_t size, struct go_switch *ret);

/* Does no instruction of the function at @code [size] write the register @reg? */
bool go_code_keeps(struct synth_decoder *decoder, const uint8_t *code, uint64_t size, unsigned reg);

/*
 * Does the function save the flags as soon as it has a frame? No call preserves them: the run time
 * made the interrupted code enter it at a place without a call (asyncPreempt).
 */
bool go_code_is_interruption(const uint8_t *code, uint64_t size);

/* The register popped by the instruction before offset @at, by its DWARF number; -1: it is no pop.
 */
int go_code_popped(const uint8_t *code, uint64_t size, uint64_t at);

/* Is the code exactly the restorer that the kernel makes a signal handler return to? */
bool go_code_is_sigreturn(const uint8_t *code, uint64_t size);
enum { GO_SIGRETURN_SIZE = 9 };

bool go_code_is_return(uint8_t byte);
bool go_code_is_padding(uint8_t byte); /* between functions */
