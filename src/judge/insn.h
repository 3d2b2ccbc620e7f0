/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one machine instruction is, as far as a shadow call stack has to know it: by its opcode, and
 * by nothing that rows are made with, so that one mistake is not made twice.
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
	INSN_MOVES_STACK, /* takes from rsp, adds to it, or clears low bits: a frame that grows */
	INSN_SYSCALL,
};

#define INSN_SIZE_MAX 15u

/* @code [@size]: the bytes at the program counter, as many as could be read. */
enum insn_kind insn_kind(const uint8_t *code, size_t size);

/* Of how many bytes before its opcode it has. */
size_t insn_prefixes(const uint8_t *code, size_t size);
