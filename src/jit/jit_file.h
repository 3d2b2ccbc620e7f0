/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file in the memory of a process, which its run time has registered for debuggers
 * (jit/jit_list.h): it says what is in code made at run time. A relocatable file, as LLVM
 * registers, has the addresses that its sections were loaded at in their headers: what is at these
 * is relocated, what is in the file is not.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/jit_list.h"
#include "jit/memory.h"
#include "symbolize/code_table.h"

#define JIT_FILES_MAX	    4096u /* files of one process, the newest: older ones are left out */
#define JIT_SECTIONS_MAX    (1u << 18) /* of all files */
#define JIT_FILES_PAGES_MAX (1u << 14) /* read for all files: 64 MiB */
#define JIT_SYMBOLS_MAX	    (1u << 17) /* of all files */

/* The files of a process. */
struct jit_files {
	struct jit_list list;
	uint32_t sections_left, symbols_left;
	uint64_t first; /* address of the file that was met first: a list may be a circle */
};

struct jit_file {
	struct jit_memory *memory; /* borrowed */
	uint64_t addr, size;	   /* of its bytes */
	uint64_t sections;	   /* address of their headers */
	uint32_t nr_sections;
	uint32_t names; /* the section with their names */
	bool is_relocatable;
};

/* Begin with the files of the run time that is loaded at @base, the newest first: from now on at
 * most JIT_FILES_PAGES_MAX pages of @memory are read. Errors: those of jit_list_open(). */
FPL_MUST_CHECK int jit_files_open(struct jit_memory *memory, uint64_t base, struct jit_files *ret);

/* Read the next ELF file for x86-64; other entries are passed over. False: the list ends. Cost: a
 * read of each file's header. */
bool jit_files_next(struct jit_files *files, struct jit_file *ret);

/* The header of section @idx. */
bool jit_file_section(const struct jit_file *file, uint32_t idx, Elf64_Shdr *ret);

/* Has section @header the name @name? */
bool jit_file_is_named(const struct jit_file *file, const Elf64_Shdr *header, const char *name);

/* The address of the bytes of section @header in memory; 0: they are not there, or leave the file.
 */
uint64_t jit_file_bytes(const struct jit_file *file, const Elf64_Shdr *header);

/*
 * Add the functions of all files of the run time that is loaded at @base to @ret, those that were
 * registered last on top. What makes no sense is left out. Errors: those of code_table_add(). Cost:
 * a read of all symbols.
 */
FPL_MUST_CHECK int jit_files_names(struct jit_memory *memory, uint64_t base,
				   struct code_table *ret);
