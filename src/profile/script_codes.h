/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script functions of a run, or of one of its windows: code objects as they come from the
 * kernel, the places that stacks have in them, and their names. Several may hold it and call it at
 * the same time: the thread of the run adds, and a viewer has what is new named.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_script.h"
#include "profile/script_memory.h"
#include "unwind/script_facts.h"

struct parser;
struct script_codes;

/* A word FPL_FRAME_SCRIPT stands for this. Texts live as long as the codes. */
struct script_frame {
	const char *function, *file; /* "": not known */
	const char *language;	     /* "python"; "script": not known */
	uint32_t line, first_line;   /* 0: not known */
	enum script_unnamed why;     /* it has no name */
};

/* Stacks are counted as often as they come from the kernel: once a distinct one. */
struct script_stats {
	uint64_t codes;			     /* code objects, */
	uint64_t unnamed_codes;		     /* of them in stacks, but without a name, and */
	uint64_t refused_codes;		     /* beyond those, for a bound */
	uint64_t chains;		     /* native frames of interpreters' loops, */
	uint64_t ends[FPL_SCRIPT_END_COUNT]; /* and how their script frames ended: all of them */
	uint64_t differ;		     /* of them: two witnesses of the place differed */
	uint64_t no_room;		     /* frames left out for want of memory */
};

/* @max_bytes: of code objects as the kernel has copied them; others have no name. @is_live: names
 * are asked for more than once. Errors: -ENOMEM. */
FPL_MUST_CHECK int script_codes_create(size_t max_bytes, bool is_live, struct script_codes **ret);
/* Another holder. Returns @codes, which may be NULL. */
struct script_codes *script_codes_get(struct script_codes *codes);
/* The last holder frees it. NULL is allowed. */
void script_codes_put(struct script_codes *codes);

/*
 * Take in what the kernel has sent of a code object, @size bytes, all but lines among them; it
 * comes before the stacks that have it. Its content is not looked at here. @facts: of its
 * interpreter; without a language it is not known, and there is no name.
 */
void script_codes_add(struct script_codes *codes, const struct script_facts *facts,
		      const struct fpl_script_code *record, size_t size);

/*
 * Take note of a code object that is not sent, @wanted, of image @gen, unless it is known: its
 * process's memory is read by script_codes_read(). Its rule is copied. @facts: of its interpreter.
 * SCRIPT_WANTED_MAX code objects are read at most, half of them of one process.
 */
#define SCRIPT_WANTED_MAX 65536u
void script_codes_want(struct script_codes *codes, const struct script_facts *facts, uint64_t gen,
		       const struct script_wanted *wanted);

/*
 * Read the code objects that are wanted, for SCRIPT_READ_S at most. @is_last: what is left then has
 * no name. Cost: nothing where none is; else as script_memory_read().
 */
#define SCRIPT_READ_S 2u
void script_codes_read(struct script_codes *codes, bool is_last);

/* Is the code object of these words known already? */
bool script_codes_has(struct script_codes *codes, uint64_t gen, uint64_t word, uint64_t place);

/* The word of the script frame whose words these are, of image @gen. */
uint64_t script_codes_frame(struct script_codes *codes, uint64_t gen, uint64_t word,
			    uint64_t place);

/* Add the counts of a stack, but for those of code. */
void script_codes_count(struct script_codes *codes, const struct script_stats *stats);

/*
 * Have a worker of @parser name what is new; NULL: nothing is. What is wanted is read before, for
 * the last time. What cannot be named stays so, and is said. Cost: nothing where nothing is new;
 * else waits for the worker.
 */
void script_codes_name(struct script_codes *codes, struct parser *parser);

/* Tell what @frame stands for; false: nothing, or it has no name. @codes: NULL has none. */
bool script_codes_find(struct script_codes *codes, uint64_t frame, struct script_frame *ret);

void script_codes_stats(struct script_codes *codes, struct script_stats *ret);
