/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* A varint of 64 bits. */
#define VARINT_MAX 10u

/* Fields a Profile has, as of now; what a later one adds is skipped. */
#define LAST_FIELD 15u

void pprof_input_init(struct pprof_input *input, const char *name, int fd)
{
	*input = (struct pprof_input){ .room = PPROF_FIELD_SIZE_MAX + GUNZIP_BUFFER };
	gunzip_init(&input->gunzip, name, fd);
	input->buffer = must_malloc(input->room);
}

void pprof_input_fini(struct pprof_input *input)
{
	gunzip_fini(&input->gunzip);
	free(input->buffer);
	*input = (struct pprof_input){ .buffer = NULL };
}

static int fail_at(const struct pprof_input *input, int error, const char *what,
		   struct fpl_err *err)
{
	return fpl_fail(err, error, "%s: %s %" PRIu64 ": %s", input->gunzip.name,
			input->gunzip.plain ? "offset" : "unpacked offset",
			input->offset + input->at, what);
}

int pprof_input_fail(const struct pprof_input *input, const char *what, struct fpl_err *err)
{
	return fail_at(input, -EBADMSG, what, err);
}

/* Have @wanted bytes at buffer[at], or all there are. */
static void provide(struct pprof_input *input, size_t wanted)
{
	if (input->filled - input->at >= wanted || input->error)
		return;
	memmove(input->buffer, input->buffer + input->at, input->filled - input->at);
	input->offset += input->at;
	input->filled -= input->at;
	input->at = 0;
	while (input->filled < wanted) {
		ssize_t size = gunzip_read(&input->gunzip, input->buffer + input->filled,
					   input->room - input->filled, &input->why);

		if (size < 0)
			input->error = (int)size;
		if (size <= 0)
			break;
		input->filled += (size_t)size;
	}
}

/* There should be more in the buffer. */
static int fail_short(const struct pprof_input *input, struct fpl_err *err)
{
	if (input->error)
		return fpl_fail(err, input->error, "%s", input->why.msg);
	return fail_at(input, -ENODATA, "the file ends within a field", err);
}

/* The varint at buffer[at]. */
static int take_varint(struct pprof_input *input, uint64_t *ret, struct fpl_err *err)
{
	uint64_t value = 0;

	provide(input, VARINT_MAX);
	for (unsigned i = 0; i < VARINT_MAX; i++) {
		if (input->at + i == input->filled)
			return fail_short(input, err);

		uint64_t byte = input->buffer[input->at + i];

		value |= (byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			input->at += i + 1;
			*ret = value;
			return 0;
		}
	}
	return fail_at(input, -EBADMSG, "no protocol buffer: a number of more than 64 bits", err);
}

static int skip(struct pprof_input *input, struct pprof_field *ret, uint64_t size,
		struct fpl_err *err)
{
	ret->number = 0;
	while (size) {
		provide(input, 1);

		size_t there = input->filled - input->at;

		if (!there)
			return fail_short(input, err);
		if (there > size)
			there = (size_t)size;
		input->at += there;
		size -= there;
	}
	return 0;
}

/* The bytes of field @ret, whose length is @size. */
static int take_bytes(struct pprof_input *input, struct pprof_field *ret, uint64_t size,
		      struct fpl_err *err)
{
	ret->is_bytes = true;
	if (size > PPROF_FIELD_SIZE_MAX) {
		if (ret->number <= LAST_FIELD)
			return fail_at(input, -EBADMSG,
				       "no pprof, or one with a field of more than 1 MiB", err);
		return skip(input, ret, size, err);
	}
	provide(input, (size_t)size);
	if (input->filled - input->at < size)
		return fail_short(input, err);
	ret->bytes = input->buffer + input->at;
	ret->size = (size_t)size;
	input->at += (size_t)size;
	return 0;
}

int pprof_input_next(struct pprof_input *input, struct pprof_field *ret, bool *ret_end,
		     struct fpl_err *err)
{
	uint64_t tag, size;
	int error;

	*ret = (struct pprof_field){ 0 };
	provide(input, 1);
	*ret_end = input->at == input->filled && !input->error;
	if (*ret_end)
		return 0;
	error = take_varint(input, &tag, err);
	if (error)
		return error;
	if (!(tag >> 3) || tag > UINT32_MAX)
		return fail_at(input, -EBADMSG, "no protocol buffer: a field without a number",
			       err);
	ret->number = (unsigned)(tag >> 3);
	switch (tag & 7) {
	case 0:
		return take_varint(input, &ret->value, err);
	case 1:
		return skip(input, ret, 8, err);
	case 2:
		error = take_varint(input, &size, err);
		return error ? error : take_bytes(input, ret, size, err);
	case 5:
		return skip(input, ret, 4, err);
	default:
		return fail_at(input, -EBADMSG, "no protocol buffer: a field of no known kind",
			       err);
	}
}
