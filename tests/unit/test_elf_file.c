/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "obj/elf_file.h"
#include "tests/support/elf_builder.h"
#include "tests/support/elf_path.h"

static const uint8_t build_id[20] = { 0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Two executable segments whose vaddrs differ from their offsets, a build-id, three sections. */
static void build(struct elf_builder *b)
{
	uint8_t notes[128], stamp[4] = { 1, 2, 3, 4 };
	size_t size = elf_builder_note(notes, NT_GNU_ABI_TAG, stamp, sizeof(stamp));
	uint64_t off;

	elf_builder_init(b, ET_DYN);
	elf_builder_ehdr(b)->e_entry = 0x401040;
	size += elf_builder_note(notes + size, NT_GNU_BUILD_ID, build_id, sizeof(build_id));
	off = elf_builder_append(b, notes, size);
	elf_builder_put(b, 0x3fff, "", 1);
	elf_builder_segment(b, PT_LOAD, PF_R, 0, 0x400000, 0x800, 0x800);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, 0x1040, 0x401040, 0x400, 0x400);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, 0x2000, 0x800000, 0x1800, 0x1800);
	elf_builder_segment(b, PT_NOTE, PF_R, off, 0x400000 + off, size, size);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x401040,
			       0x1040, 0x400);
	elf_builder_section(b, ".data.test", SHT_PROGBITS, 0, 0, "payload", 7);
	elf_builder_section_at(b, ".bss", SHT_NOBITS, SHF_ALLOC, 0x900000, 0x4000, 1u << 30);
	elf_builder_finish(b);
}

static struct elf_file *open_built(const struct elf_builder *b)
{
	struct elf_file *elf = NULL;
	struct fpl_err err = { 0 };

	if (elf_file_open(elf_builder_memfd(b), "test", &elf, &err))
		fail_msg("%s", err.msg);
	return elf;
}

static void open_reads_headers_sections_and_build_id(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	build(&b);
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		struct fpl_err err = { 0 };

		elf = NULL;
		if (in_memory)
			assert_int_equal(elf_file_from_memory(b.bytes, b.size, "test", &elf, &err),
					 0);
		else
			elf = open_built(&b);
		assert_int_equal(elf->type, ET_DYN);
		assert_int_equal(elf->machine, EM_X86_64);
		assert_int_equal(elf->entry, 0x401040);
		assert_int_equal(elf->size, b.size);
		assert_int_equal(elf->nr_segments, 4);
		assert_int_equal(elf->segments[2].vaddr, 0x800000);
		assert_int_equal(elf->segments[2].off, 0x2000);
		assert_int_equal(elf->segments[2].flags, PF_R | PF_X);
		assert_int_equal(elf->nr_sections, b.nr_sections);
		assert_string_equal(elf->sections[1].name, ".text");
		assert_ptr_equal(elf_file_section(elf, ".data.test"), &elf->sections[2]);
		assert_null(elf_file_section(elf, ".nothing"));
		assert_int_equal(elf->build_id_size, sizeof(build_id));
		assert_memory_equal(elf->build_id, build_id, sizeof(build_id));
		elf_file_close(elf);
	}
	elf_builder_fini(&b);
}

static void damage_magic(struct elf_builder *b)
{
	b->bytes[1] = 'L';
}
static void damage_class(struct elf_builder *b)
{
	b->bytes[EI_CLASS] = ELFCLASS32;
}
static void damage_order(struct elf_builder *b)
{
	b->bytes[EI_DATA] = ELFDATA2MSB;
}
static void damage_empty(struct elf_builder *b)
{
	b->size = 0;
}
static void damage_cut_ident(struct elf_builder *b)
{
	b->size = 10;
}
static void damage_cut_header(struct elf_builder *b)
{
	b->size = 40;
}
static void damage_cut_segments(struct elf_builder *b)
{
	b->size = 100;
}
static void damage_segment_size(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_phentsize = 32;
}
static void damage_segment_count(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_phnum = ELF_FILE_SEGMENTS_MAX + 1;
}
static void damage_xnum_without_sections(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_phnum = PN_XNUM;
	elf_builder_ehdr(b)->e_shoff = 0;
}
static void damage_xnum_absurd(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_phnum = PN_XNUM;
	elf_builder_shdr(b, 0)->sh_info = UINT32_MAX;
}
static void damage_segment_offset(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_phoff = UINT64_MAX - 8;
}
static void damage_wrap_off(struct elf_builder *b)
{
	elf_builder_phdr(b, 1)->p_offset = UINT64_MAX - 0x10;
}
static void damage_wrap_vaddr(struct elf_builder *b)
{
	elf_builder_phdr(b, 1)->p_vaddr = UINT64_MAX - 0x10;
}

