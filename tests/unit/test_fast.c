/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reach of the fast interpreter. Code that it leaves alone costs only time, so only this test
 * shows that it takes the common code; test_cfa_program checks its rules.
 */
#include "cmocka_all.h"

#include <errno.h>

#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/fast.h"

enum { FDE_SIZE = 0x40, PROGRAM_MAX = 64 * 1024 };
enum { TEXT_END = 0x4000000 }; /* farther than three bytes reach */

struct outcome {
	uint64_t end; /* where it stopped, from the start of the FDE */
	uint64_t rows, covered_bytes, rules;
};

/* Run it over the first piece of @b, which may take @cpu_ns of time and @nr_rules plain rules. */
static int run_within(const struct cfi_builder *b, uint64_t cpu_ns, uint32_t nr_rules,
		      struct outcome *ret)
{
	struct table_limits limits = patient_limits;
	const struct cfi_section section = {
		.bytes = b->bytes,
		.size = b->size,
		.vaddr = CFI_BUILDER_VADDR,
		.text_vaddr = CFI_BUILDER_TEXT,
		.source = CFI_SOURCE_EH_FRAME,
		.terminator_off = b->terminator_off,
	};
	const struct cfi_range text = { CFI_BUILDER_TEXT, TEXT_END };
	struct table *table = calloc(1, sizeof(*table));
	struct rule_set rules;
	struct image image;
	static struct fast fast;
	struct cfi_file *file;
	struct fpl_err err;

	assert_non_null(table);
	memset(&fast, 0, sizeof(fast));
	if (cfi_file_from_sections("test", &section, 1, &text, 1, &limits, &file, &err) ||
	    rule_set_init(&rules, "test", &err) ||
	    image_init(&image, table, CFI_BUILDER_TEXT, TEXT_END, &file->budget, &err) ||
	    fast_init(&fast, file, &rules, &image, &err))
		fail_msg("%s", err.msg);
	image.end = file->pieces[0].start;
	limits.cpu_ns = cpu_ns;
	free(rules.slots);
	rules.slots = calloc(FPL_RULES_MAX, sizeof(*rules.slots));
	assert_non_null(rules.slots);
	rules.cap_slots = FPL_RULES_MAX;
	rules.nr_slots = FPL_RULES_MAX - nr_rules;

	int code = fast_run(&fast, &file->pieces[0], &ret->end, &err);

	ret->end -= CFI_BUILDER_TEXT;
	ret->rows = fast.rows;
	ret->rules = rules.nr_rules;
	ret->covered_bytes = fast.covered_bytes;
	assert_int_equal(ret->covered_bytes, ret->end);
	assert_int_equal(image.end - CFI_BUILDER_TEXT, ret->end);
	fast_fini(&fast);
	image_fini(&image);
	rule_set_fini(&rules);
	table_destroy(table);
	cfi_file_close(file);
	return code;
}

static struct outcome run(const struct cfi_builder *b)
{
	struct outcome ret;

	assert_int_equal(run_within(b, UINT64_MAX, FPL_RULES_MAX - 1, &ret), 0);
	return ret;
}

