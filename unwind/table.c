/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/zeroed.h"

void table_destroy(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->nr_chunks; i++) {
		if (table->in_heap)
			free(table->chunks[i]);
		else
			zeroed_free(table->chunks[i], FPL_CHUNK_SIZE);
	}
	free(table->chunks);
	free(table);
}

/* Unmapping a chunk makes every CPU that runs a thread of the process forget its page tables. */
#define HEAP_BYTES_MAX 65536u

/* A lookup reads as many rows of 4 bytes as its search may have (lookup_rows()), also those behind
 * the last, which it does not use. */
#define BEYOND_BYTES (512u * 4u)

int table_make_room(struct table *table)
{
	size_t nr = (table->image_bytes + (size_t)FPL_CHUNK_SIZE - 1) >> FPL_CHUNK_LOG2;

	table->in_heap = table->image_bytes <= HEAP_BYTES_MAX;
	table->chunks = calloc(nr ? nr : 1, sizeof(*table->chunks));
	if (!table->chunks)
		return -ENOMEM;
	for (; table->nr_chunks < nr; table->nr_chunks++) {
		uint8_t *chunk = table->in_heap ? calloc(1, table->image_bytes + BEYOND_BYTES)
						: zeroed_alloc(FPL_CHUNK_SIZE);

		if (!chunk)
			return -ENOMEM;
		table->chunks[table->nr_chunks] = chunk;
	}
	return 0;
}
