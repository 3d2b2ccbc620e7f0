/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for a procedure linkage table, .init and .fini without FDE, made from their instructions. */
#include "cmocka_all.h"

#include "tests/support/cfi_builder.h"
#include "tests/support/elf_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/arch_x86_64.h"

/* push link_map(%rip); jmp *resolver(%rip); nopl 0(%rax) */
#define HEADER "\xff\x35\x01\x02\x03\x04\xff\x25\x05\x06\x07\x08\x0f\x1f\x40\x00"
/* The same as ld.bfd writes it with bnd prefixes. */
#define HEADER_BND "\xff\x35\x01\x02\x03\x04\xf2\xff\x25\x05\x06\x07\x08\x0f\x1f\x00"
/* jmp *got(%rip); push $0; jmp header */
#define LAZY "\xff\x25\x01\x02\x03\x04\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff"
/* endbr64; push $0; bnd jmp header; nop */
#define LAZY_IBT "\xf3\x0f\x1e\xfa\x68\x00\x00\x00\x00\xf2\xe9\xe1\xff\xff\xff\x90"
/* endbr64; push $0; jmp header; xchg %ax,%ax, as ld.lld writes it */
#define LAZY_LLD "\xf3\x0f\x1e\xfa\x68\x00\x00\x00\x00\xe9\xe2\xff\xff\xff\x66\x90"
/* .plt.sec: endbr64; bnd jmp *got(%rip); nopl */
#define JUMP_IBT "\xf3\x0f\x1e\xfa\xf2\xff\x25\x01\x02\x03\x04\x0f\x1f\x44\x00\x00"
/* .plt.got: jmp *got(%rip); xchg %ax,%ax; padding */
#define JUMP "\xff\x25\x01\x02\x03\x04\x66\x90\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"
/* ld.lld -z retpolineplt: not known */
#define RETPOLINE "\x4c\x8b\x1d\x01\x02\x03\x04\xe8\x01\x02\x03\x04\xe9\x01\x02\x03"

static void assert_rows(const char *what, const struct cfi_row *rows, size_t nr, const char *want)
{
	char text[1024] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (size_t row = 0; row < nr; row++)
		cfi_builder_row_text(&rows[row], out);
	fclose(out);
	if (strcmp(text, want) != 0)
		fail_msg("%s: got\n%s", what, text);
}

static void entries_are_known_by_their_instructions(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size;
		const char *want;
	} cases[] = {
		{ "header", BYTES(HEADER), "0-6 r7+16\n6-10 r7+24\n" },
		{ "header, bnd", BYTES(HEADER_BND), "0-6 r7+16\n6-10 r7+24\n" },
		{ "lazy entry", BYTES(LAZY), "0-10 plt:11\n" },
		{ "lazy entry under IBT", BYTES(LAZY_IBT), "0-10 plt:9\n" },
		{ "lazy entry under IBT, ld.lld", BYTES(LAZY_LLD), "0-10 plt:9\n" },
		{ ".plt.sec", BYTES(JUMP_IBT), "0-10 r7+8\n" },
		{ ".plt.got", BYTES(JUMP), "0-10 r7+8\n" },
		{ "equal entries share a row", BYTES(HEADER LAZY LAZY LAZY),
		  "0-6 r7+16\n6-10 r7+24\n10-40 plt:11\n" },
		{ "entries with another literal do not", BYTES(LAZY LAZY_IBT),
		  "0-10 plt:11\n10-20 plt:9\n" },
		{ "what is not known has no row", BYTES(LAZY RETPOLINE LAZY),
		  "0-10 plt:11\n20-30 plt:11\n" },
		{ "half an entry", BYTES("\xff\x25\x01\x02\x03\x04\x68\x00"), "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_row rows[16];
		size_t nr = arch_plt_rows(cases[i].code, cases[i].size, CFI_BUILDER_TEXT, rows);

		assert_rows(cases[i].what, rows, nr, cases[i].want);
	}
}

/* nop; mov $15,%rax; syscall */
#define RESTORER "\x90\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
/* test %eax,%eax; jne; xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov
 * $60,%al; syscall; hlt; ret */
#define CLONE                                                              \
	"\x85\xc0\x75\x0f\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c" \
	"\x0f\x05\xf4\xc3"

#define SIGNAL                                                                           \
	" *(r7+160)+0 r0=*(r7+144) r1=*(r7+136) r2=*(r7+152) r3=*(r7+128) r4=*(r7+112) " \
	"r5=*(r7+104) r6=*(r7+120) r8=*(r7+40) r9=*(r7+48) r10=*(r7+56) r11=*(r7+64) "   \
	"r12=*(r7+72) r13=*(r7+80) r14=*(r7+88) r15=*(r7+96) ra=*(r7+168) signal\n"

