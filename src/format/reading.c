/* SPDX-License-Identifier: Apache-2.0 */
#include "format/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void reading_fini(struct reading *reading)
{
	vector_fini(&reading->frames);
}

void reading_fail(struct reading *reading, const char *fmt, ...)
{
	char what[256];
	va_list args;

	if (reading->error)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	reading->error = line_input_fail(reading->input, reading->err, "%s", what);
}

bool reading_next(struct reading *reading, char **ret, size_t *ret_length)
{
	uint64_t memory = reading->options->memory ? reading->options->memory : READ_MEMORY_BYTES;
	int more;

	if (reading->error)
		return false;
	if (recording_bytes(reading->recording) > memory) {
		reading->error =
			fpl_fail(reading->err, -E2BIG,
				 "%s: line %" PRIu64 ": what was read needs more than %" PRIu64
				 " bytes: more --memory",
				 reading->input->name, reading->input->line, memory);
		return false;
	}
	more = line_input_next(reading->input, ret, ret_length, reading->err);
	if (more < 0)
		reading->error = more;
	return more > 0;
}

uint32_t reading_object(struct reading *reading, const char *path, const char *build_id)
{
	const struct recording_object object = {
		.path = must_add_text(reading->recording, path),
		.build_id = must_add_text(reading->recording, build_id),
	};

	return must_add_object(reading->recording, &object);
}

uint32_t reading_function(struct reading *reading, const char *name, const char *file,
			  uint32_t start_line)
{
	const struct recording_function function = {
		.name = must_add_text(reading->recording, name),
		.file = must_add_text(reading->recording, file),
		.start_line = start_line,
	};

	return must_add_function(reading->recording, &function);
}

void reading_unescape(char *text, const char *also)
{
	char *to = text;

	for (const char *from = text; *from;) {
		int high = from[0] == '\\' && from[1] == 'x' ? text_hex_digit(from[2]) : -1;
		int low = high >= 0 ? text_hex_digit(from[3]) : -1;
		int byte = high * 16 + low;

		if (low >= 0 && byte &&
		    (byte == '\\' || byte < 0x20 || byte >= 0x7f || strchr(also, byte))) {
			*to++ = (char)byte;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

void reading_push(struct reading *reading, const struct recording_frame *frame,
		  const struct recording_line *lines)
{
	if (reading->error)
		return;
	if (reading->frames.nr == READING_FRAMES_MAX)
		reading_fail(reading, "a stack of more than %u frames", READING_FRAMES_MAX);
	else
		must_push(&reading->frames, must_add_frame(reading->recording, frame, lines));
}

uint32_t reading_stack(struct reading *reading, const struct recording_stack *key)
{
	uint32_t ret;

	if (__builtin_add_overflow(reading->shown, key->count, &reading->shown) ||
	    __builtin_add_overflow(reading->weight, key->weight, &reading->weight) ||
	    reading->shown == UINT64_MAX || reading->weight == UINT64_MAX)
		reading_fail(reading, "counts or weights add up to more than 64 bits hold");
	if (reading->error)
		return 0;
	ret = must_add_stack(reading->recording, key, reading->frames.list);
	reading->frames.nr = 0;
	return ret;
}
