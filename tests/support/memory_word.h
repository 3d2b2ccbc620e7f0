/* SPDX-License-Identifier: Apache-2.0 */
/* Words that a fuzzer puts into the memory of a process: triples of an address, a size and a value,
 * as tests/fuzz/memory_seeds.py writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct memory_word {
	uint32_t off;	/* below 2^24 */
	uint32_t bytes; /* of @value: 1, 2, 4 or 8 */
	uint8_t where;	/* bits that a target gives its own meaning; 128: see below */
	uint64_t value;
};

/* Take the next one from @data [@size]. With bit 128 its value leads into the memory [@base,
 * @base + @room): such numbers are worth more than others. False: no whole one is left. */
static inline bool memory_word_take(const uint8_t **data, size_t *size, uint64_t base,
				    uint64_t room, struct memory_word *ret)
{
	if (*size < 12)
		return false;
	memcpy(&ret->off, *data, sizeof(ret->off));
	memcpy(&ret->value, *data + 4, sizeof(ret->value));
	ret->where = (*data)[3];
	ret->off &= 0xffffff;
	ret->bytes = 1u << ret->where % 4;
	if (ret->where & 128)
		ret->value = base + ret->value % room;
	*data += 12;
	*size -= 12;
	return true;
}