/* Each is one FDE of FDE_SIZE bytes. */
static const struct {
	const char *what;
	const uint8_t *code;
	size_t size;
	uint64_t end, rows;
} programs[] = {
	{ "no instructions", BYTES(""), FDE_SIZE, 1 },
	{ "nops", BYTES("\x00\x00\x00\x00\x00"), FDE_SIZE, 1 },
	{ "advances", BYTES("\x41\x02\x01\x03\x01\x00\x04\x01\x00\x00\x00"), FDE_SIZE, 5 },
	{ "to the end", BYTES("\x02\x40\x0e\x10"), FDE_SIZE, 1 },
	{ "beyond it", BYTES("\x02\x41\x0e\x10"), FDE_SIZE, 1 },
	{ "a byte short of it", BYTES("\x7f\x0e\x10"), FDE_SIZE, 2 },
	{ "advance by 0", BYTES("\x40\x0e\x10\x40"), FDE_SIZE, 1 },
	{ "advance_loc1 cut", BYTES("\x41\x02"), 1, 1 },
	{ "advance_loc2 cut", BYTES("\x41\x03\x00"), 1, 1 },
	{ "advance_loc4 cut", BYTES("\x41\x04\x00\x00\x00"), 1, 1 },
	{ "set_loc", BYTES("\x41\x01\x00\x00\x00\x00"), 1, 1 },
	{ "advance_loc8", BYTES("\x41\x1d\x01\x00\x00\x00\x00\x00\x00\x00"), 1, 1 },
	{ "def_cfa", BYTES("\x41\x0c\x00\x10"), FDE_SIZE, 2 },
	{ "def_cfa, the last register", BYTES("\x41\x0c\x0f\x10"), FDE_SIZE, 2 },
	{ "def_cfa, no general register", BYTES("\x41\x0c\x10\x10"), 1, 1 },
	{ "def_cfa, register cut", BYTES("\x41\x0c"), 1, 1 },
	{ "def_cfa, offset cut", BYTES("\x41\x0c\x07"), 1, 1 },
	{ "def_cfa_register", BYTES("\x41\x0d\x0f"), FDE_SIZE, 2 },
	{ "def_cfa_register cut", BYTES("\x41\x0d"), 1, 1 },
	{ "def_cfa_register, no general register", BYTES("\x41\x0d\x10"), 1, 1 },
	{ "def_cfa_offset", BYTES("\x41\x0e\x7f"), FDE_SIZE, 2 },
	{ "def_cfa_offset of 0", BYTES("\x41\x0e\x00"), FDE_SIZE, 2 },
	{ "def_cfa_offset of two bytes", BYTES("\x41\x0e\x80\x01"), FDE_SIZE, 2 },
	{ "def_cfa_offset of four bytes", BYTES("\x41\x0e\xa0\x80\x80\x01"), FDE_SIZE, 2 },
	{ "def_cfa_offset of five bytes", BYTES("\x41\x0e\xa0\x80\x80\x80\x00"), 1, 1 },
	{ "def_cfa_offset cut", BYTES("\x41\x0e"), 1, 1 },
	{ "def_cfa_offset cut inside its number", BYTES("\x41\x0e\x80"), 1, 1 },
	{ "def_cfa_offset_sf", BYTES("\x41\x13\x7e"), 1, 1 },
	{ "def_cfa_expression", BYTES("\x41\x0f\x03\x76\x78\x06"), 1, 1 },
	{ "the six registers of a rule",
	  BYTES("\x41\x83\x02\x86\x03\x8c\x04\x8d\x05\x8e\x06\x8f\x07"), FDE_SIZE, 2 },
	{ "at the CFA itself", BYTES("\x41\x83\x00"), FDE_SIZE, 2 },
	{ "the farthest", BYTES("\x41\x83\x7e"), FDE_SIZE, 2 },
	{ "one farther", BYTES("\x41\x83\x7f"), 1, 1 },
	{ "offset cut", BYTES("\x41\x83"), 1, 1 },
	{ "another register", BYTES("\x41\x82\x02"), 1, 1 },
	{ "the first", BYTES("\x41\x80\x02"), 1, 1 },
	{ "no general register", BYTES("\x41\xbf\x02"), 1, 1 },
	{ "the return address where it always is", BYTES("\x41\x90\x01"), FDE_SIZE, 2 },
	{ "the return address elsewhere", BYTES("\x41\x90\x02"), 1, 1 },
	{ "the return address at the CFA", BYTES("\x41\x90\x00"), 1, 1 },
	{ "push", BYTES("\x41\x0e\x10\x86\x02\x41\x0e\x18\x83\x03"), FDE_SIZE, 3 },
	{ "a def_cfa_offset, and an advance that a column follows",
	  BYTES("\x41\x0e\x10\x46\x0e\x18\x41\x0e\x20"), FDE_SIZE, 4 },
	{ "nops, and an advance that a column follows", BYTES("\x41\x00\x00\x03\x02\x00"), FDE_SIZE,
	  3 },
	{ "push of another register", BYTES("\x41\x0e\x10\x82\x02"), 1, 1 },
	{ "push of the return address, elsewhere", BYTES("\x41\x0e\x10\x90\x02"), 1, 1 },
	{ "push too far", BYTES("\x41\x0e\x10\x86\x7f"), 1, 1 },
	{ "push with numbers of two bytes", BYTES("\x41\x0e\x80\x01\x86\x82\x00"), FDE_SIZE, 2 },
	{ "offset_extended", BYTES("\x41\x05\x06\x02"), 1, 1 },
	{ "restore", BYTES("\x86\x02\x41\xc6"), FDE_SIZE, 2 },
	{ "restore of the first", BYTES("\x83\x02\x41\xc3"), FDE_SIZE, 2 },
	{ "restore of another register", BYTES("\x41\xc2"), 1, 1 },
	{ "restore of the return address", BYTES("\x41\xd0"), 1, 1 },
	{ "remember and restore", BYTES("\x0a\x0e\x10\x41\x0b"), FDE_SIZE, 2 },
	{ "eight states",
	  BYTES("\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x41\x0b\x0b\x0b\x0b\x0b\x0b\x0b"
		"\x0b"),
	  FDE_SIZE, 3 },
	{ "nine states", BYTES("\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), 1, 1 },
	{ "a state of nothing", BYTES("\x41\x0b"), 1, 1 },
	{ "args_size", BYTES("\x41\x2e\x00\x2e\x10"), FDE_SIZE, 2 },
	{ "args_size cut", BYTES("\x41\x2e\x80"), 1, 1 },
	{ "unknown", BYTES("\x41\x3f"), 1, 1 },
};

static void fast_interpreter_takes_known_instructions_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct cfi_builder b;
		struct outcome got;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, programs[i].code, programs[i].size);
		/* Read on into what comes next, and there are more rows. */
		cfi_builder_put(&b, "\x41\x41\x41\x41", 4);
		got = run(&b);
		if (got.end != programs[i].end || got.rows != programs[i].rows)
			fail_msg("%s: to %#lx, %lu rows", programs[i].what, (unsigned long)got.end,
				 (unsigned long)got.rows);
		cfi_builder_fini(&b);
	}
}

