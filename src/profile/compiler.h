/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that compile unwind tables, so that the loop that drains the kernel's records never waits
 * for one. Jobs go in by object and are begun in that order; results come back as they are done.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "unwind/table.h"

struct compiler;

struct compiler_result {
	uint32_t object;
	int code;	     /* of table_compile */
	struct table *table; /* the caller's to destroy; NULL with an error */
	struct fpl_err err;
};

FPL_MUST_CHECK int compiler_create(struct compiler **ret, struct fpl_err *err);
/* Drops what is queued; waits for the jobs at hand (at most the CPU limit of a table). */
void compiler_destroy(struct compiler *compiler);

/*
 * Queue object number @object. @elf and @path (for the search of its debug file) are borrowed until
 * the result was taken. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int compiler_submit(struct compiler *compiler, uint32_t object,
				   const struct elf_file *elf, const char *path);

/* Readable while there are results. */
int compiler_fd(const struct compiler *compiler);

/* Take a finished job; false: none is. */
bool compiler_take(struct compiler *compiler, struct compiler_result *ret);

/* Jobs submitted whose results were not taken. */
size_t compiler_nr_open(const struct compiler *compiler);
