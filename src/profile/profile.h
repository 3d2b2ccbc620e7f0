/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finished profile: recordings and reports are made from it, and its books close. The engine
 * makes it, and it is immutable afterwards. Frames are as in bpf/shared.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "obj/identity.h"
#include "proc/cgroup_names.h"
#include "proc/owner.h"
#include "source/source_spec.h"

struct profile_object {
	uint32_t id;	    /* 1.. ; objects[id - 1] */
	char *path;	    /* owned: as the target sees it, or "[vdso]" */
	char *build_id;	    /* owned: lower-case hex, "" without one */
	uint64_t file_bias; /* of its code: offset in the file less vaddr, modulo 2^64 */
	/* Owned, with its descriptor: the file as it was met; NULL: it was closed. This is how an
	 * object reaches who names its code. */
	struct met_file *file;
};

/* Closes the file, too. Safe on a zeroed struct. */
void profile_object_fini(struct profile_object *object);

struct code_names;
struct code_orders;
struct code_name;
struct jvm_codes;
struct script_codes;

/* Labels that can separate stacks. X(name, word of --by) */
#define PROFILE_LABEL_LIST(X) \
	X(PID, "pid")         \
	X(TID, "tid")         \
	X(COMM, "comm")       \
	X(CPU, "cpu")         \
	X(CGROUP, "cgroup")   \
	X(STATE, "state")     \
	X(EVENT, "event")

#define X(name, word) PROFILE_LABEL_##name,
enum profile_label { PROFILE_LABEL_LIST(X) PROFILE_LABEL_COUNT };
#undef X

#define X(name, word) PROFILE_BY_##name = 1 << PROFILE_LABEL_##name,
enum { PROFILE_LABEL_LIST(X) PROFILE_BY_KEY = 1 << PROFILE_LABEL_COUNT };
#undef X

/* The waits at one lock, exactly. */
struct profile_lock {
	uint32_t pid;
	uint64_t addr; /* of the futex there; FPL_LOCK_SEVERAL: at more than one at a time */
	uint64_t ns, nr;
};

/* The times of the threads that had one number. */
struct profile_thread {
	uint32_t pid, tid;
	struct fpl_thread_sum sum;
};

/* Sums of allocations, as pprofs of heaps call them; all 0 of other sources. */
struct profile_heap_sums {
	uint64_t alloc_objects, alloc_space, inuse_objects, inuse_space;
	/* sums of squares over the samples that were not freed, of what each stands for */
	double inuse_objects_squares, inuse_space_squares;
};

/* One distinct (pid, its start time, comm, user stack, kernel stack, stop), and the labels
 * requested; with a raw frame also one program image. */
struct profile_stack {
	uint64_t count;
	uint64_t weight;
	double squares; /* sum of the squares of the samples' weights; 0: not known */
	struct profile_heap_sums heap;
	uint64_t start_ns; /* start of the process, CLOCK_BOOTTIME */
	uint64_t gen;	   /* of the program image where a frame is raw, for code_names; else 0 */
	uint64_t first_ns; /* of one of the first samples, CLOCK_MONOTONIC; raw frames are named as
			      of then */
	uint64_t cgroup;   /* id; 0 unless by cgroup */
	uint32_t pid;
	uint32_t tid, cpu; /* 0 unless by tid, by cpu */
	uint8_t stop;	/* enum fpl_stop; meaningless with FPL_SAMPLE_KTHREAD or without user stacks
			 */
	uint8_t flags;	/* FPL_SAMPLE_KTHREAD and those of states */
	uint8_t source; /* of several: sources[source] of the profile; else 0 */
	uint16_t nr_user, nr_kernel;
	uint16_t nr_fp; /* 0 unless both walks were asked for */
	/* 0, 1 or FPL_KEY_MAX: the value of the field in profile.key; of a wait those of enum
	 * fpl_wait_word, but its links are 1 + the number of a stack among profile.wakers */
	uint8_t nr_key;
	uint32_t elided;	  /* the most frames that FPL_FRAME_GAP among user stands for */
	char comm[FPL_COMM_SIZE]; /* NUL-terminated */
	/* owned: user[nr_user] leaf first, then kernel[nr_kernel] leaf first, then fp[nr_fp]: the
	 * user stack of the same samples as the kernel's frame-pointer walk has it, leaf first,
	 * origin FPL_ORIGIN_FP; compare addresses without origin and FPL_FRAME_EXACT; then
	 * key[nr_key], as in struct fpl_sample */
	uint64_t *frames;
};

