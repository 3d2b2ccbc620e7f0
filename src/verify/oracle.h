/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second opinion: libdw's CFI interpreter on the same file. Its known mistakes are named here,
 * with the evidence beside the code that corrects them.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "verify/fde_list.h"
#include "verify/machine.h"

/* A file as libdw has it open. */
struct oracle_file {
	Elf *elf;     /* owned */
	Dwarf *dwarf; /* owned; NULL without .debug_frame */
};

struct oracle {
	struct oracle_file main, debug; /* debug.elf NULL: no separate debug file */
	Dwarf_CFI
		*cfi[FDE_NR_SECTIONS]; /* [FDE_EH_FRAME] owned, others borrowed; NULL: no section */
	struct fde_list fdes;	       /* of all sections, sorted */
};

enum oracle_status {
	ORACLE_FRAME,	/* frame holds for [pc asked, end) */
	ORACLE_NONE,	/* libdw finds no FDE there */
	ORACLE_REFUSED, /* libdw finds an FDE and refuses it; why has the reason */
};

/* One answer. Zero-initialise; release with oracle_answer_fini before asking again. */
struct oracle_answer {
	enum oracle_status status;
	uint64_t end;	    /* end of the pcs it holds for: the end of libdw's row */
	const char *why;    /* static storage */
	Dwarf_Frame *frame; /* owned */
	bool uses_pc;	    /* the CFA depends on the pc itself: a PLT row */
};

/*
 * Have libdw read @elf, and its separate debug file @debug (NULL: none); both are borrowed and stay
 * open until oracle_close(). A file without CFI is no error: libdw has no answer for it. Errors:
 * -ENOEXEC libelf cannot read one of them; -ENOMEM.
 */
FPL_MUST_CHECK int oracle_open(const struct elf_file *elf, const struct elf_file *debug,
			       struct oracle **ret, struct fpl_err *err);
void oracle_close(struct oracle *oracle);

/* Ask for the row at @pc, in .eh_frame first; in the next section if that has no FDE for it. */
void oracle_ask(struct oracle *oracle, uint64_t pc, struct oracle_answer *ret);
void oracle_answer_fini(struct oracle_answer *answer);

/*
 * Find the caller that @answer (ORACLE_FRAME) gives on @machine, every register of it. An
 * expression that cannot be evaluated yields CALLER_GIVEN_UP or CALLER_EXPR, a CFA that libdw calls
 * invalid CALLER_REFUSED.
 */
void oracle_eval(const struct oracle_answer *answer, const struct machine *machine,
		 struct caller *ret);

/* Write @answer to @text, in the words of `tables --rows` if they suffice. */
void oracle_text(const struct oracle_answer *answer, char *text, size_t size);
