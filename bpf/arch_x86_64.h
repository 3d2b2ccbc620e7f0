/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86-64: everything the walker and the programs know about the architecture. Register numbers are
 * DWARF's (x86-64 psABI 1.0, figure 3.36).
 */
#pragma once

#include "bpf/shared.h"

enum arch_reg {
	ARCH_RCX = 2,
	ARCH_RBX = 3,
	ARCH_FP = 6,
	ARCH_SP = 7,
	ARCH_R11 = 11,
	ARCH_R12 = 12,
	ARCH_R13 = 13,
	ARCH_R14 = 14,
	ARCH_R15 = 15,
	ARCH_RA = 16,	 /* the return address column */
	ARCH_RESULT = 0, /* rax: what a system call returns */
};

#define ARCH_ALL_REGS 0xffffu

/*
 * The register of each fpl_rule.saved[], and the mask of these registers, which a call preserves.
 */
#define ARCH_SAVED_REG(i)      \
	((i) == 0   ? ARCH_RBX \
	 : (i) == 1 ? ARCH_FP  \
	 : (i) == 2 ? ARCH_R12 \
	 : (i) == 3 ? ARCH_R13 \
	 : (i) == 4 ? ARCH_R14 \
		    : ARCH_R15)
/* The same index, by register. */
enum {
	ARCH_SAVED_RBX,
	ARCH_SAVED_RBP,
	ARCH_SAVED_R12,
	ARCH_SAVED_R13,
	ARCH_SAVED_R14,
	ARCH_SAVED_R15,
};
#define ARCH_CALLEE_SAVED                                                                    \
	(1u << ARCH_RBX | 1u << ARCH_FP | 1u << ARCH_R12 | 1u << ARCH_R13 | 1u << ARCH_R14 | \
	 1u << ARCH_R15)

/* A function may keep data below its stack pointer (psABI 3.2.2); gcc's epilogues leave rules that
 * point there. */
#define ARCH_RED_ZONE 128u

/* The call pushed it. */
#define ARCH_RA_OFF   (-8)
#define ARCH_RA_BYTES 8u

/* The frame pointer points to the caller's frame pointer; the return address follows it. */
#define ARCH_FP_RA_OFF	8
#define ARCH_FP_CFA_OFF 16

/* No user code at or above (5-level page tables), nor on the first page. */
#define ARCH_USER_END	(1ull << 56)
#define ARCH_USER_START 4096u

/*
 * The CFA of a lazily bound PLT entry: 16 bytes, and from byte @literal on (11, or 9 or 10 under
 * IBT) a second word is on the stack.
 */
static inline __attribute__((__always_inline__)) __u64 arch_plt_extra(__u64 pc, __u32 literal)
{
	return (pc & 15) >= literal ? 8 : 0;
}

/* Do these 16 bytes, little-endian, begin the code "mov $15,%rax; syscall"? Signal handlers return
 * to that code: it is __restore_rt in all C libraries and in run times without one. */
static inline __attribute__((__always_inline__)) int arch_is_restorer(__u64 first, __u64 second)
{
	return first == 0x0f0000000fc0c748ull && (second & 0xff) == 0x05;
}

/*
 * May the 8 bytes of code before a return address end in a call? @code holds them little-endian:
 * its high byte is the one just before. The forms are E8 rel32, and FF /2 with every addressing
 * mode (Intel SDM volume 2, CALL), whose length is 2, 3, 4, 6 or 7 bytes.
 */
static inline __attribute__((__always_inline__)) int arch_is_call(__u64 code)
{
	/* opcode, ModRM and SIB of an FF form of n bytes */
#define OPCODE(n) ((code >> (64 - 8 * (n))) & 0xff)
#define MODRM(n)  ((code >> (72 - 8 * (n))) & 0xff)
#define SIB(n)	  ((code >> (80 - 8 * (n))) & 0xff)
	if (OPCODE(5) == 0xe8)
		return 1;
	/* mod 11: a register; mod 00: memory at a register, unless rm says SIB or rip */
	if (OPCODE(2) == 0xff &&
	    ((MODRM(2) & 0xf8) == 0xd0 ||
	     ((MODRM(2) & 0xf8) == 0x10 && (MODRM(2) & 7) != 4 && (MODRM(2) & 7) != 5)))
		return 1;
	/* mod 00 with SIB and a base; mod 01: 8-bit displacement */
	if (OPCODE(3) == 0xff && ((MODRM(3) == 0x14 && (SIB(3) & 7) != 5) ||
				  ((MODRM(3) & 0xf8) == 0x50 && MODRM(3) != 0x54)))
		return 1;
	if (OPCODE(4) == 0xff && MODRM(4) == 0x54)
		return 1;
	/* rip-relative; mod 10: 32-bit displacement */
	if (OPCODE(6) == 0xff &&
	    (MODRM(6) == 0x15 || ((MODRM(6) & 0xf8) == 0x90 && MODRM(6) != 0x94)))
		return 1;
	/* mod 10 with SIB; mod 00 with SIB and no base */
	return OPCODE(7) == 0xff && (MODRM(7) == 0x94 || (MODRM(7) == 0x14 && (SIB(7) & 7) == 5));
#undef OPCODE
#undef MODRM
#undef SIB
}

