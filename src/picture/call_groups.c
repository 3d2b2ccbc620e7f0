/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/call_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/shared.h"

void call_groups_fini(struct call_groups *groups)
{
	free(groups->list);
	free(groups->of_stacks);
	id_table_fini(&groups->ids);
}

static struct call_group group_of(const struct recording *recording,
				  const struct recording_stack *stack, bool by_pid)
{
	struct call_group group = { .stop = stack->stop };

	if (stack->has & RECORDING_HAS_COMM)
		group.comm = stack->comm;
	if (by_pid && stack->has & RECORDING_HAS_PID) {
		group.has_pid = true;
		group.pid = stack->pid;
	}
	if (stack->has & RECORDING_HAS_FP) {
		group.has_class = true;
		group.class = stack->class;
	}
	for (size_t i = 0; i < stack->nr_user; i++) {
		uint8_t origin = recording_frame_at(recording, stack, i)->origin;

		if (origin < FPL_ORIGIN_COUNT)
			group.origins |= (uint8_t)(1u << origin);
	}
	return group;
}

static bool group_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct call_group *a = &((const struct call_groups *)ctx)->list[index], *b = key;

	return a->comm == b->comm && a->pid == b->pid && a->has_pid == b->has_pid &&
	       a->has_class == b->has_class && a->stop == b->stop && a->origins == b->origins &&
	       a->class == b->class;
}

static int find_or_add(struct call_groups *groups, const struct call_group *key, uint32_t *ret)
{
	const uint32_t parts[] = { key->comm, key->pid,	    key->has_pid, key->has_class,
				   key->stop, key->origins, key->class };
	uint64_t hash = id_table_hash(0, parts, sizeof(parts));

	*ret = id_table_find(&groups->ids, hash, group_equals, groups, key);
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = (uint32_t)groups->nr;
	if (array_reserve(&groups->list, sizeof(*groups->list), &groups->room, groups->nr + 1) ||
	    id_table_add(&groups->ids, hash, *ret))
		return -ENOMEM;
	groups->list[groups->nr++] = *key;
	return 0;
}

/* Returns 1 where there are more than @nr_max. */
static int make(const struct recording *recording, size_t nr_max, bool by_pid,
		struct call_groups *ret)
{
	*ret = (struct call_groups){
		.of_stacks = calloc(recording->nr_stacks + 1, sizeof(*ret->of_stacks)),
	};
	if (!ret->of_stacks)
		return -ENOMEM;
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		struct call_group key = group_of(recording, &recording->stacks[i], by_pid);

		if (find_or_add(ret, &key, &ret->of_stacks[i]))
			return -ENOMEM;
		if (by_pid && ret->nr > nr_max)
			return 1;
	}
	return 0;
}

int call_groups_make(const struct recording *recording, size_t nr_max, struct call_groups *ret)
{
	int err = make(recording, nr_max, true, ret);

	if (err > 0) {
		call_groups_fini(ret);
		err = make(recording, nr_max, false, ret);
	}
	return err;
}
