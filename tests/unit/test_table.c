/* SPDX-License-Identifier: Apache-2.0 */
/* The table image: pages, gaps, shared and wide pages, chunks, and what a file may cost. */
#include "cmocka_all.h"

#include <errno.h>

#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/image.h"

enum { TEXT = CFI_BUILDER_TEXT, PAGE = 1 << FPL_PAGE_LOG2 };

static const struct cfi_section *section_of(const struct cfi_builder *b, struct cfi_section *ret)
{
	*ret = (struct cfi_section){ .bytes = b->bytes,
				     .size = b->size,
				     .vaddr = CFI_BUILDER_VADDR,
				     .source = b->source,
				     .terminator_off = SIZE_MAX };
	return ret;
}

/* Compile with text of [TEXT, @text_end). Returns table_compile_file()'s code. */
static int compile(const struct cfi_builder *b, uint64_t text_end,
		   const struct table_limits *limits, struct table **ret, struct fpl_err *err)
{
	const struct cfi_range text = { TEXT, text_end };
	struct cfi_section section;
	struct cfi_file *file;
	int code = cfi_file_from_sections("test", section_of(b, &section), 1, &text, 1, limits,
					  &file, err);

	if (code)
		return code;
	code = table_compile_file(file, ret, err);
	cfi_file_close(file);
	return code;
}

static struct table *compiled(const struct cfi_builder *b, uint64_t text_end)
{
	struct table *table;
	struct fpl_err err;

	if (compile(b, text_end, &patient_limits, &table, &err))
		fail_msg("%s", err.msg);
	return table;
}

/* The CFA offset in force at @vaddr, -1 where there is no rule. */
static int off_at(const struct table *table, uint64_t vaddr)
{
	const struct fpl_rule *rule = table_find(table, vaddr);

	return rule->cfa == FPL_CFA_NONE ? -1 : rule->cfa_off;
}

static void alignment_gap_continues_the_previous_rule(void **state)
{
	static const struct {
		const char *what;
		uint64_t end, start; /* of the gap, from the start of the text */
		int in_gap;
	} cases[] = {
		{ "none", 0x30, 0x30, 24 },
		{ "one byte up to 2", 0x31, 0x32, 16 },
		{ "15 bytes up to 16", 0x31, 0x40, 16 },
		{ "16 bytes", 0x30, 0x40, -1 },
		{ "31 bytes up to 32", 0x41, 0x60, -1 },
		{ "3 bytes up to 4", 0x31, 0x34, 16 },
		{ "5 bytes up to 4", 0x2f, 0x34, -1 },
		{ "glibc's clone3: 10 bytes up to an odd address", 0x37, 0x41, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t end = TEXT + cases[i].end, start = TEXT + cases[i].start;
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, TEXT + 0x20, end - (TEXT + 0x20), BYTES("\x0e\x10"));
		cfi_builder_fde(&b, start, 0x10, BYTES("\x0e\x18"));

		struct table *table = compiled(&b, CFI_BUILDER_TEXT_END);

		if (off_at(table, end) != cases[i].in_gap ||
		    (start > end && off_at(table, start - 1) != cases[i].in_gap))
			fail_msg("%s: %d", cases[i].what, off_at(table, end));
		assert_int_equal(off_at(table, TEXT + 0x1f), -1);
		assert_int_equal(off_at(table, TEXT + 0x20), 16);
		assert_int_equal(off_at(table, end - 1), 16);
		assert_int_equal(off_at(table, start), 24);
		assert_int_equal(off_at(table, start + 0xf), 24);
		assert_int_equal(off_at(table, start + 0x10), -1);
		table_destroy(table);
		cfi_builder_fini(&b);
	}
}

static void no_rule_runs_over_a_bad_instruction(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, TEXT, 8, BYTES("\x0e\x10\x44\x3f"));
	cfi_builder_fde(&b, TEXT + 8, 8, BYTES("\x0e\x18"));

	struct table *table = compiled(&b, CFI_BUILDER_TEXT_END);

	assert_int_equal(off_at(table, TEXT + 3), 16);
	assert_int_equal(off_at(table, TEXT + 4), -1);
	assert_int_equal(off_at(table, TEXT + 7), -1);
	assert_int_equal(off_at(table, TEXT + 8), 24);
	assert_int_equal(table->stats.fdes_bad, 1);
	assert_int_equal(table->stats.fdes, 2);
	table_destroy(table);
	cfi_builder_fini(&b);
}

