/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Script frames of an interpreter that keeps them as records among records of other kinds, in
 * arrays (struct fpl_script_records of bpf/shared_script.h). A native frame does not know which
 * records are its own, so each goes on where the one that it called has ended: the walk has the
 * place in walk->records.
 */
#pragma once

#include "bpf/script_read.h"

/* Records looked at for one native frame: most are blocks and loops within functions. */
#define SCRIPT_RECORDS_MAX (4 * FPL_SCRIPT_CHAIN_MAX)

/* In place of an array: the native frame before did not come to the end of its records. */
#define SCRIPT_RECORDS_LOST 1ull

/* Go to the records of @array. Returns 0, or 1 where it cannot be read. */
WALK_INLINE int script_enter_array(struct env *env, struct fpl_walk *walk,
				   const struct fpl_script_rule *rule, __u64 array)
{
	__u64 last = 0;

	if (!walk_is_user(array) ||
	    script_load(env, walk, &rule->records.base, array, &walk->records.base) ||
	    script_load(env, walk, &rule->records.last, array, &last))
		return 1;
	walk->records.array = array;
	walk->records.last = (__s32)last;
	return 0;
}

WALK_INLINE __u64 script_record_at(const struct fpl_walk *walk, const struct fpl_script_rule *rule)
{
	return walk->records.base + (__u64)(__u32)walk->records.last * rule->records.bytes;
}

/* The newest record waits for its next call: go to the one before. Returns 0, or 1 where it cannot
 * be read. */
WALK_INLINE int script_skip_waiting(struct env *env, struct fpl_walk *walk,
				    const struct fpl_script_rule *rule)
{
	__u64 at = script_record_at(walk, rule), kind = 0;

	if (walk->records.last < 0)
		return 0;
	if (script_load(env, walk, &rule->records.kind, at, &kind))
		return 1;
	if (!(rule->records.kinds[kind & 0xff] & FPL_SCRIPT_KIND_WAITS))
		return 0;
	walk->records.last--;
	return script_load(env, walk, &rule->records.caller, at, &walk->records.position);
}

/*
 * Go to the first record of the native frame at hand, whose interpreter is walk->script_frame, by
 * rule @idx. Returns 0, or 1 where the frame has none; why is in walk->script_end.
 */
WALK_INLINE int script_enter_records(struct env *env, struct fpl_walk *walk, __u64 idx)
{
	const struct fpl_script_rule *rule = env_script_rule(env, (__u32)idx);
	__u64 interpreter = walk->script_frame, array = 0, step = 1;
	__u32 between = walk->nr_frames - walk->records.native - 1;

	if (!rule)
		return 1;
	walk->records.native = walk->nr_frames;
	if (walk->records.owner == interpreter) {
		if (walk->records.array == SCRIPT_RECORDS_LOST)
			return 1;
		walk->script_end = FPL_SCRIPT_END_OUTERMOST;
		if (between == rule->records.shares)
			walk->script_marks = FPL_SCRIPT_SHARES;
		else if (!walk->records.array)
			walk->script_marks = FPL_SCRIPT_BEHIND;
		return walk->script_marks != 0;
	}
	walk->records.owner = interpreter;
	walk->records.is_newest = 1;
	walk->records.array = SCRIPT_RECORDS_LOST;
	walk->script_end = FPL_SCRIPT_END_FAULT;
	return script_load(env, walk, &rule->records.array, interpreter, &array) ||
	       script_load(env, walk, &rule->records.step, interpreter, &step) ||
	       script_load(env, walk, &rule->records.position, interpreter,
			   &walk->records.position) ||
	       script_enter_array(env, walk, rule, array) ||
	       (!step && script_skip_waiting(env, walk, rule));
}
WALK_ONCE(script_enter, script_enter_records, 1)

/* Append the script frame that runs @code; a bit of FPL_SCRIPT_IS_ in it says that this is its
 * position. Returns 0, or 1 where that cannot be one. */
