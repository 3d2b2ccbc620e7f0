/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of the cgroup, found from files as kernels and container engines have them. */
#include "cmocka_all.h"

#include "../support/tree.h"
#include "base/cleanup.h"
#include "proc/cgroup_memory.h"

#define MIB (UINT64_C(1) << 20)

#define V2_MOUNT "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                     \
	"31 22 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" \
	"32 22 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

/* A file, and what is in it. */
struct put {
	const char *path, *text;
};

static const struct {
	const char *what, *cgroup, *mounts;
	struct put files[4];
	uint64_t limit;
} cases[] = {
	{ "no cgroups", "", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", { { 0 } }, CGROUP_NO_LIMIT },
	{ "no limit",
	  "0::/a\n",
	  V2_MOUNT,
	  { { "sys/fs/cgroup/a/memory.max", "max\n" } },
	  CGROUP_NO_LIMIT },
	{ "its own",
	  "0::/a\n",
	  V2_MOUNT,
	  { { "sys/fs/cgroup/a/memory.max", "25165824\n" } },
	  24 * MIB },
	{ "of a parent",
	  "0::/a/b/c\n",
	  V2_MOUNT,
	  { { "sys/fs/cgroup/a/memory.max", "16777216\n" },
	    { "sys/fs/cgroup/a/b/memory.max", "33554432\n" },
	    { "sys/fs/cgroup/a/b/c/memory.max", "max\n" } },
	  16 * MIB },
	{ "the root of a namespace, which has a limit there",
	  "0::/\n",
	  V2_MOUNT,
	  { { "sys/fs/cgroup/memory.max", "67108864\n" } },
	  64 * MIB },
	{ "beyond the namespace: what is mounted is what can be seen",
	  "0::/../../other\n",
	  V2_MOUNT,
	  { { "sys/fs/cgroup/memory.max", "max\n" } },
	  CGROUP_NO_LIMIT },
	{ "a part of the hierarchy is mounted, as in containers",
	  "0::/docker/1/sub\n",
	  "30 22 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
	  { { "sys/fs/cgroup/sub/memory.max", "8388608\n" } },
	  8 * MIB },
	{ "blanks",
	  "0::/a\n",
	  "30 22 0:26 / /sys/fs/c\\040g rw - cgroup2 cgroup2 rw\n",
	  { { "sys/fs/c g/a/memory.max", "8388608" } },
	  8 * MIB },
	{ "version 1, beside a version 2 without memory",
	  "3:cpu:/x\n2:memory:/a/b\n0::/c\n",
	  V2_MOUNT V1_MOUNTS,
	  { { "sys/fs/cgroup/memory/a/b/memory.stat",
	      "cache 1\nhierarchical_memory_limit 25165824\n" },
	    { "sys/fs/cgroup/c/memory.max", "1048576\n" } },
	  24 * MIB },
	{ "version 1 without a limit",
	  "2:memory:/\n",
	  V1_MOUNTS,
	  { { "sys/fs/cgroup/memory/memory.stat",
	      "hierarchical_memory_limit 9223372036854771712\n" } },
	  CGROUP_NO_LIMIT },
	{ "lines cut short",
	  "0:\n::\nmemory\n2:memory",
	  "- cgroup2\n1 2 - cgroup2 x y\n - \n",
	  { { 0 } },
	  CGROUP_NO_LIMIT },
};

static void the_least_limit_that_can_be_seen_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tree tree;
		uint64_t limit;

		tree_init(&tree);
		tree_put(&tree, "proc/self/cgroup", cases[i].cgroup);
		tree_put(&tree, "proc/self/mountinfo", cases[i].mounts);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].files) && cases[i].files[j].path; j++)
			tree_put(&tree, cases[i].files[j].path, cases[i].files[j].text);
		limit = cgroup_memory_limit(tree.root);
		tree_fini(&tree);
		if (limit != cases[i].limit)
			fail_msg("%s: %ju", cases[i].what, (uintmax_t)limit);
	}
}

static void missing_files_give_no_limit(void **state)
{
	(void)state;
	assert_true(cgroup_memory_limit("/nonexistent") == CGROUP_NO_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_limit_that_can_be_seen_counts),
		cmocka_unit_test(missing_files_give_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
