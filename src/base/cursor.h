/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds-checked little-endian reader over hostile bytes.
 *
 * The failure is sticky: after a read past the end every read returns 0 and `bad` stays set, so a
 * parser reads a whole record and checks once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *pos; /* borrowed; next byte to read */
	const uint8_t *end;
	bool bad; /* a read went past the end, or a number did not fit 64 bits */
};

static inline struct cursor cursor_make(const uint8_t *bytes, size_t size)
{
	return (struct cursor){ .pos = bytes, .end = bytes + size };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->pos);
}

static inline void cursor_fail(struct cursor *c)
{
	c->bad = true;
	c->pos = c->end;
}

/* Advance over @size bytes; returns the first of them, or NULL if fewer are left. */
static inline const uint8_t *cursor_skip(struct cursor *c, uint64_t size)
{
	const uint8_t *bytes = c->pos;

	if (size > cursor_left(c)) {
		cursor_fail(c);
		return NULL;
	}
	c->pos += size;
	return bytes;
}

/* Little-endian unsigned number of @size bytes (1, 2, 4 or 8). */
static inline uint64_t cursor_uint(struct cursor *c, size_t size)
{
	const uint8_t *bytes = cursor_skip(c, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->pos < c->end)
		return *c->pos++;
	cursor_fail(c);
	return 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)cursor_uint(c, 2);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)cursor_uint(c, 4);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	return cursor_uint(c, 8);
}

/*
 * ULEB128 (DWARF 5, section 7.6). Padding with zero bits is accepted at any length, as assemblers
 * write it; a value of more than 64 bits is a failure.
 */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;

	if (c->pos < c->end && *c->pos < 0x80) /* most are */
		return *c->pos++;
	for (unsigned shift = 0; c->pos < c->end; shift += 7) {
		uint8_t byte = *c->pos++;
		uint64_t bits = byte & 0x7f;

		if (shift < 64)
			value |= bits << shift;
		if (shift >= 64 ? bits != 0 : shift == 63 && bits > 1)
			break;
		if (!(byte & 0x80))
			return value;
	}
	cursor_fail(c);
	return 0;
}

/* SLEB128. Bits beyond the 64th must repeat the sign. */
static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->pos < c->end; shift += 7) {
		uint8_t byte = *c->pos++;
		uint64_t bits = byte & 0x7f;

		if (shift < 64)
			value |= bits << shift;
		if (shift >= 63) {
			uint64_t sign = value >> 63 ? 0x7f : 0;

			if (bits != sign)
				break;
		}
		if (!(byte & 0x80)) {
			if (shift < 57 && (byte & 0x40))
				value |= ~0ull << (shift + 7);
			return (int64_t)value;
		}
	}
	cursor_fail(c);
	return 0;
}

/* Text of less than @max bytes up to its NUL; NULL if there is no NUL. */
static inline const char *cursor_text(struct cursor *c, size_t max)
{
	const uint8_t *text = c->pos;
	const uint8_t *nul = memchr(text, 0, cursor_left(c) < max ? cursor_left(c) : max);

	if (!nul) {
		cursor_fail(c);
		return NULL;
	}
	c->pos = nul + 1;
	return (const char *)text;
}
