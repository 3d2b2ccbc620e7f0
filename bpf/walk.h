/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one walker, for the kernel and userspace: steps from registers and a table to the caller,
 * frame after frame. The includer defines, before including this, struct env (its own) and
 *
 *   int env_read_stack(struct env *env, void *dst, __u32 size, __u64 addr);
 *   int env_read_code(struct env *env, void *dst, __u32 size, __u64 addr);
 *	 Return 0 if all of [addr, addr + size) was read; else *dst is unspecified. size is at most
 *	 LEAF_REACH for code, at most FPL_WINDOW_SIZE for the stack.
 *   __u64 env_trampoline(struct env *env);
 *	 The address that functions under return probes return to; it replaces their return
 *	 addresses in memory. A multiple of FPL_STACK_PAGE; 0: no function is under one.
 *   __u64 env_return_address(struct env *env, __u64 slot, __u64 *at);
 *	 The return address that the trampoline replaced at @slot; 0: none was replaced there.
 *	 *at: 0, or its value after the previous call.
 *   __u64 env_kernel_reg(struct env *env, __u64 slot, __u32 idx);
 *	 The kernel's own register @idx of ARCH_PT_GENERAL, if it was interrupted while it served
 *	 the task whose stack pointer is @slot; 0 otherwise, and for the task's pc.
 *   __u64 env_returned_address(struct env *env, __u64 slot);
 *	 As env_return_address, of the call that ended last.
 *   __u64 env_program_pc(struct env *env, __u64 pc);
 *	 The program's pc for @pc in the page of the trampoline, where instructions replaced by
 *	 breakpoints are executed; 0: no such instruction.
 *   const struct fpl_mapping *env_mapping(struct env *env, __u32 idx);
 *   const struct fpl_object *env_object(struct env *env, __u32 slot);
 *   const __u8 *env_chunk(struct env *env, __u32 chunk_no);
 *	 The entries of the maps of bpf/shared.h, or NULL.
 *   struct fpl_script_rule *env_script_rule(struct env *env, __u32 idx);
 *	 Likewise, of `script_rules`; NULL: scripts are not looked at.
 *   const struct fpl_region *env_region(struct env *env, __u32 idx);
 *	 Likewise, of `regions`; NULL: code has no methods.
 *   __u64 env_now_ns(void);
 *	 Monotonic time; 0: there is no clock, and walks may take any time.
 *   long env_loop(__u32 nr, long (*body)(__u32 idx, void *ctx), void *ctx);
 *	 Calls body(0..nr-1, ctx) until it returns non-zero.
 *
 * Nothing here trusts a register, a rule or a word of memory: each walk ends after at most
 * max_depth frames, or some FPL_WALK_MAX where the outermost are kept (walk_deep.h), with a named
 * stop.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/lookup.h"
#include "bpf/script.h"
#include "bpf/shared.h"
#include "bpf/walk_deep.h"
#include "bpf/walk_fp.h"
#include "bpf/walk_goroutine.h"
#include "bpf/walk_haskell.h"
#include "bpf/walk_probes.h"
#include "bpf/walk_read.h"
#include "bpf/walk_region.h"
#include "bpf/walk_state.h"

/* Context of the loop over extended rules. */
struct walk_ext {
	struct walker *walker;
	const struct fpl_ext *ext; /* [FPL_EXT_MAX] */
	__u64 cfa;
};

/*
 * The value an extended rule gives, from walk->old. Returns FPL_STOP_NONE, or why it has no value.
 */
WALK_INLINE int walk_ext_value(struct walk_ext *args, const struct fpl_ext *ext, __u64 *ret)
{
	struct fpl_walk *walk = args->walker->walk;
	__u32 base = (ext->kind == FPL_EXT_SAME ? ext->dst : ext->base) & (FPL_NR_REGS - 1);
	__u64 off = (__u64)(__s64)ext->off;
	__u64 value = args->cfa;

	if (ext->kind == FPL_EXT_UNDEF)
		return FPL_STOP_OUTERMOST;
	if (ext->kind >= FPL_EXT_EXPR)
		return FPL_STOP_EXPR;
	if (ext->kind == FPL_EXT_SAME)
		off = 0;
	if (ext->kind == FPL_EXT_VAL_PC) {
		*ret = walk->pc + off;
		return FPL_STOP_NONE;
	}
	if (ext->kind != FPL_EXT_AT_CFA && ext->kind != FPL_EXT_VAL_CFA) {
		if (!(walk->old_known & WALK_BIT(base)))
			return FPL_STOP_REG_UNKNOWN;
		value = walk->old[base];
	}
	value += off;
	if (ext->kind != FPL_EXT_AT_CFA && ext->kind != FPL_EXT_AT_REG) {
		*ret = value;
		return FPL_STOP_NONE;
	}
	return walk_read(args->walker, value, ret) ? FPL_STOP_READ_FAULT : FPL_STOP_NONE;
}

