/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/record.h"

#include "proc/mapset.h"
#include "profile/profile.h"

static size_t frames_end(const struct fpl_sample *sample)
{
	return sizeof(*sample) + 8 * ((size_t)sample->nr_user + sample->nr_kernel + sample->nr_fp +
				      sample->nr_key + sample->nr_script);
}

bool record_holds_frames(const struct fpl_sample *sample, size_t size)
{
	return sample->nr_key <= FPL_KEY_MAX && frames_end(sample) <= size;
}

bool record_holds_walk(const struct fpl_sample *sample, size_t size)
{
	size_t regs_end = frames_end(sample) + sizeof(struct fpl_regs);

	return sample->header.size == size && regs_end <= size &&
	       record_regs(sample)->stack_size <= size - regs_end;
}

bool record_holds_snapshot(const struct fpl_sample *sample, size_t size)
{
	size_t stack_off = frames_end(sample) + sizeof(struct fpl_regs) + sizeof(struct fpl_hole) +
			   sizeof(struct fpl_shared);

	if (sample->header.size != size || stack_off > size)
		return false;

	const struct fpl_hole *hole = record_hole(sample);
	const struct fpl_shared *shared = record_shared(sample);
	uint32_t stack_size = record_regs(sample)->stack_size;

	if (hole->off > stack_size || hole->nr_islands > FPL_ISLANDS_MAX ||
	    shared->off > stack_size || shared->size > stack_size - shared->off)
		return false;

	size_t islands_size = hole->nr_islands * sizeof(struct fpl_island);

	/* islands begin with an address */
	return (stack_size - shared->size) % 8 == 0 &&
	       (size_t)stack_size - shared->size + islands_size <= size - stack_off;
}

/* Returns how many frames stay raw. */
static size_t resolve(uint64_t *frames, size_t nr, const struct mapset *set)
{
	size_t nr_raw = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!(frames[i] & FPL_FRAME_RAW) || frames[i] == FPL_FRAME_GAP)
			continue;

		uint64_t addr = frames[i] & FPL_FRAME_ADDR_MASK;
		uint64_t exact = frames[i] & FPL_FRAME_EXACT;
		const struct fpl_mapping *map = mapset_find(set, exact ? addr : addr - 1);

		/* as walk_frame() has it: what no frame can say stays raw */
		if (!map || !map->object || addr - map->bias > FPL_FRAME_VADDR_MASK) {
			nr_raw++;
			continue;
		}
		frames[i] = (frames[i] & ~(FPL_FRAME_RAW | FPL_FRAME_ADDR_MASK)) |
			    (uint64_t)(map->object & FPL_FRAME_OBJECT_MAX)
				    << FPL_FRAME_OBJECT_SHIFT |
			    (addr - map->bias);
	}
	return nr_raw;
}

/* The object that may have the lock at key[FPL_WAIT_ADDR]: an object's data follow its code, and no
 * other object lies between them. Who names it knows how far its data go. */
static void resolve_lock(uint64_t *key, const struct mapset *set)
{
	const struct fpl_mapping *map = mapset_find_below(set, key[FPL_WAIT_ADDR]);

	if (map && map->object && key[FPL_WAIT_ADDR] - map->bias <= FPL_FRAME_VADDR_MASK)
		key[FPL_WAIT_PLACE] = (uint64_t)map->object << FPL_FRAME_OBJECT_SHIFT |
				      (key[FPL_WAIT_ADDR] - map->bias);
}

size_t record_resolve(struct fpl_sample *sample, const struct mapset *set)
{
	uint64_t *rest = (uint64_t *)record_rest(sample);

	if (stack_is_lock(sample->flags, sample->nr_key))
		resolve_lock(rest + sample->nr_kernel + sample->nr_fp, set);
	return resolve((uint64_t *)record_user(sample), sample->nr_user, set) +
	       resolve(rest + sample->nr_kernel, sample->nr_fp, set);
}
