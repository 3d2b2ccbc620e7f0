/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of a Go function by pc (runtime/symtab.go, step()): pairs of a zigzag varint, the change
 * of the value, and a varint, the bytes of code it holds for. The first value counts from -1; a
 * change of 0 after the first pair is the end.
 */
#pragma once

#include "base/cursor.h"
#include "unwind/go_table.h"

struct go_value {
	uint64_t start, end; /* vaddr, or what counts as one: not empty, inside the function */
	int64_t value;
	struct cursor next; /* the pairs to come */
	uint64_t limit;	    /* end of the function */
	bool begun;
	bool bad; /* the table ended by making no sense */
};

/* The values for code in [@start, @end) are at @off of all of @table. */
static inline struct go_value go_value_begin(const struct go_table *table, uint32_t off,
					     uint64_t start, uint64_t end)
{
	struct go_value at = { .start = start, .end = start, .value = -1, .limit = end };
	uint64_t size = table->size - table->values_off;

	if (off < size)
		at.next = cursor_make(table->bytes + table->values_off + off, size - off);
	return at;
}

/* Go on to the next stretch of one value. False at the end. */
static inline bool go_value_next(struct go_value *at)
{
	uint64_t change = cursor_uleb(&at->next);
	uint64_t bytes;

	if (at->next.bad || at->end >= at->limit || (change == 0 && at->begun)) {
		at->bad = at->next.bad;
		return false;
	}
	bytes = cursor_uleb(&at->next);
	at->begun = true;
	at->value += (int32_t)(change & 1 ? ~(change >> 1) : change >> 1);
	at->bad = at->next.bad || change > UINT32_MAX || bytes == 0 || at->value < INT32_MIN ||
		  at->value > INT32_MAX;
	if (at->bad)
		return false;
	at->start = at->end;
	at->end = bytes > at->limit - at->start ? at->limit : at->start + bytes;
	return true;
}
