/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core file of an x86-64 process, as the kernel and gdb's gcore write it: its threads with their
 * registers, the files it had mapped, and its memory. All bytes are hostile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "bpf/shared.h"

/* Bounds of a core file; one beyond them is refused. */
#define CORE_SEGMENTS_MAX 1000000u
#define CORE_THREADS_MAX  65536u
#define CORE_NOTE_MAX	  (64u << 20) /* bytes of the list of files */

/* Memory of the process: [vaddr, vaddr + size), of which the core file has the first file_size
 * bytes at off. */
struct core_segment {
	uint64_t vaddr, size, off, file_size;
	bool executable;
};

struct core_thread {
	uint32_t tid;
	uint64_t reg[FPL_NR_REGS]; /* by DWARF number */
	uint64_t pc;
};

/* A file that was mapped at [start, end) from file_off on. */
struct core_mapping {
	uint64_t start, end, file_off;
	const char *path; /* of the core file's notes: as the process saw it */
};

struct core_file {
	int fd; /* owned */
	uint64_t size;
	char *name;			      /* owned: for messages */
	VECTOR(struct core_segment) segments; /* ascending vaddr, no overlap */
	VECTOR(struct core_thread) threads;   /* at least 1: that of the signal is the first */
	VECTOR(struct core_mapping) mappings; /* ascending start, no overlap */
	char *paths;			      /* owned: of the mappings */
	uint32_t pid;
	int signal; /* that ended the process; 0: none did */
	char comm[FPL_COMM_SIZE];
	uint64_t lacking; /* bytes of memory that the file should have, and ends before */
	/* The auxiliary vector says these; 0: unknown, or none. */
	uint64_t entry, interp_base, vdso;
};

/*
 * Read the core file open at @fd, which is taken over, also on failure. @name is for messages.
 * Errors, which say what is wrong with it: -ENOEXEC no core file of x86-64; -EINVAL headers or
 * notes that do not hold together; -ENODATA no thread in it, or it ends in its headers; -EFBIG
 * beyond a limit; errors of pread(2). Cost: a pread(2) or two a note.
 */
FPL_MUST_CHECK int core_file_open(int fd, const char *name, struct core_file **ret,
				  struct fpl_err *err);
/* NULL is allowed. */
void core_file_close(struct core_file *core);

/* The memory that holds @addr, as the file lists it; NULL: it lists none. Cost: O(log segments). */
const struct core_segment *core_file_segment(const struct core_file *core, uint64_t addr);

/* The file that was mapped at @addr; NULL: none was. Cost: O(log mappings). */
const struct core_mapping *core_file_mapping(const struct core_file *core, uint64_t addr);

/* Copy @size bytes of memory at @addr. Errors: -ENOENT not all of it is in the core file; of
 * pread(2). */
FPL_MUST_CHECK int core_file_memory(const struct core_file *core, uint64_t addr, void *dst,
				    size_t size);
