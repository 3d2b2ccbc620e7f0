/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/name_rule.h"
#include "symbolize/symtab_read.h"
#include "tests/support/elf_builder_open.h"
#include "tests/support/elf_symbols.h"

struct given {
	const char *name;
	unsigned int type, binding;
	uint64_t vaddr, size;
};

struct asked {
	const char *what;
	uint64_t vaddr;
	const char *name; /* NULL: none */
	uint64_t start;
};

/* Code at [0x1000, 0x9000); data segment behind it. */
static void start_object(struct elf_builder *b)
{
	elf_builder_init(b, ET_DYN);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x400, 0x8000);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_W, 0, 0x9000, 0x400, 0x1000);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x400,
			       0);
}

static void put_symbols(struct elf_builder *b, const struct given *given, size_t nr, uint32_t type)
{
	struct elf_symbols *syms = malloc(sizeof(*syms));

	assert_non_null(syms);
	elf_symbols_init(syms);
	for (size_t i = 0; i < nr; i++)
		elf_symbols_add(syms, given[i].name, given[i].type, given[i].binding,
				given[i].vaddr, given[i].size);
	elf_symbols_put(syms, b, type);
	free(syms);
}

static void check(const struct symtab *tab, const struct asked *asked, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct symtab_match match = { 0 };
		AUTO_FREE char *name = NULL;

		if (symtab_find(tab, asked[i].vaddr, &match))
			name = symtab_name(tab, &match);
		if (!name != !asked[i].name || (name && strcmp(name, asked[i].name) != 0))
			fail_msg("%s: got %s", asked[i].what, name ? name : "nothing");
		if (name && match.start != asked[i].start)
			fail_msg("%s: starts at %#llx", asked[i].what,
				 (unsigned long long)match.start);
	}
}

static bool same_answer(const struct symtab *tab, uint64_t a, uint64_t b)
{
	struct symtab_match first = { 0 }, second = { 0 };
	bool found = symtab_find(tab, a, &first);

	return found == symtab_find(tab, b, &second) &&
	       (!found || (first.start == second.start && first.idx == second.idx));
}

/* If an answer claims to hold for neighbours, ask each address. */
static void check_ranges(const struct symtab *tab)
{
	for (uint64_t vaddr = 0xff0; vaddr < 0x9010; vaddr++) {
		struct symtab_match match;

		(void)!symtab_find(tab, vaddr, &match);
		if (match.same.start > vaddr || match.same.end <= vaddr)
			fail_msg("%#llx is not in its own range", (unsigned long long)vaddr);
		if ((vaddr > match.same.start && !same_answer(tab, vaddr, vaddr - 1)) ||
		    (vaddr + 1 < match.same.end && !same_answer(tab, vaddr, vaddr + 1)))
			fail_msg("%#llx has another answer than its neighbour",
				 (unsigned long long)vaddr);
	}
}

static void check_symbols(const struct given *given, size_t nr_given, const struct asked *asked,
			  size_t nr_asked)
{
	struct elf_builder b;
	struct elf_file *elf;
	struct symtab *tab = NULL;

	start_object(&b);
	put_symbols(&b, given, nr_given, SHT_SYMTAB);
	elf = elf_builder_open(&b);
	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	check(tab, asked, nr_asked);
	check_ranges(tab);
	symtab_destroy(tab);
	elf_file_close(elf);
}

static void a_name_covers_its_size_and_no_more(void **state)
{
	static const struct given given[] = {
		{ "second", STT_FUNC, STB_GLOBAL, 0x2000, 0x40 },
		{ "first", STT_FUNC, STB_LOCAL, 0x1000, 0x20 },
		{ "ifunc", STT_GNU_IFUNC, STB_GLOBAL, 0x3000, 0x10 },
		{ "data", STT_OBJECT, STB_GLOBAL, 0x4000, 0x10 },
		{ "function_in_data", STT_FUNC, STB_GLOBAL, 0x9000, 0x10 },
		{ "thread_local", STT_TLS, STB_GLOBAL, 0x1100, 0x10 },
		{ "last", STT_FUNC, STB_GLOBAL, 0x8ff0, 0x10 },
	};
	static const struct asked asked[] = {
		{ "below all", 0xfff, NULL, 0 },
		{ "first byte", 0x1000, "first", 0x1000 },
		{ "last byte", 0x101f, "first", 0x1000 },
		{ "behind the end", 0x1020, NULL, 0 },
		{ "thread-local offset is no address", 0x1100, NULL, 0 },
		{ "next symbol", 0x203f, "second", 0x2000 },
		{ "ifunc", 0x3001, "ifunc", 0x3000 },
		{ "object symbol", 0x4000, NULL, 0 },
		{ "function outside of code", 0x9000, NULL, 0 },
		{ "end of code", 0x8fff, "last", 0x8ff0 },
		{ "far above", UINT64_MAX, NULL, 0 },
	};

	(void)state;
	check_symbols(given, ARRAY_SIZE(given), asked, ARRAY_SIZE(asked));
}

