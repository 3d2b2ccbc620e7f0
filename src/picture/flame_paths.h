/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of one or two recordings as paths from the root to the leaf, each step a frame as a
 * picture shows it: what trees of frames are made of. A frame that others are inlined in is a step,
 * and one more for each of them; labels (the task, or what --by says) are the first steps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strings.h"
#include "base/vector.h"
#include "picture/path_sort.h"
#include "recording/recording.h"
#include "view/frame_texts.h"
#include "view/functions.h"
#include "view/stack_slots.h"

#define FLAME_SIDES 2u

struct flame_path {
	uint64_t count;
	size_t first; /* steps[first .. + nr): indexes of cells */
	uint32_t nr;
	uint32_t stack;	 /* index in the recording it is from */
	uint32_t elided; /* of that stack: frames that RECORDING_GAP stands for */
	uint8_t side;	 /* below FLAME_SIDES: which recording */
};

struct flame_paths {
	struct strings strings; /* 0 is "" */
	/* The steps that there are. Places are texts, too: path as the target sees it, "[ext4]"; 0,
	 * "": no object */
	struct functions cells;
	VECTOR(uint32_t) steps;
	struct flame_path *list; /* a vector itself */
	size_t nr, room;
	uint64_t samples[FLAME_SIDES]; /* sums of the counts */
	/* Samples whose stacks have more steps than FLAME_STEPS_MAX: what is beyond has no step. */
	uint64_t cut[FLAME_SIDES];
};

/* The cell of RECORDING_DELIMITER, behind which the steps are those of who ended a wait;
 * UINT32_MAX: no path has it. Cost: O(cells). */
uint32_t flame_paths_delimiter(const struct flame_paths *paths);

#define FLAME_STEPS_MAX 4096u

/* A GiB of steps. A small hostile recording can have very many: an inlined function stands in it
 * once, and in paths as often as it was on the stack. */
#define FLAME_PATHS_STEPS_MAX ((size_t)1 << 28)

struct flame_paths_options {
	struct frame_text_options text; /* .symbols_only: nothing inlined */
	enum merge_walk walk;
	bool delimited;	 /* "-" between user and kernel frames */
	bool strip_hex;	 /* 0x1f in texts is 0x..., as other builds have other addresses */
	bool places;	 /* objects are places as readers see them, escaped: any path will do */
	bool no_objects; /* none, but for places */
	bool no_labels;
	bool reverse;	  /* from the leaf to the root, the labels last */
	bool wakers;	  /* steps of who ended a wait have cells of their own: of_waker */
	size_t steps_max; /* of all paths; 0: FLAME_PATHS_STEPS_MAX */
};

void flame_paths_init(struct flame_paths *ret);
void flame_paths_fini(struct flame_paths *paths);

/*
 * Add all stacks of @recording, which may go afterwards. @side: 0; of a difference 0 is before, 1
 * after. Errors: -E2BIG: more steps than may be. Cost: O(frames of all stacks).
 */
FPL_MUST_CHECK int flame_paths_add(struct flame_paths *paths, const struct recording *recording,
				   const struct flame_paths_options *options, unsigned side,
				   struct fpl_err *err);

/* The kind of @cell where inlined and called functions are one. */
static inline uint8_t flame_kind(const struct shown_function *cell)
{
	return cell->kind == FUNCTION_INLINED ? FUNCTION_USER : cell->kind;
}

/*
 * The rank of each cell [cells.nr], owned by the caller: by text, then, with @places, by place,
 * then by flame_kind(), then by of_waker. Ranks count from 0, and equal cells have the same. Cost:
 * O(n log n).
 */
uint32_t *flame_paths_rank(const struct flame_paths *paths, bool places);

/* The paths of @sides (1 << side) as path_sort() sorts them by @ranks: [*ret_nr], owned by the
 * caller. */
struct sort_path *flame_paths_sort(const struct flame_paths *paths, unsigned sides,
				   const uint32_t *ranks, size_t *ret_nr);

static inline const char *flame_text(const struct flame_paths *paths, uint32_t text)
{
	return strings_text(&paths->strings, text);
}
