// SPDX-License-Identifier: Apache-2.0
/*
 * The walker over hostile registers, mappings, objects, tables and stacks: it ends, stays in
 * bounds, names a stop, and says the same twice.
 *
 * An input is struct walk_input, then image_bytes of chunk 0 (the rest of it is zeros), then the
 * stack. Islands of a hole, and bytes that a snapshot shares with the last one, are taken from its
 * end.
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
	/* of the copy of the stack: in units of 64 bytes, pages, words */
	uint8_t hole_at, hole_pages, nr_islands, shared_at, nr_shared;
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

static uint32_t lower(uint32_t left, uint32_t right)
{
	return left < right ? left : right;
}

/* Cut the last @bytes, or what there is of them, off the @stack of *size bytes, into *ret. */
static uint32_t cut_off(const uint8_t *stack, size_t *size, size_t bytes, uint8_t **ret)
{
	bytes = bytes < *size ? bytes : *size;
	*size -= bytes;
	*ret = malloc(bytes ? bytes : 1);
	require(*ret != NULL);
	memcpy(*ret, stack + *size, bytes);
	return (uint32_t)bytes;
}

static void walk_twice(const struct replay_input *in)
{
	static struct replay_result first, second;

	replay_walk(in, &first);
	check_result(in, &first);
	replay_walk(in, &second);
	require(first.nr_frames == second.nr_frames && first.stop == second.stop);
	require(memcmp(first.frames, second.frames, 8 * first.nr_frames) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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

	/* Exactly as long as they say: a sanitizer sees a read past them. */
	AUTO_FREE uint8_t *islands = NULL, *shared = NULL, *stack = NULL;
	uint32_t nr_islands = lower(input.nr_islands % (FPL_ISLANDS_MAX + 1),
				    (uint32_t)(size / sizeof(struct fpl_island)));

	cut_off(data, &size, nr_islands * sizeof(struct fpl_island), &islands);

	uint32_t shared_size = cut_off(data, &size, 8ul * input.nr_shared, &shared);

	uint32_t own_size = lower(input.regs.stack_size, (uint32_t)size);

	size = own_size;
	cut_off(data, &size, own_size, &stack);
	input.regs.stack_size = own_size + shared_size;

	struct replay_input in = {
		.mappings = input.mappings,
		.nr_mappings = input.nr_mappings % (NR_MAPPINGS + 1),
		.objects = input.objects,
		.nr_objects = NR_SLOTS,
		.chunks = chunks,
		.nr_chunks = 2,
		.regs = &input.regs,
		.stack = stack,
		.hole = { .off = lower(64u * input.hole_at, own_size + shared_size),
			  .size = FPL_STACK_PAGE * input.hole_pages,
			  .nr_islands = nr_islands },
		.islands = (const struct fpl_island *)(const void *)islands,
		.shared = shared,
		.shared_off = lower(8u * input.shared_at, own_size),
		.shared_size = shared_size,
		.read_code = read_code,
		.arg = &input,
		.max_depth = input.max_depth,
		.unwind = input.unwind & 1,
		.origin = FPL_ORIGIN_CFI_USER,
	};

	walk_twice(&in);
	memset(chunk, 0, image_bytes);
	return 0;
}
