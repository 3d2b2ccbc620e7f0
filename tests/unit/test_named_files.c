/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, by a real worker. */
#include "tests/support/named.h"

#include <fcntl.h>
#include <lzma.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/elf_symbols.h"

static void build(struct elf_builder *b)
{
	struct elf_symbols syms;

	elf_builder_init(b, ET_DYN);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x400, 0x1000);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x400,
			       0);
	elf_symbols_init(&syms);
	elf_symbols_add(&syms, "plain", STT_FUNC, STB_GLOBAL, 0x1000, 0x10);
	elf_symbols_add(&syms, "_ZN3foo3barEi", STT_FUNC, STB_GLOBAL, 0x1100, 0x10);
	elf_symbols_put(&syms, b, SHT_SYMTAB);
	elf_builder_finish(b);
}

static void check(struct namer *namer, uint32_t id, uint64_t vaddr, const char *name,
		  uint64_t start)
{
	/* Always filled, whatever was there. */
	struct symbol got = { .name = "before", .start = 77, .module = "before" };

	namer_user(namer, id, vaddr, &got);
	if (!got.name != !name || (name && strcmp(got.name, name) != 0))
		fail_msg("%u+%#lx: got %s", id, (unsigned long)vaddr, got.name);
	assert_true(got.start == start);
	assert_null(got.module);
}

static void user_addresses_are_named_by_their_symbols(void **state)
{
	struct named named;
	struct elf_builder b;

	(void)state;
	named_init(&named, &(struct namer_options){ .parser = NULL });
	build(&b);
	named_add(&named, 3, b.bytes, b.size, "/gone");
	named_add(&named, 1, b.bytes, b.size, "[vdso]");
	elf_builder_fini(&b);
	for (uint32_t id = 1; id <= 3; id += 2) {
		check(named.namer, id, 0x1000, "plain", 0x1000);
		check(named.namer, id, 0x100f, "plain", 0x1000);
		check(named.namer, id, 0x1010, NULL, SYMBOL_NO_START);
		check(named.namer, id, 0x1104, "foo::bar(int)", 0x1100);
		check(named.namer, id, 0xfff, NULL, SYMBOL_NO_START);
	}
	named_fini(&named);
}

/* Put the symbols of build() and their addresses as .gnu_debugdata into a file with code alone. */
static void local_functions_are_named_by_gnu_debugdata(void **state)
{
	struct elf_builder inner, b;
	struct named named;
	uint8_t packed[8192];
	size_t size = 0;

	(void)state;
	named_init(&named, &(struct namer_options){ .parser = NULL });
	build(&inner);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, inner.bytes, inner.size,
						 packed, &size, sizeof(packed)),
			 LZMA_OK);
	elf_builder_init(&b, ET_DYN);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x400, 0x1000);
	elf_builder_section(&b, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, size);
	elf_builder_finish(&b);
	named_add(&named, 1, b.bytes, b.size, "x");
	check(named.namer, 1, 0x1104, "foo::bar(int)", 0x1100);
	elf_builder_fini(&inner);
	elf_builder_fini(&b);
	named_fini(&named);
}

static void names_stay_mangled_where_asked(void **state)
{
	struct named named;
	struct elf_builder b;

	(void)state;
	named_init(&named, &(struct namer_options){ .no_demangle = true });
	build(&b);
	named_add(&named, 1, b.bytes, b.size, "x");
	check(named.namer, 1, 0x1100, "_ZN3foo3barEi", 0x1100);
	elf_builder_fini(&b);
	named_fini(&named);
}

static void code_without_a_symbol_begins_where_its_fde_does(void **state)
{
	static const uint8_t text[0x100];
	struct elf_builder elf;
	struct cfi_builder b;
	struct named named;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x40, (const uint8_t *)"", 0);
	elf_builder_init(&elf, ET_DYN);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, CFI_BUILDER_TEXT, 0x1000, 0x1000);
	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
			    CFI_BUILDER_TEXT, text, sizeof(text));
	elf_builder_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR, b.bytes,
			    b.size);
	elf_builder_finish(&elf);
	named_init(&named, &(struct namer_options){ .parser = NULL });
	named_add(&named, 1, elf.bytes, elf.size, "x");
	check(named.namer, 1, CFI_BUILDER_TEXT, NULL, CFI_BUILDER_TEXT);
	check(named.namer, 1, CFI_BUILDER_TEXT + 0x3f, NULL, CFI_BUILDER_TEXT);
	check(named.namer, 1, CFI_BUILDER_TEXT + 0x40, NULL, SYMBOL_NO_START);
	check(named.namer, 1, CFI_BUILDER_TEXT - 1, NULL, SYMBOL_NO_START);
	elf_builder_fini(&elf);
	cfi_builder_fini(&b);
	named_fini(&named);
}

static void objects_that_cannot_be_read_have_no_names(void **state)
{
	AUTO_FD int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct named named;

	(void)state;
	named_init(&named, &(struct namer_options){ .parser = NULL });
	named_add_fd(&named, 1, null, "a device");
	named_add(&named, 2, "no ELF", 6, "text");
	for (uint32_t id = 0; id <= 5; id++)
		check(named.namer, id, 0x1000, NULL, SYMBOL_NO_START);
	check(named.namer, UINT32_MAX, 0x1000, NULL, SYMBOL_NO_START);
	named_fini(&named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_addresses_are_named_by_their_symbols),
		cmocka_unit_test(local_functions_are_named_by_gnu_debugdata),
		cmocka_unit_test(names_stay_mangled_where_asked),
		cmocka_unit_test(code_without_a_symbol_begins_where_its_fde_does),
		cmocka_unit_test(objects_that_cannot_be_read_have_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
