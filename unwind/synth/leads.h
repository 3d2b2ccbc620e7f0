/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does code lead into holes? By its bytes alone, before any of it is decoded: call, jmp, jcc and
 * lea have their 32-bit distances behind bytes of a few values. Private to unwind/synth.
 */
#pragma once

#include "unwind/synth/holes.h"

/*
 * Number of the @size bytes at @code, at @vaddr, to decode in order to meet all instructions that
 * may lead into one of @holes; 0: no such instruction. Cost: O(size), 16 bytes at a time.
 */
size_t synth_leads_size(const struct synth_holes *holes, const uint8_t *code, size_t size,
			uint64_t vaddr);
