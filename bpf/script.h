/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Script frames: where a native frame is the loop of an interpreter, the interpreter's own frames
 * are appended to the walk's script words. Which code that is, where it keeps its frame and how one
 * frame leads to the next are rules, data of bpf/shared.h; no run time is known here.
 *
 * The frame of a native frame is in a register, as the walk has it, and passes a check. The chain
 * behind it leads from script frame to script frame; the one behind the last frame of a native
 * frame is the first one of the next native frame, and is compared with its register.
 *
 * Nothing here is trusted: each chain ends after FPL_SCRIPT_CHAIN_MAX frames, and a walk has no
 * more than FPL_SCRIPT_FRAMES_MAX. How a chain ends changes nothing about the native frames.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/lookup.h"
#include "bpf/script_read.h"
#include "bpf/script_records.h"
#include "bpf/shared_region.h"
#include "bpf/shared_script.h"
#include "bpf/walk_read.h"

/* Frames between those of two native frames, at the most. */
#define SCRIPT_BETWEEN_MAX 8u

/* A native frame that is a script frame has what that needs in so many bytes below its frame
 * pointer. */
#define SCRIPT_NATIVE_BELOW 16u

/* Begin a walk. */
WALK_INLINE void script_begin(struct fpl_walk *walk)
{
	walk->script_window_size = 0;
	walk->nr_script = 0;
	walk->nr_script_frames = 0;
	walk->script_carried = 0;
	walk->script_made_at = 0;
	walk->script_last[0] = 0;
	walk->records.owner = 0;
}

/* One script frame: append it, go on to the next. */
static long script_one(__u32 idx, void *arg)
{
	struct script_chain *chain = arg;
	struct fpl_walk *walk = chain->walk;
	struct env *env = chain->env;
	const struct fpl_script_rule *rule = chain->rule;
	__u64 frame = walk->script_frame, code = 0, place = ~0ull, stop = 0, next = 0;
	__u64 off = frame - walk->script_window_addr;
	int is_last;

	(void)idx;
	walk->script_end = FPL_SCRIPT_END_FAULT;
	if (!walk_is_user(frame) || (frame & 7))
		return 1;
	if (!rule->is_native &&
	    (off >= walk->script_window_size || off + rule->above > walk->script_window_size))
		script_window(env, walk, frame, rule->above, rule->ahead);
	if (script_load(env, walk, &rule->code, frame, &code) ||
	    (rule->place.nr && script_load(env, walk, &rule->place, frame, &place)) ||
	    script_load(env, walk, &rule->stop, frame, &stop) ||
	    script_next(env, walk, rule, frame, &next))
		return 1;
	code &= ~7ull;
	is_last = (stop & rule->stop_mask) == rule->stop_value;
	if (!is_last || rule->shows_last) {
		if (!walk_is_user(code))
			return 1;
		script_add_frame(env, walk, rule, code, place - (code & rule->place_mask));
	}
	walk->script_frame = next;
	if (is_last) {
		walk->script_end = FPL_SCRIPT_END_OUTERMOST;
		walk->script_carried = next;
		return 1;
	}
	walk->script_end = FPL_SCRIPT_END_DEPTH;
	return script_is_full(walk);
}

/* Has as good as every look found a frame there? */
WALK_INLINE int script_is_sure(__u32 votes, __u32 looked)
{
	return votes >= looked - looked / FPL_SCRIPT_VOTES;
}

/* Context of the loops over the places where the frame may be. */
struct script_ballot {
	struct fpl_walk *walk;
	struct env *env;
	struct fpl_script_rule *rule;
	__u64 cfa;
};

static long script_vote_one(__u32 idx, void *arg)
{
	struct script_ballot *ballot = arg;
	struct fpl_script_rule *rule = ballot->rule;
	struct fpl_walk *walk = ballot->walk;
	__u64 reg = ARCH_SAVED_REG(idx);
	__u32 votes;

	LOOKUP_OPAQUE(reg);
	reg &= FPL_NR_REGS - 1;
	if (idx >= FPL_NR_SAVED)
		return 1;
	votes = rule->votes[idx];
	if ((walk->known & WALK_BIT(reg)) &&
	    script_is_frame(ballot->env, walk, rule, walk->reg[reg])) {
		if (!rule->settled)
			rule->votes[idx] = ++votes;
		if (votes > walk->script_best) {
			walk->script_best = votes;
			walk->script_frame = walk->reg[reg];
		}
	}
	if (votes > walk->script_most) {
		walk->script_most = votes;
		walk->script_winner = (__u32)reg;
	}
	return 0;
}

