/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of every frame of a profile, asked of the symbolizer once per distinct frame.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/functions.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "recording/recording.h"
#include "symbolize/symbolizer.h"

struct names_options {
	/* For readers: code without a symbol is [file+0xstart of its function], not its address. */
	bool by_function;
};

#define NAMES_NO_START UINT64_MAX

struct frame_name {
	uint32_t object; /* id of a user frame's object; 0: none, or a kernel frame */
	/* As the file says it, not escaped; NULL: none. Owned by the symbolizer or the profile. */
	const char *symbol;
	uint64_t offset; /* of the frame's address as printed in it, bytes */
	/* Without a symbol: what a text says of it, the address or, by_function, its function's. */
	uint64_t place;
	/* Where its function begins, in the frame's kind of address; NAMES_NO_START: not known.
	 * Without a symbol only by_function. */
	uint64_t start;
	const char *module; /* of a kernel frame; NULL: the kernel itself. Owned by symbolizer */
};

struct names {
	const struct profile *profile; /* borrowed */
	struct symbolizer *symbolizer; /* borrowed */
	struct names_options options;
	struct strings strings;
	struct functions functions; /* with by_function */
	struct names_slot *slots;   /* owned [nr_slots], hash table by frame */
	size_t nr_slots, nr;	    /* nr_slots: power of two */
};

/* Errors: -ENOMEM; names_fini is safe then. */
FPL_MUST_CHECK int names_init(struct names *names, const struct profile *profile,
			      struct symbolizer *symbolizer, const struct names_options *options);
void names_fini(struct names *names);

/*
 * The profile has other stacks, and maybe more objects: what was named stays so. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int names_go_on(struct names *names);

/* The name of a task, escaped for a folded line. @comm: [FPL_COMM_SIZE]. Errors: -ENOMEM. */
FPL_MUST_CHECK int names_comm(struct names *names, const char *comm, uint32_t *ret);

/*
 * Name a user frame (bits of bpf/shared.h) of @stack: what a raw frame is depends on the program
 * image, and on the time. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int names_user(struct names *names, const struct profile_stack *stack,
			      uint64_t frame, struct frame_name *ret);

/*
 * The text of @name, escaped for a folded line: an id in names->strings. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int names_text(struct names *names, const struct frame_name *name, uint32_t *ret);

/* Name kernel frame @idx, leaf first, at @addr. Errors: -ENOMEM. */
FPL_MUST_CHECK int names_kernel(struct names *names, uint64_t addr, size_t idx,
				struct frame_name *ret);

static inline enum fpl_origin frame_origin(uint64_t frame)
{
	return (enum fpl_origin)(frame >> FPL_FRAME_ORIGIN_SHIFT);
}

static inline bool frame_is_exact(uint64_t frame)
{
	return frame & FPL_FRAME_EXACT;
}

static inline bool frame_is_raw(uint64_t frame)
{
	return frame & FPL_FRAME_RAW;
}

/* Does it stand for frames that were left out? It is raw, too. */
static inline bool frame_is_gap(uint64_t frame)
{
	return frame == FPL_FRAME_GAP;
}

/* Object id of a frame that is not raw. */
static inline uint32_t frame_object(uint64_t frame)
{
	return (uint32_t)(frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX;
}

/* Runtime address of a raw frame, vaddr of any other. */
static inline uint64_t frame_addr(uint64_t frame)
{
	return frame & (frame_is_raw(frame) ? FPL_FRAME_ADDR_MASK : FPL_FRAME_VADDR_MASK);
}
