/* SPDX-License-Identifier: Apache-2.0 */
/* CPython: its script frames and its code objects. */
#pragma once

#include "script/language.h"

extern const struct script_language cpython_language;

/* How a table of lines is written. */
enum cpython_lines {
	CPYTHON_LNOTAB,	   /* 3.9: bytes of code, then how the line changes */
	CPYTHON_LINETABLE, /* 3.10: likewise, for the code up to there; some has no line */
	CPYTHON_LOCATIONS, /* 3.11 and later: Objects/locations.md */
};

/* Offsets in the memory of one minor version. */
struct cpython_layout {
	uint8_t minor, lines; /* enum cpython_lines */
	uint8_t is_single;    /* a native frame has one script frame, with the number of an
			       * instruction in it */
	uint8_t has_slots;    /* a variable whose address is taken has the frame, too */
	/* of a frame */
	uint8_t code, previous, place, stop, stop_value, shows_last, above;
	/* of a code object */
	uint8_t first_line, filename, name, linetable, instructions;
	/* of a string: its characters where they are ASCII, and where they are not */
	uint8_t ascii, other;
};

/* NULL: the version is not known. @version: as in struct script_facts. */
const struct cpython_layout *cpython_layout(uint64_t version);

/* Those of struct script_language. */
bool cpython_read_code(uint64_t version, const struct fpl_script_code *record,
		       struct script_code *ret);
uint32_t cpython_line(const struct script_code *code, uint32_t place);
