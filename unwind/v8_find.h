/* SPDX-License-Identifier: Apache-2.0 */
/* V8 in a file: where its heap has what, by the numbers that it exports for debuggers (v8dbg_*),
 * never by a table of versions. */
#pragma once

#include <stdbool.h>

#include "obj/elf_file.h"
#include "unwind/script_facts.h"

/* One of those numbers: a file without it has no V8 that can be described. */
#define V8_MARK "v8dbg_off_fp_function"

/*
 * Describe the V8 in @elf, with @debug, its separate debug file (may be NULL): its objects, and the
 * code that runs interpreted functions, if a symbol tells where that is. Returns false, with what
 * was found in @ret: a number is missing, or no walk can use it. The file is hostile. Cost: reads
 * the symbol tables.
 */
bool v8_find(const struct elf_file *elf, const struct elf_file *debug, struct script_facts *ret);
