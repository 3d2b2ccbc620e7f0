/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of bpf/shared.h about what threads do over time, which that header includes. */
#pragma once

#include <linux/types.h>

/* States of a thread. The order of the last three is that of enum fpl_time. */
enum fpl_thread_state {
	FPL_THREAD_UNKNOWN, /* it was there when the run began, and nothing has told yet */
	FPL_THREAD_RUNNING,
	FPL_THREAD_RUNNABLE, /* it waits for a CPU */
	FPL_THREAD_BLOCKED,
	FPL_THREAD_OVER, /* its books are closed */
};

/* Kinds of time in the books of a thread. */
enum fpl_time {
	FPL_TIME_ON_CPU,
	FPL_TIME_RUNNABLE,
	FPL_TIME_BLOCKED,
	FPL_TIME_UNSEEN, /* the kernel did not tell of a switch: it may have been any of these */
	FPL_TIME_COUNT
};

/* The reason why a runnable thread has no CPU, as known where its wait begins. */
enum fpl_held {
	FPL_HELD_NOT,	    /* others run */
	FPL_HELD_THROTTLED, /* its cgroup has used up its CPU time (cpu.max) */
	FPL_HELD_FROZEN,    /* its cgroup is frozen, or the machine goes to sleep */
};

/* The waits of a thread in one state, in ns. What was sampled is in fpl_times at once. */
struct fpl_waits {
	__u64 unwanted_ns; /* too short, too long, or not asked for */
	__u64 due_ns;	   /* the weight of the sample to take when it runs */
	__u64 nr;
	/* Not sampled yet, below the thread's period_ns; where it began, and what it has grown by
	 * with the period. */
	__u32 carry_ns, first_carry_ns;
};

/* A stack that was kept: 1 + its place in `stacks`, counted by slots, or one of these. */
#define FPL_KEPT_NOT	  0u	      /* the wait began before the run, or its window, did */
#define FPL_KEPT_FULL	  0xfffffffeu /* there was no room */
#define FPL_KEPT_FILTERED 0xffffffffu /* the thread is not asked for */
#define FPL_KEPT_COUNT	  2u	      /* of a thread */

/* Value of the task storage `thread_times`: the books of a thread, in ns. */
struct fpl_thread_times {
	__u64 since_ns; /* CLOCK_MONOTONIC: all before is in the books */
	__u64 ns[FPL_TIME_COUNT];
	struct fpl_waits blocked, runnable;
	__u32 state; /* enum fpl_thread_state */
	__u32 sleep; /* the kernel's state that it left its CPU in last; 0: it would have run on */
	union {
		__u32 links[FPL_LINKS_MAX - 1]; /* with config.nr_links: as in keys, of the last
						   wait that is asked for */
		struct {			/* where stacks are kept */
			__u32 ended_by;		/* the same as links[0], with FPL_CONFIG_PAIRS */
			/* The places of the stack of its last wait, where that was blocked and
			 * where it was runnable: FPL_KEPT_* */
			__u32 kept[FPL_KEPT_COUNT];
		};
	};
	__u32 held : 2;	      /* enum fpl_held, where it is runnable */
	__u32 period_ns : 30; /* the value of block_ns that the carries are below */
};
_Static_assert(sizeof(struct fpl_thread_times) == 128, "at most 128 bytes for each thread");

/* Bit of config.block_states, beside the kernel's: runnable threads are sampled, too. */
#define FPL_STATE_RUNNABLE 0x80000000u

/* Sums of a run of one state; the time in that state + first_carry_ns is the sum of the others. */
struct fpl_wait_sums {
	__u64 sampled_ns; /* the weights of the samples taken */
	__u64 unwanted_ns;
	__u64 carried_ns, first_carry_ns; /* in carries, at the end and at the beginning */
	__u64 unended_ns; /* in waits that had not ended when the run did, and were not sampled */
	__u64 unborn_ns;  /* before threads ran for the first time: they have no stack yet */
	__u64 nr;	  /* waits */
};

/* Sums of a run: wall = the sum of ns. */
struct fpl_times {
	__u64 ns[FPL_TIME_COUNT];
	struct fpl_wait_sums blocked, runnable;
	__u64 throttled_ns, frozen_ns; /* parts of ns[FPL_TIME_RUNNABLE] */
	__u64 begun, threads;	       /* threads whose books were begun, and closed */
	__u64 threads_without;	       /* their books could not be begun */
};

/*
 * Key and value of the hash map `thread_sums`, with FPL_CONFIG_THREAD_SUMS: the times of all
 * threads that had one number. In another PID namespace a thread that has ended has none: tid 0.
 */
struct fpl_thread_key {
	__u32 tgid, tid;
};

struct fpl_thread_sum {
	__u64 ns[FPL_TIME_COUNT];
	__u64 blocks, waits; /* waits while blocked, and for a CPU */
	__u64 threads;
	char comm[16]; /* of the last one */
};

#define FPL_THREAD_SUMS_MAX 65536u

/* The iterator goes over all threads and does this with their books. */
enum fpl_times_pass {
	FPL_TIMES_BEGIN,
	FPL_TIMES_BEGIN_AGAIN, /* their parent had no books yet when they were born, or it failed */
	FPL_TIMES_CLOSE,
};
