/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/identity.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "obj/blake2b.h"
#include "obj/file_stat.h"

/* A table of more than this is refused anyway (unwind/table.h). */
#define DIGESTED_MAX (256u << 20)
/* Above this, a file with the identity of another one counts as a different file. */
#define NAMES_MAX (64u << 20)
#define CHUNK	  65536u

struct digester {
	const struct elf_file *elf;
	struct blake2b hash;
	uint64_t left, limit; /* bytes of contents that may be digested: the rest, and in all */
	uint8_t *chunk;
};

static void add_u64(struct digester *dig, uint64_t value)
{
	blake2b_update(&dig->hash, &value, sizeof(value));
}

/*
 * Each range stands between its size and the number of bytes read: no bytes can be shifted between
 * ranges.
 */
static int add_range(struct digester *dig, uint64_t off, uint64_t size, struct fpl_err *err)
{
	const struct elf_file *elf = dig->elf;
	uint64_t done = 0;

	add_u64(dig, off);
	add_u64(dig, size);
	if (off > elf->size || size > elf->size - off)
		size = 0;
	if (size > dig->left)
		return fpl_fail(err, -EFBIG,
				"%s: more than %" PRIu64 " MiB to digest for its identity",
				elf->name, dig->limit >> 20);
	dig->left -= size;
	while (done < size) {
		size_t n = size - done < CHUNK ? (size_t)(size - done) : CHUNK;

		if (elf_file_read(elf, off + done, dig->chunk, n, NULL))
			break;
		blake2b_update(&dig->hash, dig->chunk, n);
		done += n;
	}
	add_u64(dig, done);
	return 0;
}

static bool has_table_bytes(const struct elf_section *section)
{
	return strcmp(section->name, ".eh_frame") == 0 ||
	       strcmp(section->name, ".eh_frame_hdr") == 0 ||
	       strcmp(section->name, ".debug_frame") == 0 ||
	       strncmp(section->name, ".plt", 4) == 0 || strcmp(section->name, ".init") == 0 ||
	       strcmp(section->name, ".fini") == 0;
}

/* Is the section among those that the rows of a Go program come from: its run time's table, and
 * code (unwind/go_pclntab.h)? */
static bool has_go_bytes(const struct elf_section *section)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro",
					     ".go.module", ".text" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(section->name, names[i]) == 0)
			return true;
	return false;
}

static bool is_go(const struct elf_file *elf)
{
	return elf_file_section(elf, ".gopclntab") ||
	       elf_file_section(elf, ".data.rel.ro.gopclntab") ||
	       elf_file_section(elf, ".go.buildinfo");
}

/* Are the bytes of an .eh_frame found by section? Otherwise they are found by segment. */
static bool has_eh_frame(const struct elf_file *elf)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (strcmp(section->name, ".eh_frame") == 0 && section->type != SHT_NOBITS &&
		    section->size && !(section->flags & SHF_COMPRESSED) &&
		    section->off <= elf->size && section->size <= elf->size - section->off)
			return true;
	}
	return false;
}

static uint64_t in_file(const struct elf_file *elf, uint64_t off, uint64_t size)
{
	return off > elf->size || size > elf->size - off ? 0 : size;
}

static uint64_t code_bytes(const struct elf_file *elf)
{
	uint64_t bytes = 0;

	for (size_t i = 1; i < elf->nr_sections && bytes <= DIGESTED_MAX; i++) {
		const struct elf_section *section = &elf->sections[i];

		if ((section->flags & SHF_EXECINSTR) && section->type != SHT_NOBITS)
			bytes += in_file(elf, section->off, section->size);
	}
	for (size_t i = 0; i < elf->nr_segments && !elf->nr_sections && bytes <= DIGESTED_MAX;
	     i++) {
		const struct elf_segment *seg = &elf->segments[i];

		if (seg->type == PT_LOAD && (seg->flags & PF_X))
			bytes += in_file(elf, seg->off, seg->file_size);
	}
	return bytes;
}

/*
 * Does the file's code need a digest? Rows are made from code without CFI, too. A build-id
 * determines the code; above this size no row is made from code.
 */
static bool is_known_by_code(const struct elf_file *elf)
{
	return elf->build_id_size == 0 && code_bytes(elf) <= DIGESTED_MAX;
}

