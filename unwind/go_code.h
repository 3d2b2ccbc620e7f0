/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a Go function says on x86-64, where the tables of the run time do not: where the
 * caller's rbp is, and from where on the stack pointer is that of another stack. Instructions are
 * compared with the forms that Go's assembler writes (cmd/internal/obj/x86/obj6.go); nothing is
 * concluded from others.
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
 * The frame of the function at @code [size], whose stack is first deeper than at its entry, by
 * @depth bytes, at offset @at. False: rbp is not saved there, as far as can be told.
 */
bool go_code_frame(const uint8_t *code, uint64_t size, uint64_t at, int64_t depth,
		   struct go_frame *ret);

/* Where a function leaves its stack. */
struct go_switch {
	uint64_t written; /* the first instruction that writes rsp; GO_NOWHERE: none was found */
	uint64_t called; /* a system call before it: clone, whose child has another stack already */
	/* From here on there is no caller: rbp was set to 0 right behind it (mcall, morestack: what
	 * they call next does not return to them). GO_NOWHERE: not so. */
	uint64_t ended;
};

void go_code_switch(const uint8_t *code, uint64_t size, struct go_switch *ret);

/* Does no instruction of the function at @code [size] write the register @reg? */
bool go_code_keeps(struct synth_decoder *decoder, const uint8_t *code, uint64_t size, unsigned reg);

/*
 * Does the function save the flags as soon as it has a frame? No call preserves them: it was called
 * at a place that made no call, by who stopped the code there (asyncPreempt).
 */
bool go_code_is_interruption(const uint8_t *code, uint64_t size);

/* The register that the instruction before offset @at has popped, by its DWARF number; -1: it is no
 * pop. */
int go_code_popped(const uint8_t *code, uint64_t size, uint64_t at);

/* Is it the whole of what the kernel has a signal handler return to? */
bool go_code_is_sigreturn(const uint8_t *code, uint64_t size);
enum { GO_SIGRETURN_SIZE = 9 };

bool go_code_is_return(uint8_t byte);
bool go_code_is_padding(uint8_t byte); /* between functions */
