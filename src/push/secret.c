/* SPDX-License-Identifier: Apache-2.0 */
#include "push/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/io.h"

enum { SECRET_BYTES = 4096 };

/* Is @path a file in the folder of the service's credentials? */
static bool is_credential(const char *path)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t length = folder ? strlen(folder) : 0;

	return length && !strncmp(path, folder, length) && path[length] == '/' &&
	       !strchr(path + length + 1, '/');
}

static int check_file(const char *path, int fd, struct fpl_err *err)
{
	mode_t others = is_credential(path) ? 007 : 077;
	struct stat st;

	if (fstat(fd, &st))
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) || st.st_mode & others)
		return fpl_fail(
			err, -EACCES,
			"%s: expected a file of this user or root that others may not read: chmod 600",
			path);
	return 0;
}

int secret_read(const char *path, char **ret, struct fpl_err *err)
{
	char text[SECRET_BYTES + 1] = "";
	AUTO_FD int fd = -1;
	ssize_t nr;
	int code;

	if (!*path) {
		*ret = must_strdup("");
		return 0;
	}
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	code = check_file(path, fd, err);
	if (code)
		return code;
	nr = io_read(fd, text, SECRET_BYTES);
	if (nr < 0)
		return fpl_fail(err, (int)nr, "%s: %s", path, strerror((int)-nr));
	if (nr && text[nr - 1] == '\n')
		text[--nr] = '\0';
	for (ssize_t i = 0; i < nr; i++)
		if (text[i] < ' ' || text[i] > '~')
			nr = 0;
	if (!nr || nr == SECRET_BYTES)
		return fpl_fail(err, -EINVAL,
				"%s: expected a line of printable ASCII, below %d bytes", path,
				SECRET_BYTES);
	*ret = must_asprintf(
		"%s%s", strncmp(text, "Bearer ", 7) && strncmp(text, "Basic ", 6) ? "Bearer " : "",
		text);
	explicit_bzero(text, sizeof(text));
	return 0;
}
