/* SPDX-License-Identifier: Apache-2.0 */
/* Code without CFI to be analysed, and reasons why an instruction gets no row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

struct synth_state;

/* Code without FDE: [start, start + size) of vaddrs. */
struct synth_hole {
	uint64_t start, size;
	const uint8_t *bytes; /* borrowed [size] */
};

/* Evidence that a function begins at an address; later kinds outweigh earlier ones. */
enum synth_evidence {
	EVIDENCE_GUESS,	  /* nothing else begins in its hole */
	EVIDENCE_DATA,	  /* a relocation puts its address into data: perhaps a table of labels */
	EVIDENCE_ADDRESS, /* code that has CFI takes its address */
	EVIDENCE_JUMP,	  /* a jump leads there from a row CFA = rsp + 8 of the CFI */
	EVIDENCE_CALL,	  /* it is called */
	EVIDENCE_SYMBOL,  /* a function symbol names it */
};

struct synth_entry {
	uint64_t vaddr;
	uint8_t evidence; /* enum synth_evidence */
};

/* Why an instruction has no row. X(name, key, text) */
#define SYNTH_REASON_LIST(X)                                                                   \
	X(NONE, row, "it has one")                                                             \
	X(NO_ENTRY, no_entry, "no known code leads there")                                     \
	X(NO_CFA, no_cfa, "paths disagree on the stack, or the code hides where the frame is") \
	X(BAD_END, bad_end,                                                                    \
	  "a path from there ends in nonsense: no instruction, a return that "                 \
	  "does not return, a jump to where it cannot lead")                                   \
	X(GUESS, guess, "it was a guess, and nothing in it returns as a function does")        \
	X(OVERLAP, overlap, "instructions overlap")                                            \
	X(FILLER, filler, "nops, int3 or zeroes, to which nothing leads")

#define X(name, key, text) SYNTH_REASON_##name,
enum synth_reason { SYNTH_REASON_LIST(X) SYNTH_REASON_COUNT };
#undef X

struct synth_input {
	const struct synth_hole *holes; /* borrowed [nr_holes], ascending, disjoint */
	size_t nr_holes;
	const struct synth_entry *entries; /* borrowed [nr_entries], in any order */
	size_t nr_entries;
	bool guesses; /* holes without an entry are tried from their first byte */
	/*
	 * Copy @size bytes at @vaddr of the file to @to; false: not there. Reads jump tables. May
	 * be NULL.
	 */
	bool (*read)(void *ctx, uint64_t vaddr, void *to, size_t size);
	/* The word at @vaddr as the loader relocates it, if that is an address of code: for tables
	 * of addresses. May be NULL. */
	bool (*word)(void *ctx, uint64_t vaddr, uint64_t *ret);
	/* The row of the CFI at @vaddr, outside of all holes, valid until the next call; NULL: no
	 * row. May be NULL. */
	const struct cfi_row *(*cfi)(void *ctx, uint64_t vaddr);
	/*
	 * Does the call at @vaddr return? Code that has CFI tells. May be NULL: all calls return,
	 * except those of functions in holes that never do.
	 */
	bool (*returns)(void *ctx, uint64_t vaddr, unsigned size);
	/*
	 * Called for each instruction reached, with the facts before it, with or without a row. For
	 * audits. May be NULL.
	 */
	void (*visit)(void *ctx, uint64_t vaddr, unsigned size, const struct synth_state *state,
		      enum synth_reason reason);
	void *ctx;
};
