/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file as hostile bytes. Judged: an error says the file and leaves a recording that can be
 * dropped; what is read has counts that fit, frames of the right kind, and is the same when it is
 * written as .jsonl of either format and read again.
 */
#pragma once

#include <stdint.h>

#include "recording_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check_stacks(const struct recording *recording)
{
	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];
		size_t nr = (size_t)stack->nr_user + stack->nr_kernel + stack->nr_fp;

		for (size_t j = 0; j < nr; j++) {
			bool kernel = j >= stack->nr_user &&
				      j < (size_t)stack->nr_user + stack->nr_kernel;

			/* below a waker's stack kernel frames are among those of the user */
			if (kernel &&
			    recording_frame_at(recording, stack, j)->kind != RECORDING_KERNEL)
				abort();
		}
	}
	for (size_t i = 0; i < recording->nr_events; i++)
		if (recording->events[i].stack >= recording->nr_stacks)
			abort();
}

/* @recording, which is the .jsonl @jsonl, is the same by way of @format. */
static inline void check_round_trip(const struct recording *recording, const char *jsonl,
				    const struct format *format)
{
	static const struct read_options options = { .memory = 64 << 20, .events = true };
	const struct format_options format_options = { 0 };
	char *text = recording_by(recording, format, &format_options);
	struct recording again;
	struct fpl_err err;

	if (recording_of(text, strlen(text), &options, &again, &err))
		abort();

	char *second = recording_as(&again, "jsonl", &format_options);

	if (strcmp(jsonl, second) != 0)
		abort();
	free(text);
	free(second);
	recording_fini(&again);
}

static inline void check_round_trips(const struct recording *recording)
{
	const struct format *format = format_find(&recording_formats, "jsonl");
	char *jsonl = recording_by(recording, format, &(struct format_options){ 0 });

	check_round_trip(recording, jsonl, format);
	check_round_trip(recording, jsonl, format->zstd);
	free(jsonl);
}

static inline void fuzz_reader(const uint8_t *data, size_t size)
{
	static const struct read_options options = { .memory = 8 << 20, .events = true };
	struct recording recording;
	struct fpl_err err = { 0 };

	if (recording_of(data, size, &options, &recording, &err)) {
		if (strncmp(err.msg, "in", 2) != 0 || !err.code)
			abort();
	} else {
		check_stacks(&recording);
		check_round_trips(&recording);
	}
	recording_fini(&recording);
}