static long walk_ext_one(__u32 idx, void *arg)
{
	struct walk_ext *args = arg;
	struct fpl_walk *walk = args->walker->walk;
	const struct fpl_ext *ext;
	__u64 value = 0;

	if (idx >= FPL_EXT_MAX)
		return 1;
	ext = args->ext + idx;

	int stop = walk_ext_value(args, ext, &value);
	__u32 dst = ext->dst;

	if (dst >= FPL_NR_REGS) {
		walk->ra = value;
		walk->ra_said = 1;
		walk->ra_stop = (__u8)stop;
		walk->ra_by_pc = ext->kind == FPL_EXT_VAL_PC;
		return 0;
	}
	walk->reg[dst & (FPL_NR_REGS - 1)] = value;
	if (stop == FPL_STOP_NONE)
		walk->known |= WALK_BIT(dst);
	else
		walk->known &= ~WALK_BIT(dst);
	return 0;
}

/* The CFA of @rule. @reg_value is the value of its register R. Returns FPL_STOP_NONE or why not. */
WALK_INLINE int walk_cfa(struct walker *walker, const struct fpl_rule *rule, __u64 reg_value,
			 __u64 *ret)
{
	struct fpl_walk *walk = walker->walk;
	__u32 second = rule->regs >> 4;
	__u64 addr = reg_value + (__u64)(__s64)rule->cfa_off;
	int stop;

	switch (rule->cfa) {
	case FPL_CFA_REG:
		*ret = addr;
		return FPL_STOP_NONE;
	case FPL_CFA_PLT:
		*ret = addr + arch_plt_extra(walk->pc, second);
		return FPL_STOP_NONE;
	case FPL_CFA_INDEX:
		if (!(walk->known & WALK_BIT(second)))
			return FPL_STOP_REG_UNKNOWN;
		addr += 8 * walk->reg[second & (FPL_NR_REGS - 1)];
		break;
	case FPL_CFA_DEREF:
		break;
	case FPL_CFA_G_CALL:
	case FPL_CFA_G_RESUME:
	case FPL_CFA_HEIGHT:
		stop = walk_to_goroutine(walker, reg_value);
		*ret = walk->word;
		return stop;
	case FPL_CFA_LUAJIT:
		stop = walk_to_interpreter(walker, reg_value);
		*ret = walk->word;
		return stop;
	default:
		return FPL_STOP_EXPR;
	}
	if (walk_read(walker, addr, &addr))
		return FPL_STOP_READ_FAULT;
	*ret = addr + (__u64)(__s64)rule->off2;
	return FPL_STOP_NONE;
}

/*
 * Restore the callee-saved registers. A register whose word cannot be read is unknown in the
 * caller; that alone does not end the walk.
 */
WALK_INLINE void walk_saved(struct walker *walker, const struct fpl_rule *rule, __u64 cfa,
			    __u64 reg_value)
{
	struct fpl_walk *walk = walker->walk;
	/* In memory, where the verifier does not tell one set of bits from another. */
	volatile __u32 *known = &walk->known;

	*known &= ARCH_CALLEE_SAVED;
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++) {
		__u32 reg = ARCH_SAVED_REG(i);
		__s32 words = rule->saved[i];

		if (words == FPL_SAVED_SAME)
			continue;

		__u64 base = rule->from_reg >> i & 1 ? reg_value : cfa;

		if (words == FPL_SAVED_UNDEF ||
		    walk_read(walker, base + (__u64)((__s64)words * 8), &walk->reg[reg]))
			*known &= ~WALK_BIT(reg);
		else
			*known |= WALK_BIT(reg);
	}
}

