/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "obj/blake2b.h"
#include "obj/identity.h"
#include "tests/support/elf_builder.h"

static void blake2b_gives_the_digests_of_other_implementations(void **state)
{
	/* hashlib.blake2b(bytes((i * 7 + 1) & 255 for i in range(n)), digest_size=16) */
	static const struct {
		size_t size;
		const char *want;
	} cases[] = {
		{ 0, "cae66941d9efbd404e4d88758ea67670" },
		{ 1, "4a9e6f9b8d43f6ad008f8c291929dee2" },
		{ 3, "5a71f812e6870c9e179e6e05319c7352" },
		{ 127, "4a6ed0477804afacb35109abac7f0c14" },
		{ 128, "10987546059f4ba6e114f4933aee33a2" },
		{ 129, "25bd156630f298793992d28a84e4628c" },
		{ 255, "5162b6ee46caa14ff3cc538d66b8e6e4" },
		{ 256, "b9480d67db85c898e34fc1bba4ad1e19" },
		{ 257, "1aad2e646e9ff664e7294e2b30abef52" },
		{ 1000, "81536df771ff23cdb89da9c53075bb4a" },
	};
	uint8_t input[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)(i * 7 + 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* In one piece, and in pieces that do not divide the block size. */
		for (size_t piece = 1000; piece; piece = piece == 1000 ? 37 : 0) {
			struct blake2b hash;
			uint8_t digest[16];
			char hex[33];

			blake2b_init(&hash, sizeof(digest));
			for (size_t off = 0; off < cases[i].size; off += piece) {
				size_t left = cases[i].size - off;

				blake2b_update(&hash, input + off, left < piece ? left : piece);
			}
			blake2b_final(&hash, digest);
			for (size_t k = 0; k < sizeof(digest); k++)
				snprintf(hex + 2 * k, 3, "%02x", digest[k]);
			if (strcmp(hex, cases[i].want) != 0)
				fail_msg("%zu bytes by %zu: %s", cases[i].size, piece, hex);
		}
	}
}

static void blake2b_of_abc_is_that_of_the_rfc(void **state)
{
	/* RFC 7693, appendix A */
	static const uint8_t want[8] = { 0xba, 0x80, 0xa5, 0x3f, 0x98, 0x1c, 0x4d, 0x0d };
	uint8_t digest[64];
	struct blake2b hash;

	(void)state;
	blake2b_init(&hash, sizeof(digest));
	blake2b_update(&hash, "abc", 3);
	blake2b_final(&hash, digest);
	assert_memory_equal(digest, want, sizeof(want));
}

/* Differences between the two files of a case. */
struct variant {
	const char *what;
	bool same;
	uint8_t frame, hdr, debug_frame, plt, init, fini, text, build_id, symbols, go_table,
		go_module;
	uint64_t frame_vaddr, entry, segment_vaddr;
	bool without_sections, debug_sections;
	bool go; /* a program of Go */
};

static struct identity identity_of(const struct variant *v)
{
	uint8_t frame[300], note[64], id[20] = { 9, 9, v->build_id };
	struct elf_builder b;
	struct elf_file *elf = NULL;
	struct identity identity;
	uint64_t off;
	size_t size;

	memset(frame, 7, sizeof(frame));
	frame[299] = v->frame;
	elf_builder_init(&b, ET_DYN);
	elf_builder_ehdr(&b)->e_entry = v->entry;
	size = elf_builder_note(note, NT_GNU_BUILD_ID, id, sizeof(id));
	elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, size);
	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, 0x1000, &v->text, 1);
	elf_builder_section(&b, ".plt.sec", SHT_PROGBITS, SHF_ALLOC, 0x1100, &v->plt, 1);
	elf_builder_section(&b, ".init", SHT_PROGBITS, SHF_ALLOC, 0x1200, &v->init, 1);
	elf_builder_section(&b, ".fini", SHT_PROGBITS, SHF_ALLOC, 0x1300, &v->fini, 1);
	off = elf_builder_append(&b, frame, sizeof(frame));
	elf_builder_section_at(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x2000 + v->frame_vaddr,
			       off, sizeof(frame));
	elf_builder_section(&b, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 0x3000, &v->hdr, 1);
	elf_builder_segment(&b, PT_LOAD, PF_R, 0, v->segment_vaddr, b.size, b.size);
	elf_builder_segment(&b, PT_GNU_EH_FRAME, PF_R, off, v->segment_vaddr + off, 8, 8);
	elf_builder_section(&b, ".debug_frame", SHT_PROGBITS, 0, 0, &v->debug_frame, 1);
	elf_builder_section(&b, ".symtab", SHT_SYMTAB, 0, 0, &v->symbols, 1);
	if (v->go) {
		elf_builder_section(&b, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x5000, &v->go_table,
				    1);
		elf_builder_section(&b, ".go.module", SHT_PROGBITS, SHF_ALLOC, 0x6000,
				    &v->go_module, 1);
	}
	if (v->debug_sections)
		elf_builder_section(&b, ".debug_info", SHT_PROGBITS, 0, 0, "x", 1);
	b.without_sections = v->without_sections;
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "v", &elf, NULL), 0);
	assert_int_equal(identity_read(elf, &identity, NULL), 0);
	elf_file_close(elf);
	elf_builder_fini(&b);
	return identity;
}

