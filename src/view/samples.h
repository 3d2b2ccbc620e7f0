/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a recording one by one, for formats that have no counts. Where the recording keeps
 * each sample, its events in their order, then what the counts of the stacks hold beyond them, at
 * the end of the run; else each stack as often as it was counted, one stack behind the other, at
 * equal distances over the run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

struct sample {
	uint64_t time_ns; /* since the start of the run; never less than that of the one before */
	uint64_t weight;
	uint32_t stack; /* index */
	uint32_t pid, tid, cpu;
	unsigned has; /* RECORDING_HAS_PID, _TID, _CPU */
};

/* The samples of a stack that were not handed out yet. */
struct sample_rest {
	uint64_t count, weight;
};

/* All samples of each stack [nr_stacks], owned by the caller. */
struct sample_rest *sample_rests_make(const struct recording *recording);

/*
 * Take a sample of @weight, as far as the counts, of an untrusted file, have it. Returns what it
 * weighs: the last one of a stack has all that is left, so that weights add up.
 */
uint64_t sample_rest_take(struct sample_rest *rest, uint64_t weight);

struct samples {
	const struct recording *recording; /* borrowed */
	struct sample_rest *left;	   /* owned [nr_stacks] */
	uint64_t nr_total, nr_out;
	uint64_t last_ns;
	size_t event, stack;
};

/* @recording outlives @ret. */
void samples_init(const struct recording *recording, struct samples *ret);
void samples_fini(struct samples *samples);

/* The next sample; false: that was the last. There are as many as recording_shown(), or events. */
bool samples_next(struct samples *samples, struct sample *ret);
