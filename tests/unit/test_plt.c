/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/plt.h"
#include "symbolize/symtab_read.h"
#include "tests/support/elf_symbols.h"

enum {
	PLT = 0x1000,	  /* vaddr of .plt */
	PLT_SEC = 0x1100, /* of .plt.sec */
	PLT_GOT = 0x1200, /* of .plt.got */
	GOT = 0x3000,
	MAIN = 0x1800, /* a function; also an IFUNC's resolver */
};

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* "[endbr64] [bnd] jmp *slot(%rip)" at @vaddr into @code. */
static void put_jump(uint8_t *code, uint64_t vaddr, uint64_t slot, bool ibt, bool bnd)
{
	size_t pos = 0;

	if (ibt) {
		put_u32(code, 0xfa1e0ff3);
		pos = 4;
	}
	if (bnd)
		code[pos++] = 0xf2;
	code[pos] = 0xff;
	code[pos + 1] = 0x25;
	put_u32(code + pos + 2, (uint32_t)(slot - (vaddr + pos + 6)));
}

/* "endbr64; push $index; bnd jmp plt0" */
static void put_push(uint8_t *code, uint32_t index)
{
	put_u32(code, 0xfa1e0ff3);
	code[4] = 0x68;
	put_u32(code + 5, index);
	code[9] = 0xf2;
	code[10] = 0xe9;
}

struct image {
	uint8_t plt[64], plt_sec[32], plt_got[16];
	Elf64_Rela rela_plt[3], rela_dyn[2];
};

static Elf64_Rela rela(uint64_t slot, uint64_t symbol, uint32_t type, int64_t addend)
{
	return (Elf64_Rela){ .r_offset = slot,
			     .r_info = ELF64_R_INFO(symbol, type),
			     .r_addend = addend };
}

static void fill(struct image *image)
{
	memset(image, 0, sizeof(*image));
	/* PLT0: push GOT+8(%rip); jmp *GOT+16(%rip) */
	memcpy(image->plt, "\xff\x35\x02\x20\x00\x00\xff\x25\x04\x20\x00\x00", 12);
	put_push(image->plt + 16, 0);
	put_push(image->plt + 32, 1);
	put_jump(image->plt + 48, PLT + 48, GOT + 32, false, false);
	put_jump(image->plt_sec, PLT_SEC, GOT + 16, true, true);
	put_jump(image->plt_sec + 16, PLT_SEC + 16, GOT + 24, true, false);
	put_jump(image->plt_got, PLT_GOT, GOT + 40, false, false);
	put_jump(image->plt_got + 8, PLT_GOT + 8, GOT + 48, false, false);
	image->rela_plt[0] = rela(GOT + 16, 1, R_X86_64_JUMP_SLOT, 0);
	image->rela_plt[1] = rela(GOT + 24, 2, R_X86_64_JUMP_SLOT, 0);
	image->rela_plt[2] = rela(GOT + 32, 0, R_X86_64_IRELATIVE, MAIN);
	image->rela_dyn[0] = rela(GOT + 48, 1, R_X86_64_RELATIVE, 0);
	image->rela_dyn[1] = rela(GOT + 40, 1, R_X86_64_GLOB_DAT, 0);
}

static struct elf_file *build(const struct image *image)
{
	struct elf_builder b;
	struct elf_symbols syms;
	struct elf_file *elf = NULL;
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	size_t idx;

	elf_builder_init(&b, ET_DYN);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x400, 0x1000);
	elf_builder_section_at(&b, ".text", SHT_PROGBITS, code, MAIN, 0x400, 0);
	elf_symbols_init(&syms);
	idx = elf_symbols_add(&syms, "malloc", STT_FUNC, STB_GLOBAL, 0, 0);
	syms.symbols[idx].st_shndx = SHN_UNDEF;
	idx = elf_symbols_add(&syms, "_ZN3foo3barEi", STT_FUNC, STB_GLOBAL, 0, 0);
	syms.symbols[idx].st_shndx = SHN_UNDEF;
	elf_symbols_add(&syms, "a", STT_FUNC, STB_GLOBAL, MAIN - 0x20, 0x20);
	elf_symbols_add(&syms, "__resolved", STT_GNU_IFUNC, STB_GLOBAL, MAIN, 0x20);
	elf_symbols_add(&syms, "resolved", STT_GNU_IFUNC, STB_WEAK, MAIN, 0x20);
	elf_symbols_put(&syms, &b, SHT_DYNSYM);
	idx = elf_builder_section(&b, ".plt.got", SHT_PROGBITS, code, PLT_GOT, image->plt_got, 16);
	b.sections[idx].sh_entsize = 8;
	elf_builder_section(&b, ".plt", SHT_PROGBITS, code, PLT, image->plt, 64);
	elf_builder_section(&b, ".plt.sec", SHT_PROGBITS, code, PLT_SEC, image->plt_sec, 32);
	/* ld puts it first: what it says at an index is nothing to lazy stubs */
	elf_builder_section(&b, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, image->rela_dyn,
			    sizeof(image->rela_dyn));
	elf_builder_section(&b, ".rela.plt", SHT_RELA, SHF_ALLOC, 0, image->rela_plt,
			    sizeof(image->rela_plt));
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "test", &elf, NULL), 0);
	elf_builder_fini(&b);
	return elf;
}

