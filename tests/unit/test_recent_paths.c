/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/id_table.h"
#include "profile/object.h"
#include "profile/recent_paths.h"

static const uint8_t build_id[] = { 1, 2, 3, 4 };
static const uint8_t other_id[] = { 1, 2, 3, 5 };

static struct file_hint hint_of(const char *path, const uint8_t *id)
{
	return (struct file_hint){ .path = path, .build_id = id, .build_id_size = 4 };
}

static struct elf_file elf = { .fd = -1, .build_id_size = sizeof(build_id) };
static struct object object = { .elf = &elf };

static int make_recent(void **state)
{
	static struct recent_paths recent;

	memcpy(elf.build_id, build_id, sizeof(build_id));
	*state = &recent;
	return 0;
}

static int free_recent(void **state)
{
	recent_paths_clear(*state);
	return 0;
}

static void test_a_path_is_known_for_a_while(void **state)
{
	struct recent_paths *recent = *state;
	const struct file_hint hint = hint_of("/usr/lib/libx.so", build_id);

	assert_null(recent_paths_find(recent, &hint, 1000));
	recent_paths_note(recent, &hint, &object, 1000);
	assert_ptr_equal(recent_paths_find(recent, &hint, 1000), &object);
	assert_ptr_equal(recent_paths_find(recent, &hint, 999 + RECENT_PATHS_NS), &object);
	assert_null(recent_paths_find(recent, &hint, 1000 + RECENT_PATHS_NS));
	/* looking does not make it younger */
	recent_paths_note(recent, &hint, &object, 1000 + RECENT_PATHS_NS);
	assert_ptr_equal(recent_paths_find(recent, &hint, 1001 + RECENT_PATHS_NS), &object);
}

static void test_another_build_id_is_not_known(void **state)
{
	struct recent_paths *recent = *state;
	const struct file_hint hint = hint_of("/usr/lib/libx.so", build_id);
	struct file_hint other = hint_of("/usr/lib/libx.so", other_id);

	recent_paths_note(recent, &hint, &object, 1000);
	assert_null(recent_paths_find(recent, &other, 1001));
	other.build_id_size = 0; /* nor is a mapping without one */
	assert_null(recent_paths_find(recent, &other, 1001));
}

static void test_paths_of_one_set_displace_each_other(void **state)
{
	struct recent_paths *recent = *state;
	char path[32];
	struct file_hint hint = hint_of("/bin/first", build_id), other = hint_of(path, build_id);
	unsigned int nr_known = 0;

	recent_paths_note(recent, &hint, &object, 1000);
	for (unsigned int i = 0; i < 16 * RECENT_PATHS; i++) {
		snprintf(path, sizeof(path), "/bin/%u", i);
		recent_paths_note(recent, &other, &object, 1000);
		assert_ptr_equal(recent_paths_find(recent, &other, 1000), &object);
	}
	assert_null(recent_paths_find(recent, &hint, 1000));
	for (unsigned int i = 0; i < 16 * RECENT_PATHS; i++) {
		snprintf(path, sizeof(path), "/bin/%u", i);
		nr_known += recent_paths_find(recent, &other, 1000) != NULL;
	}
	assert_in_range(nr_known, RECENT_PATHS / 2, RECENT_PATHS);
}

/* Does the last of the @nr paths take a place that one of the others had? */
static bool displaces(struct recent_paths *recent, const char (*paths)[32], size_t nr)
{
	bool is_known = true;

	recent_paths_clear(recent);
	for (size_t i = 0; i < nr; i++) {
		const struct file_hint hint = hint_of(paths[i], build_id);

		recent_paths_note(recent, &hint, &object, 1000 + i);
	}
	for (size_t i = 0; i < nr; i++) {
		const struct file_hint hint = hint_of(paths[i], build_id);

		is_known = recent_paths_find(recent, &hint, 1000 + nr) && is_known;
	}
	return !is_known;
}

static uint64_t set_of(const char *path)
{
	return id_table_hash(0, path, strlen(path)) % (RECENT_PATHS / RECENT_PATHS_SET);
}

static void test_a_set_keeps_its_latest_paths(void **state)
{
	struct recent_paths *recent = *state;
	char paths[RECENT_PATHS_SET + 1][32] = { "/bin/first" };
	struct file_hint hint;
	size_t nr = 1;

	/* paths of the same set as the first */
	for (unsigned int i = 0; nr <= RECENT_PATHS_SET; i++) {
		assert_true(i < 100 * RECENT_PATHS);
		snprintf(paths[nr], sizeof(paths[nr]), "/bin/%u", i);
		nr += set_of(paths[nr]) == set_of(paths[0]);
	}
	assert_false(displaces(recent, paths, RECENT_PATHS_SET));
	assert_true(displaces(recent, paths, RECENT_PATHS_SET + 1));
	hint = hint_of(paths[0], build_id);
	assert_null(recent_paths_find(recent, &hint, 1100)); /* it was the oldest */
	for (size_t i = 1; i <= RECENT_PATHS_SET; i++) {
		hint = hint_of(paths[i], build_id);
		assert_non_null(recent_paths_find(recent, &hint, 1100));
	}
}

static void test_all_are_forgotten(void **state)
{
	struct recent_paths *recent = *state;
	const struct file_hint hint = hint_of("/usr/lib/libx.so", build_id);

	recent_paths_note(recent, &hint, &object, 1000);
	recent_paths_clear(recent);
	assert_null(recent_paths_find(recent, &hint, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_recent, free_recent)
		TEST(test_a_path_is_known_for_a_while),
		TEST(test_another_build_id_is_not_known),
		TEST(test_paths_of_one_set_displace_each_other),
		TEST(test_a_set_keeps_its_latest_paths),
		TEST(test_all_are_forgotten),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
