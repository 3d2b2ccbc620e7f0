/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a user frame of a stack (bits of bpf/shared.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared.h"
#include "bpf/shared_region.h"

static inline bool frame_is_exact(uint64_t frame)
{
	return frame & FPL_FRAME_EXACT;
}

static inline bool frame_is_raw(uint64_t frame)
{
	return frame & FPL_FRAME_RAW;
}

/* Does it stand for frames that were left out? It is raw, too. */
static inline bool frame_is_gap(uint64_t frame)
{
	return frame == FPL_FRAME_GAP;
}

/* Object id of a frame that is not raw. */
static inline uint32_t frame_object(uint64_t frame)
{
	return (uint32_t)(frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX;
}

/* Runtime address of a raw frame, or that of its Method, vaddr of any other. */
static inline uint64_t frame_addr(uint64_t frame)
{
	uint64_t low = (1ull << FPL_FRAME_TAG_SHIFT) - 1;

	if (fpl_frame_is_method(frame))
		return frame & low & ~FPL_METHOD_LOW_MASK;
	if (fpl_frame_is_jit(frame))
		return frame & low;
	return frame & (frame_is_raw(frame) ? FPL_FRAME_ADDR_MASK : FPL_FRAME_VADDR_MASK);
}

/* The address that the code of @frame is looked for by (FPL_CODE_TAGGED). */
static inline uint64_t frame_code_addr(uint64_t frame)
{
	uint64_t bits = frame & ((1ull << 56) - 1);

	return fpl_frame_is_jit(frame) && bits >> FPL_FRAME_TAG_SHIFT ? bits | FPL_CODE_TAGGED
								      : frame_addr(frame);
}
