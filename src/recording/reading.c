/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"

static int no_memory(const struct reading *reading, struct fpl_err *err)
{
	return fpl_fail(err, -ENOMEM, "%s: line %" PRIu64 ": out of memory", reading->input->name,
			reading->input->line);
}

void reading_fini(struct reading *reading)
{
	free(reading->frames);
	reading->frames = NULL;
}

int reading_next(struct reading *reading, char **ret, size_t *ret_length, struct fpl_err *err)
{
	uint64_t memory = reading->options->memory ? reading->options->memory : READ_MEMORY_BYTES;

	if (recording_bytes(reading->recording) > memory)
		return fpl_fail(err, -E2BIG,
				"%s: line %" PRIu64 ": what was read needs more than %" PRIu64
				" bytes: more --memory",
				reading->input->name, reading->input->line, memory);
	return line_input_next(reading->input, ret, ret_length, err);
}

int reading_text(struct reading *reading, const char *text, uint32_t *ret, struct fpl_err *err)
{
	return recording_add_text(reading->recording, text, ret) ? no_memory(reading, err) : 0;
}

int reading_object(struct reading *reading, const char *path, const char *build_id, uint32_t *ret,
		   struct fpl_err *err)
{
	struct recording *recording = reading->recording;
	struct recording_object object = { 0 };

	if (recording_add_text(recording, path, &object.path) ||
	    recording_add_text(recording, build_id, &object.build_id) ||
	    recording_add_object(recording, &object, ret))
		return no_memory(reading, err);
	return 0;
}

int reading_function(struct reading *reading, const char *name, const char *file,
		     uint32_t start_line, uint32_t *ret, struct fpl_err *err)
{
	struct recording *recording = reading->recording;
	struct recording_function function = { .start_line = start_line };

	if (recording_add_text(recording, name, &function.name) ||
	    recording_add_text(recording, file, &function.file) ||
	    recording_add_function(recording, &function, ret))
		return no_memory(reading, err);
	return 0;
}

int reading_push(struct reading *reading, const struct recording_frame *frame,
		 const struct recording_line *lines, struct fpl_err *err)
{
	if (reading->nr_frames == READING_FRAMES_MAX)
		return line_input_fail(reading->input, err, "a stack of more than %u frames",
				       READING_FRAMES_MAX);
	if (array_reserve(&reading->frames, sizeof(*reading->frames), &reading->room_frames,
			  reading->nr_frames + 1) ||
	    recording_add_frame(reading->recording, frame, lines,
				&reading->frames[reading->nr_frames]))
		return no_memory(reading, err);
	reading->nr_frames++;
	return 0;
}

int reading_stack(struct reading *reading, const struct recording_stack *key, uint32_t *ret,
		  struct fpl_err *err)
{
	if (__builtin_add_overflow(reading->shown, key->count, &reading->shown) ||
	    __builtin_add_overflow(reading->weight_ns, key->weight_ns, &reading->weight_ns) ||
	    reading->shown == UINT64_MAX || reading->weight_ns == UINT64_MAX)
		return line_input_fail(reading->input, err,
				       "counts or weights add up to more than 64 bits hold");
	if (recording_add_stack(reading->recording, key, reading->frames, ret))
		return no_memory(reading, err);
	reading->nr_frames = 0;
	return 0;
}
