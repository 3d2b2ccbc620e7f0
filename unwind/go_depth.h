/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack depth of a Go function by pc (its pcsp table: runtime/symtab.go, step()): pairs of a
 * zigzag varint, the change of the depth, and a varint, the bytes of code it holds for. The first
 * depth counts from -1; a change of 0 after the first pair is the end.
 */
#pragma once

#include "base/cursor.h"
#include "unwind/go_pclntab.h"

/* The run time reads a depth as 32 bits. Frames of 1 GiB exist: reflectcall has one. */
#define GO_DEPTH_MAX (INT32_MAX - 16)

struct go_depth {
	uint64_t start, end; /* vaddr: not empty, inside the function */
	/* Bytes pushed since the function's entry, a multiple of 8. Below 0 the return address has
	 * been popped, too. */
	int64_t depth;
	struct cursor next; /* the pairs to come */
	uint64_t limit;	    /* end of the function */
	bool begun;
	bool bad; /* the table ended by making no sense */
};

static inline struct go_depth go_depth_begin(const struct go_functions *functions,
					     const struct go_function *function)
{
	struct go_depth at = { .start = function->start,
			       .end = function->start,
			       .depth = -1,
			       .limit = function->end };

	if (function->depths < functions->depths_size)
		at.next = cursor_make(functions->depths + function->depths,
				      functions->depths_size - function->depths);
	return at;
}

/* Go on to the next stretch of one depth. False at the end. */
static inline bool go_depth_next(struct go_depth *at)
{
	uint64_t change = cursor_uleb(&at->next);
	uint64_t bytes;

	if (at->next.bad || at->end >= at->limit || (change == 0 && at->begun)) {
		at->bad = at->next.bad;
		return false;
	}
	bytes = cursor_uleb(&at->next);
	at->begun = true;
	at->depth += (int32_t)(change & 1 ? ~(change >> 1) : change >> 1);
	at->bad = at->next.bad || change > UINT32_MAX || bytes == 0 || at->depth < -8 ||
		  at->depth > GO_DEPTH_MAX || (at->depth & 7);
	if (at->bad)
		return false;
	at->start = at->end;
	at->end = bytes > at->limit - at->start ? at->limit : at->start + bytes;
	return true;
}
