/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The user part of a sample: registers, the process's record and mapset, the walk. */
#pragma once

#include "bpf/vmlinux_min.h"

#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/fp_chain.h"
#include "bpf/maps.h"
#include "bpf/moment.h"
#include "bpf/process.h"
#include "bpf/retry.h"
#include "bpf/walk.h"

/* Results of user_stack(). */
enum user_stack_result {
	USER_STACK_DONE,
	USER_STACK_WALKED,  /* from live registers, by rows or frame pointers */
	USER_STACK_LACKING, /* data was missing: a snapshot can be walked once the data is there */
};

/* Could a rescan of the process, or its tables, let the stopped walk go on? */
static __always_inline int is_lacking(const struct fpl_walk *walk, struct fpl_proc *proc,
				      __u32 version)
{
	/* in the page of return probes userspace knows less than this walk */
	if (walk->pc - walk->trampoline < FPL_STACK_PAGE)
		return 0;
	switch (walk->stop) {
	case FPL_STOP_NO_TABLE:
		/* No slot: the object was refused for good. */
		return walk->last.slot != 0;
	case FPL_STOP_NO_MAPPING:
		/*
		 * The pc that runs is mapped, though not yet in the mapset: userspace knows the
		 * mapping, or will.
		 */
		return walk->pc >= ARCH_USER_START && walk->pc < ARCH_USER_END;
	case FPL_STOP_BAD_RA:
		return walk->pc >= ARCH_USER_START && walk->pc < ARCH_USER_END &&
		       may_retry(proc, version, bpf_ktime_get_ns());
	case FPL_STOP_TABLE_CHANGED:
		return may_retry(proc, version, bpf_ktime_get_ns());
	case FPL_STOP_NO_CFI:
		return walk->fp_open == WALK_OPEN_LATE ||
		       (walk->fp_open && may_retry(proc, version, bpf_ktime_get_ns()));
	default:
		return 0;
	}
}

/*
 * A breakpoint leaves the pc behind its one byte until its probe sets it back: the instruction
 * there has not run, and the next instruction's row does not hold yet. In a process without probes
 * the byte is padding that some linkers and compilers put between functions.
 */
static __always_inline int is_behind_breakpoint(__u64 pc)
{
	__u8 byte = 0;

	if (!uprobes_page())
		return 0;
	bpf_probe_read_user(&byte, sizeof(byte), (const void *)(pc - 1));
	return byte == ARCH_BREAKPOINT;
}

/* Copy the user registers of a task in the kernel into the walk; @sp is the kernel's stack pointer.
 * Returns their cs, or 0 if the task has none. */
static __noinline __u64 stored_regs(struct task_struct *task, struct fpl_scratch *s, __u64 sp)
{
	__u64 pt = (__u64)bpf_task_pt_regs(task);

	if (arch_regs_half_stored(sp, pt) ||
	    bpf_probe_read_kernel(s->pt_regs, sizeof(s->pt_regs), (const void *)pt))
		return 0;
	s->walk.known = arch_user_regs(s->walk.reg, s->pt_regs);
	s->walk.pc = s->pt_regs[ARCH_PT_RIP];
	if (s->walk.known == ARCH_ALL_REGS)
		s->walk.pc -= is_behind_breakpoint(s->walk.pc);
	return s->pt_regs[ARCH_PT_CS];
}

/* Leave the function that the registers are of, before the walk. Without its memory it stays. */
static __noinline int leave_function(struct fpl_scratch *s)
{
	__u64 caller = 0;

	if (!bpf_probe_read_user(&caller, sizeof(caller), (const void *)s->walk.reg[ARCH_SP])) {
		s->walk.pc = caller;
		s->walk.reg[ARCH_SP] += ARCH_RA_BYTES;
	}
	return 0;
}

/* Put the task's user registers into the walk. Returns their cs, or 0 if it has none. */
static __always_inline __u64 user_regs(const struct moment *moment, struct task_struct *task,
				       struct fpl_scratch *s)
{
	struct bpf_perf_event_data *ctx = moment->interrupted;

	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.has_kernel_regs = 0;
	if (!ctx)
		return stored_regs(task, s, 0);

	__u64 cs = ctx->regs.cs;

	if (arch_is_kernel(cs)) {
		s->walk.has_kernel_regs = 1;
		__builtin_memcpy(s->kernel_regs, &ctx->regs, sizeof(s->kernel_regs));
		return stored_regs(task, s, ctx->regs.rsp);
	}
	s->walk.known = arch_user_regs(s->walk.reg, (const __u64 *)&ctx->regs);
	s->walk.pc = ctx->regs.rip;
	if (moment->from_caller)
		leave_function(s);
	return cs;
}

