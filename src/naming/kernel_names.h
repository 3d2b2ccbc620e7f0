/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel code: as the kernel itself gives them, address by address; where it cannot be
 * asked, as /proc/kallsyms has them, which is read once. Each function is looked up once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/kallsyms.h"

struct kernel_text;

struct kernel_name {
	uint64_t first, end; /* the addresses [first, end) are known to have it */
	uint64_t start;	     /* of the function */
	char *name;	     /* owned; NULL: it has none */
	char *module;	     /* owned; NULL: the kernel itself */
};

struct kernel_names {
	struct kernel_text *text; /* borrowed: asks the kernel (naming/kernel_text.h); or NULL */
	const char *path;	  /* borrowed: of the symbols that are read; NULL: /proc/kallsyms */
	bool no_demangle;	  /* names stay as they are: Rust's are mangled */

	bool is_scheduler_known;   /* where its functions are was asked */
	uint64_t scheduler[2];	   /* from the first on, and below the second; both 0: unknown */
	bool is_read;		   /* the symbols were, as far as that went */
	struct kallsyms *kallsyms; /* owned; NULL: none */
	struct kernel_name *known; /* owned [nr], ascending, not overlapping */
	size_t nr, room;
};

void kernel_names_fini(struct kernel_names *names);

/*
 * The name of the code at @addr; what *ret points to is owned by @names. False: it has none, or
 * there is no memory. Cost: a system call for each function; or reading /proc/kallsyms, 100 ms.
 */
bool kernel_names_find(struct kernel_names *names, uint64_t addr, struct kallsyms_match *ret);

/*
 * Is @addr in one of the functions through which a thread goes to sleep, which the kernel leaves
 * out of its own stacks of threads that sleep (in_sched_functions(), kernel/sched/core.c)? False
 * where the kernel cannot be asked.
 */
bool kernel_names_is_scheduler(struct kernel_names *names, uint64_t addr);
