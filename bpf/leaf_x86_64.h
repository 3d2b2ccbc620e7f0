/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86-64: find the return address where a function with a frame pointer has not set rbp yet, or has
 * restored it already. The code around the pc tells, and for an exact pc: a function that waits for
 * a call to return has its whole frame. One that is made at run time may have a frame without rbp.
 *
 * Everything here is a pure function of a few bytes. The walker checks the answer against the
 * stack: the word must be a return address, and a pushed rbp must be found there.
 */
#pragma once

#include <linux/types.h>

#define LEAF_INLINE static inline __attribute__((__always_inline__))

/* Code around a pc, little-endian; unreadable bytes are 0, which no form contains where it matters.
 */
struct leaf_code {
	__u64 before; /* the high byte is the one just before the pc */
	__u64 at;     /* the low byte is the one at the pc */
	__u64 then;   /* the 8 bytes behind those */
};

/* The caller's place relative to the stack pointer. rbp is the caller's. */
struct leaf_place {
	__u32 ra_off;	/* offset of the return address above rsp, bytes; a multiple of 8 */
	__u32 fp_saved; /* the word below the return address must equal rbp, which was pushed and
			   not changed yet */
};

/* Limit: a larger frame is allocated page by page (probed), not in one step. */
#define LEAF_RA_OFF_MAX 65536u

/* The 8 bytes that begin @nr (1 to 7) bytes behind the pc. */
LEAF_INLINE __u64 leaf_ahead(const struct leaf_code *code, __u32 nr)
{
	return code->at >> 8 * nr | code->then << (64 - 8 * nr);
}

/* mov rbp, rsp in either encoding. */
LEAF_INLINE int leaf_sets_fp(__u64 bytes)
{
	return (bytes & 0xffffff) == 0xe58948 || (bytes & 0xffffff) == 0xec8b48;
}

/* Does a mov rbp, rsp begin 1 to 8 bytes behind the pc? Compilers put an instruction or two between
 * it and the push. */
LEAF_INLINE int leaf_will_set_fp(const struct leaf_code *code)
{
	int found = leaf_sets_fp(code->then);

#pragma GCC unroll 8
	for (__u32 nr = 1; nr < 8; nr++)
		found |= leaf_sets_fp(leaf_ahead(code, nr));
	return found;
}

/* At push rbp, or the endbr64 before it. */
LEAF_INLINE int leaf_is_before_push(const struct leaf_code *code)
{
	struct leaf_code behind = *code;

	if ((code->at & 0xffffffff) == 0xfa1e0ff3) { /* endbr64 */
		behind.at = leaf_ahead(code, 4);
		behind.then = code->then >> 32;
	}
	return (behind.at & 0xff) == 0x55 && leaf_will_set_fp(&behind);
}

/* Between push rbp and mov rbp, rsp. */
LEAF_INLINE int leaf_is_behind_push(const struct leaf_code *code)
{
	int pushed = 0;

#pragma GCC unroll 8
	for (__u32 nr = 0; nr < 8; nr++)
		pushed |= (code->before >> 8 * nr & 0xff) == 0x55;
	return pushed && (leaf_sets_fp(code->at) || leaf_will_set_fp(code));
}

/* ret, ret n, rep ret, bnd ret, vzeroupper and ret; or behind mov rsp, rbp and pop rbp. */
LEAF_INLINE int leaf_is_at_ret(const struct leaf_code *code)
{
	__u64 at = code->at, before = code->before >> 32;

	return (at & 0xff) == 0xc3 || (at & 0xff) == 0xc2 || (at & 0xffff) == 0xc3f3 ||
	       (at & 0xffff) == 0xc3f2 || (at & 0xffffffff) == 0xc377f8c5 || before == 0x5dec8948 ||
	       before == 0x5de58b48;
}

/*
 * Go's check for room on the stack: cmp rsp, [r14 + 16], for large frames lea r12, [rsp - n] and
 * cmp r12, [r14 + 16]; then jbe.
 */
LEAF_INLINE int leaf_is_go_check(const struct leaf_code *code)
{
	__u64 at = code->at & 0xffffffff, before = code->before >> 32;

	if (at == 0x10663b49 || at == 0x10663b4d)
		return 1;
	if (at == 0x24648d4c)
		return (leaf_ahead(code, 5) & 0xffffffff) == 0x10663b4d;
	if (at == 0x24a48d4c)
		return (code->then & 0xffffffff) == 0x10663b4d;
	return (before == 0x10663b49 || before == 0x10663b4d) &&
	       ((at & 0xff) == 0x76 || (at & 0xffff) == 0x860f);
}

/*
 * Go before 1.21 makes a frame by sub rsp, n; mov [rsp + n - 8], rbp; lea rbp, [rsp + n - 8]. Is
 * the pc at one of the three? @ret: the place of the return address.
 */