static void identity_depends_on_the_inputs_of_a_table(void **state)
{
	static const struct variant base = { .what = "itself", .same = true };
	static const struct variant cases[] = {
		{ .what = "itself", .same = true },
		{ .what = "symbols", .same = true, .symbols = 1 },
		{ .what = "not stripped", .same = true, .debug_sections = true },
		{ .what = "text", .same = true, .text = 1 },
		{ .what = "last byte of .eh_frame", .frame = 1 },
		{ .what = ".eh_frame_hdr", .hdr = 1 },
		{ .what = ".debug_frame", .debug_frame = 1 },
		{ .what = "PLT", .plt = 1 },
		{ .what = ".init", .init = 1 },
		{ .what = ".fini", .fini = 1 },
		{ .what = "build-id", .build_id = 1 },
		{ .what = "vaddr of .eh_frame", .frame_vaddr = 8 },
		{ .what = "entry", .entry = 1 },
		{ .what = "vaddr of a segment", .segment_vaddr = 0x1000 },
	};
	struct identity want = identity_of(&base);

	(void)state;
	assert_int_equal(want.build_id_size, 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct identity got = identity_of(&cases[i]);

		if ((memcmp(&got, &want, sizeof(got)) == 0) != cases[i].same)
			fail_msg("%s", cases[i].what);
	}
}

static void identity_of_a_go_program_covers_its_code_and_tables(void **state)
{
	static const struct variant base = { .go = true };
	static const struct variant cases[] = {
		{ .what = "itself", .go = true, .same = true },
		{ .what = "symbols", .go = true, .same = true, .symbols = 1 },
		{ .what = "text", .go = true, .text = 1 },
		{ .what = "pclntab", .go = true, .go_table = 1 },
		{ .what = "module", .go = true, .go_module = 1 },
	};
	struct identity want = identity_of(&base);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct identity got = identity_of(&cases[i]);

		if ((memcmp(&got, &want, sizeof(got)) == 0) != cases[i].same)
			fail_msg("%s", cases[i].what);
	}
}

/* Digests the names of a file with a build-id, or without, of which one section's byte is @byte. */
static void names_of(bool build_id, const char *name, uint32_t type, uint64_t flags, uint8_t byte,
		     uint8_t ret[IDENTITY_DIGEST_SIZE])
{
	uint8_t note[64], id[20] = { 9 };
	size_t size = elf_builder_note(note, NT_GNU_BUILD_ID, id, sizeof(id));
	struct elf_builder b;
	struct elf_file *elf = NULL;

	elf_builder_init(&b, ET_DYN);
	if (build_id)
		elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, size);
	elf_builder_section(&b, name, type, flags, 0, &byte, 1);
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "n", &elf, NULL), 0);
	assert_int_equal(identity_read_names(elf, ret, NULL), 0);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void names_digest_depends_on_the_sources_of_names(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t flags;
		bool counts, counts_without_build_id;
	} cases[] = {
		{ ".symtab", SHT_SYMTAB, 0, true, true },
		{ ".strtab", SHT_STRTAB, 0, true, true },
		{ ".dynsym", SHT_DYNSYM, SHF_ALLOC, true, true },
		{ ".dynstr", SHT_STRTAB, SHF_ALLOC, true, true },
		{ ".gnu_debuglink", SHT_PROGBITS, 0, true, true },
		{ ".gnu_debugdata", SHT_PROGBITS, 0, true, true },
		{ ".debug_line", SHT_PROGBITS, 0, false, true },
		{ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, false, false },
		{ ".data", SHT_PROGBITS, SHF_ALLOC, false, false },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		bool with = i & 1,
		     want = with ? cases[i / 2].counts : cases[i / 2].counts_without_build_id;
		uint8_t one[IDENTITY_DIGEST_SIZE], two[IDENTITY_DIGEST_SIZE];

		names_of(with, cases[i / 2].name, cases[i / 2].type, cases[i / 2].flags, 1, one);
		names_of(with, cases[i / 2].name, cases[i / 2].type, cases[i / 2].flags, 2, two);
		if ((memcmp(one, two, sizeof(one)) != 0) != want)
			fail_msg("%s with%s build-id", cases[i / 2].name, with ? "" : "out");
	}
}

