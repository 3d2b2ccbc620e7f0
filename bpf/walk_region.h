/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of code that a run time keeps in a region (bpf/shared_region.h): HotSpot's data about the
 * code around a pc says how large its frame is. The data is the target's: every number is checked,
 * and the return address must hold up. All forms of code below are those that HotSpot's assemblers
 * for x86-64 emit in JDK 11 to 25.
 */
#pragma once

#include "bpf/arch_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/walk_beam.h"
#include "bpf/walk_follow.h"
#include "bpf/walk_fp.h"
#include "bpf/walk_frame.h"
#include "bpf/walk_luajit.h"
#include "bpf/walk_read.h"

/* The first eight bytes of the names of blobs, as a number. */
#define REGION_NMETHOD	   0x00646f6874656d6eull /* "nmethod" */
#define REGION_INTERPRETER 0x6572707265746e49ull /* "Interpreter" */
#define REGION_STUBS	   0x74756f5262757453ull /* "StubRoutines (1)" */

/* Context of the search in the segment map. */
struct region_search {
	struct fpl_walk *walk;
	struct env *env;
	const struct fpl_region *region;
};

static long region_hop(__u32 idx, void *arg)
{
	struct region_search *search = arg;
	struct fpl_walk *walk = search->walk;
	__u64 at = walk->blob_segment;
	__u8 hop = 0;

	(void)idx;
	if (at >= search->region->segmap_bytes ||
	    env_read_code(search->env, &hop, 1, search->region->segmap + at) || hop == 0xff ||
	    hop > at) {
		walk->blob_segment = ~0ull;
		return 1;
	}
	walk->blob_segment = at - hop;
	walk->blob_found = !hop;
	return !hop;
}

/* A number of @size bytes at @off of the blob: 2, 4 (both signed) or 8. */
WALK_INLINE __u64 region_field(const struct fpl_walk *walk, __u32 off, __u32 size)
{
	__u32 word = off >> 3 & (FPL_BLOB_BYTES / 8 - 1), shift = (off & 7) * 8;
	__u64 value = walk->blob[word] >> shift;

	if (shift && word + 1 < FPL_BLOB_BYTES / 8)
		value |= walk->blob[(word + 1) & (FPL_BLOB_BYTES / 8 - 1)] << (64 - shift);
	if (size == 2)
		return (__u64)(__s64)(__s16)value;
	return size == 4 ? (__u64)(__s64)(__s32)value : value;
}

/* Copy the blob around @pc to walk->blob. Returns its address; 0: no blob is there. */
WALK_INLINE __u64 region_blob(struct env *env, struct fpl_walk *walk,
			      const struct fpl_region *region, __u64 pc)
{
	struct region_search search = { .walk = walk, .env = env, .region = region };
	__u32 log2 = region->segment_log2 & 15u;
	__u64 blob;

	walk->blob_segment = (pc - region->start) >> log2;
	walk->blob_found = 0;
	env_loop(FPL_SEGMENT_HOPS, region_hop, &search);
	if (!walk->blob_found)
		return 0;
	blob = region->start + (walk->blob_segment << log2) + region->block_bytes;
	if (blob > pc || env_read_code(env, walk->blob, FPL_BLOB_BYTES, blob))
		return 0;
	return blob;
}

/* The rule: CFA = rsp + @cfa_off, and rbp is in the word at CFA - 16, or unchanged. */
WALK_INLINE int region_rule(struct fpl_walk *walk, __u32 cfa_off, int saved)
{
	struct fpl_rule *rule = &walk->rule;

	__builtin_memset(rule, 0, sizeof(*rule));
	rule->cfa = FPL_CFA_REG;
	rule->regs = ARCH_SP;
	rule->cfa_off = (__s32)cfa_off;
#pragma GCC unroll 6
	for (__u32 i = 0; i < FPL_NR_SAVED; i++)
		rule->saved[i] = FPL_SAVED_UNDEF;
	/* HotSpot keeps the thread in r15 */
	rule->saved[ARCH_SAVED_R15] = FPL_SAVED_SAME;
	rule->saved[ARCH_SAVED_RBP] = saved ? -2 : FPL_SAVED_SAME;
	return WALK_REGION_RULE;
}

