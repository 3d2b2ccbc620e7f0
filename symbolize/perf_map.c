/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/perf_map.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/file_window.h"

/* Two numbers of 18 characters, two blanks, a name and the end. A longer line holds no more name
 * than is kept. */
#define LINE_MAX_BYTES (CODE_NAME_MAX + 64u)

/* One line, without its end. */
struct text {
	const char *pos, *end;
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* A hexadecimal number, with or without 0x, and the blank behind it. */
static bool take_number(struct text *line, uint64_t *ret)
{
	unsigned nr_digits = 0;

	*ret = 0;
	if (line->end - line->pos >= 2 && line->pos[0] == '0' &&
	    (line->pos[1] == 'x' || line->pos[1] == 'X'))
		line->pos += 2;
	for (; line->pos < line->end && digit_of(*line->pos) >= 0; line->pos++) {
		if (++nr_digits > 16)
			return false;
		*ret = *ret << 4 | (uint64_t)digit_of(*line->pos);
	}
	if (!nr_digits || line->pos == line->end || *line->pos != ' ')
		return false;
	line->pos++;
	return true;
}

/* Takes in one line. Returns 0, -ENOSPC or -ENOMEM; says in *ret_bad what is wrong with it. */
static int take_line(struct text line, struct code_table *table, enum code_fault *ret_bad)
{
	uint64_t start, size;

	*ret_bad = CODE_FAULT_NONE;
	if (!take_number(&line, &start) || !take_number(&line, &size)) {
		*ret_bad = CODE_FAULT_NO_LINE;
		return 0;
	}
	if (line.end > line.pos && line.end[-1] == '\r')
		line.end--;
	if (line.pos == line.end) {
		*ret_bad = CODE_FAULT_NO_NAME;
		return 0;
	}
	if (memchr(line.pos, '\0', (size_t)(line.end - line.pos))) {
		*ret_bad = CODE_FAULT_NUL;
		return 0;
	}

	int code = code_table_add(table, start, size, 0, line.pos, (size_t)(line.end - line.pos));

	if (code == -EINVAL) {
		*ret_bad = size ? CODE_FAULT_BEYOND : CODE_FAULT_NO_SIZE;
		code = 0;
	}
	return code;
}

/* The start of the next line; the one at @off is longer than is looked at. 0: it has no end. */
static long skip_line(struct file_window *window, uint64_t off, uint64_t *ret)
{
	const uint8_t *bytes;
	long nr;

	while ((nr = file_window_at(window, off, FILE_WINDOW_SIZE / 2, &bytes)) > 0) {
		const uint8_t *end = memchr(bytes, '\n', (size_t)nr);

		if (end) {
			*ret = off + (uint64_t)(end - bytes) + 1;
			return 1;
		}
		off += (uint64_t)nr;
	}
	*ret = off;
	return nr;
}

static int read_lines(struct file_window *window, struct code_table *table,
		      struct code_file_result *ret)
{
	uint64_t off = 0;

	for (;;) {
		const uint8_t *bytes;
		enum code_fault bad;
		uint64_t next;
		long nr = file_window_at(window, off, LINE_MAX_BYTES, &bytes);

		ret->end_off = off;
		if (nr <= 0)
			return (int)nr;

		const uint8_t *end = memchr(bytes, '\n', (size_t)nr);
		struct text line = { .pos = (const char *)bytes,
				     .end = (const char *)bytes + (end ? end - bytes : nr) };

		if (!end && nr < (long)LINE_MAX_BYTES)
			return 0; /* being written, or cut off by the budget */

		int code = line.pos == line.end ? 0 : take_line(line, table, &bad);

		if (code) {
			ret->end = CODE_FILE_NO_ROOM;
			return code == -ENOSPC ? 0 : code;
		}
		if (line.pos != line.end) {
			ret->nr_entries += !bad;
			if (bad && !ret->nr_bad++) {
				ret->bad_off = off;
				ret->fault = bad;
			}
		}
		if (end) {
			next = off + (uint64_t)(end - bytes) + 1;
		} else {
			nr = skip_line(window, off + LINE_MAX_BYTES, &next);
			if (nr <= 0) {
				ret->end_off = next;
				return (int)nr;
			}
		}
		off = next;
	}
}

int perf_map_read(int fd, uint64_t read_max, struct code_table *table, struct code_file_result *ret)
{
	CLEANUP(file_window_fini) struct file_window window = { 0 };
	const uint8_t *bytes;

	*ret = (struct code_file_result){ .end = CODE_FILE_WHOLE };

	int code = file_window_init(&window, fd, read_max);

	if (code)
		return code;
	code = read_lines(&window, table, ret);
	if (!code && ret->end == CODE_FILE_WHOLE && !window.budget) {
		/* one more byte tells whether that was all */
		window.budget = 1;
		if (file_window_at(&window, read_max, 1, &bytes) > 0) {
			ret->end = CODE_FILE_TOO_LONG;
			ret->end_off = read_max;
		}
	}
	return code;
}