static void some_code_is_known_wherever_it_is(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size, cap;
		const char *want;
	} cases[] = {
		{ "the restorer of signal handlers", BYTES(RESTORER), 4, "0-a" SIGNAL },
		{ "of another number", BYTES("\x90\x48\xc7\xc0\x0e\x00\x00\x00\x0f\x05"), 4, "" },
		{ "cut off", BYTES("\x90\x48\xc7\xc0\x0f\x00\x00\x00\x0f"), 4, "" },
		{ "where a thread begins", BYTES(CLONE), 4, "4-13 r7+8 ra=u\n" },
		{ "both", BYTES(CLONE RESTORER), 4, "14-1e" SIGNAL "4-13 r7+8 ra=u\n" },
		{ "both, and room for one", BYTES(CLONE RESTORER), 1, "14-1e" SIGNAL },
		{ "neither", BYTES(LAZY), 4, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_row rows[4];
		size_t nr = arch_known_rows(cases[i].code, cases[i].size, CFI_BUILDER_TEXT, rows,
					    cases[i].cap);

		assert_rows(cases[i].what, rows, nr, cases[i].want);
	}
}

static void entries_off_their_boundary_have_no_rows(void **state)
{
	struct cfi_row rows[ARCH_PLT_ROWS];

	(void)state;
	assert_int_equal(arch_plt_rows(BYTES(LAZY), CFI_BUILDER_TEXT + 8, rows), 0);
}

/* A file with .text and .plt behind it, and the FDEs of @b. */
static struct table *table_of(const struct cfi_builder *b)
{
	static const uint8_t text[0x100];
	struct elf_builder elf;
	struct elf_file *file;
	struct table *table = NULL;
	struct fpl_err err;

	elf_builder_init(&elf, ET_DYN);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, CFI_BUILDER_TEXT, 0x1000, 0x1000);
	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
			    CFI_BUILDER_TEXT, text, sizeof(text));
	elf_builder_section(&elf, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
			    CFI_BUILDER_TEXT + 0x100, BYTES(HEADER LAZY LAZY));
	if (b)
		elf_builder_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR,
				    b->bytes, b->size);
	elf_builder_finish(&elf);
	if (elf_file_from_memory(elf.bytes, elf.size, "plt", &file, &err) ||
	    table_compile(file, NULL, &patient_limits, &table, &err))
		fail_msg("%s", err.msg);
	elf_file_close(file);
	elf_builder_fini(&elf);
	return table;
}

static void a_plt_without_fde_gets_rows_and_one_with_keeps_its_own(void **state)
{
	const uint64_t plt = CFI_BUILDER_TEXT + 0x100;
	struct cfi_builder b;
	struct table *table = table_of(NULL);

	(void)state;
	assert_int_equal(table->stats.synth_bytes, 0x30);
	assert_int_equal(table_find(table, plt)->cfa_off, 16);
	assert_int_equal(table_find(table, plt + 6)->cfa_off, 24);
	assert_int_equal(table_find(table, plt + 6)->flags, FPL_RULE_SYNTH);
	assert_int_equal(table_find(table, plt + 0x2f)->cfa, FPL_CFA_PLT);
	assert_int_equal(table_find(table, plt + 0x2f)->regs, 11 << 4 | 7);
	assert_int_equal(table_find(table, plt + 0x30)->cfa, FPL_CFA_NONE);
	table_destroy(table);

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x110, BYTES("\x0e\x48"));
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + 0x138, 8, BYTES("\x0e\x48"));
	table = table_of(&b);
	assert_int_equal(table->stats.synth_bytes, 0x20);
	assert_int_equal(table_find(table, plt + 0x30)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, plt + 0x38)->cfa_off, 0x48);
	assert_int_equal(table_find(table, plt)->cfa_off, 0x48);
	assert_int_equal(table_find(table, plt + 0xf)->cfa_off, 0x48);
	assert_int_equal(table_find(table, plt + 0xf)->flags, 0);
	assert_int_equal(table_find(table, plt + 0x10)->cfa, FPL_CFA_PLT);
	table_destroy(table);
	cfi_builder_fini(&b);
}