/* The rule behind call_stub, which saves all registers for the C code that called it. */
WALK_INLINE int region_call_stub(struct fpl_walk *walk)
{
	struct fpl_rule *rule = &walk->rule;

	__builtin_memset(rule, 0, sizeof(*rule));
	rule->cfa = FPL_CFA_REG;
	rule->regs = ARCH_FP;
	rule->cfa_off = 16;
	rule->saved[ARCH_SAVED_RBP] = -2;
	rule->saved[ARCH_SAVED_RBX] = -9;
	rule->saved[ARCH_SAVED_R12] = -10;
	rule->saved[ARCH_SAVED_R13] = -11;
	rule->saved[ARCH_SAVED_R14] = -12;
	rule->saved[ARCH_SAVED_R15] = -13;
	return WALK_REGION_RULE;
}

enum { REGION_IS_WHOLE = -1 };

/* How many words, 0 or 1, lie below the return address if only the end of an epilogue is left:
 * `pop rbp`, a poll for safepoints, `ret`. REGION_IS_WHOLE: the frame is there. */
WALK_INLINE int region_epilogue(struct leaf_code code)
{
	int pops = (code.at & 0xff) == 0x5d;

	if (pops)
		frame_skip(&code, 1);
	if ((code.at & 0xffffff) == 0xa73b49) /* cmp rsp, [r15 + d32] */
		frame_skip(&code, 7);
	else if ((code.at & 0xffffff) == 0x673b49) /* cmp rsp, [r15 + d8] */
		frame_skip(&code, 4);
	else if ((code.at & 0xffffff) == 0x978b4d) /* mov r10, [r15 + d32] */
		frame_skip(&code, 7);
	if ((code.at & 0xffff) == 0x870f) /* ja */
		frame_skip(&code, 6);
	else if ((code.at & 0xffffff) == 0x028541) /* test [r10], eax */
		frame_skip(&code, 3);
	else if ((code.at & 0xffff) == 0x0585) /* test [rip + d32], eax */
		frame_skip(&code, 6);
	return (code.at & 0xff) == 0xc3 ? pops : REGION_IS_WHOLE;
}

/* A prologue has made a part of a frame of @bytes, as the instruction before the pc says. */
WALK_INLINE int region_prologue(struct fpl_walk *walk, const struct leaf_code *code, __u32 bytes)
{
	__u64 at = code->at & 0xffffff;
	/* sub rsp, i8; sub rsp, i32; mov [rsp + d8], rbp; mov [rsp + d32], rbp; add rbp, i8; add
	 * rbp, i32; cmp [r15 + d8], i32: the barrier behind all of them, which may be aligned by
	 * nops */
	int made = (code->before >> 32 & 0xffffff) == 0xec8348 ||
		   (code->before >> 8 & 0xffffff) == 0xec8148 ||
		   (code->before >> 24 & 0xffffffff) == 0x246c8948 ||
		   (code->before & 0xffffffff) == 0x24ac8948 ||
		   (code->before >> 32 & 0xffffff) == 0xc58348 ||
		   (code->before >> 8 & 0xffffff) == 0xc58148 ||
		   (code->before & 0xffffff) == 0x7f8141 || at == 0x7f8141;

	if (made) /* mov [rsp + n], rbp is still to come where nothing was pushed */
		return region_rule(walk, bytes, at != 0x6c8948 && at != 0xac8948);
	/* mov rbp, rsp, in both encodings: behind push rbp, or behind mov [rsp + n], rbp */
	if (code->before >> 40 == 0xec8b48 || code->before >> 40 == 0xe58948)
		return region_rule(walk, (code->before >> 32 & 0xff) == 0x55 ? 16 : bytes, 1);
	if (code->before >> 56 == 0x55 &&
	    (at == 0xec8348 || at == 0xec8148 || at == 0xec8b48 || at == 0xe58948))
		return region_rule(walk, 16, 1);
	return region_rule(walk, 8, 0);
}

/* Can @ra be where code in a region was called from? The interpreter pushes addresses in a region
 * that follow no call. */
WALK_INLINE int region_is_ra(struct walker *walker, __u64 ra)
{
	struct fpl_walk *walk = walker->walk;

	return walk_is_user(ra) && walk_mapping(walker, ra - 1) &&
	       ((walk_is_made(walk, ra - 1) && walk->last.bias) ||
		walk_is_ra(walker, ra) != WALK_RA_NO);
}

/* Words that the inline code of an intrinsic, as of String.compareTo, may have pushed. */
#define REGION_PUSHED_MAX 2u

/* Bytes from rsp to the CFA of interrupted code with a frame of @bytes. What such code has pushed
 * nothing says, but no other word near the return address can be one. */