/* Keep the registers of the walk's current frame, for a snapshot. */
static __always_inline void keep_regs(struct fpl_scratch *s)
{
	const struct fpl_walk *walk = &s->walk;

	for (int i = 0; i < (int)FPL_NR_REGS; i++)
		s->regs.reg[i] = walk->reg[i];
	s->regs.pc = walk->pc;
	s->regs.known = walk->known;
	s->regs.exact = walk->exact != 0;
	s->regs.origin = walk->origin;
}

/* For a snapshot without a walk: only the kernel side has the list of pending calls. */
static __always_inline void leaf_off_probes(struct fpl_walk *walk)
{
	struct walker walker = { .walk = walk };

	walk_forget_probes(walk);
	walk_leave_probes(&walker, walk->pc);
}

/* Take the process's mapset into the walk. Returns 0 if this image has none. */
static __always_inline int mapset_take(struct fpl_scratch *s, __u32 tgid, __u64 gen)
{
	struct fpl_mapset mapset;

	if (!mapset_read(tgid, gen, &mapset))
		return 0;
	s->walk.first = mapset.first;
	s->walk.nr = mapset.nr;
	s->walk.serial = mapset.serial;
	s->sample.version = mapset.version;
	return 1;
}

static __always_inline struct fpl_recent *recent_of(struct fpl_scratch *s, __u32 tgid)
{
	return &s->recents[tgid & (FPL_RECENTS - 1)];
}

/*
 * This CPU's entry for the process of @task, which began at @start_ns, if it still holds. Leader's
 * start, count of execs and mm are those of one image of one process: a fork differs in the start,
 * an exec in the others. That image's mapset is the noted one unless userspace has published
 * another, which changes the epoch, or the process is exiting, when the kernel side takes its
 * mapset away.
 */
static __always_inline struct fpl_recent *
recent_find(struct fpl_scratch *s, struct task_struct *task, __u32 tgid, __u64 start_ns)
{
	struct fpl_recent *recent = recent_of(s, tgid);

	if (recent->tgid != tgid || recent->epoch != *(volatile __u32 *)&epoch ||
	    recent->start_ns != start_ns || recent->exec_id != task->self_exec_id ||
	    recent->mm != (__u64)task->mm || (task->flags & PF_EXITING) || !tgid)
		return 0;
	return recent;
}

static __always_inline void recent_note(struct fpl_scratch *s, struct task_struct *task, __u64 mm,
					__u32 now)
{
	struct fpl_recent *recent = recent_of(s, s->sample.tgid);

	recent->start_ns = s->sample.start_ns;
	recent->mm = mm;
	recent->exec_id = task->self_exec_id;
	recent->gen = s->sample.gen;
	recent->tgid = s->sample.tgid;
	recent->epoch = now;
	recent->first = s->walk.first;
	recent->nr = s->walk.nr;
	recent->version = s->sample.version;
	recent->serial = s->walk.serial;
}

static __always_inline void recent_take(struct fpl_scratch *s, const struct fpl_recent *recent)
{
	s->sample.gen = recent->gen;
	s->sample.version = recent->version;
	s->walk.first = recent->first;
	s->walk.nr = recent->nr;
	s->walk.serial = recent->serial;
}

/* Turns addresses into frames found by frame pointers. */
struct fp_names {
	struct walker walker;
	/* The mapping found last, if all its addresses fit into a frame; else size 0. Most callers
	 * are in their callee's object. */
	__u64 start, size;
	__u64 base; /* a frame less its address */
};

static __noinline void fp_frame_far(struct fp_names *names, __u32 idx, __u64 pc)
{
	struct walker *walker = &names->walker;
	struct fpl_walk *walk = walker->walk;
	const struct fpl_mapping *mapping = &walk->last;
	/* what was no return address has any value */
	int known = pc >= ARCH_USER_START && pc < ARCH_USER_END &&
		    walk_mapping(walker, pc - (idx ? 1 : 0));
	__u64 frame = walk_frame(known ? mapping : 0, pc, !idx, FPL_ORIGIN_FP);

	if (frame & FPL_FRAME_RAW)
		walk->flags |= FPL_SAMPLE_RAW;
	if (idx < FPL_FP_DEPTH_MAX)
		walker->frames[idx] = frame;
	names->size = 0;
	if ((frame & FPL_FRAME_RAW) || mapping->start < mapping->bias ||
	    mapping->end - mapping->bias > FPL_FRAME_VADDR_MASK)
		return;
	names->start = mapping->start;
	names->size = mapping->end - mapping->start;
	names->base = (frame & ~FPL_FRAME_EXACT) - pc;
}

