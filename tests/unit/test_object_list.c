/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that objects get, and get again. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "bpf/shared.h"
#include "profile/catalog.h"
#include "profile/object_list.h"

#define NR_SLOTS 5u /* one slot is unused */

static struct object objects[NR_SLOTS];
static struct object_list list;

static int setup(void **state)
{
	(void)state;
	memset(objects, 0, sizeof(objects));
	object_list_init(&list, NR_SLOTS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	object_list_fini(&list);
	return 0;
}

static void fill(void)
{
	for (uint32_t i = 0; i < NR_SLOTS - 1; i++)
		assert_int_equal(object_list_add(&list, &objects[i]), 0);
}

static void numbers_are_given_in_order(void **state)
{
	(void)state;
	fill();
	for (uint32_t i = 0; i < NR_SLOTS - 1; i++) {
		assert_int_equal(objects[i].id, i + 1);
		assert_int_equal(objects[i].slot, i + 1);
		assert_ptr_equal(object_list_at(&list, i + 1), &objects[i]);
	}
	assert_null(object_list_at(&list, 0));
	assert_null(object_list_at(&list, NR_SLOTS));
	assert_int_equal(list.live.nr, NR_SLOTS - 1);
}

static void few_ids_are_given_again_when_all_were(void **state)
{
	(void)state;
	list.nr_ids = 2 * NR_SLOTS;
	fill();
	for (uint32_t i = NR_SLOTS; i <= 5 * NR_SLOTS; i++) {
		struct object *object = &objects[i % (NR_SLOTS - 1)];

		object_list_remove(&list, object, false);
		assert_int_equal(object_list_add(&list, object), 0);
		assert_true(object->id >= 1 && object->id <= list.nr_ids);
		/* after as many others as can be free */
		if (i <= list.nr_ids)
			assert_int_equal(object->id, i);
		assert_ptr_equal(object_list_at(&list, object->id), object);
	}
}

static void a_slot_is_given_again_and_an_id_is_not(void **state)
{
	(void)state;
	fill();
	assert_int_equal(object_list_add(&list, &objects[NR_SLOTS - 1]), -ENOSPC);
	object_list_remove(&list, &objects[1], false);
	assert_null(object_list_at(&list, 2));
	assert_int_equal(list.live.nr, NR_SLOTS - 2);
	assert_int_equal(object_list_add(&list, &objects[NR_SLOTS - 1]), 0);
	assert_int_equal(objects[NR_SLOTS - 1].slot, 2);
	assert_int_equal(objects[NR_SLOTS - 1].id, NR_SLOTS);
	assert_null(object_list_at(&list, 2));
	assert_ptr_equal(object_list_at(&list, NR_SLOTS), &objects[NR_SLOTS - 1]);
}

/* Those that are left are each in the list once, whatever was taken out. */
static void remaining_objects_are_listed(void **state)
{
	(void)state;
	fill();
	object_list_remove(&list, &objects[0], false);
	object_list_remove(&list, &objects[2], false);
	assert_int_equal(list.live.nr, 2);
	for (size_t i = 0; i < list.live.nr; i++) {
		assert_int_equal(list.live.list[i]->place, i);
		assert_ptr_equal(object_list_at(&list, list.live.list[i]->id), list.live.list[i]);
	}
	object_list_remove(&list, &objects[1], false);
	object_list_remove(&list, &objects[3], false);
	assert_int_equal(list.live.nr, 0);
}

static void ids_begin_anew_when_all_were_given(void **state)
{
	(void)state;
	assert_int_equal(object_list_add(&list, &objects[0]), 0);
	for (uint32_t id = 2; id <= FPL_FRAME_OBJECT_MAX; id++) {
		assert_int_equal(object_list_add(&list, &objects[1]), 0);
		assert_int_equal(objects[1].id, id);
		object_list_remove(&list, &objects[1], false);
	}
	/* 1 is in use */
	assert_int_equal(object_list_add(&list, &objects[1]), 0);
	assert_int_equal(objects[1].id, 2);
	assert_int_equal(list.by_id.nr, FPL_FRAME_OBJECT_MAX);
}

static void objects_are_counted_by_owner(void **state)
{
	(void)state;
	objects[1].owner = objects[3].owner = 1000;
	fill();
	assert_int_equal(share_used(&list.owners, 0), 2);
	assert_int_equal(share_used(&list.owners, 1000), 2);
	assert_int_equal(share_used(&list.owners, 1001), 0);
	object_list_remove(&list, &objects[3], false);
	assert_int_equal(share_used(&list.owners, 1000), 1);
}

/* Beyond the limit of users, the last ones share a count. */
static void too_many_owners_are_one(void **state)
{
	static struct object others[SHARE_OWNERS_MAX + 2];
	struct object_list many;

	(void)state;
	object_list_init(&many, SHARE_OWNERS_MAX + 3);
	for (uint32_t i = 0; i < SHARE_OWNERS_MAX + 2; i++) {
		others[i].owner = i;
		assert_int_equal(object_list_add(&many, &others[i]), 0);
	}
	assert_int_equal(share_used(&many.owners, 0), 1);
	assert_int_equal(share_used(&many.owners, SHARE_OWNERS_MAX + 1), 3);
	object_list_remove(&many, &others[SHARE_OWNERS_MAX + 1], false);
	assert_int_equal(share_used(&many.owners, SHARE_OWNERS_MAX), 2);
	object_list_fini(&many);
}

static void an_id_that_is_kept_is_never_given_again(void **state)
{
	(void)state;
	fill();
	object_list_remove(&list, &objects[1], true);
	object_list_remove(&list, &objects[2], false);
	assert_null(object_list_at(&list, 2));
	list.last_id = FPL_FRAME_OBJECT_MAX; /* all ids have been given once */
	assert_int_equal(object_list_add(&list, &objects[1]), 0);
	assert_int_equal(objects[1].id, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_given_in_order),
		TEST(few_ids_are_given_again_when_all_were),
		TEST(a_slot_is_given_again_and_an_id_is_not),
		TEST(remaining_objects_are_listed),
		TEST(ids_begin_anew_when_all_were_given),
		TEST(objects_are_counted_by_owner),
		TEST(too_many_owners_are_one),
		TEST(an_id_that_is_kept_is_never_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