WALK_INLINE __u32 region_pushed(struct walker *walker, __u32 bytes)
{
	struct fpl_walk *walk = walker->walk;
	__u64 at = walk->reg[ARCH_SP] + bytes - 8, ra;

	for (__u32 i = 0; i <= REGION_PUSHED_MAX; i++) {
		if (!walk_read(walker, at + 8 * i, &ra) && region_is_ra(walker, ra))
			return bytes + 8 * i;
	}
	return bytes;
}

/* Read the code around the pc, which may go on in the next page. Returns 0, or non-zero if it could
 * not be read. */
WALK_INLINE int region_code(struct env *env, struct fpl_walk *walk, struct leaf_code *ret)
{
	if ((walk->pc & (FPL_STACK_PAGE - 1)) <= FPL_STACK_PAGE - 16 ||
	    env_read_code(env, walk->code, 24, walk->pc - 8))
		return walk_code(env, walk, walk->pc, ret);
	ret->before = walk->code[0];
	ret->at = walk->code[1];
	ret->then = walk->code[2];
	return 0;
}

/* Bytes from rsp to the CFA of compiled code with a frame of @bytes that has called a leaf. What it
 * has pushed for a stub of C1 it pops right behind the call. */
WALK_INLINE __u32 region_passed(struct env *env, struct fpl_walk *walk, __u32 bytes)
{
	__u64 code;

	if (walk->nr_frames != 2 || env_read_code(env, walk->code, 8, walk->pc))
		return bytes;
	code = walk->code[0];
#pragma GCC unroll 2
	for (__u32 i = 0; i < REGION_PUSHED_MAX; i++) {
		__u32 size = (code & 0xf8f0) == 0x5840 ? 16 /* pop r8 to r15 */
			     : (code & 0xf8) == 0x58 && (code & 0xff) != 0x5d ? 8
									      : 0;

		code >>= size;
		bytes += size ? 8 : 0;
	}
	return bytes;
}

#define REGION_ENTER	   0xec8b4855u /* push rbp; mov rbp, rsp */
#define REGION_ENTER_BYTES 4u

/* An instruction of a stub, which says nothing of its prologue and begins at @begin. Returns
 * WALK_REGION_NOTHING where the size of its frame tells the CFA. */
WALK_INLINE int region_in_stub(struct env *env, struct fpl_walk *walk, const struct leaf_code *code,
			       __u64 begin)
{
	__u64 off = walk->pc - begin;

	if (off <= 1) /* the exception stub pushes its return address itself */
		return off && code->before >> 56 == 0x55 ? region_rule(walk, 16, 1)
							 : region_rule(walk, 8, 0);
	if (off < REGION_ENTER_BYTES || env_read_code(env, walk->code, REGION_ENTER_BYTES, begin) ||
	    (__u32)walk->code[0] != REGION_ENTER || !(walk->known & WALK_BIT(ARCH_FP)))
		return WALK_REGION_NOTHING;
	region_rule(walk, 16, 1);
	walk->rule.regs = ARCH_FP;
	return WALK_REGION_RULE;
}

/* Compiled Java code, or a stub with a frame of @bytes. */
WALK_INLINE int region_compiled(struct env *env, struct fpl_walk *walk,
				const struct fpl_region *region, __u64 blob, __u32 bytes)
{
	__u64 begin = region_field(walk, region->code_off, region->code_bytes);
	__s64 complete = (__s64)region_field(walk, region->complete_off, region->complete_bytes);
	struct walker walker = { .walk = walk, .env = env };
	struct leaf_code code;
	int pops;

	if (!walk->exact)
		return region_rule(walk, region_passed(env, walk, bytes), 1);
	if (region->code_bytes == 4)
		begin += blob;
	if (region_code(env, walk, &code))
		return WALK_REGION_NOTHING;
	if (complete > 0 && walk->pc - begin < (__u64)complete)
		return region_prologue(walk, &code, bytes);
	pops = region_epilogue(code);
	if (pops != REGION_IS_WHOLE)
		return region_rule(walk, pops ? 16 : 8, pops);
	if (complete <= 0 && region_in_stub(env, walk, &code, begin) != WALK_REGION_NOTHING)
		return WALK_REGION_RULE;
	return region_rule(walk, region_pushed(&walker, bytes), 1);
}

/*
 * Is the frame at rbp that of the interrupted instruction? A method that begins has made none yet,
 * one that ends has one no more: then rbp is the caller's. In between r13 is where the bytecode is
 * executed: in that of the method, which is in @const_method.
 */
