/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "doctor/object_report.h"
#include "parse/examination.h"
#include "symbolize/symtab_read.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/elf_builder.h"
#include "tests/support/elf_symbols.h"
#include "unwind/filler.h"

/* Code at [CODE, CODE + 0x100), CFI at CFI_BUILDER_VADDR, as cfi_builder.h counts. */
#define CODE	 0x2000u
#define CODE_OFF 0x2000u
#define CFI_OFF	 0x3000u

struct file {
	struct elf_builder elf;
	struct cfi_builder cfi;
	struct elf_symbols symbols;
	uint8_t code[0x100];
	bool sectionless;
	struct elf_file *opened;
	struct symtab *tab;
};

static void file_init(struct file *file)
{
	memset(file, 0, sizeof(*file));
	elf_builder_init(&file->elf, ET_DYN);
	cfi_builder_init(&file->cfi, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&file->cfi);
	elf_symbols_init(&file->symbols);
	memset(file->code, 0x06, sizeof(file->code)); /* neither an instruction nor padding */
}

/* An executable segment with .text over all of it, then CFI and symbols as gathered. */
static void file_open(struct file *file)
{
	struct elf_builder *b = &file->elf;
	struct fpl_err err = { 0 };

	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, CODE_OFF, CODE, sizeof(file->code),
			    sizeof(file->code));
	elf_builder_segment(b, PT_LOAD, PF_R, CFI_OFF, CFI_BUILDER_VADDR, file->cfi.size,
			    file->cfi.size);
	elf_builder_put(b, CODE_OFF, file->code, sizeof(file->code));
	elf_builder_put(b, CFI_OFF, file->cfi.bytes, file->cfi.size);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE, CODE_OFF,
			       sizeof(file->code));
	elf_builder_section_at(b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR, CFI_OFF,
			       file->cfi.size);
	elf_symbols_put(&file->symbols, b, SHT_SYMTAB);
	b->without_sections = file->sectionless;
	elf_builder_finish(b);
	assert_int_equal(elf_file_from_memory(b->bytes, b->size, "test", &file->opened, &err), 0);
	assert_int_equal(symtab_create(file->opened, NULL, 0, &file->tab, &err), 0);
}

static void file_fini(struct file *file)
{
	symtab_destroy(file->tab);
	elf_file_close(file->opened);
	cfi_builder_fini(&file->cfi);
	elf_builder_fini(&file->elf);
}

