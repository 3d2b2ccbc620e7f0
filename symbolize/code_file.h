/* SPDX-License-Identifier: Apache-2.0 */
/* What was found in a file in which a program names the code it makes at run time. */
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
};

struct code_file_result {
	enum code_file_end end;
	uint64_t end_off;     /* where reading ended, bytes */
	uint64_t nr_entries;  /* functions taken in */
	uint64_t nr_bad;      /* lines or records that make no sense, left out */
	uint64_t bad_off;     /* of the first of them, or of what is broken */
	const char *bad_what; /* what is wrong there; NULL: nothing */
};

/*
 * Say in one line what was wrong with the file @path, or what of it was left out. Returns false,
 * and writes nothing, where there is nothing to say.
 */
bool code_file_remark(const struct code_file_result *result, const char *path, char *to,
		      size_t size);
