/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/mounts.h"

#define ROOT "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"

static struct mount_list parsed(const char *text)
{
	struct mount_list list;

	assert_int_equal(mount_list_parse(strdup(text), &list), 0);
	return list;
}

static void local_file_systems_are_recognised_by_type(void **state)
{
	static const struct {
		const char *what, *type;
		bool is_local;
	} cases[] = {
		{ "a disk", "ext4", true },
		{ "memory", "tmpfs", true },
		{ "an image", "squashfs", true },
		{ "another machine", "nfs4", false },
		{ "another machine, too", "cifs", false },
		{ "a process", "fuse", false },
		{ "a process that says it is a disk", "fuse.ext4", false },
		{ "a process with a disk", "fuseblk", false },
		{ "the host of a guest", "virtiofs", false },
		{ "not heard of", "newfs", false },
		{ "the beginning of one", "ext", false },
		{ "mounted when it is asked", "autofs", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];

		snprintf(text, sizeof(text), ROOT "30 27 0:40 / /m rw - %s what rw\n",
			 cases[i].type);

		struct mount_list list = parsed(text);
		const struct mount *mount = mount_list_by_id(&list, 30);

		if (!mount || mount_is_local(mount, &list) != cases[i].is_local)
			fail_msg("%s", cases[i].what);
		mount_list_fini(&list);
	}
}

static void overlay_is_local_if_its_layers_are(void **state)
{
#define OVER(options)                                     \
	ROOT "40 27 0:50 / /data rw - nfs4 server:/ rw\n" \
	     "41 27 0:51 / /m rw - overlay overlay " options "\n"
	static const struct {
		const char *what, *own;
		bool is_local;
	} cases[] = {
		{ "all on a disk", OVER("rw,lowerdir=/a:/b,upperdir=/c,workdir=/data/w,index=off"),
		  true },
		{ "a lower one elsewhere", OVER("rw,lowerdir=/a:/data/b,upperdir=/c,workdir=/w"),
		  false },
		{ "the upper one elsewhere", OVER("rw,lowerdir=/a,upperdir=/data,workdir=/w"),
		  false },
		{ "one beside that", OVER("rw,lowerdir=/a:/database"), true },
		{ "one by one", OVER("rw,lowerdir+=/a,lowerdir+=/data/x"), false },
		{ "data alone", OVER("rw,lowerdir=/a::/data/x"), false },
		{ "with a colon in its name", OVER("rw,lowerdir=/a\\134:/data"), true },
		{ "relative to who knows what", OVER("rw,lowerdir=l/A:l/B"), false },
		{ "without layers", OVER("rw"), false },
		{ "made elsewhere", ROOT, false },
		{ "the number is another one's by now",
		  ROOT "41 27 0:51 / /m rw - ext4 /dev/vdb rw\n", false },
		{ "on one that is local",
		  OVER("rw,lowerdir=/n/x") "42 27 0:52 / /n rw - overlay o rw,lowerdir=/a\n",
		  true },
		{ "on one that is not",
		  OVER("rw,lowerdir=/n/x") "42 27 0:52 / /n rw - overlay o rw,lowerdir=/data\n",
		  false },
		{ "on itself", OVER("rw,lowerdir=/m/x"), false },
		{ "our own root", "27 1 0:51 / / rw - overlay overlay rw,lowerdir=/host/a\n",
		  true },
	};
	struct mount_list theirs = parsed("99 98 0:51 / / rw - overlay overlay rw,lowerdir=/a\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mount_list own = parsed(cases[i].own);

		/* found in another namespace, which says what its maker wants */
		if (mount_is_local(&theirs.mounts[0], &own) != cases[i].is_local)
			fail_msg("%s", cases[i].what);
		mount_list_fini(&own);
	}
	mount_list_fini(&theirs);
}

static void the_longest_beginning_of_a_path_counts(void **state)
{
	struct mount_list list = parsed(ROOT "30 27 0:30 / /home rw - tmpfs t rw\n"
					     "31 30 0:31 / /home/u\\040v rw - fuse.x f rw\n"
					     "32 30 0:32 / /home rw - xfs on_top rw\n");
	static const struct {
		const char *path;
		uint64_t id;
	} cases[] = {
		{ "/", 27 },	       { "/usr/bin/x", 27 }, { "/home", 32 },
		{ "/homes/x", 27 },    { "/home/u", 32 },    { "/home/u v", 31 },
		{ "/home/u v/x", 31 }, { "/home/u vw", 32 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mount *mount = mount_list_by_path(&list, cases[i].path);

		if (!mount || mount->id != cases[i].id)
			fail_msg("%s", cases[i].path);
	}
	assert_null(mount_list_by_path(&list, "relative"));
	assert_int_equal(mount_list_by_device(&list, 0, 31)->id, 31);
	assert_null(mount_list_by_device(&list, 1, 31));
	mount_list_fini(&list);
}

static void lines_that_make_no_sense_are_skipped(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"x",
		"30 27 0:40 / /m rw",
		"30 27 0:40 / /m rw -",
		"30 27 0:40 / /m rw - ",
		"30 27 0:40 / /m rw - ext4",
		"30 27 0:40 / /m rw - ext4 x",
		"a 27 0:40 / /m rw - ext4 x y",
		"30 27 0 / /m rw - ext4 x y",
		"30 27 0:40 / /m rw shared:1 ext4 x y",
		" - - - - - - - -",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct mount_list list = parsed(texts[i]);

		if (list.nr)
			fail_msg("%s", texts[i]);
		mount_list_fini(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_file_systems_are_recognised_by_type),
		cmocka_unit_test(overlay_is_local_if_its_layers_are),
		cmocka_unit_test(the_longest_beginning_of_a_path_counts),
		cmocka_unit_test(lines_that_make_no_sense_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
