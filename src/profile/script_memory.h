/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code objects of scripts, read from the memory of processes that run on meanwhile (--script=lazy,
 * decision 0056). The kernel side has sent their words alone: what is read counts where it has the
 * content that the words have, and is in use, when all was copied. Not for use by two threads at a
 * time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_script.h"

/* Why a script frame has no name. X(name, JSON key, text) */
#define SCRIPT_UNNAMED_LIST(X)                                                         \
	X(UNKNOWN, unknown, "its code was not sent, or makes no sense")                \
	X(GONE, gone, "its program had ended, or its code was not in memory any more") \
	X(CHANGED, changed, "other data was where its code had been")                  \
	X(UNREAD, unread, "there was no time to read its code")

#define X(name, key, text) SCRIPT_UNNAMED_##name,
enum script_unnamed { SCRIPT_UNNAMED_LIST(X) SCRIPT_UNNAMED_COUNT };
#undef X

/* A code object to be read. */
struct script_wanted {
	const struct fpl_script_rule *rule; /* borrowed: that has led to it */
	uint64_t start_ns;		    /* of its process: CLOCK_BOOTTIME */
	uint64_t word;			    /* as in struct fpl_script_code, */
	uint32_t content;		    /* likewise */
	uint32_t pid, language;		    /* enum script_language_id */
	uint32_t code;			    /* the caller's number of it */
	uint32_t round;			    /* written here */
};

/*
 * Take the result of reading @wanted: @record, borrowed for the call, of @size bytes, whose rule
 * and gen are not written; NULL: nothing, and @why.
 */
typedef void (*script_read_fn)(void *ctx, const struct script_wanted *wanted,
			       const struct fpl_script_code *record, size_t size,
			       enum script_unnamed why);

struct script_memory;

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int script_memory_create(struct script_memory **ret);
/* NULL is allowed. */
void script_memory_destroy(struct script_memory *memory);

/*
 * Read @list [@nr], which is sorted anew, and call @take for each; those that are not begun at
 * @deadline_ns (CLOCK_MONOTONIC) are left out. Processes take turns of 32 code objects. Cost: about
 * three pages of a process for each, two reads of /proc a page.
 */
void script_memory_read(struct script_memory *memory, struct script_wanted *list, size_t nr,
			uint64_t deadline_ns, script_read_fn take, void *ctx);
