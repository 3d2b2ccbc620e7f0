/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame instructions to rows. Each case is one FDE of 0x40 bytes at the start of the text; the
 * table compiled from it, by whichever interpreter, must say the same as its rows.
 */
#include "cmocka_all.h"

#include <errno.h>

#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/compact.h"

enum { FDE_SIZE = 0x40, TEXT_SIZE = 4096 };

struct program {
	const char *what;
	const uint8_t *code;
	size_t size;
	const char *want;
};

struct checked {
	const struct table *table;
	uint64_t end; /* of the rows so far */
};

/* Every row's rule must come back from the table at its first, middle and last pc. */
static int check_row(const struct cfi_row *row, void *ctx)
{
	struct checked *checked = ctx;
	const uint64_t pcs[] = { row->start, (row->start + row->end) / 2, row->end - 1 };
	struct compact_rule want;

	compact_pack(row, &want);
	for (size_t i = 0; i < ARRAY_SIZE(pcs); i++)
		if (memcmp(table_find(checked->table, pcs[i]), &want,
			   want.nr_slots * sizeof(want.rule)) != 0)
			return -EPROTO;
	checked->end = row->end;
	return 0;
}

/* Check a piece: its rows by the table, and their end. */
static void check_piece(const char *what, struct cfi_file *file, const struct cfi_piece *piece,
			const struct table *table)
{
	struct checked checked = { table, piece->start };
	struct fpl_err err;
	uint64_t end = 1;
	int code = cfi_file_run(file, piece, check_row, &checked, &end, &err);

	if (code < 0)
		fail_msg("%s: the table differs", what);
	if (end != (code == CFA_OK ? piece->end : checked.end))
		fail_msg("%s: outcome %d at %#lx", what, code, (unsigned long)end);
	if (code == CFA_BAD && table_find(table, end)->cfa != FPL_CFA_NONE)
		fail_msg("%s: a rule behind the bad instruction", what);
}

static void check(const struct cfi_builder *b, const struct program *program)
{
	const struct cfi_builder *const builders[] = { b };
	char text[TEXT_SIZE] = "";
	struct fpl_err err = { 0 };
	struct cfi_file *file;
	struct table *table;
	int code = cfi_builder_open(builders, 1, &patient_limits, &file, &err);

	if (code)
		fail_msg("%s: %s", program->what, err.msg);
	code = cfi_builder_rows(file, text, sizeof(text), &err);
	if (code || strcmp(text, program->want) != 0)
		fail_msg("%s: %d %s\n%s", program->what, code, err.msg, text);
	code = table_compile_file(file, &table, &err);
	if (code)
		fail_msg("%s: %s", program->what, err.msg);
	for (size_t i = 0; i < file->nr_pieces; i++)
		check_piece(program->what, file, &file->pieces[i], table);
	/* A program that makes sense has rows up to the end of its FDE. */
	if ((table->stats.fdes_bad == 0) != (strstr(program->want, "-40 ") != NULL))
		fail_msg("%s: %d bad", program->what, (int)table->stats.fdes_bad);
	table_destroy(table);
	cfi_file_close(file);
}

static void check_all(const struct program *programs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, programs[i].code, programs[i].size);
		check(&b, &programs[i]);
		cfi_builder_fini(&b);
	}
}

static void moves_of_the_pc_end_rows(void **state)
{
	static const struct program programs[] = {
		{ "no instructions", BYTES(""), "0-40 r7+8\n" },
		{ "nops", BYTES("\x00\x00\x00\x00\x00"), "0-40 r7+8\n" },
		{ "advance_loc", BYTES("\x41\x0e\x10"), "0-1 r7+8\n1-40 r7+16\n" },
		{ "advance_loc1", BYTES("\x02\x20\x0e\x10"), "0-20 r7+8\n20-40 r7+16\n" },
		{ "advance_loc2", BYTES("\x03\x21\x00\x0e\x10"), "0-21 r7+8\n21-40 r7+16\n" },
		{ "advance_loc4", BYTES("\x04\x22\x00\x00\x00\x0e\x10"),
		  "0-22 r7+8\n22-40 r7+16\n" },
		{ "MIPS_advance_loc8", BYTES("\x1d\x23\x00\x00\x00\x00\x00\x00\x00\x0e\x10"),
		  "0-23 r7+8\n23-40 r7+16\n" },
		{ "advance by 0 makes no row", BYTES("\x0e\x10\x40\x0e\x18"), "0-40 r7+24\n" },
		{ "the longest advance_loc", BYTES("\x7f\x0e\x10"), "0-3f r7+8\n3f-40 r7+16\n" },
		{ "advance to the end", BYTES("\x0e\x10\x02\x40"), "0-40 r7+16\n" },
		{ "advance_loc4 with a bit in each byte", BYTES("\x04\x00\x00\x00\x01\x0e\x10"),
		  "0-40 r7+8\n" },
		{ "advance past the end", BYTES("\x0e\x10\x02\xff\x0e\x18"), "0-40 r7+16\n" },
		{ "what follows an advance past the end does not matter",
		  BYTES("\x02\xff\x3f\x00\x00"), "0-40 r7+8\n" },
		{ "nor to the general interpreter", BYTES("\x13\x7f\x02\x40\x3f\x00"),
		  "0-40 r7+8\n" },
		{ "what follows the end does not matter", BYTES("\x02\x40\x3f\x3f"),
		  "0-40 r7+8\n" },
	};

	(void)state;
	check_all(programs, ARRAY_SIZE(programs));
}

