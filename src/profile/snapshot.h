/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots as they come out of the ring, and the places of their stacks' bytes: in the record
 * itself or, for shared bytes, in an earlier record from the same slot of the same CPU.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "bpf/shared.h"

struct snapshot {
	uint32_t refs;
	struct snapshot *last;	   /* owned reference: has the shared bytes; NULL: none are */
	struct fpl_sample *sample; /* the whole record, checked; owned, as part of this */
};

/* Take a reference, and return it. */
struct snapshot *snapshot_get(struct snapshot *snapshot);
void snapshot_put(struct snapshot *snapshot);

/* Bytes of the record, by which memory is charged. */
static inline size_t snapshot_bytes(const struct snapshot *snapshot)
{
	return snapshot->sample->header.size;
}

/* The shared bytes, fpl_shared.size of them; NULL: no shared bytes. */
const uint8_t *snapshot_shared(const struct snapshot *snapshot);

/* The last snapshot with all its bytes, by CPU and slot. Zeroed: none. */
struct snapshots {
	VECTOR(struct snapshot *) last; /* owned references or NULL */
};

void snapshots_fini(struct snapshots *snapshots);

/*
 * Take in the next record, FPL_RECORD_SNAPSHOT of @size bytes, in the order of the ring; copied.
 * Errors: -EINVAL: malformed. -ENOMEM: no memory, now or for the one it shares bytes with.
 */
FPL_MUST_CHECK int snapshots_take(struct snapshots *snapshots, const void *data, size_t size,
				  struct snapshot **ret);