/* Turn the address in frames[idx] into a frame. */
static long fp_frame(__u32 idx, void *arg)
{
	struct fp_names *names = arg;

	if (idx >= FPL_FP_DEPTH_MAX)
		return 1;

	__u64 pc = names->walker.frames[idx];

	if (idx && pc - 1 - names->start < names->size)
		names->walker.frames[idx] = names->base + pc;
	else
		fp_frame_far(names, idx, pc);
	return 0;
}

/* Turn @nr addresses, beginning with frame @at of the sample, into frames. Returns 0. */
WALK_GLOBAL int fp_name(struct fpl_scratch *s, __u64 at, __u32 nr)
{
	struct fp_names names = { .size = 0 };

	LOOKUP_OPAQUE(at);
	if (!s || at > FPL_USER_FRAMES_MAX + FPL_KERNEL_DEPTH_MAX)
		return 0;
	names.walker.walk = &s->walk;
	names.walker.frames = s->frames + at;
	bpf_loop(nr, fp_frame, &names, 0);
	return 0;
}

/* Take the kernel's own frame-pointer walk in place of the walker's. */
static __always_inline void fp_stack(const struct moment *moment, struct fpl_scratch *s)
{
	struct fpl_walk *walk = &s->walk;
	long size = bpf_get_stack(moment->ctx, s->frames, FPL_FP_DEPTH_MAX * 8, BPF_F_USER_STACK);
	__u32 nr = size > 0 ? (__u32)size / 8 : 0;

	walk->stop = nr < config.fp_depth ? FPL_STOP_FP_END : FPL_STOP_DEPTH;
	if (!nr) {
		s->frames[0] = walk->pc;
		nr = 1;
	}
	if (nr > walk->max_depth) {
		nr = walk->max_depth;
		walk->stop = FPL_STOP_DEPTH;
	}
	walk->nr_frames = nr;
	fp_name(s, 0, nr);
}

/*
 * Append the kernel's frame-pointer walk of the same registers and stack to the sample, translated
 * by the same mapset. 32-bit and kernel-side cases have the frames the kernel gives, or none.
 */
static __always_inline void fp_append(const struct moment *moment, struct fpl_scratch *s)
{
	__u64 at = (__u32)s->sample.nr_user + s->sample.nr_kernel;
	__u64 *to;
	__u32 nr;

	LOOKUP_OPAQUE(at);
	if (at > FPL_USER_FRAMES_MAX + FPL_KERNEL_DEPTH_MAX)
		return;
	/* kernel 6.1 forgets the bound of a number that is kept on the stack, but not a pointer's
	 */
	LOOKUP_OPAQUE(at);
	to = s->frames + at;
	LOOKUP_OPAQUE(to);
	if (s->fp_regs.is_64bit) {
		nr = fp_chain_walk(&s->walk, to, s->fp_regs.pc, s->fp_regs.fp, config.fp_depth);
	} else {
		long size = bpf_get_stack(moment->ctx, to, FPL_FP_DEPTH_MAX * 8, BPF_F_USER_STACK);

		nr = size > 0 ? (__u32)size / 8 : 0;
	}
	s->sample.nr_fp = (__u16)nr;
	fp_name(s, at, nr);
}

/* Is the task in execve(2)? Its memory may be the new program's while its registers are still the
 * old one's. */
static __always_inline int is_execing(struct task_struct *task)
{
	__u64 pt = (__u64)bpf_task_pt_regs(task);
	__u64 words[ARCH_PT_CS - ARCH_PT_ORIG_RAX + 1];

	if (bpf_probe_read_kernel(words, sizeof(words), (const void *)(pt + 8 * ARCH_PT_ORIG_RAX)))
		return 0;
	return arch_is_exec(words[0], words[ARCH_PT_CS - ARCH_PT_ORIG_RAX]);
}

/* Make the record of the current process, which no sample or event has made before. NULL: no room.
 */
static __always_inline struct fpl_proc *proc_make(struct fpl_scratch *s, __u64 mm)
{
	struct fpl_proc fresh = { .gen = new_gen(), .mm = mm, .start_ns = s->sample.start_ns };
	__u32 tgid = s->sample.tgid;
	struct fpl_proc *proc;

	bpf_map_update_elem(&procs, &tgid, &fresh, BPF_NOEXIST);
	proc = bpf_map_lookup_elem(&procs, &tgid);
	if (!proc)
		note_full(FPL_FULL_PROCS);
	return proc;
}

/*
 * Keep the frames walked so far, and the registers of the frame that the walk could not leave, for
 * a snapshot: the copy of the stack begins there.
 */
static __always_inline void keep_walked(struct fpl_scratch *s)
{
	struct fpl_walk *walk = &s->walk;

	/* The address that a BAD_RA walk stopped at has not become a frame; any other has. */
	s->nr_kept = walk->stop == FPL_STOP_BAD_RA || !walk->nr_frames ? walk->nr_frames
								       : walk->nr_frames - 1;
	keep_regs(s);
}