static void set_loc_is_encoded_as_the_cie_says(void **state)
{
	/* The branch target, from the start of the FDE, behind an advance to 4. */
	static const struct {
		uint64_t to;
		struct program program;
	} cases[] = {
		{ 8, { "set_loc", NULL, 0, "0-4 r7+8\n4-8 r7+16\n8-40 r7+24\n" } },
		{ 4, { "set_loc to where it is", NULL, 0, "0-4 r7+8\n4-40 r7+24\n" } },
		{ 3, { "set_loc back", NULL, 0, "0-4 r7+8\n" } },
		{ FDE_SIZE, { "set_loc to the end", NULL, 0, "0-4 r7+8\n4-40 r7+16\n" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde_begin(&b);
		cfi_builder_uint(&b, CFI_BUILDER_TEXT - (CFI_BUILDER_VADDR + b.size), 4);
		cfi_builder_uint(&b, FDE_SIZE, 4);
		cfi_builder_uleb(&b, 0);
		cfi_builder_put(&b, BYTES("\x44\x0e\x10"));
		cfi_builder_uint(&b, CFA_SET_LOC, 1);
		cfi_builder_uint(&b, CFI_BUILDER_TEXT + cases[i].to - (CFI_BUILDER_VADDR + b.size),
				 4);
		cfi_builder_put(&b, BYTES("\x0e\x18"));
		cfi_builder_end(&b);
		check(&b, &cases[i].program);
		cfi_builder_fini(&b);
	}
}

static void the_cfa_is_a_register_plus_an_offset(void **state)
{
	static const struct program programs[] = {
		{ "def_cfa", BYTES("\x0c\x06\x10"), "0-40 r6+16\n" },
		{ "def_cfa, two-byte offset", BYTES("\x0c\x0a\x80\x02"), "0-40 r10+256\n" },
		{ "def_cfa, vector register", BYTES("\x0c\x11\x10"), "0-40 expr\n" },
		{ "def_cfa, the last general register", BYTES("\x0c\x0f\x10"), "0-40 r15+16\n" },
		{ "def_cfa, the return address", BYTES("\x0c\x10\x10"), "0-40 expr\n" },
		{ "def_cfa_register, the last general register", BYTES("\x0d\x0f"),
		  "0-40 r15+8\n" },
		{ "def_cfa_register, the return address", BYTES("\x0d\x10"), "0-40 expr\n" },
		{ "def_cfa_register, a vector register", BYTES("\x0d\x11"), "0-40 expr\n" },
		{ "def_cfa, from vector to general", BYTES("\x0c\x11\x10\x0d\x06"),
		  "0-40 r6+16\n" },
		{ "def_cfa_sf", BYTES("\x12\x06\x7e"), "0-40 r6+16\n" },
		{ "def_cfa_register", BYTES("\x0d\x06"), "0-40 r6+8\n" },
		{ "def_cfa_offset", BYTES("\x0e\x20"), "0-40 r7+32\n" },
		{ "def_cfa_offset, large", BYTES("\x0e\xa0\x80\x80\x01"), "0-40 r7+2097184\n" },
		{ "def_cfa_offset, beyond the slot's 32 bits", BYTES("\x0e\x80\x80\x80\x80\x10"),
		  "0-40 r7+4294967296\n" },
		{ "def_cfa_offset_sf", BYTES("\x13\x7c"), "0-40 r7+32\n" },
		{ "def_cfa_expression", BYTES("\x0f\x03\x76\x78\x06"), "0-40 *(r6-8)+0\n" },
		{ "an expression the table has no form for", BYTES("\x0f\x01\x22"), "0-40 expr\n" },
		{ "def_cfa after an expression", BYTES("\x0f\x03\x76\x78\x06\x41\x0c\x07\x08"),
		  "0-1 *(r6-8)+0\n1-40 r7+8\n" },
		{ "GNU_args_size", BYTES("\x2e\x10\x41\x0e\x10"), "0-1 r7+8\n1-40 r7+16\n" },
		{ "def_cfa after an expression with a second offset",
		  BYTES("\x0f\x05\x76\x78\x06\x23\x10\x41\x0c\x07\x08"),
		  "0-1 *(r6-8)+16\n1-40 r7+8\n" },
		{ "def_cfa after a PLT's expression",
		  BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"
			"\x41\x0c\x07\x08"),
		  "0-1 plt:11\n1-40 r7+8\n" },
		{ "def_cfa_register after a register beyond the general ones",
		  BYTES("\x0c\x11\x10\x41\x0d\x06"), "0-1 expr\n1-40 r6+16\n" },
	};

	(void)state;
	check_all(programs, ARRAY_SIZE(programs));
}

static void registers_follow_their_rules(void **state)
{
	static const struct program programs[] = {
		{ "offset", BYTES("\x83\x02\x86\x03\x8c\x04\x8d\x05\x8e\x06\x8f\x07"),
		  "0-40 r7+8 r3=c-16 r6=c-24 r12=c-32 r13=c-40 r14=c-48 r15=c-56\n" },
		{ "push: def_cfa_offset, offset", BYTES("\x0e\x10\x86\x02\x41\x0e\x18\x83\x03"),
		  "0-1 r7+16 r6=c-16\n1-40 r7+24 r3=c-24 r6=c-16\n" },
		{ "offset, the farthest the slot's byte says", BYTES("\x83\x7e"),
		  "0-40 r7+8 r3=c-1008\n" },
		{ "offset, one word farther", BYTES("\x83\x7f"), "0-40 r7+8 r3=c-1016\n" },
		{ "offset, two words farther", BYTES("\x83\x80\x01"), "0-40 r7+8 r3=c-1024\n" },
		{ "offset of the return address", BYTES("\x90\x02"), "0-40 r7+8 ra=c-16\n" },
		{ "offset of the return address, as the ABI has it", BYTES("\x90\x01\x41\x0e\x10"),
		  "0-1 r7+8\n1-40 r7+16\n" },
		{ "offset of a caller-saved register", BYTES("\x82\x02"), "0-40 r7+8 r2=c-16\n" },
		{ "offset of the first and the last register", BYTES("\x80\x02\x8f\x03"),
		  "0-40 r7+8 r0=c-16 r15=c-24\n" },
		{ "offset of a vector register is of no interest", BYTES("\x91\x02\x41\x0e\x10"),
		  "0-1 r7+8\n1-40 r7+16\n" },
		{ "offset_extended", BYTES("\x05\x06\x02"), "0-40 r7+8 r6=c-16\n" },
		{ "offset_extended_sf", BYTES("\x11\x06\x02\x11\x03\x7e"),
		  "0-40 r7+8 r3=c+16 r6=c-16\n" },
		{ "GNU_negative_offset_extended", BYTES("\x2f\x06\x02"), "0-40 r7+8 r6=c+16\n" },
		{ "val_offset", BYTES("\x14\x06\x02"), "0-40 r7+8 r6=v:c-16\n" },
		{ "val_offset_sf", BYTES("\x15\x06\x7e"), "0-40 r7+8 r6=v:c+16\n" },
		{ "rsp as a value", BYTES("\x14\x07\x01"), "0-40 r7+8 r7=v:c-8\n" },
		{ "undefined", BYTES("\x07\x06"), "0-40 r7+8 r6=u\n" },
		{ "undefined return address: the end", BYTES("\x07\x10"), "0-40 r7+8 ra=u\n" },
		{ "same_value", BYTES("\x86\x02\x41\x08\x06"), "0-1 r7+8 r6=c-16\n1-40 r7+8\n" },
		{ "same_value of a caller-saved register keeps it", BYTES("\x08\x02"),
		  "0-40 r7+8 r2=v:r2+0\n" },
		{ "same_value of the first register", BYTES("\x08\x00"), "0-40 r7+8 r0=v:r0+0\n" },
		{ "same_value of rsp is the CFA", BYTES("\x14\x07\x01\x41\x08\x07"),
		  "0-1 r7+8 r7=v:c-8\n1-40 r7+8\n" },
		{ "same_value of r15", BYTES("\x8f\x02\x41\x08\x0f"),
		  "0-1 r7+8 r15=c-16\n1-40 r7+8\n" },
		{ "same_value of a vector register is of no interest", BYTES("\x08\x11"),
		  "0-40 r7+8\n" },
		{ "same_value of a register 16 times rbx", BYTES("\x08\x23"), "0-40 r7+8\n" },
		{ "same_value of the return address is the ABI's", BYTES("\x90\x02\x08\x10"),
		  "0-40 r7+8\n" },
		{ "register", BYTES("\x09\x06\x0a"), "0-40 r7+8 r6=v:r10+0\n" },
		{ "register: glibc's vfork keeps the return address in rdi",
		  BYTES("\x09\x10\x05\x0c\x07\x00"), "0-40 r7+0 ra=v:r5+0\n" },
		{ "register, a vector one", BYTES("\x09\x06\x11"), "0-40 r7+8 r6=expr\n" },
		{ "register, the last general one", BYTES("\x09\x06\x0f"),
		  "0-40 r7+8 r6=v:r15+0\n" },
		{ "register, the one behind it", BYTES("\x09\x06\x10"), "0-40 r7+8 r6=expr\n" },
		{ "an offset as large as a number of a register is none",
		  BYTES("\x10\x06\x03\x76\x90\x01"), "0-40 r7+8 r6=*(r6+144)\n" },
		{ "expression: gcc's realigned stack", BYTES("\x10\x06\x02\x76\x00"),
		  "0-40 r7+8 r6=*(r6+0)\n" },
		{ "expression with an offset that no frame has",
		  BYTES("\x10\x06\x06\x76\x80\x80\x80\x80\x08"), "0-40 r7+8 r6=expr\n" },
		{ "val_expression", BYTES("\x16\x06\x02\x77\x08"), "0-40 r7+8 r6=v:r7+8\n" },
		{ "expression without a form", BYTES("\x10\x06\x01\x22"), "0-40 r7+8 r6=expr\n" },
		{ "return address by an expression without a form", BYTES("\x10\x10\x01\x22"),
		  "0-40 r7+8 ra=expr\n" },
	};

	(void)state;
	check_all(programs, ARRAY_SIZE(programs));
}

static void saves_from_the_cfa_register_fit_the_slot(void **state)
{
	static const struct program programs[] = {
		{ "realigned: CFA *(rbp - 8), rbx and r12 at rbp - 8n, rbp at *(rbp)",
		  BYTES("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x10\x03\x02\x76\x50"
			"\x10\x0c\x02\x76\x58"),
		  "0-40 *(r6-8)+0 r3=*(r6-48) r6=*(r6+0) r12=*(r6-40)\n" },
		{ "at another register", BYTES("\x10\x03\x02\x76\x50"), "0-40 r7+8 r3=*(r6-48)\n" },
		{ "no multiple of a word", BYTES("\x10\x03\x02\x77\x54"),
		  "0-40 r7+8 r3=*(r7-44)\n" },
	};

	(void)state;
	check_all(programs, ARRAY_SIZE(programs));
}

static void states_are_remembered_and_restored(void **state)
{
	static const struct program programs[] = {
		{ "restore_state brings back CFA and registers",
		  BYTES("\x0e\x10\x86\x02\x41\x0a\x0e\x08\xc6\x41\x0b"),
		  "0-1 r7+16 r6=c-16\n1-2 r7+8\n2-40 r7+16 r6=c-16\n" },
		{ "nested", BYTES("\x0a\x0e\x10\x0a\x0e\x18\x41\x0b\x41\x0b"),
		  "0-1 r7+24\n1-2 r7+16\n2-40 r7+8\n" },
		{ "deeper than the fast interpreter goes",
		  BYTES("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0e\x10\x41\x0b"),
		  "0-1 r7+16\n1-40 r7+8\n" },
		{ "a CFA by expression comes back",
		  BYTES("\x0f\x03\x76\x78\x06\x0a\x41\x0c\x07\x08"
			"\x41\x0b"),
		  "0-1 *(r6-8)+0\n1-2 r7+8\n2-40 *(r6-8)+0\n" },
		{ "restore goes back to the CIE's rule", BYTES("\x86\x02\x41\xc6"),
		  "0-1 r7+8 r6=c-16\n1-40 r7+8\n" },
		{ "restore_extended", BYTES("\x05\x06\x02\x41\x06\x06"),
		  "0-1 r7+8 r6=c-16\n1-40 r7+8\n" },
		{ "restore of the return address", BYTES("\x90\x03\x41\xd0"),
		  "0-1 r7+8 ra=c-24\n1-40 r7+8\n" },
		{ "restore of the first register", BYTES("\x80\x03\x41\xc0"),
		  "0-1 r7+8 r0=c-24\n1-40 r7+8\n" },
		{ "restore of a vector register is of no interest", BYTES("\x06\x11\x41\x0e\x10"),
		  "0-1 r7+8\n1-40 r7+16\n" },
	};

	(void)state;
	check_all(programs, ARRAY_SIZE(programs));
}

static void a_bad_instruction_costs_the_rest_of_its_fde(void **state)
{
	static const struct program programs[] = {
		{ "unknown opcode at once", BYTES("\x3f"), "" },
		{ "unknown opcode with something behind it", BYTES("\x41\x3f\x00\x00\x00"),
		  "0-1 r7+8\n" },
		{ "unknown opcode later", BYTES("\x41\x0e\x10\x44\x3f"), "0-1 r7+8\n1-5 r7+16\n" },
		{ "as libgcrypt has it: GNU_window_save", BYTES("\x41\x2d"), "0-1 r7+8\n" },
		{ "restore_state of nothing", BYTES("\x41\x0b"), "0-1 r7+8\n" },
		{ "operand cut", BYTES("\x41\x0e"), "0-1 r7+8\n" },
		{ "advance cut", BYTES("\x41\x0e\x10\x03\x01"), "0-1 r7+8\n" },
		{ "expression longer than the FDE", BYTES("\x41\x0f\x7f\x76"), "0-1 r7+8\n" },
		{ "expression of a register longer than the FDE", BYTES("\x41\x10\x06\x7f\x76"),
		  "0-1 r7+8\n" },
		{ "val_expression longer than the FDE", BYTES("\x41\x16\x06\x7f\x76"),
		  "0-1 r7+8\n" },
		{ "set_loc cut", BYTES("\x41\x01\x00"), "0-1 r7+8\n" },
		{ "register of an expression", BYTES("\x0f\x03\x76\x78\x06\x41\x0d\x06"),
		  "0-1 *(r6-8)+0\n" },
		{ "offset of an expression", BYTES("\x0f\x03\x76\x78\x06\x41\x0e\x06"),
		  "0-1 *(r6-8)+0\n" },
		{ "factored offset over 64 bits",
		  BYTES("\x41\x05\x06\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "0-1 r7+8\n" },
		{ "signed factored offset over 64 bits",
		  BYTES("\x41\x11\x06\x80\x80\x80\x80\x80\x80\x80\x80\x40"), "0-1 r7+8\n" },
		{ "offset whose negative is over 64 bits",
		  BYTES("\x41\x2f\x06\x80\x80\x80\x80\x80\x80\x80\x80\x10"), "0-1 r7+8\n" },
		{ "advance over 64 bits", BYTES("\x41\x1d\xff\xff\xff\xff\xff\xff\xff\xff"),
		  "0-1 r7+8\n" },
	};

	(void)state;
	check_all(programs, ARRAY_SIZE(programs));
}

static void states_are_remembered_up_to_a_depth(void **state)
{
	uint8_t code[CFA_REMEMBER_MAX + 4];
	const struct program most = { "64 states", code, sizeof(code),
				      "0-1 r7+8\n1-2 r7+16\n2-40 r7+8\n" };
	const struct program more = { "65 states", code, sizeof(code), "0-1 r7+8\n" };

	(void)state;
	memset(code, CFA_REMEMBER_STATE, sizeof(code));
	code[0] = CFA_ADVANCE_LOC | 1;
	check_all(&more, 1);
	code[CFA_REMEMBER_MAX] = CFA_DEF_CFA_OFFSET;
	code[CFA_REMEMBER_MAX + 1] = 16;
	code[CFA_REMEMBER_MAX + 2] = CFA_ADVANCE_LOC | 1;
	code[CFA_REMEMBER_MAX + 3] = CFA_RESTORE_STATE;
	check_all(&most, 1);

	uint8_t full[CFA_REMEMBER_MAX + 4];
	const struct program all = { "the 64th state", full, sizeof(full),
				     "0-1 r7+16\n1-40 r7+8\n" };

	memset(full, CFA_REMEMBER_STATE, sizeof(full));
	full[CFA_REMEMBER_MAX] = CFA_DEF_CFA_OFFSET;
	full[CFA_REMEMBER_MAX + 1] = 16;
	full[CFA_REMEMBER_MAX + 2] = CFA_ADVANCE_LOC | 1;
	full[CFA_REMEMBER_MAX + 3] = CFA_RESTORE_STATE;
	check_all(&all, 1);
}

static void the_cie_says_where_programs_start(void **state)
{
	static const struct {
		const char *what;
		const char *letters;
		const uint8_t *data;
		size_t data_size;
		const uint8_t *code;
		size_t code_size;
		const char *want;
	} cases[] = {
		{ "signal frame", "zRS", BYTES("\x1b"), CFI_BUILDER_START,
		  "0-1 r7+16 signal\n1-40 r7+16 r6=c-16 signal\n" },
		{ "rbx saved from the start", "zR", BYTES("\x1b"),
		  BYTES("\x0c\x07\x08\x90\x01\x83\x02"),
		  "0-1 r7+16 r3=c-16\n1-40 r7+16 r3=c-16 r6=c-16\n" },
		{ "an expression from the start", "zR", BYTES("\x1b"),
		  BYTES("\x0f\x03\x76\x78\x06"), "" },
		{ "no CFA at all", "zR", BYTES("\x1b"), BYTES(""), "" },
		{ "end of the stack", "zR", BYTES("\x1b"), BYTES("\x0c\x07\x08\x07\x10"),
		  "0-1 r7+16 ra=u\n1-40 r7+16 r6=c-16 ra=u\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct program program = { cases[i].what, BYTES("\x0e\x10\x41\x86\x02"),
						 cases[i].want };
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_cie(&b, cases[i].letters, cases[i].data, cases[i].data_size,
				cases[i].code, cases[i].code_size);
		b.encoding = 0x1b;
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, program.code, program.size);
		check(&b, &program);
		cfi_builder_fini(&b);
	}
}

static const struct {
	const char *what;
	uint8_t code_align, data_align, ra_column;
	const uint8_t *start;
	size_t start_size;
	const uint8_t *code;
	size_t code_size;
	const char *want;
} factors[] = {
	{ "code in units of 4", 4, 0x78, 16, CFI_BUILDER_START, BYTES("\x42\x0e\x10"),
	  "0-8 r7+8\n8-40 r7+16\n" },
	{ "code in units of 2, and an advance that overflows", 2, 0x78, 16, CFI_BUILDER_START,
	  BYTES("\x41\x0e\x10\x1d\x01\x00\x00\x00\x00\x00\x00\x80\x0e\x18"), "0-2 r7+8\n" },
	{ "data in units of 4", 1, 0x7c, 16, BYTES("\x0c\x07\x08\x90\x02"), BYTES("\x86\x04"),
	  "0-40 r7+8 r6=c-16\n" },
	{ "data in units of 1, upwards; the largest factor", 1, 1, 16,
	  BYTES("\x0c\x07\x08\x90\x01"), BYTES("\x05\x06\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
	  "0-40 r7+8 r6=expr ra=c+1\n" },
	{ "the largest offset of a row", 1, 1, 16, BYTES("\x0c\x07\x08\x90\x01"),
	  BYTES("\x05\x06\xff\xff\xff\xff\x07"), "0-40 r7+8 r6=c+2147483647 ra=c+1\n" },
	{ "the next one", 1, 1, 16, BYTES("\x0c\x07\x08\x90\x01"),
	  BYTES("\x05\x06\x80\x80\x80\x80\x08"), "0-40 r7+8 r6=expr ra=c+1\n" },
	{ "the lowest", 1, 0x7f, 16, BYTES("\x0c\x07\x08\x90\x08"),
	  BYTES("\x05\x06\x80\x80\x80\x80\x08"), "0-40 r7+8 r6=c-2147483648\n" },
	{ "and one below", 1, 0x7f, 16, BYTES("\x0c\x07\x08\x90\x08"),
	  BYTES("\x05\x06\x81\x80\x80\x80\x08"), "0-40 r7+8 r6=expr\n" },
	{ "and a larger one", 1, 1, 16, BYTES("\x0c\x07\x08\x90\x01"),
	  BYTES("\x41\x05\x06\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "0-1 r7+8 ra=c+1\n" },
	{ "nobody says where the return address is", 1, 0x78, 16, BYTES("\x0c\x07\x08"), BYTES(""),
	  "0-40 r7+8\n" },
	{ "the return address is in a register and stays there", 1, 0x78, 5, BYTES("\x0c\x07\x08"),
	  BYTES("\x41\x85\x02"), "0-1 r7+8 ra=v:r5+0\n1-40 r7+8 ra=c-16\n" },
	{ "in the first register", 1, 0x78, 0, BYTES("\x0c\x07\x08"), BYTES(""),
	  "0-40 r7+8 ra=v:r0+0\n" },
	{ "in the last general one", 1, 0x78, 15, BYTES("\x0c\x07\x08"), BYTES(""),
	  "0-40 r7+8 ra=v:r15+0\n" },
	{ "in a column beyond the registers; the usual one is of no interest", 1, 0x78, 30,
	  BYTES("\x0c\x07\x08\x90\x02"), BYTES("\x41\x9e\x03\x08\x10\x42\x08\x1e"),
	  "0-1 r7+8 ra=expr\n1-3 r7+8 ra=c-24\n3-40 r7+8 ra=expr\n" },
	{ "no CFA: a register has an offset of 0", 1, 0x78, 16, BYTES(""), BYTES("\x41\x0d\x06"),
	  "0-1 expr\n1-40 r6+0\n" },
	{ "no CFA at all", 1, 0x78, 16, BYTES(""), BYTES(""), "0-40 expr\n" },
};

static void cie_defines_factors_and_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(factors); i++) {
		const struct program program = { factors[i].what, factors[i].code,
						 factors[i].code_size, factors[i].want };
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		b.code_align = factors[i].code_align;
		b.data_align = factors[i].data_align;
		b.ra_column = factors[i].ra_column;
		cfi_builder_cie(&b, "zR", BYTES("\x1b"), factors[i].start, factors[i].start_size);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, program.code, program.size);
		check(&b, &program);
		cfi_builder_fini(&b);
	}
}

struct count {
	unsigned nr, nr_max; /* rows so far; the one to say -ECANCELED at */
};

static int count_row(const struct cfi_row *row, void *ctx)
{
	struct count *count = ctx;

	(void)row;
	return ++count->nr == count->nr_max ? -ECANCELED : 0;
}

/* Count the rows of one FDE of @size bytes with the program @code. Returns cfi_file_run()'s code.
 */
static int count_rows(const uint8_t *code, size_t code_size, uint64_t size,
		      const struct table_limits *limits, struct count *count,
		      uint64_t *ret_instructions)
{
	struct table_limits usual = patient_limits;
	struct cfi_builder b;
	const struct cfi_builder *const builders[] = { &b };
	struct cfi_file *file;
	struct fpl_err err;
	uint64_t end;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, size, code, code_size);
	assert_int_equal(cfi_builder_open(builders, 1, &usual, &file, &err), 0);
	usual = *limits;

	int ret = cfi_file_run(file, &file->pieces[0], count_row, count, &end, &err);

	*ret_instructions = file->budget.instructions;
	cfi_file_close(file);
	cfi_builder_fini(&b);
	return ret;
}

static void a_program_ends_where_a_limit_does(void **state)
{
	/* No time at all is used up when it is first looked at: every 4,096 rows. */
	static const struct {
		const char *what;
		struct table_limits limits;
		unsigned nr_max, want;
		int code;
	} cases[] = {
		{ "as many rows as there may be",
		  { UINT64_MAX, 256 << 20, 10000, false, 0, NULL, 0 },
		  0,
		  10000,
		  CFA_OK },
		{ "one more", { UINT64_MAX, 256 << 20, 9999, false, 0, NULL, 0 }, 0, 9999, -EFBIG },
		{ "many more", { UINT64_MAX, 256 << 20, 10, false, 0, NULL, 0 }, 0, 10, -EFBIG },
		{ "time", { 0, 256 << 20, 10000, false, 0, NULL, 0 }, 0, 4095, -EFBIG },
		{ "enough for the one who asks",
		  { UINT64_MAX, 256 << 20, 10000, false, 0, NULL, 0 },
		  7,
		  7,
		  -ECANCELED },
		{ "enough at the first row",
		  { UINT64_MAX, 256 << 20, 10000, false, 0, NULL, 0 },
		  1,
		  1,
		  -ECANCELED },
		{ "enough at the last row",
		  { UINT64_MAX, 256 << 20, 10000, false, 0, NULL, 0 },
		  10000,
		  10000,
		  -ECANCELED },
	};
	uint8_t code[10000];
	uint64_t instructions;

	(void)state;
	memset(code, CFA_ADVANCE_LOC | 1, sizeof(code));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct count count = { 0, cases[i].nr_max };
		int got = count_rows(code, sizeof(code), sizeof(code), &cases[i].limits, &count,
				     &instructions);

		if (got != cases[i].code || count.nr != cases[i].want)
			fail_msg("%s: %d, %u rows", cases[i].what, got, count.nr);
	}
}