LEAF_INLINE int leaf_is_go_frame(const struct leaf_code *code, struct leaf_place *ret)
{
	__u64 at = code->at, before = code->before;
	__u32 fp_off8 = at >> 32 & 0xff, fp_off32 = (__u32)leaf_ahead(code, 4);

	/* at sub: the mov must store 8 below what the sub makes room for */
	if ((at & 0xffffff) == 0xec8348 && (leaf_ahead(code, 4) & 0xffffffff) == 0x246c8948)
		return (at >> 24 & 0xff) == (code->then & 0xff) + 8;
	if ((at & 0xffffff) == 0xec8148 && (leaf_ahead(code, 7) & 0xffffffff) == 0x24ac8948)
		return (__u32)(at >> 24) == (__u32)(code->then >> 24) + 8;
	/* at mov */
	if ((at & 0xffffffff) == 0x246c8948 && (before >> 32 & 0xffffff) == 0xec8348) {
		ret->ra_off = fp_off8 + 8;
		return ret->ra_off < 128 && before >> 56 == ret->ra_off;
	}
	if ((at & 0xffffffff) == 0x24ac8948 && (before >> 8 & 0xffffff) == 0xec8148) {
		ret->ra_off = fp_off32 + 8;
		return before >> 32 == (__u64)fp_off32 + 8;
	}
	/* at lea */
	ret->fp_saved = 1;
	if ((at & 0xffffffff) == 0x246c8d48 && (before >> 24 & 0xffffffff) == 0x246c8948) {
		ret->ra_off = fp_off8 + 8;
		return fp_off8 < 128 && before >> 56 == fp_off8;
	}
	if ((at & 0xffffffff) == 0x24ac8d48 && (before & 0xffffffff) == 0x24ac8948) {
		ret->ra_off = fp_off32 + 8;
		return before >> 32 == fp_off32;
	}
	ret->fp_saved = 0;
	return 0;
}

/* add rsp, n and ret: rbp was not the function's frame pointer, or is restored. */
LEAF_INLINE int leaf_is_at_add(const struct leaf_code *code, struct leaf_place *ret)
{
	__u64 at = code->at;

	if ((at & 0xffffff) == 0xc48348 && (at >> 32 & 0xff) == 0xc3) {
		ret->ra_off = at >> 24 & 0xff;
		return ret->ra_off < 128;
	}
	if ((at & 0xffffff) == 0xc48148 && (at >> 56) == 0xc3) {
		ret->ra_off = (__u32)(at >> 24);
		return 1;
	}
	return 0;
}

/*
 * Does the code at a return address leave its function at once, by add rsp, n and ret? CPython's
 * trampolines (-X perf) do, which leave rbp alone. *ret: the place of the function's own return
 * address.
 */
LEAF_INLINE int leaf_will_return(const struct leaf_code *code, struct leaf_place *ret)
{
	ret->ra_off = 0;
	ret->fp_saved = 0;
	return leaf_is_at_add(code, ret) && !(ret->ra_off & 7) && ret->ra_off < LEAF_RA_OFF_MAX;
}

/* Does the code show a return address elsewhere than behind rbp? *ret: its place. */
LEAF_INLINE int leaf_find(const struct leaf_code *code, struct leaf_place *ret)
{
	ret->ra_off = 0;
	ret->fp_saved = 0;
	if (leaf_is_at_ret(code) || leaf_is_before_push(code) || leaf_is_go_check(code))
		return 1;
	if (leaf_is_behind_push(code)) {
		ret->ra_off = 8;
		ret->fp_saved = 1;
		return 1;
	}
	if ((leaf_is_go_frame(code, ret) || leaf_is_at_add(code, ret)) && !(ret->ra_off & 7) &&
	    ret->ra_off < LEAF_RA_OFF_MAX)
		return 1;
	ret->ra_off = 0;
	ret->fp_saved = 0;
	return 0;
}

/*
 * A function without any frame: [rsp] is the return address. The word must follow a direct call,
 * with its code in @call, to @target, at most LEAF_REACH bytes before the pc; and the stack pointer
 * must not have moved since: otherwise the word may be left over from a call that has returned.
 */
#define LEAF_REACH 256u

/* The target of the direct call that ends at @ra, with @code the 8 bytes before it; 0: none. */
LEAF_INLINE __u64 leaf_call_target(__u64 ra, __u64 code)
{
	return (code >> 24 & 0xff) == 0xe8 ? ra + (__u64)(__s64)(__s32)(code >> 32) : 0;
}

/*
 * May the three bytes, the first in the low byte, be an instruction that moves the stack pointer
 * without writing to the stack? These are add, and, sub and the like with a number, lea, and mov
 * from any register. Pushes write, and seldom write a return address.
 */
LEAF_INLINE int leaf_moves_sp(__u32 bytes)
{
	__u32 rex = bytes & 0xff, opcode = bytes >> 8 & 0xff, modrm = bytes >> 16 & 0xff;

	if ((rex & 0xf8) != 0x48)
		return 0;
	return ((opcode == 0x81 || opcode == 0x83) && (modrm & 0xc7) == 0xc4) ||
	       (opcode == 0x8d && (modrm & 0x38) == 0x20) ||
	       (opcode == 0x89 && (modrm & 0xc7) == 0xc4) ||
	       (opcode == 0x8b && (modrm & 0xf8) == 0xe0);
}

/*
 * Behind the system call that makes a thread or a process on a stack of its own, at test rax, rax;
 * jl error; je child; ret; child: xor ebp, ebp (clone and clone3 of glibc, which end their CFI
 * before it on purpose)? The child has 0 in rax, so it goes where rbp is set to 0, the mark of the
 * outermost frame (psABI 3.4.1). In the parent rax is never 0 here.
 */
LEAF_INLINE int leaf_is_birth(const struct leaf_code *code)
{
	const __u64 five = 0xffffffffffull, called = 0xc08548050full, /* syscall; test rax, rax */
		forked = 0xed31c30174ull;			      /* je +1; ret; xor ebp, ebp */
	__u64 at = code->at, before = code->before;

	if (before >> 48 == (called & 0xffff)) /* at test */
		return (at & 0xffffffff) == (0x7c000000 | called >> 16) &&
		       (leaf_ahead(code, 5) & five) == forked;
	if (before >> 24 == called) /* at jl */
		return (at & 0xff) == 0x7c && (leaf_ahead(code, 2) & five) == forked;
	/* at je */
	return (before >> 8 & five) == called && (before >> 48 & 0xff) == 0x7c &&
	       (at & five) == forked;
}