/* One sample, if the profile keeps each. */
struct profile_event {
	uint64_t time_ns; /* since start_unix_ns */
	uint64_t weight;  /* part of the stack's */
	uint32_t stack;	  /* index in stacks */
	uint32_t tid, cpu;
};

/* Counts of the times of shown samples: kept, or lost. */
struct profile_timeline {
	uint64_t missing;   /* shown, but without an event: */
	uint64_t ring_full; /* the ring had no room to tell the time, */
	uint64_t
		memory_full; /* or it was beyond --timeline-memory; some of both may not be shown */
};

/* Samples printed while the run went on; those left out are in everything else. */
struct profile_stream {
	uint64_t printed;
	uint64_t unprinted; /* naming or the reader did not keep up */
	int error;	    /* that ended it: -errno; 0: none */
	bool was_on;
};

/* The books of interface.md: fired = shown + idle + filtered + sum(lost). */
struct profile_books {
	uint64_t expected; /* of a clock, by its time; else 0 */
	uint64_t counted;  /* samples that are due by the kernel's count of events; 0: of a clock */
	uint64_t missed;   /* of either, less fired */
	uint64_t fired, idle, filtered;
	uint64_t lost[FPL_LOST_COUNT];
	uint64_t bpf_ns, bpf_runs;  /* of all runs */
	uint64_t sample_ns;	    /* of runs neither idle nor filtered; part of bpf_ns */
	uint64_t uretprobe_samples; /* with a function on the stack that is under a return probe */
	uint64_t texts_unread; /* of the filtered ones: a text of the event could not be read */
};

/* Walks that went on past the frames that are kept, all CPUs. */
struct profile_deep {
	uint64_t walked;  /* samples */
	uint64_t refused; /* samples for which there was no time left: cut where others begin */
	uint64_t cut;	  /* part of walked: one walk took too long */
	uint64_t ns;	  /* what they took beyond those frames */
};

struct profile_tables {
	uint64_t objects, rows, rules, bytes, allocated_bytes;
	uint64_t cache_hits, cache_misses, cache_bytes; /* of the cache on disk */
	uint64_t evicted;				/* tables that gave way to others */
	uint64_t refused, refused_bytes; /* tables without room at the end, and what they need */
	uint64_t synth_refused; /* objects for whose code without CFI rows would have cost too much
				 */
};

/*
 * Resources users share, and what found no room in them. X(name, key, what is short, what gives
 * more) FILES: mappings of files that could not be opened. READING: the same of files for whose
 * owner too many were read of late. OBJECTS: the same when all slots were used. TABLES: times that
 * one gave way or was refused. MAPPINGS: times that a process's were not published. SNAPSHOTS:
 * samples.
 */
#define PROFILE_LIMIT_LIST(X)                                                                      \
	X(FILES, "files", "mappings of files not opened", "more ulimit -n")                        \
	X(READING, "reading", "mappings of files not read", "too many new ones at once")           \
	X(OBJECTS, "objects", "mappings of files not met", "65,535 at once")                       \
	X(TABLES, "tables", "tables given up or refused", "more --table-memory")                   \
	X(MAPPINGS, "mappings", "times a process's mappings not published", "more --max-mappings") \
	X(SNAPSHOTS, "snapshots", "stacks cut short that waited for tables", "more --ring-memory")

#define X(name, key, what, remedy) PROFILE_LIMIT_##name,
enum profile_limit { PROFILE_LIMIT_LIST(X) PROFILE_LIMIT_COUNT };
#undef X

/* Limits cost one owner (proc/owner.h) this. */
struct profile_owner {
	/* OWNER_UNKNOWN: of processes that had gone, and of owners beyond 1,023 */
	uint64_t owner;
	const char *cgroup; /* borrowed: its path, of a cgroup; NULL: owner is a uid */
	uint64_t refused[PROFILE_LIMIT_COUNT];
};

/* The most owners named. */
#define PROFILE_OWNERS_MAX 8u

/* How full a BPF map was. */
struct profile_map {
	char name[16];	  /* as in the kernel, cut to its length */
	uint64_t entries; /* the largest value seen at one time; of the ring: bytes */
	uint64_t max;
	uint64_t bytes;	    /* memory charged for it */
	uint64_t refused;   /* entries that found no room */
	const char *option; /* raises max; NULL: none does */
	bool grows;	    /* else all of it is in use from the start */
};

