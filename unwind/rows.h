/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact rows of a file's CFI, as decoded. `fpless tables --rows` prints them and `fpless
 * verify` compares them. The compact table (unwind/table.h) is made from the same decoding.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "obj/elf_file.h"
#include "unwind/table.h"

/* Place of the caller's value of one register. */
enum cfi_kind {
	CFI_SAME,    /* unchanged; also: the CFI says nothing */
	CFI_UNDEF,   /* not recoverable; as return address: outermost frame */
	CFI_AT_CFA,  /* *(CFA + off) */
	CFI_AT_REG,  /* *(reg + off) */
	CFI_VAL_CFA, /* CFA + off */
	CFI_VAL_REG, /* reg + off (off 0: "in register") */
	CFI_VAL_PC,  /* pc + off; in a calling frame pc is the return address */
	CFI_EXPR,    /* a DWARF expression, register or offset that the table does not express */
};

struct cfi_reg {
	uint8_t kind; /* enum cfi_kind */
	uint8_t reg;  /* for AT_REG and VAL_REG, below FPL_NR_REGS; else 0 */
	int32_t off;  /* bytes; 0 where unused */
};
_Static_assert(sizeof(struct cfi_reg) == 8, "a file has a hundred thousand rows of 17 of them");

/* Registers of a row: the general ones by DWARF number, then the return address. */
enum { CFI_RA = FPL_NR_REGS, CFI_NR_REGS = FPL_NR_REGS + 1 };

/* Source of a row, best first. */
enum cfi_source {
	CFI_SOURCE_EH_FRAME,
	CFI_SOURCE_GO,		/* pclntab of a Go program, from which its run time unwinds */
	CFI_SOURCE_DEBUG_FRAME, /* .debug_frame of the file itself */
	CFI_SOURCE_DEBUG_FILE,	/* .debug_frame of its separate debug file */
	CFI_SOURCE_SYNTH,	/* made from the instructions of code without FDE */
	CFI_SOURCE_COUNT
};

/* The rule in force for every pc in [start, end). Fields a kind does not use are 0. */
struct cfi_row {
	uint64_t start, end; /* vaddr */
	/* enum fpl_cfa. NONE only with CFI_SOURCE_SYNTH: no row, and the code proves that a
	 * frame-pointer step is wrong there; registers mean nothing then. */
	uint8_t cfa;
	uint8_t cfa_reg;  /* R */
	uint8_t cfa_reg2; /* S: the second register of INDEX, the literal of PLT */
	uint8_t source;	  /* enum cfi_source */
	bool signal;	  /* CIE augmentation 'S' */
	bool other_stack; /* the frame may be on another stack than its callees: any CFA */
	/* Mask: registers that the code of the callee, not its CFI, shows to be unchanged. They
	 * have VAL_REG of themselves in reg. */
	uint16_t kept;
	bool mended;	  /* corrected: the code shows that the CFI is wrong */
	int64_t cfa_off;  /* N */
	int64_t cfa_off2; /* M: of DEREF and INDEX, added to the word read */
	/*
	 * reg[CFI_RA] is AT_CFA -8 if the CFI omits it, and UNDEF at the end of a stack. SAME for
	 * rsp (7) means the CFA; SAME for a register the ABI lets a callee change means unknown.
	 */
	struct cfi_reg reg[CFI_NR_REGS];
};

/*
 * Called once per row. Rows come in ascending address order and do not overlap: of overlapping FDEs
 * the one with the higher start wins, of equal ones the first in the section; .eh_frame wins over
 * Go's pclntab, that over .debug_frame, that over the debug file's, that over synthesised rows.
 * Equal neighbours are not merged; code without an FDE has no row. A negative return value ends the
 * iteration and is returned. @row is valid during the call.
 */
typedef int (*cfi_row_fn)(const struct cfi_row *row, void *ctx);

/*
 * Decode every FDE of @elf and of @debug, its separate debug file (may be NULL), and hand each row
 * to @fn. An FDE that does not decode yields the rows before its first bad instruction.
 *
 * Errors: as table_compile(), and @fn's. Cost: linear in the CFI bytes for well-formed files;
 * @limits bound it for all others.
 */
FPL_MUST_CHECK int cfi_rows_for_each(const struct elf_file *elf, const struct elf_file *debug,
				     const struct table_limits *limits, cfi_row_fn fn, void *ctx,
				     struct fpl_err *err);

/* One FDE, as listed by its section, or a function of a Go program's own table. */
struct cfi_fde_info {
	uint64_t start, end; /* vaddr, cut to its executable PT_LOAD */
	uint64_t off;	     /* of the FDE's length field in its section; of CFI_SOURCE_GO 0 */
	uint8_t source;	     /* enum cfi_source */
};

typedef int (*cfi_fde_fn)(const struct cfi_fde_info *fde, void *ctx);

/*
 * List the usable FDEs without decoding their programs: by source, then ascending start; behind
 * them the functions of a Go program, which may have no FDE. They may overlap. Errors and limits as
 * above. Cost: O(FDEs), and go_functions_read().
 */
FPL_MUST_CHECK int cfi_fdes_for_each(const struct elf_file *elf, const struct elf_file *debug,
				     const struct table_limits *limits, cfi_fde_fn fn, void *ctx,
				     struct fpl_err *err);
