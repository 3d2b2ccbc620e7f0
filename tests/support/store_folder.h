/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with a store for each test. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/store.h"

static const struct store_limits unlimited = { 0 };
static const struct store_range all = { 0, INT64_MAX, NULL, NULL, NULL };

/* A folder of its own for each test. */
static char folder[64], path[96];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_store.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/" STORE_FILE, folder);
	return 0;
}

static int remove_folder(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char name[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		unlink(name);
	}
	return rmdir(folder);
}

static struct store *open_store(const struct store_limits *limits)
{
	struct store *store = NULL;
	struct fpl_err err = { 0 };

	if (store_open_to_write(folder, limits, &store, &err))
		fail_msg("%s", err.msg);
	return store;
}
