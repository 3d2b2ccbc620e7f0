/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/known.h"

#include <string.h>

#include "unwind/arch_x86_64.h"

/*
 * A table is read at its address + a few bytes if people count from 1, or from below 0; it begins
 * at its address then. A read further away is from another table.
 */
enum { TABLE_SKIP = 64 };

const struct synth_known *synth_known_of(const struct synth_known *known, unsigned reg)
{
	for (unsigned i = 0; i < SYNTH_KNOWN_MAX; i++)
		if (known[i].kind != KNOWN_NOTHING && known[i].reg == reg)
			return &known[i];
	return NULL;
}

/* The newest first; what is oldest goes. */
static void set(struct synth_known *known, struct synth_known value)
{
	unsigned i = 0;

	while (i < SYNTH_KNOWN_MAX - 1 &&
	       !(known[i].kind != KNOWN_NOTHING && known[i].reg == value.reg))
		i++;
	memmove(&known[1], &known[0], i * sizeof(*known));
	known[0] = value;
}

static void drop(struct synth_known *known, uint16_t mask)
{
	for (unsigned i = 0; i < SYNTH_KNOWN_MAX; i++)
		if (mask >> known[i].reg & 1)
			known[i].kind = KNOWN_NOTHING;
}

bool synth_writes_dst(uint8_t kind)
{
	switch (kind) {
	case OP_POP:
	case OP_ADD:
	case OP_ALIGN:
	case OP_ADDRESS:
	case OP_LEA:
	case OP_MOVE:
	case OP_SWAP:
	case OP_LOAD:
	case OP_TABLE:
	case OP_SUM:
		return true;
	default:
		return false;
	}
}

/* dst = src + dst + imm: one is an entry of a table, the other the base of its entries. */
static struct synth_known sum(const struct synth_known *known, const struct synth_op *op)
{
	const struct synth_known *a = synth_known_of(known, op->dst);
	const struct synth_known *b = synth_known_of(known, op->src);
	const struct synth_known *entry = a && a->kind == KNOWN_ENTRY ? a : b;
	const struct synth_known *base = entry == a ? b : a;
	struct synth_known made = { .reg = op->dst };

	if (entry && base && entry->kind == KNOWN_ENTRY && base->kind == KNOWN_ADDRESS) {
		made.kind = KNOWN_TARGET;
		made.width = entry->width;
		made.table = entry->table;
		made.base = base->table + (uint64_t)op->imm;
	}
	return made;
}

/* An entry of the table at @src, or beside it. */
static struct synth_known entry_of(const struct synth_known *src, const struct synth_op *op)
{
	bool near = op->nr_bytes == 4 && op->imm > 0 && op->imm < TABLE_SKIP;

	if (!src || src->kind != KNOWN_ADDRESS)
		return (struct synth_known){ .reg = op->dst };
	return (struct synth_known){ .kind = op->nr_bytes == 8 ? KNOWN_TARGET : KNOWN_ENTRY,
				     .reg = op->dst,
				     .width = (uint8_t)op->nr_bytes,
				     .table = src->table + (near ? 0 : (uint64_t)op->imm) };
}

/* The address @by bytes from the one that @from is known to hold. */
static struct synth_known moved(const struct synth_known *from, unsigned reg, int64_t by)
{
	struct synth_known value = { .reg = (uint8_t)reg };

	if (from && from->kind == KNOWN_ADDRESS) {
		value.kind = KNOWN_ADDRESS;
		value.table = from->table + (uint64_t)by;
	}
	return value;
}

void synth_known_step(struct synth_known *known, const struct synth_op *op, uint16_t call_writes,
		      uint64_t *ret_address)
{
	const struct synth_known *src = synth_known_of(known, op->src);
	struct synth_known value = { .reg = op->dst };

	*ret_address = 0;
	drop(known, op->clobbers);
	switch (op->kind) {
	case OP_ADDRESS:
		value.kind = KNOWN_ADDRESS;
		value.table = (uint64_t)op->imm;
		*ret_address = value.table;
		break;
	case OP_TABLE:
		value = entry_of(src, op);
		*ret_address = value.table;
		break;
	case OP_SUM:
		value = sum(known, op);
		break;
	case OP_LEA:
	case OP_ADD:
		value = moved(op->kind == OP_ADD ? synth_known_of(known, op->dst) : src, op->dst,
			      op->imm);
		*ret_address = value.table;
		break;
	case OP_MOVE:
		if (src) {
			value = *src;
			value.reg = op->dst;
		}
		break;
	case OP_CALL:
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
		drop(known, call_writes);
		return;
	case OP_SWAP:
		drop(known, (uint16_t)(1u << op->dst | 1u << op->src));
		return;
	default:
		if (synth_writes_dst(op->kind))
			drop(known, (uint16_t)(1u << op->dst));
		return;
	}
	if (value.kind == KNOWN_NOTHING)
		drop(known, (uint16_t)(1u << op->dst));
	else
		set(known, value);
}

uint16_t synth_written_by(const struct synth_op *op)
{
	unsigned mask = op->clobbers;

	if (synth_writes_dst(op->kind))
		mask |= 1u << op->dst;
	if (op->kind == OP_SWAP)
		mask |= 1u << op->src;
	if (op->kind == OP_LEAVE)
		mask |= 1u << ARCH_FRAME_POINTER;
	return (uint16_t)mask;
}