/*
 * See which registers pass the check. While the place is not settled, each of them has a vote, and
 * the one that nearly always has passed becomes the place. Leaves the best that passes in
 * walk->script_frame; 0: not one does. Returns 0.
 */
WALK_INLINE int script_votes(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	struct script_ballot ballot = { .walk = walk, .env = env, .rule = rule };

	walk->script_frame = 0;
	walk->script_best = 0;
	walk->script_most = 0;
	if (!rule)
		return 0;
	env_loop(FPL_NR_SAVED, script_vote_one, &ballot);
	if (rule->settled)
		return 0;
	rule->looked++;
	if (rule->looked >= FPL_SCRIPT_VOTES && script_is_sure(walk->script_most, rule->looked))
		rule->settled = walk->script_winner + 1;
	return 0;
}
WALK_ONCE(script_vote, script_votes, 0)

static long script_slot(__u32 idx, void *arg)
{
	struct script_ballot *ballot = arg;
	struct fpl_script_rule *rule = ballot->rule;
	struct fpl_walk *walk = ballot->walk;

	/* the return address, and what most functions save */
	idx += 8;
	if (idx >= FPL_SCRIPT_SLOTS || 8ull * idx > (__u64)(__s64)rule->cfa_off)
		return 1;
	if (env_read_stack(ballot->env, &walk->word, 8, ballot->cfa - 8ull * idx))
		return 1;
	if (walk->word == walk->script_frame)
		rule->slot_votes[idx]++;
	if (rule->slot_votes[idx] > walk->script_most) {
		walk->script_most = rule->slot_votes[idx];
		walk->script_winner = idx;
	}
	return 0;
}

/*
 * The words of the native frame that hold the frame that a register has vote, too: a variable whose
 * address is taken stays in one, and holds the frame where the register is borrowed. Returns 0.
 */
WALK_INLINE int script_slot_votes(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	struct script_ballot ballot = { .walk = walk, .env = env, .rule = rule };

	if (!rule || !rule->has_slots || rule->cfa_reg >= FPL_NR_REGS || !walk->script_frame)
		return 0;
	ballot.cfa = walk->reg[rule->cfa_reg & (FPL_NR_REGS - 1)] + (__u64)(__s64)rule->cfa_off;
	walk->script_most = 0;
	env_loop(FPL_SCRIPT_SLOTS, script_slot, &ballot);
	if (rule->settled && script_is_sure(walk->script_most, rule->looked))
		rule->slot = walk->script_winner;
	return 0;
}
WALK_ONCE(script_slot_vote, script_slot_votes, 0)

/* The word of the native frame that holds a frame that passes the check, into walk->script_frame.
 * Returns whether it does. */
WALK_INLINE int script_by_slot(struct env *env, struct fpl_walk *walk,
			       const struct fpl_script_rule *rule)
{
	__u64 cfa = walk->reg[rule->cfa_reg & (FPL_NR_REGS - 1)] + (__u64)(__s64)rule->cfa_off;

	if (!rule->slot || env_read_stack(env, &walk->word, 8, cfa - 8ull * rule->slot))
		return 0;
	walk->script_frame = walk->word;
	return script_is_frame(env, walk, rule, walk->script_frame);
}

static long script_skip(__u32 idx, void *arg)
{
	struct script_chain *between = arg;
	struct fpl_walk *walk = between->walk;
	__u64 frame = walk->script_carried;

	(void)idx;
	if (script_is_frame(between->env, walk, between->rule, frame))
		return 1;
	walk->script_carried = 0;
	if (!walk_is_user(frame) || (frame & 7) ||
	    script_next(between->env, walk, between->rule, frame, &walk->script_carried))
		return 1;
	return 0;
}

/* Lead what is carried on to the first frame that passes the check of rule @idx: functions of the
 * run time have frames in the chain, but no native frame of the loop. Returns 0. */
WALK_INLINE int script_cross_over(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	const struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	struct script_chain between = { .walk = walk, .env = env, .rule = rule };

	if (!rule)
		return 0;
	env_loop(SCRIPT_BETWEEN_MAX, script_skip, &between);
	if (!script_is_frame(env, walk, rule, walk->script_carried))
		walk->script_carried = 0;
	return 0;
}
WALK_ONCE(script_cross, script_cross_over, 0)

