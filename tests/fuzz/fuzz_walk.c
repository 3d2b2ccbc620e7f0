// SPDX-License-Identifier: Apache-2.0
/*
 * The walker over hostile registers, mappings, objects, tables and stacks: it ends, stays in
 * bounds, names a stop, and says the same twice.
 *
 * An input is struct walk_input, then image_bytes of chunk 0 (the rest of it is zeros), then the
 * stack.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/replay.h"

#define NR_SLOTS    4u
#define NR_MAPPINGS 4u

struct walk_input {
	struct fpl_regs regs; /* stack_size is what follows, at most */
	struct fpl_object objects[NR_SLOTS];
	struct fpl_mapping mappings[NR_MAPPINGS];
	uint32_t max_depth;
	uint32_t image_bytes;
	uint8_t nr_mappings;
	uint8_t unwind;
	uint8_t code; /* each byte of code */
	uint8_t _pad[5];
};

static int read_code(void *arg, uint64_t addr, void *dst, size_t size)
{
	const struct walk_input *input = arg;

	(void)addr;
	memset(dst, input->code, size);
	return 0;
}

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_result(const struct replay_input *in, const struct replay_result *ret)
{
	uint32_t max = in->max_depth < FPL_DEPTH_MAX ? in->max_depth : FPL_DEPTH_MAX;
	int raw = 0;

	require(ret->nr_frames <= max);
	require(ret->nr_frames > 0 || max == 0);
	require(ret->stop < FPL_STOP_COUNT);
	require(ret->stop != FPL_STOP_DEPTH || ret->nr_frames == max);
	for (uint32_t i = 0; i < ret->nr_frames; i++) {
		uint64_t frame = ret->frames[i];
		uint64_t origin = frame >> FPL_FRAME_ORIGIN_SHIFT;

		require(i > 0 || !(frame & FPL_FRAME_EXACT) == !in->regs->exact);
		require(origin == in->origin || (origin == FPL_ORIGIN_SYNTH && i > 0) ||
			(origin == FPL_ORIGIN_FP && i > 0 && in->unwind == FPL_UNWIND_AUTO));
		raw |= (frame & FPL_FRAME_RAW) != 0;
	}
	require(raw == (ret->flags != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct replay_result first, second;
	static uint8_t chunk[FPL_CHUNK_SIZE];
	const uint8_t *chunks[] = { chunk, NULL };
	struct walk_input input;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	data += sizeof(input);
	size -= sizeof(input);

	uint32_t image_bytes = input.image_bytes < size ? input.image_bytes : (uint32_t)size;

	if (image_bytes > sizeof(chunk))
		image_bytes = sizeof(chunk);
	memcpy(chunk, data, image_bytes);
	data += image_bytes;
	size -= image_bytes;

	/* Exactly as long as it says: a sanitizer sees a read past it. */
	AUTO_FREE uint8_t *stack = malloc(size ? size : 1);

	require(stack != NULL);
	memcpy(stack, data, size);
	if (input.regs.stack_size > size)
		input.regs.stack_size = (uint32_t)size;

	struct replay_input in = {
		.mappings = input.mappings,
		.nr_mappings = input.nr_mappings % (NR_MAPPINGS + 1),
		.objects = input.objects,
		.nr_objects = NR_SLOTS,
		.chunks = chunks,
		.nr_chunks = 2,
		.regs = &input.regs,
		.stack = stack,
		.read_code = read_code,
		.arg = &input,
		.max_depth = input.max_depth,
		.unwind = input.unwind & 1,
		.origin = FPL_ORIGIN_CFI_USER,
	};

	replay_walk(&in, &first);
	check_result(&in, &first);
	replay_walk(&in, &second);
	require(first.nr_frames == second.nr_frames && first.stop == second.stop);
	require(memcmp(first.frames, second.frames, 8 * first.nr_frames) == 0);
	memset(chunk, 0, image_bytes);
	return 0;
}
