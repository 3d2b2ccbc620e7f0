/* SPDX-License-Identifier: Apache-2.0 */
/* A request as a worker has it at hand: for worker*.c alone. */
#pragma once

#include "parse/message.h"
#include "parse/file_cache.h"

struct job {
	int sock;
	struct parse_request request;
	char name[PARSE_NAME_MAX + 1];
	uint64_t *vaddrs;		    /* owned [request.nr_vaddrs] */
	struct reading *reading;	    /* owned: the file, and what was made of it */
	struct elf_file *elf, *debug, *alt; /* borrowed from there; debug and alt may be NULL */
	int fd;				    /* owned: what is no ELF file; else -1 */
};

/* Send what goes before the results of any request: @code, and @err where it is not 0. */
FPL_MUST_CHECK int job_answer(const struct job *job, int code, const struct fpl_err *err);

/* Answer PARSE_NAMES and PARSE_FRAMES. Errors: of the socket; -ENOMEM. */
FPL_MUST_CHECK int job_names(struct job *job);
FPL_MUST_CHECK int job_frames(struct job *job);

/* Answer PARSE_LINES. */
FPL_MUST_CHECK int job_lines(struct job *job);

/* Answer PARSE_PERF_MAP and PARSE_JITDUMP. */
FPL_MUST_CHECK int job_code(struct job *job);
