/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a thread that sleeps, beside the copy of its stack: frames of an interpreter and
 * what their names are made of. The thread is not stopped: what was read counts if it has not had a
 * CPU since the copy was made. Not for use by two threads at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SLEEPER_PAGES	  64u	/* that are kept */
#define SLEEPER_READS_MAX 1024u /* of one thread: pages read, or looked for in vain */

struct sleeper_page {
	uint64_t number; /* of the page, + 1; 0: empty */
	bool is_there;
	uint8_t bytes[4096];
};

struct sleeper_memory {
	pid_t pid, tid;
	uint32_t arrivals; /* as in struct fpl_hole */
	uint32_t nr_reads; /* of the thread at hand */
	struct sleeper_page pages[SLEEPER_PAGES];
};

/* Forget all that was read: thread @tid of process @pid is next. */
void sleeper_memory_begin(struct sleeper_memory *memory, pid_t pid, pid_t tid, uint32_t arrivals);

/*
 * Copy [@addr, @addr + @size) to @dst. Errors: -EIO not all of it is resident, or SLEEPER_READS_MAX
 * pages were read. Cost: code_reader_read() of each page that is not kept.
 */
FPL_MUST_CHECK int sleeper_memory_read(struct sleeper_memory *memory, uint64_t addr, void *dst,
				       size_t size);

/* Has the thread not run since its stack was copied? Cost: nothing where nothing was read; else one
 * read of /proc. */
bool sleeper_memory_holds(const struct sleeper_memory *memory);
