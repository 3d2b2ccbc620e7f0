/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void strings_init(struct strings *strings)
{
	*strings = (struct strings){ 0 };
}

void strings_fini(struct strings *strings)
{
	for (size_t i = 0; i < strings->nr; i++)
		free(strings->texts[i]);
	free(strings->texts);
	free(strings->ids);
}

/* FNV-1a, 64 bits. The texts come from strangers, but a slow run is all they could win. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

/* The slot that holds @text, or the free one where it belongs. */
static size_t find_slot(const struct strings *strings, const char *text)
{
	size_t slot = hash_text(text) & (strings->nr_slots - 1);

	while (strings->ids[slot] && strcmp(strings->texts[strings->ids[slot] - 1], text) != 0)
		slot = (slot + 1) & (strings->nr_slots - 1);
	return slot;
}

static int grow_slots(struct strings *strings)
{
	size_t nr_slots = strings->nr_slots ? 2 * strings->nr_slots : 1024;
	uint32_t *ids = calloc(nr_slots, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	free(strings->ids);
	strings->ids = ids;
	strings->nr_slots = nr_slots;
	for (size_t i = 0; i < strings->nr; i++)
		ids[find_slot(strings, strings->texts[i])] = (uint32_t)i + 1;
	return 0;
}

int strings_intern(struct strings *strings, const char *text, uint32_t *ret)
{
	if (2 * (strings->nr + 1) > strings->nr_slots && grow_slots(strings))
		return -ENOMEM;

	size_t slot = find_slot(strings, text);
	if (strings->ids[slot]) {
		*ret = strings->ids[slot] - 1;
		return 0;
	}
	if (strings->nr == UINT32_MAX - 1)
		return -ENOMEM;
	if (strings->nr == strings->room) {
		size_t room = strings->room ? 2 * strings->room : 512;
		char **texts = reallocarray(strings->texts, room, sizeof(*texts));

		if (!texts)
			return -ENOMEM;
		strings->texts = texts;
		strings->room = room;
	}
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, size);
	strings->bytes += size;
	strings->texts[strings->nr] = copy;
	strings->ids[slot] = (uint32_t)++strings->nr;
	*ret = (uint32_t)strings->nr - 1;
	return 0;
}
