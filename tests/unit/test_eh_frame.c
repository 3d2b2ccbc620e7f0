/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of .eh_frame and .debug_frame: encodings, augmentations, versions, damage. */
#include "cmocka_all.h"

#include <errno.h>

#include "tests/support/cfi_builder.h"
#include "tests/support/elf_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/eh_frame_hdr.h"

enum { TEXT_SIZE = 4096 };

/* The rows of one builder as text, or the error's name. */
static void rows_of(const struct cfi_builder *b, char *text, uint64_t *nr_bad)
{
	const struct cfi_builder *const builders[] = { b };
	struct fpl_err err = { 0 };
	struct cfi_file *file;
	int code = cfi_builder_open(builders, 1, &patient_limits, &file, &err);

	text[0] = '\0';
	if (code) {
		snprintf(text, TEXT_SIZE, "%s", err.msg);
		return;
	}
	assert_int_equal(cfi_builder_rows(file, text, TEXT_SIZE, &err), 0);
	*nr_bad = file->list.nr_bad;
	cfi_file_close(file);
}

static void check_rows(const char *what, const struct cfi_builder *b, const char *want,
		       uint64_t want_bad)
{
	char text[TEXT_SIZE];
	uint64_t nr_bad = want_bad;

	rows_of(b, text, &nr_bad);
	if (strcmp(text, want) != 0 || nr_bad != want_bad)
		fail_msg("%s: %lu bad, got\n%s", what, (unsigned long)nr_bad, text);
}

