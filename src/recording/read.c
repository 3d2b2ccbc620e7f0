/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/perf_header.h"
#include "recording/reading.h"

/* What is looked at to tell what a file is: longer than any first line but a folded one. */
enum { PEEK_BYTES = 64 << 10 };

typedef int read_fn(struct reading *reading, struct fpl_err *err);

/* Does @line end in a blank and digits, as a folded one? */
static bool has_count(const char *line)
{
	const char *space = strrchr(line, ' ');

	return space && space > line && space[1] && !space[1 + strspn(space + 1, "0123456789")];
}

/* The reader of a file whose first line, or what was seen of it, is @line. */
static read_fn *reader_of_line(char *line, bool whole)
{
	struct perf_header header;

	if (*line == '{')
		return jsonl_read;
	if (*line == '#')
		return perf_script_read;
	if (whole ? has_count(line) : strchr(line, ';') != NULL)
		return folded_read;
	return perf_header_parse(line, &header) ? perf_script_read : NULL;
}

/* NULL: it is none of them. A file without a line is a folded one of no stack. */
static read_fn *reader_of(const char *bytes, size_t size, char *room)
{
	size_t begin = 0, length;

	while (begin < size && (bytes[begin] == '\n' || bytes[begin] == '\r'))
		begin++;
	if (begin == size)
		return folded_read;

	const char *newline = memchr(bytes + begin, '\n', size - begin);

	length = newline ? (size_t)(newline - bytes) - begin : size - begin;
	if (memchr(bytes + begin, '\0', length))
		return NULL;
	if (length && bytes[begin + length - 1] == '\r')
		length--;
	memcpy(room, bytes + begin, length);
	room[length] = '\0';
	return reader_of_line(room, newline || size < PEEK_BYTES);
}

static void cleanup_input(struct line_input *input)
{
	line_input_fini(input);
}

int recording_read(const char *name, int fd, const struct read_options *options,
		   struct recording *ret, struct fpl_err *err)
{
	CLEANUP(cleanup_input) struct line_input input;
	CLEANUP(reading_fini)
	struct reading reading = { .input = &input, .options = options, .recording = ret };
	AUTO_FREE char *room = malloc(PEEK_BYTES + 1);
	const char *bytes = NULL;
	size_t size = 0;
	int error;

	line_input_init(&input, name, fd);
	if (!room)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	error = line_input_peek(&input, PEEK_BYTES, &bytes, &size, err);
	if (error)
		return error;

	read_fn *read = reader_of(bytes, size, room);

	if (!read)
		return fpl_fail(err, -EBADMSG,
				"%s: neither folded stacks nor .jsonl nor the text of perf script",
				name);
	return read(&reading, err);
}