#define PROFILE_MAPS_MAX 40u /* the BPF object has 25 maps: all have room */

/* The source of the samples, as it was opened (source/source_spec.h). */
struct profile_source {
	char name[SOURCE_NAME_MAX]; /* "cpu-clock", "page-faults" */
	/* Weights are sums of this type, in this unit; "": cpu, nanoseconds. */
	char type[SOURCE_NAME_MAX], unit[16];
	uint64_t period;     /* the weight of a sample that was asked for */
	uint64_t hz;	     /* 0: it is no clock */
	uint64_t hit_ns;     /* about what it costs whoever comes by; 0: nothing worth telling */
	bool has_own_frames; /* its kernel stacks begin with what took them: names_nr_own() */
	bool is_key_signed;  /* its value of profile.key is below zero where its highest bit is set
			      */
};

static inline bool profile_source_is_clock(const struct profile_source *source)
{
	return source->hz > 0;
}

/* Allocations: what became of the sampled ones, and what their probes cost. */
struct profile_heap {
	bool is_on;
	uint64_t stride;	       /* bytes to a sampled one */
	struct profile_heap_sums sums; /* of all stacks */
	uint64_t live;	    /* sampled ones that count as live; others that were not freed: */
	uint64_t gone;	    /* of programs that are there no more, */
	uint64_t young;	    /* not old enough, */
	uint64_t lost;	    /* whose sample was lost in userspace, */
	uint64_t full, max; /* for which the map had no room; its entries */
	uint64_t calls, returns, frees, bpf_ns; /* runs of the programs; 0: not counted */
	size_t nr_tellers; /* files that sample and tell themselves; of these returns are samples */
};

/* A window of a run that was cut. */
struct profile_window {
	bool is_one;
	uint64_t number;   /* 0.. */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t ahead_ns; /* profile.start_unix_ns is ahead of the clock, which was set back */
	uint64_t gap_ns;   /* before it: no samples were taken, to cut the run */
};

struct profile {
	/* what was asked: the source; of several what is common to all, names with commas between
	 * them */
	struct profile_source source;
	struct profile_source sources[FPL_SOURCES_MAX]; /* [nr_sources] */
	size_t nr_sources;				/* 0: one; else 2.. */
	char key[SOURCE_NAME_MAX]; /* the field that stacks are told apart by, too; "": none is */
	int command_status;	   /* of wait(2), of a command that ended by itself; -1: none did */
	char **argv;		   /* borrowed */
	char **command;	   /* borrowed, NULL-terminated: what was sampled; NULL: something else */
	bool user, kernel; /* which stacks were asked for */
	/* How user stacks were asked to be walked, where that is less than all there is. */
	bool cfi_only, fp_only, no_synth;
	unsigned by; /* PROFILE_BY_*: what stacks are told apart by; 0: the name of the task */
	/* Frames the kernel's frame-pointer walk can give: FPL_FP_DEPTH_MAX, or less where
	 * kernel.perf_event_max_stack is lower; 0: both walks were not asked for. */
	uint32_t fp_max;

	/* when and where */
	uint64_t start_unix_ns, duration_ns;
	struct profile_window window;
	uint32_t nr_cpus;
	char kernel_release[65];

	struct profile_object *objects; /* owned [nr_objects]: by id - 1; path NULL: retired */
	size_t nr_objects;
	struct cgroup_name
		*cgroups; /* owned [nr_cgroups], ascending by id; none unless by cgroup */
	size_t nr_cgroups;
	struct profile_stack *stacks; /* owned [nr_stacks] */
	size_t nr_stacks;

	/* owned [nr_events], ascending by time_ns: samples of stacks, each counted there as well;
	 * none unless has_events */
	struct profile_event *events;
	size_t nr_events;
	bool has_events;
	struct profile_timeline timeline;
	struct profile_stream stream;

	struct code_names *code_names; /* owned: of raw frames; NULL: none */
	/* owned: of a window, files that say what its raw frames are: to be read by
	 * code_names_read(); NULL: none */
	struct code_orders *code_orders;
	struct jvm_codes *jvm_codes;	   /* held: of raw frames of JVMs; NULL: none */
	struct script_codes *script_codes; /* held: what script frames stand for; NULL: none are */

