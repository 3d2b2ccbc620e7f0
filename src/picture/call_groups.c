/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/call_groups.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/shared.h"
#include "view/annotation.h"

void call_groups_fini(struct call_groups *groups)
{
	vector_fini(&groups->all);
	vector_fini(&groups->rows);
	free(groups->of_stacks);
	id_table_fini(&groups->ids);
	id_table_fini(&groups->row_ids);
}

static struct call_group group_of(const struct recording *recording,
				  const struct recording_stack *stack, bool by_pid)
{
	struct call_group group = { .stop = stack->stop, .state = stack->state };

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

static uint32_t find_or_add(struct call_groups *groups, const struct call_group *key)
{
	const uint32_t parts[] = { key->comm, key->pid,	    key->has_pid, key->has_class,
				   key->stop, key->origins, key->class,	  key->state };
	const struct call_group *list = groups->all.list;
	uint64_t hash = id_table_hash(0, parts, sizeof(parts));
	uint32_t found = ID_TABLE_FIND(
		&groups->ids, hash, i,
		list[i].comm == key->comm && list[i].pid == key->pid &&
			list[i].has_pid == key->has_pid && list[i].has_class == key->has_class &&
			list[i].stop == key->stop && list[i].origins == key->origins &&
			list[i].class == key->class && list[i].state == key->state);

	if (found != ID_TABLE_NONE)
		return found;
	must_id_table_add(&groups->ids, hash, (uint32_t)groups->all.nr);
	must_push(&groups->all, *key);
	return (uint32_t)groups->all.nr - 1;
}

/* False: there are more than @nr_max. */
static bool make(const struct recording *recording, size_t nr_max, bool by_pid,
		 struct call_groups *ret)
{
	*ret = (struct call_groups){
		.of_stacks = must_calloc(recording->nr_stacks, sizeof(*ret->of_stacks)),
	};
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		struct call_group key = group_of(recording, &recording->stacks[i], by_pid);

		ret->of_stacks[i] = find_or_add(ret, &key);
		if (by_pid && ret->all.nr > nr_max)
			return false;
	}
	return true;
}

void call_groups_make(const struct recording *recording, size_t nr_max, struct call_groups *ret)
{
	if (make(recording, nr_max, true, ret))
		return;
	call_groups_fini(ret);
	make(recording, nr_max, false, ret);
}

static uint32_t find_or_add_row(struct call_groups *groups, const struct call_row *key)
{
	const struct call_row *list = groups->rows.list;
	uint64_t hash = id_table_hash(0, key, sizeof(*key));
	uint32_t found = ID_TABLE_FIND(&groups->row_ids, hash, i,
				       list[i].group == key->group && list[i].row == key->row);

	if (found != ID_TABLE_NONE)
		return found;
	must_id_table_add(&groups->row_ids, hash, (uint32_t)groups->rows.nr);
	must_push(&groups->rows, *key);
	return (uint32_t)groups->rows.nr - 1;
}

void call_groups_split(struct call_groups *groups, const struct recording *recording,
		       const uint32_t *rows)
{
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct call_row key = { groups->of_stacks[i], rows[i] };

		if (key.row != ANNOTATION_NONE)
			groups->of_stacks[i] =
				(uint32_t)groups->all.nr + find_or_add_row(groups, &key);
	}
}
