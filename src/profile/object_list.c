/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/object_list.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/shared.h"
#include "profile/object.h"

void object_list_init(struct object_list *list, uint32_t nr_slots)
{
	*list = (struct object_list){ .nr_slots = nr_slots,
				      .next_slot = 1,
				      .nr_ids = FPL_FRAME_OBJECT_MAX };
}

void object_list_fini(struct object_list *list)
{
	vector_fini(&list->by_id);
	vector_fini(&list->live);
	vector_fini(&list->free_slots);
	*list = (struct object_list){ 0 };
}

/* Stands where an id is not to be given again. */
static struct object kept_id;

struct object *object_list_at(const struct object_list *list, uint32_t id)
{
	struct object *object = id >= 1 && id <= list->by_id.nr ? list->by_id.list[id - 1] : NULL;

	return object != &kept_id ? object : NULL;
}

/* Returns 0 where all ids are in use. */
static uint32_t next_id(const struct object_list *list)
{
	uint32_t id = list->last_id;

	for (uint32_t i = 0; i < list->nr_ids; i++) {
		id = id % list->nr_ids + 1;
		if (id > list->by_id.nr || !list->by_id.list[id - 1])
			return id;
	}
	return 0;
}

/* Room for one more object, also among what may be given back. */
static int reserve(struct object_list *list, uint32_t id)
{
	size_t nr = list->live.nr + 1;
	int code = vector_reserve(&list->by_id, id);

	if (!code)
		code = vector_reserve(&list->live, nr);
	return code ? code : vector_reserve(&list->free_slots, list->free_slots.nr + nr);
}

int object_list_add(struct object_list *list, struct object *object)
{
	uint32_t id = next_id(list);

	if (!id || (!list->free_slots.nr && list->next_slot >= list->nr_slots))
		return -ENOSPC;
	if (reserve(list, id))
		return -ENOMEM;
	object->id = list->last_id = id;
	if (id > list->by_id.nr)
		list->by_id.nr = id;
	list->by_id.list[id - 1] = object;
	object->slot = list->free_slots.nr ? list->free_slots.list[--list->free_slots.nr]
					   : (uint16_t)list->next_slot++;
	object->place = list->live.nr;
	list->live.list[list->live.nr++] = object;
	share_take(&list->owners, object->owner, 1);
	return 0;
}

void object_list_remove(struct object_list *list, struct object *object, bool keep_id)
{
	struct object *last = list->live.list[--list->live.nr];

	list->live.list[object->place] = last;
	last->place = object->place;
	list->by_id.list[object->id - 1] = keep_id ? &kept_id : NULL;
	list->free_slots.list[list->free_slots.nr++] = object->slot;
	share_give_back(&list->owners, object->owner, 1);
}
