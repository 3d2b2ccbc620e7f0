/* SPDX-License-Identifier: Apache-2.0 */
/* The objects behind this process's own mappings, read by a real worker. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc/proc_maps.h"
#include "profile/catalog.h"

#define FILES_MAX 3u

/* The executable mappings of the first few files. */
struct files {
	struct file_hint hints[FILES_MAX];
	char paths[FILES_MAX][256];
	size_t nr;
};

static int take_map(const struct proc_map *map, void *ctx)
{
	struct files *files = ctx;

	if (!map->executable || map->path[0] != '/' || files->nr == FILES_MAX)
		return 0;
	snprintf(files->paths[files->nr], sizeof(files->paths[0]), "%s", map->path);
	files->hints[files->nr] = (struct file_hint){
		.pid = getpid(),
		.start = map->start,
		.end = map->end,
		.path = files->paths[files->nr],
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.inode = map->inode,
	};
	files->nr++;
	return 0;
}

struct world {
	struct parser *parser;
	struct files files;
};

static int make_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	return !world || parser_create(PARSER_FORK, &world->parser, NULL) ||
	       proc_maps_read(getpid(), take_map, &world->files, NULL) ||
	       world->files.nr < FILES_MAX;
}

static int drop_world(void **state)
{
	struct world *world = *state;

	parser_destroy(world->parser);
	free(world);
	return 0;
}

static void a_file_is_one_object_however_often_it_is_met(void **state)
{
	struct world *world = *state;
	struct catalog *catalog;
	struct object *first, *second;

	assert_int_equal(catalog_create(16, NULL, world->parser, &catalog, NULL), 0);
	first = catalog_object(catalog, &world->files.hints[0]);
	second = catalog_object(catalog, &world->files.hints[1]);
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_equal(catalog_object(catalog, &world->files.hints[0]), first);
	assert_int_equal(first->id, 1);
	assert_int_equal(second->id, 2);
	assert_int_not_equal(first->slot, second->slot);
	assert_int_equal(catalog_nr(catalog), 2);
	catalog_destroy(catalog);
}

static void files_beyond_the_slots_are_counted_once_and_have_no_object(void **state)
{
	struct world *world = *state;
	struct catalog *catalog;

	assert_int_equal(catalog_create(2, NULL, world->parser, &catalog, NULL), 0);
	assert_non_null(catalog_object(catalog, &world->files.hints[0]));
	for (int i = 0; i < 2; i++) {
		assert_null(catalog_object(catalog, &world->files.hints[1]));
		assert_null(catalog_object(catalog, &world->files.hints[2]));
	}
	assert_int_equal(catalog_nr(catalog), 1);
	assert_int_equal(catalog_nr_beyond(catalog), 2);
	assert_int_equal(catalog_nr_refused(catalog), 0);
	assert_non_null(catalog_object(catalog, &world->files.hints[0]));
	catalog_destroy(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_one_object_however_often_it_is_met,
						make_world, drop_world),
		cmocka_unit_test_setup_teardown(
			files_beyond_the_slots_are_counted_once_and_have_no_object, make_world,
			drop_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
