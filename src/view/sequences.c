/* SPDX-License-Identifier: Apache-2.0 */
#include "view/sequences.h"

#include <errno.h>
#include <string.h>

void sequences_settle(struct sequences *sequences)
{
	id_table_fini(&sequences->table);
}

void sequences_fini(struct sequences *sequences)
{
	sequences_settle(sequences);
	vector_fini(&sequences->ids);
	vector_fini(sequences);
}

int sequences_add(struct sequences *sequences, const uint32_t *ids, size_t nr, uint32_t nr_labels,
		  uint32_t *ret)
{
	const struct sequence key = {
		.first = sequences->ids.nr,
		.nr = (uint32_t)nr,
		.nr_labels = nr_labels,
	};
	uint64_t hash = id_table_hash(0, ids, nr * sizeof(*ids));

	*ret = ID_TABLE_FIND(
		&sequences->table, hash, i,
		sequences->list[i].nr == nr &&
			(!nr || !memcmp(sequence_ids(sequences, i), ids, nr * sizeof(*ids))));
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = (uint32_t)sequences->nr;
	/* one more: even an empty sequence has an address */
	if (sequences->nr >= ID_TABLE_NONE || vector_reserve(sequences, sequences->nr + 1) ||
	    vector_reserve(&sequences->ids, key.first + nr + 1) ||
	    id_table_add(&sequences->table, hash, *ret))
		return -ENOMEM;
	if (nr)
		memcpy(&sequences->ids.list[key.first], ids, nr * sizeof(*ids));
	sequences->ids.nr += nr;
	return vector_push(sequences, key);
}
