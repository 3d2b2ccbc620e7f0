/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/name_key.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "obj/blake2b.h"
#include "obj/file_stat.h"
#include "obj/identity.h"
#include "obj/opener.h"

#define NS_PER_S 1000000000ll
/* Times of files are those of the last tick; where they have no fraction, of the last second. */
#define TICK_NS	   (NS_PER_S / 20)
#define WHOLE_S_NS (2 * NS_PER_S)

/* Could the file be changed once more without another stamp? */
static bool is_fresh(const struct stat *st, const struct file_stamp *stamp)
{
	bool has_fraction = st->st_ctim.tv_nsec || st->st_mtim.tv_nsec;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return stamp->ctime_ns >
	       now.tv_sec * NS_PER_S + now.tv_nsec - (has_fraction ? TICK_NS : WHOLE_S_NS);
}

static int image_key(int fd, bool mangled, struct name_key *ret)
{
	static const char what[] = "names of an image";
	const uint8_t flag = mangled;
	AUTO_FREE uint8_t *bytes = malloc(NAME_KEY_IMAGE_MAX + 1);
	struct blake2b hash;
	ssize_t n = bytes ? pread(fd, bytes, NAME_KEY_IMAGE_MAX + 1, 0) : -1;

	if (n <= 0 || n > NAME_KEY_IMAGE_MAX)
		return -ENODATA;
	blake2b_init(&hash, NAME_KEY_SIZE);
	blake2b_update(&hash, what, sizeof(what));
	blake2b_update(&hash, &flag, sizeof(flag));
	blake2b_update(&hash, bytes, (size_t)n);
	blake2b_final(&hash, ret->bytes);
	return 0;
}

int name_key_read(int fd, const char *path, bool mangled, struct name_key *ret)
{
	static const char what[] = "names";
	struct file_stamp stamp;
	struct blake2b hash;
	struct statfs fs;
	struct stat st;
	int code;

	if (path[0] != '/')
		return image_key(fd, mangled, ret);
	code = file_stat(fd, &st, NULL);
	if (code)
		return code;
	/* a file system that asks a process or a server is not asked what it is */
	if (opener_holds_place(fd))
		return -ENODATA;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	stamp = file_stamp_of(&st);
	if (!S_ISREG(st.st_mode) || !st.st_nlink || fs.f_type == FUSE_SUPER_MAGIC ||
	    is_fresh(&st, &stamp))
		return -ENODATA;

	const uint64_t facts[] = { st.st_uid, mangled };

	blake2b_init(&hash, NAME_KEY_SIZE);
	blake2b_update(&hash, what, sizeof(what));
	blake2b_update(&hash, &stamp, sizeof(stamp));
	blake2b_update(&hash, facts, sizeof(facts));
	blake2b_final(&hash, ret->bytes);
	return 0;
}
