/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Section names read at most. The largest name table of Debian's /usr is below 64 KiB; object files
 * built with -ffunction-sections reach a few MiB.
 */
#define NAMES_MAX (16u << 20)

/* Files of up to this size are read at once. */
#define WHOLE_BYTES_MAX 65536u

/* Real note segments are below 1 KiB; core files have large ones, without a build-id. */
#define NOTE_BYTES_MAX 65536u

/* Counts of the ELF header, with the escapes for large counts resolved. */
struct counts {
	uint64_t nr_segments, nr_sections, names_idx;
};

void elf_file_close(struct elf_file *elf)
{
	if (!elf)
		return;
	if (elf->fd >= 0)
		close(elf->fd);
	free((void *)(uintptr_t)elf->memory);
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	free(elf->name);
	free(elf);
}

int elf_file_read(const struct elf_file *elf, uint64_t off, void *buf, size_t size,
		  struct fpl_err *err)
{
	uint64_t end;
	size_t done = 0;

	if (__builtin_add_overflow(off, size, &end) || end > elf->size)
		return fpl_fail(err, -ENODATA,
				"%s: +%#" PRIx64 ": wanted %zu bytes, file has %" PRIu64, elf->name,
				off, size, elf->size);
	if (elf->memory) {
		if (size)
			memcpy(buf, elf->memory + off, size);
		return 0;
	}
	while (done < size) {
		ssize_t n = pread(elf->fd, (uint8_t *)buf + done, size - done, (off_t)(off + done));
		int code = n < 0 ? -errno : 0;

		if (code == -EINTR)
			continue;
		if (code)
			return fpl_fail(err, code, "%s: +%#" PRIx64 ": %s", elf->name, off,
					strerror(-code));
		if (n == 0) /* shorter than at open: another process is truncating it */
			return fpl_fail(err, -ENODATA,
					"%s: +%#" PRIx64 ": wanted %zu bytes, file ends after %zu",
					elf->name, off, size, done);
		done += (size_t)n;
	}
	return 0;
}

static int read_header(struct elf_file *elf, Elf64_Ehdr *eh, struct fpl_err *err)
{
	int rc;

	if (elf->size < EI_NIDENT)
		return fpl_fail(err, -ENOEXEC, "%s: not an ELF file: %" PRIu64 " bytes", elf->name,
				elf->size);
	rc = elf_file_read(elf, 0, eh->e_ident, EI_NIDENT, err);
	if (rc)
		return rc;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return fpl_fail(err, -ENOEXEC, "%s: no ELF file", elf->name);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return fpl_fail(err, -ENOEXEC, "%s: not a 64-bit little-endian ELF file",
				elf->name);
	if (eh->e_ident[EI_VERSION] != EV_CURRENT)
		return fpl_fail(err, -ENOEXEC, "%s: ELF version %u is unknown", elf->name,
				eh->e_ident[EI_VERSION]);
	rc = elf_file_read(elf, 0, eh, sizeof(*eh), err);
	if (rc)
		return rc;
	elf->type = eh->e_type;
	elf->machine = eh->e_machine;
	elf->entry = eh->e_entry;
	return 0;
}

/*
 * Counts that do not fit the ELF header stand in section header 0 (gABI, "ELF Header": e_phnum
 * PN_XNUM, e_shnum 0, e_shstrndx SHN_XINDEX). Section counts of 0 mean "sectionless".
 */
static int resolve_counts(const struct elf_file *elf, const Elf64_Ehdr *eh, struct counts *ret,
			  struct fpl_err *err)
{
	struct counts counts = { .nr_segments = eh->e_phnum,
				 .nr_sections = eh->e_shnum,
				 .names_idx = eh->e_shstrndx };
	bool have_first = false;
	Elf64_Shdr first;

	if (eh->e_shoff && eh->e_shentsize == sizeof(first))
		have_first = elf_file_read(elf, eh->e_shoff, &first, sizeof(first), NULL) == 0;
	if (eh->e_phnum == PN_XNUM) {
		if (!have_first)
			return fpl_fail(
				err, -EINVAL,
				"%s: header: segment count is in section 0, which is absent",
				elf->name);
		counts.nr_segments = first.sh_info;
	}
	if (!have_first) {
		counts.nr_sections = 0;
	} else {
		if (eh->e_shnum == 0)
			counts.nr_sections = first.sh_size;
		if (eh->e_shstrndx == SHN_XINDEX)
			counts.names_idx = first.sh_link;
	}
	*ret = counts;
	return 0;
}

