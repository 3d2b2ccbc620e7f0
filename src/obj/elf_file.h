/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF64 little-endian file read as hostile bytes: every table is bounds-checked, and contents
 * are read with pread into private memory (a mapped file that is truncated is SIGBUS).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ELF_FILE_BUILD_ID_MAX 64u
#define ELF_FILE_SEGMENTS_MAX 1024u /* program headers read; more: refused */
#define ELF_FILE_SECTIONS_MAX \
	65536u /* section headers read; more: the file counts as sectionless */

struct elf_segment {
	uint32_t type;	/* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t off, vaddr, file_size, mem_size;
};

/* Addresses of a file, [start, end). */
struct vaddr_range {
	uint64_t start, end;
};

struct elf_section {
	const char *name; /* borrowed from the file, never NULL */
	uint32_t type, link, info;
	uint64_t flags, vaddr, off, size, entry_size;
};

struct elf_file {
	char *name;	       /* owned: for messages */
	int fd;		       /* owned; -1 for an image in memory */
	const uint8_t *memory; /* owned: all bytes; NULL for a file that is not small */
	uint64_t size;	       /* bytes */
	uint16_t type;	       /* ET_* */
	uint16_t machine;      /* EM_* */
	uint64_t entry;
	struct elf_segment *segments; /* owned [nr_segments], in file order */
	struct elf_section *sections; /* owned [nr_sections], in file order; nr is 0 if stripped */
	size_t nr_segments, nr_sections;
	char *names; /* owned: section names */
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX];
	size_t build_id_size; /* 0: none */
};

/*
 * Read the headers of the ELF file open at @fd, which must be a regular file. Takes @fd over, also
 * on failure. @name is for messages.
 *
 * Errors: -ENOEXEC not ELF64 little-endian, or no regular file; -EINVAL headers that do not hold
 * together; -ENODATA file ends too early; -ENOMEM; errors of pread(2). Bad section headers are no
 * error: nr_sections is 0 then.
 */
FPL_MUST_CHECK int elf_file_open(int fd, const char *name, struct elf_file **ret,
				 struct fpl_err *err);

/*
 * The same for a caller that knows @size, the file's size in bytes, and that it is a regular file:
 * needs no system call other than pread(2).
 */
FPL_MUST_CHECK int elf_file_open_sized(int fd, uint64_t size, const char *name,
				       struct elf_file **ret, struct fpl_err *err);

/* Facts that another reader found in a file's headers. */
struct elf_facts {
	uint16_t type, machine;
	uint64_t entry;
	const struct elf_segment
		*segments; /* borrowed [nr_segments], at most ELF_FILE_SEGMENTS_MAX */
	size_t nr_segments;
	const uint8_t *build_id; /* borrowed [build_id_size], at most ELF_FILE_BUILD_ID_MAX */
	size_t build_id_size;
};

/*
 * Make a file of @facts without reading it: it has no sections, and elf_file_read() works. Takes
 * @fd over, also on failure. @size: bytes.
 *
 * Errors: -EINVAL facts that no headers can hold; -ENOMEM.
 */
FPL_MUST_CHECK int elf_file_assemble(int fd, uint64_t size, const char *name,
				     const struct elf_facts *facts, struct elf_file **ret,
				     struct fpl_err *err);

/* As elf_file_open() for a copy of the @size bytes at @image (the vDSO). */
FPL_MUST_CHECK int elf_file_from_memory(const void *image, size_t size, const char *name,
					struct elf_file **ret, struct fpl_err *err);
void elf_file_close(struct elf_file *elf);

/* For CLEANUP(). */
static inline void elf_file_cleanup(struct elf_file **elf)
{
	elf_file_close(*elf);
}

/* Read exactly @size bytes at file offset @off. Errors: -ENODATA past the end. */
FPL_MUST_CHECK int elf_file_read(const struct elf_file *elf, uint64_t off, void *buf, size_t size,
				 struct fpl_err *err);

/* The first section called @name, or NULL. */
const struct elf_section *elf_file_section(const struct elf_file *elf, const char *name);

/*
 * Read the contents of @section into a new buffer (the caller frees it), inflating SHF_COMPRESSED
 * sections (zlib, zstd). A result over @max bytes is refused with -EFBIG before it is allocated.
 */
FPL_MUST_CHECK int elf_file_section_bytes(const struct elf_file *elf,
					  const struct elf_section *section, size_t max,
					  uint8_t **ret, size_t *ret_size, struct fpl_err *err);

/* The PT_LOAD that holds the whole of [vaddr, vaddr + size) in its file part, or NULL. */
const struct elf_segment *elf_file_load_at(const struct elf_file *elf, uint64_t vaddr,
					   uint64_t size);

/* Read exactly @size bytes at @vaddr, of the file part of one PT_LOAD. Errors: -ENOENT no PT_LOAD
 * holds them; those of elf_file_read(). */
FPL_MUST_CHECK int elf_file_read_vaddr(const struct elf_file *elf, uint64_t vaddr, void *buf,
				       size_t size, struct fpl_err *err);

/*
 * Find the load bias (runtime address minus vaddr) of a mapping that starts at @start and maps the
 * file from @file_off: start - (p_vaddr + file_off - p_offset) of the executable PT_LOAD whose
 * pages hold file_off; PT_LOADs are mapped from page boundaries, so file_off may lie below
 * p_offset. Errors: -ENOENT no such PT_LOAD.
 */
FPL_MUST_CHECK int elf_file_bias(const struct elf_file *elf, uint64_t start, uint64_t file_off,
				 uint64_t *ret);
