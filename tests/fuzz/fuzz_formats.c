/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile pprof, written in every format. Judged: the output is well-formed, and the page's data
 * can neither end the element they are in nor begin another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "format/formats.h"
#include "format/pprof_read.h"
#include "picture/html_data.h"
#include "picture/picture_options.h"
#include "tests/support/well_formed.h"

#define MEMORY (UINT64_C(4) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct checked_format {
	const char *name;
	bool (*is_right)(const char *text, size_t size);
};

static bool is_anything(const char *text, size_t size)
{
	(void)text;
	(void)size;
	return true;
}

/* Check only the data written into the page: the rest is the same in all. */
static bool is_page_data(const char *text, size_t size)
{
	return is_json(text, size) && !memmem(text, size, "</", 2) && !memmem(text, size, "<!", 2);
}

/* Limit of the text kept from a format with a block per sample; the rest is not judged. */
#define TEXT_MAX (UINT64_C(8) << 20)

struct text {
	char *bytes; /* owned [size] */
	size_t size, room;
};

/* cookie_write_function_t */
static ssize_t text_add(void *cookie, const char *bytes, size_t size)
{
	struct text *text = cookie;

	if (text->size + size > TEXT_MAX ||
	    array_reserve(&text->bytes, 1, &text->room, text->size + size))
		return 0; /* a write error */
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	return (ssize_t)size;
}

static void check(const char *name, format_write_fn *write, bool (*is_right)(const char *, size_t),
		  const struct recording *recording, const struct format_options *options)
{
	struct text text = { .bytes = NULL };
	FILE *to = fopencookie(&text, "w", (cookie_io_functions_t){ .write = text_add });
	struct fpl_err err = { 0 };
	uint64_t shown = 0;

	if (!to)
		abort();

	int error = write(to, recording, options, &shown, &err);
	bool whole = !fflush(to) && !ferror(to);

	fclose(to);
	if (error ? !*err.msg : whole && !is_right(text.bytes, text.size)) {
		fprintf(stderr, "%s: error %d %s\n%.*s\n", name, error, err.msg, (int)text.size,
			text.bytes);
		abort();
	}
	free(text.bytes);
}

static void check_all(const struct recording *recording, const struct format_options *options)
{
	static const struct checked_format checked[] = {
		{ "folded", is_anything }, { "text", is_anything },   { "jsonl", is_json_lines },
		{ "perf", is_anything },   { "speedscope", is_json }, { "firefox", is_json },
		{ "svg", is_xml },
	};

	for (size_t i = 0; i < ARRAY_SIZE(checked); i++) {
		const struct format *format = format_find(&recording_formats, checked[i].name);

		if (!format)
			abort();
		check(format->name, format->write, checked[i].is_right, recording, options);
	}
	check("html", html_data_write, is_page_data, recording, options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned how = size ? data[size - 1] : 0;
	const struct pprof_read_options reading = { .memory = MEMORY, .events = true };
	const struct format_options options = {
		.delimited = how & 1,
		.annotate = how & 2,
		.origin = how & 4,
		.inlined = how & 8 ? FORMAT_INLINED_NEVER : FORMAT_INLINED_ALWAYS,
		.lines = how & 16,
		.columns = how & 32 ? 80 : 0,
	};
	int fd = memfd_create("pprof", MFD_CLOEXEC);
	struct recording recording;
	struct fpl_err err = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) ||
	    recording_init(&recording))
		abort();
	/* of a file that is corrupt at its end, the samples before */
	if (pprof_read("input", fd, &reading, &recording, NULL, &err))
		recording_sort_events(&recording);
	check_all(&recording, &options);
	recording_fini(&recording);
	close(fd);
	return 0;
}
