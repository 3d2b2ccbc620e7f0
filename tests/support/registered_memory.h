/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a process that has registered an ELF file for debuggers: two functions, whose
 * frames have 96 and 32 bytes. Of their code, the first instructions are there: three pushes and
 * sub rsp, 64; and three pushes. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/jit_object.h"

#define REG_BASE       0x550000000000ull /* of the object, and of all that is read */
#define REG_CODE       0x7f0000001000ull /* of the two functions */
#define REG_CODE_END   (REG_CODE + 0x1000)
#define REG_OUTER      24u   /* bytes of the first, at REG_CODE */
#define REG_INNER_OFF  0x80u /* the second: where it is, and its bytes */
#define REG_INNER      26u
#define REG_DESCRIPTOR 0x480u /* offsets in the memory */
#define REG_ENTRY      0x500u
#define REG_FILE       0x800u
#define REG_FRAMES     0x1000u /* where a relocatable file has its CFI */
#define REG_SIZE       0x1800u

enum { REG_TEXT = 1, REG_CFI, REG_SYMBOLS, REG_STRINGS, REG_NR_SECTIONS };

struct registered_file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[REG_NR_SECTIONS];
	Elf64_Sym symbols[3];
	char strings[96];
	uint8_t frames[192];
};

struct registered_entry {
	uint64_t next, previous, addr, size;
};

struct registered_memory {
	uint8_t bytes[REG_SIZE];
};

static inline void registered_put(struct registered_memory *memory, uint32_t at, const void *bytes,
				  size_t size)
{
	memcpy(memory->bytes + at, bytes, size);
}

/* struct jit_memory reads pages: the last one has zeroes behind the memory. */
static inline int registered_read(void *ctx, uint64_t addr, void *dst, size_t size)
{
	static const uint8_t outer[] = { 0x55, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x40 };
	static const uint8_t inner[] = { 0x41, 0x54, 0x50, 0x50 };
	const struct registered_memory *memory = ctx;
	uint64_t off = addr - REG_BASE;
	size_t there;

	if (addr == REG_CODE && size > REG_INNER_OFF + sizeof(inner)) {
		memset(dst, 0x90, size);
		memcpy(dst, outer, sizeof(outer));
		memcpy((uint8_t *)dst + REG_INNER_OFF, inner, sizeof(inner));
		return 0;
	}
	if (off >= REG_SIZE)
		return -1;
	there = size < REG_SIZE - off ? size : REG_SIZE - off;
	memset(dst, 0, size);
	memcpy(dst, memory->bytes + off, there);
	return 0;
}

/* Put a length, a number and @size bytes at @to, filled up to a multiple of 8. */
static inline size_t registered_put_entry(uint8_t *to, uint32_t id, const void *bytes, size_t size)
{
	uint32_t length = (uint32_t)((4 + size + 7 + 4) / 8 * 8 - 4);

	memcpy(to, &length, sizeof(length));
	memcpy(to + 4, &id, sizeof(id));
	memcpy(to + 8, bytes, size);
	return 4 + length;
}

static inline size_t registered_put_fde(uint8_t *frames, size_t at, int is_relocatable,
					uint64_t start, uint64_t size, const uint8_t *cfi,
					size_t cfi_size)
{
	uint8_t bytes[64];

	memcpy(bytes, &start, sizeof(start));
	memcpy(bytes + 8, &size, sizeof(size));
	memcpy(bytes + 16, cfi, cfi_size);
	return at + registered_put_entry(frames + at, is_relocatable ? (uint32_t)at + 4 : 0, bytes,
					 16 + cfi_size);
}

/* The CFI of both functions: pushes, sub rsp; the end without rules for registers, as compilers
 * write it. */
