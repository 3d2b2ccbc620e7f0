/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tell local file systems from those served by a process (FUSE) or another machine (NFS), which may
 * never answer. The kernel's list of mounts tells, without asking any of them:
 * proc_pid_mountinfo(5). A pure parser, and judgements about its results.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MOUNTS_MAX	(1u << 16) /* limit of mounts read; a kernel allows 100,000 in a namespace */
#define MOUNTS_TEXT_MAX (16u << 20) /* bytes of a list */

struct mount {
	uint64_t id;
	uint32_t dev_major, dev_minor;
	bool is_overlay, is_local; /* by its type; an overlay depends on its layers */
	const char *point;	   /* mount point, unescaped; another user may have chosen it */
	const char *type;
	const char *options; /* of an overlay, unescaped: its layers */
};

/* The mounts of a mount namespace, in the kernel's order: a mount on top of another comes later. */
struct mount_list {
	char *text;	      /* owned: all strings are in it */
	struct mount *mounts; /* owned [nr] */
	size_t nr, room;
};

/*
 * Parse @text, as in /proc/PID/mountinfo, which must be on the heap and is taken over, also on
 * failure. Malformed lines are skipped: a mount missing from the list is not local. Errors:
 * -ENOMEM.
 */
FPL_MUST_CHECK int mount_list_parse(char *text, struct mount_list *ret);
void mount_list_fini(struct mount_list *list);

/* The mount of this number, or NULL. */
const struct mount *mount_list_by_id(const struct mount_list *list, uint64_t id);

/* The first mount of the file system with this number, or NULL. */
const struct mount *mount_list_by_device(const struct mount_list *list, uint32_t dev_major,
					 uint32_t dev_minor);

/*
 * The mount that holds the absolute path @path, by its text alone: the one with the longest prefix.
 */
const struct mount *mount_list_by_path(const struct mount_list *list, const char *path);

/*
 * Is the file system at @mount local? These are ext2 to ext4, xfs, btrfs, f2fs, bcachefs, zfs,
 * tmpfs, ramfs, hugetlbfs, squashfs, erofs, iso9660, vfat and exfat; an overlay in @own, the list
 * of the caller's namespace (so it was not made in a user namespace), if @own shows all its layers
 * to be local; and an overlay that is the root of @own.
 */
bool mount_is_local(const struct mount *mount, const struct mount_list *own);
