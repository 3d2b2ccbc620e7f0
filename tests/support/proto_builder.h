/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers byte by byte, right or wrong, for the tests of who reads them. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct proto {
	unsigned char bytes[64 << 10];
	size_t size;
};

static inline void proto_varint(struct proto *proto, uint64_t value)
{
	assert(proto->size + 10 <= sizeof(proto->bytes));
	for (; value > 0x7f; value >>= 7)
		proto->bytes[proto->size++] = (unsigned char)(value | 0x80);
	proto->bytes[proto->size++] = (unsigned char)value;
}

static inline void proto_number(struct proto *proto, unsigned field, uint64_t value)
{
	proto_varint(proto, field << 3);
	proto_varint(proto, value);
}

static inline void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t size)
{
	proto_varint(proto, field << 3 | 2);
	proto_varint(proto, size);
	assert(proto->size + size <= sizeof(proto->bytes));
	memcpy(proto->bytes + proto->size, bytes, size);
	proto->size += size;
}

static inline void proto_string(struct proto *proto, unsigned field, const char *text)
{
	proto_bytes(proto, field, text, strlen(text));
}

static inline void proto_message(struct proto *proto, unsigned field, const struct proto *message)
{
	proto_bytes(proto, field, message->bytes, message->size);
}
