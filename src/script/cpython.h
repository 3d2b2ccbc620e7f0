/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython: the rule of its script frames, and the names of its code objects, from bytes of their
 * memory. The layouts are those of released versions, constant from the first release of a minor
 * version on; an unknown version has no rule. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared_script.h"
#include "unwind/script_facts.h"

#define CPYTHON_NAME_MAX 768u /* bytes of a name, in UTF-8, with its NUL */

/* Offsets in the memory of one version. */
struct cpython_layout;

/* NULL: the version @facts tell is not known. */
const struct cpython_layout *cpython_layout(const struct script_facts *facts);

/* The rule for the loop of @facts in object @object. */
void cpython_rule(const struct cpython_layout *layout, const struct script_facts *facts,
		  uint32_t object, struct fpl_script_rule *ret);

struct cpython_code {
	char function[CPYTHON_NAME_MAX], file[CPYTHON_NAME_MAX];
	uint32_t first_line;
	uint64_t start;	      /* address of its instructions */
	const uint8_t *lines; /* borrowed from the record [nr_lines]: its table of lines */
	uint32_t nr_lines;
	bool is_cut; /* there are more */
};

/*
 * Read what @record says of a code object. Returns false where it is no code object, or was not
 * read. The record comes from memory that a program may have filled as it likes. Cost: O(bytes).
 */
bool cpython_read_code(const struct cpython_layout *layout, const struct fpl_script_code *record,
		       struct cpython_code *ret);

/* The line of the instruction at @place; 0: not known. Cost: O(nr_lines). */
uint32_t cpython_line(const struct cpython_code *code, uint64_t place);

struct cpython_layout {
	uint8_t minor;
	/* of a frame */
	uint8_t code, previous, place, stop, stop_value, shows_last, above;
	/* of a code object */
	uint8_t first_line, filename, qualname, linetable, instructions;
	/* of a string: its characters where they are ASCII, and where they are not */
	uint8_t ascii, other;
};
