/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the code of JVMs, and of Erlang, of which all here holds likewise (jvm_code.h): they are
 * read while these run. Several threads may hold
 * it: that of the run says what stacks have, another one has it read now and then, and a viewer of
 * the run has what is new read before it asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/code_table.h"

/* JVMs that are read: each holds a descriptor while it runs. */
#define JVM_CODES_MAX 256u

struct jvm_codes;
struct parser;

struct jvm_codes_stats {
	uint64_t functions; /* taken in */
	uint64_t refused;   /* JVMs whose code could not all be read, each said */
	uint64_t bytes;	    /* of memory held */
};

/*
 * @max_bytes: of all names and addresses. @forgets: those of the stacks so far may go when there is
 * no room for more; else what is new stays addresses. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int jvm_codes_create(size_t max_bytes, bool forgets, struct jvm_codes **ret);
/* Another holder. Returns @codes, which may be NULL. */
struct jvm_codes *jvm_codes_get(struct jvm_codes *codes);
/* The last holder frees it. NULL is allowed. */
void jvm_codes_put(struct jvm_codes *codes);

/* Process @pid runs the image @gen, of which a stack was met, and whose libjvm is loaded at @base:
 * its memory is opened, unless that was tried before. Returns whether it was not. */
bool jvm_codes_open(struct jvm_codes *codes, uint64_t gen, uint32_t pid, uint64_t base);

/*
 * The image @gen of process @pid has registered code for debuggers with the object that is loaded
 * at
 * @base: what it has is to be read. What is new holds from @time_ns (CLOCK_MONOTONIC) on, when code
 * was mapped last, or from the reading before, which is later. Returns false beyond JVM_CODES_MAX.
 */
bool jvm_codes_list(struct jvm_codes *codes, uint64_t gen, uint32_t pid, uint64_t base,
		    uint64_t time_ns);

/* Image @gen has the user frames @frames [@nr] in a new stack: jvm_code_meet(). Beyond
 * JVM_CODES_MAX its code stays addresses. */
void jvm_codes_meet(struct jvm_codes *codes, uint64_t gen, const uint64_t *frames, size_t nr);

/*
 * Ask about all that is new, by a worker of @parser; nothing is asked while a viewer holds the
 * names. Cost: 1 s of CPU at most for each 4,096 addresses.
 */
void jvm_codes_read(struct jvm_codes *codes, struct parser *parser);

/*
 * Have what is new read, and keep all names as they are until jvm_codes_release(): what
 * jvm_codes_find() returns is valid until then. @codes: NULL is allowed. Cost: as
 * jvm_codes_read(), and O(names log names) where any is new.
 */
void jvm_codes_hold(struct jvm_codes *codes, struct parser *parser);
void jvm_codes_release(struct jvm_codes *codes);
/* The run is over: the last reading. Names need not be held from here on. */
void jvm_codes_finish(struct jvm_codes *codes, struct parser *parser);

/* jvm_code_find() of image @gen. @codes: NULL has none. */
bool jvm_codes_find(struct jvm_codes *codes, uint64_t gen, uint64_t lookup_addr, uint64_t time_ns,
		    struct code_match *ret);

/* Count what was read so far. @codes: NULL has nothing. */
void jvm_codes_stats(struct jvm_codes *codes, struct jvm_codes_stats *ret);