static void measure(struct file *file, struct coverage *ret)
{
	struct fpl_err err = { 0 };

	if (!file->opened)
		file_open(file);
	if (coverage_measure(file->opened, NULL, file->tab, ret, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(ret->code_bytes,
			 ret->covered_bytes + ret->padding_bytes + ret->bare_bytes);
}

static void bytes_are_covered_padding_or_bare(void **state)
{
	struct coverage coverage;
	struct file file;

	(void)state;
	file_init(&file);
	cfi_builder_fde(&file.cfi, CODE, 0x40, BYTES(""));
	memset(file.code + 0x40, 0x90, 0x10); /* a gap of nops */
	cfi_builder_fde(&file.cfi, CODE + 0x50, 0x30, BYTES("\x41\x0e\x10"));
	/* [0x80, 0xa0): 8 bytes of nops, then code without CFI */
	memset(file.code + 0x80, 0xcc, 8);
	cfi_builder_fde(&file.cfi, CODE + 0xa0, 0x60, BYTES(""));
	measure(&file, &coverage);
	assert_int_equal(coverage.code_bytes, 0x100);
	assert_int_equal(coverage.covered_bytes, 0x40 + 0x30 + 0x60);
	assert_int_equal(coverage.padding_bytes, 0x10 + 8);
	assert_int_equal(coverage.bare_bytes, 0x20 - 8);
	assert_int_equal(coverage.source_bytes[CFI_SOURCE_EH_FRAME], coverage.covered_bytes);
	assert_int_equal(coverage.expr_bytes, 0);
	file_fini(&file);
}

static void rows_beyond_the_code_count_nothing(void **state)
{
	struct coverage coverage;
	struct file file;

	(void)state;
	file_init(&file);
	cfi_builder_fde(&file.cfi, CODE + 0xf0, 0x1000, BYTES(""));
	measure(&file, &coverage);
	assert_int_equal(coverage.covered_bytes, 0x10);
	assert_int_equal(coverage.bare_bytes, 0xf0);
	file_fini(&file);
}

static void rows_outside_the_tables_are_counted_apart(void **state)
{
	struct coverage coverage;
	struct file file;

	(void)state;
	file_init(&file);
	/* CFA = (rsp + rax): DW_CFA_def_cfa_expression { breg7 0, breg0 0, plus } from 0x10 on */
	cfi_builder_fde(&file.cfi, CODE, 0x100, BYTES("\x50\x0f\x05\x77\x00\x70\x00\x22"));
	measure(&file, &coverage);
	assert_int_equal(coverage.covered_bytes, 0x100);
	assert_int_equal(coverage.expr_bytes, 0xf0);
	file_fini(&file);
}

static void without_cfi_all_is_bare(void **state)
{
	struct coverage coverage;
	struct file file;

	(void)state;
	file_init(&file);
	file.cfi.size = 0;
	measure(&file, &coverage);
	assert_int_equal(coverage.covered_bytes, 0);
	assert_int_equal(coverage.bare_bytes, 0x100);
	file_fini(&file);
}

static void without_sections_segments_are_the_code(void **state)
{
	struct coverage coverage;
	struct file file;

	(void)state;
	file_init(&file);
	file.sectionless = true;
	measure(&file, &coverage);
	assert_int_equal(coverage.code_bytes, 0x100);
	assert_int_equal(coverage.bare_bytes, 0x100);
	file_fini(&file);
}

static void functions_without_cfi_are_listed_largest_first(void **state)
{
	static const struct {
		const char *name;
		uint64_t off, size;
	} functions[] = {
		{ "covered", 0x00, 0x10 }, { "f1", 0x10, 0x04 },       { "f2", 0x20, 0x08 },
		{ "_Z2f3v", 0x30, 0x0c },  { "f4", 0x40, 0x10 },       { "f5", 0x50, 0x02 },
		{ "f6", 0x60, 0x0a },	   { "f4_alias", 0x40, 0x10 },
	};
	static const char *const want[] = { "f4", "f3()", "f6", "f2", "f1" };
	struct coverage coverage;
	struct file file;

	(void)state;
	file_init(&file);
	cfi_builder_fde(&file.cfi, CODE, 0x10, BYTES(""));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		elf_symbols_add(&file.symbols, functions[i].name, STT_FUNC, STB_GLOBAL,
				CODE + functions[i].off, functions[i].size);
	measure(&file, &coverage);
	assert_int_equal(coverage.nr_functions, 7);
	assert_int_equal(coverage.nr_bare, 6);
	assert_int_equal(coverage.nr_largest, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_string_equal(coverage.largest[i].name, want[i]);
	assert_int_equal(coverage.largest[0].vaddr, CODE + 0x40);
	assert_int_equal(coverage.largest[0].size, 0x10);
	file_fini(&file);
}

static void padding_is_nops_and_int3(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size, padding;
	} cases[] = {
		{ "nothing", BYTES(""), 0 },
		{ "nop", BYTES("\x90"), 1 },
		{ "nop of 2 bytes", BYTES("\x66\x90"), 2 },
		{ "nop of 3", BYTES("\x0f\x1f\x00"), 3 },
		{ "nop of 4", BYTES("\x0f\x1f\x40\x00"), 4 },
		{ "nop of 5", BYTES("\x0f\x1f\x44\x00\x00"), 5 },
		{ "nop of 6", BYTES("\x66\x0f\x1f\x44\x00\x00"), 6 },
		{ "nop of 7", BYTES("\x0f\x1f\x80\x00\x00\x00\x00"), 7 },
		{ "nop of 8", BYTES("\x0f\x1f\x84\x00\x00\x00\x00\x00"), 8 },
		{ "nop of 10", BYTES("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), 10 },
		{ "nop of 13", BYTES("\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), 13 },
		{ "no base", BYTES("\x0f\x1f\x04\x05\x00\x00\x00\x00"), 8 },
		{ "rip-relative", BYTES("\x0f\x1f\x05\x00\x00\x00\x00"), 7 },
		{ "int3", BYTES("\xcc\xcc\xcc"), 3 },
		{ "several", BYTES("\x66\x90\x0f\x1f\x00\xcc"), 6 },
		{ "then code", BYTES("\x90\x90\xc3\x90"), 2 },
		{ "code", BYTES("\xc3\x90"), 0 },
		{ "zeros are an instruction", BYTES("\x00\x00"), 0 },
		{ "endbr64 is code", BYTES("\xf3\x0f\x1e\xfa"), 0 },
		{ "cut after the prefix", BYTES("\x66"), 0 },
		{ "cut after 0f", BYTES("\x0f"), 0 },
		{ "cut after 0f 1f", BYTES("\x0f\x1f"), 0 },
		{ "cut in the SIB", BYTES("\x0f\x1f\x04"), 0 },
		{ "cut in the displacement", BYTES("\x0f\x1f\x84\x00\x00\x00\x00"), 0 },
		{ "prefixes without end",
		  BYTES("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66"), 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t padding = filler_size(cases[i].code, cases[i].size, FILLER_INSTRUCTIONS);

		if (padding != cases[i].padding)
			fail_msg("%s: %zu", cases[i].what, padding);
	}
}

static void per_cent_are_rounded_down(void **state)
{
	struct object_report report = { .found = { .measured = true } };

	(void)state;
	assert_true(object_report_percent(&report) == 100.0);
	report.found.coverage.covered_bytes = 99999;
	report.found.coverage.bare_bytes = 1;
	report.found.coverage.padding_bytes = 50000;
	assert_true(object_report_percent(&report) == 99.99);
	report.found.coverage.bare_bytes = 0;
	assert_true(object_report_percent(&report) == 100.0);
	report.found.coverage.covered_bytes = 0;
	report.found.coverage.bare_bytes = 5;
	assert_true(object_report_percent(&report) == 0.0);
}

static void reports_say_what_they_found(void **state)
{
	struct examination found;
	struct fpl_err err;
	struct file file;

	(void)state;
	file_init(&file);
	cfi_builder_fde(&file.cfi, CODE, 0x100, BYTES(""));
	elf_symbols_add(&file.symbols, "f", STT_FUNC, STB_GLOBAL, CODE, 0x100);
	elf_builder_section(&file.elf, ".debug_info", SHT_PROGBITS, 0, 0, "x", 1);
	file_open(&file);
	assert_int_equal(examine(file.opened, NULL, &found, &err), 0);
	assert_string_equal(found.build_id, "");
	assert_true(found.has_table);
	assert_int_equal(found.stats.fdes, 1);
	assert_true(found.measured);
	assert_true(found.has_symtab);
	assert_false(found.has_dynsym);
	assert_int_equal(found.nr_symbols, 1);
	assert_true(found.has_debug_info);
	assert_false(object_report_lacks_debug(&(struct object_report){ .found = found }));
	file_fini(&file);
}

static void a_file_without_cfi_is_reported_without_table(void **state)
{
	struct examination found;
	struct fpl_err err;
	struct file file;

	(void)state;
	file_init(&file);
	file.cfi.size = 0;
	file_open(&file);
	assert_int_equal(examine(file.opened, NULL, &found, &err), 0);
	assert_false(found.has_table);
	assert_non_null(strstr(found.problem, "no CFI"));
	assert_true(found.measured);
	assert_true(object_report_percent(&(struct object_report){ .found = found }) == 0.0);
	assert_true(object_report_lacks_debug(&(struct object_report){ .found = found }));
	file_fini(&file);
}

static void code_of_another_architecture_is_not_measured(void **state)
{
	struct examination found;
	struct fpl_err err;
	struct file file;

	(void)state;
	file_init(&file);
	elf_builder_ehdr(&file.elf)->e_machine = EM_AARCH64;
	file_open(&file);
	assert_int_equal(examine(file.opened, NULL, &found, &err), 0);
	assert_false(found.has_table);
	assert_false(found.measured);
	assert_non_null(strstr(found.problem, "another architecture"));
	file_fini(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_covered_padding_or_bare),
		cmocka_unit_test(rows_beyond_the_code_count_nothing),
		cmocka_unit_test(rows_outside_the_tables_are_counted_apart),
		cmocka_unit_test(without_cfi_all_is_bare),
		cmocka_unit_test(without_sections_segments_are_the_code),
		cmocka_unit_test(functions_without_cfi_are_listed_largest_first),
		cmocka_unit_test(padding_is_nops_and_int3),
		cmocka_unit_test(per_cent_are_rounded_down),
		cmocka_unit_test(reports_say_what_they_found),
		cmocka_unit_test(a_file_without_cfi_is_reported_without_table),
		cmocka_unit_test(code_of_another_architecture_is_not_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
