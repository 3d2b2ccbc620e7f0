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
