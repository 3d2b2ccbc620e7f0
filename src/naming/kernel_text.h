/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running kernel's names of its own addresses, and the other way round, asked through a BPF
 * program of a few instructions, which is loaded for the first question: about 2 ms of CPU, and 2
 * us for each question, while reading /proc/kallsyms takes 100 ms.
 */
#pragma once

#include <stdbool.h>

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kernel_text {
	struct kernel_name_bpf *skel; /* owned; NULL: not loaded (yet) */
	bool tried;
};

void kernel_text_fini(struct kernel_text *text);

/*
 * Write to @ret [size] what the kernel's "%pS" gives for @addr: "NAME+0xOFFSET/0xSIZE", " [MODULE]"
 * behind it, or something else where there is no name. Errors: -EOPNOTSUPP the program could not be
 * loaded; those of bpf(2).
 */
FPL_MUST_CHECK int kernel_text_ask(struct kernel_text *text, uint64_t addr, char *ret, size_t size);

/* Find the symbol @name. *ret: its address. Errors: -ENOENT no such symbol, or the kernel hides it;
 * those of kernel_text_ask(). */
FPL_MUST_CHECK int kernel_text_find(struct kernel_text *text, const char *name, uint64_t *ret);
