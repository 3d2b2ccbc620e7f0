/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the registers, for rows and messages (x86-64 psABI 1.0, figure 3.36). */
#pragma once

#include "base/cleanup.h"

/* The name of DWARF register @number; 16 is "ra", an unnamed one "?". Static storage. */
static inline const char *register_name(unsigned int number)
{
	static const char *const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
		"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra",
	};

	return number < ARRAY_SIZE(names) ? names[number] : "?";
}