WALK_INLINE int region_is_own(struct env *env, struct fpl_walk *walk,
			      const struct fpl_region *region, __u64 const_method)
{
	return walk->known & WALK_BIT(ARCH_R13) &&
	       !env_read_code(env, walk->code, 2, const_method + region->code_size_off) &&
	       walk->reg[ARCH_R13] - const_method - region->const_bytes < (__u16)walk->code[0];
}

/* The frame at hand has @tag. */
WALK_INLINE void region_tag(struct fpl_walk *walk, __u64 tag)
{
	if (walk->frame >> FPL_FRAME_ORIGIN_SHIFT != FPL_ORIGIN_FP)
		walk->frame |= tag;
}

/* Tell the interpreter's frame at @fp by its method. */
WALK_INLINE void region_method(struct env *env, struct fpl_walk *walk,
			       const struct fpl_region *region, __u64 fp)
{
	struct walker walker = { .walk = walk, .env = env };
	__u64 method, const_method;

	if (!region->has_methods || walk_read(&walker, fp - 24, &method) || !method ||
	    method >> 47 || (method & FPL_METHOD_LOW_MASK) ||
	    env_read_code(env, walk->code, 8, method + region->const_method_off))
		return;
	const_method = walk->code[0];
	if (walk->exact && !region_is_own(env, walk, region, const_method))
		return;
	walk->frame = (walk->frame & 3ull << FPL_FRAME_ORIGIN_SHIFT) | FPL_FRAME_METHOD |
		      FPL_FRAME_EXACT | method;
	if (!env_read_code(env, walk->code, 2, const_method + region->method_name_off))
		region_tag(walk, fpl_method_tag(const_method, (__u16)walk->code[0]));
}

/* A frame of the interpreter: rbp leads to the caller's, below it is the caller's rsp. */
WALK_INLINE int region_interpreted(struct env *env, struct fpl_walk *walk,
				   const struct fpl_region *region)
{
	struct walker walker = { .walk = walk, .env = env };
	__u64 fp = walk->reg[ARCH_FP], caller_fp, ra, sp;

	if (!(walk->known & WALK_BIT(ARCH_FP)) || (fp & 7) || fp < walk->reg[ARCH_SP] ||
	    walk_read(&walker, fp - 8, &sp) || walk_read(&walker, fp, &caller_fp) ||
	    walk_read(&walker, fp + 8, &ra))
		return WALK_REGION_NOTHING;
	if ((sp & 7) || sp < fp + 16 || sp - fp > 8ull * FPL_METHOD_FRAME_MAX)
		return WALK_REGION_NOTHING;
	region_method(env, walk, region, fp);
	walk->reg[ARCH_SP] = sp;
	walk->reg[ARCH_FP] = caller_fp;
	walk->known &= WALK_BIT(ARCH_SP) | WALK_BIT(ARCH_FP) | WALK_BIT(ARCH_R15);
	walk_to(walk, ra, 0, walk->by_row);
	return WALK_REGION_STEP;
}

/* Behind the return address, the stub of the barrier of methods pushes this, and then makes a frame
 * at rbp. It is the place of a return address there, which no other stub changes. */
#define REGION_BARRIER_COOKIE ~0ull

/* The stub of the barrier that methods begin with, which has called C code. */
WALK_INLINE int region_barrier(struct env *env, struct fpl_walk *walk)
{
	struct walker walker = { .walk = walk, .env = env };
	struct fpl_rule *rule = &walk->rule;
	__u64 fp = walk->reg[ARCH_FP], cookie, ra;

	if (walk->exact || !(walk->known & WALK_BIT(ARCH_FP)) || fp < walk->reg[ARCH_SP] ||
	    walk_read(&walker, fp + 8, &cookie) || cookie != REGION_BARRIER_COOKIE ||
	    walk_read(&walker, fp + 16, &ra) || !region_is_ra(&walker, ra))
		return WALK_REGION_NOTHING;
	region_rule(walk, 24, 0);
	rule->regs = ARCH_FP;
	rule->saved[ARCH_SAVED_RBP] = -3;
	return WALK_REGION_RULE;
}

#define REGION_ADD_8 0x08c48348u /* add rsp, 8 */

/*
 * A stub has called C code, and says nothing of its frame: it has none, but rsp is a multiple of 16
 * at such calls. A stub lowers it by a word if need be, and raises it right behind.
 */
