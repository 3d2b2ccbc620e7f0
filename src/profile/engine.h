/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: sample the targets for a while and hand back a finished profile. Everything that touches
 * the kernel (BPF, perf events, /proc) happens behind this function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "profile/scripts.h"
#include "proc/cpu_list.h"
#include "profile/profile.h"
#include "source/source_spec.h"

struct jvm_codes;
struct privileged_helper;
struct parser;
struct disk_cache;

enum engine_target {
	ENGINE_TARGET_ALL,  /* every process */
	ENGINE_TARGET_PIDS, /* the processes in pids, not their children, or the threads in tids */
	ENGINE_TARGET_COMMAND, /* command and all its descendants */
};

#define ENGINE_HZ_MAX 100000u

enum engine_unwind {
	ENGINE_UNWIND_AUTO, /* CFI; frame-pointer steps where CFI is missing */
	ENGINE_UNWIND_CFI,  /* CFI only */
	ENGINE_UNWIND_FP,   /* bpf_get_stack, 127 frames, no tables */
};

/* The counts so far. */
struct engine_look {
	uint64_t unix_ns, sampled_ns; /* the time of day; how long samples are taken */
	const uint64_t *counts;	      /* borrowed [nr_stacks]: the samples of each stack */
	const uint64_t *weights;      /* borrowed [nr_stacks]: what they weigh; NULL: not wanted */
	uint32_t nr_stacks;	      /* told of so far: their numbers begin with 0 */
	uint64_t fired, idle, filtered, lost;
	size_t nr_tables_made, nr_tables; /* files: with an unwind table, or that get one */
	bool last; /* the books are about to be closed: the counts are those of the profile */
};

/*
 * A listener of samples during the run: of each sample on arrival, or of the counts from time to
 * time, which costs the kernel side nothing. Called in the thread of the run, which must not be
 * blocked. A sample's stack may arrive a moment after the sample, so times of one CPU may go back.
 */
struct engine_listener {
	/* An object, before the first sample or stack that names it; with its file, borrowed for
	 * the call. NULL: not wanted. */
	void (*object)(void *ctx, const struct profile_object *object);
	/* No sample or stack from here on names the object with @id; another object may be told
	 * with it later. Only with object. NULL: not wanted. */
	void (*retired)(void *ctx, uint32_t id);
	/* A sample taken at @unix_ns: its stack, count 1, of the thread and on the CPU it was taken
	 * of. The frames are borrowed for the call. NULL: not wanted. */
	void (*sample)(void *ctx, uint64_t unix_ns, const struct profile_stack *stack);
	/* A stack that the looks to come will count: the next number. As for sample. Only with
	 * look. */
	void (*stack)(void *ctx, const struct profile_stack *stack);
	/* Every *look_ms of sampling, and once more when all samples are counted. NULL: never.
	 * Cost: reads all of the kernel side's counts, about 1 ms. */
	void (*look)(void *ctx, const struct engine_look *look);
	const _Atomic uint32_t *look_ms; /* borrowed */
	bool weighs;			 /* looks have weights */
	uint32_t looks; /* sampling ends with this one, which is the last; 0: no look ends it */
	/* The end of the run waits for tables: those of @nr_made of @nr files are made. Only with
	 * look. NULL: not wanted. */
	void (*tables)(void *ctx, size_t nr_made, size_t nr);
	/* @codes knows the script frames of samples and stacks. It comes before all else, and must
	 * be held (script_codes_get()) to be used. NULL: not wanted. */
	void (*script_codes)(void *ctx, struct script_codes *codes);
	/* @codes knows the code of JVMs in samples and stacks. Likewise. */
	void (*jvm_codes)(void *ctx, struct jvm_codes *codes);
	/* A window is over, whose profile, without objects, is the callee's from here on: what its
	 * stacks name was told of. Only with engine_options.window_ms; NULL without. */
	void (*window)(void *ctx, struct profile *profile);
	/* The looks have ended for the moment. NULL: not wanted. */
	void (*pause)(void *ctx);
	void *ctx;
	int stop_fd; /* readable when the listener has stopped: the run ends; -1: none */
};

