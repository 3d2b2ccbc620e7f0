/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of machine instruction that a shadow call stack distinguishes. Only the opcode decides,
 * nothing that rows are made with, so that one mistake is not made twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum insn_kind {
	INSN_OTHER,
	INSN_CALL,	  /* may be: whether it was is seen at the stack */
	INSN_RETURN,	  /* near, with or without arguments taken off */
	INSN_PUSH_FLAGS,  /* writes the trap flag of a stepped thread to the stack */
	INSN_POP_FLAGS,	  /* changes the trap flag behind the kernel's back */
	INSN_MOVES_STACK, /* subtracts from rsp, adds to it, or clears low bits: a frame that grows
			   */
	INSN_SYSCALL,
};

#define INSN_SIZE_MAX 15u

/* @code [@size]: the readable bytes at the program counter. */
enum insn_kind insn_kind(const uint8_t *code, size_t size);

/* Number of prefix bytes before the opcode. */
size_t insn_prefixes(const uint8_t *code, size_t size);