/* The place of the innermost script frame by the register that leads into the instructions of its
 * code: most frames have it too late. Returns 0, or 1 where none does. */
WALK_INLINE int script_leaf_step(struct env *env, struct fpl_walk *walk,
				 const struct fpl_script_rule *rule, __u64 *ret)
{
	__u64 code = walk->script_words[1] & FPL_SCRIPT_CODE_MASK, first, nr;

	if (script_load(env, walk, &rule->first_step, code, &first) ||
	    script_load(env, walk, &rule->nr_steps, code, &nr))
		return 1;
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++) {
		__u32 reg = ARCH_SAVED_REG(i);

		/* it leads behind the instruction at hand */
		*ret = walk->reg[reg];
		if ((!rule->leaf_reg || rule->leaf_reg == reg) && (walk->known & WALK_BIT(reg)) &&
		    *ret - first - 1 < nr * rule->step_bytes)
			return 0;
	}
	return 1;
}

/* Put the place of the innermost script frame into its words, the first of the walk, from the
 * register that has it before the frame does, if rule @idx names one. Returns 0. */
WALK_INLINE int script_leaf_place(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	const struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	__u64 addr, place;
	__u32 reg;

	if (!rule)
		return 0;
	reg = rule->leaf_reg & (FPL_NR_REGS - 1);
	addr = walk->reg[reg];
	if (rule->step_bytes ? !script_leaf_step(env, walk, rule, &place)
			     : rule->leaf.nr && (walk->known & WALK_BIT(reg)) &&
				       script_passes(env, walk, &rule->leaf_check, addr) &&
				       !script_load(env, walk, &rule->leaf, addr, &place))
		walk->script_words[2] = (walk->script_words[2] >> 32 << 32) | (__u32)place;
	return 0;
}
WALK_ONCE(script_leaf, script_leaf_place, 0)

/* The script frame of the native frame at hand by rule @idx, in walk->script_frame; 0: none.
 * Returns whether two witnesses differed. */
WALK_INLINE int script_place_of(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	struct walker walker = { .walk = walk, .env = env };
	__u64 carried = walk->script_carried;
	int known, is_chain;
	__u32 reg;

	walk->script_frame = 0;
	if (!rule)
		return 0;
	/* what the loop's own register has is older than what the code has made since */
	if (walk->script_made_at && walk->script_made_at + 1 == walk->nr_frames) {
		carried = carried ? carried : walk->script_made;
		if (script_is_frame(env, walk, rule, carried))
			walk->script_frame = carried;
		return 0;
	}
	reg = rule->settled - 1;
	known = rule->settled && (walk->known & WALK_BIT(reg));
	walk->script_frame = walk->reg[reg & (FPL_NR_REGS - 1)];
	if (known && walk->script_frame == carried && carried)
		return 0;
	is_chain = rule->carries == FPL_SCRIPT_CARRIES_CHAIN && carried;
	if (is_chain)
		script_cross(&walker, idx);
	carried = walk->script_carried;
	if (!rule->settled) {
		script_vote(&walker, idx);
		/* their last look knows whether the register is settled */
		script_slot_vote(&walker, idx);
	} else if ((!known || !script_is_frame(env, walk, rule, walk->script_frame)) &&
		   !script_by_slot(env, walk, rule)) {
		/* parts of the loop borrow the register; then the frame is in another one */
		script_vote(&walker, idx);
	}
	if (!carried || walk->script_frame == carried)
		return 0;
	if (is_chain)
		walk->script_frame = carried;
	else if (!walk->script_frame && script_is_frame(env, walk, rule, carried))
		walk->script_frame = carried;
	return 1;
}
WALK_ONCE(script_place, script_place_of, 0)

/* Append the one script frame of a native frame that is one itself. */
WALK_INLINE void script_add_native(struct env *env, struct fpl_walk *walk,
				   const struct fpl_script_rule *rule)
{
	__u64 from = walk->script_function, code = 0, stop = 0;
	int failed;

	if (from) {
		failed = !script_passes(env, walk, &rule->leaf_check, from) ||
			 script_load(env, walk, &rule->leaf, from, &code);
	} else {
		from = walk->script_native;
		failed = !script_is_frame(env, walk, rule, from) ||
			 script_load(env, walk, &rule->stop, from, &stop) ||
			 (stop & rule->stop_mask) == rule->stop_value ||
			 script_load(env, walk, &rule->code, from, &code);
	}
	code &= ~7ull;
	if (failed || !walk_is_user(code))
		return;
	script_add_frame(env, walk, rule, code, FPL_SCRIPT_NO_PLACE);
	walk->script_end = FPL_SCRIPT_END_OUTERMOST;
}

