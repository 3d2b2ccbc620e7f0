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
#include "obj/identity.h"
#include "unwind/table.h"

struct compiler;
struct table_cache;

struct compiler_result {
	uint32_t object;
	int code;	     /* of table_compile */
	struct table *table; /* the caller's to destroy; NULL with an error */
	struct fpl_err err;
};

/* @cache: borrowed, where tables are looked for first and kept; NULL: nowhere. */
FPL_MUST_CHECK int compiler_create(struct table_cache *cache, struct compiler **ret,
				   struct fpl_err *err);
/* Drops what is queued; waits for the jobs at hand (at most the CPU limit of a table). */
void compiler_destroy(struct compiler *compiler);

/* What a table is made from: all borrowed until the result was taken. */
struct compiler_input {
	uint32_t object;
	const struct elf_file *elf;
	const char *path; /* for the search of its debug file */
	const struct identity *identity;
	const struct file_stamp *stamp; /* of the file when its identity was read */
};

/* Queue @input. Errors: -ENOMEM. */
FPL_MUST_CHECK int compiler_submit(struct compiler *compiler, const struct compiler_input *input);

/* Readable while there are results. */
int compiler_fd(const struct compiler *compiler);

/* Take a finished job; false: none is. */
bool compiler_take(struct compiler *compiler, struct compiler_result *ret);

/* Jobs submitted whose results were not taken. */
size_t compiler_nr_open(const struct compiler *compiler);