static uint64_t align_up(uint64_t off, uint64_t align)
{
	return (off + align - 1) & ~(align - 1);
}

/*
 * Puts NT_GNU_BUILD_ID of the notes at [off, off + size) into elf->build_id. @align: p_align or
 * sh_addralign; 8 means descriptors aligned to 8, all else 4 (gABI, "Note Section", as read by
 * glibc and binutils). Notes that do not hold together end the search; only the first 64 KiB are
 * looked at.
 */
static void find_build_id(struct elf_file *elf, uint64_t off, uint64_t size, uint64_t align)
{
	uint64_t pos = 0;
	Elf64_Nhdr note;

	align = align == 8 ? 8 : 4;
	if (size > NOTE_BYTES_MAX)
		size = NOTE_BYTES_MAX;
	while (pos < size && size - pos >= sizeof(note)) {
		char name[sizeof(ELF_NOTE_GNU)];
		uint64_t desc_pos;

		if (elf_file_read(elf, off + pos, &note, sizeof(note), NULL))
			return;
		/* 32-bit sizes in 64-bit sums: no wrap. */
		desc_pos = align_up(pos + sizeof(note) + note.n_namesz, align);
		if (desc_pos > size || note.n_descsz > size - desc_pos)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) &&
		    note.n_descsz > 0 && note.n_descsz <= sizeof(elf->build_id)) {
			if (elf_file_read(elf, off + pos + sizeof(note), name, sizeof(name), NULL))
				return;
			if (memcmp(name, ELF_NOTE_GNU, sizeof(name)) == 0) {
				if (elf_file_read(elf, off + desc_pos, elf->build_id, note.n_descsz,
						  NULL) == 0)
					elf->build_id_size = note.n_descsz;
				return;
			}
		}
		pos = align_up(desc_pos + note.n_descsz, align);
	}
}

/* Sums checked once here are safe wherever a consumer adds them. */
static bool segment_wraps(const struct elf_segment *segment)
{
	uint64_t end;

	return __builtin_add_overflow(segment->off, segment->file_size, &end) ||
	       __builtin_add_overflow(segment->vaddr, segment->mem_size, &end) ||
	       __builtin_add_overflow(segment->vaddr, segment->file_size, &end);
}

static int read_segments(struct elf_file *elf, const Elf64_Ehdr *eh, uint64_t nr,
			 struct fpl_err *err)
{
	AUTO_FREE Elf64_Phdr *ph = NULL;
	int rc;

	if (!nr)
		return 0;
	if (eh->e_phentsize != sizeof(*ph))
		return fpl_fail(err, -EINVAL, "%s: header: segment headers of %u bytes", elf->name,
				eh->e_phentsize);
	if (nr > ELF_FILE_SEGMENTS_MAX)
		return fpl_fail(err, -EINVAL, "%s: header: %" PRIu64 " segments, at most %u",
				elf->name, nr, ELF_FILE_SEGMENTS_MAX);
	ph = calloc(nr, sizeof(*ph));
	elf->segments = calloc(nr, sizeof(*elf->segments));
	if (!ph || !elf->segments)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	rc = elf_file_read(elf, eh->e_phoff, ph, nr * sizeof(*ph), err);
	if (rc)
		return rc;
	for (size_t i = 0; i < nr; i++) {
		elf->segments[i] = (struct elf_segment){
			.type = ph[i].p_type,
			.flags = ph[i].p_flags,
			.off = ph[i].p_offset,
			.vaddr = ph[i].p_vaddr,
			.file_size = ph[i].p_filesz,
			.mem_size = ph[i].p_memsz,
		};
		if (segment_wraps(&elf->segments[i]))
			return fpl_fail(err, -EINVAL, "%s: segment %zu: wraps around", elf->name,
					i);
		if (ph[i].p_type == PT_NOTE && !elf->build_id_size)
			find_build_id(elf, ph[i].p_offset, ph[i].p_filesz, ph[i].p_align);
	}
	elf->nr_segments = nr;
	return 0;
}

/* Read the section names into elf->names, NUL-terminated; *ret_size counts the NUL. */
static int read_names(struct elf_file *elf, const Elf64_Shdr *sh, size_t nr, uint64_t names_idx,
		      size_t *ret_size)
{
	uint64_t size = 0;

	if (names_idx >= nr)
		return -EINVAL;
	if (names_idx != SHN_UNDEF && sh[names_idx].sh_type != SHT_NOBITS)
		size = sh[names_idx].sh_size;
	if (size > NAMES_MAX || size > elf->size)
		return -EFBIG;
	elf->names = malloc(size + 1);
	if (!elf->names)
		return -ENOMEM;
	elf->names[size] = '\0';
	*ret_size = size + 1;
	return elf_file_read(elf, sh[names_idx].sh_offset, elf->names, size, NULL);
}