static void a_cie_without_end_is_stopped_too(void **state)
{
	enum { NR = 70000 };
	struct table_limits limits = patient_limits;
	struct count count = { 0 };
	struct cfi_builder b;
	const struct cfi_builder *const builders[] = { &b };
	struct cfi_file *file;
	struct fpl_err err;
	uint64_t end;
	uint8_t *nops = calloc(NR, 1);

	(void)state;
	assert_non_null(nops);
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_cie(&b, "zR", BYTES("\x1b"), nops, NR);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES(""));
	assert_int_equal(cfi_builder_open(builders, 1, &limits, &file, &err), 0);
	limits.cpu_ns = 0;
	assert_int_equal(cfi_file_run(file, &file->pieces[0], count_row, &count, &end, &err),
			 -EFBIG);
	assert_int_equal(count.nr, 0);
	cfi_file_close(file);
	cfi_builder_fini(&b);
	free(nops);
}

static void a_program_without_rows_is_stopped_too(void **state)
{
	enum { NR = 200000, CHECKED_EVERY = 65536 };
	const struct table_limits no_time = { 0, 256 << 20, 1, false, 0, NULL, 0 };
	struct count count = { 0 };
	uint8_t *nops = calloc(NR, 1);
	uint64_t instructions;

	(void)state;
	assert_non_null(nops);
	assert_int_equal(count_rows(nops, NR, FDE_SIZE, &no_time, &count, &instructions), -EFBIG);
	assert_int_equal(count.nr, 0);
	assert_int_equal(instructions, CHECKED_EVERY);
	assert_int_equal(count_rows(nops, NR, FDE_SIZE, &patient_limits, &count, &instructions),
			 CFA_OK);
	assert_int_equal(count.nr, 1);
	assert_int_equal(instructions, NR + 2); /* and the CIE's */
	free(nops);
}

