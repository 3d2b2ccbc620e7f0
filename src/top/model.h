/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that grows as readers of a live view see it: functions in place of frames, stacks as
 * sequences of them. Each frame and each stack is looked at once; counts are not part of it
 * (top/table.h). A pure function of the recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"
#include "recording/recording.h"
#include "view/function_index.h"
#include "view/sequences.h"
#include "view/stack_slots.h"

/* Stacks that read the same have the same sequence, those of one process the same number. */
struct model_stack {
	uint32_t whole, user; /* sequences, with and without frames of the kernel */
	uint32_t process;
};

struct model {
	const struct recording *recording; /* borrowed */
	struct frame_texts texts;	   /* escaped as in a folded line */
	struct function_index index;
	VECTOR(uint32_t) places;    /* of each function the text of its place, escaped as well */
	struct sequences sequences; /* the text of the task's name, then functions root first */
	VECTOR(struct model_stack) stacks; /* as those of the recording */

	/* private: the first stack of each process, found by process_ids; the stack at hand */
	VECTOR(uint32_t) processes;
	struct id_table process_ids;
	struct stack_slots slots;
};

/* *model must not move; @recording outlives it. */
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
	return strings_text(&model->texts.strings, text);
}

static inline const char *model_function(const struct model *model, uint32_t function)
{
	return model_text(model, model->index.functions.list[function].text);
}

/* The place of function @function: the last part of its object's path, or the kernel's module. */
static inline const char *model_place(const struct model *model, uint32_t function)
{
	return model_text(model, model->places.list[function]);
}

/* The sequence of stack @idx. */
static inline uint32_t model_sequence(const struct model *model, size_t idx, bool kernel)
{
	return kernel ? model->stacks.list[idx].whole : model->stacks.list[idx].user;
}

/* The name of the task of stack @idx. */
static inline const char *model_comm(const struct model *model, size_t idx)
{
	return model_text(model,
			  *sequence_ids(&model->sequences, model_sequence(model, idx, true)));
}

/* The functions of stack @idx from the root on, without those of the kernel unless @kernel. */
static inline const uint32_t *model_functions(const struct model *model, size_t idx, bool kernel,
					      uint32_t *ret_nr)
{
	uint32_t sequence = model_sequence(model, idx, kernel);

	*ret_nr = model->sequences.list[sequence].nr - 1;
	return sequence_ids(&model->sequences, sequence) + 1;
}
