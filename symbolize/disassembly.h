/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine instructions as text, one at a time. The bytes are hostile: whatever they are, each call
 * gives a text, and goes on by at least one byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/listing.h"

#define DISASSEMBLY_TEXT_MAX 160u /* bytes of a text, its NUL included; what is longer is cut */
struct disassembled {
	char text[DISASSEMBLY_TEXT_MAX];
	uint64_t target; /* as in struct listing_insn, and so are the next two */
	uint8_t size, kind;
};

struct disassembler;

/* @intel: in the syntax of Intel, else in that of AT&T, as objdump. NULL: no memory. */
struct disassembler *disassembler_create(bool intel);
void disassembler_destroy(struct disassembler *disassembler);

/* Decode the instruction at @code [size > 0], which lies at @vaddr. Cost: O(1), a microsecond. */
void disassemble(const struct disassembler *disassembler, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct disassembled *ret);
