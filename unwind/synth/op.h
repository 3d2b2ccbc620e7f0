/* SPDX-License-Identifier: Apache-2.0 */
/* One machine instruction, reduced to its effect on the stack and on the general registers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Effect of an instruction besides op.clobbers. Registers by DWARF number. */
enum synth_op_kind {
	OP_OTHER,	  /* nothing but its clobbers */
	OP_PUSH,	  /* push src */
	OP_PUSH_OTHER,	  /* push what is in no register */
	OP_POP,		  /* pop dst */
	OP_POP_OTHER,	  /* pop to nowhere that matters */
	OP_ADD,		  /* dst += imm */
	OP_ALIGN,	  /* dst &= imm, which clears low bits only */
	OP_ADDRESS,	  /* dst = imm, an address of the file */
	OP_LEA,		  /* dst = src + imm */
	OP_MOVE,	  /* dst = src */
	OP_SWAP,	  /* dst <-> src */
	OP_LOAD,	  /* dst = 8 bytes at src + imm */
	OP_STORE,	  /* 8 bytes at dst + imm = src */
	OP_STORE_OTHER,	  /* nr_bytes at dst + imm = anything */
	OP_TABLE,	  /* dst = nr_bytes at src + imm + nr_bytes * some index: 4, sign-extended,
			     2, zero-extended, or 8 */
	OP_SUM,		  /* dst += src + imm */
	OP_LEAVE,	  /* rsp = rbp, pop rbp */
	OP_CALL,	  /* to imm */
	OP_CALL_ANY,	  /* to who knows */
	OP_CALL_REGISTER, /* to dst */
	OP_RETURN,	  /* nr_bytes more are taken from the stack */
	OP_JUMP,	  /* to imm */
	OP_BRANCH,	  /* to imm, or on */
	OP_JUMP_REGISTER, /* to dst */
	OP_JUMP_MEMORY,	  /* to the value at an unknown place; nr_bytes 8: at src + imm + 8 * some
			     index */
	OP_END,		  /* execution does not go on behind it: ud2, hlt, int3 */
	OP_BAD,		  /* no instruction, or none of a user program */
};

struct synth_op {
	int64_t imm;	   /* what its kind says */
	uint16_t clobbers; /* mask: registers with unknown values afterwards, without dst of the
			      kinds above */
	uint16_t nr_bytes;
	uint8_t kind; /* enum synth_op_kind */
	uint8_t dst, src;
	uint8_t size; /* of the instruction; 1 for OP_BAD */
};
_Static_assert(sizeof(struct synth_op) == 16, "one for each instruction of a hole");

/* The decoder's state, made once: opaque, so that only one file needs the library's headers. */
struct synth_decoder;

/* NULL: no memory. */
struct synth_decoder *synth_decoder_create(void);
void synth_decoder_destroy(struct synth_decoder *decoder);

/*
 * Decode the instruction at @code [size > 0], which lies at @vaddr. The decoder learns which forms
 * have no described effect. Cost: O(1).
 */
void synth_decode(struct synth_decoder *decoder, const uint8_t *code, size_t size, uint64_t vaddr,
		  struct synth_op *ret);

/*
 * As synth_decode() for calls, jumps and lea; anything else is OP_OTHER of the right size. Costs
 * less.
 */
void synth_decode_lead(const struct synth_decoder *decoder, const uint8_t *code, size_t size,
		       uint64_t vaddr, struct synth_op *ret);
