/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf side-band: a dummy software event per CPU that reports executable mappings (with
 * build-id), exec, fork and exit of every process. perf_event_open(2). It has no record for munmap
 * and mremap, is unordered across CPUs and can overflow: a record is news, /proc is the truth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SIDEBAND_BUILD_ID_MAX 20u

enum sideband_type {
	SIDEBAND_MAP,	 /* an executable mapping appeared */
	SIDEBAND_EXEC,	 /* the process runs another program from here on */
	SIDEBAND_FORK,	 /* a process (not a thread) was made */
	SIDEBAND_EXIT,	 /* a thread ended */
	SIDEBAND_LOST,	 /* records were lost on this CPU */
	SIDEBAND_CGROUP, /* a cgroup was made */
};

struct sideband_record {
	enum sideband_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint32_t parent;  /* FORK: pid of the parent */
	uint64_t nr_lost; /* LOST */
	uint64_t cgroup;  /* CGROUP: its id */

	/* MAP */
	uint64_t start, size, file_off;
	uint64_t inode; /* 0 if the record has a build-id instead, or for anonymous memory */
	uint32_t dev_major, dev_minor;
	uint8_t build_id[SIDEBAND_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: none */
	const char *path;      /* "//anon", "[vdso]", or as the process sees it; of a CGROUP, from
				  the top of the hierarchy; borrowed */
};

/*
 * Read one record of @size bytes, as the kernel wrote it for an event opened by sideband_open.
 * Returns 1 and fills *ret, 0 for an irrelevant record, -EINVAL for a malformed one. ret->path
 * points into @bytes.
 */
int sideband_parse(const void *bytes, size_t size, struct sideband_record *ret);

struct sideband;

/*
 * Open on every CPU of @cpus, @cgroups: with records of new cgroups. Recording begins at once.
 * Errors: those of perf_event_open(2), with advice; -ENOMEM.
 */
FPL_MUST_CHECK int sideband_open(const int *cpus, size_t nr_cpus, bool cgroups,
				 struct sideband **ret, struct fpl_err *err);
void sideband_close(struct sideband *sideband);

enum sideband_fd {
	SIDEBAND_FD_ALARM,   /* readable when a mapping was made since sideband_arm() */
	SIDEBAND_FD_RECORDS, /* readable when the buffer is half full */
};

/* One of the fds of CPU number @idx of @cpus. -1: the CPU was offline. */
int sideband_fd(const struct sideband *sideband, size_t idx, enum sideband_fd which);

/*
 * Before the reader sleeps: the next executable mapping on each CPU makes its alarm readable, if
 * its path has at most some 400 bytes. Exec, fork and exit do not: the kernel side tells of these
 * (bpf/process.h). Returns false if there are records already. Cost: three cache lines a CPU.
 */
bool sideband_arm(struct sideband *sideband);

/* Once the reader is awake, and reads the records by itself: mappings wake no one. */
void sideband_disarm(struct sideband *sideband);

/*
 * Call @fn for every record in the buffers, CPU by CPU, each in its order. A record is gone after
 * the call. Returns the number of malformed records (a bug of the kernel or of fpless).
 */
size_t sideband_drain(struct sideband *sideband,
		      void (*fn)(const struct sideband_record *record, void *ctx), void *ctx);
