/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/leads.h"

#include <string.h>

enum { DISTANCE_BYTES = 4, LANES = 16 };

typedef uint8_t lanes_t __attribute__((vector_size(LANES)));

/* May each byte be the last one of an opcode with a 32-bit distance? Then its bits are set. */
static lanes_t may_precede(lanes_t last, lanes_t before)
{
	/* e8 and e9: call and jmp; 0f 80 to 0f 8f: jcc; 8d and a form relative to rip: lea */
	return (lanes_t)((last & 0xfe) == 0xe8) |
	       (lanes_t)(((last & 0xf0) == 0x80) & (before == 0x0f)) |
	       (lanes_t)(((last & 0xc7) == 0x05) & (before == 0x8d));
}

/* One bit for each non-zero byte, by an instruction that every x86-64 has. */
static unsigned bits_of(lanes_t lanes)
{
	typedef char chars_t __attribute__((vector_size(LANES)));

	return (unsigned)__builtin_ia32_pmovmskb128((chars_t)lanes);
}

static bool leads(const struct synth_holes *holes, const uint8_t *code, size_t at, uint64_t vaddr)
{
	int32_t distance;

	memcpy(&distance, code + at, sizeof(distance));
	return synth_holes_have(holes, vaddr + at + DISTANCE_BYTES + (uint64_t)(int64_t)distance);
}

/* The last of @bits, for bytes from @at on, with a branch into a hole: the end of its distance; 0:
 * no such byte. */
static size_t last_of(const struct synth_holes *holes, const uint8_t *code, size_t size,
		      uint64_t vaddr, size_t at, unsigned bits)
{
	while (bits) {
		unsigned top = 31u - (unsigned)__builtin_clz(bits);
		size_t next = at + top + 1;

		if (next + DISTANCE_BYTES <= size && leads(holes, code, next, vaddr))
			return next + DISTANCE_BYTES;
		bits &= ~(1u << top);
	}
	return 0;
}

/* As last_of(), of all bytes from @at on, fewer than LANES or the first ones. */
static size_t last_of_few(const struct synth_holes *holes, const uint8_t *code, size_t size,
			  uint64_t vaddr, size_t at)
{
	size_t left = size - at, nr = left < LANES ? left : LANES;
	uint8_t bytes[LANES + 1] = { 0 }; /* the first: of the byte before */
	lanes_t last, before;

	if (at)
		bytes[0] = code[at - 1];
	memcpy(bytes + 1, code + at, nr);
	memcpy(&last, bytes + 1, LANES);
	memcpy(&before, bytes, LANES);
	return last_of(holes, code, size, vaddr, at, bits_of(may_precede(last, before)));
}

/* Search backwards: the bytes before the last branch need no look. */
size_t synth_leads_size(const struct synth_holes *holes, const uint8_t *code, size_t size,
			uint64_t vaddr)
{
	size_t at = size / LANES * LANES, end;

	end = at < size ? last_of_few(holes, code, size, vaddr, at) : 0;
	while (!end && at > LANES) {
		lanes_t last, before;

		at -= LANES;
		memcpy(&last, code + at, LANES);
		memcpy(&before, code + at - 1, LANES);

		unsigned bits = bits_of(may_precede(last, before));

		if (bits)
			end = last_of(holes, code, size, vaddr, at, bits);
	}
	return end || at == 0 ? end : last_of_few(holes, code, size, vaddr, 0);
}
