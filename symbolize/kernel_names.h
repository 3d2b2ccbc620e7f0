/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel code as the kernel itself gives them, address by address; each is asked once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/kallsyms.h"

struct kernel_name_source {
	/*
	 * Write to @ret [size] what the kernel's "%pS" gives for @addr: "NAME+0xOFFSET/0xSIZE",
	 * " [MODULE]" behind it, or something else where there is no name. Returns 0 or a negative
	 * errno: it cannot be asked. NULL: there is no such source.
	 */
	int (*ask)(void *ctx, uint64_t addr, char *ret, size_t size);
	void *ctx;
};

struct kernel_name {
	uint64_t first, end; /* the addresses [first, end) are known to have it */
	uint64_t start;	     /* of the function */
	char *name;	     /* owned */
	char *module;	     /* owned; NULL: the kernel itself */
};

struct kernel_names {
	struct kernel_name *known; /* owned [nr], ascending, not overlapping */
	size_t nr, room;
};

void kernel_names_fini(struct kernel_names *names);

/*
 * The name of the code at @addr; what *ret points to is owned by @names. Returns whether there is
 * one, or a negative errno where the source cannot be asked, or without memory. Cost: a system call
 * for each function.
 */
int kernel_names_find(struct kernel_names *names, const struct kernel_name_source *source,
		      uint64_t addr, struct kallsyms_match *ret);