static void identity_of_a_stripped_file_covers_the_segment_of_its_cfi(void **state)
{
	const struct variant a = { .without_sections = true };
	const struct variant b = { .without_sections = true, .frame = 1 };
	struct identity id_a = identity_of(&a), again = identity_of(&a), id_b = identity_of(&b);

	(void)state;
	assert_memory_equal(&id_a, &again, sizeof(id_a));
	assert_memory_not_equal(&id_a, &id_b, sizeof(id_a));
}

/* A file whose sections do not say where the CFI is, or not so that it can be read. */
struct hidden_cfi {
	const char *what;
	const char *section; /* the name that .eh_frame goes by; NULL: it has no section */
	uint32_t type;
	uint64_t flags, size;
	uint8_t encoding; /* of the pointer from .eh_frame_hdr */
};

/* The header and the CFI stand in segments of their own. */
static struct identity identity_of_hidden(const struct hidden_cfi *c, uint8_t frame, uint8_t data)
{
	uint8_t hdr[16] = { 1, c->encoding, 0xff, 0xff }, cfi[64] = { 7, frame };
	int32_t distance = 0x1000 - 4;
	struct elf_builder b;
	struct elf_file *elf = NULL;
	struct identity identity;
	uint64_t hdr_off, cfi_off, data_off;

	memcpy(hdr + 4, &distance, sizeof(distance));
	elf_builder_init(&b, ET_DYN);
	hdr_off = elf_builder_append(&b, hdr, sizeof(hdr));
	cfi_off = elf_builder_append(&b, cfi, sizeof(cfi));
	data_off = elf_builder_append(&b, &data, 1);
	elf_builder_segment(&b, PT_LOAD, PF_R, hdr_off, 0x1000, sizeof(hdr), sizeof(hdr));
	elf_builder_segment(&b, PT_LOAD, PF_R, cfi_off, 0x2000, sizeof(cfi), sizeof(cfi));
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_W, data_off, 0x3000, 1, 1);
	elf_builder_segment(&b, PT_GNU_EH_FRAME, PF_R, hdr_off, 0x1000, sizeof(hdr), sizeof(hdr));
	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, 0x4000, "x", 1);
	if (c->section) {
		size_t idx = elf_builder_section_at(&b, c->section, c->type, SHF_ALLOC, 0x2000,
						    cfi_off, c->size);

		elf_builder_shdr(&b, idx)->sh_flags |= c->flags;
	}
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "h", &elf, NULL), 0);
	assert_int_equal(identity_read(elf, &identity, NULL), 0);
	elf_file_close(elf);
	elf_builder_fini(&b);
	return identity;
}

static void identity_covers_cfi_that_is_found_by_segment(void **state)
{
	static const struct hidden_cfi cases[] = {
		{ "no section", NULL, 0, 0, 0, 0x1b },
		{ "another name", ".frames", SHT_PROGBITS, 0, 64, 0x1b },
		{ "no contents", ".eh_frame", SHT_NOBITS, 0, 64, 0x1b },
		{ "empty", ".eh_frame", SHT_PROGBITS, 0, 0, 0x1b },
		{ "outside of the file", ".eh_frame", SHT_PROGBITS, 0, 1 << 20, 0x1b },
		{ "compressed", ".eh_frame", SHT_PROGBITS, SHF_COMPRESSED, 8, 0x1b },
		{ "a pointer of another form", NULL, 0, 0, 0, 0x1c },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool any = cases[i].encoding != 0x1b; /* then all segments count */
		struct identity base = identity_of_hidden(&cases[i], 1, 1);
		struct identity frame = identity_of_hidden(&cases[i], 2, 1);
		struct identity data = identity_of_hidden(&cases[i], 1, 2);

		if (memcmp(&base, &frame, sizeof(base)) == 0)
			fail_msg("%s: the CFI does not count", cases[i].what);
		if ((memcmp(&base, &data, sizeof(base)) != 0) != any)
			fail_msg("%s: data %s", cases[i].what, any ? "does not count" : "counts");
	}
}

