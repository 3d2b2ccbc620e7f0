/* SPDX-License-Identifier: Apache-2.0 */
/* CFI facts particular to x86-64 (psABI, figure 3.36). */
#pragma once

#include <elf.h>

#include "unwind/rows.h"

enum {
	ARCH_MACHINE = EM_X86_64,
	ARCH_RA_COLUMN = 16, /* in expressions: the pc */
	ARCH_RA_OFF = -8,    /* from the CFA, where the CFI does not say */
	ARCH_RDX = 1,
	ARCH_FRAME_POINTER = 6, /* what frame-pointer walks follow: rbp */
	ARCH_SP = 7,
	ARCH_R12 = 12,
	ARCH_R13 = 13,
	ARCH_R14 = 14,
	ARCH_CALLEE_SAVED = 1 << 3 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15,
};

/* The register of each of fpl_rule.saved: rbx, rbp, r12 to r15. */
static const uint8_t arch_saved_regs[FPL_NR_SAVED] = { 3, 6, 12, 13, 14, 15 };

/*
 * Make rows for the procedure linkage table @bytes [size] at @vaddr by its instructions (ld.lld and
 * old linkers write no FDE for it): entries of 16 bytes as ld.bfd, gold and ld.lld write them, with
 * or without IBT. Equal entries in a row share one row; entries of another shape get no row.
 *
 * @rows: room for size / 16 * ARCH_PLT_ROWS rows. Returns the number of rows made.
 */
enum { ARCH_PLT_ENTRY_SIZE = 16, ARCH_PLT_ROWS = 3 };
size_t arch_plt_rows(const uint8_t *bytes, size_t size, uint64_t vaddr, struct cfi_row *rows);

/*
 * Make rows for .init or .fini, @bytes [size] at @vaddr: the halves of a function from crti.o and
 * crtn.o, "[endbr64] sub $8,%rsp; ... add $8,%rsp; ret", which have no FDE. Every instruction
 * between must be one known from crt files that leaves rsp alone.
 *
 * @rows: room for ARCH_INIT_ROWS. Returns the number of rows made, 0 for any other code.
 */
enum { ARCH_INIT_ROWS = 3 };
size_t arch_init_rows(const uint8_t *bytes, size_t size, uint64_t vaddr, struct cfi_row *rows);

/*
 * Make rows for code that is recognised by its instructions anywhere in @bytes [size] at @vaddr:
 * the restorer of signal handlers, "mov $15,%rax; syscall", which C libraries without CFI and run
 * times bring (a signal frame, from the byte before it on, where a return address is looked up),
 * and the beginning of a thread in musl's clone(), which has no caller.
 *
 * @rows: room for @cap. Returns the number of rows made. Cost: linear in @size.
 */
size_t arch_known_rows(const uint8_t *bytes, size_t size, uint64_t vaddr, struct cfi_row *rows,
		       size_t cap);
