/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/large.h"

/* Texts are many and short: an allocation for each would cost more than most of them. */
enum { BLOCK_MIN = 1 << 10, BLOCK_MAX = 256 << 10, FIRST_SLOTS = 1024 };

struct strings_block {
	struct strings_block *next; /* owned */
	size_t used, size;
	char bytes[];
};

void strings_init(struct strings *strings)
{
	*strings = (struct strings){ 0 };
}

void strings_init_over(struct strings *ret, const struct strings *base)
{
	*ret = (struct strings){ .base = base, .nr = base->nr, .first = (uint32_t)base->nr };
}

void strings_drop_table(struct strings *strings)
{
	free(strings->ids);
	free(strings->tags);
	strings->ids = NULL;
	strings->tags = NULL;
	strings->nr_slots = 0;
}

void strings_fini(struct strings *strings)
{
	while (strings->blocks) {
		struct strings_block *block = strings->blocks;

		strings->blocks = block->next;
		free(block);
	}
	free(strings->texts);
	strings_drop_table(strings);
}

size_t strings_memory(const struct strings *strings)
{
	return strings->bytes + strings->room * sizeof(*strings->texts) +
	       strings->nr_slots * (sizeof(*strings->ids) + sizeof(*strings->tags));
}

/* FNV-1a, 64 bits. Texts come from untrusted files, but collisions only make the run slower. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* A tag from bits that do not select the slot; 0 marks a free slot. */
static uint8_t tag_of(uint64_t hash)
{
	return (uint8_t)(hash >> 56) | 0x80;
}

/* The slot that holds @text, or the free one for it. */
static size_t find_slot(const struct strings *strings, const char *text, uint64_t hash)
{
	size_t mask = strings->nr_slots - 1, slot = hash & mask;
	uint8_t tag = tag_of(hash);

	while (strings->tags[slot] &&
	       (strings->tags[slot] != tag ||
		strcmp(strings_text(strings, strings->ids[slot] - 1), text) != 0))
		slot = (slot + 1) & mask;
	return slot;
}

/* Enter text @id, which differs from all entered ones. */
static void note(struct strings *strings, uint32_t id, uint64_t hash)
{
	size_t mask = strings->nr_slots - 1, slot = hash & mask;

	while (strings->tags[slot])
		slot = (slot + 1) & mask;
	strings->tags[slot] = tag_of(hash);
	strings->ids[slot] = id + 1;
}

/* At most two thirds of the slots are taken. */
static int provide_slots(struct strings *strings)
{
	size_t nr_slots = strings->nr_slots ? strings->nr_slots : FIRST_SLOTS;

	while (3 * (strings->nr + 1) > 2 * nr_slots)
		nr_slots *= 2;
	if (nr_slots == strings->nr_slots)
		return 0;
	strings_drop_table(strings);
	strings->ids = large_alloc(nr_slots * sizeof(*strings->ids));
	strings->tags = large_calloc(nr_slots, sizeof(*strings->tags));
	if (!strings->ids || !strings->tags) {
		strings_drop_table(strings);
		return -ENOMEM;
	}
	strings->nr_slots = nr_slots;
	for (size_t i = 0; i < strings->nr; i++)
		note(strings, (uint32_t)i, hash_text(strings_text(strings, (uint32_t)i)));
	return 0;
}

/* Room for @size bytes; NULL: no memory. */
static char *allocate(struct strings *strings, size_t size)
{
	struct strings_block *block = strings->blocks;

	if (!block || block->size - block->used < size) {
		size_t room = block ? 2 * block->size : BLOCK_MIN;

		room = room < BLOCK_MAX ? room : BLOCK_MAX;
		room = room > size ? room : size;
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		*block = (struct strings_block){ .next = strings->blocks, .size = room };
		strings->blocks = block;
	}
	block->used += size;
	return block->bytes + block->used - size;
}

int strings_intern(struct strings *strings, const char *text, uint32_t *ret)
{
	if (provide_slots(strings))
		return -ENOMEM;

	uint64_t hash = hash_text(text);
	size_t slot = find_slot(strings, text, hash);

	if (strings->tags[slot]) {
		*ret = strings->ids[slot] - 1;
		return 0;
	}
	if (strings->nr == UINT32_MAX - 1 ||
	    array_reserve(&strings->texts, sizeof(*strings->texts), &strings->room,
			  strings->nr - strings->first + 1))
		return -ENOMEM;

	size_t size = strlen(text) + 1;
	char *copy = allocate(strings, size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, size);
	strings->bytes += size;
	strings->texts[strings->nr - strings->first] = copy;
	strings->tags[slot] = tag_of(hash);
	strings->ids[slot] = (uint32_t)++strings->nr;
	*ret = (uint32_t)strings->nr - 1;
	return 0;
}

uint32_t must_strings_intern(struct strings *strings, const char *text)
{
	uint32_t id;

	alloc_check(strings_intern(strings, text, &id));
	return id;
}