static void fde_pointers_are_read_in_every_encoding(void **state)
{
	/* The FDE's start field is at CFI_BUILDER_VADDR + 0x20: the CIE is padded to 24 bytes. */
	const uint64_t at = CFI_BUILDER_VADDR + 0x20;
	const uint64_t text = CFI_BUILDER_TEXT;
	const struct {
		const char *what;
		uint8_t encoding;
		uint64_t start;
		size_t width;
		const char *want;
	} cases[] = {
		{ "absptr", 0x00, text, 8, "0-10 r7+8\n" },
		{ "udata2", 0x02, text, 2, "0-10 r7+8\n" },
		{ "udata4", 0x03, text, 4, "0-10 r7+8\n" },
		{ "udata8", 0x04, text, 8, "0-10 r7+8\n" },
		{ "signed", 0x08, text, 8, "0-10 r7+8\n" },
		{ "sdata2", 0x0a, text, 2, "0-10 r7+8\n" },
		{ "sdata4", 0x0b, text, 4, "0-10 r7+8\n" },
		{ "sdata8", 0x0c, text, 8, "0-10 r7+8\n" },
		{ "pcrel absptr", 0x10, text - at, 8, "0-10 r7+8\n" },
		{ "pcrel sdata4", 0x1b, text - at, 4, "0-10 r7+8\n" },
		{ "pcrel sdata8", 0x1c, text - at, 8, "0-10 r7+8\n" },
		{ "textrel udata4", 0x23, 0x20, 4, "20-30 r7+8\n" },
		{ "datarel sdata4", 0x3b, (uint64_t)-0x20, 4, "e0-f0 r7+8\n" },
		{ "funcrel: there is no function yet", 0x43, text, 4, "0-10 r7+8\n" },
		{ "aligned", 0x50, text, 8, "0-10 r7+8\n" },
		{ "format 5 is none", 0x05, text, 8, "test: all of its 1 FDEs are malformed" },
		{ "relation 6 is none", 0x6b, text, 4, "test: all of its 1 FDEs are malformed" },
		{ "indirect, and nothing to read", 0x9b, text - at, 4,
		  "test: all of its 1 FDEs are malformed" },
		{ "outside the text", 0x03, 0x900000, 4, "test: all of its 1 FDEs are malformed" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint8_t encoding[] = { cases[i].encoding };
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_cie(&b, "zR", encoding, 1, BYTES("\x0c\x07\x08\x90\x01\x00\x00"));
		assert_int_equal(b.size, 0x18);
		cfi_builder_fde_begin(&b);
		cfi_builder_uint(&b, cases[i].start, cases[i].width);
		cfi_builder_uint(&b, 0x10, cases[i].width);
		cfi_builder_uleb(&b, 0);
		cfi_builder_end(&b);
		check_rows(cases[i].what, &b, cases[i].want, 0);
		cfi_builder_fini(&b);
	}
}

static void fde_pointers_are_read_as_leb128(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_cie(&b, "zR", BYTES("\x01"), CFI_BUILDER_START);
	cfi_builder_fde_begin(&b);
	cfi_builder_uleb(&b, CFI_BUILDER_TEXT);
	cfi_builder_uleb(&b, 0x10);
	cfi_builder_uleb(&b, 0);
	cfi_builder_end(&b);
	cfi_builder_cie(&b, "zR", BYTES("\x09"), CFI_BUILDER_START);
	cfi_builder_fde_begin(&b);
	cfi_builder_put(&b, BYTES("\xa0\x20")); /* 0x1020 */
	cfi_builder_put(&b, BYTES("\x10"));
	cfi_builder_uleb(&b, 0);
	cfi_builder_end(&b);
	check_rows("uleb128, sleb128", &b, "0-10 r7+8\n20-30 r7+8\n", 0);
	cfi_builder_fini(&b);
}

static void augmentations_are_read_letter_by_letter(void **state)
{
	static const struct {
		const char *what;
		const char *letters;
		const uint8_t *data;
		size_t size;
		const char *want;
	} cases[] = {
		{ "none", "", BYTES(""), "0-10 r7+8\n" },
		{ "z alone", "z", BYTES(""), "0-10 r7+8\n" },
		{ "zPLR as g++ writes it", "zPLR", BYTES("\x9b\x01\x02\x03\x04\x1b\x1b"),
		  "0-10 r7+8\n" },
		{ "personality omitted", "zPR", BYTES("\xff\x1b"), "0-10 r7+8\n" },
		{ "pauth and tagging letters say nothing here", "zRBG", BYTES("\x1b"),
		  "0-10 r7+8\n" },
		{ "S without z", "S", BYTES(""), "0-10 r7+8 signal\n" },
		{ "an unknown letter whose data the size steps over", "zRX", BYTES("\x1b\x99\x1b"),
		  "0-10 r7+8\n" },
		{ "an unknown letter without a size", "X", BYTES(""),
		  "test: all of its 1 FDEs are malformed" },
		{ "data longer than their size", "zPR", BYTES("\x00"),
		  "test: all of its 1 FDEs are malformed" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_cie(&b, cases[i].letters, cases[i].data, cases[i].size,
				CFI_BUILDER_START);
		b.encoding = strchr(cases[i].letters, 'R') ? 0x1b : 0;
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, BYTES(""));
		check_rows(cases[i].what, &b, cases[i].want, 0);
		cfi_builder_fini(&b);
	}
}

static void the_eh_augmentation_has_a_pointer_before_the_factors(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_begin(&b, 0);
	cfi_builder_put(&b, BYTES("\x01"
				  "eh\0\x11\x22\x33\x44\x55\x66\x77\x88\x01\x78\x10"));
	cfi_builder_put(&b, CFI_BUILDER_START);
	cfi_builder_end(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, BYTES("\x86\x02"));
	check_rows("eh", &b, "0-10 r7+8 r6=c-16\n", 0);
	cfi_builder_fini(&b);
}

static void debug_frame_versions_are_read(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *head; /* version, augmentation, factors, return address column */
		size_t size;
		bool wide;
		size_t segment, address;
		const char *want;
	} cases[] = {
		{ "version 1", BYTES("\x01\0\x01\x78\x10"), false, 0, 8, "0-10 r7+8 r6=c-16\n" },
		{ "version 3, column as LEB128", BYTES("\x03\0\x01\x78\x90\x00"), false, 0, 8,
		  "0-10 r7+8 r6=c-16\n" },
		{ "version 4", BYTES("\x04\0\x08\x00\x01\x78\x10"), false, 0, 8,
		  "0-10 r7+8 r6=c-16\n" },
		{ "version 4, segment selectors", BYTES("\x04\0\x08\x02\x01\x78\x10"), false, 2, 8,
		  "0-10 r7+8 r6=c-16\n" },
		{ "version 4, addresses of four bytes", BYTES("\x04\0\x04\x00\x01\x78\x10"), false,
		  0, 4, "0-10 r7+8 r6=c-16\n" },
		{ "64-bit DWARF", BYTES("\x03\0\x01\x78\x10"), true, 0, 8, "0-10 r7+8 r6=c-16\n" },
		{ "data alignment -4", BYTES("\x03\0\x01\x7c\x10"), false, 0, 8,
		  "0-10 r7+8 r6=c-8 ra=c-4\n" },
		{ "another return address column", BYTES("\x03\0\x01\x78\x05"), false, 0, 8,
		  "0-10 r7+8 r6=c-16 ra=v:r5+0\n" },
		{ "version 2 is none", BYTES("\x02\0\x01\x78\x10"), false, 0, 8,
		  "test: all of its 1 FDEs are malformed" },
		{ "version 4, addresses of three bytes", BYTES("\x04\0\x03\x00\x01\x78\x10"), false,
		  0, 8, "test: all of its 1 FDEs are malformed" },
		{ "augmentation without its NUL", BYTES("\x03zzzz"), false, 0, 8,
		  "test: all of its 1 FDEs are malformed" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_DEBUG_FRAME);
		b.wide = cases[i].wide;
		cfi_builder_begin(&b, UINT64_MAX);
		cfi_builder_put(&b, cases[i].head, cases[i].size);
		cfi_builder_put(&b, CFI_BUILDER_START);
		cfi_builder_end(&b);
		cfi_builder_fde_begin(&b);
		cfi_builder_uint(&b, 0, cases[i].segment);
		cfi_builder_uint(&b, CFI_BUILDER_TEXT, cases[i].address);
		cfi_builder_uint(&b, 0x10, cases[i].address);
		cfi_builder_put(&b, BYTES("\x86\x02"));
		cfi_builder_end(&b);
		check_rows(cases[i].what, &b, cases[i].want, 0);
		cfi_builder_fini(&b);
	}
}

