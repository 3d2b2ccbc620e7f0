/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/code_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "obj/file_stat.h"
#include "proc/code_reader.h"
#include "proc/mapped_file.h"
#include "proc/proc_files.h"
#include "proc/proc_maps.h"

/* /proc/PID/status is below 2 KiB without the lists of groups, CPUs and memory nodes. */
#define STATUS_SIZE 8192u

static ssize_t read_text(int dir_fd, const char *name, char *to, size_t size)
{
	AUTO_FD int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t nr = fd < 0 ? -1 : read(fd, to, size - 1);

	if (nr < 0)
		return -errno;
	to[nr] = '\0';
	return nr;
}

/* proc_pid_status(5): "NSpid:" from the outermost namespace in, "Uid:" real, effective, saved, fs.
 */
static int parse_status(const char *text, struct code_place *place)
{
	const char *line = strstr(text, "\nNSpid:");
	const char *uids = strstr(text, "\nUid:");
	char *end;

	place->own_pid = place->pid; /* a kernel without PID namespaces writes no NSpid */
	if (line) {
		const char *pos = line + strlen("\nNSpid:");

		while (*pos == '\t') {
			place->own_pid = (pid_t)strtol(pos + 1, &end, 10);
			pos = end;
		}
	}
	if (!uids)
		return -EINVAL;
	uids += strlen("\nUid:");
	for (size_t i = 0; i < CODE_PLACE_UIDS; i++) {
		place->uids[i] = (uid_t)strtoul(uids, &end, 10);
		if (end == uids)
			return -EINVAL;
		uids = end;
	}
	return 0;
}

static int read_place(int dir_fd, uint64_t start_ns, struct code_place *place)
{
	struct opener_path where = {
		.pid = place->pid,
		.path = "/tmp",
		.flags = O_DIRECTORY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_FD int root_fd = -1;
	char text[STATUS_SIZE];
	ssize_t nr = read_text(dir_fd, "status", text, sizeof(text));
	int code = nr < 0 ? (int)nr : parse_status(text, place);

	if (code)
		return code;
	if (start_ns && !code_reader_is_of(place->pid, start_ns))
		return -ESRCH;

	root_fd = proc_file_open(place->pid, "root", O_PATH | O_DIRECTORY);
	if (root_fd < 0)
		return root_fd;
	where.folder_fd = root_fd;
	if (opener_walk(place->opener, &where, NULL, &place->tmp_fd))
		place->tmp_fd = -1;
	return 0;
}

int code_place_open(struct opener *opener, pid_t pid, uint64_t start_ns, struct code_place *ret,
		    struct fpl_err *err)
{
	struct code_place place = { .pid = pid, .tmp_fd = -1, .opener = opener };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);

	AUTO_FD int dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int code = dir_fd < 0 ? -errno : read_place(dir_fd, start_ns, &place);

	if (code == -ENOENT)
		code = -ESRCH;
	if (code)
		return fpl_fail(err, code, "pid %d: %s", (int)pid, strerror(-code));
	*ret = place;
	return 0;
}

void code_place_close(struct code_place *place)
{
	cleanup_fd(&place->tmp_fd);
	place->tmp_fd = -1;
}

void code_place_map_name(const struct code_place *place, char *to, size_t size)
{
	snprintf(to, size, "/tmp/perf-%d.map", (int)place->own_pid);
}

static const char *reason(int code)
{
	return code == -ETIMEDOUT ? "file did not answer" : strerror(-code);
}

/* Was the file written by the process, or for it by root? */
static int check(const struct code_place *place, const struct stat *stat, const char *name,
		 struct fpl_err *err)
{
	bool is_own = stat->st_uid == 0;

	if (S_ISLNK(stat->st_mode))
		return fpl_fail(err, -ELOOP, "pid %d: %s: a symbolic link: not followed",
				(int)place->pid, name);
	if (!S_ISREG(stat->st_mode))
		return fpl_fail(err, -ENOEXEC, "pid %d: %s: not a regular file", (int)place->pid,
				name);
	for (size_t i = 0; i < CODE_PLACE_UIDS; i++)
		is_own = is_own || stat->st_uid == place->uids[i];
	if (!is_own)
		return fpl_fail(err, -EPERM,
				"pid %d: %s: owned by user %u, not by the process's (%u) or root",
				(int)place->pid, name, stat->st_uid, place->uids[1]);
	if (stat->st_nlink > 1)
		return fpl_fail(err, -EPERM, "pid %d: %s: has %u hard links: not trusted",
				(int)place->pid, name, (unsigned)stat->st_nlink);
	return 0;
}

int code_place_open_map(const struct code_place *place, int *ret, struct fpl_err *err)
{
	char name[64];
	struct opener_path where = {
		.folder_fd = place->tmp_fd,
		.pid = place->pid,
		.flags = O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_FD int path_fd = -1;
	struct stat stat;
	int code;

	if (place->tmp_fd < 0)
		return -ENOENT;
	code_place_map_name(place, name, sizeof(name));
	where.path = strrchr(name, '/') + 1;
	code = opener_walk(place->opener, &where, NULL, &path_fd);
	if (!code)
		code = file_stat(path_fd, &stat, NULL);
	if (code == -ENOENT)
		return code;
	if (!code) {
		code = check(place, &stat, name, err);
		if (code)
			return code;
		/* opening the file that was checked has no effects, because it is a regular file */
		code = opener_take(place->opener, place->pid, path_fd, ret, &stat);
	}
	return code ? fpl_fail(err, code, "pid %d: %s: %s", (int)place->pid, name, reason(code))
		    : 0;
}

bool code_place_is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits && strcmp(name + 5 + digits, ".dump") == 0;
}

struct dump_search {
	const struct code_place *place;
	struct mapped_file file;
	struct fpl_err *err;
};

/* proc_maps_fn: opens the first jitdump. */
static int find_dump(const struct proc_map *map, void *ctx)
{
	struct dump_search *search = ctx;
	int code;

	if (!map->executable || !code_place_is_dump(map->path))
		return 0;
	code = mapped_file_open(search->place->opener, search->place->pid, map->start, map->end,
				map->path, &search->file, search->err);
	if (!code)
		code = check(search->place, &search->file.stat, map->path, search->err);
	return code ? code : 1;
}

int code_place_open_dump(const struct code_place *place, int *ret, struct fpl_err *err)
{
	struct dump_search search = { .place = place, .file = { .fd = -1 }, .err = err };
	int code = proc_maps_read(place->pid, find_dump, &search, err);

	if (code == 1) {
		*ret = search.file.fd;
		return 0;
	}
	cleanup_fd(&search.file.fd);
	return code ? code : -ENOENT;
}
