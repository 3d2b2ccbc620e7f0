/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about registers on the way to a jump by register: addresses, and their sums with entries of
 * tables of distances. Private to unwind/synth.
 */
#pragma once

#include "unwind/synth/op.h"

enum { SYNTH_KNOWN_MAX = 8 };

enum synth_known_kind { KNOWN_NOTHING, KNOWN_ADDRESS, KNOWN_ENTRY, KNOWN_TARGET };

struct synth_known {
	uint8_t kind; /* enum synth_known_kind */
	uint8_t reg;
	uint8_t width;	/* ENTRY, TARGET: bytes of an entry of the table; 8: an address, not a
			   distance */
	uint64_t table; /* ADDRESS: itself; ENTRY, TARGET: of the table it was read from */
	uint64_t base;	/* TARGET: what the entry is added to */
};

/* The fact known of @reg; NULL: unknown. @known: [SYNTH_KNOWN_MAX] */
const struct synth_known *synth_known_of(const struct synth_known *known, unsigned reg);

/*
 * Apply @op; a call writes the registers of @call_writes. *ret_address: the address that it makes,
 * perhaps of a table; 0: makes none.
 */
void synth_known_step(struct synth_known *known, const struct synth_op *op, uint16_t call_writes,
		      uint64_t *ret_address);

/* Does an instruction of @kind write its dst? */
bool synth_writes_dst(uint8_t kind);

/* Mask of the registers that @op writes; for a call, without the callee's. */
uint16_t synth_written_by(const struct synth_op *op);