/* Append the script frames of the native frame appended last, by rule @idx. Returns 0. */
WALK_INLINE int script_frames(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	struct script_chain chain = { .walk = walk, .env = env, .rule = rule };
	struct walker walker = { .walk = walk, .env = env };
	__u32 most = FPL_SCRIPT_CHAIN_MAX, turns = SCRIPT_RECORDS_MAX;
	__u64 head = walk->nr_script;
	__u64 differ, word;

	/* beyond --max-depth a frame's index is another in the end */
	if (!rule || walk->is_ring || !walk->nr_frames || head > FPL_SCRIPT_WORDS_MAX - 3)
		return 0;
	walk->script_end = FPL_SCRIPT_END_UNKNOWN;
	differ = !rule->is_native && script_place(&walker, idx) ? FPL_SCRIPT_DIFFER : 0;
	walk->script_carried = 0;
	walk->nr_script = (__u32)head + 1;
	walk->script_chain_nr = 0;
	walk->script_marks = 0;
	if (walk->nr_script_frames >= FPL_SCRIPT_FRAMES_MAX)
		walk->script_end = FPL_SCRIPT_END_DEPTH;
	else if (rule->is_native)
		script_add_native(env, walk, rule);
	else if (walk->script_frame && !rule->records.bytes)
		env_loop(most, script_one, &chain);
	else if (walk->script_frame && !script_enter(&walker, idx))
		env_loop(turns, script_record, &chain);
	if (rule->records.bytes && walk->script_end != FPL_SCRIPT_END_OUTERMOST)
		walk->records.array = SCRIPT_RECORDS_LOST;
	if (!rule->carries)
		walk->script_carried = 0;
	if (!head && walk->script_chain_nr && !rule->is_native)
		script_leaf(&walker, idx);
	walk->nr_script_frames += walk->script_chain_nr;
	word = idx << FPL_SCRIPT_RULE_SHIFT |
	       (__u64)((walk->nr_frames - 1) & 0xffff) << FPL_SCRIPT_INDEX_SHIFT |
	       (__u64)walk->script_end << FPL_SCRIPT_END_SHIFT | differ | walk->script_chain_nr |
	       walk->script_marks;
	LOOKUP_OPAQUE(head);
	if (head < FPL_SCRIPT_WORDS_MAX)
		walk->script_words[head] = word;
	return 0;
}

#ifdef __bpf__
WALK_GLOBAL int script_frames_once(struct fpl_walk *walk, __u64 idx)
{
	return walk ? script_frames(0, walk, idx) : 0;
}
#endif

/* The native frame at hand has been appended, and its registers are in place. */
WALK_INLINE void script_chain(struct walker *walker, __u32 idx)
{
	struct fpl_walk *walk = walker->walk;
	__u64 frame = walker->frames[(walk->nr_frames - 1) & (FPL_DEPTH_MAX - 1)];
	const struct fpl_script_rule *rule = env_script_rule(walker->env, idx);

	if (!rule)
		return;
	walk->script_check = rule->check_vaddr;
	if (!rule->check_is_value)
		walk->script_check += walk->pc - (frame & FPL_FRAME_VADDR_MASK);
	walk->script_check_size = rule->check_size;
#ifdef __bpf__
	script_frames_once(walk, idx);
#else
	script_frames(walker->env, walk, idx);
#endif
}

/* Is interrupted code with these bytes at its pc at the beginning of a function, whose frame V8 has
 * not made yet? Forms of V8 10 to 13: a look at the function's own flags, then push rbp. */
WALK_INLINE int script_is_prologue(__u64 at)
{
	return (at & 0xff) == 0x55 ||	      /* push rbp */
	       (at & 0xffffff) == 0xe58948 || /* mov rbp, rsp */
	       (at & 0xffff) == 0x598b ||     /* mov ebx, [rcx + d8] */
	       (at & 0xffffff) == 0x598b48 || /* mov rbx, [rcx + d8] */
	       (at & 0xfeff) == 0x42f6 ||     /* test [rdx or rbx + d8], i8 */
	       (at & 0xffff) == 0x43f6 || (at & 0xffff) == 0x43f7 || (at & 0xffff) == 0x41f6 ||
	       (at & 0xffff) == 0x850f; /* jnz */
}

