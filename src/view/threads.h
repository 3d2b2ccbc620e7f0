/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording thread by thread, for formats that have tracks: by the threads of its events where it
 * keeps each sample, else by those stacks are told apart by, else by process. Of a recording
 * without processes by the names of its tasks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* Samples of one stack: one where the recording keeps each, else all there are. */
struct thread_sample {
	uint64_t time_ns; /* since the start of the run */
	uint64_t count, weight;
	uint32_t stack; /* index */
	uint32_t tid;	/* 0: not known */
};

struct thread {
	uint32_t pid, tid; /* 0: not known */
	uint32_t comm;	   /* text: the last it had */
	size_t first, nr;  /* samples[first .. first + nr), ascending by time_ns */
	uint64_t count, weight;
	uint64_t shown; /* one of the two, as view/measure.h says */
};

struct threads {
	struct thread *list;	       /* owned [nr], most shown first */
	struct thread_sample *samples; /* owned [nr_samples] */
	size_t nr, nr_samples;
};

/*
 * Samples without a time are at equal distances over the run. The counts of all threads add up to
 * recording_shown(), or to the events where there are more. Cost: O(n log n).
 */
void threads_init(const struct recording *recording, struct threads *ret);
void threads_fini(struct threads *threads);