static void long_advances_are_read_whole(void **state)
{
	static const struct {
		const uint8_t *code;
		size_t size;
		uint64_t end;
	} cases[] = {
		{ BYTES("\x02\xfe\x3f"), 0xfe },
		{ BYTES("\x03\x34\x12\x3f"), 0x1234 },
		{ BYTES("\x04\x78\x56\x34\x01\x3f"), 0x1345678 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x2000000, cases[i].code, cases[i].size);
		assert_int_equal(run(&b).end, cases[i].end);
		cfi_builder_fini(&b);
	}
}

static void a_cie_must_start_with_one_plain_slot(void **state)
{
	static const struct {
		const char *what;
		const char *letters;
		uint8_t code_align, data_align, ra_column;
		const uint8_t *start;
		size_t start_size;
		uint64_t end;
	} cases[] = {
		{ "the usual one", "zR", 1, 0x78, 16, CFI_BUILDER_START, FDE_SIZE },
		{ "of signal frames", "zRS", 1, 0x78, 16, CFI_BUILDER_START, FDE_SIZE },
		{ "code in units of 2", "zR", 2, 0x78, 16, CFI_BUILDER_START, 0 },
		{ "data in units of -4", "zR", 1, 0x7c, 16, CFI_BUILDER_START, 0 },
		{ "data in units of 8", "zR", 1, 8, 16, CFI_BUILDER_START, 0 },
		{ "another return address column", "zR", 1, 0x78, 15, CFI_BUILDER_START, 0 },
		{ "a column beyond the registers", "zR", 1, 0x78, 17, CFI_BUILDER_START, 0 },
		{ "another one, saved where the usual one is", "zR", 1, 0x78, 15,
		  BYTES("\x0c\x07\x08\x8f\x01"), 0 },
		{ "rbx saved", "zR", 1, 0x78, 16, BYTES("\x0c\x07\x08\x83\x02"), FDE_SIZE },
		{ "rbx saved from the CFA's register", "zR", 1, 0x78, 16,
		  BYTES("\x0c\x06\x08\x10\x03\x02\x76\x50"), 0 },
		{ "a caller-saved register saved", "zR", 1, 0x78, 16, BYTES("\x0c\x07\x08\x82\x02"),
		  0 },
		{ "no CFA", "zR", 1, 0x78, 16, BYTES(""), 0 },
		{ "a CFA by an expression", "zR", 1, 0x78, 16, BYTES("\x0f\x03\x76\x78\x06"), 0 },
		{ "a CFA at a vector register", "zR", 1, 0x78, 16, BYTES("\x0c\x11\x08"), 0 },
		{ "a CFA too far away", "zR", 1, 0x78, 16, BYTES("\x0c\x07\x80\x80\x80\x80\x10"),
		  0 },
		{ "the end of the stack", "zR", 1, 0x78, 16, BYTES("\x0c\x07\x08\x07\x10"), 0 },
		{ "the return address in a register", "zR", 1, 0x78, 16,
		  BYTES("\x0c\x07\x08\x09\x10\x05"), 0 },
		{ "the return address elsewhere", "zR", 1, 0x78, 16, BYTES("\x0c\x07\x08\x90\x02"),
		  0 },
		{ "bad", "zR", 1, 0x78, 16, BYTES("\x0c\x07\x08\x3f"), 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;
		struct outcome got;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		b.code_align = cases[i].code_align;
		b.data_align = cases[i].data_align;
		b.ra_column = cases[i].ra_column;
		cfi_builder_cie(&b, cases[i].letters, BYTES("\x1b"), cases[i].start,
				cases[i].start_size);
		b.encoding = 0x1b;
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES("\x41\x0e\x10"));
		got = run(&b);
		if (got.end != cases[i].end || got.rows != (cases[i].end ? 2 : 0))
			fail_msg("%s: to %#lx", cases[i].what, (unsigned long)got.end);
		cfi_builder_fini(&b);
	}
}