/* Could userspace let the stopped walk go on? A separate function, like the next: its stack is not
 * in use while the walk runs. */
static __noinline int walk_lacks(struct fpl_scratch *s)
{
	__u32 tgid = s->sample.tgid;
	struct fpl_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (!proc || !is_lacking(&s->walk, proc, s->sample.version))
		return 0;
	keep_walked(s);
	return 1;
}

/* Put the frames of a walk that has ended in order. */
static __noinline void walk_finish(struct walker *walker)
{
	walk_end(walker);
}

/* Walk from the registers that are in s->walk. Returns an enum user_stack_result. */
WALK_GLOBAL int user_walk(struct fpl_scratch *s)
{
	if (!s)
		return USER_STACK_DONE;

	struct walker walker = { .walk = &s->walk, .frames = s->frames, .memory = &s->memory };

	walk_run(&walker);
	walk_finish(&walker);
	return s->walk.stop == FPL_STOP_OUTERMOST || !walk_lacks(s) ? USER_STACK_WALKED
								    : USER_STACK_LACKING;
}

enum process_result {
	PROCESS_NO_MAPSET,
	PROCESS_MAPSET,
	PROCESS_STOP, /* the sample's stop says why there is no user stack */
};

/* Find the image of the current process and take its mapset, by the hash maps. */
static __noinline int process_take(struct task_struct *task, struct fpl_scratch *s)
{
	__u32 now = *(volatile __u32 *)&epoch; /* before what is noted under it is read */
	__u64 mm = mm_of(task);
	__u32 tgid = s->sample.tgid;
	struct fpl_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (!proc && (task->flags & PF_EXITING)) {
		s->walk.stop = FPL_STOP_EXITING;
		return PROCESS_STOP;
	}
	if (proc ? proc->mm != mm : is_execing(task)) {
		s->walk.stop = FPL_STOP_EXECING;
		return PROCESS_STOP;
	}
	if (!proc)
		proc = proc_make(s, mm);
	s->sample.gen = proc ? proc->gen : 0;
	if (!mapset_take(s, s->sample.tgid, s->sample.gen))
		return PROCESS_NO_MAPSET;
	recent_note(s, task, mm, now);
	return PROCESS_MAPSET;
}

/* Walk the user stack; sets the sample's user frames, stop and flags. @recent: this CPU's entry for
 * the process; NULL: no entry. */
static __always_inline int user_stack(const struct moment *moment, struct task_struct *task,
				      struct fpl_scratch *s, const struct fpl_recent *recent)
{
	struct fpl_walk *walk = &s->walk;
	int process = PROCESS_STOP;

	s->nr_kept = 0;
	s->fp_regs.is_64bit = 0;
	walk->nr_frames = 0;
	walk->elided = 0;
	walk->deep = WALK_DEEP_NONE;
	walk->flags = 0;
	walk->is_probed = 0;
	walk->first = walk->nr = 0;
	walk->serial = 0;
	walk->max_depth = config.max_depth;
	walk->root_depth = config.root_depth;
	walk->unwind = (__u8)config.unwind;
	walk->by_row = FPL_ORIGIN_CFI;
	walk->stop = FPL_STOP_EXITING;
	if (recent) {
		recent_take(s, recent);
		process = PROCESS_MAPSET;
	} else if (mm_of(task)) {
		process = process_take(task, s);
	}
	walk_enter(walk);
	if (process == PROCESS_STOP)
		return USER_STACK_DONE;

	__u64 cs = user_regs(moment, task, s);

	if (!cs) {
		walk->stop = FPL_STOP_NO_USER_REGS;
		return USER_STACK_DONE;
	}
	if (arch_is_compat32(cs)) {
		s->frames[0] = walk->pc;
		walk->nr_frames = 1;
		fp_name(s, 0, 1);
		walk->stop = FPL_STOP_COMPAT32;
		return USER_STACK_DONE;
	}
	s->fp_regs.pc = walk->pc;
	s->fp_regs.fp = walk->reg[ARCH_FP];
	s->fp_regs.is_64bit = 1;
	walk->window_size = 0;
	if (config.unwind == FPL_UNWIND_FP || process == PROCESS_NO_MAPSET) {
		fp_stack(moment, s);
		if (config.unwind == FPL_UNWIND_FP)
			return USER_STACK_DONE;
		walk->stop = FPL_STOP_NO_TABLE;
		leaf_off_probes(walk);
		keep_regs(s);
		return USER_STACK_LACKING;
	}
	return user_walk(s);
}
