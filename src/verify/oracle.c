/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/oracle.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/register_names.h"
#include "verify/expr_eval.h"

enum { RBX = 3, RBP = 6, SP = 7, R12 = 12 };

/* The section @name of @elf, with its header, or NULL. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *found;

		if (gelf_getshdr(section, header) == NULL)
			continue;
		found = elf_strptr(elf, names, header->sh_name);
		if (found != NULL && strcmp(found, name) == 0 && header->sh_type != SHT_NOBITS)
			return section;
	}
	return NULL;
}

/* Without section headers: .eh_frame from where PT_GNU_EH_FRAME points to the end of its PT_LOAD.
 */
static Elf_Data *eh_frame_by_segment(Elf *elf, uint64_t *ret_vaddr)
{
	GElf_Phdr header, load;
	size_t nr = 0;
	int32_t distance;
	Elf_Data *data;

	if (elf_getphdrnum(elf, &nr) != 0)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		if (gelf_getphdr(elf, (int)i, &header) != NULL && header.p_type == PT_GNU_EH_FRAME)
			break;
		header.p_type = PT_NULL;
	}
	if (nr == 0 || header.p_type != PT_GNU_EH_FRAME)
		return NULL;
	data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, 8, ELF_T_BYTE);
	if (data == NULL || ((const uint8_t *)data->d_buf)[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return NULL;
	memcpy(&distance, (const uint8_t *)data->d_buf + 4, sizeof(distance));
	*ret_vaddr = header.p_vaddr + 4 + (uint64_t)(int64_t)distance;
	for (size_t i = 0; i < nr; i++) {
		if (gelf_getphdr(elf, (int)i, &load) == NULL || load.p_type != PT_LOAD ||
		    *ret_vaddr < load.p_vaddr || *ret_vaddr - load.p_vaddr >= load.p_filesz)
			continue;
		return elf_getdata_rawchunk(
			elf, (int64_t)(load.p_offset + (*ret_vaddr - load.p_vaddr)),
			load.p_filesz - (*ret_vaddr - load.p_vaddr), ELF_T_BYTE);
	}
	return NULL;
}

static int list_section(struct oracle *oracle, Elf *elf, enum fde_section where)
{
	const char *name = where == FDE_EH_FRAME ? ".eh_frame" : ".debug_frame";
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	uint64_t vaddr = 0;
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, name, &header);
	Elf_Data *data = NULL;

	if (section != NULL) {
		vaddr = header.sh_addr;
		data = elf_rawdata(section, NULL);
	} else if (where == FDE_EH_FRAME) {
		data = eh_frame_by_segment(elf, &vaddr);
	}
	if (data == NULL || data->d_buf == NULL)
		return 0;
	return fde_list_add(&oracle->fdes, ident, data, vaddr, where);
}

static int file_open(struct oracle_file *file, const struct elf_file *from, struct fpl_err *err)
{
	/* not mapped: another process could truncate the file meanwhile */
	file->elf = elf_begin(from->fd, ELF_C_READ, NULL);
	if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF)
		return fpl_fail(err, -ENOEXEC, "%s: libelf cannot read it: %s", from->name,
				elf_errmsg(-1));
	return 0;
}

static void file_close(struct oracle_file *file)
{
	if (file->dwarf != NULL)
		dwarf_end(file->dwarf);
	if (file->elf != NULL)
		elf_end(file->elf);
}

static Dwarf_CFI *debug_frame_of(struct oracle_file *file)
{
	GElf_Shdr header;

	if (find_section(file->elf, ".debug_frame", &header) == NULL)
		return NULL;
	file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	return file->dwarf != NULL ? dwarf_getcfi(file->dwarf) : NULL;
}

static int oracle_load(struct oracle *oracle, const struct elf_file *elf,
		       const struct elf_file *debug, struct fpl_err *err)
{
	int rc = file_open(&oracle->main, elf, err);

	if (rc == 0 && debug != NULL)
		rc = file_open(&oracle->debug, debug, err);
	if (rc != 0)
		return rc;
	oracle->cfi[FDE_EH_FRAME] = dwarf_getcfi_elf(oracle->main.elf);
	/* dwarf_begin_elf inflates compressed debug sections, so the lists come after it */
	oracle->cfi[FDE_DEBUG_FRAME] = debug_frame_of(&oracle->main);
	if (debug != NULL)
		oracle->cfi[FDE_DEBUG_FILE] = debug_frame_of(&oracle->debug);
	for (unsigned int i = 0; i < FDE_NR_SECTIONS && rc == 0; i++) {
		if (oracle->cfi[i] != NULL)
			rc = list_section(
				oracle, i == FDE_DEBUG_FILE ? oracle->debug.elf : oracle->main.elf,
				i);
	}
	if (rc != 0)
		return fpl_fail(err, rc, "%s: no memory for the list of FDEs", elf->name);
	fde_list_sort(&oracle->fdes);
	return 0;
}