/* Origin of a frame found by a rule with @flags. */
WALK_INLINE __u8 walk_rule_origin(const struct fpl_walk *walk, __u32 flags)
{
	return flags & FPL_RULE_SYNTH ? FPL_ORIGIN_SYNTH : walk->by_row;
}

/* The code that was interrupted may run on another stack. */
WALK_INLINE void walk_other_stack(struct fpl_walk *walk)
{
	walk->window_size = walk->window_near = 0;
}

/*
 * Is @caller_sp plausible for the caller of a frame with @sp? It may be equal if the return address
 * is not on the stack. It may lie below it in one place: the paths out of line that glibc 2.3 to
 * 2.19 takes for a contended lock have a caller in the same code: the instruction behind their
 * call, with the CFA a red zone below the stack pointer and the return address a distance from the
 * pc. Behind a call that is implausible: it is accepted for interrupted code only.
 */
WALK_INLINE int walk_progresses(const struct fpl_walk *walk, __u64 sp)
{
	__u64 caller_sp = walk->reg[ARCH_SP];

	if (caller_sp == sp) /* a leaf may have popped its return address: walk_took_ra() */
		return (walk->rule.flags & FPL_RULE_RA_REG) || walk->ra_said || walk->exact;
	return caller_sp > sp || (walk->exact && walk->ra_by_pc && walk->ra != walk->pc &&
				  sp - caller_sp <= ARCH_RED_ZONE);
}

/*
 * Step to the caller by walk->rule, with the extended rules at @ext; NULL: the rule has none.
 * Returns FPL_STOP_NONE or why not.
 */
static __attribute__((__noinline__)) int walk_by_rule(struct walker *walker,
						      const struct fpl_ext *ext)
{
	struct fpl_walk *walk = walker->walk;
	const struct fpl_rule *rule = &walk->rule;
	__u32 flags = rule->flags;
	__u32 reg = rule->regs & 15u;
	__u64 cfa, ra = 0, sp = walk->reg[ARCH_SP];
	int stop;

	if (flags & FPL_RULE_END)
		return FPL_STOP_OUTERMOST;
	if (rule->cfa == FPL_CFA_EXPR)
		return FPL_STOP_EXPR;
	if (!(walk->known & WALK_BIT(reg)))
		return FPL_STOP_REG_UNKNOWN;

	__u64 reg_value = walk->reg[reg];

	walk->ra_said = 0;
	stop = walk_cfa(walker, rule, reg_value, &cfa);
	if (stop != FPL_STOP_NONE)
		return stop;

	/* Read the return address first if it is a register: the caller's value replaces it. */
	if (flags & FPL_RULE_RA_REG) {
		__u32 ra_reg = rule->regs >> 4;

		if (!(walk->known & WALK_BIT(ra_reg)))
			return FPL_STOP_REG_UNKNOWN;
		ra = walk->reg[ra_reg & (FPL_NR_REGS - 1)];
	}
	walk->ra_by_pc = 0;
	if (ext) {
		for (int i = 0; i < (int)FPL_NR_REGS; i++)
			walk->old[i] = walk->reg[i];
		walk->old_known = walk->known;
	}
	walk_saved(walker, rule, cfa, reg_value);
	walk->reg[ARCH_SP] = cfa;
	walk->known |= WALK_BIT(ARCH_SP);
	if (ext) {
		struct walk_ext args = { .walker = walker, .ext = ext, .cfa = cfa };

		env_loop(ext->count, walk_ext_one, &args);
	}
	if (walk->ra_said) {
		if (walk->ra_stop != FPL_STOP_NONE)
			return walk->ra_stop;
		ra = walk->ra;
	} else if (!(flags & FPL_RULE_RA_REG)) {
		if (walk_read(walker, cfa + (__u64)ARCH_RA_OFF, &ra))
			return FPL_STOP_READ_FAULT;
	}
	if (flags & (FPL_RULE_SIGNAL | FPL_RULE_SWITCH)) {
		walk_other_stack(walk);
	} else if (!walk_progresses(walk, sp)) {
		return FPL_STOP_NO_PROGRESS;
	}
	return walk_to(walk, ra, flags & FPL_RULE_SIGNAL, walk_rule_origin(walk, flags));
}

/*
 * Place of the table of the mapping found last. NULL: its slot holds another table, or none any
 * more.
 */
