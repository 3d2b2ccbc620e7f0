/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that have unwind tables compiled by workers without rights (parse/client.h), so that the
 * loop that drains the kernel's records never waits for one. Jobs go in by object and are begun in
 * that order, those that samples wait for before all others; results come back as they are done.
 *
 * A table whose rows from code would take a while comes without them (table->stats.synth_left):
 * they are another job, run when a sample needs one. If it takes so long that samples would be
 * lost, a thread of its own runs that job, after one for the rows around some addresses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "parse/parser.h"
#include "profile/table_key.h"
#include "unwind/table.h"

struct compiler;
struct object;
struct disk_cache;

enum compiler_part {
	COMPILER_CFI,	/* no rows from code but what is made at once */
	COMPILER_NEAR,	/* those around some vaddrs */
	COMPILER_WHOLE, /* nothing is left for later */
};

struct compiler_result {
	uint32_t object;
	enum compiler_part part;
	int code;	     /* of client_table() */
	struct table *table; /* the caller's to destroy; NULL with an error */
	bool is_new;	     /* it is not in the cache, and may be kept there under key */
	struct table_key key;
	struct fpl_err err;
};

/*
 * @parser: borrowed. @cache: borrowed, where tables are looked for first; NULL: nowhere. @synth:
 * rows are made from code without CFI, too.
 */
FPL_MUST_CHECK int compiler_create(struct parser *parser, struct disk_cache *cache, bool synth,
				   struct compiler **ret, struct fpl_err *err);
/* Drops what is queued; waits for the jobs at hand: at most the CPU limit of a table, for a whole
 * one 200 ms. */
void compiler_destroy(struct compiler *compiler);

/* Is making all rows of @object, of which some are left, more than samples should wait for? */
bool compiler_is_slow(const struct object *object);

/* Queue @object, borrowed until the result was taken. @vaddr: of COMPILER_NEAR. Errors: -ENOMEM. */
FPL_MUST_CHECK int compiler_submit(struct compiler *compiler, const struct object *object,
				   enum compiler_part part, uint64_t vaddr);

/* Have @table, which is there already, come as the COMPILER_CFI of @object. It is taken over,
 * unless there is an error. Errors: -ENOMEM. */
FPL_MUST_CHECK int compiler_submit_made(struct compiler *compiler, const struct object *object,
					struct table *table);

/* A sample waits for the COMPILER_CFI of @object: it comes before those for which none does. Cost:
 * linear in what is queued. */
void compiler_hasten(struct compiler *compiler, const struct object *object);

/* Add @vaddr to the COMPILER_NEAR of @object that is queued, if it was not begun and has fewer than
 * CLIENT_NEAR_MAX. */
void compiler_add_near(struct compiler *compiler, const struct object *object, uint64_t vaddr);

/* Readable while there are results. */
int compiler_fd(const struct compiler *compiler);

/* Take a finished job; false: none is. */
bool compiler_take(struct compiler *compiler, struct compiler_result *ret);

/* Jobs submitted whose results were not taken. */
size_t compiler_nr_open(const struct compiler *compiler);