static void debug_frame_cies_may_come_last(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_DEBUG_FRAME);
	b.cie = 4 + 4 + 8 + 8; /* behind the one FDE */
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, BYTES(""));
	assert_int_equal(b.size, b.cie);
	cfi_builder_usual_cie(&b);
	check_rows("FDE before its CIE", &b, "0-10 r7+8\n", 0);
	cfi_builder_fini(&b);
}

static void terminators_in_the_middle_are_stepped_over(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, BYTES(""));
	cfi_builder_uint(&b, 0, 4);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + 0x20, 0x10, BYTES(""));
	check_rows("by section", &b, "0-10 r7+8\n20-30 r7+8\n", 0);
	b.terminator_off = 0;
	check_rows("of unknown end", &b, "0-10 r7+8\n", 0);
	cfi_builder_fini(&b);
}

static void damage_costs_only_the_damaged_part(void **state)
{
	enum { FIRST, SECOND };
	static const struct {
		const char *what;
		unsigned entry;
		size_t off;
		uint32_t value;
		const char *want;
		uint64_t bad;
	} cases[] = {
		{ "length past the section", SECOND, 0, 0x10000, "0-10 r7+8\n", 0 },
		{ "length of the reserved range", SECOND, 0, 0xfffffff0, "0-10 r7+8\n", 0 },
		{ "64-bit length past everything", SECOND, 0, 0xffffffff, "0-10 r7+8\n", 0 },
		{ "CIE pointer before the section", SECOND, 4, 0x10000, "0-10 r7+8\n", 1 },
		{ "CIE pointer to an FDE", SECOND, 4, 0x18, "0-10 r7+8\n", 1 },
		{ "start outside the text", FIRST, 8, 0x10, "20-30 r7+8\n", 1 },
		{ "size 0", FIRST, 12, 0, "20-30 r7+8\n", 1 },
		{ "negative size", FIRST, 12, 0x80000000, "20-30 r7+8\n", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;
		size_t off[2];

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		off[FIRST] = b.size;
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, BYTES("\0\0\0"));
		off[SECOND] = b.size;
		cfi_builder_fde(&b, CFI_BUILDER_TEXT + 0x20, 0x10, BYTES("\0\0\0"));
		memcpy(b.bytes + off[cases[i].entry] + cases[i].off, &cases[i].value,
		       sizeof(cases[i].value));
		check_rows(cases[i].what, &b, cases[i].want, cases[i].bad);
		cfi_builder_fini(&b);
	}
}

static void an_fde_is_cut_to_its_segment(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT_END - 0x10, 0x100, BYTES(""));
	check_rows("past the end", &b, "1feff0-1ff000 r7+8\n", 0);
	cfi_builder_fini(&b);
}

