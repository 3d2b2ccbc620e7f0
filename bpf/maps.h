/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps. max_entries given here are the defaults; the loader sets what options or the machine
 * decide (stacks, ring, chunks, snapshots: two per possible CPU) with bpf_map__set_max_entries.
 * Everything is allocated when it is created: a perf event may interrupt any code, so nothing
 * that runs there allocates.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/go_thread.h"
#include "bpf/shared_region.h"
#include "bpf/shared_script.h"
#include "bpf/v8_state.h"
#include "bpf/walk_state.h"

/* Place of each object's table, by slot; slot 0 stays empty. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct fpl_object);
} objects SEC(".maps");

/* How native frames of interpreters lead to script frames. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FPL_SCRIPT_RULES_MAX);
	__type(key, __u32);
	__type(value, struct fpl_script_rule);
} script_rules SEC(".maps");

/* Memory with code made at run time, and the method of its frames. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FPL_REGIONS_MAX);
	__type(key, __u32);
	__type(value, struct fpl_region);
} regions SEC(".maps");

/* Seeds of the two hashes of a stack's key and of its check: random, written by userspace while the
 * gate is closed: others in each window. */
__u64 stack_seed[3];

/* Code objects that were sent: what is forgotten here is sent again. */
struct script_code_key {
	__u64 gen;
	__u64 code;    /* its word */
	__u32 content; /* bits 63..32 of the words of its places */
	__u32 window;  /* each window of a run has them sent */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct script_code_key);
	__type(value, __u32);
} script_codes SEC(".maps");

/* Runs of executable mappings, sorted by address. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct fpl_mapping);
} mappings SEC(".maps");

/* By tgid: written here only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct fpl_proc);
} procs SEC(".maps");

/* By tgid: written by userspace, copied to the child by fork, deleted by exec and exit. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct fpl_mapset);
} mapsets SEC(".maps");

/* By tgid: the profiled processes, unless all are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct fpl_target);
} targets SEC(".maps");

/* The counts: finding a stack, or finding that it is new, takes one cache line. Mmapable for its
 * alignment and for bulk reads. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct fpl_stack_group);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* The ring's reader waits for records that cannot wait. Set by it, before it looks whether there
 * are some already. */
__u32 reader_sleeps;

/*
 * Wake the reader if it sleeps: called behind a record that cannot wait, which was sent without a
 * wakeup. A reader that is awake comes by itself, and a wakeup costs the current thread 7 us.
 */
static __always_inline void reader_wake(void)
{
	volatile __u32 *sleeps = &reader_sleeps;
	void *nothing;

	if (!*sleeps)
		return;
	nothing = bpf_ringbuf_reserve(&ring, 8, 0);
	if (!nothing)
		return;
	*sleeps = 0;
	bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

/* The pool of table images: chunk n holds pool addresses [n << FPL_CHUNK_LOG2, ...). */
struct fpl_chunk {
	__u8 bytes[FPL_CHUNK_SIZE];
};

struct fpl_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct fpl_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 128);
	__type(key, __u32);
	__array(values, struct fpl_chunk_map);
} chunks SEC(".maps");

/* By slot (slot.h), and one for samples without a slot; where stacks are kept one more. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fpl_counters);
} counters SEC(".maps");

/*
 * A process sampled lately on this CPU, so that most samples need no hash map: it passes the filter
 * and has this mapset, as of @epoch. A sample may use the entry only if all other fields hold for
 * its task; no other image of any process can match them (user_stack.h).
 */
struct fpl_recent {
	__u64 start_ns;
	__u64 mm;
	__u64 exec_id;
	__u64 gen;
	__u32 tgid; /* 0: empty */
	__u32 epoch;
	__u32 first;
	__u32 nr;
	__u32 version;
	__u32 serial;
	__u64 _pad;
};
_Static_assert(sizeof(struct fpl_recent) == 64, "one cache line");

#define FPL_RECENTS 16u

