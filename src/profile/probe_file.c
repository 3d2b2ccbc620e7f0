/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/probe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/wire.h"
#include "obj/opener.h"
#include "proc/proc_maps.h"

#define MAPS_MS 2000 /* a process that executes another program blocks its readers meanwhile */

/* Debian has libraries in the first ones, others in the rest (ld.so(8), ld.so.conf). */
static const char *const library_folders[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/usr/local/lib",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

struct mapped {
	const char *name;
	uint64_t start, end; /* end 0: not found */
	char path[PATH_MAX];
};

/* Is it the file, or one whose soname @name is: "libstdc++.so.6" of libstdc++.so.6.0.30? */
static bool is_file(const char *path, const char *name)
{
	const char *last = text_path_name(path);
	size_t len = strlen(name);

	return !strncmp(last, name, len) && (!last[len] || last[len] == '.');
}

/* proc_maps_fn */
static int look_at_map(const struct proc_map *map, void *ctx)
{
	struct mapped *mapped = ctx;

	if (!map->executable || !map->inode || !is_file(map->path, mapped->name) ||
	    strlen(map->path) >= sizeof(mapped->path))
		return 0;
	mapped->start = map->start;
	mapped->end = map->end;
	memcpy(mapped->path, map->path, strlen(map->path) + 1);
	return 1;
}

/* In a process of its own: look for the file in the maps of @pid, and send its place. */
__attribute__((__noreturn__)) static void tell_place(int sock, pid_t pid, const char *name)
{
	struct mapped mapped = { .name = name };
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || proc_maps_read_from(pid, fd, look_at_map, &mapped, NULL) != 1)
		_exit(1);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 mapped.start, mapped.end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		(void)!wire_send_fds(sock, mapped.path, sizeof(mapped.path), &fd, 1);
	_exit(0);
}

/*
 * Find the place (O_PATH) of the file in the maps of @pid: *ret_path is its path there. A process
 * of its own looks, as it may be blocked, and threads may not be made yet. -1: it has no such file.
 */
static int find_in_process(pid_t pid, const char *name, char ret_path[PATH_MAX])
{
	int socks[2], fds[WIRE_FDS_MAX] = { -1, -1, -1 };
	bool has_answer;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -1;
	child = fork();
	if (child == 0)
		tell_place(socks[1], pid, name);
	close(socks[1]);

	struct pollfd answer = { .fd = socks[0], .events = POLLIN };

	has_answer = child > 0 && poll(&answer, 1, MAPS_MS) > 0;
	if (has_answer && wire_recv_fds(socks[0], ret_path, PATH_MAX, fds))
		fds[0] = -1;
	close(socks[0]);
	if (child > 0 && !has_answer)
		kill(child, SIGKILL);
	/* one that is blocked is left behind */
	if (child > 0)
		waitpid(child, NULL, has_answer ? 0 : WNOHANG);
	ret_path[PATH_MAX - 1] = '\0';
	return fds[0];
}

/* Take the file of the place, which is closed. @pid: as for opener_take(). */
static int take(struct opener *opener, pid_t pid, int place, struct probe_file *file)
{
	struct stat st;
	int code = opener_take(opener, pid, place, &file->fd, &st);

	close(place);
	return code;
}

static int open_path(struct opener *opener, const char *path, struct probe_file *file)
{
	const struct opener_path where = { .folder_fd = -1, .path = path, .is_trusted = true };
	const struct opener_wait wait = { .pause = NULL };
	int place, code;

	if (strlen(path) >= sizeof(file->path))
		return -ENAMETOOLONG;
	code = opener_walk(opener, &where, &wait, &place);
	if (code)
		return code;
	memcpy(file->path, path, strlen(path) + 1);
	return take(opener, 0, place, file);
}

static int open_mapped(struct opener *opener, const char *name, const pid_t *pids, size_t nr_pids,
		       struct probe_file *file)
{
	for (size_t i = 0; i < nr_pids; i++) {
		int place = find_in_process(pids[i], name, file->path);

		if (place >= 0)
			return take(opener, pids[i], place, file);
	}
	return -ENOENT;
}

/* Open it in one of the folders of @list, which colons separate. */
static int open_in(struct opener *opener, const char *list, const char *name,
		   struct probe_file *file)
{
	int code = -ENOENT;

	for (const char *at = list; code == -ENOENT && at;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		char path[PATH_MAX];
		int folder_size = (int)strcspn(at, ":");

		if (folder_size && (size_t)snprintf(path, sizeof(path), "%.*s/%s", folder_size, at,
						    name) < sizeof(path))
			code = open_path(opener, path, file);
		/* /usr/lib/python3.11 is a folder: the program may be in another one */
		if (code == -ENOTDIR || code == -EACCES || code == -ENOEXEC)
			code = -ENOENT;
	}
	return code;
}

static int fail(const char *name, int code, struct fpl_err *err)
{
	if (code == -ENOENT && !strchr(name, '/'))
		return fpl_fail(
			err, -ENODATA,
			"%s: no process of -p has it mapped, and no folder of libraries or of PATH has it: give its path",
			name);
	if (code == -ELOOP)
		return fpl_fail(
			err, -ENODATA,
			"%s: a symbolic link of another user leads there: name the file itself",
			name);
	if (code == -ENOEXEC)
		return fpl_fail(err, -ENODATA, "%s: no regular file", name);
	return fpl_fail(err, -ENODATA, "%s: %s", name, strerror(-code));
}

int probe_file_open(struct opener *opener, const char *name, const pid_t *pids, size_t nr_pids,
		    struct probe_file *ret, struct fpl_err *err)
{
	int code;

	ret->fd = -1;
	if (strchr(name, '/')) {
		code = open_path(opener, name, ret);
		return code ? fail(name, code, err) : 0;
	}
	code = open_mapped(opener, name, pids, nr_pids, ret);
	for (size_t i = 0; code == -ENOENT && i < ARRAY_SIZE(library_folders); i++)
		code = open_in(opener, library_folders[i], name, ret);
	if (code == -ENOENT)
		code = open_in(opener, getenv("PATH"), name, ret);
	return code ? fail(name, code, err) : 0;
}

int probe_file_open_mapped(struct opener *opener, const char *name, pid_t pid,
			   struct probe_file *ret)
{
	ret->fd = -1;
	return open_mapped(opener, name, &pid, 1, ret);
}
