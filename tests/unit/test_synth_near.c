/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from code for a part of a file: those around some vaddrs are as those of the whole file. */
#include "cmocka_all.h"

#include "base/clock.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/elf_builder.h"
#include "unwind/synth/fill.h"

/* push %rbx; nop; pop %rbx; ret */
#define FUNCTION "\x53\x90\x5b\xc3"
/* In FUNCTION rbx is pushed from here to where it is popped. */
#define PUSHED 1

#define TEXT	   ((uint64_t)CFI_BUILDER_TEXT)
#define TEXT_BYTES 0x80000u

/* Functions without FDE, from TEXT on; the FDE is of what comes before them. */
enum { FIRST = 0x100, CLOSE = 0x2000, APART = 0xa000, FAR = 0x60000 };
static const uint64_t functions[] = { FIRST, CLOSE, APART, FAR };

uint64_t __wrap_clock_ns(clockid_t clock);

/* Time stands still: only what is likely is limited here, and not what a slow machine needs. */
uint64_t __wrap_clock_ns(clockid_t clock)
{
	(void)clock;
	return 0;
}

struct program {
	struct elf_builder elf;
	struct elf_file *file;
};

static void add_symbols(struct elf_builder *elf)
{
	Elf64_Sym symbols[ARRAY_SIZE(functions) + 1] = { { 0 } };
	size_t strings = elf_builder_section(elf, ".dynstr", SHT_STRTAB, 0, 0, "\0f", 3), idx;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		symbols[i + 1] = (Elf64_Sym){ .st_name = 1,
					      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					      .st_shndx = 1,
					      .st_value = TEXT + functions[i],
					      .st_size = sizeof(FUNCTION) - 1 };
	idx = elf_builder_section(elf, ".dynsym", SHT_DYNSYM, 0, 0, symbols, sizeof(symbols));
	elf->sections[idx].sh_link = (uint32_t)strings;
	elf->sections[idx].sh_entsize = sizeof(*symbols);
}

static int make(void **state)
{
	struct program *program = calloc(1, sizeof(*program));
	struct elf_builder *elf = &program->elf;
	uint8_t *text = malloc(TEXT_BYTES);
	struct cfi_builder cfi;
	struct fpl_err err = { 0 };

	assert_true(program && text);
	memset(text, 0x90, TEXT_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		memcpy(text + functions[i], FUNCTION, sizeof(FUNCTION) - 1);
	cfi_builder_init(&cfi, CFI_SOURCE_EH_FRAME);
	cfi_builder_cie(&cfi, "zR", BYTES("\x1b"), CFI_BUILDER_START);
	cfi_builder_fde(&cfi, TEXT, FIRST, BYTES(""));
	elf_builder_init(elf, ET_DYN);

	uint64_t off = elf_builder_append(elf, text, TEXT_BYTES);

	elf_builder_segment(elf, PT_LOAD, PF_R | PF_X, off, TEXT, TEXT_BYTES, TEXT_BYTES);
	elf_builder_section_at(elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, off,
			       TEXT_BYTES);
	elf_builder_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR, cfi.bytes,
			    cfi.size);
	add_symbols(elf);
	elf_builder_finish(elf);
	if (elf_file_open(elf_builder_memfd(elf), "test", &program->file, &err))
		fail_msg("%s", err.msg);
	cfi_builder_fini(&cfi);
	free(text);
	*state = program;
	return 0;
}

static int end(void **state)
{
	struct program *program = *state;

	elf_file_close(program->file);
	elf_builder_fini(&program->elf);
	free(program);
	return 0;
}

static struct table *compile(const struct program *program, const struct table_limits *limits)
{
	struct table *table = NULL;
	struct fpl_err err = { 0 };

	if (table_compile(program->file, NULL, limits, &table, &err))
		fail_msg("%s", err.msg);
	return table;
}