/* Is it at the end of a function, whose frame is gone, while its return address is in a register?
 * Arguments are dropped then, which are as many as the caller has said: pop r, lea rsp, [rsp + r *
 * 8], push r, ret. */
WALK_INLINE int script_is_epilogue(__u64 at)
{
	return (at & 0xbffffd) == 0x248d48 || /* lea rsp, [rsp + r * n + d8] */
	       (at & 0xfff8) == 0xc350 ||     /* push r, ret */
	       (at & 0xfff8ff) == 0xc35041;   /* likewise, r8 to r15 */
}

/*
 * Before the step to the caller: does the frame pointer lead to a frame of the native one at
 * hand, which is a script frame, too? It is left in walk->script_native; 0: no frame is there.
 * Interrupted code whose return address is on top of the stack, or in a register, has not made its
 * frame yet, or has left it. At its beginning the function is in a register: walk->script_function.
 * Returns 0.
 */
WALK_INLINE int script_begin_native(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	const struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	struct walker walker = { .walk = walk, .env = env };
	__u64 sp = walk->reg[ARCH_SP], fp = walk->reg[ARCH_FP], word, code;
	int is_made = 1;
	__u32 reg;

	walk->script_native = walk->known & WALK_BIT(ARCH_FP) ? fp : 0;
	walk->script_function = 0;
	if (!walk->exact || !rule)
		return 0;
	if (env_read_code(env, &walk->word, 8, walk->pc))
		walk->word = 0;
	code = walk->word;
	if (script_is_epilogue(code) || walk_read(&walker, sp, &word) ||
	    walk_is_ra(&walker, word) == WALK_RA_YES)
		is_made = 0;
	/* behind push rbp */
	else if (word == fp && !walk_read(&walker, sp + 8, &word) &&
		 walk_is_ra(&walker, word) == WALK_RA_YES)
		is_made = 0;
	/* the function is yet to be pushed */
	if (is_made && sp <= fp - SCRIPT_NATIVE_BELOW)
		return 0;
	walk->script_native = 0;
	reg = rule->leaf_reg & (FPL_NR_REGS - 1);
	if ((walk->known & WALK_BIT(reg)) && (is_made || script_is_prologue(code)))
		walk->script_function = walk->reg[reg] & ~7ull;
	return 0;
}
WALK_ONCE(script_native, script_begin_native, 0)

/* The rule of the region that the mapping found last lies in; 0: it has none. */
WALK_INLINE __u32 script_of_region(struct env *env, const struct fpl_walk *walk)
{
	__u64 ref = walk->last.bias;
	const struct fpl_region *region = env_region(env, (__u32)ref & (FPL_REGIONS_MAX - 1));

	return region && ref && region->id == ref >> 16 && region->kind == FPL_REGION_SCRIPT
		       ? region->script_rule & (FPL_SCRIPT_RULES_MAX - 1)
		       : 0;
}

/* Is @vaddr of the mapping found last, whose rule is walk->rule, in the loop of an interpreter, or
 * in code whose frames are script frames? Leaves the rule's number in walk->script_rule. Returns 0.
 */
WALK_INLINE int script_search(struct env *env, struct fpl_walk *walk, __u64 vaddr)
{
	const struct fpl_object *object = walk->last.slot ? env_object(env, walk->last.slot) : 0;
	const struct fpl_script_rule *rule;
	__u32 idx;

	walk->script_rule = 0;
	if (!walk->last.object && walk->last.bias) {
		walk->script_rule = script_of_region(env, walk);
		return 0;
	}
	if (!object || object->object != walk->last.object)
		return 0;
	idx = object->script & (FPL_SCRIPT_RULES_MAX - 1);
	rule = idx ? env_script_rule(env, idx) : 0;
	if (!rule || rule->object != walk->last.object)
		return 0;
	if (rule->is_native ? walk->rule.cfa != FPL_CFA_NONE
			    : !rule->records.bytes && (walk->rule.cfa != FPL_CFA_REG ||
						       (walk->rule.regs & 15u) != rule->cfa_reg ||
						       walk->rule.cfa_off != rule->cfa_off))
		return 0;
#pragma GCC unroll 4
	for (__u32 i = 0; i < FPL_SCRIPT_RANGES_MAX; i++) {
		if (rule->start[i] <= vaddr && vaddr < rule->end[i])
			walk->script_rule = idx;
	}
	return 0;
}
WALK_ONCE(script_find, script_search, 0)