/*
 * Names frames in objects that go before the run ends. Callbacks, because the engine
 * knows no names. In the thread of the run, which must not be kept waiting.
 */
struct engine_namer {
	/* User frames of stacks, as in bpf/shared.h: [nr], borrowed for the call; before settle. */
	void (*expect)(void *ctx, const uint64_t *frames, size_t nr);
	/* @object is about to go, which is borrowed for the call, but for its descriptor: that
	 * stays open until the answer is true. Are all frames that were told of it named? False:
	 * not yet, it is asked again. */
	bool (*settle)(void *ctx, const struct profile_object *object);
	/* No descriptor is open any more but those of the profile. */
	void (*end)(void *ctx);
	void *ctx;
};

/* Ways to take the stacks of waits. */
enum blocked_way {
	BLOCKED_WAY_NONE,	/* not told, or not chosen */
	BLOCKED_WAY_TRACEPOINT, /* when the thread runs again: sched_exit_tp, since Linux 6.16 */
	BLOCKED_WAY_KPROBE,	/* the same, by a probe on finish_task_switch */
	BLOCKED_WAY_SWITCH_OUT, /* when the wait begins, of each wait: bpf/kept.h */
	BLOCKED_WAY_TIMES,	/* not at all: the times of threads are added up, and no more */
};

/* Which blocks of threads are sampled, with a source of SOURCE_BLOCKED. */
struct engine_blocks {
	/* Each block of this length or longer is sampled; of shorter ones one for so many ns of
	 * them. 0: each is. */
	uint64_t period_ns;
	uint64_t min_ns, max_ns; /* blocks of other lengths are not */
	uint32_t states;	 /* ENGINE_STATE_*: what threads wait in */
	/* With SOURCE_BLOCKED: take stacks in this way; NONE: the best one of this kernel */
	enum blocked_way way;
	bool user_wakees; /* of SOURCE_WAKER: only waits of threads that are not the kernel's */
	bool all_at_end;  /* none of these: each thread that is not on a CPU at the end */
	bool at_locks;	  /* of both, with engine_is_pairs(): waits at locks alone */
	bool by_call;	  /* of SOURCE_BLOCKED: told apart by the system call that waits */
	/* With SOURCE_WAKER: number of wakers shown, each the one that ended the last wait of the
	 * waker before it; at most FPL_LINKS_MAX. 0: the first alone */
	uint32_t chain;
};

/* As the kernel numbers them: sleeps that a signal ends, sleeps that none does, stopped. */
#define ENGINE_STATE_S	     1u
#define ENGINE_STATE_D	     2u
#define ENGINE_STATE_STOPPED (4u | 8u)

#define ENGINE_STATE_R FPL_STATE_RUNNABLE /* runnable: they wait for a CPU */

/* The numbers that are shown of allocations (SOURCE_HEAP). */
struct engine_heap {
	bool shows_all;	    /* all that was allocated; else what was not freed */
	bool shows_objects; /* their number; else their bytes */
	uint64_t older_ns;  /* count as live what was there for so long; 0: all */
	/* Borrowed: path of the library that the command loads and that samples there
	 * (heap_preload.h); NULL: functions are probed. */
	const char *preload;
	uint32_t max_live; /* room for sampled ones that are not freed; 0: 262144 */
};

struct engine_options {
	enum engine_target target;
	const pid_t *pids; /* borrowed [nr_pids], process (not thread) ids */
	size_t nr_pids;
	const pid_t *tids; /* borrowed [nr_tids]: with ENGINE_TARGET_PIDS, of these only (or of all)
			      processes these threads only; 0: all threads */
	size_t nr_tids;
	struct cpu_list cpus; /* borrowed: sample these only; nr 0: all */
	bool has_uid;	      /* only tasks whose effective user is uid, */
	uid_t uid;	      /* as the first user namespace has it */
	const char *cgroup;   /* borrowed: only tasks in it or below (proc/cgroup.h); NULL: all */
	const char *comm; /* borrowed: only tasks whose name matches (profile/comm_filter.h); NULL:
			     all */
	/* Borrowed, NULL-terminated argv; searched in PATH. Of another target than
	 * ENGINE_TARGET_COMMAND it is a stopwatch: its end ends the run. NULL: none. */
	char **command;
	/* The command's stdout is connected to stderr: stdout carries fpless's own data. */
	bool command_stdout_to_stderr;
	/* If its stdin, stdout or stderr is a terminal, replace it by /dev/null: fpless draws
	 * there. */
	bool command_off_terminal;
	/* Words NAME=VALUE that it has besides fpless's own environment, up to a NULL; NULL: none.
	 */
	const char *const *command_environment;

