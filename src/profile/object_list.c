/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/object_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "bpf/shared.h"
#include "profile/object.h"

void object_list_init(struct object_list *list, uint32_t nr_slots)
{
	*list = (struct object_list){ .nr_slots = nr_slots, .next_slot = 1 };
}

void object_list_fini(struct object_list *list)
{
	free(list->by_id);
	free(list->live);
	free(list->free_slots);
	*list = (struct object_list){ 0 };
}

/* Stands where an id is not to be given again. */
static struct object kept_id;

struct object *object_list_at(const struct object_list *list, uint32_t id)
{
	struct object *object = id >= 1 && id <= list->max_id ? list->by_id[id - 1] : NULL;

	return object != &kept_id ? object : NULL;
}

/* Returns 0 where all ids are in use. */
static uint32_t next_id(const struct object_list *list)
{
	uint32_t id = list->last_id;

	for (uint32_t i = 0; i < FPL_FRAME_OBJECT_MAX; i++) {
		id = id % FPL_FRAME_OBJECT_MAX + 1;
		if (id > list->max_id || !list->by_id[id - 1])
			return id;
	}
	return 0;
}

/* Room for one more object, also among what may be given back. */
static int reserve(struct object_list *list, uint32_t id)
{
	size_t nr = list->nr_live + 1;

	if (array_reserve(&list->by_id, sizeof(*list->by_id), &list->id_room, id) ||
	    array_reserve(&list->live, sizeof(struct object *), &list->live_room, nr) ||
	    array_reserve(&list->free_slots, sizeof(*list->free_slots), &list->free_room,
			  list->nr_free + nr))
		return -ENOMEM;
	return 0;
}

int object_list_add(struct object_list *list, struct object *object)
{
	uint32_t id = next_id(list);

	if (!id || (!list->nr_free && list->next_slot >= list->nr_slots))
		return -ENOSPC;
	if (reserve(list, id))
		return -ENOMEM;
	object->id = list->last_id = id;
	if (id > list->max_id)
		list->max_id = id;
	list->by_id[id - 1] = object;
	object->slot =
		list->nr_free ? list->free_slots[--list->nr_free] : (uint16_t)list->next_slot++;
	object->place = list->nr_live;
	list->live[list->nr_live++] = object;
	share_take(&list->owners, object->owner, 1);
	return 0;
}

void object_list_remove(struct object_list *list, struct object *object, bool keep_id)
{
	struct object *last = list->live[--list->nr_live];

	list->live[object->place] = last;
	last->place = object->place;
	list->by_id[object->id - 1] = keep_id ? &kept_id : NULL;
	list->free_slots[list->nr_free++] = object->slot;
	share_give_back(&list->owners, object->owner, 1);
}
