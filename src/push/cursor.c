/* SPDX-License-Identifier: Apache-2.0 */
#include "push/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/io.h"
#include "base/output_file.h"
#include "base/text.h"

#define HEADING "fpless push 1\nurl "

enum { FILE_BYTES = 8192 };

static int take_lock(struct cursor_file *file, struct fpl_err *err)
{
	AUTO_FREE char *name = must_asprintf("%s.lock", file->name);

	file->lock_fd =
		openat(file->folder_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->lock_fd < 0)
		return fpl_fail(err, -errno, "%s.lock: %s", file->shown, strerror(errno));
	if (flock(file->lock_fd, LOCK_EX | LOCK_NB))
		return fpl_fail(err, errno == EWOULDBLOCK ? -EBUSY : -errno, "%s: %s", file->shown,
				errno == EWOULDBLOCK ? "another fpless push sends there"
						     : strerror(errno));
	return 0;
}

int cursor_open(const char *folder, const char *target, const char *url, const char *tenant,
		struct cursor_file *ret, struct fpl_err *err)
{
	uint64_t hash =
		id_table_hash(id_table_hash(1, url, strlen(url) + 1), tenant, strlen(tenant));
	int code;

	*ret = CURSOR_FILE_NONE;
	if (mkdir(folder, 0700) && errno != EEXIST)
		return fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	ret->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder_fd < 0)
		return fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	ret->url = must_strdup(url);
	ret->name = must_asprintf("%s-%016" PRIx64, target, hash);
	ret->shown = must_asprintf("%s/%s", folder, ret->name);
	code = take_lock(ret, err);
	if (code)
		cursor_close(ret);
	return code;
}

void cursor_close(struct cursor_file *file)
{
	cleanup_fd(&file->folder_fd);
	cleanup_fd(&file->lock_fd);
	free(file->url);
	free(file->name);
	free(file->shown);
	*file = CURSOR_FILE_NONE;
}

/* "@word NUMBER" or, with @all, "@word all", and a line's end, at *@at. */
static bool parse_line(const char **at, const char *word, bool all, uint64_t *ret)
{
	size_t length = strlen(word);
	char number[24];
	const char *end = strchr(*at, '\n');

	if (strncmp(*at, word, length) || (*at)[length] != ' ' || !end)
		return false;
	length = (size_t)(end - *at) - length - 1;
	if (length >= sizeof(number))
		return false;
	memcpy(number, end - length, length);
	number[length] = '\0';
	*at = end + 1;
	if (all && !strcmp(number, "all")) {
		*ret = CURSOR_ALL;
		return true;
	}
	return text_to_number(number, INT64_MAX, ret);
}

bool cursor_parse(const char *text, const char *url, struct cursor *ret)
{
	size_t length = strlen(url);
	struct cursor cursor;

	if (strncmp(text, HEADING, strlen(HEADING)))
		return false;
	text += strlen(HEADING);
	if (strncmp(text, url, length) || text[length] != '\n')
		return false;
	text += length + 1;
	if (!parse_line(&text, "from", false, &cursor.t0) ||
	    !parse_line(&text, "to", false, &cursor.t1) ||
	    !parse_line(&text, "done", true, &cursor.done) || *text)
		return false;
	*ret = cursor;
	return true;
}

int cursor_read(const struct cursor_file *file, struct cursor *ret, bool *ret_known,
		struct fpl_err *err)
{
	AUTO_FD int fd = openat(file->folder_fd, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[FILE_BYTES + 1];
	ssize_t nr;

	*ret_known = false;
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : fpl_fail(err, -errno, "%s: %s", file->shown, strerror(errno));
	nr = io_read(fd, text, FILE_BYTES);
	if (nr < 0)
		return fpl_fail(err, (int)nr, "%s: %s", file->shown, strerror((int)-nr));
	text[nr] = '\0';
	if (strlen(text) != (size_t)nr || !cursor_parse(text, file->url, ret))
		return fpl_fail(
			err, -EBADMSG,
			"%s: does not say how far %s is: remove it, and choose where to begin by --since",
			file->shown, file->url);
	*ret_known = true;
	return 0;
}

int cursor_write(const struct cursor_file *file, const struct cursor *cursor, bool safely,
		 struct fpl_err *err)
{
	struct output_file output = { 0 };
	int code = output_file_open_in(file->folder_fd, file->name, file->shown, &output, err);

	if (code)
		return code;
	fprintf(output.stream, HEADING "%s\nfrom %" PRIu64 "\nto %" PRIu64 "\ndone ", file->url,
		cursor->t0, cursor->t1);
	if (cursor->done == CURSOR_ALL)
		fputs("all\n", output.stream);
	else
		fprintf(output.stream, "%" PRIu64 "\n", cursor->done);
	if (safely && (fflush(output.stream) || fsync(fileno(output.stream)))) {
		code = fpl_fail(err, -errno, "%s: %s", file->shown, strerror(errno));
		output_file_abort(&output);
		return code;
	}
	code = output_file_commit(&output, err);
	if (!code && safely && fsync(file->folder_fd))
		return fpl_fail(err, -errno, "%s: %s", file->shown, strerror(errno));
	return code;
}
