/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF object of a run: opened, sized, loaded and attached here; all other code sees maps and
 * mapped arrays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_region.h"
#include "bpf/shared_script.h"
#include "profile/engine.h"
#include "profile/profile.h"
#include "profile/publisher.h"
#include "profile/source.h"

struct fpless_bpf;
struct host;
struct ring_buffer;
struct bpf_link;
struct thread_times_end;

#define KERNEL_SIDE_LINKS_MAX  8u
#define KERNEL_SIDE_NR_OBJECTS 65536u /* in 4 MiB; a desktop maps about 1,000 files executable */

struct kernel_side {
	struct fpless_bpf *skel;    /* owned */
	struct fpl_object *objects; /* the map, mapped */
	uint32_t nr_objects;
	struct fpl_region *regions;	      /* likewise [FPL_REGIONS_MAX] */
	struct fpl_script_rule *script_rules; /* likewise [FPL_SCRIPT_RULES_MAX] */
	struct fpl_mapping *mappings;	      /* likewise */
	uint32_t nr_mappings, nr_mapsets;
	struct fpl_stack_group *stacks; /* likewise */
	uint32_t nr_stack_groups;
	struct chunk_maker *chunk_maker; /* owned */
	uint32_t nr_chunks;
	struct ring_buffer *ring; /* owned */
	int (*record)(void *ctx, void *data, size_t size);
	void *record_ctx;
	uint64_t ring_bytes;	  /* taken in by the running drain */
	uint64_t ring_peak_bytes; /* by one drain, the most */
	uint64_t awake_ns,
		gap_max_ns; /* since when this thread does other things, and the longest */
	uint32_t every[FPL_SOURCES_MAX]; /* events with a record: one in so many is sampled; 0: no
					    record */
	uint32_t nr_procs_peak, nr_mapsets_peak, nr_targets_peak;
	struct bpf_link *links[KERNEL_SIDE_LINKS_MAX]; /* owned [nr_links] */
	size_t nr_links;
	uint64_t nr_times_left; /* threads that had not closed their books at the end of a window */
};

/*
 * Load the programs, sized and configured after @options for @host, and those that take samples of
 * @sources [@nr_sources]; attach those that follow the lives of processes. @record is called for
 * each record of the ring by kernel_side_drain.
 *
 * Errors say what is missing and what to do: rights, BTF, an old kernel, memory. Never -ESRCH,
 * -ENOENT, -EINVAL or -EIO, which mean something else to the caller of engine_run.
 */
FPL_MUST_CHECK int kernel_side_open(const struct engine_options *options, const struct host *host,
				    const struct source *sources, size_t nr_sources,
				    int (*record)(void *ctx, void *data, size_t size), void *ctx,
				    struct kernel_side *ret, struct fpl_err *err);
void kernel_side_close(struct kernel_side *kernel);

/* Frames the kernel's own frame-pointer walk can have: kernel.perf_event_max_stack when the
 * programs were loaded, at most FPL_FP_DEPTH_MAX. */
uint32_t kernel_side_fp_depth(const struct kernel_side *kernel);

/* The BPF object in this build. */
struct kernel_side_object {
	uint32_t version; /* FPL_SHARED_VERSION it was built with */
	uint32_t nr_programs, nr_maps;
};

/* Look at the BPF object without loading it. Errors: those of libbpf's open. */
FPL_MUST_CHECK int kernel_side_object(struct kernel_side_object *ret);

/* Do the kernel's counts of stacks have sums of squares (FPL_CONFIG_SQUARES)? */
bool kernel_side_has_squares(const struct kernel_side *kernel);

/* The program that takes samples of such sources. */
int kernel_side_sampler_fd(const struct kernel_side *kernel, enum sampler sampler);
/* samplers_alloc_fd(), samplers_free_fd() */
int kernel_side_alloc_fd(const struct kernel_side *kernel);
int kernel_side_free_fd(const struct kernel_side *kernel);

/* Samples are taken between these two. Whatever the sources, none is in the making any more when
 * the gate has closed: the books hold still. Closing waits for the programs that run: some ms, or
 * much less where each of them runs with preemption off (@no_preemption). */
FPL_MUST_CHECK int kernel_side_open_gate(struct kernel_side *kernel, struct fpl_err *err);
void kernel_side_close_gate(struct kernel_side *kernel, bool no_preemption);
/* The same where no source can run a program any more: it waits for none. */
void kernel_side_shut_gate(struct kernel_side *kernel);

/* Behind the closed gate: as thread_times_close, and what the books say. */
FPL_MUST_CHECK int kernel_side_close_times(struct kernel_side *kernel,
					   const struct thread_times_end *end, struct fpl_err *err);
struct fpl_times kernel_side_times(const struct kernel_side *kernel);

/* Let samples of source number @source weigh @weight from here on: while it is not enabled. */
void kernel_side_set_weight(struct kernel_side *kernel, uint32_t source, uint64_t weight);

/* Let one of each @ns of waits be sampled from here on (engine_blocks.period_ns): more than before,
 * and at most a second; and what it is. */
void kernel_side_set_block_ns(struct kernel_side *kernel, uint64_t ns);
uint64_t kernel_side_block_ns(const struct kernel_side *kernel);

