/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shadow call stack of a thread that is stepped: for each function whose call was seen, the
 * registers of its caller and the return address. This is the truth that unwind rows are judged by;
 * a frame that something other than calls and returns has changed is doubted, and judges nothing.
 *
 * Pure: registers before and after each instruction in, frames out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "judge/insn.h"

/* By DWARF number. */
enum { X86_RAX = 0, X86_RSP = 7 };

struct registers {
	uint64_t reg[FPL_NR_REGS]; /* by DWARF number */
	uint64_t pc;
};

/* Why a frame is not believed any more. X(name, key, text) */
#define SHADOW_DOUBT_LIST(X)                                                                 \
	X(NONE, certain, "certain")                                                          \
	X(UNWOUND, unwound, "frames above it went without returning: longjmp, an exception") \
	X(SWITCHED, switched, "the stack pointer was taken from elsewhere: another stack")   \
	X(STRAY, stray_return, "a return led to a place without a call")

#define X(name, key, text) DOUBT_##name,
enum shadow_doubt { SHADOW_DOUBT_LIST(X) DOUBT_COUNT };
#undef X

struct shadow_frame {
	uint64_t cfa; /* of a signal's frame: the stack pointer of the interrupted code */
	uint64_t ra;  /* where its caller goes on */
	struct registers caller; /* the caller's, as at the function's first instruction, without
				    rsp and pc */
	bool signal;   /* the kernel's frame between a handler and the code it interrupted */
	uint8_t doubt; /* enum shadow_doubt */
};

/* How frames went. X(name, key, text) */
#define SHADOW_END_LIST(X)                                                              \
	X(RETURNED, returned, "returned")                                               \
	X(UNWOUND, unwound, "went by the stack pointer: longjmp, an exception")         \
	X(REPLACED, replaced, "their return address was replaced before they returned") \
	X(TOO_DEEP, too_deep, "were deeper than the frames kept")                       \
	X(LEFT, left, "existed when the thread was released")

#define X(name, key, text) SHADOW_END_##name,
enum shadow_end { SHADOW_END_LIST(X) SHADOW_END_COUNT };
#undef X

#define SHADOW_DEPTH_MAX 8192u

/* Copy the word at @addr of the thread's memory to *ret; false: it cannot be read. */
typedef bool (*shadow_read_fn)(void *ctx, uint64_t addr, uint64_t *ret);

struct shadow {
	struct shadow_frame *frames; /* owned [nr], the outermost first */
	size_t nr, room;
	uint64_t entered; /* frames, ever: nr + the sum of ended */
	uint64_t ended[SHADOW_END_COUNT];
};

void shadow_fini(struct shadow *shadow);

/* The thread is let go: forget all frames. */
void shadow_clear(struct shadow *shadow);

/* The frame of the running function; NULL: its call was not seen. */
const struct shadow_frame *shadow_top(const struct shadow *shadow);

/* Does a function's frame have this CFA? Cost: O(frames). */
bool shadow_has_cfa(const struct shadow *shadow, uint64_t cfa);

/*
 * Note that the thread is at the first instruction of a called function: @now, with the return
 * address @ra on top of the stack. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int shadow_enter(struct shadow *shadow, const struct registers *now, uint64_t ra);

/*
 * Note that an instruction of @kind was executed. @read reads memory as it is afterwards. Errors:
 * -ENOMEM. Cost: O(1), and O(frames that end).
 */
FPL_MUST_CHECK int shadow_step(struct shadow *shadow, enum insn_kind kind,
			       const struct registers *before, const struct registers *after,
			       shadow_read_fn read, void *ctx);

/*
 * Note a signal: @interrupted is the state before the next instruction of the thread, @now the
 * first instruction of the handler. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int shadow_signal(struct shadow *shadow, const struct registers *interrupted,
				 const struct registers *now, shadow_read_fn read, void *ctx);
