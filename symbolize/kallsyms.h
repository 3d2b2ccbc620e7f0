/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of the running kernel and its modules, as /proc/kallsyms shows them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define KALLSYMS_SYMBOLS_MAX (4u << 20)

struct kallsyms;

struct kallsyms_match {
	const char *name;    /* owned by the table */
	const char *module;  /* owned; NULL for the kernel itself */
	uint64_t start, end; /* the addresses [start, end) have it */
};

/*
 * Read @path (/proc/kallsyms): lines "ADDRESS TYPE NAME[\t[MODULE]]". Code symbols are kept.
 *
 * Errors: -EPERM all addresses are zero: the kernel hides them (message says what to do); errors
 * of open(2) and read(2); -EINVAL no symbols in it; -ENOMEM. Lines that make no sense are skipped.
 * Cost: about 0.1 s and 6 MB for a distribution's kernel.
 */
FPL_MUST_CHECK int kallsyms_read(const char *path, struct kallsyms **ret, struct fpl_err *err);
void kallsyms_destroy(struct kallsyms *syms);

size_t kallsyms_nr_symbols(const struct kallsyms *syms);

/*
 * Find the symbol that covers @addr: of several names the one chosen by name_rule.h. The kernel
 * states no sizes: a symbol reaches to the next one; the last one before another module, or of
 * all, to the end of the page behind its own. Returns false if no symbol does. Cost: O(log n).
 */
bool kallsyms_find(const struct kallsyms *syms, uint64_t addr, struct kallsyms_match *ret);