	struct profile_heap heap;
	struct profile_books books;
	struct profile_deep deep;
	bool has_states; /* stacks tell what the thread did: FPL_SAMPLE_*, or it was on a CPU */
	bool is_wall;	 /* its one source is the time of threads, in all states */
	/* Its one source are the waits at locks: the key of each stack is a lock. */
	bool is_locks;
	bool has_no_samples; /* none was to be taken: the times of threads are what it is about */
	/* Number of stacks of wakers that the key of a sample may lead to; 0: keys have no links */
	uint32_t nr_links;
	/* Owned [nr_wakers]: those stacks. They are no samples of their own, and weigh nothing. */
	struct profile_stack *wakers;
	size_t nr_wakers;
	struct profile_lock *locks; /* owned [nr_locks], ascending by pid and addr */
	size_t nr_locks;
	struct fpl_lock locks_beyond; /* waits at those that there was no room for */
	struct fpl_times times; /* of the targets' threads, where a source asks for them; else 0 */
	/* Owned [nr_threads], ascending by pid and tid: the same by thread, if --by tid asks */
	struct profile_thread *threads;
	size_t nr_threads;
	struct fpl_thread_sum threads_beyond; /* of those that there was no room for */
	bool has_threads;
	uint64_t nr_times_left; /* of threads that were exiting: theirs are in a later window, or in
				   none */
	struct profile_tables tables;
	double max_overhead;	     /* per cent; 0: no limit */
	uint64_t hz_end, hz_changes; /* under that limit; hz_changes also of waits */
	/* One wait is sampled for so much of them (bpf/blocked.h): at first and at the end of what
	 * the profile is of; 0: each, or none is. */
	uint64_t wait_period_ns, wait_period_end_ns;
	struct profile_map maps[PROFILE_MAPS_MAX];
	size_t nr_maps;
	uint64_t refused[PROFILE_LIMIT_COUNT];		 /* of all owners */
	struct profile_owner owners[PROFILE_OWNERS_MAX]; /* [nr_owners]: most refused first */
	size_t nr_owners;
	uint64_t maps_bytes, rss_peak_bytes, user_cpu_ms, startup_ms;
	uint64_t drain_gap_max_ns; /* the longest the ring's reader did other work */
	uint64_t away_ns;	   /* in which it was stopped, or had no CPU, for long at a time */
};

/* Is the key of @nr_key words that of a wait at a lock, where FPL_SAMPLE_* are @flags?
 * FPL_WAIT_ADDR is 0 where it is not. */
static inline bool stack_is_lock(uint8_t flags, uint16_t nr_key)
{
	return (flags & FPL_SAMPLE_BLOCKED) && nr_key == FPL_KEY_MAX;
}

/* Let it be of @list [@nr], at least 1. */
void profile_set_sources(struct profile *profile, const struct profile_source *list, size_t nr);

/* Its clock, borrowed; NULL: it has none. */
const struct profile_source *profile_clock(const struct profile *profile);

/* Is one of its sources no clock? */
bool profile_counts_events(const struct profile *profile);

/* Sum of the counts of all stacks: what a writer that loses nothing has shown. */
uint64_t profile_shown(const struct profile *profile);

/* Find the links of @stack, [FPL_LINKS_MAX], in a profile with nr_links; NULL: it has no such key.
 */
uint32_t *profile_stack_links(const struct profile_stack *stack);

/* Returns link @i of @stack, below FPL_LINKS_MAX; 0: it has no such link. */
uint32_t profile_link(const struct profile *profile, const struct profile_stack *stack, size_t i);

/* The stack of the waker that @link leads to; NULL: to none. */
const struct profile_stack *profile_waker(const struct profile *profile, uint32_t link);

#define PROFILE_NO_STACK UINT32_MAX

/*
 * The stacks have moved: what was stack i is now stack @places[i], or, where that is
 * PROFILE_NO_STACK, gone, and its events with it.
 */
void profile_move_events(struct profile *profile, const uint32_t *places);

/* The path of cgroup @id; NULL: not known. Cost: O(log nr_cgroups). */
const char *profile_cgroup(const struct profile *profile, uint64_t id);

void profile_fini(struct profile *profile);

/* Name the code made at run time at @lookup_addr (frame_code_addr()), which @stack has a raw frame
 * in. Its texts are owned by what @profile has of the kind. */
bool profile_find_code(const struct profile *profile, const struct profile_stack *stack,
		       uint64_t lookup_addr, struct code_name *ret);
