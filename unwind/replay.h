/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walker of bpf/walk.h over copied memory: registers and a piece of stack from a snapshot,
 * mappings, objects and tables as the BPF maps hold them. Reentrant: all state is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared.h"
#include "bpf/shared_script.h"
#include "bpf/walk_state.h"

/* All pointers are borrowed for the time of the call; the contents may be hostile. */
struct replay_input {
	const struct fpl_mapping *mappings; /* [nr_mappings], by address, not overlapping */
	size_t nr_mappings;		    /* at most 65,536 are looked at */
	const struct fpl_object *objects;   /* [nr_objects], by slot; slot 0 is no object */
	size_t nr_objects;
	/* [FPL_REGIONS_MAX], or NULL: code made at run time has no methods. Data about it is read
	 * by read_code. */
	const struct fpl_region *regions;
	const uint8_t *const *chunks; /* [nr_chunks], FPL_CHUNK_SIZE bytes each, or NULL */
	size_t nr_chunks;

	const __u64 *frames; /* [nr_frames]: walked already; the result begins with them */
	size_t nr_frames;
	uint32_t elided; /* as in their fpl_sample: frames that FPL_FRAME_GAP among them stands for
			  */
	const struct fpl_regs *regs; /* of the frame to go on from */
	/*
	 * The memory at regs->stack_addr, regs->stack_size bytes, with its hole, in two parts: the
	 * bytes around [shared_off, shared_off + shared_size), and those bytes, at another place.
	 */
	struct fpl_hole hole;
	const struct fpl_island *islands; /* [hole.nr_islands] */
	const uint8_t *stack;
	const uint8_t *shared; /* [shared_size] */
	uint32_t shared_off, shared_size;

	/* Copies the @size bytes of memory at @addr; returns 0 if it got them all. Asked where
	 * neither @stack nor an island has them; NULL: these are all there is. */
	int (*read_memory)(void *arg, uint64_t addr, void *dst, size_t size);
	/*
	 * Copies the @size bytes of code at @addr; returns 0 if it got them all. NULL: no code can
	 * be read, and frame-pointer steps are checked by the frames they lead to.
	 */
	int (*read_code)(void *arg, uint64_t addr, void *dst, size_t size);
	void *arg; /* for read_memory and read_code */
	/* Rules of interpreters, [FPL_SCRIPT_RULES_MAX]; an unused one has no object. NULL: script
	 * frames are not walked. Rules that are not settled get votes. */
	struct fpl_script_rule *script_rules;

	uint32_t max_depth;  /* frames wanted; cut to FPL_DEPTH_MAX */
	uint32_t root_depth; /* number of outermost frames among them; 0, or not less than
				max_depth: walks end after max_depth. The same as for the walk that
				made @frames */
	uint8_t unwind;	     /* enum fpl_unwind: AUTO or CFI */
	uint8_t origin; /* origin of frames found by a row: FPL_ORIGIN_CFI_USER, or CFI in tests */
};

struct replay_result {
	/* [nr_frames], leaf first, as bpf/shared.h describes; FPL_FRAME_GAP stands for elided ones
	 */
	__u64 frames[FPL_USER_FRAMES_MAX];
	uint32_t nr_frames;
	uint32_t elided;
	uint8_t stop;  /* enum fpl_stop */
	uint8_t flags; /* FPL_SAMPLE_RAW where a frame is raw */
	uint8_t open;  /* enum walk_open (bpf/walk_state.h): where the stop is NO_CFI */
	uint16_t nr_script;
	__u64 script[FPL_SCRIPT_WORDS_MAX]; /* [nr_script]: as bpf/shared_script.h describes */
};

/*
 * Walk @input. Always succeeds: the stop says why a walk ended. Cost: as in the kernel, per frame.
 */
void replay_walk(const struct replay_input *input, struct replay_result *ret);

/*
 * Copy what the name of a script function is made of, as the kernel side does where it meets one:
 * that of @code and @place, words of a script frame that rule @rule of @input has led to. All of
 * @ret is written but what the process is. Returns the bytes of it that are used; 0: there is no
 * such rule.
 */
size_t replay_script_code(const struct replay_input *input, uint32_t rule, uint64_t code,
			  uint64_t place, struct fpl_script_code *ret);

/* The same by @rule itself: its number is not written, and of @input nothing is used but
 * read_memory, arg, and regs without a stack. */
size_t replay_script_read(const struct replay_input *input, const struct fpl_script_rule *rule,
			  uint64_t code, uint64_t place, struct fpl_script_code *ret);

/* Has the code object at the address in @code the content that @code and @place have, in memory as
 * it is now? False where it cannot be read. @input: as for replay_script_read(). */
bool replay_script_holds(const struct replay_input *input, const struct fpl_script_rule *rule,
			 uint64_t code, uint64_t place);
