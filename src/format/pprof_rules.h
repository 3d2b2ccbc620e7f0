/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that the writer and the reader of pprof files share: see fpless-formats(5), "pprof". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* Labels of a sample. X(name, key) */
#define PPROF_LABEL_LIST(X)                  \
	X(COMM, "comm")                      \
	X(PID, "pid")                        \
	X(TID, "tid")                        \
	X(CPU, "cpu")                        \
	X(CGROUP, "cgroup")                  \
	X(STOP, "stop")                      \
	X(ORIGIN, "origin")                  \
	X(PROCESS_START, "process_start_ns") \
	X(TIMESTAMP, "timestamp_ns")         \
	X(NO_USER, "no_user")                \
	X(CLASS, "class")                    \
	X(FP_ORIGIN, "fp_origin")            \
	X(EVENT, "event")                    \
	X(KEY, "key")                        \
	X(STATE, "state")

#define X(name, key) PPROF_LABEL_##name,
enum pprof_label { PPROF_LABEL_LIST(X) PPROF_LABEL_COUNT };
#undef X

/* Comments of fpless begin with this: others leave such comments out of what they print. */
#define PPROF_COMMENT "# "

/* The first of them: a file of fpless, whose own fields say what others have no field for. */
#define PPROF_COMMENT_OWN PPROF_COMMENT "fpless 1"

/* One of several sources: its frequency, period and event, in the order of the sample types behind
 * the first. */
#define PPROF_COMMENT_SOURCE "source "

/* In front of the keys of recording_number: of a number, of a note. */
#define PPROF_COMMENT_BOOKS "books."
#define PPROF_COMMENT_NOTE  "note."

/* The words of recording.by, as --by has them; initializers of { RECORDING_HAS_*, word }. */
#define PPROF_BY_LIST                                                                 \
	{ RECORDING_HAS_COMM, "comm" }, { RECORDING_HAS_PID, "pid" },                 \
		{ RECORDING_HAS_TID, "tid" }, { RECORDING_HAS_CPU, "cpu" },           \
		{ RECORDING_HAS_CGROUP, "cgroup" }, { RECORDING_HAS_EVENT, "event" }, \
		{ RECORDING_HAS_KEY, "key" },                                         \
	{                                                                             \
		RECORDING_HAS_STATE, "state"                                          \
	}

/* The sample types of allocations, in the order of Go and tcmalloc. X(field of recording_heap,
 * unit) */
#define PPROF_HEAP_LIST(X)        \
	X(alloc_objects, "count") \
	X(alloc_space, "bytes")   \
	X(inuse_objects, "count") \
	X(inuse_space, "bytes")
#define PPROF_HEAP_TYPES 4u

/* Is a location kernel code, as far as its mapping's name (NULL: none) and its address tell? */
bool pprof_is_kernel(const char *mapping, uint64_t address);

/*
 * The run-length text of label `origin`, "cfi:3,fp:1": frame by frame, leaf first. A run is the key
 * of an origin ("kernel" for a kernel frame, "unknown" where it is not known), "!" where the frames
 * are exact, ":" and their number.
 */
struct pprof_run {
	bool kernel, exact;
	uint8_t origin; /* enum fpl_origin or RECORDING_NO_ORIGIN */
};

static inline bool pprof_runs_equal(const struct pprof_run *a, const struct pprof_run *b)
{
	return a->kernel == b->kernel && a->exact == b->exact && a->origin == b->origin;
}

const char *pprof_run_key(const struct pprof_run *run);

/*
 * Read one run at *@at and advance *@at behind it and its comma. False: not a run. *ret_nr: above
 * 0.
 */
bool pprof_run_parse(const char **at, struct pprof_run *ret, uint32_t *ret_nr);

/*
 * The run of a frame without a label: frame @idx of the walk, whose first @nr_kernel frames look
 * like kernel code. The first of each part is where the CPU was, the others were returned to.
 */
static inline struct pprof_run pprof_run_usual(size_t idx, size_t nr_kernel, uint8_t origin)
{
	return (struct pprof_run){
		.kernel = idx < nr_kernel,
		.exact = !idx || idx == nr_kernel,
		.origin = idx < nr_kernel ? 0 : origin,
	};
}