static bool has_row(const struct table *table, uint64_t function)
{
	const struct fpl_rule *rule = table_find(table, TEXT + function + PUSHED);

	if (rule->cfa == FPL_CFA_NONE)
		return false;
	assert_int_equal(rule->cfa_off, 16);
	assert_true(rule->flags & FPL_RULE_SYNTH);
	return true;
}

static void rows_are_made_around_requested_addresses(void **state)
{
	static const struct {
		uint64_t near[3];
		size_t nr;
		bool want[ARRAY_SIZE(functions)];
	} cases[] = {
		{ { TEXT + FIRST + PUSHED }, 1, { true, true, false, false } },
		{ { TEXT + CLOSE }, 1, { true, true, false, false } },
		{ { TEXT + APART + 2 }, 1, { false, false, true, false } },
		{ { TEXT + FAR }, 1, { false, false, false, true } },
		{ { TEXT + CLOSE, TEXT + CLOSE + 2 }, 2, { true, true, false, false } },
		{ { TEXT + CLOSE, TEXT + APART }, 2, { true, true, true, false } },
		{ { TEXT + FIRST, TEXT + FAR, TEXT + FAR }, 3, { true, true, false, true } },
		/* with an FDE, behind the code, and before it */
		{ { TEXT + 1 }, 1, { false, false, false, false } },
		{ { UINT64_MAX }, 1, { false, false, false, false } },
		{ { 0 }, 1, { false, false, false, false } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table_limits limits = table_limits_default;
		struct table *table;

		limits.synth_near = cases[i].near;
		limits.nr_synth_near = cases[i].nr;
		table = compile(*state, &limits);
		assert_true(table->stats.synth_left > 0);
		assert_int_equal(table_find(table, TEXT)->cfa_off, 8);
		for (size_t f = 0; f < ARRAY_SIZE(functions); f++)
			if (has_row(table, functions[f]) != cases[i].want[f])
				fail_msg("case %zu, function %zu", i, f);
		table_destroy(table);
	}
}

static void all_rows_are_made_or_left(void **state)
{
	struct table_limits limits = table_limits_default;
	struct table *whole = compile(*state, &limits), *left;

	limits.synth_later = true;
	left = compile(*state, &limits);
	assert_int_equal(whole->stats.synth_left, 0);
	assert_true(left->stats.synth_left > 1);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++) {
		assert_true(has_row(whole, functions[f]));
		assert_false(has_row(left, functions[f]));
	}
	table_destroy(whole);
	table_destroy(left);
}

static void rows_that_are_likely_to_cost_too_much_are_not_begun(void **state)
{
	const uint64_t near = TEXT + FAR;
	struct table_limits limits = table_limits_default;
	struct table *table;

	limits.synth_later = true;
	table = compile(*state, &limits);
	limits.synth_later = false;
	limits.cpu_ns = table->stats.synth_left - 1;
	table_destroy(table);

	table = compile(*state, &limits);
	assert_int_equal(table->stats.synth_refused, 1);
	assert_int_equal(table->stats.synth_left, 0);
	assert_int_equal(table_find(table, TEXT)->cfa_off, 8);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++)
		assert_false(has_row(table, functions[f]));
	table_destroy(table);

	/* Around a sample they cost what is there. */
	limits.synth_near = &near;
	limits.nr_synth_near = 1;
	table = compile(*state, &limits);
	assert_int_equal(table->stats.synth_refused, 0);
	assert_true(has_row(table, FAR));
	table_destroy(table);

	limits.nr_synth_near = 0;
	limits.cpu_ns++;
	table = compile(*state, &limits);
	assert_int_equal(table->stats.synth_refused, 0);
	assert_true(has_row(table, FAR));
	table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_that_are_likely_to_cost_too_much_are_not_begun),
		cmocka_unit_test(rows_are_made_around_requested_addresses),
		cmocka_unit_test(all_rows_are_made_or_left),
	};

	return cmocka_run_group_tests(tests, make, end);
}