static void an_unsized_symbol_reaches_to_the_next_one_or_the_end_of_code(void **state)
{
	static const struct given given[] = {
		{ "asm_one", STT_FUNC, STB_GLOBAL, 0x1000, 0 },
		{ "asm_alias", STT_NOTYPE, STB_GLOBAL, 0x1000, 0 },
		{ "asm_two", STT_NOTYPE, STB_GLOBAL, 0x1100, 0 },
		{ "sized", STT_FUNC, STB_GLOBAL, 0x2000, 0x10 },
		{ "asm_last", STT_NOTYPE, STB_GLOBAL, 0x8000, 0 },
	};
	static const struct asked asked[] = {
		{ "up to the next symbol", 0x10ff, "asm_one", 0x1000 },
		{ "untyped", 0x1100, "asm_two", 0x1100 },
		{ "up to a sized one", 0x1fff, "asm_two", 0x1100 },
		{ "sized", 0x200f, "sized", 0x2000 },
		{ "behind sized", 0x2010, NULL, 0 },
		{ "to the end of code", 0x8fff, "asm_last", 0x8000 },
		{ "behind the end of code", 0x9000, NULL, 0 },
	};

	(void)state;
	check_symbols(given, ARRAY_SIZE(given), asked, ARRAY_SIZE(asked));
}

static void labels_inside_a_function_do_not_hide_it(void **state)
{
	static const struct given given[] = {
		{ "function", STT_FUNC, STB_GLOBAL, 0x1000, 0x100 },
		{ "label", STT_NOTYPE, STB_LOCAL, 0x1010, 0 },
		{ "sized_label", STT_NOTYPE, STB_LOCAL, 0x1020, 0x10 },
		{ "unsized_function", STT_FUNC, STB_LOCAL, 0x1030, 0 },
		{ ".L4", STT_NOTYPE, STB_LOCAL, 0x2000, 0 },
		{ "sized_area", STT_NOTYPE, STB_LOCAL, 0x4000, 0x100 },
		{ "function_in_area", STT_FUNC, STB_LOCAL, 0x4010, 0 },
		{ "$x", STT_NOTYPE, STB_LOCAL, 0x3000, 0 },
	};
	static const struct asked asked[] = {
		{ "at the label", 0x1010, "function", 0x1000 },
		{ "behind the label", 0x1018, "function", 0x1000 },
		{ "sized label", 0x1025, "function", 0x1000 },
		{ "unsized function", 0x1030, "function", 0x1000 },
		{ "label of the assembler", 0x2000, NULL, 0 },
		{ "mapping symbol", 0x3000, NULL, 0 },
		{ "untyped areas hide nothing", 0x4020, "function_in_area", 0x4010 },
	};

	(void)state;
	check_symbols(given, ARRAY_SIZE(given), asked, ARRAY_SIZE(asked));
}