static int add_sections(struct digester *dig, struct fpl_err *err)
{
	bool go = is_go(dig->elf), code = is_known_by_code(dig->elf);

	for (size_t i = 1; i < dig->elf->nr_sections; i++) {
		const struct elf_section *section = &dig->elf->sections[i];
		bool wanted = (has_table_bytes(section) || (go && has_go_bytes(section)) ||
			       (code && (section->flags & SHF_EXECINSTR))) &&
			      section->type != SHT_NOBITS;
		int rc;

		/* Sections that strip removes do not change an object's identity. */
		if (!wanted && !(section->flags & SHF_ALLOC))
			continue;
		blake2b_update(&dig->hash, section->name, strlen(section->name) + 1);
		add_u64(dig, section->type);
		add_u64(dig, section->flags);
		add_u64(dig, section->vaddr);
		add_u64(dig, section->size);
		if (!wanted)
			continue;
		rc = add_range(dig, section->off, section->size, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* From @vaddr to the end of its segment, at most @size bytes. */
static int add_loaded(struct digester *dig, const struct elf_segment *seg, uint64_t vaddr,
		      uint64_t size, struct fpl_err *err)
{
	uint64_t skipped = vaddr - seg->vaddr;
	uint64_t left = skipped < seg->file_size ? seg->file_size - skipped : 0;

	return add_range(dig, seg->off + skipped, left < size ? left : size, err);
}

/*
 * The call-frame information that PT_GNU_EH_FRAME leads to: the header, and the bytes from the
 * .eh_frame that its pointer of four bytes leads to; any other form may lead anywhere.
 */
static int add_eh_segments(struct digester *dig, const struct elf_segment *hdr, struct fpl_err *err)
{
	static const uint8_t usual[2] = { 1, 0x1b }; /* version; DW_EH_PE_pcrel | sdata4 */
	const struct elf_file *elf = dig->elf;
	const struct elf_segment *at = elf_file_load_at(elf, hdr->vaddr, 1), *target = NULL;
	uint64_t frames = 0;
	uint8_t bytes[8];
	int32_t distance;

	if (at &&
	    !elf_file_read(elf, at->off + (hdr->vaddr - at->vaddr), bytes, sizeof(bytes), NULL) &&
	    memcmp(bytes, usual, sizeof(usual)) == 0) {
		memcpy(&distance, bytes + 4, sizeof(distance));
		frames = hdr->vaddr + 4 + (uint64_t)(int64_t)distance;
		target = elf_file_load_at(elf, frames, 1);
	}
	if (target) {
		int rc = add_loaded(dig, at, hdr->vaddr, hdr->file_size, err);

		return rc ? rc : add_loaded(dig, target, frames, UINT64_MAX, err);
	}
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *seg = &elf->segments[i];
		int rc;

		if (seg->type != PT_LOAD)
			continue;
		rc = add_range(dig, seg->off, seg->file_size, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int add_segments(struct digester *dig, struct fpl_err *err)
{
	const struct elf_file *elf = dig->elf;
	bool by_section = has_eh_frame(elf);

	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *seg = &elf->segments[i];
		int rc;

		add_u64(dig, seg->type);
		add_u64(dig, seg->flags);
		add_u64(dig, seg->off);
		add_u64(dig, seg->vaddr);
		add_u64(dig, seg->file_size);
		add_u64(dig, seg->mem_size);
		if (seg->type == PT_LOAD && (seg->flags & PF_X) && elf->nr_sections == 0 &&
		    is_known_by_code(elf)) {
			rc = add_range(dig, seg->off, seg->file_size, err);
			if (rc)
				return rc;
		}
		if (seg->type != PT_GNU_EH_FRAME || by_section)
			continue;
		rc = add_eh_segments(dig, seg, err);
		if (rc)
			return rc;
	}
	return 0;
}

int identity_read(const struct elf_file *elf, struct identity *ret, struct fpl_err *err)
{
	AUTO_FREE uint8_t *chunk = malloc(CHUNK);
	struct digester dig = { .elf = elf, .left = DIGESTED_MAX, .chunk = chunk };
	int rc;

	if (is_known_by_code(elf))
		dig.left += code_bytes(elf);
	dig.limit = dig.left;

	if (!chunk)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	blake2b_init(&dig.hash, IDENTITY_DIGEST_SIZE);
	add_u64(&dig, elf->type);
	add_u64(&dig, elf->machine);
	add_u64(&dig, elf->entry);
	add_u64(&dig, elf->nr_segments);
	rc = add_segments(&dig, err);
	if (!rc)
		rc = add_sections(&dig, err);
	if (rc)
		return rc;
	memset(ret, 0, sizeof(*ret));
	ret->build_id_size = elf->build_id_size;
	memcpy(ret->build_id, elf->build_id, elf->build_id_size);
	blake2b_final(&dig.hash, ret->digest);
	return 0;
}

/* Can a name or a line come from the section? Code with a build-id was built with its debugging
 * information, but a user who strips a file may change its symbols freely. */
static bool has_names(const struct elf_file *elf, const struct elf_section *section)
{
	return section->type == SHT_SYMTAB || section->type == SHT_DYNSYM ||
	       section->type == SHT_STRTAB || strcmp(section->name, ".gnu_debuglink") == 0 ||
	       strcmp(section->name, ".gnu_debugdata") == 0 ||
	       (!elf->build_id_size && !(section->flags & SHF_ALLOC));
}

int identity_read_names(const struct elf_file *elf, uint8_t ret[IDENTITY_DIGEST_SIZE],
			struct fpl_err *err)
{
	AUTO_FREE uint8_t *chunk = malloc(CHUNK);
	struct digester dig = { .elf = elf, .left = NAMES_MAX, .limit = NAMES_MAX, .chunk = chunk };

	if (!chunk)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	blake2b_init(&dig.hash, IDENTITY_DIGEST_SIZE);
	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		int rc;

		if (section->type == SHT_NOBITS || !has_names(elf, section))
			continue;
		blake2b_update(&dig.hash, section->name, strlen(section->name) + 1);
		add_u64(&dig, section->type);
		add_u64(&dig, section->flags);
		add_u64(&dig, section->link);
		add_u64(&dig, section->info);
		add_u64(&dig, section->entry_size);
		rc = add_range(&dig, section->off, section->size, err);
		if (rc)
			return rc;
	}
	blake2b_final(&dig.hash, ret);
	return 0;
}

static int64_t to_ns(struct timespec ts)
{
	return (int64_t)((uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec);
}

struct file_stamp file_stamp_of(const struct stat *st)
{
	return (struct file_stamp){
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = to_ns(st->st_mtim),
		.ctime_ns = to_ns(st->st_ctim),
	};
}

int file_stamp_read(int fd, struct file_stamp *ret)
{
	struct stat st;
	int code = file_stat(fd, &st, NULL);

	if (!code)
		*ret = file_stamp_of(&st);
	return code;
}

bool file_stamp_holds(const struct file_stamp *stamp, int fd)
{
	struct file_stamp now = { 0 };

	return file_stamp_read(fd, &now) == 0 && now.size == stamp->size &&
	       now.mtime_ns == stamp->mtime_ns;
}

struct trust trust_of(const struct stat *stat)
{
	bool is_shared = (stat->st_mode & (S_IWGRP | S_IWOTH)) || !stat->st_nlink;

	return (struct trust){ .dev = stat->st_dev,
			       .uid = stat->st_uid,
			       .inode = is_shared ? stat->st_ino : 0 };
}

int trust_read(int fd, struct trust *ret)
{
	struct stat st;
	int code = file_stat(fd, &st, NULL);

	if (!code)
		*ret = trust_of(&st);
	return code;
}

bool trust_covers(const struct trust *trust, const struct trust *debug)
{
	return !debug->inode && (debug->uid == 0 || debug->uid == trust->uid);
}

bool trust_is_same_owner(const struct trust *trust, const struct trust *beside)
{
	return !beside->inode && beside->uid == trust->uid && beside->dev == trust->dev;
}

int met_file_read(int fd, struct met_file *ret)
{
	int code;

	*ret = (struct met_file){ .fd = fd };
	code = file_stamp_read(fd, &ret->stamp);
	return code ? code : trust_read(fd, &ret->trust);
}
