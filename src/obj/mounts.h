/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file systems answer by themselves, and which ask somebody else, who may never answer: a
 * process (FUSE) or another machine (NFS). The kernel's list of mounts tells, without asking any of
 * them: proc_pid_mountinfo(5). A pure parser, and judgements over what it found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MOUNTS_MAX	(1u << 16)  /* taken in; a kernel allows 100,000 in a namespace */
#define MOUNTS_TEXT_MAX (16u << 20) /* bytes of a list */

struct mount {
	uint64_t id;
	uint32_t dev_major, dev_minor;
	bool is_overlay, is_local; /* by its type; an overlay is what its layers are */
	const char *point;	   /* where it is, unescaped; a stranger may have chosen it */
	const char *type;
	const char *options; /* of an overlay, unescaped: they name its layers */
};

/* The mounts of a mount namespace, in the kernel's order: what is on top of another comes later. */
struct mount_list {
	char *text;	      /* owned: all strings are in it */
	struct mount *mounts; /* owned [nr] */
	size_t nr, room;
};

/*
 * Take in @text, as /proc/PID/mountinfo has it, which must be on the heap and is taken over, also
 * on failure. Lines that make no sense are skipped: what is not in the list is not local. Errors:
 * -ENOMEM.
 */
FPL_MUST_CHECK int mount_list_parse(char *text, struct mount_list *ret);
void mount_list_fini(struct mount_list *list);

/* The mount of this number, or NULL. */
const struct mount *mount_list_by_id(const struct mount_list *list, uint64_t id);

/* The first mount of the file system of this number, or NULL. */
const struct mount *mount_list_by_device(const struct mount_list *list, uint32_t dev_major,
					 uint32_t dev_minor);

/* What absolute @path is in, as far as its text says: the mount with the longest beginning. */
const struct mount *mount_list_by_path(const struct mount_list *list, const char *path);

/*
 * Does what is mounted at @mount answer by itself? That is said of ext2 to ext4, xfs, btrfs, f2fs,
 * bcachefs, zfs, tmpfs, ramfs, hugetlbfs, squashfs, erofs, iso9660, vfat and exfat, and of an
 * overlay that @own, the list of the caller's namespace, holds (so nobody made it in a user
 * namespace), if that is so of all its layers, where @own says they are; and of one that is the
 * root of @own.
 */
bool mount_is_local(const struct mount *mount, const struct mount_list *own);