static void rules_go_on_over_page_boundaries(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	/* Three pages of one rule, then a change right at the fifth page's first byte. */
	cfi_builder_fde(&b, TEXT + 0x100, 5 * PAGE - TEXT - 0x100, BYTES("\x0e\x10"));
	cfi_builder_fde(&b, 5 * PAGE, 0x100, BYTES("\x0e\x18"));
	/* A page without a row, and one whose row ends with it. */
	cfi_builder_fde(&b, 8 * PAGE - 0x10, 0x10, BYTES("\x0e\x20"));

	struct table *table = compiled(&b, 9 * PAGE);

	assert_int_equal(table->nr_pages, 9);
	assert_int_equal(off_at(table, TEXT + 0xff), -1);
	for (uint64_t page = 1; page < 5; page++) {
		assert_int_equal(off_at(table, page * PAGE), 16);
		assert_int_equal(off_at(table, page * PAGE + 0x8000), 16);
		assert_int_equal(off_at(table, page * PAGE - 1), 16);
	}
	assert_int_equal(off_at(table, 5 * PAGE - 1), 16);
	assert_int_equal(off_at(table, 5 * PAGE), 24);
	assert_int_equal(off_at(table, 5 * PAGE + 0xff), 24);
	assert_int_equal(off_at(table, 5 * PAGE + 0x100), -1);
	assert_int_equal(off_at(table, 6 * PAGE), -1);
	assert_int_equal(off_at(table, 8 * PAGE - 0x11), -1);
	assert_int_equal(off_at(table, 8 * PAGE - 1), 32);
	assert_int_equal(off_at(table, 8 * PAGE), -1);
	assert_int_equal(off_at(table, 9 * PAGE), -1);
	assert_int_equal(off_at(table, 0), -1);
	assert_int_equal(off_at(table, UINT64_MAX), -1);
	/* Pages 1 to 4 are one row, the same: stored once. */
	assert_int_equal(table->stats.rows, 2 + 1 + 2 + 2);
	table_destroy(table);
	cfi_builder_fini(&b);
}

