/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables for elf_builder.h files. */
#pragma once

#include "tests/support/elf_builder.h"

#define ELF_SYMBOLS_MAX 256u

struct elf_symbols {
	Elf64_Sym symbols[ELF_SYMBOLS_MAX]; /* 0 is the null symbol */
	size_t nr;
	char names[8192];
	size_t names_size;
};

static inline void elf_symbols_init(struct elf_symbols *syms)
{
	memset(syms, 0, sizeof(*syms));
	syms->nr = 1;
	syms->names_size = 1;
}

/* Add a symbol defined in section 1; returns its index. */
static inline size_t elf_symbols_add(struct elf_symbols *syms, const char *name, unsigned int type,
				     unsigned int binding, uint64_t vaddr, uint64_t size)
{
	size_t name_size = strlen(name) + 1;

	if (syms->nr == ELF_SYMBOLS_MAX || syms->names_size + name_size > sizeof(syms->names))
		abort();
	syms->symbols[syms->nr] = (Elf64_Sym){ .st_name = (uint32_t)syms->names_size,
					       .st_info = (uint8_t)ELF64_ST_INFO(binding, type),
					       .st_shndx = 1,
					       .st_value = vaddr,
					       .st_size = size };
	memcpy(syms->names + syms->names_size, name, name_size);
	syms->names_size += name_size;
	return syms->nr++;
}

/*
 * Append the table and its names as sections (.symtab and .strtab, or .dynsym and .dynstr). Returns
 * the index of the table; its names are the section before it.
 */
static inline size_t elf_symbols_put(const struct elf_symbols *syms, struct elf_builder *b,
				     uint32_t type)
{
	bool dynamic = type == SHT_DYNSYM;
	size_t names = elf_builder_section(b, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0,
					   syms->names, syms->names_size);
	size_t table = elf_builder_section(b, dynamic ? ".dynsym" : ".symtab", type, 0, 0,
					   syms->symbols, syms->nr * sizeof(Elf64_Sym));

	b->sections[table].sh_link = (uint32_t)names;
	b->sections[table].sh_entsize = sizeof(Elf64_Sym);
	return table;
}
