/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as readers see them, each once: sequences of numbers (labels, then functions or texts,
 * from the root to the leaf) that equal each other become one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"

struct sequence {
	size_t first; /* ids[first .. + nr): labels, then the rest */
	uint32_t nr;
	uint32_t nr_labels; /* the first one's; tells no sequences apart */
};

struct sequences {
	struct sequence *list; /* a vector */
	size_t nr, room;
	VECTOR(uint32_t) ids;
	struct id_table table; /* private */
};

/*
 * The index in *ret of the sequence @ids [nr], which is added at first sight. Errors: -ENOMEM, when
 * nothing was added. Cost: O(@nr).
 */
FPL_MUST_CHECK int sequences_add(struct sequences *sequences, const uint32_t *ids, size_t nr,
				 uint32_t nr_labels, uint32_t *ret);

static inline uint32_t must_sequences_add(struct sequences *sequences, const uint32_t *ids,
					  size_t nr, uint32_t nr_labels)
{
	uint32_t index;

	alloc_check(sequences_add(sequences, ids, nr, nr_labels, &index));
	return index;
}

/* Valid until the next sequences_add(). */
static inline const uint32_t *sequence_ids(const struct sequences *sequences, uint32_t index)
{
	return &sequences->ids.list[sequences->list[index].first];
}

/* All is added: drop what finds equals. */
void sequences_settle(struct sequences *sequences);
void sequences_fini(struct sequences *sequences);