WALK_INLINE const struct fpl_object *walk_object(struct walker *walker)
{
	const struct fpl_mapping *mapping = &walker->walk->last;
	const struct fpl_object *object =
		mapping->slot ? env_object(walker->env, mapping->slot) : 0;

	return object && object->object == mapping->object ? object : 0;
}

/* Are rows still being made from the code of the mapping found last? */
WALK_INLINE int walk_is_late(struct walker *walker)
{
	const struct fpl_object *object = walk_object(walker);

	return object && table_image(object)->state == FPL_TABLE_LATE;
}

/* Is @vaddr of the mapping found last at the program's entry, which has no caller? */
WALK_INLINE int walk_is_entry(struct walker *walker, __u64 vaddr)
{
	const struct fpl_object *object;

	if (!(walker->walk->last.flags & (FPL_MAPPING_MAIN | FPL_MAPPING_INTERP)))
		return 0;
	object = walk_object(walker);
	return object && vaddr - object->entry_vaddr < WALK_ENTRY_BYTES;
}

/* Was a null pointer called, or one that is nearly null? No program has code on the first page. */
WALK_INLINE int walk_is_null(const struct fpl_walk *walk)
{
	return walk->exact && walk->pc < ARCH_USER_START;
}

/*
 * Step to the caller if walk_is_null() and no mapping is there. No instruction has run, so the
 * return address is on top of the stack. Any other unmapped pc proves nothing: its mapping may be
 * unknown yet.
 */
WALK_INLINE int walk_from_null(struct walker *walker)
{
	struct fpl_walk *walk = walker->walk;
	__u64 sp = walk->reg[ARCH_SP], ra;

	if (walk->unwind != FPL_UNWIND_AUTO || !(walk->known & WALK_BIT(ARCH_SP)) || (sp & 7) ||
	    walk_read_ra(walker, sp, &ra) || walk_is_ra(walker, ra) != WALK_RA_YES)
		return FPL_STOP_NO_MAPPING;
	walk->reg[ARCH_SP] = sp + 8;
	walk->known &= ARCH_CALLEE_SAVED | WALK_BIT(ARCH_SP);
	return walk_to(walk, ra, 0, FPL_ORIGIN_FP);
}

/* No row covers @pc, a lookup_pc: the program's entry has no caller; elsewhere try the frame
 * pointer. */
WALK_INLINE int walk_uncovered(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	struct walker walker = { .walk = walk, .env = env };
	const struct fpl_mapping *mapping = &walk->last;

	/* not looked for where the rule is remembered */
	if (!walk_mapping(&walker, pc))
		return walk_is_null(walk) ? walk_from_null(&walker) : FPL_STOP_BAD_RA;

	if (walk_is_entry(&walker, pc - mapping->bias))
		return FPL_STOP_OUTERMOST;

	/* An object without slot has no table, whether it has CFI or not. */
	int no_table = mapping->object && !mapping->slot;
	int made = walk_is_made(walk, pc);
	__u32 needed = WALK_BIT(ARCH_FP) | WALK_BIT(ARCH_SP);

	if ((walk->exact || made) && walk->unwind == FPL_UNWIND_AUTO &&
	    (walk->known & needed) == needed) {
		int leaf = walk_leaf(&walker, walk->pc);

		if (leaf != WALK_LEAF_NOTHING)
			return leaf == WALK_LEAF_STEP ? FPL_STOP_NONE : FPL_STOP_OUTERMOST;
	}

	int is_late = walk_is_late(&walker);
	int stop = walk_by_fp(&walker, made);

	/* The last word of a chain of frame pointers may be data while the code it leads to is
	 * unknown. */
	if ((stop == FPL_STOP_NO_CFI || stop == FPL_STOP_FP_END) && is_late) {
		walk->fp_open = WALK_OPEN_LATE;
		stop = FPL_STOP_NO_CFI;
	}
	if (stop != FPL_STOP_NO_CFI || !no_table)
		return stop;
	/* A supposed return address may lie in another mapping. */
	walk_mapping(&walker, pc);
	return FPL_STOP_NO_TABLE;
}
WALK_ONCE(walk_without_cfi, walk_uncovered, FPL_STOP_NO_CFI)

