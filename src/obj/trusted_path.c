/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/trusted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct walk {
	int at; /* owned: the folder reached; -1: none */
	char rest[PATH_MAX];
	unsigned int nr_links;
	uid_t own;
};

static void walk_fini(struct walk *walk)
{
	cleanup_fd(&walk->at);
}

/* Absolute paths begin at the root; relative ones at the walk's current folder. */
static int begin(struct walk *walk)
{
	const char *from = walk->rest[0] == '/' ? "/" : walk->at < 0 ? "." : NULL;
	int fd;

	if (!from)
		return 0;
	fd = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	cleanup_fd(&walk->at);
	walk->at = fd;
	return 0;
}

/* Take the first component off the rest. False: the rest is empty. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], int *ret_code)
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t size = strcspn(from, "/");

	*ret_code = size > NAME_MAX ? -ENAMETOOLONG : 0;
	if (!size || *ret_code)
		return false;
	memcpy(name, from, size);
	name[size] = '\0';
	memmove(walk->rest, from + size, strlen(from + size) + 1);
	return true;
}

/* Put the text of the link open at @fd before the rest. */
static int follow(struct walk *walk, int fd)
{
	char text[PATH_MAX], joined[PATH_MAX];
	ssize_t size = readlinkat(fd, "", text, sizeof(text));
	int n;

	if (size < 0)
		return -errno;
	if (++walk->nr_links > TRUSTED_PATH_LINKS_MAX)
		return -ELOOP;
	n = snprintf(joined, sizeof(joined), "%.*s/%s", (int)size, text, walk->rest);
	if (n < 0 || n >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(walk->rest, joined, (size_t)n + 1);
	return begin(walk);
}

static int step(struct walk *walk, const char *name)
{
	AUTO_FD int fd = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return st.st_uid == 0 || st.st_uid == walk->own ? follow(walk, fd) : -ELOOP;
	cleanup_fd(&walk->at);
	walk->at = TAKE_FD(fd);
	return 0;
}

int trusted_path_open(const char *path, uid_t own, int *ret_fd)
{
	CLEANUP(walk_fini) struct walk walk = { .at = -1, .own = own };
	char name[NAME_MAX + 1];
	struct stat st;
	int code;

	/* mostly nothing is there */
	if (lstat(path, &st) < 0)
		return -errno;
	if (strlen(path) >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	memcpy(walk.rest, path, strlen(path) + 1);
	code = begin(&walk);
	while (!code && next_name(&walk, name, &code))
		code = step(&walk, name);
	if (!code)
		*ret_fd = TAKE_FD(walk.at);
	return code;
}
