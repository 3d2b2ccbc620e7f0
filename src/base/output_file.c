/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* Sixteen times what a stream has by itself. */
#define BUFFER_SIZE (64u << 10)

/* Names are random: the first is free nearly always. */
#define NAMES_TRIED 16

#define LINKS_MAX 40 /* as the kernel follows */

static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A file of the folder that has no name. */
static int open_nameless(const struct output_file *file, mode_t mode)
{
	int fd = openat(file->folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

/* A hidden file of the folder; NULL without memory. */
static char *temporary_name(void)
{
	uint32_t number;
	char *name;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)getpid() ^ (uint32_t)clock_monotonic_ns();
	return asprintf(&name, ".fpless-%08x", number) < 0 ? NULL : name;
}

static int open_named(struct output_file *file)
{
	int error = -EEXIST;

	for (int i = 0; error == -EEXIST && i < NAMES_TRIED; i++) {
		AUTO_FREE char *name = temporary_name();
		int fd = name ? openat(file->folder_fd, name,
				       O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600)
			      : -1;

		if (fd >= 0) {
			file->temporary = TAKE_PTR(name);
			return fd;
		}
		error = name ? -errno : -ENOMEM;
	}
	return error;
}

/* Set temporary or fd, and open the stream. */
static int open_temporary(struct output_file *file)
{
	mode_t mode = default_mode();
	/* not every file system has such files; why not is told by the other way */
	AUTO_FD int fd = open_nameless(file, mode);

	if (fd >= 0) {
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (file->fd < 0)
			return -errno;
		file->nameless = true;
	} else {
		fd = open_named(file);
	}
	if (fd < 0)
		return fd;
	if (fchmod(fd, mode) < 0)
		return -errno;
	file->stream = fdopen(fd, "w");
	if (!file->stream)
		return -errno;
	TAKE_FD(fd);
	return 0;
}

/* The folder of @path, relative to the folder @at. */
static int open_folder(int at, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = folder ? openat(at, folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	return fd >= 0 ? fd : folder ? -errno : -ENOMEM;
}

/* Set folder_fd and name to where @path leads, links not followed. */
static int set_place(struct output_file *file, int at, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *name = strdup(slash ? slash + 1 : path);
	int fd = name ? open_folder(at, path) : -ENOMEM;

	if (fd < 0)
		return fd;
	if (file->name)
		close(file->folder_fd);
	free(file->name);
	file->folder_fd = fd;
	file->name = TAKE_PTR(name);
	return 0;
}

/* The same with links followed, one by one, to the regular file that @target is. */
static int follow(struct output_file *file, const char *path, const struct stat *target)
{
	char link[PATH_MAX];
	int error = set_place(file, AT_FDCWD, path);
	struct stat st;

	for (int i = 0; !error && i < LINKS_MAX; i++) {
		if (fstatat(file->folder_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		if (!S_ISLNK(st.st_mode)) /* what stat(2) found, or it was changed meanwhile */
			return st.st_dev == target->st_dev && st.st_ino == target->st_ino ? 0
											  : -ESTALE;

		ssize_t length = readlinkat(file->folder_fd, file->name, link, sizeof(link) - 1);

		if (length < 0)
			return -errno;
		link[length] = '\0';
		error = set_place(file, file->folder_fd, link);
	}
	return error ? error : -ELOOP;
}

static int open_in_place(struct output_file *file, const char *path)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	file->stream = fdopen(fd, "w");
	if (!file->stream)
		return -errno;
	TAKE_FD(fd);
	return 0;
}

static int open_path(struct output_file *file, const char *path)
{
	struct stat st;
	int error;

	if (!*path)
		return -ENOENT;
	if (stat(path, &st) < 0) {
		error = errno == ENOENT ? set_place(file, AT_FDCWD, path) : -errno;
		return error ? error : open_temporary(file);
	}
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return open_in_place(file, path);
	error = follow(file, path, &st);
	/* A read-only file is not to be replaced because its folder happens to be writable. */
	if (!error && faccessat(file->folder_fd, file->name, W_OK, 0) < 0)
		error = -errno;
	return error ? error : open_temporary(file);
}

/* An output is some MB in short pieces. Without memory the stream keeps its own buffer. */
static void widen_buffer(struct output_file *file)
{
	static char of_stdout[BUFFER_SIZE]; /* which is flushed when the program ends */

	if (file->stream == stdout) {
		if (!isatty(STDOUT_FILENO))
			(void)setvbuf(stdout, of_stdout, _IOFBF, sizeof(of_stdout));
		return;
	}
	file->buffer = malloc(BUFFER_SIZE);
	if (file->buffer)
		(void)setvbuf(file->stream, file->buffer, _IOFBF, BUFFER_SIZE);
}

/* Advice for an output that cannot be opened, with the separator it begins with; may be empty. */
static const char *open_hint(int error)
{
	switch (error) {
	case -ENOENT:
		return ": its folder has to be there";
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return ": write into a folder that is yours";
	default:
		return "";
	}
}

int output_file_open(const char *path, struct output_file *ret, struct fpl_err *err)
{
	struct output_file file = { .path = strdup(path) };
	int error = 0;

	if (!file.path)
		error = -ENOMEM;
	else if (!strcmp(path, "-"))
		file.stream = stdout;
	else
		error = open_path(&file, path);
	if (error) {
		output_file_abort(&file);
		return fpl_fail(err, error, "%s: %s%s", path, strerror(-error), open_hint(error));
	}
	widen_buffer(&file);
	*ret = file;
	return 0;
}

int output_file_open_in(int folder_fd, const char *name, const char *shown, struct output_file *ret,
			struct fpl_err *err)
{
	struct output_file file = { .path = strdup(shown), .name = strdup(name) };
	int error = file.path && file.name ? 0 : -ENOMEM;

	file.folder_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
	if (!error)
		error = file.folder_fd < 0 ? -errno : open_temporary(&file);
	if (error) {
		output_file_abort(&file);
		return fpl_fail(err, error, "%s: %s%s", shown, strerror(-error), open_hint(error));
	}
	widen_buffer(&file);
	*ret = file;
	return 0;
}

int output_stream_error(FILE *stream)
{
	if (fflush(stream))
		return -errno;
	if (!ferror(stream))
		return 0;
	/* a write long ago failed, and why was not kept: the next one tells, and spoils nothing */
	return putc('\n', stream) == EOF || fflush(stream) ? -errno : -EIO;
}

static int close_stream(struct output_file *file)
{
	FILE *stream = TAKE_PTR(file->stream);
	int error = output_stream_error(stream);

	if (stream != stdout && fclose(stream) && !error)
		error = -errno;
	free(TAKE_PTR(file->buffer));
	return error;
}

const char *output_file_name(const struct output_file *file)
{
	return strcmp(file->path, "-") ? file->path : "stdout";
}

static int fail(const struct output_file *file, int error, struct fpl_err *err)
{
	return fpl_fail(err, error, "%s: %s", output_file_name(file), strerror(-error));
}

int output_file_close(struct output_file *file, struct fpl_err *err)
{
	int error = close_stream(file);

	if (error) {
		fail(file, error, err);
		output_file_abort(file);
	}
	return error;
}

/* Give the nameless file the name @name, which nothing has yet. */
static int give_name(const struct output_file *file, const char *name)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, link, file->folder_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int rename_to(const struct output_file *file, const char *temporary)
{
	return renameat(file->folder_fd, temporary, file->folder_fd, file->name) < 0 ? -errno : 0;
}

/* Only a file with a name can take another's place: for the moment between two system calls. */
static int replace(const struct output_file *file)
{
	int error = -EEXIST;

	for (int i = 0; error == -EEXIST && i < NAMES_TRIED; i++) {
		AUTO_FREE char *temporary = temporary_name();

		error = temporary ? give_name(file, temporary) : -ENOMEM;
		if (!error) {
			error = rename_to(file, temporary);
			if (error)
				unlinkat(file->folder_fd, temporary, 0);
			break;
		}
	}
	return error;
}

/* helper_fn: the file gets its name. */
static int place(void *ctx)
{
	const struct output_file *file = ctx;

	if (file->temporary)
		return rename_to(file, file->temporary);

	int error = give_name(file, file->name);

	return error == -EEXIST ? replace(file) : error;
}

/* helper_fn: its temporary name goes. */
static int drop(void *ctx)
{
	const struct output_file *file = ctx;

	return file->temporary && unlinkat(file->folder_fd, file->temporary, 0) < 0 ? -errno : 0;
}

/* Have it done with the rights that the file was opened with, or do it here where they are held. */
static int do_or_delegate(struct output_file *file, helper_fn run, int task)
{
	int done = file->helper ? helper_do(file->helper, task) : -ECHILD;

	return done == -ECHILD ? run(file) : done;
}

/* Those delegated and neither committed nor aborted. */
static struct output_file *delegated;

static void forget(const struct output_file *file)
{
	struct output_file **at = &delegated;

	while (*at && *at != file)
		at = &(*at)->next;
	if (*at)
		*at = file->next;
}

/* There is no memory, and the process ends. */
static void drop_all(void)
{
	for (struct output_file *file = delegated; file; file = file->next)
		if (file->temporary)
			do_or_delegate(file, drop, file->drop_task);
}

int output_file_delegate(struct output_file *file, struct privileged_helper *helper,
			 struct fpl_err *err)
{
	if (!file->name)
		return 0;
	file->place_task = helper_add(helper, place, file, file->nameless ? file->fd : -1);
	file->drop_task = helper_add(helper, drop, file, file->folder_fd);
	if (file->place_task < 0 || file->drop_task < 0)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->path);
	file->helper = helper;
	file->next = delegated;
	delegated = file;
	alloc_set_last(drop_all);
	return 0;
}

int output_file_commit(struct output_file *file, struct fpl_err *err)
{
	int error = file->stream ? close_stream(file) : 0;

	if (!error && file->name)
		error = do_or_delegate(file, place, file->place_task);
	if (error)
		fail(file, error, err);
	else
		free(TAKE_PTR(file->temporary));
	output_file_abort(file);
	return error;
}

void output_file_abort(struct output_file *file)
{
	forget(file);
	if (file->stream && file->stream != stdout)
		(void)fclose(file->stream);
	free(file->buffer);
	if (file->temporary)
		do_or_delegate(file, drop, file->drop_task);
	if (file->nameless)
		close(file->fd);
	if (file->name)
		close(file->folder_fd);
	free(file->temporary);
	free(file->name);
	free(file->path);
	*file = (struct output_file){ 0 };
}
