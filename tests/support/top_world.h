/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that grows, its model, and the counts of its stacks: for tests of a live view. */
#pragma once

#include "recording/merge.h"
#include "recording_text.h"
#include "top/model.h"
#include "top/table.h"

struct world {
	struct recording recording;
	struct model model;
	uint64_t *counts; /* owned: those of the recording */
};

static inline void world_fini(struct world *world)
{
	model_fini(&world->model);
	recording_fini(&world->recording);
	free(world->counts);
}

/* Add what the file @text says; NULL: nothing. */
static inline void world_add(struct world *world, const char *text)
{
	const struct read_options options = { 0 };
	struct recording from = { 0 };
	struct merge_result result = { 0 };
	struct fpl_err err = { 0 };

	if (!world->recording.nr_objects) {
		if (recording_init(&world->recording))
			abort();
		model_init(&world->model, &world->recording);
	}
	if (text && recording_of(text, strlen(text), &options, &from, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	if (text && recording_merge(&world->recording, &from, NULL, &result))
		abort();
	recording_fini(&from);
	free(world->counts);
	world->counts = calloc(world->recording.nr_stacks + 1, sizeof(*world->counts));
	if (!world->counts || model_extend(&world->model))
		abort();
	for (size_t i = 0; i < world->recording.nr_stacks; i++)
		world->counts[i] = world->recording.stacks[i].count;
}

/* Add stacks of threads that wait and of such that run. */
static inline void world_add_states(struct world *world)
{
	static const uint8_t states[] = { RECORDING_STATE_BLOCKED, RECORDING_STATE_ON_CPU,
					  RECORDING_STATE_ON_CPU };

	world_add(world, "a;main;f;wait_[k] 6\na;main;f 3\nb;main;g 1\n");
	if (world->recording.nr_stacks != 3)
		abort();
	for (size_t i = 0; i < 3; i++)
		world->recording.stacks[i].state = states[i];
}
