/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a file the interpreter of a language whose script frames can be walked, and where is its loop?
 * Known by symbols that the interpreter exports, never by a guess. It goes with the table: rows of
 * the loop's body tell it from its beginning and its end.
 */
#pragma once

#include <stdint.h>

#include "bpf/shared_script.h"
#include "obj/elf_file.h"

#define SCRIPT_FACTS_RANGES_MAX 4u
#define SCRIPT_FACTS_WORDS	32u

/* X(NAME, name in outputs) */
#define SCRIPT_LANGUAGE_LIST(X)     \
	X(PYTHON, "python")         \
	X(PHP, "php")               \
	X(JAVASCRIPT, "javascript") \
	X(LUA, "lua")               \
	X(RUBY, "ruby")             \
	X(PERL, "perl")

#define X(name, text) SCRIPT_##name,
enum script_language_id { SCRIPT_NO_LANGUAGE, SCRIPT_LANGUAGE_LIST(X) SCRIPT_LANGUAGES_END };
#undef X

/* These ways of building change layouts (facts.flags). */
#define SCRIPT_FREE_THREADED 1u /* CPython without its lock; PHP for threads */
#define SCRIPT_DEBUG_BUILD   2u
#define SCRIPT_TAIL_CALLS \
	4u /* CPython: the instructions are functions, of which each calls the next */

/* V8: offsets from the frame pointer, and in a function; the types of functions. */
struct v8_facts {
	int16_t function_off, context_off;
	uint16_t shared_off;
	uint16_t first_function, last_function;
	uint16_t _pad[3];
	struct fpl_v8 objects;
};

struct script_facts {
	/* CPython: Py_Version, 0x030b02f0; of 3.9 and 3.10 the minor version alone. PHP: the number
	 * of its API for modules, 20220829. V8: 1: it is described. Lua, Ruby: 50404. Perl
	 * likewise, with the bytes of its struct interpreter << 32. 0: not known */
	uint64_t version;
	uint64_t code_type; /* CPython: vaddr of the type of its code objects */
	struct vaddr_range ranges[SCRIPT_FACTS_RANGES_MAX]; /* [nr_ranges]: its loop, all parts */
	int32_t cfa_off;				    /* of the rows of the body */
	uint16_t cfa_reg;
	uint16_t nr_ranges;
	uint16_t language; /* enum script_language_id */
	/* CPython: it may make code at run time, which has the script frame in this register (DWARF
	 * number; 0: not known) */
	uint8_t makes_code, made_reg;
	uint32_t flags;
	/* Most instructions of the loop that write to memory i words behind a callee-saved register
	 * use place_regs[i] for it; most that write such a register's value there write that of
	 * value_regs[i]. DWARF numbers; 0: no register has more than half. */
	uint8_t place_regs[SCRIPT_FACTS_WORDS], value_regs[SCRIPT_FACTS_WORDS];
	struct v8_facts v8;
};
