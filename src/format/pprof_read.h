/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pprof, gzipped or not, of fpless or of any other tool, as a recording: fpless-formats(5),
 * "pprof". Every byte is hostile. The file is read field by field; what is held in memory is what
 * is distinct in it, and bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/recording.h"

#define PPROF_READ_MEMORY (UINT64_C(1) << 30) /* bytes, if nothing else is said */

struct pprof_read_options {
	uint64_t memory; /* bytes all that is distinct may take; 0: PPROF_READ_MEMORY */
	/* The sample type that is the count; NULL: as pprof_values_choose() does. */
	const char *sample_type;
	bool events; /* keep the time of each sample, where there is one, and they are samples */
};

/* Remarks on a file that was read. */
struct pprof_remarks {
	bool own;	    /* fpless wrote it */
	uint64_t negative;  /* samples left out: with counts below 0, as of a difference */
	uint64_t cut;	    /* samples whose stack was cut to its 65,535 innermost frames */
	uint64_t dangling;  /* references to what is not in the file: frames without a name */
	uint64_t duplicate; /* entries left out: ids that others have, or 0 */
};

/* Could these, the first of a file, be of one? What it is not may still be refused. */
bool pprof_looks_like(const unsigned char *bytes, size_t size);

/*
 * Fill @ret, which the caller has from recording_init(), with what @fd, no pipe, holds from where
 * it is on. A file that fpless has not written is read twice: samples may come before what they
 * refer to. @name is for messages; @remarks may be NULL.
 *
 * Errors, with name and offset: -EBADMSG it is no pprof, or corrupt, or a bomb (gunzip.h); -ENODATA
 * it ends early; -E2BIG it needs more memory than it may take; -ENOENT no type is called
 * sample_type; those of read(2). @ret is only to be dropped then. Cost: O(size of what is
 * unpacked).
 */
FPL_MUST_CHECK int pprof_read(const char *name, int fd, const struct pprof_read_options *options,
			      struct recording *ret, struct pprof_remarks *remarks,
			      struct fpl_err *err);