static void nested_and_overlapping_functions_name_the_one_that_starts_last(void **state)
{
	static const struct given given[] = {
		{ "outer", STT_FUNC, STB_GLOBAL, 0x1000, 0x1000 },
		{ "middle", STT_FUNC, STB_GLOBAL, 0x1100, 0x200 },
		{ "inner", STT_FUNC, STB_GLOBAL, 0x1180, 0x10 },
		{ "other_inner", STT_FUNC, STB_GLOBAL, 0x11a0, 0x10 },
		{ "overlap", STT_FUNC, STB_GLOBAL, 0x1280, 0x100 },
		{ "short_same_start", STT_FUNC, STB_GLOBAL, 0x1000, 0x20 },
		{ "long_local", STT_FUNC, STB_LOCAL, 0x3000, 0x40 },
		{ "short_global", STT_FUNC, STB_GLOBAL, 0x3000, 0x10 },
	};
	static const struct asked asked[] = {
		{ "behind inner", 0x1190, "middle", 0x1100 },
		{ "inner", 0x118f, "inner", 0x1180 },
		{ "other inner", 0x11af, "other_inner", 0x11a0 },
		{ "behind other inner", 0x11b0, "middle", 0x1100 },
		{ "overlap", 0x12ff, "overlap", 0x1280 },
		{ "overlap behind middle", 0x1350, "overlap", 0x1280 },
		{ "behind both", 0x1380, "outer", 0x1000 },
		{ "end of outer", 0x1fff, "outer", 0x1000 },
		{ "behind outer", 0x2000, NULL, 0 },
		{ "same start, longer only", 0x1030, "outer", 0x1000 },
		{ "same start, both", 0x3008, "short_global", 0x3000 },
		{ "behind the preferred name", 0x3010, "long_local", 0x3000 },
	};

	(void)state;
	check_symbols(given, ARRAY_SIZE(given), asked, ARRAY_SIZE(asked));
}

static void deep_nesting_ends(void **state)
{
	struct given given[200];
	char names[200][8];
	static const struct asked asked[] = {
		{ "innermost", 0x1000 + 199, "f199", 0x1000 + 199 },
		{ "outermost", 0x4fff - 1, "f0", 0x1000 },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(given); i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		given[i] = (struct given){ names[i], STT_FUNC, STB_GLOBAL, 0x1000 + i,
					   0x4000 - 1 - 2 * i };
	}
	check_symbols(given, ARRAY_SIZE(given), asked, ARRAY_SIZE(asked));
}

static void aliases_are_resolved_by_the_names_alone(void **state)
{
	static const struct given given[] = {
		{ "local_name", STT_FUNC, STB_LOCAL, 0x1000, 0x10 },
		{ "__exported", STT_FUNC, STB_WEAK, 0x1000, 0x10 },
		{ "__libc_read", STT_FUNC, STB_GLOBAL, 0x1100, 0x10 },
		{ "__read", STT_FUNC, STB_GLOBAL, 0x1100, 0x10 },
		{ "read", STT_FUNC, STB_WEAK, 0x1100, 0x10 },
		{ "weak_one", STT_FUNC, STB_WEAK, 0x1200, 0x10 },
		{ "global_one", STT_FUNC, STB_GLOBAL, 0x1200, 0x10 },
		{ "open64", STT_FUNC, STB_GLOBAL, 0x1300, 0x10 },
		{ "open", STT_FUNC, STB_GLOBAL, 0x1300, 0x10 },
		{ "bbb", STT_FUNC, STB_GLOBAL, 0x1400, 0x10 },
		{ "aaa", STT_FUNC, STB_GLOBAL, 0x1400, 0x10 },
		{ "untyped", STT_NOTYPE, STB_GLOBAL, 0x1500, 0x10 },
		{ "__typed", STT_FUNC, STB_LOCAL, 0x1500, 0x10 },
		{ "memcpy@GLIBC_2.2.5", STT_FUNC, STB_GLOBAL, 0x1600, 0x10 },
		{ "pthread_create@@GLIBC_2.34", STT_FUNC, STB_GLOBAL, 0x1700, 0x10 },
		{ "clock_gettime", STT_FUNC, STB_WEAK, 0x1a00, 0x10 },
		{ "__vdso_clock_gettime", STT_FUNC, STB_GLOBAL, 0x1a00, 0x10 },
		{ "@odd@V1", STT_FUNC, STB_GLOBAL, 0x1900, 0x10 },
		{ "unique", STT_FUNC, STB_GNU_UNIQUE, 0x1800, 0x10 },
		{ "uniqu", STT_FUNC, STB_LOCAL, 0x1800, 0x10 },
	};
	static const struct asked asked[] = {
		{ "exported before local", 0x1000, "__exported", 0x1000 },
		{ "fewer underscores before global", 0x1100, "read", 0x1100 },
		{ "global before weak", 0x1200, "global_one", 0x1200 },
		{ "shorter", 0x1300, "open", 0x1300 },
		{ "byte order", 0x1400, "aaa", 0x1400 },
		{ "function before label", 0x1500, "__typed", 0x1500 },
		{ "version cut", 0x1600, "memcpy", 0x1600 },
		{ "default version cut", 0x1700, "pthread_create", 0x1700 },
		{ "vDSO", 0x1a00, "__vdso_clock_gettime", 0x1a00 },
		{ "only a version is cut", 0x1900, "@odd", 0x1900 },
		{ "unique is exported", 0x1800, "unique", 0x1800 },
	};
	struct given reversed[ARRAY_SIZE(given)];

	(void)state;
	check_symbols(given, ARRAY_SIZE(given), asked, ARRAY_SIZE(asked));
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		reversed[i] = given[ARRAY_SIZE(given) - 1 - i];
	check_symbols(reversed, ARRAY_SIZE(reversed), asked, ARRAY_SIZE(asked));
}

