/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files to recordings: pprof, folded stacks, .jsonl, `perf script` text, told apart by what is in
 * them. Every byte is hostile.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "recording/recording.h"

#define READ_MEMORY_BYTES (1ull << 30) /* what a recording may take, if nothing else is said */

#define READ_PART_BYTES (32u << 20) /* of a part, about */

struct read_options {
	uint64_t memory; /* bytes that the recording may take; 0: READ_MEMORY_BYTES */
	/* RECORDING_HAS_* of the labels that folded lines begin with; 0: the name of the task. */
	unsigned by;
	/* The sample type of a pprof to count; other formats count samples. NULL: the one it
	 * prefers. */
	const char *sample_type;
	bool events; /* keep each sample with its time, where the file has times */
	/*
	 * Take @part [@part_ctx], which is emptied afterwards, whenever it has grown to
	 * READ_PART_BYTES: so a large file takes no more. Of folded lines alone, of which a part is
	 * as good as a whole but for stacks that are in several parts. NULL: no parts.
	 */
	int (*part)(void *part_ctx, struct recording *part, struct fpl_err *err);
	void *part_ctx;
};

/*
 * Fill @ret, which the caller has from recording_init(), from @fd, from its position on; @name is
 * for messages.
 *
 * Errors, all with name and line: -ENOENT nothing is called sample_type; -EBADMSG it is in no
 * known format, or broken; -E2BIG it needs more than the memory it may take; those of read(2).
 * What was read until then is in @ret and only to be dropped.
 */
FPL_MUST_CHECK int recording_read(const char *name, int fd, const struct read_options *options,
				  struct recording *ret, struct fpl_err *err);