static void long_programs_are_for_the_interpreter_that_looks_at_the_clock(void **state)
{
	uint8_t *nops = calloc(PROGRAM_MAX + 1, 1);

	(void)state;
	assert_non_null(nops);
	for (size_t more = 0; more < 2; more++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, nops, PROGRAM_MAX + more);
		assert_int_equal(run(&b).end, more ? 0 : FDE_SIZE);
		cfi_builder_fini(&b);
	}
	free(nops);
}

/* Far more rules than are remembered as seen lately, first alike in one half, then in the other. */
static void every_rule_is_told_from_all_others(void **state)
{
	enum { NR_OFFSETS = 4000, NR_PLACES = 63, NR = NR_OFFSETS + NR_PLACES * NR_PLACES };
	struct outcome got;
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde_begin(&b);
	cfi_builder_uint(&b, CFI_BUILDER_TEXT - (CFI_BUILDER_VADDR + b.size), 4);
	cfi_builder_uint(&b, NR, 4);
	cfi_builder_uleb(&b, 0);
	/* In no order: what comes later is neither always higher nor always lower. */
	for (unsigned i = 0; i < NR_OFFSETS; i++) {
		cfi_builder_uint(&b, CFA_DEF_CFA_OFFSET, 1);
		cfi_builder_uleb(&b, 1 + i * 2741u % NR_OFFSETS);
		cfi_builder_uint(&b, CFA_ADVANCE_LOC | 1, 1);
	}
	for (unsigned i = 0; i < NR_PLACES * NR_PLACES; i++) {
		unsigned place = i * 1597u % (NR_PLACES * NR_PLACES);

		cfi_builder_uint(&b, CFA_OFFSET | 3, 1);
		cfi_builder_uleb(&b, 1 + place / NR_PLACES);
		cfi_builder_uint(&b, CFA_OFFSET | 6, 1);
		cfi_builder_uleb(&b, 1 + place % NR_PLACES);
		cfi_builder_uint(&b, CFA_ADVANCE_LOC | 1, 1);
	}
	cfi_builder_end(&b);
	got = run(&b);
	assert_int_equal(got.end, NR);
	assert_int_equal(got.rows, NR);
	assert_int_equal(got.rules, NR);
	cfi_builder_fini(&b);
}

static void a_cie_that_takes_too_long_ends_it(void **state)
{
	enum { NR = 70000 };
	uint8_t *nops = calloc(NR, 1);

	(void)state;
	assert_non_null(nops);
	for (unsigned i = 0; i < 2; i++) {
		struct outcome got;
		struct cfi_builder b;

		/* Usable, as far as it gets: what is lost would be the error. */
		memcpy(nops, "\x0c\x07\x08\x90\x01", 5);
		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_cie(&b, "zR", BYTES("\x1b"), nops, NR);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES(""));
		assert_int_equal(run_within(&b, i ? UINT64_MAX : 0, 1, &got), i ? 0 : -EFBIG);
		assert_int_equal(got.end, i ? FDE_SIZE : 0);
		cfi_builder_fini(&b);
	}
	free(nops);
}

static void one_rule_too_many_ends_the_table(void **state)
{
	(void)state;
	for (uint32_t nr_rules = 0; nr_rules < 4; nr_rules++) {
		struct outcome got;
		struct cfi_builder b;

		/* Two rules, and the first again. */
		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES("\x0a\x41\x0e\x10\x41\x0b"));
		assert_int_equal(run_within(&b, UINT64_MAX, nr_rules, &got),
				 nr_rules < 2 ? -EFBIG : 0);
		assert_int_equal(got.rules, nr_rules < 2 ? nr_rules : 2);
		cfi_builder_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_interpreter_takes_known_instructions_only),
		cmocka_unit_test(long_advances_are_read_whole),
		cmocka_unit_test(a_cie_must_start_with_one_plain_slot),
		cmocka_unit_test(every_rule_is_told_from_all_others),
		cmocka_unit_test(a_cie_that_takes_too_long_ends_it),
		cmocka_unit_test(one_rule_too_many_ends_the_table),
		cmocka_unit_test(long_programs_are_for_the_interpreter_that_looks_at_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