/*
 * The rule at @vaddr of the mapping found last, in *ret; NULL there: the object has no CFI. Returns
 * FPL_STOP_NONE, or the stop if the table, or its part for @vaddr, is missing.
 */
WALK_INLINE int walk_lookup(struct walker *walker, __u64 vaddr, const struct fpl_rule **ret,
			    struct lookup_reach *reach)
{
	const struct fpl_object *object = walk_object(walker);
	const struct fpl_image *image;

	*ret = 0;
	if (!object)
		return FPL_STOP_NO_TABLE;
	image = table_image(object);
	if (image->state == FPL_TABLE_PENDING)
		return FPL_STOP_NO_TABLE;
	if (image->state == FPL_TABLE_NONE)
		return FPL_STOP_NONE;
	*ret = table_lookup(walker->env, object, image, vaddr, reach);
	if (!*ret)
		return FPL_STOP_TABLE_CHANGED;
	if ((image->state != FPL_TABLE_PARTIAL && image->state != FPL_TABLE_LATE) ||
	    (*ret)->cfa != FPL_CFA_NONE || ((*ret)->flags & FPL_RULE_END))
		return FPL_STOP_NONE;
	if (walk_is_entry(walker, vaddr))
		return FPL_STOP_OUTERMOST;
	if (image->state == FPL_TABLE_PARTIAL)
		return FPL_STOP_NO_TABLE;
	*ret = 0; /* not remembered, because the object will get a rule */
	return FPL_STOP_NONE;
}

/* Does the rule need only the FPL_NEAR_BYTES below the CFA, whatever it says? */
WALK_INLINE int walk_is_near(const struct fpl_rule *rule)
{
	int near = rule->cfa == FPL_CFA_REG && !rule->flags && !rule->from_reg;

#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++) {
		__s32 words = rule->saved[i];

		near &= words == FPL_SAVED_SAME ||
			(words < 0 && words >= -(__s32)(FPL_NEAR_BYTES / 8));
	}
	return near;
}

/* The index has an entry for each 64 bytes of code: few rows are shorter. */
#define WALK_INDEX_CODE_LOG2 6

/* Index slot of an address of the mapset. Fibonacci hashing: neighbours are far apart. */
WALK_INLINE __u64 walk_index(const struct fpl_walk *walk, __u64 pc)
{
	__u64 key = pc >> WALK_INDEX_CODE_LOG2 ^ (__u64)walk->serial << 40;

	return key * 0x9e3779b97f4a7c15ull >> (64 - FPL_MEMORY_INDEX_LOG2);
}

WALK_INLINE int walk_knows(const struct fpl_walk *walk, const struct fpl_known_frame *known,
			   __u64 pc)
{
	return pc - known->pc < known->size && known->serial == walk->serial;
}

/* The remembered entry for @pc, a lookup_pc. */
WALK_INLINE struct fpl_known_frame *walk_recall(struct walker *walker, __u64 pc)
{
	struct fpl_memory *memory = walker->memory;
	struct fpl_walk *walk = walker->walk;
	__u32 at = walk->next & ((1u << FPL_MEMORY_LOG2) - 1);
	struct fpl_known_frame *known = &memory->frames[at];

	if (!walk_knows(walk, known, pc)) {
		at = memory->index[walk_index(walk, pc)] & ((1u << FPL_MEMORY_LOG2) - 1);
		known = &memory->frames[at];
		if (!walk_knows(walk, known, pc))
			return 0;
	}
	walk->next = at + 1;
	return known;
}

/*
 * Remember walk->rule, in force at @pc of the mapping found last and in [start, end) around it.
 * Returns 0.
 */
WALK_GLOBAL int walk_remember(struct fpl_memory *memory, struct fpl_walk *walk, __u64 pc,
			      __u64 start, __u64 end)
{
	const struct fpl_mapping *mapping;
	struct fpl_known_frame *known;
	__u32 at;

	if (!memory || !walk || !walk->serial || end > FPL_FRAME_VADDR_MASK)
		return 0;
	mapping = &walk->last;
	start += mapping->bias;
	end += mapping->bias;
	/* A row may go on behind its mapping. The mapping's last byte is not remembered: the
	 * trampoline of return probes may begin behind it, and is looked up by the byte before. */
	if (start < mapping->start)
		start = mapping->start;
	if (end >= mapping->end)
		end = mapping->end - 1;
	if (!mapping->object)
		return 0;
	at = memory->head & ((1u << FPL_MEMORY_LOG2) - 1);
	memory->head = at + 1;
	memory->index[walk_index(walk, pc)] = (__u16)at;
	walk->next = at + 1;
	known = &memory->frames[at];
	known->pc = start;
	known->frame = (__u64)(mapping->object & FPL_FRAME_OBJECT_MAX) << FPL_FRAME_OBJECT_SHIFT |
		       (start - mapping->bias);
	known->serial = walk->serial;
	known->size = (__u16)(end - start);
	known->near = (__u8)walk_is_near(&walk->rule);
	known->script = (__u8)walk->script_rule;
	known->rule = walk->rule;
	return 0;
}