static int check_source(const struct cfi_row *row, void *ctx)
{
	const enum cfi_source *source = ctx;

	return row->source == *source ? 0 : -EPROTO;
}

static void a_row_says_which_section_it_is_from(void **state)
{
	static const enum cfi_source sources[] = { CFI_SOURCE_EH_FRAME, CFI_SOURCE_DEBUG_FRAME,
						   CFI_SOURCE_DEBUG_FILE };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		enum cfi_source source = sources[i];
		struct cfi_builder b;
		const struct cfi_builder *const builders[] = { &b };
		struct cfi_file *file;
		struct fpl_err err;
		uint64_t end;

		cfi_builder_init(&b, source);
		cfi_builder_usual_cie(&b);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES(""));
		assert_int_equal(cfi_builder_open(builders, 1, &patient_limits, &file, &err), 0);
		assert_int_equal(
			cfi_file_run(file, &file->pieces[0], check_source, &source, &end, &err),
			CFA_OK);
		cfi_file_close(file);
		cfi_builder_fini(&b);
	}
}

static void restore_needs_a_remembered_state(void **state)
{
	const struct program bad = { "after an FDE that remembers", NULL, 0, "0-3f r7+8\n" };
	const struct program cie_bad = { "a CIE after an FDE that remembers", NULL, 0,
					 "0-3f r7+8\n" };
	const struct program of_cie = { "what a CIE remembers", BYTES("\x0b"), "" };
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE - 1, BYTES("\x13\x7f\x0a"));
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + FDE_SIZE, FDE_SIZE, BYTES("\x0b"));
	check(&b, &bad);
	cfi_builder_fini(&b);

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE - 1, BYTES("\x13\x7f\x0a"));
	cfi_builder_cie(&b, "zR", BYTES("\x1b"), BYTES("\x0c\x07\x08\x0b"));
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + FDE_SIZE, FDE_SIZE, BYTES(""));
	check(&b, &cie_bad);
	cfi_builder_fini(&b);

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_cie(&b, "zR", BYTES("\x1b"), BYTES("\x0c\x07\x08\x90\x01\x0a"));
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, of_cie.code, of_cie.size);
	check(&b, &of_cie);
	cfi_builder_fini(&b);
}

