/* SPDX-License-Identifier: Apache-2.0 */
#include "format/line_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/io.h"

enum { FIRST_ROOM = 256 << 10 };

void line_input_init(struct line_input *ret, const char *name, int fd)
{
	*ret = (struct line_input){ .name = name, .fd = fd };
}

void line_input_fini(struct line_input *input)
{
	free(input->buf);
	input->buf = NULL;
}

int line_input_fail(const struct line_input *input, struct fpl_err *err, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return fpl_fail(err, -EBADMSG, "%s: line %" PRIu64 " (offset %" PRIu64 "): %s", input->name,
			input->line, input->line_off, what);
}

/* Read on, behind what is there; makes room where it is missing. */
static int fill(struct line_input *input, struct fpl_err *err)
{
	if (input->begin) {
		memmove(input->buf, input->buf + input->begin, input->end - input->begin);
		input->end -= input->begin;
		input->begin = 0;
	}
	/* a byte more, and the NUL of a last line */
	alloc_check(array_reserve(&input->buf, 1, &input->room,
				  input->end ? input->end + 2 : FIRST_ROOM));

	size_t wanted = input->room - input->end - 1;
	ssize_t nr = io_read(input->fd, input->buf + input->end, wanted);

	if (nr < 0)
		return fpl_fail(err, (int)nr, "%s: offset %" PRIu64 ": %s", input->name,
				input->next_off + input->end, strerror((int)-nr));
	input->at_end = (size_t)nr < wanted;
	input->end += (size_t)nr;
	return 0;
}

int line_input_peek(struct line_input *input, size_t wanted, const char **ret, size_t *ret_size,
		    struct fpl_err *err)
{
	int error = 0;

	while (!error && !input->at_end && input->end - input->begin < wanted)
		error = fill(input, err);
	if (error)
		return error;
	*ret = input->buf + input->begin;
	*ret_size = input->end - input->begin < wanted ? input->end - input->begin : wanted;
	return 0;
}

/* Take the bytes [begin, begin + @whole) as the line taken last, its end included. */
static void take(struct line_input *input, size_t whole)
{
	input->line++;
	input->line_off = input->next_off;
	input->next_off += whole;
	input->begin += whole;
}

int line_input_next(struct line_input *input, char **ret, size_t *ret_length, struct fpl_err *err)
{
	size_t searched = 0, length, whole;
	char *line, *newline = NULL;

	for (;;) {
		size_t left = input->end - input->begin;

		line = input->buf + input->begin;
		newline = left > searched ? memchr(line + searched, '\n', left - searched) : NULL;
		length = newline ? (size_t)(newline - line) : left;
		if (newline || input->at_end || length > LINE_INPUT_MAX)
			break;
		searched = left;
		int error = fill(input, err);
		if (error)
			return error;
	}
	if (!newline && !length)
		return 0;
	whole = length + (newline ? 1 : 0);
	input->is_open = !newline;
	take(input, whole);
	if (length > LINE_INPUT_MAX)
		return line_input_fail(input, err, "longer than %u bytes", LINE_INPUT_MAX);
	if (memchr(line, '\0', length))
		return line_input_fail(input, err, "a NUL byte: no text");
	if (length && line[length - 1] == '\r')
		length--;
	line[length] = '\0';
	*ret = line;
	*ret_length = length;
	return 1;
}