static void dynamic_and_debug_symbols_add_to_each_other(void **state)
{
	static const struct given dynamic[] = {
		{ "exported", STT_FUNC, STB_GLOBAL, 0x1000, 0x10 },
		{ "shared", STT_FUNC, STB_GLOBAL, 0x2000, 0x10 },
	};
	static const struct given full[] = {
		{ "internal", STT_FUNC, STB_LOCAL, 0x1800, 0x10 },
		{ "shared", STT_FUNC, STB_GLOBAL, 0x2000, 0x10 },
		{ "outside_code", STT_FUNC, STB_GLOBAL, 0x9100, 0x10 },
	};
	static const struct asked asked[] = {
		{ "from .dynsym", 0x1000, "exported", 0x1000 },
		{ "from the debug file", 0x1808, "internal", 0x1800 },
		{ "from both", 0x2008, "shared", 0x2000 },
		{ "the object says what is code", 0x9100, NULL, 0 },
	};
	struct elf_builder b;
	struct elf_file *elf, *debug;
	struct symtab *tab = NULL;

	(void)state;
	start_object(&b);
	put_symbols(&b, dynamic, ARRAY_SIZE(dynamic), SHT_DYNSYM);
	elf = elf_builder_open(&b);
	elf_builder_init(&b, ET_DYN);
	put_symbols(&b, full, ARRAY_SIZE(full), SHT_SYMTAB);
	debug = elf_builder_open(&b);
	assert_int_equal(symtab_create(elf, (const struct elf_file *[]){ debug }, 1, &tab, NULL),
			 0);
	assert_int_equal(symtab_nr_symbols(tab), 4);
	check(tab, asked, ARRAY_SIZE(asked));
	symtab_destroy(tab);
	elf_file_close(debug);
	elf_file_close(elf);
}

static void undefined_and_nameless_symbols_are_left_out(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	struct elf_symbols syms;
	struct symtab *tab = NULL;

	(void)state;
	start_object(&b);
	elf_symbols_init(&syms);
	syms.symbols[elf_symbols_add(&syms, "undefined", STT_FUNC, STB_GLOBAL, 0x1000, 1)]
		.st_shndx = SHN_UNDEF;
	syms.symbols[elf_symbols_add(&syms, "absolute", STT_NOTYPE, STB_GLOBAL, 0x1010, 1)]
		.st_shndx = SHN_ABS;
	syms.symbols[elf_symbols_add(&syms, "x", STT_FUNC, STB_GLOBAL, 0x1020, 1)].st_name = 0;
	elf_symbols_put(&syms, &b, SHT_SYMTAB);
	elf = elf_builder_open(&b);
	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	assert_int_equal(symtab_nr_symbols(tab), 0);
	assert_false(symtab_find(tab, 0x1000, &(struct symtab_match){ 0 }));
	symtab_destroy(tab);
	elf_file_close(elf);
}