/* Any fault leaves the file sectionless: its segments suffice to load it. */
static int try_read_sections(struct elf_file *elf, const Elf64_Ehdr *eh, uint64_t nr,
			     uint64_t names_idx)
{
	AUTO_FREE Elf64_Shdr *sh = NULL;
	size_t names_size;
	int rc;

	if (!nr || nr > ELF_FILE_SECTIONS_MAX || nr * sizeof(*sh) > elf->size)
		return -EINVAL;
	sh = calloc(nr, sizeof(*sh));
	elf->sections = calloc(nr, sizeof(*elf->sections));
	if (!sh || !elf->sections)
		return -ENOMEM;
	rc = elf_file_read(elf, eh->e_shoff, sh, nr * sizeof(*sh), NULL);
	if (rc)
		return rc;
	rc = read_names(elf, sh, nr, names_idx, &names_size);
	if (rc)
		return rc;
	for (size_t i = 0; i < nr; i++) {
		uint64_t end;

		/* Section 0 holds counts, not a range. */
		if (i && (__builtin_add_overflow(sh[i].sh_offset, sh[i].sh_size, &end) ||
			  __builtin_add_overflow(sh[i].sh_addr, sh[i].sh_size, &end)))
			return -EINVAL;
		elf->sections[i] = (struct elf_section){
			.name = elf->names +
				(sh[i].sh_name < names_size ? sh[i].sh_name : names_size - 1),
			.type = sh[i].sh_type,
			.link = sh[i].sh_link,
			.info = sh[i].sh_info,
			.flags = sh[i].sh_flags,
			.vaddr = sh[i].sh_addr,
			.off = sh[i].sh_offset,
			.size = i ? sh[i].sh_size : 0,
			.entry_size = sh[i].sh_entsize,
		};
		if (i && sh[i].sh_type == SHT_NOTE && !elf->build_id_size)
			find_build_id(elf, sh[i].sh_offset, sh[i].sh_size, sh[i].sh_addralign);
	}
	elf->nr_sections = nr;
	return 0;
}

static int read_headers(struct elf_file *elf, struct fpl_err *err)
{
	struct counts counts = { 0 };
	Elf64_Ehdr eh;
	int rc;

	rc = read_header(elf, &eh, err);
	if (rc)
		return rc;
	rc = resolve_counts(elf, &eh, &counts, err);
	if (rc)
		return rc;
	rc = read_segments(elf, &eh, counts.nr_segments, err);
	if (rc)
		return rc;
	rc = try_read_sections(elf, &eh, counts.nr_sections, counts.names_idx);
	if (rc) {
		free(elf->sections);
		elf->sections = NULL;
		free(elf->names);
		elf->names = NULL;
	}
	return rc == -ENOMEM ? fpl_fail(err, rc, "%s: out of memory", elf->name) : 0;
}

/* A file without any data read; takes @fd over, also on failure. */
static int make_file(int fd, uint64_t size, const char *name, struct elf_file **ret,
		     struct fpl_err *err)
{
	AUTO_FD int owned_fd = fd;
	CLEANUP(elf_file_cleanup) struct elf_file *elf = calloc(1, sizeof(*elf));

	if (!elf)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	elf->fd = TAKE_FD(owned_fd);
	elf->size = size;
	elf->name = strdup(name);
	if (!elf->name)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	*ret = TAKE_PTR(elf);
	return 0;
}

/* Reads a small file at once, if it can be: some thirty reads of its parts would cost more. */
static void read_whole(struct elf_file *elf)
{
	AUTO_FREE uint8_t *bytes = elf->size <= WHOLE_BYTES_MAX ? malloc(elf->size + 1) : NULL;

	if (bytes && !elf_file_read(elf, 0, bytes, elf->size, NULL))
		elf->memory = TAKE_PTR(bytes);
}

int elf_file_open_sized(int fd, uint64_t size, const char *name, struct elf_file **ret,
			struct fpl_err *err)
{
	CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;
	int rc = make_file(fd, size, name, &elf, err);

	if (rc)
		return rc;
	read_whole(elf);
	rc = read_headers(elf, err);
	if (rc)
		return rc;
	*ret = TAKE_PTR(elf);
	return 0;
}