static void open_refuses_files_that_are_not_loadable_elf(void **state)
{
	static const struct {
		const char *what;
		void (*damage)(struct elf_builder *b);
		int want;
	} cases[] = {
		{ "wrong magic", damage_magic, -ENOEXEC },
		{ "32-bit", damage_class, -ENOEXEC },
		{ "big-endian", damage_order, -ENOEXEC },
		{ "empty", damage_empty, -ENOEXEC },
		{ "cut inside e_ident", damage_cut_ident, -ENOEXEC },
		{ "cut inside the ELF header", damage_cut_header, -ENODATA },
		{ "cut inside the segment headers", damage_cut_segments, -ENODATA },
		{ "segment header size", damage_segment_size, -EINVAL },
		{ "too many segments", damage_segment_count, -EINVAL },
		{ "PN_XNUM without sections", damage_xnum_without_sections, -EINVAL },
		{ "PN_XNUM with 2^32 segments", damage_xnum_absurd, -EINVAL },
		{ "segment headers beyond 2^64", damage_segment_offset, -ENODATA },
		{ "segment offset wraps", damage_wrap_off, -EINVAL },
		{ "segment vaddr wraps", damage_wrap_vaddr, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_builder b;
		struct elf_file *elf = NULL;
		struct fpl_err err = { 0 };

		build(&b);
		cases[i].damage(&b);
		if (elf_file_open(elf_builder_memfd(&b), "victim", &elf, &err) != cases[i].want)
			fail_msg("%s: %d %s", cases[i].what, err.code, err.msg);
		if (elf || err.code != cases[i].want || strncmp(err.msg, "victim: ", 8) != 0)
			fail_msg("%s: message \"%s\"", cases[i].what, err.msg);
		assert_int_equal(elf_file_from_memory(b.bytes, b.size, "victim", &elf, NULL),
				 cases[i].want);
		elf_builder_fini(&b);
	}
}

static void damage_no_shoff(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_shoff = 0;
}
static void damage_shoff(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_shoff = UINT64_MAX - 100;
}
static void damage_shnum(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_shnum = 60000;
}
static void damage_shnum_ext(struct elf_builder *b)
{
	elf_builder_shdr(b, 0)->sh_size = UINT64_MAX;
	elf_builder_ehdr(b)->e_shnum = 0;
}
static void damage_shentsize(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_shentsize = 40;
}
static void damage_shstrndx(struct elf_builder *b)
{
	elf_builder_ehdr(b)->e_shstrndx = 200;
}
static void damage_names_size(struct elf_builder *b)
{
	elf_builder_shdr(b, elf_builder_ehdr(b)->e_shstrndx)->sh_size = UINT64_MAX / 2;
}
static void damage_section_wraps(struct elf_builder *b)
{
	elf_builder_shdr(b, 1)->sh_offset = UINT64_MAX - 1;
}
static void damage_cut_sections(struct elf_builder *b)
{
	b->size -= 8;
}

static void bad_section_headers_leave_a_sectionless_file(void **state)
{
	static const struct {
		const char *what;
		void (*damage)(struct elf_builder *b);
	} cases[] = {
		{ "no section headers", damage_no_shoff },
		{ "beyond the end", damage_shoff },
		{ "more than the file holds", damage_shnum },
		{ "2^64 sections by section 0", damage_shnum_ext },
		{ "header size", damage_shentsize },
		{ "names in no section", damage_shstrndx },
		{ "names larger than the file", damage_names_size },
		{ "a section wraps", damage_section_wraps },
		{ "cut in the last header", damage_cut_sections },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_builder b;
		struct elf_file *elf;

		build(&b);
		cases[i].damage(&b);
		elf = open_built(&b);
		if (elf->nr_sections || elf->nr_segments != 4 || !elf->build_id_size)
			fail_msg("%s: %zu sections", cases[i].what, elf->nr_sections);
		assert_null(elf_file_section(elf, ".text"));
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
}

static void counts_that_do_not_fit_the_header_come_from_section_0(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	build(&b);
	elf_builder_shdr(&b, 0)->sh_size = elf_builder_ehdr(&b)->e_shnum;
	elf_builder_shdr(&b, 0)->sh_link = elf_builder_ehdr(&b)->e_shstrndx;
	elf_builder_shdr(&b, 0)->sh_info = 2;
	elf_builder_ehdr(&b)->e_shnum = 0;
	elf_builder_ehdr(&b)->e_shstrndx = SHN_XINDEX;
	elf_builder_ehdr(&b)->e_phnum = PN_XNUM;
	elf = open_built(&b);
	assert_int_equal(elf->nr_segments, 2);
	assert_int_equal(elf->nr_sections, b.nr_sections);
	assert_string_equal(elf->sections[1].name, ".text");
	assert_int_equal(elf->sections[0].size, 0);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void section_names_stay_inside_their_table(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	build(&b);
	elf_builder_shdr(&b, 1)->sh_name = UINT32_MAX;
	elf_builder_shdr(&b, 2)->sh_name = (uint32_t)b.names_size;
	/* The last name loses its NUL to the end of the table. */
	elf_builder_shdr(&b, elf_builder_ehdr(&b)->e_shstrndx)->sh_size--;
	elf = open_built(&b);
	assert_string_equal(elf->sections[1].name, "");
	assert_string_equal(elf->sections[2].name, "");
	assert_non_null(elf_file_section(elf, ".shstrtab"));
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void build_id_is_found_in_a_section_where_no_segment_has_it(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	uint8_t note[64];
	size_t size = elf_builder_note(note, NT_GNU_BUILD_ID, build_id, sizeof(build_id));

	(void)state;
	elf_builder_init(&b, ET_REL);
	elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, size);
	elf_builder_finish(&b);
	elf = open_built(&b);
	assert_int_equal(elf->nr_segments, 0);
	assert_int_equal(elf->build_id_size, sizeof(build_id));
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void build_id_is_the_first_one_in_a_note_segment(void **state)
{
	static const struct {
		uint32_t type;
		uint8_t first;
	} notes[] = { { PT_LOAD, 1 }, { PT_NOTE, 2 }, { PT_NOTE, 3 } };
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		uint8_t bytes[64], id[20] = { notes[i].first };
		size_t size = elf_builder_note(bytes, NT_GNU_BUILD_ID, id, sizeof(id));

		elf_builder_segment(&b, notes[i].type, PF_R, elf_builder_append(&b, bytes, size), 0,
				    size, size);
	}
	elf_builder_finish(&b);
	elf = open_built(&b);
	assert_int_equal(elf->build_id_size, 20);
	assert_int_equal(elf->build_id[0], 2);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void damaged_note_has_no_build_id(void **state)
{
	static const struct {
		const char *what;
		uint32_t name_size, desc_size, type;
		size_t want;
	} cases[] = {
		{ "as it should be", 4, 20, NT_GNU_BUILD_ID, 20 },
		{ "descriptor past the segment", 4, 21, NT_GNU_BUILD_ID, 0 },
		{ "descriptor of 4 GiB", 4, UINT32_MAX, NT_GNU_BUILD_ID, 0 },
		{ "name of 4 GiB", UINT32_MAX, 20, NT_GNU_BUILD_ID, 0 },
		{ "empty descriptor", 4, 0, NT_GNU_BUILD_ID, 0 },
		{ "another name size", 3, 20, NT_GNU_BUILD_ID, 0 },
		{ "another type", 4, 20, NT_GNU_ABI_TAG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[64];
		size_t size = elf_builder_note(bytes, NT_GNU_BUILD_ID, build_id, 20);
		const Elf64_Nhdr note = { .n_namesz = cases[i].name_size,
					  .n_descsz = cases[i].desc_size,
					  .n_type = cases[i].type };
		struct elf_builder b;
		struct elf_file *elf;

		memcpy(bytes, &note, sizeof(note));
		elf_builder_init(&b, ET_DYN);
		elf_builder_segment(&b, PT_NOTE, PF_R, elf_builder_append(&b, bytes, size), 0, size,
				    size);
		b.without_sections = true;
		elf_builder_finish(&b);
		elf = open_built(&b);
		if (elf->build_id_size != cases[i].want)
			fail_msg("%s: %zu bytes", cases[i].what, elf->build_id_size);
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
}

static void oversized_build_id_is_ignored(void **state)
{
	uint8_t desc[ELF_FILE_BUILD_ID_MAX + 1] = { 1 }, note[128];
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	for (size_t extra = 0; extra < 2; extra++) {
		size_t size = elf_builder_note(note, NT_GNU_BUILD_ID, desc,
					       ELF_FILE_BUILD_ID_MAX + extra);

		elf_builder_init(&b, ET_DYN);
		elf_builder_section(&b, ".note", SHT_NOTE, 0, 0, note, size);
		elf_builder_finish(&b);
		elf = open_built(&b);
		assert_int_equal(elf->build_id_size, extra ? 0 : ELF_FILE_BUILD_ID_MAX);
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
}

static void build_id_behind_an_8_aligned_note_is_found(void **state)
{
	/* A property note of 4 descriptor bytes, padded to 8, in a segment of alignment 8. */
	uint8_t notes[128] = { 0 };
	size_t first = elf_builder_note(notes, NT_GNU_PROPERTY_TYPE_0, "\1\2\3\4", 4);
	size_t size = 24 + elf_builder_note(notes + 24, NT_GNU_BUILD_ID, build_id, 20);
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	assert_int_equal(first, 20);
	for (uint64_t align = 4; align <= 8; align += 4) {
		elf_builder_init(&b, ET_DYN);
		elf_builder_segment(&b, PT_NOTE, PF_R, elf_builder_append(&b, notes, size), 0, size,
				    size)
			->p_align = align;
		elf_builder_finish(&b);
		elf = open_built(&b);
		assert_int_equal(elf->build_id_size, align == 8 ? 20 : 0);
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
}

static void read_refuses_ranges_outside_the_file(void **state)
{
	struct elf_builder b;
	uint8_t buf[16];

	(void)state;
	build(&b);
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		struct elf_file *elf = NULL;
		struct fpl_err err = { 0 };

		if (in_memory)
			assert_int_equal(elf_file_from_memory(b.bytes, b.size, "test", &elf, NULL),
					 0);
		else
			elf = open_built(&b);
		assert_int_equal(elf_file_read(elf, 0, buf, 4, &err), 0);
		assert_memory_equal(buf, ELFMAG, 4);
		assert_int_equal(elf_file_read(elf, b.size - 4, buf, 4, &err), 0);
		assert_int_equal(elf_file_read(elf, b.size, buf, 0, &err), 0);
		assert_int_equal(elf_file_read(elf, b.size - 4, buf, 5, &err), -ENODATA);
		assert_int_equal(elf_file_read(elf, UINT64_MAX, buf, 1, &err), -ENODATA);
		assert_int_equal(elf_file_read(elf, UINT64_MAX - 3, buf, 8, &err), -ENODATA);
		elf_file_close(elf);
	}
	elf_builder_fini(&b);
}

static void read_of_a_file_truncated_after_open_is_an_error(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	uint8_t buf[16];
	int fd;

	(void)state;
	build(&b);
	fd = elf_builder_memfd(&b);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(elf_file_open(fd, "large", &elf, NULL), 0);
	assert_int_equal(ftruncate(elf->fd, 0x1008), 0);
	assert_int_equal(elf_file_read(elf, 0x1000, buf, 8, NULL), 0);
	assert_int_equal(elf_file_read(elf, 0x1000, buf, 16, NULL), -ENODATA);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void a_small_file_is_read_once(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	uint8_t buf[16];

	(void)state;
	build(&b);
	elf = open_built(&b);
	assert_int_equal(ftruncate(elf->fd, 0), 0);
	assert_int_equal(elf_file_read(elf, b.size - sizeof(buf), buf, sizeof(buf), NULL), 0);
	assert_memory_equal(buf, b.bytes + b.size - sizeof(buf), sizeof(buf));
	elf_file_close(elf);
	/* one that is shorter than was said is read as far as it goes */
	assert_int_equal(
		elf_file_open_sized(elf_builder_memfd(&b), b.size + 8, "short", &elf, NULL), 0);
	assert_int_equal(elf_file_read(elf, b.size - 8, buf, 8, NULL), 0);
	assert_int_equal(elf_file_read(elf, b.size - 8, buf, 16, NULL), -ENODATA);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void section_bytes_are_bounded_by_the_file_and_by_max(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	uint8_t *bytes = NULL;
	size_t size = 0;

	(void)state;
	build(&b);
	elf_builder_shdr(&b, 1)->sh_size = 1ull << 40;
	elf = open_built(&b);
	assert_int_equal(elf_file_section_bytes(elf, &elf->sections[2], 7, &bytes, &size, NULL), 0);
	assert_int_equal(size, 7);
	assert_memory_equal(bytes, "payload", 7);
	free(bytes);
	bytes = NULL;
	assert_int_equal(elf_file_section_bytes(elf, &elf->sections[2], 6, &bytes, &size, NULL),
			 -EFBIG);
	assert_int_equal(
		elf_file_section_bytes(elf, &elf->sections[1], SIZE_MAX, &bytes, &size, NULL),
		-ENODATA);
	assert_int_equal(
		elf_file_section_bytes(elf, &elf->sections[3], SIZE_MAX, &bytes, &size, NULL),
		-ENODATA);
	assert_null(bytes);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

/* A compressed section of @type: header plus the @size bytes of @packed. */
static struct elf_file *open_compressed(uint32_t type, uint64_t claimed_size, const void *packed,
					size_t size)
{
	const Elf64_Chdr ch = { .ch_type = type, .ch_size = claimed_size, .ch_addralign = 1 };
	AUTO_FREE uint8_t *bytes = malloc(sizeof(ch) + size);
	struct elf_builder b;
	struct elf_file *elf;

	assert_non_null(bytes);
	memcpy(bytes, &ch, sizeof(ch));
	memcpy(bytes + sizeof(ch), packed, size);
	elf_builder_init(&b, ET_DYN);
	elf_builder_section(&b, ".z", SHT_PROGBITS, SHF_COMPRESSED, 0, bytes, sizeof(ch) + size);
	elf_builder_finish(&b);
	elf = open_built(&b);
	elf_builder_fini(&b);
	return elf;
}

static void compressed_sections_are_inflated_or_refused(void **state)
{
	enum { ZLIB = 1, ZSTD = 2 };
	uint8_t plain[5000], zlib[6000], zstd[6000];
	uLongf zlib_size = sizeof(zlib);
	size_t zstd_size;

	(void)state;
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = (uint8_t)(i / 7);
	assert_int_equal(compress(zlib, &zlib_size, plain, sizeof(plain)), Z_OK);
	zstd_size = ZSTD_compress(zstd, sizeof(zstd), plain, sizeof(plain), 3);
	assert_false(ZSTD_isError(zstd_size));
	const struct {
		const char *what;
		uint32_t type;
		uint64_t claimed_size;
		const uint8_t *packed;
		size_t packed_size, max;
		int want;
	} cases[] = {
		{ "zlib", ZLIB, 5000, zlib, zlib_size, 5000, 0 },
		{ "zstd", ZSTD, 5000, zstd, zstd_size, 5000, 0 },
		{ "over the limit", ZLIB, 5000, zlib, zlib_size, 4999, -EFBIG },
		{ "claims 2^60 bytes", ZSTD, 1ull << 60, zstd, zstd_size, 1u << 30, -EFBIG },
		{ "zlib shorter than claimed", ZLIB, 5001, zlib, zlib_size, 9000, -EINVAL },
		{ "zlib longer than claimed", ZLIB, 4999, zlib, zlib_size, 9000, -EINVAL },
		{ "zstd shorter than claimed", ZSTD, 5001, zstd, zstd_size, 9000, -EINVAL },
		{ "zstd longer than claimed", ZSTD, 4999, zstd, zstd_size, 9000, -EINVAL },
		{ "zlib cut", ZLIB, 5000, zlib, zlib_size - 8, 9000, -EINVAL },
		{ "zstd cut", ZSTD, 5000, zstd, zstd_size - 8, 9000, -EINVAL },
		{ "unknown compression", 77, 5000, zlib, zlib_size, 9000, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_file *elf = open_compressed(cases[i].type, cases[i].claimed_size,
						       cases[i].packed, cases[i].packed_size);
		AUTO_FREE uint8_t *bytes = NULL;
		size_t size = 0;
		int rc = elf_file_section_bytes(elf, elf_file_section(elf, ".z"), cases[i].max,
						&bytes, &size, NULL);

		if (rc != cases[i].want)
			fail_msg("%s: %d", cases[i].what, rc);
		if (!rc && (size != sizeof(plain) || memcmp(bytes, plain, size) != 0))
			fail_msg("%s: wrong bytes", cases[i].what);
		elf_file_close(elf);
	}
}

static void compressed_section_shorter_than_its_header_is_refused(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	uint8_t *bytes = NULL;
	size_t size;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	elf_builder_section(&b, ".z", SHT_PROGBITS, SHF_COMPRESSED, 0, "12345678", 8);
	elf_builder_finish(&b);
	elf = open_built(&b);
	assert_int_equal(
		elf_file_section_bytes(elf, elf_file_section(elf, ".z"), 100, &bytes, &size, NULL),
		-EINVAL);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void load_at_finds_the_segment_that_holds_the_range(void **state)
{
	static const struct {
		const char *what;
		uint64_t vaddr, size;
		int want; /* index of the segment; -1 none */
	} cases[] = {
		{ "first byte", 0x401040, 1, 1 },
		{ "whole segment", 0x401040, 0x400, 1 },
		{ "one byte too many", 0x401040, 0x401, -1 },
		{ "before it", 0x40103f, 1, -1 },
		{ "last byte", 0x40143f, 1, 1 },
		{ "empty range at the end", 0x401440, 0, 1 },
		{ "second executable segment", 0x800010, 16, 2 },
		{ "size that wraps", 0x401041, UINT64_MAX, -1 },
		{ "nowhere", 0, 1, -1 },
	};
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	build(&b);
	elf = open_built(&b);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct elf_segment *want =
			cases[i].want < 0 ? NULL : &elf->segments[cases[i].want];

		if (elf_file_load_at(elf, cases[i].vaddr, cases[i].size) != want)
			fail_msg("%s", cases[i].what);
	}
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void bias_follows_the_executable_segment_of_the_mapping(void **state)
{
	static const struct {
		const char *what;
		uint64_t start, file_off;
		int rc;
		uint64_t bias;
	} cases[] = {
		/* 0x1040 maps from its page 0x1000, which is vaddr 0x401000 */
		{ "page before p_offset", 0x7f0000001000, 0x1000, 0, 0x7f0000001000 - 0x401000 },
		{ "second segment", 0x7f0000400000, 0x2000, 0, 0x7f0000400000 - 0x800000 },
		{ "middle of the second", 0x7f0000401000, 0x3000, 0, 0x7f0000401000 - 0x801000 },
		{ "not relocated", 0x401000, 0x1000, 0, 0 },
		{ "below its vaddr", 0x1000, 0x1000, 0, (uint64_t)0x1000 - 0x401000 },
		{ "not executable", 0x7f0000000000, 0, -ENOENT, 0 },
		{ "behind the last byte", 0x7f0000000000, 0x3800, -ENOENT, 0 },
		{ "far away", 0x7f0000000000, UINT64_MAX & ~0xfffull, -ENOENT, 0 },
	};
	struct elf_builder b;
	struct elf_file *elf;

	(void)state;
	build(&b);
	elf = open_built(&b);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bias = 0;
		int rc = elf_file_bias(elf, cases[i].start, cases[i].file_off, &bias);

		if (rc != cases[i].rc || bias != cases[i].bias)
			fail_msg("%s: %d, bias %#llx", cases[i].what, rc, (unsigned long long)bias);
	}
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void bias_of_a_shared_page_is_that_of_the_segment_starting_there(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	uint64_t bias = 0;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	elf_builder_put(&b, 0x4fff, "", 1);
	/* As lld lays segments out: the page at 0x2000 holds the end of one and the start of one.
	 */
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0x1800, 0x1800);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0x2800, 0x3800, 0x1000, 0x1000);
	elf_builder_finish(&b);
	elf = open_built(&b);
	assert_int_equal(elf_file_bias(elf, 0x10003000, 0x2000, &bias), 0);
	assert_int_equal(bias, 0x10000000);
	assert_int_equal(elf_file_bias(elf, 0x10001000, 0x1000, &bias), 0);
	assert_int_equal(bias, 0x10000000);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void open_path_refuses_all_but_regular_files(void **state)
{
	char dir[] = "/tmp/fpless-test-XXXXXX";
	char fifo[64];
	struct elf_file *elf = NULL;
	struct fpl_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_true(snprintf(fifo, sizeof(fifo), "%s/fifo", dir) > 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(elf_file_open_path(fifo, &elf, &err), -ENOEXEC);
	assert_int_equal(elf_file_open_path(dir, &elf, &err), -ENOEXEC);
	assert_int_equal(elf_file_open_path("/dev/zero", &elf, &err), -ENOEXEC);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(elf_file_open_path(fifo, &elf, &err), -ENOENT);
	assert_int_equal(rmdir(dir), 0);
	assert_null(elf);
}

static void open_takes_the_descriptor_over_also_on_failure(void **state)
{
	int fd = memfd_create("empty", MFD_CLOEXEC);
	struct elf_file *elf = NULL;

	(void)state;
	assert_int_equal(elf_file_open(fd, "empty", &elf, NULL), -ENOEXEC);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_reads_headers_sections_and_build_id),
		cmocka_unit_test(open_refuses_files_that_are_not_loadable_elf),
		cmocka_unit_test(bad_section_headers_leave_a_sectionless_file),
		cmocka_unit_test(counts_that_do_not_fit_the_header_come_from_section_0),
		cmocka_unit_test(section_names_stay_inside_their_table),
		cmocka_unit_test(build_id_is_found_in_a_section_where_no_segment_has_it),
		cmocka_unit_test(build_id_is_the_first_one_in_a_note_segment),
		cmocka_unit_test(damaged_note_has_no_build_id),
		cmocka_unit_test(oversized_build_id_is_ignored),
		cmocka_unit_test(build_id_behind_an_8_aligned_note_is_found),
		cmocka_unit_test(read_refuses_ranges_outside_the_file),
		cmocka_unit_test(read_of_a_file_truncated_after_open_is_an_error),
		cmocka_unit_test(a_small_file_is_read_once),
		cmocka_unit_test(section_bytes_are_bounded_by_the_file_and_by_max),
		cmocka_unit_test(compressed_sections_are_inflated_or_refused),
		cmocka_unit_test(compressed_section_shorter_than_its_header_is_refused),
		cmocka_unit_test(load_at_finds_the_segment_that_holds_the_range),
		cmocka_unit_test(bias_follows_the_executable_segment_of_the_mapping),
		cmocka_unit_test(bias_of_a_shared_page_is_that_of_the_segment_starting_there),
		cmocka_unit_test(open_path_refuses_all_but_regular_files),
		cmocka_unit_test(open_takes_the_descriptor_over_also_on_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
