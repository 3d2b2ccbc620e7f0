/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks for the writers of bcc's outputs: equal ones, ones without names, and hostile names. */
#pragma once

#include "recording/recording.h"
#include "tests/unit/cmocka_all.h"

static inline uint32_t bcc_stacks_frame(struct recording *recording, const char *name,
					uint64_t address, enum recording_kind kind)
{
	struct recording_function function = { 0 };
	struct recording_line line = { 0 };
	struct recording_frame frame = {
		.address = address,
		.start = RECORDING_NO_ADDRESS,
		.kind = (uint8_t)kind,
		.nr_lines = name ? 1 : 0,
	};
	uint32_t ret;

	if (name) {
		assert_int_equal(recording_add_text(recording, name, &function.name), 0);
		assert_int_equal(recording_add_function(recording, &function, &line.function), 0);
	}
	assert_int_equal(recording_add_frame(recording, &frame, &line, &ret), 0);
	return ret;
}

static inline void bcc_stacks_add(struct recording *recording, const char *comm, uint32_t pid,
				  uint64_t count, const uint32_t *frames, uint16_t nr_user,
				  uint16_t nr_kernel)
{
	struct recording_stack stack = {
		.count = count,
		.nr_user = nr_user,
		.nr_kernel = nr_kernel,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID,
		.pid = pid,
	};

	assert_int_equal(recording_add_text(recording, comm, &stack.comm), 0);
	assert_int_equal(recording_add_stack(recording, &stack, frames, NULL), 0);
}

static inline void bcc_stacks_fill(struct recording *recording)
{
	assert_int_equal(recording_init(recording), 0);

	const uint32_t leaf = bcc_stacks_frame(recording, "leaf", 0x10, RECORDING_USER);
	const uint32_t leaf2 = bcc_stacks_frame(recording, "leaf", 0x14, RECORDING_USER);
	const uint32_t main_frame = bcc_stacks_frame(recording, "main", 0x20, RECORDING_USER);
	const uint32_t unknown = bcc_stacks_frame(recording, NULL, 0x30, RECORDING_USER);
	const uint32_t read = bcc_stacks_frame(recording, "vfs_read", 0x1000, RECORDING_KERNEL);
	const uint32_t entry = bcc_stacks_frame(recording, "entry", 0x2000, RECORDING_KERNEL);
	const uint32_t nameless = bcc_stacks_frame(recording, NULL, 0x3000, RECORDING_KERNEL);

	bcc_stacks_add(recording, "cat", 7, 3, (uint32_t[]){ leaf, main_frame, read, entry }, 2, 2);
	bcc_stacks_add(recording, "cat", 7, 2, (uint32_t[]){ leaf2, main_frame, read, entry }, 2,
		       2);
	bcc_stacks_add(recording, "cat", 8, 4, (uint32_t[]){ leaf2, main_frame, read, entry }, 2,
		       2);
	bcc_stacks_add(recording, "a;\x1b b", 9, 1, (uint32_t[]){ unknown }, 1, 0);
	bcc_stacks_add(recording, "kworker", 2, 1, (uint32_t[]){ nameless }, 0, 1);
	bcc_stacks_add(recording, "gone", 3, 1, NULL, 0, 0);
}
