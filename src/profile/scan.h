/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a running process, read from /proc and matched with the objects of the run. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "bpf/shared.h"
#include "proc/mapset.h"
#include "profile/catalog.h"

struct scan {
	struct mapset *set;	/* the caller's reference; MAIN and INTERP flags are set */
	uint32_t main_object;	/* holds AT_ENTRY; 0: unknown */
	uint32_t interp_object; /* is at AT_BASE; 0: none */
	uint64_t time_ns;	/* CLOCK_MONOTONIC before the reading */
};

/*
 * Files met during one pass over many processes: those with the same device, inode and path are not
 * opened again. Not for longer than the pass: a file may be written anew.
 */
struct scan_cache;

/* NULL without memory: then nothing is remembered. */
struct scan_cache *scan_cache_create(void);
void scan_cache_destroy(struct scan_cache *cache);

/* An executable mapping, and what the finder has found behind it. */
struct sighted_map {
	uint64_t start, end, file_off;
	bool is_shared;	       /* anonymous memory */
	struct object *object; /* borrowed; NULL: none */
};

/* Mappings seen in a process. */
struct sighting {
	VECTOR(struct sighted_map) maps; /* in the order of addresses; at most MAPSET_MAX */
	uint64_t entry, interp_base;	 /* AT_ENTRY, AT_BASE */
	uint64_t time_ns;		 /* CLOCK_MONOTONIC before the reading */
};

/*
 * Look what process @pid has mapped, as scan_process() has it, for the owner of @finder. Errors:
 * those of scan_process().
 */
FPL_MUST_CHECK int sighting_make(struct finder *finder, uint32_t pid, uint32_t tid,
				 struct scan_cache *cache, struct sighting *ret,
				 struct fpl_err *err);
void sighting_fini(struct sighting *sighting);

/* Make a mapset of what was seen; objects that are new get their numbers. Errors: -ENOMEM. */
FPL_MUST_CHECK int scan_take(const struct sighting *sighting, struct catalog *catalog,
			     struct scan *ret);

/*
 * Read the mappings of process @pid, while no other thread uses the finder; if its leader has
 * ended, those of its thread @tid. @cache may be NULL. Errors: -ESRCH, -ENODATA (kernel thread,
 * zombie), -EACCES, -ENOMEM. Cost: about 50 us and 10 us per mapping whose file is not in @cache.
 */
FPL_MUST_CHECK int scan_process(struct catalog *catalog, uint32_t pid, uint32_t tid,
				struct scan_cache *cache, struct scan *ret, struct fpl_err *err);

/*
 * Describe the mapping [@start, @end) of @object at @file_off; as anonymous where @object is NULL
 * or has no segment there.
 */
void scan_describe(const struct object *object, uint64_t start, uint64_t end, uint64_t file_off,
		   struct fpl_mapping *ret);

/* Does @path (of maps or of the side-band) name a file, rather than "[heap]" or "//anon"? */
bool scan_is_file(const char *path);

/* Does @path (likewise) stand for anonymous memory that processes may share? */
bool scan_is_shared(const char *path);

/*
 * Does @path name a page of the kernel's own in a process? Such pages are not taken into mapsets:
 * no code of the program is there. What a walk meets of the page of probes is resolved by the
 * kernel side. With the page of old system calls each process would count as one that makes code.
 */
bool scan_is_of_kernel(const char *path);