/* The header and the CFI stand behind other things in one segment, which is 1 GiB long. */
static void identity_of_a_large_segment_is_of_the_cfi_in_it(void **state)
{
	const uint64_t hole = 1u << 30;
	struct identity ids[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		uint8_t hdr[16] = { 1, 0x1b, 0xff, 0xff, 12, 0, 0, 0, i == 1 },
			cfi[64] = { 7, i == 2 };
		int fd = memfd_create("large", MFD_CLOEXEC);
		struct elf_builder b;
		struct elf_file *elf = NULL;

		elf_builder_init(&b, ET_DYN);
		elf_builder_segment(&b, PT_LOAD, PF_R, 0, 0, hole + 80, hole + 80);
		elf_builder_segment(&b, PT_GNU_EH_FRAME, PF_R, hole, hole, sizeof(hdr),
				    sizeof(hdr));
		b.without_sections = true;
		elf_builder_finish(&b);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, b.bytes, b.size), (ssize_t)b.size);
		assert_int_equal(pwrite(fd, hdr, sizeof(hdr), (off_t)hole), sizeof(hdr));
		assert_int_equal(pwrite(fd, cfi, sizeof(cfi), (off_t)hole + 16), sizeof(cfi));
		if (i == 3)
			assert_int_equal(pwrite(fd, "x", 1, (off_t)hole - 1), 1);
		assert_int_equal(elf_file_open(fd, "large", &elf, NULL), 0);
		assert_int_equal(identity_read(elf, &ids[i], NULL), 0);
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
	assert_memory_not_equal(&ids[0], &ids[1], sizeof(ids[0]));
	assert_memory_not_equal(&ids[0], &ids[2], sizeof(ids[0]));
	assert_memory_equal(&ids[0], &ids[3], sizeof(ids[0]));
}

static void identity_of_a_truncated_file_differs(void **state)
{
	uint8_t frame[300] = { 0 };
	struct identity whole, cut;
	struct elf_builder b;
	struct elf_file *elf = NULL;
	size_t idx;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	idx = elf_builder_section(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0, frame, 300);
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "w", &elf, NULL), 0);
	assert_int_equal(identity_read(elf, &whole, NULL), 0);
	elf_file_close(elf);
	elf_builder_shdr(&b, idx)->sh_offset = b.size - 299;
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "c", &elf, NULL), 0);
	assert_int_equal(identity_read(elf, &cut, NULL), 0);
	elf_file_close(elf);
	assert_memory_not_equal(&whole, &cut, sizeof(cut));
	elf_builder_fini(&b);
}

static void identity_refuses_to_digest_without_end(void **state)
{
	struct elf_builder b;
	struct elf_file *elf = NULL;
	struct identity identity;
	struct fpl_err err = { 0 };
	int fd;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	for (int i = 0; i < 20; i++)
		elf_builder_section_at(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0, 0, 1ull << 40);
	elf_builder_finish(&b);
	fd = elf_builder_memfd(&b);
	assert_int_equal(ftruncate(fd, 1ll << 41), 0);
	assert_int_equal(elf_file_open(fd, "huge", &elf, NULL), 0);
	assert_int_equal(identity_read(elf, &identity, &err), -EFBIG);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void code_without_end_does_not_cost_a_file_its_identity(void **state)
{
	struct elf_builder b;
	struct elf_file *elf = NULL;
	struct identity identity;
	int fd;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	elf_builder_section_at(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0,
			       1ull << 40);
	elf_builder_finish(&b);
	fd = elf_builder_memfd(&b);
	assert_int_equal(ftruncate(fd, 1ll << 41), 0);
	assert_int_equal(elf_file_open(fd, "huge", &elf, NULL), 0);
	assert_int_equal(identity_read(elf, &identity, NULL), 0);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void stamp_changes_with_size_and_time(void **state)
{
	struct file_stamp before, after;
	const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 6, .tv_nsec = 7 } };
	struct elf_builder b;
	int fd;

	(void)state;
	elf_builder_init(&b, ET_DYN);
	fd = elf_builder_memfd(&b);
	assert_int_equal(file_stamp_read(fd, &before), 0);
	assert_int_equal(before.size, b.size);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(file_stamp_read(fd, &after), 0);
	assert_int_equal(after.mtime_ns, 6000000007);
	assert_memory_not_equal(&before, &after, sizeof(after));
	close(fd);
	assert_int_equal(file_stamp_read(fd, &after), -EBADF);
	elf_builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blake2b_gives_the_digests_of_other_implementations),
		cmocka_unit_test(blake2b_of_abc_is_that_of_the_rfc),
		cmocka_unit_test(identity_depends_on_the_inputs_of_a_table),
		cmocka_unit_test(identity_of_a_go_program_covers_its_code_and_tables),
		cmocka_unit_test(names_digest_depends_on_the_sources_of_names),
		cmocka_unit_test(identity_of_a_stripped_file_covers_the_segment_of_its_cfi),
		cmocka_unit_test(identity_covers_cfi_that_is_found_by_segment),
		cmocka_unit_test(identity_of_a_large_segment_is_of_the_cfi_in_it),
		cmocka_unit_test(identity_of_a_truncated_file_differs),
		cmocka_unit_test(identity_refuses_to_digest_without_end),
		cmocka_unit_test(code_without_end_does_not_cost_a_file_its_identity),
		cmocka_unit_test(stamp_changes_with_size_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