static void bad_instruction_behind_another_fde_costs_its_rest(void **state)
{
	const struct program program = { "bad at 2, another FDE at 4 to 8", NULL, 0,
					 "0-2 r7+8\n4-8 r7+16\n" };
	struct cfi_builder b;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES("\x42\x3f"));
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + 4, 4, BYTES("\x0e\x10"));
	check(&b, &program);
	cfi_builder_fini(&b);
}

static void a_cie_with_a_bad_program_gives_no_rows(void **state)
{
	static const struct program programs[] = {
		{ "unknown opcode", BYTES("\x3f"), "" },
		{ "advance", BYTES("\x0c\x07\x08\x41"), "" },
		{ "restore", BYTES("\x0c\x07\x08\xc6"), "" },
		{ "set_loc", BYTES("\x0c\x07\x08\x01\x00\x00\x00\x00"), "" },
		{ "advance by 0", BYTES("\x0c\x07\x08\x40"), "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct cfi_builder b;

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_cie(&b, "zR", BYTES("\x1b"), programs[i].code, programs[i].size);
		cfi_builder_fde(&b, CFI_BUILDER_TEXT, FDE_SIZE, BYTES(""));
		check(&b, &programs[i]);
		cfi_builder_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_of_the_pc_end_rows),
		cmocka_unit_test(set_loc_is_encoded_as_the_cie_says),
		cmocka_unit_test(the_cfa_is_a_register_plus_an_offset),
		cmocka_unit_test(registers_follow_their_rules),
		cmocka_unit_test(saves_from_the_cfa_register_fit_the_slot),
		cmocka_unit_test(states_are_remembered_and_restored),
		cmocka_unit_test(a_bad_instruction_costs_the_rest_of_its_fde),
		cmocka_unit_test(states_are_remembered_up_to_a_depth),
		cmocka_unit_test(the_cie_says_where_programs_start),
		cmocka_unit_test(cie_defines_factors_and_columns),
		cmocka_unit_test(a_program_ends_where_a_limit_does),
		cmocka_unit_test(a_program_without_rows_is_stopped_too),
		cmocka_unit_test(a_cie_without_end_is_stopped_too),
		cmocka_unit_test(a_row_says_which_section_it_is_from),
		cmocka_unit_test(restore_needs_a_remembered_state),
		cmocka_unit_test(bad_instruction_behind_another_fde_costs_its_rest),
		cmocka_unit_test(a_cie_with_a_bad_program_gives_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
