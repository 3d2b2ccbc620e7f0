/* SPDX-License-Identifier: Apache-2.0 */
/* The stack depth of a Go function by pc: its table of depths. */
#pragma once

#include "unwind/go_pclntab.h"
#include "unwind/go_value.h"

/* The run time reads a depth as 32 bits. Frames of 1 GiB exist: reflectcall has one. */
#define GO_DEPTH_MAX (INT32_MAX - 16)

/*
 * Values are bytes pushed since the function's entry, a multiple of 8. Below 0 the return address
 * has been popped, too.
 */
static inline struct go_value go_depth_begin(const struct go_functions *functions,
					     const struct go_function *function)
{
	return go_value_begin(&functions->table, function->depths, function->start, function->end);
}

/* Go on to the next stretch of one depth. False at the end. */
static inline bool go_depth_next(struct go_value *at)
{
	if (!go_value_next(at))
		return false;
	at->bad = at->value < -8 || at->value > GO_DEPTH_MAX || (at->value & 7);
	return !at->bad;
}