	/* At most one is a clock, and all have other names; their modifiers are
	 * exclude_user and exclude_kernel below, for all. */
	struct source_spec sources[FPL_SOURCES_MAX];
	size_t nr_sources; /* 1.. */
	struct engine_blocks blocks;
	enum engine_unwind unwind;
	struct script_options script; /* script frames among the native ones */
	bool synth;	 /* with rows made from code without CFI; not with ENGINE_UNWIND_CFI */
	uint64_t hz;	 /* of a clock: samples per second and CPU, 1.. */
	uint64_t max_hz; /* with max_overhead: hz may rise this far; 0: it stays */
	/* No samples taken in user mode, or none taken in the kernel: they are filtered. */
	bool exclude_user, exclude_kernel;
	/* Per cent of the CPU time of what is profiled, and of one CPU at least, that the run may
	 * cost: the hz of a clock is lowered where it costs more. 0: no limit. */
	double max_overhead;
	bool keep_command;    /* that still runs at the end goes on */
	uint64_t duration_ms; /* 0: until a signal, or the end of the command */
	/* The run is cut into windows of this length, whose profiles the listener gets, and of
	 * which one begins each every_ms, which is no less: with a listener of windows, objects,
	 * and nothing else. Not with SOURCE_HEAP, SOURCE_RSS, compare and a record_path. 0: it is
	 * not cut. */
	uint64_t window_ms, every_ms;
	uint64_t delay_ms; /* from the start of the targets to the first sample */
	/* Sampling has begun; in the thread of the run. NULL: not wanted. */
	void (*began)(void *ctx);
	void *began_ctx;
	bool user, kernel; /* which stacks; both false counts as both */
	bool idle;	   /* show pid 0 */
	unsigned by;	   /* PROFILE_BY_*: what stacks are told apart by; 0: the task's name */
	/* Borrowed: a field of events by whose value stacks are told apart, of those that have it;
	 * NULL: none. */
	const char *key;
	/* Walk each user stack twice, by unwind and by the kernel's bpf_get_stack: profile_stack's
	 * fp[]. Not with ENGINE_UNWIND_FP. */
	bool compare;

	uint32_t max_depth;    /* user frames kept, 1..FPL_DEPTH_MAX */
	uint32_t root_depth;   /* how many of them are the outermost: less than max_depth; 0: walks
				  end after max_depth */
	uint64_t table_memory; /* bytes for unwind tables; 0: 128 MiB */
	/* borrowed: what is kept from run to run, opened once rights were given up; NULL: nothing
	 * is */
	struct disk_cache *cache;
	struct engine_heap heap;
	bool jit;	     /* ask run times about the frames of the code they make */
	uint64_t jit_memory; /* bytes for names of code made at run time; 0: 64 MiB */
	const struct engine_listener *listener; /* borrowed; NULL: no listener */

	/* Keep when each sample was taken (profile.events), in this many bytes; 0: do not. */
	uint64_t timeline_memory;
	uint64_t stack_memory;	 /* bytes of the kernel's map of counted stacks; 0: 4 MiB, or what
				    a window of a clock may need */
	uint32_t max_processes;	 /* known to the kernel side at one time; 0: 16384 */
	uint32_t max_mappings;	 /* executable ones, of all processes; 0: by their number */
	uint64_t ring_memory;	 /* bytes between kernel side and userspace; 0: 4 MiB */
	uint32_t snapshot_bytes; /* of stack, 0 (off)..FPL_SNAPSHOT_MAX */

	/* borrowed; started where the run gives up rights that its tasks may need; the run adds its
	 * own. NULL: none */
	struct privileged_helper *helper;

