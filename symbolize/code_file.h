/* SPDX-License-Identifier: Apache-2.0 */
/* Results of reading a file in which a program names the code it makes at run time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct code_table;

/* Why not all of a file was read. */
enum code_file_end {
	CODE_FILE_WHOLE,
	CODE_FILE_TOO_LONG, /* more bytes than may be read */
	CODE_FILE_NO_ROOM,  /* the table's budget is used up */
	CODE_FILE_BROKEN,   /* jitdump: what follows cannot be made out */
	CODE_FILE_END_COUNT
};

/* Everything that may be wrong with a line or a record. X(name, text) */
#define CODE_FAULT_LIST(X)                                  \
	X(NONE, "nothing")                                  \
	X(NO_LINE, "not a start, a size and a name")        \
	X(NO_NAME, "no name")                               \
	X(NUL, "a NUL in the name")                         \
	X(BEYOND, "beyond the address space")               \
	X(NO_SIZE, "no size")                               \
	X(NAMELESS, "a load record without a name")         \
	X(OTHER_PID, "a record of another process")         \
	X(ENDLESS_NAME, "a name without an end")            \
	X(MOVE_CUT, "a move record cut short")              \
	X(MOVE_UNKNOWN, "a move of code that is not known") \
	X(UNKNOWN_KIND, "a record of unknown kind")         \
	X(CODE_BEYOND, "code beyond the address space")     \
	X(CODE_NO_SIZE, "code of no size")                  \
	X(SHORT_RECORD, "a record shorter than its own header")

#define X(name, text) CODE_FAULT_##name,
enum code_fault { CODE_FAULT_LIST(X) CODE_FAULT_COUNT };
#undef X

/* Flat: it goes from process to process as it is. */
struct code_file_result {
	enum code_file_end end;
	enum code_fault fault; /* what is wrong at bad_off */
	uint64_t end_off;      /* where reading ended, bytes */
	uint64_t nr_entries;   /* functions taken in */
	uint64_t nr_bad;       /* lines or records that make no sense, left out */
	uint64_t bad_off;      /* of the first of them, or of what is broken */
};

/* @fault below CODE_FAULT_COUNT. */
const char *code_fault_text(enum code_fault fault);

/*
 * Say in one line what was wrong with the file @path, or what of it was left out. Returns false,
 * and writes nothing, where there is nothing to say.
 */
bool code_file_remark(const struct code_file_result *result, const char *path, char *to,
		      size_t size);