WALK_INLINE int region_called(struct env *env, struct fpl_walk *walk)
{
	if (env_read_code(env, walk->code, 4, walk->pc))
		return WALK_REGION_NOTHING;
	return region_rule(walk, (__u32)walk->code[0] == REGION_ADD_8 ? 16 : 8, 0);
}

/* Read the beginning of a blob's name at @at to walk->blob_name. Those of all methods are at one
 * place. Returns 0, or 1 where nothing can be read. */
WALK_INLINE int region_name(struct env *env, struct fpl_walk *walk, __u64 at)
{
	if (at && at == walk->blob_name_at)
		return 0;
	walk->blob_name_at = 0;
	if (!at || env_read_code(env, &walk->blob_name, 8, at))
		return 1;
	walk->blob_name_at = at;
	return 0;
}

#define REGION_RET 0xc3

/* A method for the code of HotSpot at @pc. WALK_REGION_FOLLOW: it is to be followed to a return. */
WALK_INLINE int region_hotspot(struct env *env, struct fpl_walk *walk,
			       const struct fpl_region *region, __u64 pc)
{
	__u64 blob, name;
	__s64 words;

	if (!walk->exact && walk->pc == region->call_stub_ra)
		return region_call_stub(walk);
	blob = region_blob(env, walk, region, pc);
	if (!blob || region_name(env, walk, region_field(walk, region->name_off, 8)))
		return WALK_REGION_NOTHING;
	name = walk->blob_name;
	if (name == REGION_NMETHOD && region->compile_id_off &&
	    !env_read_code(env, walk->code, 4, blob + region->compile_id_off))
		region_tag(walk, fpl_frame_tag((__u32)walk->code[0]));
	words = (__s64)region_field(walk, region->frame_size_off, 4);
	if (name == REGION_INTERPRETER)
		return region_interpreted(env, walk, region);
	if (name == REGION_STUBS)
		return region_barrier(env, walk);
	if (words > 0)
		return words <= FPL_METHOD_FRAME_MAX
			       ? region_compiled(env, walk, region, blob, 8 * (__u32)words)
			       : WALK_REGION_NOTHING;
	if (words < 0)
		return walk->exact ? WALK_REGION_FOLLOW : region_called(env, walk);
	/* table stubs and adapters have no frame, and call nothing */
	return walk->exact ? region_rule(walk, 8, 0) : WALK_REGION_NOTHING;
}

/* A method for the code at @pc, a lookup_pc in the mapping found last. Returns enum walk_region. */
WALK_INLINE int walk_by_region(struct env *env, struct fpl_walk *walk, __u64 pc)
{
	__u64 ref = walk->last.bias, word;
	const struct fpl_region *region = env_region(env, (__u32)ref & (FPL_REGIONS_MAX - 1));
	int method = WALK_REGION_FOLLOW;

	if (!region || !ref || region->id != ref >> 16 ||
	    pc - region->start >= region->end - region->start || !(walk->known & WALK_BIT(ARCH_SP)))
		return WALK_REGION_NOTHING;
	if (region->kind == FPL_REGION_ROW) {
		walk->rule = region->rule;
		return WALK_REGION_RULE;
	}
	if (region->kind == FPL_REGION_LUAJIT && (word = luajit_kind(env, walk)))
		return walk_by_luajit(env, walk, region, word);
	if (region->kind == FPL_REGION_SLJIT || region->kind == FPL_REGION_FRAME ||
	    region->kind == FPL_REGION_LUAJIT)
		return walk_by_entry(env, walk, region, pc);
	if (region->kind == FPL_REGION_BEAM)
		return walk_by_beam(env, walk, region, pc);
	if (region->kind == FPL_REGION_NMETHOD)
		method = region_hotspot(env, walk, region, pc);
	else if (region->kind != FPL_REGION_FOLLOW)
		return WALK_REGION_NOTHING;
	if (method != WALK_REGION_FOLLOW)
		return method;
	method = walk_by_following(env, walk,
				   region->kind == FPL_REGION_FOLLOW ? region->frame_reg : 0);
	/* a stub that jumps by a register may take its return address off the stack first */
	return region->kind == FPL_REGION_NMETHOD && (walk->follow.code & 0xff) != REGION_RET
		       ? WALK_REGION_NOTHING
		       : method;
}
WALK_ONCE(walk_region, walk_by_region, WALK_REGION_NOTHING)
