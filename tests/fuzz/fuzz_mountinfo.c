/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of /proc/PID/mountinfo and, behind a NUL, of /proc/PID/cgroup as hostile bytes: whoever
 * may mount with fusermount(1) chooses names in the first. Judged: the mount of cgroups found is in
 * a line of that type, lines of other mounts do not change it, and a line that shows all of the
 * hierarchy in front of all others does; the folder of a cgroup is in the mount; and a name as the
 * kernel writes it is read back. Of the first text as a list of mounts: each mount is found by its
 * number, a line more changes no other, and no overlay is local that is not in our own list, nor
 * any with a layer that is not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/mounts.h"
#include "proc/cgroup.h"
#include "proc/cgroup_memory.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* @first and @text [@size] as one text, which the caller frees. */
static char *joined(const char *first, const void *text, size_t size)
{
	char *both = malloc(strlen(first) + size + 1);

	REQUIRE(both);
	memcpy(stpcpy(both, first), text, size);
	both[strlen(first) + size] = '\0';
	return both;
}

static struct cgroup_mount mount_of(const char *first, const char *text)
{
	AUTO_FREE char *both = joined(first, text, strlen(text));
	struct cgroup_mount mount;

	cgroup_mount_parse(both, &mount);
	return mount;
}

static void check_mount(const char *text)
{
	struct cgroup_mount mount = mount_of("", text), again;

	REQUIRE(strlen(mount.path) < sizeof(mount.path));
	REQUIRE(!*mount.path || strstr(text, " - cgroup2"));
	REQUIRE(!mount.has_v1 || strstr(text, " - cgroup"));
	again = mount_of("1 2 0:3 / /other rw - cgroup3 cgroup2 rw\n- cgroup2\n", text);
	REQUIRE(!strcmp(again.path, mount.path) && again.has_v1 == mount.has_v1);
	again = mount_of("1 2 0:3 / /v1 rw shared:7 - cgroup cgroup2 rw\n", text);
	REQUIRE(!strcmp(again.path, mount.path) && again.has_v1);
	again = mount_of("1 2 0:3 / /all\\040of rw - cgroup2 x rw\n", text);
	REQUIRE(!strcmp(again.path, "/all of"));
	again = mount_of("1 2 0:3 /part /of rw - cgroup2 x rw\n", text);
	REQUIRE(*again.path);
}

static void check_memory(const char *mountinfo, const char *cgroups)
{
	AUTO_FREE char *mounts = joined("", mountinfo, strlen(mountinfo));
	AUTO_FREE char *own = joined("", cgroups, strlen(cgroups));
	AUTO_FREE char *folder = NULL;
	struct cgroup_memory_place place;

	if (cgroup_memory_find(own, mounts, &place))
		return;
	REQUIRE(place.path >= own && place.path + strlen(place.path) <= own + strlen(cgroups));
	REQUIRE(!place.v1 || (strstr(cgroups, "memory:") || strstr(cgroups, "memory,")));
	REQUIRE(strstr(mountinfo, place.v1 ? " - cgroup " : " - cgroup2 "));
	folder = cgroup_memory_folder(&place);
	REQUIRE(folder && !strncmp(folder, place.mount_point, strlen(place.mount_point)));
	REQUIRE(!strncmp(folder + strlen(place.mount_point), "/", 1) ||
		!folder[strlen(place.mount_point)]);
}

/* As seq_path() and mangle() of the kernel do. */
static void check_decode(const char *name)
{
	AUTO_FREE char *written = malloc(4 * strlen(name) + 5);
	char *to = written;

	REQUIRE(written);
	*to = '\0';
	for (const char *p = name; *p; p++)
		to += snprintf(to, 5, strchr(" \t\n\\#", *p) ? "\\%03o" : "%c", (unsigned char)*p);
	cgroup_path_decode(written);
	REQUIRE(!strcmp(written, name));
}

static bool has_overlay(const struct mount_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (list->mounts[i].is_overlay)
			return true;
	}
	return false;
}

static void check_list(const struct mount_list *list, const struct mount_list *own)
{
	static const struct mount_list none;

	for (size_t i = 0; i < list->nr; i++) {
		const struct mount *mount = &list->mounts[i], *same;

		same = mount_list_by_id(list, mount->id);
		REQUIRE(same && same <= mount && same->id == mount->id);
		same = mount_list_by_device(list, mount->dev_major, mount->dev_minor);
		REQUIRE(same && same <= mount);
		if (mount->point[0] == '/')
			REQUIRE(mount_list_by_path(list, mount->point));
		REQUIRE(!(mount->is_overlay && mount->is_local));
		REQUIRE(mount_is_local(mount, &none) == mount->is_local);
		/* what is not local by its type is so as an overlay of @own alone */
		if (mount_is_local(mount, own))
			REQUIRE(mount->is_local || has_overlay(own));
	}
}

/* The list of a target's namespace is read by ours, which another line makes no shorter. */
static void check_mounts(const char *text)
{
	static const char overlay[] = "7 1 0:77 / / rw - fuse x rw\n8 7 0:78 / /o rw - overlay o "
				      "ro,lowerdir=/a:/b\\:c,upperdir=/d\n";
	struct mount_list list, own;

	REQUIRE(!mount_list_parse(joined("", text, strlen(text)), &list));
	REQUIRE(!mount_list_parse(joined("7 1 0:77 / /server rw - fuse x rw\n", text, strlen(text)),
				  &own));
	REQUIRE(own.nr == list.nr + 1 || list.nr == MOUNTS_MAX);
	check_list(&list, &own);
	mount_list_fini(&own);
	REQUIRE(!mount_list_parse(joined("", overlay, strlen(overlay)), &own));
	REQUIRE(own.nr == 2 && !mount_is_local(&own.mounts[1], &own));
	check_list(&list, &own);
	mount_list_fini(&own);
	mount_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = joined("", data, size);
	const char *cgroups = text + strlen(text) + (strlen(text) < size);

	check_mount(text);
	check_mounts(text);
	check_memory(text, cgroups);
	check_decode(text);
	return 0;
}
