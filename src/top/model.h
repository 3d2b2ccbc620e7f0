/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that grows as readers of a live view see it: functions in place of frames, stacks as
 * sequences of them. Each frame and each stack is looked at once; counts are nobody's business here
 * (top/table.h). A pure function of the recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/strings.h"
#include "recording/recording.h"

/* What has one name in one object; texts are escaped as in a folded line. */
struct model_function {
	uint32_t text;	 /* its name, or where it is: "[file+0xstart]" */
	uint32_t place;	 /* the last part of its object's path, or the kernel's module */
	uint32_t object; /* index in the recording */
	bool kernel;
};

/* Frames from the leaf to the root, inlined ones too: the kernel's first. */
struct model_stack {
	size_t first; /* sequence[first .. first + nr) are indexes of functions */
	uint32_t nr, nr_kernel;
	uint32_t comm; /* text */
};

struct model_frame {
	uint32_t first, nr; /* of_frames[first .. first + nr), the innermost first */
};

struct model {
	const struct recording *recording; /* borrowed */
	struct strings strings;
	struct model_function *functions; /* owned [nr_functions] */
	struct model_frame *frames;	  /* owned [nr_frames] */
	uint32_t *of_frames;		  /* owned [nr_of_frames] */
	struct model_stack *stacks;	  /* owned [nr_stacks], as those of the recording */
	uint32_t *sequence;		  /* owned [nr_sequence] */
	size_t nr_functions, nr_frames, nr_of_frames, nr_stacks, nr_sequence;
	size_t room_functions, room_frames, room_of_frames, room_stacks, room_sequence;
	struct id_table ids;
};

/* @recording outlives @model. */
void model_init(struct model *model, const struct recording *recording);
void model_fini(struct model *model);

/*
 * Take in what has come to the recording. Errors: -ENOMEM; the next call goes on from there. Cost:
 * O(frames and stacks that are new).
 */
FPL_MUST_CHECK int model_extend(struct model *model);

/* Owned by @model. */
static inline const char *model_text(const struct model *model, uint32_t text)
{
	return strings_text(&model->strings, text);
}

/* The functions of stack @idx from the leaf on, without those of the kernel unless @kernel. */
static inline const uint32_t *model_sequence(const struct model *model, size_t idx, bool kernel,
					     uint32_t *ret_nr)
{
	const struct model_stack *stack = &model->stacks[idx];
	uint32_t skipped = kernel ? 0 : stack->nr_kernel;

	*ret_nr = stack->nr - skipped;
	return model->sequence + stack->first + skipped;
}
