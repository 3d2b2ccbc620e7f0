/* SPDX-License-Identifier: Apache-2.0 */
/* The samples in time of .jsonl, behind its stacks. */
#pragma once

#include "format/jsonl_value.h"

struct jsonl_samples {
	/* The rest of each stack beyond the samples read; owned [nr_stacks]; NULL: no line yet. */
	struct {
		uint64_t count, weight;
	} *left;
	uint64_t last_ns; /* time of the sample read last */
	bool by_news;	  /* format 3: stacks are written by whether they are new */
	uint32_t next;	  /* behind the highest stack that had a sample */
};

/*
 * Add the samples that the line @object says to the events of the recording. Those of a stack are
 * no more than its count, they weigh no more, and none is before another.
 */
void jsonl_samples_read(struct jsonl_samples *samples, struct reading *reading,
			json_object *object);
void jsonl_samples_fini(struct jsonl_samples *samples);
