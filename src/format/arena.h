/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one message of libprotobuf-c after the other, none of which is freed piece by piece.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct arena_block;

struct arena {
	ProtobufCAllocator allocator; /* to hand to libprotobuf-c */
	struct arena_block *blocks;   /* owned: the one in use first */
	size_t bytes;		      /* of all blocks */
};

/* The arena must stay where it is. */
void arena_init(struct arena *arena);
void arena_fini(struct arena *arena);

/* All that was allocated is gone; one block is kept for what follows. */
void arena_reset(struct arena *arena);