/*
 * The trampoline of return probes: these bytes since Linux v6.11 (commit ff474a78cef5, "uprobe: Add
 * uretprobe syscall to speed up return probe"), a breakpoint before that and elsewhere.
 *
 * 	 0: push %rax; push %rcx; push %r11		50 51 41 53
 * 	 4: mov $335, %rax; syscall			48 c7 c0 4f 01 00 00 0f 05
 * 	13: pop %r11; pop %rcx; ret			41 5b 59 c3
 */
#define ARCH_TRAMPOLINE_BYTES	24u
#define ARCH_TRAMPOLINE_SYSCALL 13u /* where the system call returns to */
#define ARCH_TRAMPOLINE_PUSHES	3u
#define ARCH_BREAKPOINT		0xccu /* int3 */

/*
 * Number of words that the trampoline with its code at @code has pushed when its byte @off is next;
 * -1: unknown. During the system call the kernel hides them from readers of the registers; rcx is
 * not the pc then, as SYSCALL would leave it.
 */
static inline __attribute__((__always_inline__)) int arch_trampoline_pushed(const __u64 *code,
									    __u64 off)
{
	if (!off)
		return 0; /* no instruction has run, so no byte matters */
	if ((code[0] & 0xff) == ARCH_BREAKPOINT)
		return off == 1 ? 0 : -1;
	if (code[0] != 0x4fc0c74853415150ull || code[1] != 0x595b41050f000001ull ||
	    (code[2] & 0xff) != 0xc3)
		return -1;
	switch (off) {
	case 1:
	case 16:
		return 1;
	case 2:
	case 15:
		return 2;
	case 4:
	case 11:
	case ARCH_TRAMPOLINE_SYSCALL:
		return 3;
	default:
		return -1;
	}
}

/* The words of struct pt_regs, an ABI of ptrace(2). */
enum arch_pt_word {
	ARCH_PT_R15,
	ARCH_PT_R14,
	ARCH_PT_R13,
	ARCH_PT_R12,
	ARCH_PT_RBP,
	ARCH_PT_RBX,
	ARCH_PT_R11,
	ARCH_PT_R10,
	ARCH_PT_R9,
	ARCH_PT_R8,
	ARCH_PT_RAX,
	ARCH_PT_RCX,
	ARCH_PT_RDX,
	ARCH_PT_RSI,
	ARCH_PT_RDI,
	ARCH_PT_ORIG_RAX, /* behind the general registers, but for rsp */
	ARCH_PT_GENERAL = ARCH_PT_ORIG_RAX,
	ARCH_PT_RIP = ARCH_PT_ORIG_RAX + 1,
	ARCH_PT_CS,
	ARCH_PT_EFLAGS,
	ARCH_PT_RSP,
	ARCH_PT_SS,
	ARCH_PT_WORDS
};

#define ARCH_CS_COMPAT32 0x23u	     /* __USER32_CS */
#define ARCH_X32_CALL	 0x40000000u /* in the numbers of x32's system calls */

static inline __attribute__((__always_inline__)) int arch_is_compat32(__u64 cs)
{
	return (cs & 0xffff) == ARCH_CS_COMPAT32;
}

/* Is this the number of an execve or execveat, in the system calls of the code that @cs selects? */
static inline __attribute__((__always_inline__)) int arch_is_exec(__u64 orig_rax, __u64 cs)
{
	if (arch_is_compat32(cs))
		return orig_rax == 11 || orig_rax == 358;
	return orig_rax == 59 || orig_rax == 322 || orig_rax == (520 | ARCH_X32_CALL) ||
	       orig_rax == (545 | ARCH_X32_CALL);
}

/* The words of pt_regs that arch_futex_addr() and arch_call() take: from rcx to cs. */
#define ARCH_PT_CALL	   ARCH_PT_RCX
#define ARCH_PT_CALL_WORDS (ARCH_PT_CS + 1 - ARCH_PT_CALL)

