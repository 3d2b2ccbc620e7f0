/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erlang's run time keeps a list of records about the code of its JIT for debuggers
 * (__jit_debug_descriptor). One record is of the run time itself, the others are of modules, each
 * with its ranges of code (functions, and what the JIT needs besides) and the lines of these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "jit/jit_list.h"
#include "jit/memory.h"

enum beam_kind { BEAM_RUN_TIME, BEAM_MODULE };

struct beam_record {
	uint32_t kind; /* enum beam_kind, or an unknown one */
	/* of the run time */
	uint64_t normal_exit; /* the address that an Erlang stack ends with */
	/* of a module */
	uint64_t start, end; /* its code: [start, end) */
	/* where its next range is, and how many there are */
	uint64_t ranges;
	uint32_t nr_ranges;
};

struct beam_range {
	uint64_t start, end;	 /* its code: [start, end) */
	char name[JIT_TEXT_MAX]; /* "module:function/arity"; a longer one is cut off */
	/* where its next line is, and how many there are */
	uint64_t lines;
	uint32_t nr_lines;
};

struct beam_line {
	uint64_t start; /* of the code up to the next line */
	uint32_t line;
	char file[JIT_TEXT_MAX];
};

/* Read the next record of @list. False: it ends, or the record makes no sense. */
bool beam_record_next(struct jit_list *list, struct beam_record *ret);

/* Read the next range of @record. False: as above. */
bool beam_range_next(struct jit_memory *memory, struct beam_record *record, struct beam_range *ret);

/* Read the next line of @range, of @record; behind all of them is the next range. False: as above.
 */
bool beam_line_next(struct jit_memory *memory, const struct beam_record *record,
		    struct beam_range *range, struct beam_line *ret);

/* Go on behind the lines of @range. False: they make no sense. Cost: a read of each. */
bool beam_range_leave(struct jit_memory *memory, struct beam_record *record,
		      struct beam_range *range);
