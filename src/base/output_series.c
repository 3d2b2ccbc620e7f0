/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_series.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool output_series_is_pattern(const char *path)
{
	return strstr(name_of(path), "%t") != NULL;
}

int output_series_open(const char *pattern, bool has_ms, struct output_series *ret,
		       struct fpl_err *err)
{
	const char *name = name_of(pattern), *place = strstr(name, "%t");
	struct output_series series = {
		.folder = strndup(pattern, (size_t)(name - pattern)),
		.before = strndup(name, (size_t)(place - name)),
		.after = strdup(place + strlen("%t")),
		.folder_fd = -1,
		.has_ms = has_ms,
	};
	int code = series.folder && series.before && series.after ? 0 : -ENOMEM;

	if (!code)
		series.folder_fd = open(*series.folder ? series.folder : ".",
					O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!code && series.folder_fd < 0)
		code = -errno;
	/* an output that cannot be written is to be told before the run */
	if (!code && faccessat(series.folder_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		code = -errno;
	*ret = series;
	if (!code)
		return 0;
	output_series_close(ret);
	return fpl_fail(err, code, "%s: %s: write into a folder that is there, and yours", pattern,
			strerror(-code));
}

void output_series_close(struct output_series *series)
{
	if (!series->folder)
		return;
	output_file_abort(&series->file);
	free(series->folder);
	free(series->before);
	free(series->after);
	cleanup_fd(&series->folder_fd);
	*series = (struct output_series){ 0 };
}

void output_series_stamp(uint64_t unix_ns, bool has_ms, char ret[OUTPUT_SERIES_STAMP])
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	unsigned ms = (unsigned)(unix_ns % NS_PER_S / NS_PER_MS);
	struct tm tm;
	size_t len;

	if (!gmtime_r(&seconds, &tm))
		tm = (struct tm){ .tm_mday = 1, .tm_year = 70 };
	len = strftime(ret, OUTPUT_SERIES_STAMP, "%Y%m%dT%H%M%S", &tm);
	if (has_ms)
		len += (size_t)snprintf(ret + len, OUTPUT_SERIES_STAMP - len, ".%03u", ms % 1000);
	snprintf(ret + len, OUTPUT_SERIES_STAMP - len, "Z");
}

/* Its name; NULL without memory. */
static char *file_name(const struct output_series *series, uint64_t unix_ns)
{
	char stamp[OUTPUT_SERIES_STAMP], *name;

	output_series_stamp(unix_ns, series->has_ms, stamp);
	return asprintf(&name, "%s%s%s", series->before, stamp, series->after) < 0 ? NULL : name;
}

/* In the folder that was opened, wherever its path leads by now. */
static int open_file(const struct output_series *series, uint64_t unix_ns, struct output_file *ret,
		     struct fpl_err *err)
{
	AUTO_FREE char *name = file_name(series, unix_ns), *shown = NULL;

	if (!name || asprintf(&shown, "%s%s", series->folder, name) < 0) {
		shown = NULL;
		return fpl_fail(err, -ENOMEM, "%s%%t%s: out of memory", series->before,
				series->after);
	}
	return output_file_open_in(series->folder_fd, name, shown, ret, err);
}

/* helper_make_fn */
static int make(void *ctx, uint64_t unix_ns, int *ret_fd)
{
	struct output_series *series = ctx;
	int code;

	/* what was not placed is not wanted */
	output_file_abort(&series->file);
	code = open_file(series, unix_ns, &series->file, NULL);
	if (code)
		return code;
	*ret_fd = fcntl(fileno(series->file.stream), F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? -errno : 0;
}

/* helper_fn */
static int place(void *ctx)
{
	struct output_series *series = ctx;

	return series->file.stream ? output_file_commit(&series->file, NULL) : -ENOENT;
}

int output_series_delegate(struct output_series *series, struct privileged_helper *helper,
			   struct fpl_err *err)
{
	series->make_task = helper_add_make(helper, make, series, series->folder_fd);
	series->place_task = helper_add(helper, place, series, -1);
	if (series->make_task < 0 || series->place_task < 0)
		return fpl_fail(err, -ENOMEM, "%s%%t%s: out of memory", series->before,
				series->after);
	series->helper = helper;
	return 0;
}

/* The file that the helper has made, which is written here, and placed there. */
static int take_made(const struct output_series *series, uint64_t unix_ns, int fd,
		     struct output_file *ret)
{
	AUTO_FREE char *name = file_name(series, unix_ns);
	struct output_file file = { .helper = series->helper,
				    .place_task = series->place_task,
				    .folder_fd = -1 };

	if (name && asprintf(&file.path, "%s%s", series->folder, name) < 0)
		file.path = NULL;
	if (name && file.path)
		file.stream = fdopen(fd, "w");
	if (!file.stream) {
		free(file.path);
		close(fd);
		return -ENOMEM;
	}
	file.name = TAKE_PTR(name);
	*ret = file;
	return 0;
}

int output_series_next(struct output_series *series, uint64_t unix_ns, struct output_file *ret,
		       struct fpl_err *err)
{
	int fd = -1;
	int code = series->helper ? helper_make(series->helper, series->make_task, unix_ns, &fd)
				  : -ECHILD;

	if (code == -ECHILD)
		return open_file(series, unix_ns, ret, err);
	if (!code)
		code = take_made(series, unix_ns, fd, ret);
	return code ? fpl_fail(err, code, "%s%s%%t%s: %s", series->folder, series->before,
			       series->after, strerror(-code))
		    : 0;
}