static void an_object_without_symbols_is_no_error(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	struct symtab *tab = NULL;

	(void)state;
	start_object(&b);
	b.without_sections = true;
	elf = elf_builder_open(&b);
	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	assert_false(symtab_find(tab, 0x1000, &(struct symtab_match){ 0 }));
	symtab_destroy(tab);
	elf_file_close(elf);
}

static void names_that_lead_outside_their_table_are_none(void **state)
{
	struct elf_builder b;
	struct elf_file *elf;
	struct elf_symbols syms;
	struct symtab *tab = NULL;
	static const struct asked asked[] = {
		{ "offset behind the table", 0x1000, NULL, 0 },
		{ "offset of 4 GiB", 0x1010, NULL, 0 },
		{ "last name without NUL", 0x1020, "unterminate", 0x1020 },
	};

	(void)state;
	start_object(&b);
	elf_symbols_init(&syms);
	size_t behind = elf_symbols_add(&syms, "x", STT_FUNC, STB_GLOBAL, 0x1000, 0x10);
	size_t far = elf_symbols_add(&syms, "x", STT_FUNC, STB_GLOBAL, 0x1010, 0x10);
	elf_symbols_add(&syms, "unterminated", STT_FUNC, STB_GLOBAL, 0x1020, 0x10);
	syms.names_size -= 2;
	syms.symbols[behind].st_name = (uint32_t)syms.names_size;
	syms.symbols[far].st_name = UINT32_MAX;
	elf_symbols_put(&syms, &b, SHT_SYMTAB);
	elf = elf_builder_open(&b);
	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	check(tab, asked, ARRAY_SIZE(asked));
	symtab_destroy(tab);
	elf_file_close(elf);
}

static void long_names_are_read_whole_and_cut_at_the_limit(void **state)
{
	const size_t sizes[] = {
		127, 128, 129, 4095, 4224, SYMTAB_NAME_MAX - 1, SYMTAB_NAME_MAX + 9
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t want = sizes[i] < SYMTAB_NAME_MAX ? sizes[i] : SYMTAB_NAME_MAX - 1;
		AUTO_FREE char *names = calloc(1, sizes[i] + 2), *got = NULL;
		const Elf64_Sym symbol = { .st_name = 1,
					   .st_info = STT_FUNC,
					   .st_shndx = 1,
					   .st_value = 0x1000,
					   .st_size = 4 };
		struct elf_builder b;
		struct elf_file *elf;
		struct symtab *tab = NULL;
		struct symtab_match match = { 0 };
		size_t strings, table;

		assert_non_null(names);
		memset(names + 1, 'n', sizes[i]);
		start_object(&b);
		strings = elf_builder_section(&b, ".strtab", SHT_STRTAB, 0, 0, names, sizes[i] + 2);
		table = elf_builder_section(&b, ".symtab", SHT_SYMTAB, 0, 0, &symbol,
					    sizeof(symbol));
		b.sections[table].sh_link = (uint32_t)strings;
		b.sections[table].sh_entsize = sizeof(symbol);
		elf = elf_builder_open(&b);
		assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
		assert_true(symtab_find(tab, 0x1000, &match));
		got = symtab_name(tab, &match);
		assert_non_null(got);
		assert_int_equal(strlen(got), want);
		symtab_destroy(tab);
		elf_file_close(elf);
	}
}