/*
 * A slot's scratch memory: a sample being put together in the form in which it crosses the ring,
 * the walk, and the frames remembered.
 */
/* words behind the user frames */
#define FPL_REST_MAX (FPL_KERNEL_DEPTH_MAX + FPL_FP_DEPTH_MAX + FPL_KEY_MAX)
#define FPL_FRAMES_MAX \
	(FPL_USER_FRAMES_MAX + FPL_REST_MAX + 1 + FPL_SCRIPT_WORDS_MAX) /* a multiple of 8 */

struct fpl_scratch {
	struct fpl_recent recents[FPL_RECENTS]; /* by tgid */
	struct fpl_walk walk;
	struct fpl_memory memory;
	struct fpl_sample sample;
	__u64 frames[FPL_FRAMES_MAX];
	__u64 pt_regs[ARCH_PT_WORDS];	    /* stored by the kernel, if the sample interrupted it */
	__u64 kernel_regs[ARCH_PT_GENERAL]; /* its own then */
	struct fpl_regs regs;		    /* in a snapshot, of the frame it begins at */
	__u32 nr_kept;			    /* user frames of a snapshot */
	__u32 slot;
	__u32 is_claimed; /* by a program: slot.h */
	__u32 counted_id; /* of the record with the stack of the last sample; 0: it was lost */
	__u32 kept[FPL_KEPT_COUNT]; /* places of a stack that is kept: FPL_KEPT_* (kept.h) */
	struct {
		__u64 addr, weight, objects;
		__u32 rss;		    /* FPL_RSS_*, and */
		__u32 mm_id;		    /* both of rss.h */
		__u32 links[FPL_LINKS_MAX]; /* of its key: wait_key.h */
	} given; /* of the moment that is being sampled: heap.h, blocked.h, rss.h */
	struct {
		__u64 pc, fp;
		__u32 is_64bit; /* 0: no user registers, or those of 32-bit code */
	} fp_regs;		/* for the frame-pointer walk of compare */
	struct {
		__u32 at, left; /* words of the sample, and of the chain at hand */
		__u32 rule;
		__u32 turns;		    /* that a function of V8 takes still */
	} codes;			    /* the loop over code objects */
	struct fpl_script_code script_code; /* being sent */
	struct v8_state v8;
} __attribute__((__aligned__(4096)));

/* By CPU and slot; mmapable for its alignment only: a page. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fpl_scratch);
} scratch SEC(".maps");

/*
 * A record with a copy of the stack being put together; a map by CPU, because it is over 96 KiB.
 * Each slot has two: the last record sent with all bytes stays, and the next ones are compared with
 * it.
 */
#define FPL_SNAPSHOTS_PER_SLOT 2u

struct fpl_snapshot {
	__u64 stack_addr; /* as in struct fpl_regs */
	__u32 stack_size;
	__u32 stack_off; /* in bytes */
	__u32 id;	 /* id of the record; 0: not sent, or not with all bytes */
	__u32 limit;	 /* bytes of stack wanted, at most FPL_SNAPSHOT_MAX, and */
	__u32 missing;	 /* as in struct fpl_regs: both while it is copied */
	__u32 _pad;
	struct fpl_hole hole;
	__u64 hole_addr;
	__u64 islands[FPL_ISLANDS_MAX]; /* addresses of hole.nr_islands; 0 */
	struct go_g g;			/* memory to read one into */
	struct fpl_shared shared;	/* of the record that is being put together */
	__u8 bytes[sizeof(struct fpl_sample) + 8 * FPL_FRAMES_MAX + sizeof(struct fpl_regs) +
		   sizeof(struct fpl_hole) + sizeof(struct fpl_shared) + FPL_SNAPSHOT_MAX +
		   FPL_ISLANDS_MAX * sizeof(struct fpl_island)];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPL_SNAPSHOTS_PER_SLOT);
	__type(key, __u32);
	__type(value, struct fpl_snapshot);
} snapshots SEC(".maps");
