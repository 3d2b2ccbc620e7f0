/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/record.h"

#define CPUS_MAX 65536u

struct snapshot *snapshot_get(struct snapshot *snapshot)
{
	if (snapshot)
		snapshot->refs++;
	return snapshot;
}

void snapshot_put(struct snapshot *snapshot)
{
	if (!snapshot || --snapshot->refs)
		return;
	snapshot_put(snapshot->last); /* which has all its bytes itself */
	free(snapshot);
}

void snapshots_fini(struct snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->last.nr; i++)
		snapshot_put(snapshots->last.list[i]);
	vector_fini(&snapshots->last);
}

const uint8_t *snapshot_shared(const struct snapshot *snapshot)
{
	if (!snapshot->last)
		return NULL;

	const struct fpl_sample *sample = snapshot->sample, *last = snapshot->last->sample;
	uint64_t addr = record_regs(sample)->stack_addr + record_shared(sample)->off;

	return record_stack(last) + (addr - record_regs(last)->stack_addr);
}

/* Address of its hole. */
static uint64_t hole_addr(const struct fpl_sample *sample)
{
	return record_regs(sample)->stack_addr + record_hole(sample)->off;
}

/* Does @last have the bytes that @sample says it shares with it, at the same addresses? */
static bool has_shared(const struct fpl_sample *last, const struct fpl_sample *sample)
{
	const struct fpl_shared *shared = record_shared(sample);
	const struct fpl_regs *regs = record_regs(last);
	uint32_t hole_size = record_hole(sample)->size;

	if (hole_size != record_hole(last)->size ||
	    (hole_size && hole_addr(sample) != hole_addr(last)))
		return false;

	uint64_t off = record_regs(sample)->stack_addr + shared->off - regs->stack_addr;

	return last->id == shared->id && off <= regs->stack_size &&
	       shared->size <= regs->stack_size - off;
}

/* The place of the last one of the record's CPU and slot; NULL without memory. */
static struct snapshot **last_of(struct snapshots *snapshots, const struct fpl_sample *sample)
{
	size_t at = (size_t)sample->cpu * FPL_SLOTS_MAX + record_shared(sample)->slot;

	if (vector_reserve(&snapshots->last, at + 1))
		return NULL;
	while (snapshots->last.nr <= at)
		snapshots->last.list[snapshots->last.nr++] = NULL;
	return &snapshots->last.list[at];
}

int snapshots_take(struct snapshots *snapshots, const void *data, size_t size,
		   struct snapshot **ret)
{
	const struct fpl_sample *sample = data;

	if (!record_holds_snapshot(sample, size) || sample->cpu >= CPUS_MAX ||
	    record_shared(sample)->slot >= FPL_SLOTS_MAX)
		return -EINVAL;

	struct snapshot **last = last_of(snapshots, sample);
	bool shares = record_shared(sample)->size != 0;
	struct snapshot *snapshot = malloc(sizeof(*snapshot) + size);

	if (!last || !snapshot || (shares && (!*last || !has_shared((*last)->sample, sample)))) {
		free(snapshot);
		return -ENOMEM;
	}
	*snapshot = (struct snapshot){
		.refs = 1,
		.sample = (struct fpl_sample *)(snapshot + 1),
		.last = shares ? snapshot_get(*last) : NULL,
	};
	memcpy(snapshot->sample, data, size);
	if (!shares) {
		snapshot_put(*last);
		*last = snapshot_get(snapshot);
	}
	*ret = snapshot;
	return 0;
}