int elf_file_open(int fd, const char *name, struct elf_file **ret, struct fpl_err *err)
{
	AUTO_FD int owned_fd = fd;
	struct stat st;
	int rc;

	if (fstat(owned_fd, &st) < 0) {
		rc = -errno;
		return fpl_fail(err, rc, "%s: %s", name, strerror(-rc));
	}
	if (!S_ISREG(st.st_mode))
		return fpl_fail(err, -ENOEXEC, "%s: not a regular file", name);
	return elf_file_open_sized(TAKE_FD(owned_fd), (uint64_t)st.st_size, name, ret, err);
}

int elf_file_assemble(int fd, uint64_t size, const char *name, const struct elf_facts *facts,
		      struct elf_file **ret, struct fpl_err *err)
{
	CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;
	int rc = make_file(fd, size, name, &elf, err);

	if (rc)
		return rc;
	if (facts->nr_segments > ELF_FILE_SEGMENTS_MAX ||
	    facts->build_id_size > sizeof(elf->build_id))
		return fpl_fail(err, -EINVAL, "%s: more headers than a file can have", name);
	elf->type = facts->type;
	elf->machine = facts->machine;
	elf->entry = facts->entry;
	elf->build_id_size = facts->build_id_size;
	if (facts->build_id_size)
		memcpy(elf->build_id, facts->build_id, facts->build_id_size);
	elf->segments = calloc(facts->nr_segments + 1, sizeof(*elf->segments));
	if (!elf->segments)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	for (; elf->nr_segments < facts->nr_segments; elf->nr_segments++) {
		elf->segments[elf->nr_segments] = facts->segments[elf->nr_segments];
		if (segment_wraps(&elf->segments[elf->nr_segments]))
			return fpl_fail(err, -EINVAL, "%s: segment %zu: wraps around", name,
					elf->nr_segments);
	}
	*ret = TAKE_PTR(elf);
	return 0;
}

int elf_file_from_memory(const void *image, size_t size, const char *name, struct elf_file **ret,
			 struct fpl_err *err)
{
	CLEANUP(elf_file_cleanup) struct elf_file *elf = calloc(1, sizeof(*elf));
	uint8_t *copy;
	int rc;

	if (!elf)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	elf->fd = -1;
	elf->name = strdup(name);
	copy = malloc(size ? size : 1);
	elf->memory = copy;
	if (!elf->name || !copy)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	if (size)
		memcpy(copy, image, size);
	elf->size = size;
	rc = read_headers(elf, err);
	if (rc)
		return rc;
	*ret = TAKE_PTR(elf);
	return 0;
}

const struct elf_section *elf_file_section(const struct elf_file *elf, const char *name)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		if (strcmp(elf->sections[i].name, name) == 0)
			return &elf->sections[i];
	}
	return NULL;
}

const struct elf_segment *elf_file_load_at(const struct elf_file *elf, uint64_t vaddr,
					   uint64_t size)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *seg = &elf->segments[i];

		if (seg->type == PT_LOAD && vaddr >= seg->vaddr && size <= seg->file_size &&
		    vaddr - seg->vaddr <= seg->file_size - size)
			return seg;
	}
	return NULL;
}

int elf_file_read_vaddr(const struct elf_file *elf, uint64_t vaddr, void *buf, size_t size,
			struct fpl_err *err)
{
	const struct elf_segment *load = elf_file_load_at(elf, vaddr, size);

	if (!load)
		return fpl_fail(err, -ENOENT, "%s: no segment at 0x%llx", elf->name,
				(unsigned long long)vaddr);
	return elf_file_read(elf, vaddr - load->vaddr + load->off, buf, size, err);
}

int elf_file_bias(const struct elf_file *elf, uint64_t start, uint64_t file_off, uint64_t *ret)
{
	uint64_t page_mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const struct elf_segment *found = NULL;

	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *seg = &elf->segments[i];
		uint64_t first_off = seg->off & ~page_mask;

		if (seg->type != PT_LOAD || !(seg->flags & PF_X) || file_off < first_off ||
		    file_off >= seg->off + seg->file_size)
			continue;
		/*
		 * Neighbours may share a page of the file: the loader maps a segment from exactly
		 * its first page, so that segment is the right one.
		 */
		if (!found || (file_off == first_off && (found->off & ~page_mask) != file_off))
			found = seg;
	}
	if (!found)
		return -ENOENT;
	*ret = start - (found->vaddr + file_off - found->off);
	return 0;
}