	/* borrowed; NULL: objects that stacks name stay until the end, as with compare */
	const struct engine_namer *namer;

	struct parser *parser; /* borrowed, never NULL: reads the files of targets */

	/* For tests: write every record_every-th walk with its registers and stack into this file
	 * (profile/walk_file.h). NULL or 0: none. */
	const char *record_path;
	uint32_t record_every;

	uint64_t started_ns; /* CLOCK_MONOTONIC at the start of main(), for startup_ms; 0: the call
			      */
	char **argv;	     /* borrowed by the profile, for its meta data; may be NULL */
};

/* Are a clock and the waits of threads shown as one source, the time of threads? */
static inline bool engine_is_wall(const struct engine_options *options)
{
	return source_specs_are_wall(options->sources, options->nr_sources);
}

/* The time of waits that one sample stands for at first; 0: each is sampled, or none are. */
static inline uint64_t engine_wait_period(const struct engine_options *options)
{
	for (size_t i = 0; i < options->nr_sources; i++)
		if (source_spec_is_waits(&options->sources[i]))
			return options->blocks.period_ns;
	return 0;
}

/* Are waits sampled by who waits and who ends it together? */
static inline bool engine_is_pairs(const struct engine_options *options)
{
	return options->nr_sources == 2 && options->sources[0].class == SOURCE_BLOCKED &&
	       options->sources[1].class == SOURCE_WAKER;
}

/* Are samples of those that end waits, with the name of who waited as their key? */
static inline bool engine_is_of_wakees(const struct engine_options *options)
{
	return options->nr_sources == 1 && options->sources[0].class == SOURCE_WAKER;
}

/* Stacks of wakers that a sample leads to. */
static inline uint32_t engine_nr_links(const struct engine_options *options)
{
	return options->blocks.chain ? options->blocks.chain : engine_is_pairs(options);
}

/* Are the times of threads kept by thread, too? */
static inline bool engine_has_thread_sums(const struct engine_options *options)
{
	bool has_waits = false;

	for (size_t i = 0; i < options->nr_sources; i++)
		has_waits |= options->sources[i].class == SOURCE_BLOCKED;
	return has_waits && !options->blocks.all_at_end && (options->by & PROFILE_BY_TID);
}

/* Is it sampled whose memory is resident? */
static inline bool engine_is_rss(const struct engine_options *options)
{
	return options->sources[0].class == SOURCE_RSS;
}

/* Are code made at run time's frames found by the methods of its run times? */
static inline bool engine_has_regions(const struct engine_options *options)
{
	return options->jit && options->unwind == ENGINE_UNWIND_AUTO;
}

/* Do several sources make one? */
static inline bool engine_is_joint(const struct engine_options *options)
{
	return engine_is_wall(options) || engine_is_pairs(options);
}

/*
 * Run: load, attach, sample until the duration is over, SIGINT or SIGTERM arrives, every pid (or
 * tid) has gone or the command has ended; then close the books. Signals and the end of the duration
 * flush: they are no errors. SIGINT, SIGTERM and SIGCHLD are blocked in the calling thread from
 * here on.
 *
 * Once the perf events are open, the process keeps the capabilities of proc/rights.h alone, for
 * good.
 *
 * A command is held until sampling is on. When the run ends before it does, it gets SIGTERM, and
 * SIGKILL after 5 s, unless keep_command; its status is logged.
 *
 * Writes *ret on success only; the caller ends it with profile_fini. A run without a single sample
 * is a success with nr_stacks 0. So is one that was cut: all is in its windows.
 *
 * Errors, each with one line of what and what to do in @err:
 *   -ESRCH      none of the pids or tids exists, nor the cgroup, or a CPU is
 *               not online                                                    (exit code 3)
 *   -ENOENT     the command could not be executed                             (exit code 3)
 *   -EINVAL     an option out of its range                                    (exit code 1)
 *   -EIO        the walk recording could not be written                       (exit code 6)
 *   any other   cannot run here: rights, kernel without BTF, old kernel, no
 *               event, no memory                                              (exit code 2)
 */
FPL_MUST_CHECK int engine_run(const struct engine_options *options, struct profile *ret,
			      struct fpl_err *err);