static inline size_t registered_put_frames(uint8_t *frames, int is_relocatable)
{
	static const uint8_t cie[] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };
	static const uint8_t outer[] = { 0x41, 0x0e, 16,   0x86, 2,    0x42, 0x0e, 24,	 0x8f, 3,
					 0x41, 0x0e, 32,   0x83, 4,    0x44, 0x0e, 96,	 0x4b, 0x0e,
					 32,   0x41, 0x0e, 24,	 0x42, 0x0e, 16,   0x41, 0x0e, 8 };
	static const uint8_t inner[] = { 0x42, 0x0e, 16,   0x8c, 2,  0x41, 0x0e, 24, 0x41,
					 0x0e, 32,   0x53, 0x0e, 16, 0x42, 0x0e, 8 };
	size_t at = registered_put_entry(frames, is_relocatable ? 0 : UINT32_MAX, cie, sizeof(cie));

	at = registered_put_fde(frames, at, is_relocatable, REG_CODE, REG_OUTER, outer,
				sizeof(outer));
	return registered_put_fde(frames, at, is_relocatable, REG_CODE + REG_INNER_OFF, REG_INNER,
				  inner, sizeof(inner));
}

static inline Elf64_Sym registered_symbol(uint32_t name, uint64_t value, uint64_t size)
{
	return (Elf64_Sym){ .st_name = name,
			    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			    .st_shndx = REG_TEXT,
			    .st_value = value,
			    .st_size = size };
}

static inline void registered_make_file(struct registered_file *file, int is_relocatable)
{
	static const char strings[] = "\0.text\0.eh_frame\0.debug_frame\0outer\0inner";
	uint64_t base = is_relocatable ? 0 : REG_CODE;

	memset(file, 0, sizeof(*file));
	memcpy(file->strings, strings, sizeof(strings));
	file->head = (Elf64_Ehdr){ .e_ident = ELFMAG,
				   .e_type = is_relocatable ? ET_REL : ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_shoff = offsetof(struct registered_file, sections),
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = REG_NR_SECTIONS,
				   .e_shstrndx = REG_STRINGS };
	file->head.e_ident[EI_CLASS] = ELFCLASS64;
	file->sections[REG_TEXT] = (Elf64_Shdr){ .sh_name = 1,
						 .sh_type = SHT_NOBITS,
						 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						 .sh_addr = REG_CODE,
						 .sh_size = REG_CODE_END - REG_CODE };
	file->sections[REG_CFI] =
		(Elf64_Shdr){ .sh_name = is_relocatable ? 7 : 17,
			      .sh_type = SHT_PROGBITS,
			      .sh_flags = is_relocatable ? SHF_ALLOC : 0,
			      .sh_addr = is_relocatable ? REG_BASE + REG_FRAMES : 0,
			      .sh_offset = offsetof(struct registered_file, frames) };
	file->sections[REG_SYMBOLS] =
		(Elf64_Shdr){ .sh_type = SHT_SYMTAB,
			      .sh_link = REG_STRINGS,
			      .sh_offset = offsetof(struct registered_file, symbols),
			      .sh_size = sizeof(file->symbols) };
	file->sections[REG_STRINGS] =
		(Elf64_Shdr){ .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct registered_file, strings),
			      .sh_size = sizeof(file->strings) };
	file->symbols[1] = registered_symbol(30, base, REG_OUTER);
	file->symbols[2] = registered_symbol(36, base + REG_INNER_OFF, REG_INNER);
}

/* Relocatable: the CFI in the file is not relocated, that in memory is. */
static inline void registered_make(struct registered_memory *memory, int is_relocatable)
{
	static const char *const name = "__jit_debug_descriptor";
	const uint32_t value = REG_DESCRIPTOR;
	const uint64_t descriptor[] = { 1, 0, REG_BASE + REG_ENTRY };
	const struct registered_entry entry = { .addr = REG_BASE + REG_FILE,
						.size = sizeof(struct registered_file) };
	struct registered_file file;

	memset(memory, 0, sizeof(*memory));
	jit_object_put(memory->bytes, &name, &value, 1);
	registered_put(memory, REG_DESCRIPTOR, descriptor, sizeof(descriptor));
	registered_put(memory, REG_ENTRY, &entry, sizeof(entry));
	registered_make_file(&file, is_relocatable);
	file.sections[REG_CFI].sh_size = registered_put_frames(
		is_relocatable ? memory->bytes + REG_FRAMES : file.frames, is_relocatable);
	registered_put(memory, REG_FILE, &file, sizeof(file));
}