static void no_rule_goes_on_into_or_out_of_made_up_rows(void **state)
{
	const uint64_t plt = CFI_BUILDER_TEXT + 0x100, fini = CFI_BUILDER_TEXT + 0x140;
	const uint64_t got = CFI_BUILDER_TEXT + 0x200;
	struct elf_builder elf;
	struct cfi_builder b;
	struct elf_file *file;
	struct table *table = NULL;
	struct fpl_err err;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, plt - 0x20, 0x18, BYTES("\x0e\x48")); /* 8 bytes before .plt */
	cfi_builder_fde(&b, plt + 0x20, 8, BYTES("\x0e\x50"));	  /* right behind it */
	cfi_builder_fde(&b, fini + 0x10, 8, BYTES("\x0e\x58"));	  /* 7 bytes behind .fini */
	cfi_builder_fde(&b, got - 0x20, 0x18, BYTES("\x0e\x48")); /* around a section of one row */
	cfi_builder_fde(&b, got + 0x10, 8, BYTES("\x0e\x50"));
	elf_builder_init(&elf, ET_DYN);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, CFI_BUILDER_TEXT, 0x1000, 0x1000);
	elf_builder_section(&elf, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, plt,
			    BYTES(HEADER LAZY));
	elf_builder_section(&elf, ".fini", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, fini,
			    BYTES("\x48\x83\xec\x08\x48\x83\xc4\x08\xc3"));
	elf_builder_section(&elf, ".plt.got", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, got,
			    BYTES(JUMP));
	elf_builder_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR, b.bytes,
			    b.size);
	elf_builder_finish(&elf);
	((Elf64_Ehdr *)(void *)elf.bytes)->e_entry = CFI_BUILDER_TEXT + 1;
	if (elf_file_from_memory(elf.bytes, elf.size, "fini", &file, &err) ||
	    table_compile(file, NULL, &patient_limits, &table, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(table->entry_vaddr, CFI_BUILDER_TEXT + 1);
	assert_int_equal(table->stats.synth_bytes, 0x20 + 9 + 0x10);
	assert_int_equal(table->stats.covered_bytes, 0x18 + 8 + 8 + 0x20 + 9 + 0x18 + 0x10 + 8);
	assert_int_equal(table_find(table, plt - 9)->cfa_off, 0x48);
	assert_int_equal(table_find(table, plt - 8)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, plt - 1)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, plt)->cfa_off, 16);
	assert_int_equal(table_find(table, plt + 0x20)->cfa_off, 0x50);
	assert_int_equal(table_find(table, plt + 0x28)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, fini + 8)->cfa_off, 8);
	assert_int_equal(table_find(table, fini + 9)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, fini + 0xf)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, fini + 0x10)->cfa_off, 0x58);
	assert_int_equal(table_find(table, got - 8)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, got - 1)->cfa, FPL_CFA_NONE);
	assert_int_equal(table_find(table, got)->cfa_off, 8);
	assert_int_equal(table_find(table, got + 0x10)->cfa_off, 0x50);
	/* NONE before each part; two, three, one, three, one, one, one and one row. */
	assert_int_equal(table->stats.rows, 1 + 1 + 1 + 3 + 1 + 1 + 3 + 1 + 1 + 1 + 5);
	table_destroy(table);
	elf_file_close(file);
	elf_builder_fini(&elf);
	cfi_builder_fini(&b);
}

static void init_and_fini_are_known_whole(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size;
		const char *want;
	} cases[] = {
		{ ".init of crti.o and crtn.o",
		  BYTES("\x48\x83\xec\x08\x48\x8b\x05\x01\x02\x03\x04\x48\x85\xc0\x74\x02\xff\xd0"
			"\x48\x83\xc4\x08\xc3"),
		  "0-4 r7+8\n4-16 r7+16\n16-17 r7+8\n" },
		{ ".fini", BYTES("\x48\x83\xec\x08\x48\x83\xc4\x08\xc3"),
		  "0-4 r7+8\n4-8 r7+16\n8-9 r7+8\n" },
		{ ".fini under IBT", BYTES("\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x48\x83\xc4\x08\xc3"),
		  "0-8 r7+8\n8-c r7+16\nc-d r7+8\n" },
		{ "a call between",
		  BYTES("\x48\x83\xec\x08\xe8\x01\x02\x03\x04\x48\x83\xc4\x08\xc3"),
		  "0-4 r7+8\n4-d r7+16\nd-e r7+8\n" },
		{ "a push between", BYTES("\x48\x83\xec\x08\x50\x48\x83\xc4\x08\xc3"), "" },
		{ "another frame size", BYTES("\x48\x83\xec\x18\x48\x83\xc4\x18\xc3"), "" },
		{ "no end", BYTES("\x48\x83\xec\x08\x48\x83\xc4\x08"), "" },
		{ "code behind the end", BYTES("\x48\x83\xec\x08\x48\x83\xc4\x08\xc3\xc3"), "" },
		{ "empty", BYTES(""), "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_row rows[ARCH_INIT_ROWS];
		size_t nr = arch_init_rows(cases[i].code, cases[i].size, CFI_BUILDER_TEXT, rows);

		assert_rows(cases[i].what, rows, nr, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_known_by_their_instructions),
		cmocka_unit_test(some_code_is_known_wherever_it_is),
		cmocka_unit_test(entries_off_their_boundary_have_no_rows),
		cmocka_unit_test(no_rule_goes_on_into_or_out_of_made_up_rows),
		cmocka_unit_test(init_and_fini_are_known_whole),
		cmocka_unit_test(a_plt_without_fde_gets_rows_and_one_with_keeps_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
