/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files that a process has registered for debuggers name its code and say what frames it has;
 * what is forged says nothing. */
#include "cmocka_all.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bpf/arch_x86_64.h"
#include "jit/jit_file.h"
#include "parse/job.h"
#include "tests/support/registered_memory.h"

static struct registered_memory process;

static const uint64_t bases[] = { 0x111000, REG_BASE };
static const uint64_t bounds[] = { REG_CODE, REG_CODE_END };

static int find(struct made_code *ret, struct fpl_err *err)
{
	struct jit_memory *memory = NULL;
	int code;

	assert_int_equal(jit_memory_create(registered_read, &process, &memory), 0);
	code = registered_find(memory, bases, ARRAY_SIZE(bases), bounds, 1, ret, err);
	jit_memory_destroy(memory);
	return code;
}

/* All that is named: "name@offset+size", each with a blank behind it. */
static void check_names(const char *what, const char *want)
{
	struct jit_memory *memory = NULL;
	struct code_table table;
	char said[256] = "";
	size_t at = 0;

	assert_int_equal(jit_memory_create(registered_read, &process, &memory), 0);
	code_table_init(&table, 1 << 16);
	assert_int_equal(jit_files_names(memory, REG_BASE, &table), 0);
	for (size_t i = 0; i < table.nr; i++) {
		const struct code_entry *entry = &table.entries[i];

		at += (size_t)snprintf(said + at, sizeof(said) - at, "%s@%lx+%lx ",
				       table.names + entry->name_off,
				       (unsigned long)(entry->start - REG_CODE),
				       (unsigned long)(entry->end - entry->start));
		assert_true(at < sizeof(said));
	}
	if (strcmp(said, want) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", what, said, want);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_true(code_table_check(&table));
	code_table_fini(&table);
	jit_memory_destroy(memory);
}

#define BOTH "outer@0+18 inner@80+1a "

static void check_piece(const struct made_piece *piece, uint64_t off, uint64_t size, int cfa_off)
{
	assert_int_equal(piece->start, REG_CODE + off);
	assert_int_equal(piece->end, REG_CODE + off + size);
	/* pushes alone are not known to be a frame */
	assert_int_equal(piece->region.start, off ? 0 : piece->start);
	assert_int_equal(piece->region.end, off ? FPL_REGION_END_MAX : piece->end);
	assert_int_equal(piece->region.kind, FPL_REGION_FRAME);
	assert_int_equal(piece->region.rule.regs, ARCH_SP);
	assert_int_equal(piece->region.rule.cfa_off, cfa_off);
}

static void code_has_the_names_and_frames_of_its_file(void **state)
{
	struct made_code made;
	struct fpl_err err;

	(void)state;
	for (int is_relocatable = 0; is_relocatable < 2; is_relocatable++) {
		registered_make(&process, is_relocatable);
		check_names("whole", BOTH);
		assert_int_equal(find(&made, &err), 0);
		assert_true(made_code_check(&made));
		assert_int_equal(made.base, REG_BASE);
		assert_int_equal(made.nr, 2);
		check_piece(&made.pieces[0], 0, REG_OUTER, 96);
		check_piece(&made.pieces[1], REG_INNER_OFF, REG_INNER, 32);
		assert_int_equal(made.pieces[0].region.rule.saved[ARCH_SAVED_RBP], -2);
		assert_int_equal(made.pieces[0].region.rule.saved[ARCH_SAVED_R15], -3);
		assert_int_equal(made.pieces[0].region.rule.saved[ARCH_SAVED_RBX], -4);
		assert_int_equal(made.pieces[1].region.rule.saved[ARCH_SAVED_R12], -2);
	}
}

static void a_process_may_have_no_list_or_an_empty_one(void **state)
{
	const uint64_t nothing = 0;
	struct made_code made;
	struct fpl_err err;

	(void)state;
	registered_make(&process, 1);
	registered_put(&process, REG_DESCRIPTOR + 16, &nothing, sizeof(nothing));
	check_names("empty", "");
	assert_int_equal(find(&made, &err), 0);
	assert_int_equal(made.nr, 0);
	assert_true(made_code_check(&made));
	registered_make(&process, 1);
	registered_put(&process, JIT_OBJECT_NAMES + 1, "P", 1);
	assert_int_equal(find(&made, &err), -ENOENT);
	assert_string_equal(err.msg, "nothing is registered for debuggers");
}

#define AT(member)   (REG_FILE + (uint32_t)offsetof(struct registered_file, member))
#define SECTION(idx) AT(sections) + (idx) * (uint32_t)sizeof(Elf64_Shdr)
#define OF(idx, member) \
	(SECTION(idx) + (uint32_t)offsetof(Elf64_Shdr, member)), sizeof(((Elf64_Shdr *)0)->member)
#define HEAD(member) \
	(AT(head) + (uint32_t)offsetof(Elf64_Ehdr, member)), sizeof(((Elf64_Ehdr *)0)->member)
#define SYMBOL(idx, member)                                  \
	(AT(symbols) + (idx) * (uint32_t)sizeof(Elf64_Sym) + \
	 (uint32_t)offsetof(Elf64_Sym, member)),             \
		sizeof(((Elf64_Sym *)0)->member)

static const struct {
	const char *what;
	uint32_t at;
	size_t size;
	uint64_t value;
	const char *names;
	uint32_t nr_pieces;
} forgeries[] = {
	{ "a list that is not mapped", REG_DESCRIPTOR + 16, 8, 0x1000, "", 0 },
	{ "a circle", REG_ENTRY, 8, REG_BASE + REG_ENTRY, BOTH, 2 },
	{ "an entry that is not mapped behind", REG_ENTRY, 8, 0x7ffffffff000, BOTH, 2 },
	{ "a file that is not mapped", REG_ENTRY + 16, 8, 0x2000, "", 0 },
	{ "a huge file", REG_ENTRY + 24, 8, UINT64_MAX, BOTH, 2 },
	{ "a file of no bytes", REG_ENTRY + 24, 8, 0, "", 0 },
	{ "a file that ends in its headers", REG_ENTRY + 24, 8, 100, "", 0 },
	{ "no ELF file", AT(head), 1, 0, "", 0 },
	{ "32 bits", AT(head) + EI_CLASS, 1, ELFCLASS32, "", 0 },
	{ "another machine", HEAD(e_machine), EM_AARCH64, "", 0 },
	{ "headers of another size", HEAD(e_shentsize), 40, "", 0 },
	{ "headers beyond the file", HEAD(e_shoff), UINT64_MAX - 8, "", 0 },
	{ "too many sections", HEAD(e_shnum), 0xffff, "", 0 },
	{ "no names of sections", HEAD(e_shstrndx), 0xfff0, BOTH, 0 },
	{ "code that is not loaded", OF(REG_TEXT, sh_addr), 0, "", 2 },
	{ "code in the kernel", OF(REG_TEXT, sh_addr), 0xffffffff81000000, "", 2 },
	{ "code that wraps around", OF(REG_TEXT, sh_size), UINT64_MAX - 0x1000, "", 2 },
	{ "less code", OF(REG_TEXT, sh_size), 0x80, "outer@0+18 ", 2 },
	{ "no code", OF(REG_TEXT, sh_flags), SHF_ALLOC, BOTH, 2 },
	{ "code elsewhere", OF(REG_TEXT, sh_addr), REG_CODE + 0x2000,
	  "outer@2000+18 inner@2080+1a ", 2 },
	{ "symbols beyond the file", OF(REG_SYMBOLS, sh_offset), 1 << 20, "", 2 },
	{ "symbols of a size that is none", OF(REG_SYMBOLS, sh_size), UINT64_MAX, "", 2 },
	{ "no names of symbols", OF(REG_SYMBOLS, sh_link), 77, "", 2 },
	{ "names that begin beyond the file", OF(REG_STRINGS, sh_offset), UINT64_MAX, "", 0 },
	{ "a name beyond all names", SYMBOL(1, st_name), 0xffffffff, "inner@80+1a ", 2 },
	{ "an empty name", SYMBOL(1, st_name), 0, "inner@80+1a ", 2 },
	{ "no function", SYMBOL(1, st_info), STT_OBJECT, "inner@80+1a ", 2 },
	{ "a function of no bytes", SYMBOL(1, st_size), 0, "inner@80+1a ", 2 },
	{ "a huge function", SYMBOL(1, st_size), UINT64_MAX, "inner@80+1a ", 2 },
	{ "a function in front of its section", SYMBOL(2, st_value), UINT64_MAX, "outer@0+18 ", 2 },
	{ "a function in no section", SYMBOL(2, st_shndx), SHN_UNDEF, "outer@0+18 ", 2 },
	{ "a function in a section that is not there", SYMBOL(2, st_shndx), 99, "outer@0+18 ", 2 },
	{ "CFI that is not mapped", OF(REG_CFI, sh_addr), 0x3000, BOTH, 0 },
	{ "CFI that is not loaded", OF(REG_CFI, sh_flags), 0, BOTH, 0 },
	{ "huge CFI", OF(REG_CFI, sh_size), 1ull << 40, BOTH, 0 },
	{ "no CFI", OF(REG_CFI, sh_size), 0, BOTH, 0 },
	{ "a frame of another register", REG_FRAMES + 14, 1, 3, BOTH, 2 },
	{ "more of a frame in the code", REG_FRAMES + 24 + 24 + 20, 1, 104, BOTH, 1 },
};

static void forged_files_name_nothing_wrong(void **state)
{

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		struct made_code made;
		struct fpl_err err;

		print_message("%s\n", forgeries[i].what);
		registered_make(&process, 1);
		registered_put(&process, forgeries[i].at, &forgeries[i].value, forgeries[i].size);
		check_names(forgeries[i].what, forgeries[i].names);
		assert_int_equal(find(&made, &err), 0);
		assert_true(made_code_check(&made));
		assert_int_equal(made.nr, forgeries[i].nr_pieces);
	}
}