static void damaged_tables_are_refused_by_name(void **state)
{
	static const struct {
		const char *what;
		uint64_t entry_size, size;
		uint32_t link;
		int want;
	} cases[] = {
		{ "as it should be", 24, 48, 2, 0 },
		{ "entries of 16 bytes", 16, 48, 2, -EINVAL },
		{ "larger than the file", 24, 1ull << 40, 2, -ENODATA },
		{ "names in section 0", 24, 48, 0, -EINVAL },
		{ "names in no section", 24, 48, 99, -EINVAL },
		{ "names in code", 24, 48, 1, -EINVAL },
	};
	static const struct given given[] = { { "f", STT_FUNC, STB_GLOBAL, 0x1000, 0x10 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_builder b;
		struct elf_file *elf = NULL;
		struct symtab *tab = NULL;
		struct fpl_err err = { 0 };

		start_object(&b);
		put_symbols(&b, given, 1, SHT_SYMTAB);
		b.sections[3].sh_entsize = cases[i].entry_size;
		b.sections[3].sh_size = cases[i].size;
		b.sections[3].sh_link = cases[i].link;
		elf = elf_builder_open(&b);
		if (symtab_create(elf, NULL, 0, &tab, &err) != cases[i].want)
			fail_msg("%s: %d %s", cases[i].what, err.code, err.msg);
		if (cases[i].want && strncmp(err.msg, "test: .symtab: ", 15) != 0)
			fail_msg("%s: %s", cases[i].what, err.msg);
		symtab_destroy(tab);
		elf_file_close(elf);
	}
}

static void variables_are_named_apart_from_code(void **state)
{
	static const struct given given[] = {
		{ "code", STT_FUNC, STB_GLOBAL, 0x2000, 0x100 },
		{ "constant", STT_OBJECT, STB_GLOBAL, 0x2100, 0x100 },
		{ "g_lock", STT_OBJECT, STB_GLOBAL, 0x9100, 40 },
		{ "table", STT_OBJECT, STB_LOCAL, 0x9200, 0x100 },
		{ "unsized", STT_OBJECT, STB_GLOBAL, 0x9400, 0 },
		{ "_edata", STT_NOTYPE, STB_GLOBAL, 0x9500, 0 },
		{ "in_none", STT_OBJECT, STB_GLOBAL, 0xa100, 40 },
	};
	static const struct asked asked[] = {
		{ "the first byte", 0x9100, "g_lock", 0x9100 },
		{ "the last byte", 0x9127, "g_lock", 0x9100 },
		{ "behind it", 0x9128, NULL, 0 },
		{ "a member", 0x92ff, "table", 0x9200 },
		{ "a variable without a size", 0x9400, NULL, 0 },
		{ "a label", 0x9500, NULL, 0 },
		{ "a function", 0x2000, NULL, 0 },
		{ "data among code", 0x2100, NULL, 0 },
		{ "in no segment", 0xa100, NULL, 0 },
	};
	struct elf_builder b;
	struct elf_file *elf;
	struct symtab *tab = NULL;

	(void)state;
	start_object(&b);
	put_symbols(&b, given, ARRAY_SIZE(given), SHT_SYMTAB);
	elf = elf_builder_open(&b);
	assert_int_equal(symtab_create_data(elf, NULL, 0, &tab, NULL), 0);
	check(tab, asked, ARRAY_SIZE(asked));
	symtab_destroy(tab);
	elf_file_close(elf);
}

static void the_order_of_names_is_strict(void **state)
{
	static const struct name_candidate names[] = {
		{ "a", NAME_GLOBAL, false },  { "b", NAME_GLOBAL, false },
		{ "aa", NAME_GLOBAL, false }, { "a", NAME_WEAK, false },
		{ "_a", NAME_GLOBAL, false }, { "__a", NAME_WEAK, false },
		{ "a", NAME_LOCAL, false },   { "_a", NAME_LOCAL, false },
		{ "a", NAME_GLOBAL, true },   { "a", NAME_LOCAL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			int got = name_rule_compare(&names[i], &names[k]);

			if ((got < 0) != (i < k) || (got > 0) != (i > k))
				fail_msg("%zu against %zu: %d", i, k, got);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_covers_its_size_and_no_more),
		cmocka_unit_test(an_unsized_symbol_reaches_to_the_next_one_or_the_end_of_code),
		cmocka_unit_test(labels_inside_a_function_do_not_hide_it),
		cmocka_unit_test(nested_and_overlapping_functions_name_the_one_that_starts_last),
		cmocka_unit_test(deep_nesting_ends),
		cmocka_unit_test(aliases_are_resolved_by_the_names_alone),
		cmocka_unit_test(dynamic_and_debug_symbols_add_to_each_other),
		cmocka_unit_test(undefined_and_nameless_symbols_are_left_out),
		cmocka_unit_test(an_object_without_symbols_is_no_error),
		cmocka_unit_test(names_that_lead_outside_their_table_are_none),
		cmocka_unit_test(long_names_are_read_whole_and_cut_at_the_limit),
		cmocka_unit_test(damaged_tables_are_refused_by_name),
		cmocka_unit_test(variables_are_named_apart_from_code),
		cmocka_unit_test(the_order_of_names_is_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
