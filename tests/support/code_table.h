/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a file made in memory, of some code and its CFI. */
#pragma once

#include "tests/support/cfi_builder.h"
#include "tests/support/elf_builder.h"
#include "unwind/table.h"

/* @text [text_size] lies at CFI_BUILDER_TEXT, its FDEs are in @b; @names [names_size]: .dynstr,
 * none where it is NULL. The caller destroys the table. */
static inline struct table *code_table(const uint8_t *text, size_t text_size,
				       const struct cfi_builder *b, const uint8_t *names,
				       size_t names_size, const struct table_limits *limits)
{
	struct elf_builder elf;
	struct elf_file *file;
	struct table *table = NULL;
	struct fpl_err err;

	elf_builder_init(&elf, ET_DYN);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, CFI_BUILDER_TEXT, 0x1000, 0x1000);
	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
			    CFI_BUILDER_TEXT, text, text_size);
	if (names)
		elf_builder_section(&elf, ".dynstr", SHT_STRTAB, SHF_ALLOC, 0, names, names_size);
	elf_builder_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR, b->bytes,
			    b->size);
	elf_builder_finish(&elf);
	if (elf_file_from_memory(elf.bytes, elf.size, "code", &file, &err) ||
	    table_compile(file, NULL, limits, &table, &err))
		fail_msg("%s", err.msg);
	elf_file_close(file);
	elf_builder_fini(&elf);
	return table;
}

/* The same of code that begins with one function of @size bytes with the CFI @cfi [cfi_size]. */
static inline struct table *code_table_of_one(const uint8_t *text, size_t text_size, size_t size,
					      const uint8_t *cfi, size_t cfi_size,
					      const uint8_t *names, size_t names_size,
					      const struct table_limits *limits)
{
	struct cfi_builder b;
	struct table *table;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, size, cfi, cfi_size);
	table = code_table(text, text_size, &b, names, names_size, limits);
	cfi_builder_fini(&b);
	return table;
}

/* The rule at offset @off of the code. */
static inline const struct fpl_rule *code_table_at(const struct table *table, uint64_t off)
{
	return table_find(table, CFI_BUILDER_TEXT + off);
}
