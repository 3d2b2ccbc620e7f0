/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages whose script frames are known: for each the rule of its interpreter's loop, and
 * names and lines from bytes of its memory. Layouts are those of released versions, constant from
 * the first release of a version on. Pure. Bytes come from memory that a program may have filled as
 * it likes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared_script.h"
#include "unwind/script_facts.h"

#define SCRIPT_NAME_MAX	   768u /* bytes of a name, in UTF-8, with its NUL */
#define SCRIPT_VERSION_MAX 64u	/* of a version in words */
#define SCRIPT_HEAD_BYTES  16u	/* of a code object, by which it is known to be in use */

/* A code object, by its record. */
struct script_code {
	char function[SCRIPT_NAME_MAX], file[SCRIPT_NAME_MAX]; /* "": not known */
	uint32_t first_line;				       /* 0: not known */
	uint32_t last_line;				       /* Lua; 0: not known */
	uint64_t version;				       /* as in struct script_facts */
	uint64_t first_step;  /* address of its first instruction, where places are addresses */
	const uint8_t *lines; /* borrowed from the record [nr_lines]: its table of lines */
	const uint8_t *marks; /* likewise [nr_marks]: a table of places to begin at */
	uint32_t nr_lines, nr_marks;
	bool is_cut; /* there are more lines */
};

struct script_language {
	const char *name; /* in outputs: "python" */
	/* The rule for the loop of @facts in object @object. Returns false: the layout of the
	 * version that @facts tell is not known. */
	bool (*rule)(const struct script_facts *facts, uint32_t object,
		     struct fpl_script_rule *ret);
	/* Read the code object of @record, of an interpreter of @version. Returns false where it is
	 * no code object, or was not read. Cost: O(bytes). */
	bool (*read_code)(uint64_t version, const struct fpl_script_code *record,
			  struct script_code *ret);
	/* The line of @place, as the words of a frame have it; 0: not known. Cost: O(nr_lines). */
	uint32_t (*line)(const struct script_code *code, uint32_t place);
	/* Is the code object in use that begins with @head? The memory of one that was freed mostly
	 * has the same bytes for a while, but for the first ones. @behind: what the pointer at
	 * behind_off of it leads to. Both have SCRIPT_HEAD_BYTES. NULL: its content tells. */
	bool (*is_alive)(const uint8_t *head, const uint8_t *behind);
	uint16_t behind_off; /* 0: no pointer */
	/* @facts in words, "CPython 3.11": at most SCRIPT_VERSION_MAX bytes with the NUL. */
	void (*say_version)(const struct script_facts *facts, char *ret);
};

/* Find the language of @language, an enum script_language_id or any other number; NULL: none. */
const struct script_language *script_language(uint32_t language);

/* Is the layout of the interpreter that @facts tell of known? */
bool script_language_is_known(const struct script_facts *facts);

/*
 * The register in which the loop of @facts keeps its script frame, by what its code writes: it
 * stores where it is into the frame again and again, in each instruction of its language. DWARF
 * number of a callee-saved one; 0: the code does not tell. @rule: that of @facts.
 */
uint32_t script_language_place(const struct script_facts *facts,
			       const struct fpl_script_rule *rule);
