/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds small ELF64 files in memory for tests. The program headers stand behind the ELF header,
 * contents from ELF_BUILDER_CONTENTS on, section headers at the end; elf_builder_finish writes the
 * headers, after which a test may damage any byte.
 *
 *	struct elf_builder b;
 *	elf_builder_init(&b, ET_DYN);
 *	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x200, 0x200);
 *	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x401000, code,
 *n); elf_builder_finish(&b);
 *	... b.bytes, b.size, elf_builder_memfd(&b), elf_builder_ehdr(&b)->e_phnum = 7 ...
 *	elf_builder_fini(&b);
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ELF_BUILDER_SEGMENTS 16u
#define ELF_BUILDER_SECTIONS 32u
#define ELF_BUILDER_CONTENTS 0x400u /* contents without a place of their own start here */

struct elf_builder {
	uint8_t *bytes; /* owned; zero where nothing was put */
	size_t size;
	Elf64_Phdr segments[ELF_BUILDER_SEGMENTS];
	Elf64_Shdr sections[ELF_BUILDER_SECTIONS]; /* 0 is the null section */
	size_t nr_segments, nr_sections;
	char names[1024];
	size_t names_size;
	bool without_sections; /* set before elf_builder_finish: as stripped by sstrip */
};

/* Put @size bytes at file offset @off, growing the file. */
static inline void elf_builder_put(struct elf_builder *b, uint64_t off, const void *data,
				   size_t size)
{
	if (off + size > b->size) {
		b->bytes = realloc(b->bytes, off + size);
		if (!b->bytes)
			abort();
		memset(b->bytes + b->size, 0, off + size - b->size);
		b->size = off + size;
	}
	if (size && data)
		memcpy(b->bytes + off, data, size);
}

/* Put @size bytes at the next offset aligned to 16; returns that offset. */
static inline uint64_t elf_builder_append(struct elf_builder *b, const void *data, size_t size)
{
	uint64_t off = (b->size + 15) & ~(uint64_t)15;

	elf_builder_put(b, off, data, size);
	return off;
}

static inline void elf_builder_init(struct elf_builder *b, uint16_t type)
{
	const Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = type,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	memset(b, 0, sizeof(*b));
	b->nr_sections = 1;
	b->names_size = 1;
	elf_builder_put(b, 0, &eh, sizeof(eh));
	elf_builder_put(b, ELF_BUILDER_CONTENTS, NULL, 0);
}

static inline void elf_builder_fini(struct elf_builder *b)
{
	free(b->bytes);
	b->bytes = NULL;
}

static inline Elf64_Ehdr *elf_builder_ehdr(struct elf_builder *b)
{
	return (Elf64_Ehdr *)(void *)b->bytes;
}

static inline Elf64_Phdr *elf_builder_segment(struct elf_builder *b, uint32_t type, uint32_t flags,
					      uint64_t off, uint64_t vaddr, uint64_t file_size,
					      uint64_t mem_size)
{
	Elf64_Phdr *ph = &b->segments[b->nr_segments];

	if (b->nr_segments == ELF_BUILDER_SEGMENTS)
		abort();
	*ph = (Elf64_Phdr){ .p_type = type,
			    .p_flags = flags,
			    .p_offset = off,
			    .p_vaddr = vaddr,
			    .p_paddr = vaddr,
			    .p_filesz = file_size,
			    .p_memsz = mem_size,
			    .p_align = type == PT_LOAD ? 0x1000 : 4 };
	b->nr_segments++;
	return ph;
}

/* A section whose contents stand at @off already (or, for SHT_NOBITS, nowhere); returns its index.
 */
static inline size_t elf_builder_section_at(struct elf_builder *b, const char *name, uint32_t type,
					    uint64_t flags, uint64_t vaddr, uint64_t off,
					    uint64_t size)
{
	size_t name_size = strlen(name) + 1;

	if (b->nr_sections == ELF_BUILDER_SECTIONS || b->names_size + name_size > sizeof(b->names))
		abort();
	b->sections[b->nr_sections] = (Elf64_Shdr){ .sh_name = (uint32_t)b->names_size,
						    .sh_type = type,
						    .sh_flags = flags,
						    .sh_addr = vaddr,
						    .sh_offset = off,
						    .sh_size = size,
						    .sh_addralign = 4 };
	memcpy(b->names + b->names_size, name, name_size);
	b->names_size += name_size;
	return b->nr_sections++;
}

/* Append @data as a section; returns its index. */
static inline size_t elf_builder_section(struct elf_builder *b, const char *name, uint32_t type,
					 uint64_t flags, uint64_t vaddr, const void *data,
					 size_t size)
{
	return elf_builder_section_at(b, name, type, flags, vaddr,
				      elf_builder_append(b, data, size), size);
}

/* Write a GNU note of @type into @dst (room for 16 + desc_size rounded up to 4); returns its size.
 */
static inline size_t elf_builder_note(uint8_t *dst, uint32_t type, const void *desc,
				      size_t desc_size)
{
	const Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = (uint32_t)desc_size, .n_type = type };
	size_t padded = (desc_size + 3) & ~(size_t)3;

	memcpy(dst, &note, sizeof(note));
	memcpy(dst + sizeof(note), ELF_NOTE_GNU, 4);
	memset(dst + sizeof(note) + 4, 0, padded);
	memcpy(dst + sizeof(note) + 4, desc, desc_size);
	return sizeof(note) + 4 + padded;
}

/* Write the headers. */
static inline void elf_builder_finish(struct elf_builder *b)
{
	size_t names_idx = 0;
	uint64_t sections_off = 0;

	if (!b->without_sections) {
		names_idx = elf_builder_section(b, ".shstrtab", SHT_STRTAB, 0, 0, NULL, 0);
		b->sections[names_idx].sh_offset = elf_builder_append(b, b->names, b->names_size);
		b->sections[names_idx].sh_size = b->names_size;
		sections_off =
			elf_builder_append(b, b->sections, b->nr_sections * sizeof(Elf64_Shdr));
	}
	elf_builder_put(b, sizeof(Elf64_Ehdr), b->segments, b->nr_segments * sizeof(Elf64_Phdr));
	elf_builder_ehdr(b)->e_phoff = b->nr_segments ? sizeof(Elf64_Ehdr) : 0;
	elf_builder_ehdr(b)->e_phnum = (uint16_t)b->nr_segments;
	elf_builder_ehdr(b)->e_shoff = sections_off;
	elf_builder_ehdr(b)->e_shnum = (uint16_t)(b->without_sections ? 0 : b->nr_sections);
	elf_builder_ehdr(b)->e_shstrndx = (uint16_t)names_idx;
}

/* The section header @idx as written: for damaging it after elf_builder_finish. */
static inline Elf64_Shdr *elf_builder_shdr(struct elf_builder *b, size_t idx)
{
	return (Elf64_Shdr *)(void *)(b->bytes + elf_builder_ehdr(b)->e_shoff) + idx;
}

/* The same for program header @idx. */
static inline Elf64_Phdr *elf_builder_phdr(struct elf_builder *b, size_t idx)
{
	return (Elf64_Phdr *)(void *)(b->bytes + elf_builder_ehdr(b)->e_phoff) + idx;
}

/* A new anonymous file with the bytes; the caller closes it. */
static inline int elf_builder_memfd(const struct elf_builder *b)
{
	int fd = memfd_create("elf_builder", MFD_CLOEXEC);

	if (fd < 0 || write(fd, b->bytes, b->size) != (ssize_t)b->size)
		abort();
	return fd;
}
