/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_key.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "obj/blake2b.h"
#include "obj/file_stat.h"

static void add_u64(struct blake2b *hash, uint64_t value)
{
	blake2b_update(hash, &value, sizeof(value));
}

/*
 * The users who could have written the file; with its stamp where device numbers are not permanent.
 */
static void add_file(struct blake2b *hash, const struct stat *st, const struct file_stamp *stamp,
		     bool with_stamp)
{
	add_u64(hash, st->st_dev);
	add_u64(hash, st->st_uid);
	add_u64(hash, with_stamp);
	if (with_stamp)
		blake2b_update(hash, stamp, sizeof(*stamp));
}

static int read_file(int fd, struct stat *st, struct file_stamp *stamp)
{
	int code = fd < 0 ? -ENODATA : file_stat(fd, st, NULL);

	if (!code)
		*stamp = file_stamp_of(st);
	return code;
}

/* May entries outlive the file, and be read for others of its owner? */
static bool is_told_by_owner(const struct stat *st)
{
	return major(st->st_dev) != 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int table_key_read(const struct elf_file *elf, const struct identity *identity,
		   const struct file_stamp *stamp, int debug_fd, bool synth, struct table_key *ret)
{
	struct file_stamp seen;
	struct blake2b hash;
	struct stat st;
	int code = read_file(elf->fd, &st, &seen);

	if (code)
		return code;
	if (memcmp(&seen, stamp, sizeof(seen)) != 0)
		return -ESTALE;
	blake2b_init(&hash, TABLE_KEY_SIZE);
	blake2b_update(&hash, identity, sizeof(*identity));
	add_file(&hash, &st, &seen, !is_told_by_owner(&st));
	add_u64(&hash, synth);
	add_u64(&hash, debug_fd >= 0);
	if (debug_fd >= 0) {
		code = read_file(debug_fd, &st, &seen);
		if (code)
			return code;
		/* it has no identity here: its stamp says which file it was */
		add_file(&hash, &st, &seen, true);
	}
	blake2b_final(&hash, ret->bytes);
	return 0;
}
