/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back from the system stack, in Go 1.18 to 1.20. Their systemstack, mcall, morestack and
 * asmcgocall have no frame: no register leads back to the stack they left. Their instructions show
 * their own way back, and the offsets of the fields of the run time's structures g and m that they
 * read. Instructions are compared with the forms that Go's assembler writes for
 * runtime/asm_amd64.s; other forms prove nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets in the run time's structures that the way back needs, in bytes. */
struct go_layout {
	uint64_t g_m;	   /* g.m; at most 120, a multiple of 8 */
	uint64_t m_curg;   /* m.curg */
	uint64_t sched_sp; /* g.sched.sp; g.sched.pc lies behind it */
	bool known;
};

/* The place of a frame's caller. */
enum go_way {
	GO_WAY_DEPTH,  /* on this stack, by its depth */
	GO_WAY_NONE,   /* nowhere: it is never returned to (mcall) */
	GO_WAY_CALL,   /* the goroutine of this thread made a call: its sched.sp is at the return
			  address (systemstack) */
	GO_WAY_RESUME, /* that goroutine resumes at its sched.pc and sched.sp (morestack) */
	GO_WAY_RDX,    /* rdx is the stack pointer that was left */
	GO_WAY_HEIGHT, /* its distance from the end of the goroutine's stack is on this stack, below
			  the address of the goroutine's g (asmcgocall) */
	GO_WAY_SLOT,   /* the previous stack pointer is on this stack */
};

/* From offset @from of a function on, up to the next stretch. */
struct go_stretch {
	uint64_t from;
	enum go_way way;
	uint64_t off; /* offset from rsp: of the g (HEIGHT), of the stack pointer (SLOT) */
};

enum { GO_STRETCHES_MAX = 7 };

struct go_ways {
	struct go_stretch list[GO_STRETCHES_MAX]; /* ascending; the first begins at 0 */
	size_t nr;				  /* 0: the code is not one of these functions */
};

/* If the function at @code [size] is systemstack, read the layout from it. */
bool go_way_layout(const uint8_t *code, uint64_t size, struct go_layout *ret);

/* The ways back of the function at @code [size], which has no frame and writes rsp. */
void go_ways_find(const uint8_t *code, uint64_t size, const struct go_layout *layout,
		  struct go_ways *ret);
