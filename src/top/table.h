/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a live view, sorted: a pure function of a model and counts. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "top/model.h"

/* X(name, word of --view) */
#define TABLE_VIEW_LIST(X)          \
	X(FUNCTIONS, "functions")   \
	X(STACKS, "stacks")         \
	X(PROCESSES, "processes")   \
	X(NEIGHBOURS, "neighbours") \
	X(FRAMES, "frames")

#define X(name, word) TABLE_VIEW_##name,
enum table_view { TABLE_VIEW_LIST(X) TABLE_VIEW_COUNT };
#undef X

enum table_sort {
	TABLE_SORT_SELF,
	TABLE_SORT_TOTAL,
};

struct table_query {
	enum table_view view;
	enum table_sort sort;
	/* borrowed: functions by their name or object, stacks that have such a frame, processes by
	 * their name or number; NULL: all */
	const regex_t *filter;
	bool kernel; /* kernel frames count; without, what called into the kernel was running */
	bool has_process; /* of this one alone: */
	uint32_t pid;
	uint64_t task;	   /* recording_stack.task */
	bool by_state;	   /* rows are of one state of threads each (recording_state) */
	uint8_t state;	   /* stacks in this state alone; RECORDING_STATE_NONE: in all */
	uint32_t function; /* of NEIGHBOURS: its callers, callees and stacks */
	uint32_t stack;	   /* of FRAMES: index in the model */
};

enum table_row_kind {
	TABLE_ROW_FUNCTION,
	TABLE_ROW_STACK,
	TABLE_ROW_PROCESS,
	TABLE_ROW_HEADING, /* text of rows below; no counts */
};

struct table_row {
	uint64_t self;	/* samples, or their weight, in which it was running itself; of a stack: all
			 */
	uint64_t total; /* of those that it is in */
	enum table_row_kind kind;
	uint8_t state;	     /* recording_state, by_state; else RECORDING_STATE_NONE */
	uint32_t index;	     /* of the function; of the stack, or of one of the process */
	const char *heading; /* of a heading */
};

struct table {
	struct table_row *list; /* a vector: the rows */
	size_t nr, room;
	uint64_t sum;	  /* of all counts: what shares are of */
	uint64_t shown;	  /* of that, in the process that was asked for, with frames to show */
	uint64_t samples; /* all there are: the sum, unless their weights are shown */
	uint64_t states[RECORDING_STATE_COUNT]; /* the part of the sum in each state */
};

/*
 * Make the rows; stack i of @model has @counts[i] samples. Errors: -ENOMEM; table_fini is safe
 * then. Cost: O(frames of stacks with samples), and O(n log n) in the rows.
 */
FPL_MUST_CHECK int table_make(const struct model *model, const uint64_t *counts,
			      const struct table_query *query, struct table *ret);
void table_fini(struct table *table);
