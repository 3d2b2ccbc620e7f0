/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats know of x86-64: the names of its registers. */
#pragma once

#include <stdint.h>

#include "bpf/shared.h"

/* Registers by DWARF number (x86-64 psABI 1.0, figure 3.36). */
static const char *const arch_register_names[FPL_NR_REGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};

/* Registers a callee must keep, in the order of `tables --rows`: rbx, rbp, r12 to r15. */
static const uint8_t arch_saved_registers[FPL_NR_SAVED] = { 3, 6, 12, 13, 14, 15 };