struct asked {
	const char *what;
	uint64_t vaddr;
	const char *name;
};

static void check(const struct image *image, const struct asked *asked, size_t nr)
{
	struct elf_file *elf = build(image);
	struct symtab *tab = NULL;

	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	for (size_t i = 0; i < nr; i++) {
		struct symtab_match match;
		AUTO_FREE char *name = NULL;

		if (symtab_find(tab, asked[i].vaddr, &match))
			name = symtab_name(tab, &match);
		if (!name != !asked[i].name || (name && strcmp(name, asked[i].name) != 0))
			fail_msg("%s: got %s", asked[i].what, name ? name : "nothing");
	}
	symtab_destroy(tab);
	elf_file_close(elf);
}

static void stubs_are_named_after_their_targets(void **state)
{
	static const struct asked asked[] = {
		{ "PLT0", PLT, NULL },
		{ "lazy stub", PLT + 16, "malloc@plt" },
		{ "inside a lazy stub", PLT + 31, "malloc@plt" },
		{ "second lazy stub", PLT + 32, "_ZN3foo3barEi@plt" },
		{ "IRELATIVE by the rule of aliases", PLT + 48, "resolved@plt" },
		{ ".plt.sec with bnd", PLT_SEC + 5, "malloc@plt" },
		{ ".plt.sec", PLT_SEC + 16, "_ZN3foo3barEi@plt" },
		{ ".plt.got of 8 bytes", PLT_GOT + 7, "malloc@plt" },
		{ "RELATIVE names nothing", PLT_GOT + 8, NULL },
		{ "behind .plt.sec", PLT_SEC + 32, NULL },
		{ "the function itself", MAIN, "resolved" },
	};
	struct image image;

	(void)state;
	fill(&image);
	check(&image, asked, ARRAY_SIZE(asked));
}

static void damaged_relocations_leave_their_stubs_without_names(void **state)
{
	static const struct asked asked[] = {
		{ "symbol outside of .dynsym", PLT_SEC, NULL },
		{ "slot of no stub", PLT_SEC + 16, NULL },
		{ "IRELATIVE to no symbol's start", PLT + 48, NULL },
		{ "the others", PLT_GOT, "malloc@plt" },
	};
	struct image image;

	(void)state;
	fill(&image);
	image.rela_plt[0] = rela(GOT + 16, UINT32_MAX, R_X86_64_JUMP_SLOT, 0);
	image.rela_plt[1] = rela(UINT64_MAX, 2, R_X86_64_JUMP_SLOT, 0);
	image.rela_plt[2] = rela(GOT + 32, 0, R_X86_64_IRELATIVE, MAIN + 1);
	check(&image, asked, ARRAY_SIZE(asked));
}

static void a_million_stubs_on_one_slot_end(void **state)
{
	enum { NR = 1 << 20 };
	AUTO_FREE uint8_t *code = calloc(NR, 16);
	AUTO_FREE Elf64_Rela *relas = calloc(NR, sizeof(*relas));
	struct elf_builder b;
	struct elf_symbols syms;
	struct elf_file *elf = NULL;
	struct symtab *tab = NULL;

	(void)state;
	assert_non_null(code);
	assert_non_null(relas);
	for (size_t i = 0; i < NR; i++) {
		put_jump(code + 16 * i, PLT + 16 * i, GOT + (64u << 20), false, false);
		relas[i] = rela(GOT + (64u << 20), 1, R_X86_64_JUMP_SLOT, 0);
	}
	elf_builder_init(&b, ET_DYN);
	elf_symbols_init(&syms);
	elf_symbols_add(&syms, "f", STT_FUNC, STB_GLOBAL, 0, 0);
	elf_symbols_put(&syms, &b, SHT_DYNSYM);
	elf_builder_section(&b, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PLT, code,
			    16 * NR);
	elf_builder_section(&b, ".rela.plt", SHT_RELA, SHF_ALLOC, 0, relas, NR * sizeof(*relas));
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "test", &elf, NULL), 0);
	elf_builder_fini(&b);
	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	assert_true(symtab_nr_symbols(tab) <= SYMTAB_SYMBOLS_MAX);
	symtab_destroy(tab);
	elf_file_close(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stubs_are_named_after_their_targets),
		cmocka_unit_test(damaged_relocations_leave_their_stubs_without_names),
		cmocka_unit_test(a_million_stubs_on_one_slot_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
