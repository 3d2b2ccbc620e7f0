/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "proc/proc_files.h"

/* Read a number of @base at *@pos; move *@pos behind it. Fails without digits and on overflow. */
static bool take_number(char **pos, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	char *p = *pos;

	for (;; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (p == *pos)
		return false;
	*pos = p;
	*ret = value;
	return true;
}

static bool take_char(char **pos, char c)
{
	if (**pos != c)
		return false;
	(*pos)++;
	return true;
}

/* The kernel escapes a newline in a path as \012 and nothing else: seq_path(m, path, "\n"). */
static void decode_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* @line is one line without its newline, NUL-terminated. */
static bool parse_line(char *line, struct proc_map *ret)
{
	static const char deleted[] = " (deleted)";
	uint64_t major, minor;
	char *p = line;

	if (!take_number(&p, 16, &ret->start) || !take_char(&p, '-') ||
	    !take_number(&p, 16, &ret->end) || !take_char(&p, ' '))
		return false;
	if (ret->end <= ret->start || strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	ret->executable = p[2] == 'x';
	p += 5;
	if (!take_number(&p, 16, &ret->file_off) || !take_char(&p, ' ') ||
	    !take_number(&p, 16, &major) || !take_char(&p, ':') || !take_number(&p, 16, &minor) ||
	    !take_char(&p, ' ') || !take_number(&p, 10, &ret->inode))
		return false;
	if (major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	ret->dev_major = (uint32_t)major;
	ret->dev_minor = (uint32_t)minor;
	while (*p == ' ')
		p++;

	size_t len = strlen(p);

	ret->deleted = ret->inode != 0 && len >= sizeof(deleted) &&
		       strcmp(p + len - (sizeof(deleted) - 1), deleted) == 0;
	if (ret->deleted)
		p[len - (sizeof(deleted) - 1)] = '\0';
	decode_newlines(p);
	ret->path = p;
	return true;
}

int proc_maps_parse(char *text, size_t size, proc_maps_fn fn, void *ctx, size_t *ret_bad)
{
	char *end = text + size;
	size_t nr_bad = 0;
	int ret = 0;

	for (char *line = text; line < end && ret == 0;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		char *stop = newline ? newline : end;
		struct proc_map map;

		*stop = '\0';
		if (memchr(line, '\0', (size_t)(stop - line)) || !parse_line(line, &map))
			nr_bad++;
		else
			ret = fn(&map, ctx);
		line = stop + 1;
	}
	if (ret_bad)
		*ret_bad = nr_bad;
	return ret;
}

/* Grow *@buf by doubling until the file ends or PROC_MAPS_SIZE_MAX is read. */
static int read_all(int fd, char **buf, size_t *ret_size)
{
	size_t capacity = 64 << 10, size = 0;

	*buf = malloc(capacity);
	if (!*buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, *buf + size, capacity - size - 1);

		if (n < 0)
			return -errno;
		size += (size_t)n;
		if (n == 0 || size >= PROC_MAPS_SIZE_MAX)
			break;
		if (capacity - size < 8192) { /* a read of maps returns at most a page or a line */
			int code = array_reserve(buf, 1, &capacity, 2 * capacity);

			if (code)
				return code;
		}
	}
	*ret_size = size;
	return 0;
}

int proc_maps_read_from(pid_t pid, int fd, proc_maps_fn fn, void *ctx, struct fpl_err *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	int code;

	if (fd < 0) {
		code = fd == -ENOENT ? -ESRCH : fd;
		return fpl_fail(err, code, "pid %d: %s", (int)pid, strerror(-code));
	}
	code = read_all(fd, &text, &size);
	if (code)
		return fpl_fail(err, code, "pid %d: maps: %s", (int)pid, strerror(-code));
	if (size == 0)
		return fpl_fail(err, -ENODATA, "pid %d: it has no memory mapped", (int)pid);
	return proc_maps_parse(text, size, fn, ctx, NULL);
}

int proc_maps_read(pid_t pid, proc_maps_fn fn, void *ctx, struct fpl_err *err)
{
	AUTO_FD int fd = proc_file_open(pid, "maps", O_RDONLY);

	return proc_maps_read_from(pid, fd, fn, ctx, err);
}