/*
 * The address of the futex that a system call waits at, or FPL_LOCK_SEVERAL; 0: it is no such call.
 * @word: the words of pt_regs from rcx on, @rbx: that one. The kernel leaves all of them alone but
 * rax while the call goes on. An operation has its flags in the bits from 128 on.
 */
static inline __attribute__((__always_inline__)) __u64 arch_futex_addr(const __u64 *word, __u64 rbx)
{
	/* FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2: include/uapi/linux/futex.h
	 */
	const __u32 waits = 1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13;
	__u64 call = word[ARCH_PT_ORIG_RAX - ARCH_PT_CALL];
	__u64 addr = word[ARCH_PT_RDI - ARCH_PT_CALL];
	__u32 op = (__u32)word[ARCH_PT_RSI - ARCH_PT_CALL] & 127;

	if (call == 449) /* futex_waitv */
		return FPL_LOCK_SEVERAL;
	if (arch_is_compat32(word[ARCH_PT_CS - ARCH_PT_CALL])) {
		op = (__u32)word[ARCH_PT_RCX - ARCH_PT_CALL] & 127;
		addr = rbx;
		/* futex, futex_time64; 202 is another one there */
		call = call == 240 || call == 422 ? 202 : call == 202 ? 0 : call;
	}
	if (call == 455) /* futex_wait */
		return addr;
	return (call & ~(__u64)ARCH_X32_CALL) == 202 && op < 16 && (waits >> op & 1) ? addr : 0;
}

#define ARCH_CALL_COMPAT32 (1ull << 32)
#define ARCH_NO_CALL	   (~0ull)

/* The number of the system call, with ARCH_CALL_COMPAT32 where 32-bit code has made it;
 * ARCH_NO_CALL: the kernel was entered for another reason. @word: as above. */
static inline __attribute__((__always_inline__)) __u64 arch_call(const __u64 *word)
{
	__u64 call = word[ARCH_PT_ORIG_RAX - ARCH_PT_CALL];
	int is_compat = arch_is_compat32(word[ARCH_PT_CS - ARCH_PT_CALL]);

	if ((__s64)call < 0 || call > 0xffffffffu)
		return ARCH_NO_CALL;
	return is_compat ? call | ARCH_CALL_COMPAT32 : call;
}

/* Does @cs select kernel code? */
static inline __attribute__((__always_inline__)) int arch_is_kernel(__u64 cs)
{
	return (cs & 3) == 0;
}

/*
 * User registers by DWARF number, from the words of pt_regs. Returns the mask of known registers.
 * SYSCALL overwrites rcx with the return pc and r11 with the flags: these very values show that it
 * was SYSCALL, even when ptrace has changed orig_rax.
 */
static inline __attribute__((__always_inline__)) __u32 arch_user_regs(__u64 *reg, const __u64 *pt)
{
	reg[0] = pt[ARCH_PT_RAX];
	reg[1] = pt[ARCH_PT_RDX];
	reg[2] = pt[ARCH_PT_RCX];
	reg[3] = pt[ARCH_PT_RBX];
	reg[4] = pt[ARCH_PT_RSI];
	reg[5] = pt[ARCH_PT_RDI];
	reg[6] = pt[ARCH_PT_RBP];
	reg[7] = pt[ARCH_PT_RSP];
	reg[8] = pt[ARCH_PT_R8];
	reg[9] = pt[ARCH_PT_R9];
	reg[10] = pt[ARCH_PT_R10];
	reg[11] = pt[ARCH_PT_R11];
	reg[12] = pt[ARCH_PT_R12];
	reg[13] = pt[ARCH_PT_R13];
	reg[14] = pt[ARCH_PT_R14];
	reg[15] = pt[ARCH_PT_R15];
	if (pt[ARCH_PT_RCX] == pt[ARCH_PT_RIP] || (__s64)pt[ARCH_PT_ORIG_RAX] >= 0)
		return ARCH_ALL_REGS & ~(1u << ARCH_RCX | 1u << ARCH_R11);
	return ARCH_ALL_REGS;
}

/*
 * Did the sample interrupt the code that stores the user registers at @pt? It runs with its stack
 * pointer inside them (the same guess as the kernel's perf_get_regs_user makes in NMI).
 */
static inline __attribute__((__always_inline__)) int arch_regs_half_stored(__u64 kernel_sp,
									   __u64 pt)
{
	return kernel_sp > pt + 8 * ARCH_PT_R11 && kernel_sp <= pt + 8 * ARCH_PT_WORDS;
}
