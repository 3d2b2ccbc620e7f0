/* SPDX-License-Identifier: Apache-2.0 */
#include "output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Sixteen times what a stream has by itself. */
#define BUFFER_SIZE (64u << 10)

/* Of random names: the first one is free as good as always. */
#define NAMES_TRIED 16

static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A file of @folder (up to and with its slash) that has no name. */
static int open_nameless(const char *target, int folder, mode_t mode)
{
	AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%.*s", folder, target) < 0) {
		path = NULL; /* asprintf leaves it undefined */
		return -ENOMEM;
	}

	int fd = open(*path ? path : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

/* Up to and with the last slash; 0: there is none. */
static int folder_length(const char *target)
{
	const char *slash = strrchr(target, '/');

	return slash ? (int)(slash - target) + 1 : 0;
}

/* A hidden file beside @target; NULL without memory. */
static char *temporary_name(const char *target, const char *suffix)
{
	char *name;
	int n = asprintf(&name, "%.*s.fpless-%s", folder_length(target), target, suffix);

	return n < 0 ? NULL : name;
}

static int open_named(struct output_file *file, const char *target)
{
	AUTO_FREE char *temporary = temporary_name(target, "XXXXXX");

	if (!temporary)
		return -ENOMEM;

	int fd = mkostemp(temporary, O_CLOEXEC);

	if (fd < 0)
		return -errno;
	file->temporary = TAKE_PTR(temporary);
	return fd;
}

/* Set target, and temporary or fd, and open the stream. */
static int open_temporary(struct output_file *file, const char *target, mode_t mode)
{
	file->target = strdup(target);
	if (!file->target)
		return -ENOMEM;

	/* not every file system has such files; why not is told by the other way */
	AUTO_FD int fd = open_nameless(target, folder_length(target), mode);

	if (fd >= 0) {
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (file->fd < 0)
			return -errno;
		file->nameless = true;
	} else {
		fd = open_named(file, target);
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
	char resolved[PATH_MAX];
	struct stat st;

	if (!*path)
		return -ENOENT;
	if (stat(path, &st) < 0)
		return errno == ENOENT ? open_temporary(file, path, default_mode()) : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return open_in_place(file, path);
	/* A read-only file is not to be replaced because its folder happens to be writable. */
	if (access(path, W_OK) < 0 || !realpath(path, resolved))
		return -errno;
	return open_temporary(file, resolved, st.st_mode & 07777);
}

/* What goes out is some MB in short pieces. Without memory the stream keeps its own buffer. */
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

/* What may help where an output cannot be opened; begins with what parts it from the reason. */
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
static int give_name(int fd, const char *name)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Only a file with a name can take another's place: for the moment between two system calls. */
static int replace(const struct output_file *file)
{
	int error = -EEXIST;

	for (int i = 0; error == -EEXIST && i < NAMES_TRIED; i++) {
		char suffix[16];
		uint32_t number;

		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
			number = (uint32_t)getpid() + (uint32_t)i;
		snprintf(suffix, sizeof(suffix), "%08x", number);

		AUTO_FREE char *temporary = temporary_name(file->target, suffix);

		error = temporary ? give_name(file->fd, temporary) : -ENOMEM;
		if (!error && rename(temporary, file->target) < 0) {
			error = -errno;
			unlink(temporary);
			break;
		}
	}
	return error;
}

/* deputy_fn: the file becomes the target. */
static int place(void *ctx)
{
	const struct output_file *file = ctx;

	if (file->temporary)
		return rename(file->temporary, file->target) < 0 ? -errno : 0;

	int error = give_name(file->fd, file->target);

	return error == -EEXIST ? replace(file) : error;
}

/* deputy_fn: its temporary name goes. */
static int drop(void *ctx)
{
	const struct output_file *file = ctx;

	return file->temporary && unlink(file->temporary) < 0 ? -errno : 0;
}

int output_file_delegate(struct output_file *file, struct deputy *deputy, struct fpl_err *err)
{
	if (!file->target)
		return 0;
	file->place_task = deputy_add(deputy, place, file, file->fd);
	file->drop_task = deputy_add(deputy, drop, file, -1);
	if (file->place_task < 0 || file->drop_task < 0)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->path);
	file->deputy = deputy;
	return 0;
}

/* Have it done with the rights that the file was opened with, or do it here where they are held. */
static int do_or_delegate(struct output_file *file, deputy_fn run, int task)
{
	int done = file->deputy ? deputy_do(file->deputy, task) : -ECHILD;

	return done == -ECHILD ? run(file) : done;
}

int output_file_commit(struct output_file *file, struct fpl_err *err)
{
	int error = file->stream ? close_stream(file) : 0;

	if (!error && file->target)
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
	if (file->stream && file->stream != stdout)
		(void)fclose(file->stream);
	free(file->buffer);
	if (file->temporary)
		do_or_delegate(file, drop, file->drop_task);
	if (file->nameless)
		close(file->fd);
	free(file->temporary);
	free(file->target);
	free(file->path);
	*file = (struct output_file){ 0 };
}
