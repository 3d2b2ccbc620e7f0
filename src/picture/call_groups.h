/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of samples, told apart beside their frames: the choices of a page's reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_table.h"
#include "base/vector.h"
#include "recording/recording.h"

struct call_group {
	uint32_t comm; /* text of the recording; 0: not known */
	uint32_t pid;
	bool has_pid, has_class;
	uint8_t stop;	 /* enum fpl_stop; RECORDING_NO_STOP */
	uint8_t origins; /* of the frames of the user stack, each a bit */
	uint8_t class;	 /* enum verdict_class, where it has one */
	uint8_t state;	 /* enum recording_state */
};

/* A part of a group: the samples of one row of code. */
struct call_row {
	uint32_t group, row;
};

struct call_groups {
	VECTOR(struct call_group) all; /* no two alike */
	VECTOR(struct call_row) rows;  /* no two alike; numbered as groups, behind all of them */
	uint32_t *of_stacks;	       /* owned: the group of each stack of the recording */
	struct id_table ids, row_ids;
};

/* More than @nr_max groups are told apart by name and not by pid. Cost:
 * O(frames of all stacks). */
void call_groups_make(const struct recording *recording, size_t nr_max, struct call_groups *ret);
/*
 * Make samples of different rows of code different groups: the group of a stack is then one of
 * groups->rows. @rows: of each stack, annotations.rows. Once. Cost: O(stacks).
 */
void call_groups_split(struct call_groups *groups, const struct recording *recording,
		       const uint32_t *rows);
void call_groups_fini(struct call_groups *groups);
