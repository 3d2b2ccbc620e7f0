/* SPDX-License-Identifier: Apache-2.0 */
/* Texts to recordings and back, for tests of what reads and merges them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/formats.h"
#include "format/read.h"
#include "view/measure.h"

/* Read @size bytes of @text as the file "in". */
static inline int recording_of(const void *text, size_t size, const struct read_options *options,
			       struct recording *ret, struct fpl_err *err)
{
	int fd = memfd_create("in", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0 ||
	    recording_init(ret))
		abort();

	int error = recording_read("in", fd, options, ret, err);

	close(fd);
	return error;
}

/* Write @recording by @format to a text that the caller frees. */
static inline char *recording_by(const struct recording *recording, const struct format *format,
				 const struct format_options *options)
{
	struct fpl_err err;
	char *text = NULL;
	size_t size;
	uint64_t shown;
	FILE *to = open_memstream(&text, &size);

	if (!to || format->write(to, recording, options, &shown, &err) || fclose(to) ||
	    shown != measure_sum(recording))
		abort();
	return text;
}

/* The same by the name of the format. */
static inline char *recording_as(const struct recording *recording, const char *format,
				 const struct format_options *options)
{
	return recording_by(recording, format_find(&recording_formats, format), options);
}
