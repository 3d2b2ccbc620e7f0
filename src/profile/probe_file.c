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

/* A question to a process of its own, which looks into the maps of another. */
struct asking {
	int sock;
	pid_t pid;
	const char *name;    /* NULL: all that are executable */
	uint64_t last_inode; /* of the one told last: most have several mappings, side by side */
	char path[PATH_MAX];
};

/* Is it the file, or one whose soname @name is: "libstdc++.so.6" of libstdc++.so.6.0.30? */
static bool is_file(const char *path, const char *name)
{
	const char *last = text_path_name(path);
	size_t len = strlen(name);

	return !strncmp(last, name, len) && (!last[len] || last[len] == '.');
}

/* proc_maps_fn: send the place (O_PATH) of the file, and its path there. */
static int look_at_map(const struct proc_map *map, void *ctx)
{
	struct asking *asking = ctx;
	size_t len = strlen(map->path);
	char link[96];
	int fd;

	if (!map->executable || !map->inode || map->inode == asking->last_inode ||
	    len >= sizeof(asking->path) || (asking->name && !is_file(map->path, asking->name)))
		return 0;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)asking->pid,
		 map->start, map->end);
	fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return asking->name != NULL;
	memcpy(asking->path, map->path, len + 1);
	asking->last_inode = map->inode;
	if (wire_send_fds(asking->sock, asking->path, sizeof(asking->path), &fd, 1))
		_exit(1);
	close(fd);
	return asking->name != NULL;
}

/* In a process of its own: look into the maps. */
__attribute__((__noreturn__)) static void tell_places(struct asking *asking)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)asking->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!proc_maps_read_from(asking->pid, fd, look_at_map, asking, NULL);
	_exit(0);
}

/*
 * Have a process look into the maps of @pid for files called @name (NULL: for all), as it may be
 * blocked, and threads may not be made yet. *ret_sock: it tells places there. Returns its number;
 * <= 0: none.
 */
static pid_t begin_asking(pid_t pid, const char *name, int *ret_sock)
{
	int socks[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		struct asking asking = { .sock = socks[1], .pid = pid, .name = name };

		close(socks[0]);
		tell_places(&asking);
	}
	close(socks[1]);
	*ret_sock = socks[0];
	if (child < 0)
		close(socks[0]);
	return child;
}

/* Receive the place (O_PATH) of the next file, and its path. -1: no more comes; *ret_blocked: as
 * the process does not answer. */
static int next_place(int sock, char ret_path[PATH_MAX], bool *ret_blocked)
{
	struct pollfd answer = { .fd = sock, .events = POLLIN };
	int fds[WIRE_FDS_MAX] = { -1, -1, -1 };

	*ret_blocked = poll(&answer, 1, MAPS_MS) <= 0;
	if (*ret_blocked || wire_recv_fds(sock, ret_path, PATH_MAX, fds))
		return -1;
	ret_path[PATH_MAX - 1] = '\0';
	return fds[0];
}

static void end_asking(pid_t child, int sock, bool is_blocked)
{
	close(sock);
	if (is_blocked)
		kill(child, SIGKILL);
	/* one that is blocked is left behind */
	waitpid(child, NULL, is_blocked ? WNOHANG : 0);
}

/* Find the place (O_PATH) of the file in the maps of @pid: *ret_path is its path there. -1: it has
 * no such file. */
static int find_in_process(pid_t pid, const char *name, char ret_path[PATH_MAX])
{
	bool is_blocked;
	int sock, place;
	pid_t child = begin_asking(pid, name, &sock);

	if (child <= 0)
		return -1;
	place = next_place(sock, ret_path, &is_blocked);
	end_asking(child, sock, is_blocked);
	return place;
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

int probe_file_each_mapped(struct opener *opener, pid_t pid,
			   int (*fn)(void *ctx, struct probe_file *file), void *ctx)
{
	struct probe_file file = { .fd = -1 };
	bool is_blocked = false;
	int sock, place, code = 0;
	pid_t child = begin_asking(pid, NULL, &sock);

	if (child <= 0)
		return -ESRCH;
	for (unsigned int i = 0; !code && i < PROBE_FILES_MAX; i++) {
		place = next_place(sock, file.path, &is_blocked);
		if (place < 0)
			break;
		if (!take(opener, pid, place, &file))
			code = fn(ctx, &file);
	}
	end_asking(child, sock, is_blocked);
	return code;
}
