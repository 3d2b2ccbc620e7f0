/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	WORD = 8,
	RETURN_SEARCH_MAX = 64, /* limit of frames that one return ends: a few, where code takes
				   return addresses off the stack */
	RT_SIGRETURN = 15,	/* system call */
};

void shadow_fini(struct shadow *shadow)
{
	free(shadow->frames);
	*shadow = (struct shadow){ .nr = 0 };
}

static void end_frames(struct shadow *shadow, size_t nr, enum shadow_end end)
{
	shadow->nr -= nr;
	shadow->ended[end] += nr;
}

void shadow_clear(struct shadow *shadow)
{
	end_frames(shadow, shadow->nr, SHADOW_END_LEFT);
}

const struct shadow_frame *shadow_top(const struct shadow *shadow)
{
	return shadow->nr ? &shadow->frames[shadow->nr - 1] : NULL;
}

bool shadow_has_cfa(const struct shadow *shadow, uint64_t cfa)
{
	for (size_t i = 0; i < shadow->nr; i++)
		if (!shadow->frames[i].signal && shadow->frames[i].cfa == cfa)
			return true;
	return false;
}

static struct shadow_frame *top_of(struct shadow *shadow)
{
	return shadow->nr ? &shadow->frames[shadow->nr - 1] : NULL;
}

/* The first reason stays: later ones follow from it. */
static void doubt_top(struct shadow *shadow, enum shadow_doubt doubt)
{
	struct shadow_frame *top = top_of(shadow);

	if (top && !top->doubt)
		top->doubt = (uint8_t)doubt;
}

static int push(struct shadow *shadow, const struct shadow_frame *frame)
{
	if (shadow->nr == SHADOW_DEPTH_MAX) {
		size_t nr = SHADOW_DEPTH_MAX / 2;

		memmove(shadow->frames, shadow->frames + nr,
			(shadow->nr - nr) * sizeof(*shadow->frames));
		end_frames(shadow, nr, SHADOW_END_TOO_DEEP);
	}

	int code = array_reserve(&shadow->frames, sizeof(*shadow->frames), &shadow->room,
				 shadow->nr + 1);

	if (code)
		return code;
	shadow->frames[shadow->nr++] = *frame;
	shadow->entered++;
	return 0;
}

int shadow_enter(struct shadow *shadow, const struct registers *now, uint64_t ra)
{
	return push(shadow, &(struct shadow_frame){
				    .cfa = now->reg[X86_RSP] + WORD, .ra = ra, .caller = *now });
}

int shadow_signal(struct shadow *shadow, const struct registers *interrupted,
		  const struct registers *now, shadow_read_fn read, void *ctx)
{
	const struct shadow_frame frame = {
		.cfa = interrupted->reg[X86_RSP],
		.ra = interrupted->pc,
		.caller = *interrupted,
		.signal = true,
	};
	uint64_t ra;
	int code = push(shadow, &frame);

	if (code)
		return code;
	if (!read(ctx, now->reg[X86_RSP], &ra)) {
		doubt_top(shadow, DOUBT_STRAY);
		return 0;
	}
	return shadow_enter(shadow, now, ra);
}

/*
 * End frames whose return address the stack pointer has passed. This proves nothing for a signal's
 * frame, whose handler may have had another stack; it ends with the handler.
 */
static size_t end_passed(struct shadow *shadow, uint64_t sp)
{
	size_t nr = 0;

	while (nr < shadow->nr) {
		const struct shadow_frame *frame = &shadow->frames[shadow->nr - 1 - nr];

		if (frame->signal ? !nr || sp < frame->cfa : sp <= frame->cfa - WORD)
			break;
		nr++;
	}
	end_frames(shadow, nr, SHADOW_END_UNWOUND);
	return nr;
}

/* Number of frames from the top that a return at CFA @cfa ends; 0: none. */
static size_t frames_to(const struct shadow *shadow, uint64_t cfa)
{
	for (size_t i = 1; i <= shadow->nr && i <= RETURN_SEARCH_MAX; i++) {
		const struct shadow_frame *frame = &shadow->frames[shadow->nr - i];

		if (!frame->signal && frame->cfa == cfa)
			return i;
	}
	return 0;
}

static void step_return(struct shadow *shadow, const struct registers *before,
			const struct registers *after)
{
	uint64_t sp = after->reg[X86_RSP];
	size_t nr = frames_to(shadow, before->reg[X86_RSP] + WORD);

	if (nr && shadow->frames[shadow->nr - nr].ra == after->pc) {
		end_frames(shadow, nr - 1, SHADOW_END_REPLACED);
		end_frames(shadow, 1, SHADOW_END_RETURNED);
		return;
	}
	/* Its return address was replaced: it jumps, in the frame of its caller (retpolines). */
	if (nr == 1)
		end_frames(shadow, 1, SHADOW_END_REPLACED);
	end_passed(shadow, sp);

	const struct shadow_frame *top = shadow_top(shadow);

	/* A function begins by a tail jump if the next return address is on top of the stack. */
	if (!top || top->signal || sp != top->cfa - WORD)
		doubt_top(shadow, DOUBT_STRAY);
}

/* Returns true if @before was the end of a signal's frame. */
static bool step_sigreturn(struct shadow *shadow, const struct registers *before,
			   const struct registers *after)
{
	const struct shadow_frame *top = shadow_top(shadow);

	if (!top || !top->signal || before->reg[X86_RAX] != RT_SIGRETURN)
		return false;

	bool goes_on = after->pc == top->ra && after->reg[X86_RSP] == top->cfa;

	end_frames(shadow, 1, goes_on ? SHADOW_END_RETURNED : SHADOW_END_REPLACED);
	if (!goes_on) /* the handler has chosen another place */
		doubt_top(shadow, DOUBT_UNWOUND);
	return true;
}

int shadow_step(struct shadow *shadow, enum insn_kind kind, const struct registers *before,
		const struct registers *after, shadow_read_fn read, void *ctx)
{
	uint64_t sp = after->reg[X86_RSP], grown = before->reg[X86_RSP] - sp, ra;

	if (kind == INSN_CALL && grown == WORD && read(ctx, sp, &ra) &&
	    ra - before->pc - 1 < INSN_SIZE_MAX) {
		/* a call of the next instruction only reads the pc */
		return ra == after->pc ? 0 : shadow_enter(shadow, after, ra);
	}
	if (kind == INSN_RETURN) {
		step_return(shadow, before, after);
		return 0;
	}
	if (kind == INSN_SYSCALL && step_sigreturn(shadow, before, after))
		return 0;
	if (end_passed(shadow, sp))
		doubt_top(shadow, DOUBT_UNWOUND);
	else if ((int64_t)grown > WORD && kind != INSN_MOVES_STACK)
		doubt_top(shadow, DOUBT_SWITCHED);
	return 0;
}