int oracle_open(const struct elf_file *elf, const struct elf_file *debug, struct oracle **ret,
		struct fpl_err *err)
{
	struct oracle *oracle = calloc(1, sizeof(*oracle));
	int rc;

	if (oracle == NULL)
		return fpl_fail(err, -ENOMEM, "%s: no memory", elf->name);
	elf_version(EV_CURRENT);
	rc = oracle_load(oracle, elf, debug, err);
	if (rc != 0) {
		oracle_close(oracle);
		return rc;
	}
	*ret = oracle;
	return 0;
}

void oracle_close(struct oracle *oracle)
{
	if (oracle == NULL)
		return;
	fde_list_fini(&oracle->fdes);
	if (oracle->cfi[FDE_EH_FRAME] != NULL)
		dwarf_cfi_end(oracle->cfi[FDE_EH_FRAME]);
	file_close(&oracle->debug);
	file_close(&oracle->main);
	free(oracle);
}

static bool cfa_uses_pc(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (ops[i].atom == DW_OP_breg16 ||
		    (ops[i].atom == DW_OP_bregx && ops[i].number == MACHINE_RA))
			return true;
	}
	return false;
}

static enum oracle_status ask_section(Dwarf_CFI *cfi, uint64_t pc, struct oracle_answer *answer)
{
	int error;

	if (cfi == NULL)
		return ORACLE_NONE;
	if (dwarf_cfi_addrframe(cfi, pc, &answer->frame) == 0)
		return ORACLE_FRAME;
	answer->frame = NULL;
	error = dwarf_errno();
	answer->why = error != 0 ? dwarf_errmsg(error) : NULL;
	if (answer->why == NULL) /* libdw 0.188 refuses some FDEs without saying why */
		answer->why = "refused without a reason";
	/* the one message that means "no FDE covers it": its number is not public */
	return strcmp(answer->why, "no matching address range") == 0 ? ORACLE_NONE : ORACLE_REFUSED;
}

void oracle_ask(struct oracle *oracle, uint64_t pc, struct oracle_answer *ret)
{
	Dwarf_Addr start, end;
	bool signal;

	memset(ret, 0, sizeof(*ret));
	ret->status = ORACLE_NONE;
	for (unsigned int i = 0; i < FDE_NR_SECTIONS && ret->status == ORACLE_NONE; i++)
		ret->status = ask_section(oracle->cfi[i], pc, ret);
	ret->end = pc + 1;
	if (ret->status != ORACLE_FRAME)
		return;
	/*
	 * The start from libdw is not used: DW_CFA_restore_state brings back the start of the
	 * remembered row, so it is too low. The end is right.
	 */
	if (dwarf_frame_info(ret->frame, &start, &end, &signal) >= 0 && end > pc)
		ret->end = end;
	ret->uses_pc = cfa_uses_pc(ret->frame);
}

void oracle_answer_fini(struct oracle_answer *answer)
{
	free(answer->frame);
	answer->frame = NULL;
}

static struct caller_value located(const Dwarf_Op *ops, size_t nr, const struct machine *machine,
				   uint64_t cfa)
{
	struct expr_result result;

	if (expr_eval(ops, nr, machine, &cfa, &result) != 0)
		return (struct caller_value){ .kind = CALLER_EXPR };
	switch (result.kind) {
	case EXPR_ADDRESS:
		return (struct caller_value){ CALLER_VALUE,
					      machine_read(machine, result.number, 8) };
	case EXPR_VALUE:
		return (struct caller_value){ CALLER_VALUE, result.number };
	default:
		if (result.number < FPL_NR_REGS)
			return (struct caller_value){ CALLER_VALUE, machine->reg[result.number] };
		return (struct caller_value){ .kind = CALLER_EXPR };
	}
}