/*
 * The frame at @pc, a lookup_pc that is not remembered: find its mapping, append its frame, set
 * walk->rule to the rule in force and *ext to its extended rules, if any. Returns FPL_STOP_NONE, or
 * why the walk ends.
 */
static __attribute__((__noinline__)) int walk_find(struct walker *walker, __u64 pc,
						   const struct fpl_ext **ext)
{
	struct fpl_walk *walk = walker->walk;
	const struct fpl_rule *rule = 0;
	struct lookup_reach reach;
	__u64 frame;
	int stop;

	if (!walk_mapping(walker, pc) && walk->exact && walk_leave_probes(walker, pc))
		pc = walk->pc;
	if (!walk_mapping(walker, pc)) {
		if (walk->nr_frames && !walk_is_null(walk))
			return FPL_STOP_BAD_RA;
		walk->flags |= FPL_SAMPLE_RAW;
		walk_add(walker, walk_frame(0, walk->pc, walk->exact != 0, walk->origin));
		if (!walk_is_null(walk))
			return FPL_STOP_NO_MAPPING;
		walk->rule.cfa = FPL_CFA_NONE;
		walk->rule.flags = 0;
		return FPL_STOP_NONE;
	}
	frame = walk_frame(&walk->last, walk->pc, walk->exact != 0, walk->origin);
	if (frame & FPL_FRAME_RAW)
		walk->flags |= FPL_SAMPLE_RAW;
	walk_add(walker, frame);
	if (walk->last.slot) {
		stop = walk_lookup(walker, pc - walk->last.bias, &rule, &reach);
		if (stop != FPL_STOP_NONE)
			return stop;
	}
	if (!rule) {
		walk->rule.cfa = FPL_CFA_NONE;
		walk->rule.flags = 0;
		if (walk->last.bias && !walk->last.object)
			script_find(walker, pc);
		return FPL_STOP_NONE;
	}
	walk->rule = *rule;
	script_find(walker, pc - walk->last.bias);
	if (rule->flags & FPL_RULE_EXT)
		*ext = (const struct fpl_ext *)(rule + 1);
	else
		walk_remember(walker->memory, walk, pc, reach.start, reach.end);
	return FPL_STOP_NONE;
}

/*
 * Step to the caller by a near rule whose words are all in the window, which may be moved: the same
 * as walk_by_rule, at the least cost. Returns FPL_STOP_COUNT, with nothing done, if they are not.
 */
WALK_INLINE int walk_near(struct walker *walker, const struct fpl_rule *rule)
{
	struct fpl_walk *walk = walker->walk;
	__u32 reg = rule->regs & 15u;
	__u64 sp = walk->reg[ARCH_SP];
	__u64 cfa = walk->reg[reg] + (__u64)(__s64)rule->cfa_off;
	__u64 off = cfa - FPL_NEAR_BYTES - walk->window_addr;
	/* In memory, where the verifier does not tell one set of bits from another. */
	volatile __u32 *known = &walk->known;

	if (!(walk->known & WALK_BIT(reg)))
		return FPL_STOP_COUNT;
	if (off >= walk->window_near) {
		walk_move(walker, cfa - FPL_NEAR_BYTES);
		off = cfa - FPL_NEAR_BYTES - walk->window_addr;
	}
	if (off >= walk->window_near || (off & 7) || cfa <= sp)
		return FPL_STOP_COUNT;
	off = (off + FPL_NEAR_BYTES) >> 3;
	*known = (*known & ARCH_CALLEE_SAVED) | WALK_BIT(ARCH_SP);
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++) {
		__s32 words = rule->saved[i];

		if (words != FPL_SAVED_SAME) {
			walk->reg[ARCH_SAVED_REG(i)] = walk->window[(off + (__u64)(__s64)words) &
								    (FPL_WINDOW_SIZE / 8 - 1)];
			*known |= WALK_BIT(ARCH_SAVED_REG(i));
		}
	}
	walk->reg[ARCH_SP] = cfa;
	return walk_to(walk, walk->window[(off - 1) & (FPL_WINDOW_SIZE / 8 - 1)], 0, walk->by_row);
}

