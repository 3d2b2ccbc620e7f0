/* SPDX-License-Identifier: Apache-2.0 */
#include "output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Set target and temporary, and open the latter. */
static int open_temporary(struct output_file *file, const char *target, mode_t mode)
{
	AUTO_FREE char *temporary = NULL;
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash - target) + 1 : 0;

	file->target = strdup(target);
	if (!file->target || asprintf(&temporary, "%.*s.fpless-XXXXXX", folder, target) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	AUTO_FD int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file->temporary = TAKE_PTR(temporary);
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
		return fpl_fail(err, error, "%s: %s", path, strerror(-error));
	}
	*ret = file;
	return 0;
}

static int close_stream(struct output_file *file)
{
	FILE *stream = TAKE_PTR(file->stream);
	/* The error of a write long ago is not kept: ENOSPC is by far its most likely one. */
	int error = ferror(stream) ? -EIO : 0;

	if (stream == stdout)
		return fflush(stream) ? -errno : error;
	if (fclose(stream) && !error)
		error = -errno;
	return error;
}

static int fail(const struct output_file *file, int error, struct fpl_err *err)
{
	return fpl_fail(err, error, "%s: %s", strcmp(file->path, "-") ? file->path : "stdout",
			strerror(-error));
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

int output_file_commit(struct output_file *file, struct fpl_err *err)
{
	int error = file->stream ? close_stream(file) : 0;

	if (!error && file->temporary && rename(file->temporary, file->target) < 0)
		error = -errno;
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
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->target);
	free(file->path);
	*file = (struct output_file){ 0 };
}