/* If libdw does not know the return address, it answers "same value" (see oracle_eval). */
static struct caller_value default_ra(const struct machine *machine, uint64_t cfa)
{
	return (struct caller_value){ CALLER_VALUE, machine_read(machine, cfa - 8, 8) };
}

void oracle_eval(const struct oracle_answer *answer, const struct machine *machine,
		 struct caller *ret)
{
	struct expr_result cfa;
	Dwarf_Addr start, end;
	Dwarf_Op *ops;
	size_t nr;
	int ra;

	memset(ret, 0, sizeof(*ret));
	ret->status = CALLER_REFUSED;
	ra = dwarf_frame_info(answer->frame, &start, &end, &ret->signal);
	if (ra < 0 || dwarf_frame_cfa(answer->frame, &ops, &nr) != 0 || nr == 0)
		return;
	ret->status = CALLER_GIVEN_UP;
	if (expr_eval(ops, nr, machine, NULL, &cfa) != 0)
		return;
	ret->status = CALLER_FOUND;
	ret->cfa = cfa.number;
	for (unsigned int i = 0; i <= MACHINE_RA; i++) {
		struct caller_value *value = &ret->reg[i];
		int reg = i == MACHINE_RA ? ra : (int)i;
		Dwarf_Op room[3];

		if (dwarf_frame_register(answer->frame, reg, room, &ops, &nr) != 0)
			value->kind = CALLER_EXPR;
		else if (nr != 0)
			*value = located(ops, nr, machine, ret->cfa);
		else if (ops != NULL)
			value->kind = CALLER_UNDEF;
		else if (reg == MACHINE_RA)
			*value = default_ra(machine, ret->cfa);
		else if (reg < (int)FPL_NR_REGS)
			*value = (struct caller_value){ CALLER_VALUE, machine->reg[reg] };
		else
			value->kind = CALLER_EXPR;
	}
}

static void ops_text(const Dwarf_Op *ops, size_t nr, FILE *out)
{
	if (nr == 1 && ops[0].atom == DW_OP_bregx) {
		fprintf(out, "%s%+" PRId64, register_name((unsigned int)ops[0].number),
			(int64_t)ops[0].number2);
	} else if (ops[0].atom == DW_OP_call_frame_cfa && nr == 1) {
		fputs("c+0", out);
	} else if (ops[0].atom == DW_OP_call_frame_cfa && nr == 2 &&
		   ops[1].atom == DW_OP_plus_uconst) {
		fprintf(out, "c%+" PRId64, (int64_t)ops[1].number);
	} else {
		fputs("expr(", out); /* operations in hex, with their first operands */
		for (size_t i = 0; i < nr && i < 16; i++)
			fprintf(out, "%s%02x:%" PRId64, i != 0 ? " " : "", ops[i].atom,
				(int64_t)ops[i].number);
		fputs(")", out);
	}
}

static void register_text(Dwarf_Frame *frame, unsigned int number, FILE *out)
{
	Dwarf_Op room[3], *ops;
	size_t nr;

	if (dwarf_frame_register(frame, (int)number, room, &ops, &nr) != 0) {
		fprintf(out, " %s=?", register_name(number));
	} else if (nr != 0) {
		if (number == SP && nr == 2 && ops[1].atom == DW_OP_stack_value)
			return; /* rsp is the CFA, as in nearly every row */
		fprintf(out, " %s=", register_name(number));
		ops_text(ops, nr, out);
	} else if (ops != NULL && (number == RBP || number >= R12)) {
		fprintf(out, " %s=u", register_name(number));
	}
}

void oracle_text(const struct oracle_answer *answer, char *text, size_t size)
{
	Dwarf_Op *ops;
	size_t nr;
	FILE *out;

	if (answer->status != ORACLE_FRAME) {
		snprintf(text, size, "%s", answer->status == ORACLE_NONE ? "none" : answer->why);
		return;
	}
	out = fmemopen(text, size, "w");
	if (out == NULL) {
		snprintf(text, size, "?");
		return;
	}
	fputs("cfa=", out);
	if (dwarf_frame_cfa(answer->frame, &ops, &nr) != 0 || nr == 0)
		fputs("invalid", out);
	else
		ops_text(ops, nr, out);
	for (unsigned int i = 0; i <= MACHINE_RA; i++)
		register_text(answer->frame, i, out);
	fclose(out); /* a text that does not fit is cut */
	text[size - 1] = '\0';
}