/* A file without sections: one segment of code, one that holds header and .eh_frame. */
static struct elf_file *stripped_file(const struct cfi_builder *b, const uint8_t *hdr,
				      size_t hdr_size)
{
	enum { HDR_OFF = 0x1000, EH_FRAME_OFF = 0x1100, HDR_VADDR = CFI_BUILDER_VADDR - 0x100 };
	struct elf_builder elf;
	struct elf_file *file;
	struct fpl_err err;

	elf_builder_init(&elf, ET_DYN);
	elf.without_sections = true;
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, CFI_BUILDER_TEXT, 0x400, 0x10000);
	elf_builder_segment(&elf, PT_LOAD, PF_R, HDR_OFF, HDR_VADDR, 0x100 + b->size,
			    0x100 + b->size);
	elf_builder_segment(&elf, PT_GNU_EH_FRAME, PF_R, HDR_OFF, HDR_VADDR, hdr_size, hdr_size);
	elf_builder_put(&elf, HDR_OFF, hdr, hdr_size);
	elf_builder_put(&elf, EH_FRAME_OFF, b->bytes, b->size);
	elf_builder_finish(&elf);
	if (elf_file_from_memory(elf.bytes, elf.size, "stripped", &file, &err))
		fail_msg("%s", err.msg);
	elf_builder_fini(&elf);
	return file;
}

static int count_row(const struct cfi_row *row, void *ctx)
{
	(void)row;
	++*(unsigned *)ctx;
	return 0;
}

static void a_stripped_file_is_read_through_its_header(void **state)
{
	/* Two FDEs with a terminator between them, and bytes behind that are no entries. */
	static const struct {
		const char *what;
		const uint8_t *hdr;
		size_t size;
		int code;
		unsigned rows;
	} cases[] = {
		/* eh_frame_ptr at +4: 0x800000 - 0x7fff04 = 0xfc; the second FDE is at +0x30 */
		{ "with a table",
		  BYTES("\x01\x1b\x03\x3b\xfc\x00\x00\x00\x01\x00\x00\x00"
			"\x00\x00\x00\x00\x30\x01\x00\x00"),
		  0, 2 },
		{ "without a table", BYTES("\x01\x1b\xff\xff\xfc\x00\x00\x00"), 0, 1 },
		{ "table cut short", BYTES("\x01\x1b\x03\x3b\xfc\x00\x00\x00\xff\xff\xff\xff"), 0,
		  1 },
		{ "version 2", BYTES("\x02\x1b\xff\xff\xfc\x00\x00\x00"), -ENODATA, 0 },
		{ "points nowhere", BYTES("\x01\x1b\xff\xff\x00\x00\x00\x10"), -ENODATA, 0 },
		{ "empty", BYTES(""), -ENODATA, 0 },
	};
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, BYTES("\0"));
	assert_int_equal(b.size, 0x28);
	cfi_builder_uint(&b, 0, 4);
	cfi_builder_uint(&b, 0, 4);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + 0x20, 0x10, BYTES("\0"));
	cfi_builder_uint(&b, 0, 4);
	cfi_builder_uint(&b, 0x12345678, 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_file *elf = stripped_file(&b, cases[i].hdr, cases[i].size);
		struct fpl_err err = { 0 };
		unsigned rows = 0;
		int code = cfi_rows_for_each(elf, NULL, &patient_limits, count_row, &rows, &err);

		if (code != cases[i].code || rows != cases[i].rows)
			fail_msg("%s: %d (%s), %u rows", cases[i].what, code, err.msg, rows);
		elf_file_close(elf);
	}
	cfi_builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fde_pointers_are_read_in_every_encoding),
		cmocka_unit_test(fde_pointers_are_read_as_leb128),
		cmocka_unit_test(augmentations_are_read_letter_by_letter),
		cmocka_unit_test(the_eh_augmentation_has_a_pointer_before_the_factors),
		cmocka_unit_test(debug_frame_versions_are_read),
		cmocka_unit_test(debug_frame_cies_may_come_last),
		cmocka_unit_test(terminators_in_the_middle_are_stepped_over),
		cmocka_unit_test(damage_costs_only_the_damaged_part),
		cmocka_unit_test(an_fde_is_cut_to_its_segment),
		cmocka_unit_test(a_stripped_file_is_read_through_its_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
