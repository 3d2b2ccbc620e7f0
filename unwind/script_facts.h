/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a file the interpreter of a language whose script frames can be walked, and where is its loop?
 * Known by symbols that the interpreter exports, never by a guess. It goes with the table: rows of
 * the loop's body tell it from its beginning and its end.
 */
#pragma once

#include <stdint.h>

#include "obj/elf_file.h"

#define SCRIPT_FACTS_RANGES_MAX 4u

struct script_facts {
	uint64_t version;   /* CPython's Py_Version: 0x030b02f0; 0: no such interpreter */
	uint64_t code_type; /* vaddr of the type of its code objects */
	struct vaddr_range ranges[SCRIPT_FACTS_RANGES_MAX]; /* [nr_ranges]: its loop, all parts */
	int32_t cfa_off;				    /* of the rows of the body */
	uint16_t cfa_reg;
	uint16_t nr_ranges;
};
