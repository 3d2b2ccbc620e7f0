/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/run_user.h"
#include "base/vector.h"

#define SHARED_MODE  02750 /* what is made in it gets its group */
#define ASIDE	     "writing-"
#define ASIDE_KEPT_S 3600
/* More files than this are removed at once: 256 MiB of tables are some thousand files. */
#define FILES_MAX 65536u

static bool is_name(const char *text)
{
	return strlen(text) == CACHE_NAME_SIZE &&
	       strspn(text, "0123456789abcdef") == CACHE_NAME_SIZE;
}

static bool is_aside_name(const char *text)
{
	return strncmp(text, ASIDE, strlen(ASIDE)) == 0;
}

static DIR *open_listing(int folder_fd)
{
	AUTO_FD int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)TAKE_FD(fd); /* the stream's */
	return dir;
}

/* Does the folder hold nothing but a cache's files? */
static bool holds_cache_alone(int folder_fd)
{
	DIR *dir = open_listing(folder_fd);
	bool alone = dir != NULL;

	for (struct dirent *entry; alone && (entry = readdir(dir));)
		alone = is_name(entry->d_name) || is_aside_name(entry->d_name) ||
			!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return alone;
}

/*
 * Give the folder to @user, the identity of the run when it writes; root, without capabilities,
 * reads by the group. A folder that holds other files is not given away: no new file is cached
 * then.
 */
static bool give(const struct cache_folder *folder, int fd, const struct stat *st,
		 const struct run_user *user)
{
	if (st->st_uid == user->uid && !st->st_gid && (st->st_mode & 07777) == SHARED_MODE)
		return true;
	if (!holds_cache_alone(fd)) {
		fpl_log(FPL_LOG_WARN,
			"%s: holds other files, so user %u does not get it: nothing new is cached",
			folder->path, user->uid);
		return false;
	}
	return fchown(fd, user->uid, 0) == 0 && fchmod(fd, SHARED_MODE) == 0;
}

/*
 * Is @uid the user who opened the folder, or one that root's runs switch to, with and without the
 * package?
 */
static bool is_own(const struct cache_folder *folder, uid_t uid)
{
	return uid == folder->opener || uid == folder->owner ||
	       (folder->opener == 0 && uid == RUN_USER_UID);
}

/* Is the folder open at @fd, taken over, owned by the user? @st: its attributes. */
static int take(struct cache_folder *folder, int owned_fd, const struct stat *st, bool make,
		struct fpl_err *err)
{
	AUTO_FD int fd = owned_fd;
	struct run_user user;
	bool gives = run_user_find(&user) && make;
	bool is_given = st->st_uid != geteuid() && !st->st_gid;

	folder->opener = geteuid();
	folder->owner = user.uid;
	if (!is_own(folder, st->st_uid))
		return fpl_fail(err, -EPERM, "%s: belongs to user %u", folder->path, st->st_uid);
	if (st->st_mode & (is_given ? 027 : 077))
		return fpl_fail(err, -EPERM, "%s: other users may use it (mode %03o, expected 700)",
				folder->path, st->st_mode & 0777);
	folder->is_shared = gives && give(folder, fd, st, &user);
	if (!folder->is_shared)
		folder->owner = st->st_uid;
	folder->fd = TAKE_FD(fd);
	return 0;
}

int cache_folder_open(const char *path, bool make, struct cache_folder *ret, struct fpl_err *err)
{
	int n = snprintf(ret->path, sizeof(ret->path), "%s", path);
	struct stat st;

	if (n < 0 || (size_t)n >= sizeof(ret->path))
		return fpl_fail(err, -ENAMETOOLONG, "%.64s...: %s", path, strerror(ENAMETOOLONG));
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));

	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		int code = errno;

		/* O_DIRECTORY calls a link ENOTDIR */
		if (code == ENOTDIR && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
			code = ELOOP;
		return fpl_fail(err, -code, "%s: %s", path,
				code == ELOOP ? "is a symbolic link" : strerror(code));
	}
	if (fstat(fd, &st) < 0)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	return take(ret, TAKE_FD(fd), &st, make, err);
}

void cache_folder_close(struct cache_folder *folder)
{
	cleanup_fd(&folder->fd);
	folder->fd = -1;
}