WALK_INLINE int script_add_record(struct env *env, struct fpl_walk *walk,
				  const struct fpl_script_rule *rule, __u64 code)
{
	__u64 position = walk->records.position, place = ~0ull;

	if (!walk_is_user(code) || !walk_is_user(position) ||
	    (rule->place.nr && script_load(env, walk, &rule->place, position, &place)))
		return 1;
	script_add_frame(env, walk, rule, code, place);
	return 0;
}

/* The records of the array are behind: go to those of an older one. The oldest one has behind it
 * what runs without a record. Returns as script_record(). */
WALK_INLINE long script_leave_array(struct env *env, struct fpl_walk *walk,
				    const struct fpl_script_rule *rule)
{
	__u64 array = walk->records.array, code = walk->records.position & ~7ull, older = 0;

	if (script_load(env, walk, &rule->records.older, array, &older) ||
	    (older && script_enter_array(env, walk, rule, older)))
		return 1;
	if (older) {
		walk->script_end = FPL_SCRIPT_END_DEPTH;
		return 0;
	}
	walk->records.array = 0;
	if (!script_add_record(env, walk, rule, code | FPL_SCRIPT_IS_PLACE | FPL_SCRIPT_IS_LAST))
		walk->script_end = FPL_SCRIPT_END_OUTERMOST;
	return 1;
}

/* Append the script frame of the record at @at, of @kind, if it is one. Returns 0, or 1 where it
 * cannot be read. */
WALK_INLINE int script_read_record(struct env *env, struct fpl_walk *walk,
				   const struct fpl_script_rule *rule, __u64 at, __u64 kind)
{
	__u64 caller = 0, code = walk->records.position;

	if (!(kind & FPL_SCRIPT_KIND_FRAME))
		return 0;
	if (script_load(env, walk, &rule->records.caller, at, &caller) ||
	    (!(kind & FPL_SCRIPT_KIND_PLACE) && script_load(env, walk, &rule->code, at, &code)))
		return 1;
	code = (code & ~7ull) | (kind & FPL_SCRIPT_KIND_PLACE ? FPL_SCRIPT_IS_PLACE : 0);
	if (script_add_record(env, walk, rule, code))
		return 1;
	walk->records.position = caller;
	return 0;
}

/* One record: append its script frame if it is one, go on to the one before. Returns 1 where the
 * native frame at hand has no more. */
static long script_record(__u32 idx, void *arg)
{
	struct script_chain *chain = arg;
	const struct fpl_script_rule *rule = chain->rule;
	struct fpl_walk *walk = chain->walk;
	struct env *env = chain->env;
	__u64 at = script_record_at(walk, rule), off = at - walk->script_window_addr;
	__u64 kind = 0, called = 1;
	__u32 is_newest = walk->records.is_newest;

	(void)idx;
	walk->script_end = FPL_SCRIPT_END_FAULT;
	walk->records.is_newest = 0;
	if (walk->records.last < 0)
		return script_leave_array(env, walk, rule);
	if (!walk_is_user(at) || (at & 7))
		return 1;
	if (off >= walk->script_window_size || off + rule->records.bytes > walk->script_window_size)
		script_window(env, walk, at, rule->records.bytes, 0);
	if (script_load(env, walk, &rule->records.kind, at, &kind) ||
	    script_load(env, walk, &rule->records.called, at, &called))
		return 1;
	kind = rule->records.kinds[kind & 0xff];
	if (script_read_record(env, walk, rule, at, kind)) {
		if (!is_newest)
			return 1;
		kind = 0;
	}
	walk->records.last--;
	if ((kind & FPL_SCRIPT_KIND_BEGINS) || ((kind & FPL_SCRIPT_KIND_CALLED) && !called)) {
		walk->script_end = FPL_SCRIPT_END_OUTERMOST;
		return 1;
	}
	walk->script_end = FPL_SCRIPT_END_DEPTH;
	return walk->script_chain_nr >= FPL_SCRIPT_CHAIN_MAX || script_is_full(walk);
}
