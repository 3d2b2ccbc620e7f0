/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the running kernel calls an address of its own, asked through a BPF program of a few
 * instructions, which is loaded for the first question: about 2 ms of CPU, and 2 us for each
 * question, where reading /proc/kallsyms takes 100 ms.
 */
#pragma once

#include <stdbool.h>

#include "symbolize/kernel_names.h"

struct kernel_text {
	struct kernel_name_bpf *skel; /* owned; NULL: not loaded (yet) */
	bool tried;
};

void kernel_text_fini(struct kernel_text *text);

/* To be asked as long as @text is there. */
struct kernel_name_source kernel_text_source(struct kernel_text *text);
