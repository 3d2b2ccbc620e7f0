/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine to apply rules to. A made-up one has registers and memory whose contents follow from a
 * seed, the same for every reader: two ways to find a caller that agree on it agree by their rules
 * and not by luck. Another one reads memory through a callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared.h"

#define MACHINE_RA FPL_NR_REGS /* the return address, after the registers */

/* Memory that is somewhere. */
struct machine_memory {
	/* Copy @size bytes at @addr to @dst; false: they cannot be read. */
	bool (*read)(void *ctx, uint64_t addr, size_t size, void *dst);
	void *ctx;
	bool faulted; /* a read has failed; it gave 0 */
};

struct machine {
	uint64_t reg[FPL_NR_REGS]; /* by DWARF number */
	uint64_t pc;
	uint64_t seed;
	struct machine_memory *memory; /* borrowed; NULL: it is made up */
};

/* A made-up machine with registers from @seed; the program counter is @pc. */
void machine_init(struct machine *machine, uint64_t seed, uint64_t pc);

/* The @size (1 to 8) bytes at @addr, zero-extended: every byte of made-up memory has one value. */
uint64_t machine_read(const struct machine *machine, uint64_t addr, size_t size);

/* State of one register of the caller. */
enum caller_value_kind {
	CALLER_UNCLAIMED, /* nothing is said about it */
	CALLER_UNDEF,	  /* it cannot be recovered */
	CALLER_VALUE,	  /* it is `value` */
	CALLER_EXPR,	  /* given up: an expression that was not evaluated */
};

struct caller_value {
	enum caller_value_kind kind;
	uint64_t value;
};

/* How a frame was answered. */
enum caller_status {
	CALLER_NONE,	 /* no rule here */
	CALLER_FOUND,	 /* cfa and reg hold */
	CALLER_GIVEN_UP, /* there is a rule, but its CFA is an expression that was not evaluated */
	CALLER_REFUSED,	 /* there is a rule, and it is invalid */
};

/* The caller of a frame, by the answer of one side. */
struct caller {
	enum caller_status status;
	bool signal;
	uint64_t cfa;
	struct caller_value reg[FPL_NR_REGS + 1]; /* [MACHINE_RA]: UNDEF is the outermost frame */
};
