/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of every frame of a profile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared_script.h"
#include "naming/namer.h"
#include "base/strings.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "recording/recording.h"
#include "symbolize/code_table.h"

struct names_options {
	/* For readers: code without a symbol is [file+0xstart of its function], not its address. */
	bool by_function;
};

#define NAMES_NO_START SYMBOL_NO_START

struct frame_name {
	uint32_t object; /* id of a user frame's object; 0: none, or a kernel frame */
	/* As the file says it, not escaped; NULL: none. Owned by the namer or the profile. */
	const char *symbol;
	/* Without a symbol: what a text says of it, the address or, by_function, its function's. */
	uint64_t place;
	/* Start of its function, in the frame's kind of address; NAMES_NO_START: not known.
	 * Without a symbol only by_function. */
	uint64_t start;
	struct code_lines code; /* of code made at run time: what is inlined there */
	const char *module;	/* of a kernel frame; NULL: the kernel itself. Owned by the namer */
};

struct names {
	const struct profile *profile; /* borrowed */
	struct namer *namer;	       /* borrowed */
	struct names_options options;
	struct strings strings;
};

/* @namer: has the profile's objects (namer_add_profile()). Cost: O(frames of all stacks). */
void names_init(struct names *names, const struct profile *profile, struct namer *namer,
		const struct names_options *options);
void names_fini(struct names *names);

/* The profile has other stacks: say what will be asked, so that each file is read once. */
void names_expect(const struct names *names);

/* The name of a task, escaped for a folded line. @comm: [FPL_COMM_SIZE]. Errors: -ENOMEM. */
FPL_MUST_CHECK int names_comm(struct names *names, const char *comm, uint32_t *ret);

/*
 * Name a user frame (bits of bpf/shared.h) of @stack: what a raw frame is depends on the program
 * image, and on the time.
 */
void names_user(const struct names *names, const struct profile_stack *stack, uint64_t frame,
		struct frame_name *ret);

/*
 * The text of @name, escaped for a folded line: an id in names->strings. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int names_text(struct names *names, const struct frame_name *name, uint32_t *ret);

/*
 * The functions at user frame @frame, whose name is @name, as namer_lines() has them.
 */
size_t names_lines(const struct names *names, uint64_t frame, const struct frame_name *name,
		   struct symbol_line ret[SYMBOL_LINES_MAX]);

/*
 * How many of the kernel frames of @stack, leaf first, say nothing of the sample: the program that
 * took it, the functions of the tracepoint that called it, and those of the scheduler below them,
 * which all threads that wait have, and which the kernel leaves out where a thread still sleeps.
 */
size_t names_nr_own(const struct names *names, const struct profile_stack *stack);

/* Name kernel frame @idx, leaf first, at @addr. */
void names_kernel(const struct names *names, uint64_t addr, size_t idx, struct frame_name *ret);

/* A step by frame pointers is told as such, wherever it led: it may be wrong. */
static inline enum fpl_origin frame_origin(uint64_t frame)
{
	enum fpl_origin origin = (enum fpl_origin)(frame >> FPL_FRAME_ORIGIN_SHIFT);

	if (fpl_frame_is_script(frame))
		return FPL_ORIGIN_SCRIPT;
	return fpl_frame_is_jit(frame) && origin != FPL_ORIGIN_FP ? FPL_ORIGIN_JIT : origin;
}
