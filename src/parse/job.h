/* SPDX-License-Identifier: Apache-2.0 */
/* A request as a worker has it at hand: for worker*.c alone. */
#pragma once

#include "jit/hotspot.h"
#include "jit/made_code.h"
#include "jit/memory.h"
#include "parse/message.h"
#include "parse/file_cache.h"

/* Bytes of an answer, which go out together: each sending would wake who waits for it. */
struct outbox {
	int sock;
	size_t nr;
	uint8_t bytes[16384];
};

struct job {
	struct outbox *out; /* borrowed */
	struct parse_request request;
	char name[PARSE_NAME_MAX + 1];
	uint64_t *vaddrs; /* owned [request.nr_vaddrs] */
	char text[PARSE_NAME_TEXT_MAX + 1];
	struct reading *reading;	    /* owned: the file, and what was made of it */
	struct elf_file *elf, *debug, *alt; /* borrowed from there; debug and alt may be NULL */
	int fd;				    /* owned: what is no ELF file; else -1 */
};

/* Send the @size bytes, once there are enough of them or the answer is whole. Errors: of the
 * socket. */
FPL_MUST_CHECK int job_send(const struct job *job, const void *bytes, size_t size);

/* Send what goes before the results of any request: @code, and @err where it is not 0. */
FPL_MUST_CHECK int job_answer(const struct job *job, int code, const struct fpl_err *err);

/* Answer PARSE_NAMES and PARSE_FRAMES. Errors: of the socket; -ENOMEM. */
FPL_MUST_CHECK int job_names(struct job *job);
FPL_MUST_CHECK int job_frames(struct job *job);

/* Answer PARSE_LINES. */
FPL_MUST_CHECK int job_lines(struct job *job);

/* Answer PARSE_LISTING. */
FPL_MUST_CHECK int job_listing(struct job *job);

/* The answer to it. */
struct listing_draft {
	struct reading *reading;  /* borrowed: of the file */
	struct vaddr_range range; /* of the function */
	uint8_t *code;		  /* owned [nr_bytes]: from its start on */
	size_t nr_bytes;
	struct parse_insn *insns; /* owned [nr] */
	size_t nr, room;
	char *text; /* owned [text_size] */
	size_t text_size, text_room;
	bool mangled;
};

/*
 * Make it of the function at @vaddr. @flags: PARSE_MANGLED, PARSE_INTEL. listing_draft_fini() in
 * any case. Errors: those of client_listing() (parse/client.h); of pread(2); -ENOMEM.
 */
FPL_MUST_CHECK int listing_draft_make(struct reading *reading, uint64_t vaddr, uint32_t flags,
				      struct listing_draft *ret, struct fpl_err *err);
void listing_draft_fini(struct listing_draft *draft);

/* Read the symbols of @reading, unless it has them. Errors: as symtab_create(). */
FPL_MUST_CHECK int job_open_tables(struct reading *reading, struct fpl_err *err);
/* Read its functions by FDEs, as far as that goes. */
void job_read_functions(struct reading *reading);

/* Answer PARSE_PERF_MAP, PARSE_JITDUMP and PARSE_JVM_CODE. */
FPL_MUST_CHECK int job_code(struct job *job);

/* Answer PARSE_JVM. */
FPL_MUST_CHECK int job_jvm(struct job *job);
/*
 * Find the stubs of the JVM @ret whose callers are found by rows made from their instructions:
 * ret->stubs, as many as there is room for, and ret->has_all_stubs. Cost: some ms for some 100 KiB
 * of code, a quarter of a second of CPU at most.
 */
void stubs_find(struct jit_memory *memory, struct hotspot *ret);
/* Read the code that PARSE_JVM_CODE asks for. Errors: those of client_jvm_code(). */
FPL_MUST_CHECK int job_jvm_code(const struct job *job, struct code_table *table,
				struct code_file_result *result, struct fpl_err *err);

/* Answer PARSE_MADE. */
FPL_MUST_CHECK int job_made(struct job *job);

/*
 * Find the first of the objects loaded at @bases [@nr_bases] that has a list of files for debuggers
 * (jit/jit_file.h): ret->base. The functions that these files describe in the executable memory
 * @bounds [2 * @nr] are pieces, as far as one rule holds in the frame of each; there may be none.
 * Errors: -ENOENT no object has such a list. Cost: a read of all CFI, 64 MiB at most.
 */
FPL_MUST_CHECK int registered_find(struct jit_memory *memory, const uint64_t *bases,
				   size_t nr_bases, const uint64_t *bounds, size_t nr,
				   struct made_code *ret, struct fpl_err *err);

/* Answer PARSE_SCRIPT. */
FPL_MUST_CHECK int job_script(struct job *job);

/* Answer PARSE_FUNCTION and PARSE_PROBES. */
FPL_MUST_CHECK int job_probes(struct job *job);