int cache_folder_read(const struct cache_folder *folder, const struct cache_name *name,
		      struct stat *ret_stat, struct fpl_err *err)
{
	AUTO_FD int fd = openat(folder->fd, name->text,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return fpl_fail(err, -errno, "%s", strerror(errno));
	if (fstat(fd, ret_stat) < 0)
		return fpl_fail(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(ret_stat->st_mode))
		return fpl_fail(err, -EPERM, "no regular file");
	if (!is_own(folder, ret_stat->st_uid) || ret_stat->st_mode & 022)
		return fpl_fail(err, -EPERM, "other users could have written it");
	return TAKE_FD(fd);
}

static int create(const struct cache_folder *folder, struct cache_file *ret)
{
	static unsigned int nr_asides;

	ret->aside[0] = '\0';
	/* without a name nothing can be left behind */
	ret->fd = openat(folder->fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (ret->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return ret->fd < 0 ? -errno : 0;
	snprintf(ret->aside, sizeof(ret->aside), ASIDE "%d-%u", (int)getpid(),
		 __atomic_add_fetch(&nr_asides, 1, __ATOMIC_RELAXED));
	ret->fd = openat(folder->fd, ret->aside, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	return ret->fd < 0 ? -errno : 0;
}

int cache_folder_create(const struct cache_folder *folder, struct cache_file *ret)
{
	int code = create(folder, ret);

	/* a report replaces a file that root cannot read */
	if (!code && folder->is_shared)
		(void)!fchmod(ret->fd, 0640);
	return code;
}

/* Give the file without a name the name it is to have. */
static int link_file(const struct cache_folder *folder, int fd, const char *name)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, folder->fd, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	/* the existing file is of another version, damaged, or as good as this one */
	if (errno != EEXIST || (unlinkat(folder->fd, name, 0) < 0 && errno != ENOENT))
		return -errno;
	if (linkat(AT_FDCWD, self, folder->fd, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? 0 : -errno; /* another fpless was faster */
}

int cache_folder_commit(const struct cache_folder *folder, struct cache_file *file,
			const struct cache_name *name)
{
	int code = 0;

	if (name && !file->aside[0])
		code = link_file(folder, file->fd, name->text);
	else if (name && renameat(folder->fd, file->aside, folder->fd, name->text) < 0)
		code = -errno;
	if (file->aside[0] && (!name || code))
		unlinkat(folder->fd, file->aside, 0);
	if (close(TAKE_FD(file->fd)) < 0 && name && !code) {
		code = -errno;
		unlinkat(folder->fd, name->text, 0);
	}
	return code;
}

struct known {
	struct cache_name name;
	uint64_t size;
	struct timespec used;
};

struct listing {
	VECTOR(struct known) files;
	uint64_t bytes;
};

static void list_add(struct listing *list, const struct cache_folder *folder, const char *name,
		     const struct stat *st)
{
	struct known known = { .size = (uint64_t)st->st_size, .used = st->st_mtim };

	memcpy(known.name.text, name, CACHE_NAME_SIZE);
	if (list->files.nr == FILES_MAX || vector_push(&list->files, known)) {
		unlinkat(folder->fd, name, 0);
		return;
	}
	list->bytes += known.size;
}

static void list_read(struct listing *list, const struct cache_folder *folder)
{
	DIR *dir = open_listing(folder->fd);
	struct stat st;

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		bool is_aside = is_aside_name(entry->d_name);

		if ((!is_aside && !is_name(entry->d_name)) ||
		    fstatat(folder->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (!is_aside)
			list_add(list, folder, entry->d_name, &st);
		else if (time(NULL) - st.st_mtime > ASIDE_KEPT_S)
			unlinkat(folder->fd, entry->d_name, 0);
	}
	closedir(dir);
}

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct known *)a)->used;
	const struct timespec *y = &((const struct known *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

uint64_t cache_folder_trim(const struct cache_folder *folder, uint64_t max_bytes,
			   uint64_t keep_bytes)
{
	struct listing list = { 0 };

	list_read(&list, folder);
	if (list.files.nr && list.bytes > max_bytes) {
		qsort(list.files.list, list.files.nr, sizeof(*list.files.list), by_use);
		for (size_t i = 0; i < list.files.nr && list.bytes > keep_bytes; i++) {
			if (unlinkat(folder->fd, list.files.list[i].name.text, 0) == 0 ||
			    errno == ENOENT)
				list.bytes -= list.files.list[i].size;
		}
	}
	vector_fini(&list.files);
	return list.bytes;
}
