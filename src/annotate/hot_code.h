/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a recording that have samples of their own, by the pcs of these. All numbers of
 * samples are what readers are shown of them (view/measure.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* A pc, and the samples that had it: the leaf of a stack without kernel frames. */
struct hot_pc {
	uint64_t pc; /* as recording_frame.address; one before the return address if that is read */
	uint64_t samples;
};

struct hot_function {
	char *name;	 /* owned: as readers see it, not escaped */
	uint32_t object; /* of the recording: one of those with its build-id; 0: none */
	uint64_t start;	 /* RECORDING_NO_ADDRESS: unknown */
	uint64_t samples;
	size_t first_pc, nr_pcs; /* in hot_code.pcs */
};

#define HOT_CODE_NO_PC UINT32_MAX

struct hot_code {
	struct hot_function *functions; /* owned [nr]: the hottest first */
	size_t nr;
	struct hot_pc *pcs; /* owned [nr_pcs]: of a function ascending by pc, each once */
	size_t nr_pcs;
	uint32_t *pc_of_frames; /* owned: of each frame of the recording, in pcs; HOT_CODE_NO_PC */
	uint64_t samples;	/* of the recording */
	uint64_t without;	/* of user code whose leaf has no address */
};

/*
 * Code of one build-id is one, whatever path it was mapped by; without a build-id the path counts.
 * A lack of memory ends the process. Cost: O(stacks + f log f), f the frames that are leaves.
 */
void hot_code_find(const struct recording *recording, struct hot_code *ret);
void hot_code_fini(struct hot_code *code);

/* The entry of code->pcs that @stack, of its recording, ran at; HOT_CODE_NO_PC: none. */
uint32_t hot_code_pc(const struct hot_code *code, const struct recording *recording,
		     const struct recording_stack *stack);

/* How a text names a function; the higher the better. */
enum hot_match {
	HOT_MATCH_NONE,
	HOT_MATCH_PLAIN, /* without parameters, or also without what it is a member of */
	HOT_MATCH_NAME,	 /* as it is */
};

/* How @name names the function @function: "run" and "app::run" name "app::run(int)" plainly. */
enum hot_match hot_match(const char *function, const char *name);
