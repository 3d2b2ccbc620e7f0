/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/leads.h"

#include <string.h>

enum { DISTANCE_BYTES = 4, LANES = 16, HALF = 8 };

typedef uint8_t lanes_t __attribute__((vector_size(LANES)));

/* Each byte: may it be the last one of an opcode with a 32-bit distance? Then its bits are set. */
static lanes_t may_precede(lanes_t last, lanes_t before)
{
	/* e8 and e9: call and jmp; 0f 80 to 0f 8f: jcc; 8d and a form relative to rip: lea */
	return (lanes_t)((last & 0xfe) == 0xe8) |
	       (lanes_t)(((last & 0xf0) == 0x80) & (before == 0x0f)) |
	       (lanes_t)(((last & 0xc7) == 0x05) & (before == 0x8d));
}

static bool leads(const struct synth_holes *holes, const uint8_t *code, size_t at, uint64_t vaddr)
{
	int32_t distance;

	memcpy(&distance, code + at, sizeof(distance));
	return synth_holes_have(holes, vaddr + at + DISTANCE_BYTES + (uint64_t)(int64_t)distance);
}

/* What of the 8 bytes from @at on, of which those of @found are not 0, leads: as
 * synth_leads_size(). */
static size_t leads_of(const struct synth_holes *holes, const uint8_t *code, size_t size,
		       uint64_t vaddr, size_t at, uint64_t found)
{
	size_t last = 0;

	while (found) {
		unsigned byte = (unsigned)__builtin_ctzll(found) / 8;
		size_t next = at + byte + 1;

		found &= ~(0xffull << 8 * byte);
		if (next + DISTANCE_BYTES <= size && leads(holes, code, next, vaddr))
			last = next + DISTANCE_BYTES;
	}
	return last;
}

size_t synth_leads_size(const struct synth_holes *holes, const uint8_t *code, size_t size,
			uint64_t vaddr)
{
	size_t nr = 0;

	for (size_t at = 0; at + DISTANCE_BYTES < size; at += LANES) {
		lanes_t last = { 0 }, before = { 0 };
		uint64_t found[LANES / HALF];
		size_t left = size - at;

		if (at && left >= LANES) {
			memcpy(&last, code + at, LANES);
			memcpy(&before, code + at - 1, LANES);
		} else {
			memcpy(&last, code + at, left < LANES ? left : LANES);
			for (size_t i = at == 0; i < LANES && i < left; i++)
				before[i] = code[at + i - 1];
		}
		last = may_precede(last, before);
		memcpy(found, &last, sizeof(found));
		for (size_t half = 0; half < LANES / HALF; half++) {
			size_t end = found[half] ? leads_of(holes, code, size, vaddr,
							    at + half * HALF, found[half])
						 : 0;

			nr = end ? end : nr;
		}
	}
	return nr;
}