/*
 * A row made from code is believed if the address it finds can be a return address. An address in
 * no mapping may be one, too: the walk can go on there when the mapping is known, as behind any
 * row.
 */
WALK_INLINE int walk_believed(struct walker *walker)
{
	__u64 ra;

	walk_true_pc(walker);
	ra = walker->walk->pc;
	if (walk_is_ra(walker, ra) != WALK_RA_NO)
		return FPL_STOP_NONE;
	return walk_is_user(ra) && !walk_mapping(walker, ra - 1) ? FPL_STOP_BAD_RA
								 : FPL_STOP_NO_CFI;
}

/*
 * Has the leaf with the stack pointer @sp popped its return address into the red zone, as
 * caml_c_call of OCaml does? Asked after the step; wrong CFI looks the same, so the word must be a
 * return address.
 */
WALK_INLINE int walk_took_ra(const struct fpl_walk *walk, __u64 sp)
{
	return walk->reg[ARCH_SP] == sp && !walk->ra_said &&
	       !(walk->rule.flags & (FPL_RULE_RA_REG | FPL_RULE_SIGNAL | FPL_RULE_SWITCH));
}

/* Is @pc, a lookup_pc, in code whose run time has a method for it? */
WALK_INLINE int walk_is_region(const struct fpl_walk *walk, __u64 pc)
{
	return walk_is_made(walk, pc) && walk->last.bias && walk->unwind == FPL_UNWIND_AUTO;
}

/*
 * Step to the caller of code in a region. The return address that the method leads to is believed
 * if it is in a region, too, where the interpreter pushes addresses that follow no call, or behind
 * a call.
 */
WALK_INLINE int walk_leave_region(struct walker *walker, __u64 pc)
{
	struct fpl_walk *walk = walker->walk;
	__u64 *frame = &walker->frames[(walk->nr_frames - 1) & (FPL_DEPTH_MAX - 1)];
	int method, stop = FPL_STOP_NONE;

	walk->frame = *frame;
	method = walk_region(walker, pc);
	*frame = walk->frame;
	if (method == WALK_REGION_NOTHING)
		return walk_without_cfi(walker, pc);
	if (method == WALK_REGION_END)
		return walk->ra_stop;
	if (method == WALK_REGION_RULE)
		stop = walk_by_rule(walker, 0);
	if (stop != FPL_STOP_NONE)
		return stop;
	walk_true_pc(walker);
	return region_is_ra(walker, walk->pc) ? FPL_STOP_NONE : walk_believed(walker);
}

/* Step to the caller by walk->rule, which is there, with the extended rules at @ext, and see
 * whether what it finds holds up. */
WALK_INLINE int walk_leave_row(struct walker *walker, const struct fpl_ext *ext)
{
	struct fpl_walk *walk = walker->walk;
	__u64 sp = walk->reg[ARCH_SP];
	int stop;

	if (walk->rule.cfa == FPL_CFA_HASKELL) {
		stop = walk_haskell(walker, walk->reg[ARCH_FP]);
		if (stop != FPL_STOP_COUNT)
			return stop;
	}
	if ((walk->rule.flags & FPL_RULE_SYNTH) && walk->exact && walk_is_born(walker))
		return FPL_STOP_OUTERMOST;
	stop = walk_by_rule(walker, ext);
	/* Code interrupted by a signal follows no call. */
	if (stop != FPL_STOP_NONE || (walk->rule.flags & FPL_RULE_SIGNAL) ||
	    !((walk->rule.flags & FPL_RULE_SYNTH) || walk_took_ra(walk, sp)))
		return stop;
	stop = walk_believed(walker);
	return stop == FPL_STOP_NONE || (walk->rule.flags & FPL_RULE_SYNTH) ? stop
									    : FPL_STOP_NO_PROGRESS;
}

