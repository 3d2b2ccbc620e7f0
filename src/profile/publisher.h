/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapsets from userspace to the kernel side: each is a run of entries of the map `mappings`,
 * written once, named by the entry of its process in the map `mapsets`. A run is reused when no
 * process and no entry of `mapsets` (the kernel side copies them at fork) names it.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "proc/process.h"
#include "profile/catalog.h"
#include "profile/share.h"
#include "profile/space.h"

/* The publisher's interface to the kernel side; a test has its own. */
struct publisher_ops {
	/* Write @value for @pid into `mapsets`; 0 or -errno. */
	int (*update)(void *ctx, uint32_t pid, const struct fpl_mapset *value);
	/* Read the values of `mapsets`: up to @max of them; how many, or -errno. */
	int (*read_all)(void *ctx, uint32_t *pids, struct fpl_mapset *values, uint32_t max);
	void (*remove)(void *ctx, uint32_t pid);
	void (*grace)(void *ctx); /* wait for the running programs */
};

/* All pointers are borrowed. */
struct publisher_config {
	struct fpl_mapping *entries; /* the map `mappings`, mapped */
	uint32_t nr_entries;
	uint32_t nr_mapsets; /* entries of `mapsets` */
	const struct catalog *catalog;
	const struct processes *processes;
	const struct publisher_ops *ops;
	void *ctx;
};

struct publisher {
	struct publisher_config config;
	struct space space;
	VECTOR(struct space_extent) retired;
	uint32_t retired_entries;
	uint32_t serial;	  /* of the run published last */
	uint64_t nr_refused;	  /* publications without room */
	uint64_t nr_beyond_share; /* of them, of owners who have their share (share.h) */
	struct share_book
		refused; /* publications without room, and processes unpublished for others */
	uint32_t round;	 /* of the last count of what each owner has */
	uint64_t next_share_ns; /* CLOCK_MONOTONIC: not counted again before */
	uint32_t peak;		/* entries in use at one time, the most */
};

FPL_MUST_CHECK int publisher_init(struct publisher *publisher,
				  const struct publisher_config *config);
/* A zeroed struct is allowed. */
void publisher_fini(struct publisher *publisher);

/*
 * Publish the mapset of @process under its gen if anything changed. Without room, the process stays
 * unpublished: its samples come as snapshots. If another owner has more than its share, that
 * owner's processes with the most mappings are unpublished for it. Cost: O(mappings); when space
 * runs out also a grace period and a reading of `mapsets`, and, ten times a second, O(processes).
 */
void publisher_publish(struct publisher *publisher, struct process *process);

/* To be called with a run that no process refers to any more. */
void publisher_retire(struct publisher *publisher, const struct run *run);

/* Reuse what can be; called when space runs out, or when there is much to gain. */
void publisher_collect(struct publisher *publisher);