/* Let @pid be a target with FPL_TARGET_* @flags. */
FPL_MUST_CHECK int kernel_side_target(struct kernel_side *kernel, uint32_t pid, uint32_t flags,
				      struct fpl_err *err);

/* Only given threads of the targets are sampled: add @tid. Only with threads in the options. */
FPL_MUST_CHECK int kernel_side_thread(struct kernel_side *kernel, uint32_t tid,
				      struct fpl_err *err);

/* Only tasks in the cgroup @fd is of, or below it. Only with a cgroup in the options. */
FPL_MUST_CHECK int kernel_side_cgroup(struct kernel_side *kernel, int fd, struct fpl_err *err);

/* For comm_filter_tell; what finds no room is no error. Only with a comm in the options. */
void kernel_side_comm(void *kernel, const struct fpl_comm *comm, uint32_t verdict);

/* Has the thread, given before, not begun to exit? */
bool kernel_side_thread_lives(const struct kernel_side *kernel, uint32_t tid);

/* Is @pid a target? For collect.is_followed. */
bool kernel_side_is_target(void *kernel, uint32_t pid);

/* Readable when the ring wants to be drained. */
int kernel_side_ring_fd(const struct kernel_side *kernel);
/* Hand on the records there are, at @now (CLOCK_MONOTONIC). False: the taker refused more of them
 * for now. */
bool kernel_side_drain(struct kernel_side *kernel, uint64_t now);
/*
 * Before this thread sleeps: the next life record, or snapshot, makes kernel_side_ring_fd()
 * readable. What came before is handed on, with the same result as kernel_side_drain().
 */
bool kernel_side_arm(struct kernel_side *kernel, uint64_t now);
/* Once it is awake, and drains by itself: no record wakes it but where the ring fills. */
void kernel_side_disarm(struct kernel_side *kernel);
/* This thread has slept until @now because there was nothing to hand on: that is no gap between two
 * drains. */
void kernel_side_woken(struct kernel_side *kernel, uint64_t now);

/* Look how many entries the hash maps have. Cost: reads them whole. */
void kernel_side_count(struct kernel_side *kernel);

/*
 * Fill of the maps as far as this side knows, at most @max of them; 0 for those that userspace
 * fills. Returns their number.
 */
size_t kernel_side_maps(const struct kernel_side *kernel, const struct fpl_counters *counters,
			struct profile_map *ret, size_t max);

/* pool_chunk_fn */
int kernel_side_make_chunk(void *kernel, uint32_t number, void **ret, struct fpl_err *err);

/* The gen the kernel side has for @pid, 0 if none: for tracker.kernel_gen. */
uint64_t kernel_side_gen(void *kernel, uint32_t pid);

/* Access to the map `mapsets`, with the struct kernel_side as ctx. */
extern const struct publisher_ops kernel_side_publisher_ops;

/* Sums over all CPUs, as of samplers_counters. */
FPL_MUST_CHECK int kernel_side_counters(const struct kernel_side *kernel, struct fpl_counters *ret);

/* Runs of the samplers as the kernel counted them; 0 while kernel.bpf_stats_enabled is off. */
uint64_t kernel_side_run_cnt(const struct kernel_side *kernel);

/* Call @fn for each entry of `stacks`: what it counts is exact once sampling has stopped. */
void kernel_side_stacks(const struct kernel_side *kernel,
			void (*fn)(const struct fpl_stack *stack, void *ctx), void *ctx);

/*
 * The same, and empty the map: while no program runs. The next stacks are hashed by other seeds,
 * and their ids begin with 1 again.
 */
void kernel_side_take_stacks(struct kernel_side *kernel,
			     void (*fn)(const struct fpl_stack *stack, void *ctx), void *ctx);

/* Call @fn for each entry of `live`, if this run has it. Errors: -ENOMEM; bpf(2). */
FPL_MUST_CHECK int kernel_side_live(const struct kernel_side *kernel,
				    void (*fn)(const struct fpl_live *entry, void *ctx), void *ctx);

/* Take @nr entries of a map: arrays of its keys and values, borrowed for the call. */
typedef void (*kernel_entries_fn)(const void *keys, const void *values, uint32_t nr, void *ctx);

/*
 * Call @fn for all locks that threads waited at (struct fpl_lock_key, struct fpl_lock), fill in
 * what was beyond the map, and begin these sums anew. Errors: -ENOMEM; bpf(2). With
 * engine_blocks.at_locks only, while no program runs.
 */
FPL_MUST_CHECK int kernel_side_take_locks(struct kernel_side *kernel, kernel_entries_fn fn,
					  void *ctx, struct fpl_lock *ret_beyond);

/* The same of the times of threads (struct fpl_thread_key, struct fpl_thread_sum), with
 * engine_has_thread_sums(). */
FPL_MUST_CHECK int kernel_side_take_threads(struct kernel_side *kernel, kernel_entries_fn fn,
					    void *ctx, struct fpl_thread_sum *ret_beyond);

/* Entries that `live` has room for. */
uint32_t kernel_side_live_max(const struct kernel_side *kernel);

/* Memory charged to all maps, bytes, as the kernel says in fdinfo; chunks of the pool included. */
uint64_t kernel_side_maps_bytes(const struct kernel_side *kernel);