/* One frame: append it, find its rule, step to its caller. */
WALK_INLINE int walk_step(struct walker *walker)
{
	struct fpl_walk *walk = walker->walk;
	__u64 lookup_pc = walk->pc - !walk->exact;
	const struct fpl_known_frame *known;
	const struct fpl_ext *ext = 0;
	int stop = FPL_STOP_COUNT;

	if (walk->nr_frames >= walk->max_depth && walk_deeper(walk) != FPL_STOP_NONE)
		return FPL_STOP_DEPTH;
	known = walker->memory && walk->serial ? walk_recall(walker, lookup_pc) : 0;
	if (known) {
		walk_add(walker, (known->frame + (walk->pc - known->pc)) |
					 (__u64)walk->origin << FPL_FRAME_ORIGIN_SHIFT |
					 (walk->exact ? FPL_FRAME_EXACT : 0));
		walk->script_rule = known->script;
		if (known->script && known->rule.cfa != FPL_CFA_NONE)
			script_chain(walker, known->script);
		if (known->near)
			stop = walk_near(walker, &known->rule);
		if (stop != FPL_STOP_COUNT)
			return stop;
		walk->rule = known->rule;
	} else {
		if (!walk->exact) {
			walk_true_pc(walker);
			lookup_pc = walk->pc - 1;
		}
		walk->script_rule = 0;
		stop = walk_find(walker, lookup_pc, &ext);
		if (stop != FPL_STOP_NONE)
			return stop;
		if (walk->script_rule && walk->rule.cfa != FPL_CFA_NONE)
			script_chain(walker, walk->script_rule);
	}
	/* Calls in sequence, not nested: old kernels add up the stack of nested calls. */
	if (walk->rule.cfa == FPL_CFA_NONE && !(walk->rule.flags & FPL_RULE_END)) {
		if (walk->rule.flags & FPL_RULE_JUDGED)
			return FPL_STOP_NO_CFI;
		lookup_pc = walk->pc - !walk->exact;
		if (walk->script_rule)
			script_native(walker, walk->script_rule);
		stop = walk_is_region(walk, lookup_pc) ? walk_leave_region(walker, lookup_pc)
						       : walk_without_cfi(walker, lookup_pc);
		/* its frame was yet to be made, or the step was made by the frame pointer */
		if (walk->script_rule &&
		    (walk->script_function || walk->reg[ARCH_SP] == walk->script_native + 16))
			script_chain(walker, walk->script_rule);
		return stop;
	}
	return walk_leave_row(walker, ext);
}

/* Begin with the mapset in walk->serial, first and nr. The mapping found last stays valid in the
 * same mapset. */
WALK_INLINE void walk_enter(struct fpl_walk *walk)
{
	if (!walk->serial || walk->last_serial != walk->serial) {
		walk->last.start = 0;
		walk->last.end = 0;
		walk->last.slot = 0;
		walk->last_serial = walk->serial;
	}
}

static long walk_one(__u32 idx, void *arg)
{
	struct walker *walker = arg;
	int stop = walk_step(walker);

	(void)idx;
	walker->walk->stop = (__u8)stop;
	return stop != FPL_STOP_NONE;
}

/*
 * Walk from the registers in walk->reg, pc and known, exact and origin, into walker->frames behind
 * the walk->nr_frames present and the walk->elided dropped ones; the stop and the input of
 * walk_end() are left in walk. The caller has set first, nr, serial, last_serial, max_depth,
 * root_depth, unwind and by_row.
 */
WALK_INLINE void walk_run(struct walker *walker)
{
	struct fpl_walk *walk = walker->walk;

	walk->flags = 0;
	walk_enter(walk);
	walk->window_size = 0;
	walk->window_near = 0;
	walk->next = 0;
	walk->fp_open = 0;
	walk_forget_probes(walk);
	walk->is_ring = 0;
	walk->deep = WALK_DEEP_NONE;
	walk->stack_words = 0;
	walk->haskell_sp = 0;
	walk->blob_name_at = 0;
	script_begin(walk);
	/* One step beyond the limit of frames: it finds out whether the stack goes on. */
	env_loop((walk->root_depth ? FPL_WALK_MAX : 0) + walk->max_depth + 1, walk_one, walker);
}