static void put_symbol(uint64_t value)
{
	Elf64_Sym symbol = registered_symbol(36, value, REG_INNER);

	symbol.st_shndx = SHN_ABS;
	registered_put(&process, AT(symbols) + 2 * (uint32_t)sizeof(symbol), &symbol,
		       sizeof(symbol));
}

static void a_symbol_may_be_absolute(void **state)
{
	(void)state;
	registered_make(&process, 1);
	put_symbol(REG_CODE + 0x100);
	check_names("absolute", "outer@0+18 inner@100+1a ");
	put_symbol(0xffffffff81000000);
	check_names("in the kernel", "outer@0+18 ");
}

/* The file that was registered last is on top, also of code that is registered twice. */
static void the_newest_file_wins(void **state)
{
	const struct registered_entry older = { .addr = REG_BASE + 0x1400,
						.size = sizeof(struct registered_file) };
	const uint64_t next = REG_BASE + REG_ENTRY + sizeof(older);
	struct registered_file file;

	(void)state;
	registered_make(&process, 1);
	registered_make_file(&file, 1);
	memcpy(file.strings + 30, "OLDER", 5);
	_Static_assert(0x1400 + sizeof(file) <= REG_SIZE, "it has room");
	registered_put(&process, 0x1400, &file, sizeof(file));
	registered_put(&process, REG_ENTRY + sizeof(older), &older, sizeof(older));
	registered_put(&process, REG_ENTRY, &next, sizeof(next));
	check_names("two files", "OLDER@0+18 inner@80+1a " BOTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_the_names_and_frames_of_its_file),
		cmocka_unit_test(a_process_may_have_no_list_or_an_empty_one),
		cmocka_unit_test(forged_files_name_nothing_wrong),
		cmocka_unit_test(a_symbol_may_be_absolute),
		cmocka_unit_test(the_newest_file_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