static void a_table_covers_every_range_of_text(void **state)
{
	const struct cfi_range text[] = { { TEXT, TEXT + 0x100 },
					  { 2 * PAGE, 2 * PAGE + 0x100 },
					  { 5 * PAGE, 5 * PAGE + 0x100 } };
	struct cfi_section section;
	struct cfi_builder b;
	struct cfi_file *file;
	struct table *table = NULL;
	struct fpl_err err;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	for (unsigned i = 0; i < ARRAY_SIZE(text); i++)
		cfi_builder_fde(&b, text[i].start, 0x100, BYTES("\x0e\x10"));
	if (cfi_file_from_sections("test", section_of(&b, &section), 1, text, ARRAY_SIZE(text),
				   &patient_limits, &file, &err) ||
	    table_compile_file(file, &table, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(table->first_vaddr, 0);
	assert_int_equal(table->nr_pages, 6);
	assert_int_equal(table->stats.text_bytes, 0x300);
	for (unsigned i = 0; i < ARRAY_SIZE(text); i++) {
		assert_int_equal(off_at(table, text[i].start - 1), -1);
		assert_int_equal(off_at(table, text[i].start), 16);
		assert_int_equal(off_at(table, text[i].end - 1), 16);
		assert_int_equal(off_at(table, text[i].end), -1);
	}
	table_destroy(table);
	cfi_file_close(file);
	cfi_builder_fini(&b);
}

/* An FDE of @nr rows of @step bytes, with CFA offsets that cycle through @nr_offsets values. */
static void add_rows(struct cfi_builder *b, uint64_t start, unsigned nr, unsigned step,
		     unsigned nr_offsets)
{
	cfi_builder_fde_begin(b);
	cfi_builder_uint(b, start - (CFI_BUILDER_VADDR + b->size), 4);
	cfi_builder_uint(b, (uint64_t)nr * step, 4);
	cfi_builder_uleb(b, 0);
	for (unsigned i = 0; i < nr; i++) {
		if (i)
			cfi_builder_uint(b, CFA_ADVANCE_LOC | step, 1);
		cfi_builder_uint(b, CFA_DEF_CFA_OFFSET, 1);
		cfi_builder_uleb(b, 8 + 8 * (i % nr_offsets));
	}
	cfi_builder_end(b);
}

static void pages_of_any_density_answer_every_pc(void **state)
{
	static const struct {
		const char *what;
		uint64_t start;
		unsigned nr, step, nr_offsets;
		unsigned want_dict; /* of the first page; 0: wide */
	} cases[] = {
		{ "a row per 32 bytes", 2 * PAGE, 2048, 32, 10, 10 },
		{ "7 rows a span, and a gap", 2 * PAGE, 1771, 37, 3, 4 },
		{ "255 rules and NONE are still narrow", 2 * PAGE, 300, 4, 255, 256 },
		{ "256 rules and NONE are wide", 2 * PAGE, 300, 4, 256, 0 },
		{ "a row on each byte, narrow", 2 * PAGE, 65536, 1, 5, 5 },
		{ "a row on each byte, wide", 2 * PAGE, 65536, 1, 1000, 0 },
		{ "a row on each byte over a page boundary", 2 * PAGE + 0x7fff, 65536, 1, 300, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		add_rows(&b, cases[i].start, cases[i].nr, cases[i].step, cases[i].nr_offsets);

		uint64_t size = (uint64_t)cases[i].nr * cases[i].step;
		struct table *table = compiled(&b, 8 * PAGE);
		const struct fpl_page *page =
			(const void *)(table->chunks[0] + table->dir_off + 2 * sizeof(*page));

		for (uint64_t at = 0; at < size; at++) {
			int want = 8 + 8 * (int)(at / cases[i].step % cases[i].nr_offsets);

			if (off_at(table, cases[i].start + at) != want)
				fail_msg("%s: at %#lx: %d, not %d", cases[i].what,
					 (unsigned long)at, off_at(table, cases[i].start + at),
					 want);
		}
		assert_int_equal(off_at(table, cases[i].start - 1), -1);
		assert_int_equal(off_at(table, cases[i].start + size), -1);
		if (cases[i].start % PAGE == 0)
			assert_int_equal(page->nr_dict, cases[i].want_dict);
		table_destroy(table);
		cfi_builder_fini(&b);
	}
}

static void images_of_several_chunks_keep_their_parts_whole(void **state)
{
	enum { PAGES = 24 };
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	for (unsigned i = 0; i < PAGES; i++)
		add_rows(&b, (1 + i) * (uint64_t)PAGE, 32768, 2, 600 + i);

	struct table *table = compiled(&b, (2 + PAGES) * (uint64_t)PAGE);

	assert_true(table->nr_chunks > 2);
	assert_true(table->image_bytes > 2 * FPL_CHUNK_SIZE);
	/* The last rule's reach lies in its chunk. */
	assert_int_equal(table->rules_off >> FPL_CHUNK_LOG2,
			 (table->image_bytes - 1) >> FPL_CHUNK_LOG2);
	for (unsigned i = 0; i < PAGES; i++)
		for (unsigned at = 0; at < PAGE; at += 254)
			assert_int_equal(off_at(table, (1 + i) * (uint64_t)PAGE + at),
					 8 + 8 * (int)(at / 2 % (600 + i)));
	table_destroy(table);
	cfi_builder_fini(&b);
}

static void extended_rules_follow_their_slot(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_cie(&b, "zRS", BYTES("\x1b"), CFI_BUILDER_START);
	b.encoding = 0x1b;
	/* A signal frame: CFA *(rsp + 160), registers at rsp + N, by expressions. */
	cfi_builder_fde(&b, TEXT, 0x10,
			BYTES("\x0f\x04\x77\xa0\x01\x06\x10\x08\x02\x77\x28\x10\x00\x03\x77\x90\x01"
			      "\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xa8\x01"));

	struct table *table = compiled(&b, CFI_BUILDER_TEXT_END);
	const struct fpl_rule *rule = table_find(table, TEXT);
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

	assert_int_equal(rule->cfa, FPL_CFA_DEREF);
	assert_int_equal(rule->cfa_off, 160);
	assert_int_equal(rule->off2, 0);
	assert_int_equal(rule->flags, FPL_RULE_SIGNAL | FPL_RULE_EXT);
	assert_int_equal(rule->saved[1], 15); /* rbp at rsp + 120 */
	assert_int_equal(rule->from_reg, 1 << 1);
	assert_int_equal(ext[0].count, 3);
	assert_int_equal(ext[0].dst, 16);
	assert_int_equal(ext[0].kind, FPL_EXT_AT_REG);
	assert_int_equal(ext[0].base, 7);
	assert_int_equal(ext[0].off, 168);
	assert_int_equal(ext[1].dst, 0);
	assert_int_equal(ext[1].off, 144);
	assert_int_equal(ext[1].count, 0);
	assert_int_equal(ext[2].dst, 8);
	assert_int_equal(ext[2].off, 40);
	assert_int_equal(table->stats.rules_ext, 1);
	table_destroy(table);
	cfi_builder_fini(&b);
}

static void unsupported_form_ends_the_walk_by_name(void **state)
{
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, TEXT, 0x10, BYTES("\x0e\x80\x80\x80\x80\x10")); /* CFA rsp + 2^32 */
	cfi_builder_fde(&b, TEXT + 0x10, 0x10,
			BYTES("\x0f\x07\x76\x00\x06\x23\x80\x80\x02")); /* *(rbp) + 2^15 */
	cfi_builder_fde(&b, TEXT + 0x20, 0x10, BYTES("\x83\x80\x80\x80\x80\x08")); /* c - 2^34 */

	struct table *table = compiled(&b, CFI_BUILDER_TEXT_END);
	const struct fpl_rule *rule = table_find(table, TEXT + 0x20);
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

	assert_int_equal(table_find(table, TEXT)->cfa, FPL_CFA_EXPR);
	assert_int_equal(table_find(table, TEXT + 0x10)->cfa, FPL_CFA_EXPR);
	assert_int_equal(rule->cfa, FPL_CFA_REG);
	assert_int_equal(ext[0].dst, 3);
	assert_int_equal(ext[0].kind, FPL_EXT_EXPR);
	assert_int_equal(table->stats.rows_expr, 2);
	table_destroy(table);
	cfi_builder_fini(&b);
}

/* Nested FDEs with long programs: to resume one of them means to run it from its start. */
static void rows_whose_walks_end_are_counted(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size;
		uint64_t rows_expr;
	} cases[] = {
		{ "return address elsewhere", BYTES("\x90\x02"), 0 },
		{ "return address by an expression", BYTES("\x10\x10\x01\x19"), 1 },
		{ "rbx by an expression", BYTES("\x10\x03\x01\x19"), 0 },
		{ "CFA by an expression", BYTES("\x0f\x01\x19"), 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;
		struct table *table;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, TEXT, 0x10, cases[i].code, cases[i].size);
		table = compiled(&b, CFI_BUILDER_TEXT_END);
		if (table->stats.rows_expr != cases[i].rows_expr)
			fail_msg("%s", cases[i].what);
		table_destroy(table);
		cfi_builder_fini(&b);
	}
}

static void add_nested(struct cfi_builder *b, unsigned nr, unsigned code_size)
{
	uint8_t *code = calloc(code_size, 1);

	assert_non_null(code);
	for (unsigned i = 0; i + 1 < code_size; i += 2)
		code[i] = CFA_REMEMBER_STATE, code[i + 1] = CFA_RESTORE_STATE;
	cfi_builder_fde(b, TEXT, 2 * (uint64_t)nr, code, code_size & ~1u);
	for (unsigned i = 0; i < nr; i++)
		cfi_builder_fde(b, TEXT + 2 * (uint64_t)i + 1, 1, BYTES("\x0e\x10"));
	free(code);
}

static void statistics_count_reads_and_rows(void **state)
{
	struct cfi_builder eh, debug;
	const struct cfi_builder *const builders[] = { &eh, &debug };
	struct cfi_file *file;
	struct table *table = NULL;
	struct fpl_err err;

	(void)state;
	cfi_builder_init(&eh, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&eh);
	cfi_builder_fde(&eh, TEXT, 0x20,
			BYTES("\x0e\x10\x48\x0e\x18\x48\x13\x7c")); /* two rows, and one for the
								       general interpreter */
	cfi_builder_fde(&eh, TEXT, 0x20, BYTES("\x0e\x10"));	    /* shadowed */
	cfi_builder_fde(&eh, TEXT + 0x20, 0x10, BYTES("\x13\x7e\x48\x0e\x18"));
	cfi_builder_fde(&eh, TEXT + 0x30, 0x10, BYTES("\x13\x7e\x48\x3f")); /* bad after 8 */
	cfi_builder_fde(&eh, TEXT + 0x40, 0x10, BYTES("\x10\x10\x01\x22")); /* RA: expression */
	cfi_builder_fde(&eh, TEXT + 0x50, 0x10, BYTES("\x0f\x01\x22"));	    /* CFA: expression */
	cfi_builder_fde(&eh, TEXT + 0x60, 0x10, BYTES("\x90\x02"));	    /* RA: c-16 */
	cfi_builder_fde(&eh, TEXT + 0x70, 0x10, BYTES("\x10\x03\x01\x22")); /* rbx: expression */
	cfi_builder_fde(&eh, TEXT + 0x90, 0x10, BYTES("\x10\x06\x01\x22")); /* rbp */
	cfi_builder_fde(&eh, 8, 0x10, BYTES(""));			    /* not code: bad */
	cfi_builder_init(&debug, CFI_SOURCE_DEBUG_FRAME);
	cfi_builder_usual_cie(&debug);
	cfi_builder_fde(&debug, TEXT + 0x80, 0x10, BYTES("\x0e\x28"));
	if (cfi_builder_open(builders, 2, &patient_limits, &file, &err) ||
	    table_compile_file(file, &table, &err))
		fail_msg("%s", err.msg);

	const struct table_stats *stats = &table->stats;

	assert_int_equal(stats->text_bytes, CFI_BUILDER_TEXT_END - TEXT);
	assert_int_equal(stats->cfi_bytes, eh.size + debug.size);
	assert_int_equal(stats->fdes, 10);
	assert_int_equal(stats->fdes_bad, 2);
	assert_int_equal(stats->fdes_shadowed, 1);
	assert_int_equal(stats->rows_raw, 3 + 2 + 1 + 1 + 1 + 1 + 1 + 1 + 1);
	assert_int_equal(stats->rows, 1 + 3 + 2 + 2 + 1 + 1 + 1 + 1 + 1 + 1 + 1);
	assert_int_equal(stats->rules, 3 + 1 + 1 + 1 + 1 + 1 + 1);
	assert_int_equal(stats->rules_ext, 4);
	assert_int_equal(stats->rows_expr, 2);
	assert_int_equal(stats->synth_bytes, 0);
	assert_int_equal(stats->covered_bytes, 0xa0 - 8);
	assert_int_equal(stats->image_bytes, table->image_bytes);
	assert_true(stats->image_bytes > 0);
	table_destroy(table);
	cfi_file_close(file);
	cfi_builder_fini(&eh);
	cfi_builder_fini(&debug);
}

static void rows_are_counted_against_the_limit_once(void **state)
{
	/* Plain programs are looked at every 1,024 pieces: at 2,048 there have been 2,049 rows. */
	static const struct {
		const char *what;
		unsigned nr_fdes, nr_rows;
		uint8_t first; /* instruction of each FDE, with 0x10 for an operand */
		uint64_t limit;
		int want;
	} cases[] = {
		{ "plain programs", 2100, 1, CFA_DEF_CFA_OFFSET, 2049, 0 },
		{ "plain programs, one row more", 2100, 1, CFA_DEF_CFA_OFFSET, 2048, -EFBIG },
		{ "a program for the general interpreter", 1, 5000, CFA_DEF_CFA_OFFSET_SF, 5000,
		  0 },
		{ "one row more", 1, 5000, CFA_DEF_CFA_OFFSET_SF, 4999, -EFBIG },
		{ "one row more, before a check for time", 1, 500, CFA_DEF_CFA_OFFSET_SF, 499,
		  -EFBIG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct table_limits limits = { UINT64_MAX, 256 << 20, cases[i].limit,
						     false,	 0,	    NULL,
						     0 };
		uint8_t *code = calloc(cases[i].nr_rows, 3);
		struct cfi_builder b;
		struct table *table = NULL;
		struct fpl_err err = { 0 };

		assert_non_null(code);
		for (unsigned row = 0; row < cases[i].nr_rows; row++) {
			code[3 * row] = row ? CFA_DEF_CFA_OFFSET : cases[i].first;
			code[3 * row + 1] = 0x10 + (row & 1);
			code[3 * row + 2] = row + 1 < cases[i].nr_rows ? CFA_ADVANCE_LOC | 1 : 0;
		}
		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		for (unsigned fde = 0; fde < cases[i].nr_fdes; fde++)
			cfi_builder_fde(&b, TEXT + (uint64_t)fde * cases[i].nr_rows,
					cases[i].nr_rows, code, 3ul * cases[i].nr_rows);
		if (compile(&b, CFI_BUILDER_TEXT_END, &limits, &table, &err) != cases[i].want)
			fail_msg("%s: %s", cases[i].what, err.msg);
		table_destroy(table);
		cfi_builder_fini(&b);
		free(code);
	}
}

static void a_file_over_a_limit_is_refused_by_name(void **state)
{
	static const struct {
		const char *what;
		struct table_limits limits;
		const char *want;
	} cases[] = {
		{ "time",
		  { 1000000, 256 << 20, 1 << 22, false, 0, NULL, 0 },
		  "test: its CFI takes more than the 1 ms of CPU time a file may take" },
		{ "memory",
		  { UINT64_MAX, 1 << 20, 1 << 22, false, 0, NULL, 0 },
		  "test: its CFI needs more than the 1 MiB of memory a file may take" },
		{ "rows",
		  { UINT64_MAX, 256 << 20, 1000, false, 0, NULL, 0 },
		  "test: its CFI has more than the 1000 rows a file may have" },
	};
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	add_nested(&b, 20000, 60000); /* 1.2 G instructions */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table *table = NULL;
		struct fpl_err err = { 0 };
		int code = compile(&b, CFI_BUILDER_TEXT_END, &cases[i].limits, &table, &err);

		if (code != -EFBIG || strcmp(err.msg, cases[i].want) != 0)
			fail_msg("%s: %d %s", cases[i].what, code, err.msg);
	}
	cfi_builder_fini(&b);
}

static void more_rules_than_slots_are_refused_by_name(void **state)
{
	struct cfi_builder b;
	struct table *table = NULL;
	struct fpl_err err = { 0 };

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	add_rows(&b, TEXT, 65600, 1, 65600);
	assert_int_equal(compile(&b, CFI_BUILDER_TEXT_END, &patient_limits, &table, &err), -EFBIG);
	assert_string_equal(err.msg, "test: its rules need more than 65526 slots");
	cfi_builder_fini(&b);
}

static void text_beyond_a_table_is_refused_by_name(void **state)
{
	struct cfi_builder b;
	struct table *table = NULL;
	struct fpl_err err = { 0 };

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, TEXT, 0x10, BYTES(""));
	assert_int_equal(compile(&b, TEXT + (1ull << 32) + 1, &patient_limits, &table, &err),
			 -EFBIG);
	assert_non_null(strstr(err.msg, "a table covers 4 GiB, below 2^40"));
	assert_int_equal(compile(&b, 1ull << 41, &patient_limits, &table, &err), -EFBIG);
	cfi_builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alignment_gap_continues_the_previous_rule),
		cmocka_unit_test(no_rule_runs_over_a_bad_instruction),
		cmocka_unit_test(rules_go_on_over_page_boundaries),
		cmocka_unit_test(a_table_covers_every_range_of_text),
		cmocka_unit_test(pages_of_any_density_answer_every_pc),
		cmocka_unit_test(images_of_several_chunks_keep_their_parts_whole),
		cmocka_unit_test(extended_rules_follow_their_slot),
		cmocka_unit_test(unsupported_form_ends_the_walk_by_name),
		cmocka_unit_test(rows_whose_walks_end_are_counted),
		cmocka_unit_test(statistics_count_reads_and_rows),
		cmocka_unit_test(rows_are_counted_against_the_limit_once),
		cmocka_unit_test(a_file_over_a_limit_is_refused_by_name),
		cmocka_unit_test(more_rules_than_slots_are_refused_by_name),
		cmocka_unit_test(text_beyond_a_table_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
