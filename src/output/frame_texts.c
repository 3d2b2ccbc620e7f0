/* SPDX-License-Identifier: Apache-2.0 */
#include "output/frame_texts.h"

#include <errno.h>
#include <stdlib.h>

struct frame_texts_slot {
	uint64_t frame;
	uint32_t kind; /* 0: free */
	uint32_t length;
	size_t at; /* in texts */
};

void frame_texts_fini(struct frame_texts *texts)
{
	if (texts->to)
		(void)fclose(texts->to); /* to memory */
	free(texts->texts);
	free(texts->slots);
	*texts = (struct frame_texts){ 0 };
}

/* The slot of (@frame, @kind), or the free one where it would be. */
static struct frame_texts_slot *find_slot(const struct frame_texts *texts, uint64_t frame,
					  uint32_t kind)
{
	/* Fibonacci hashing: vaddrs of one object differ in their low bits only. */
	uint64_t hash = (frame + kind) * 0x9e3779b97f4a7c15u;
	size_t idx = (hash >> 20) & (texts->nr_slots - 1);

	while (texts->slots[idx].kind &&
	       (texts->slots[idx].frame != frame || texts->slots[idx].kind != kind))
		idx = (idx + 1) & (texts->nr_slots - 1);
	return &texts->slots[idx];
}

static int grow_slots(struct frame_texts *texts)
{
	struct frame_texts_slot *old = texts->slots;
	size_t nr_old = texts->nr_slots;
	size_t nr_slots = nr_old ? 2 * nr_old : 1024;
	struct frame_texts_slot *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	texts->slots = slots;
	texts->nr_slots = nr_slots;
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].kind)
			*find_slot(texts, old[i].frame, old[i].kind) = old[i];
	}
	free(old);
	return 0;
}

bool frame_texts_repeat(const struct frame_texts *texts, uint64_t frame, uint32_t kind, FILE *to)
{
	if (!texts->nr)
		return false;

	const struct frame_texts_slot *slot = find_slot(texts, frame, kind);

	if (!slot->kind)
		return false;
	fwrite(texts->texts + slot->at, 1, slot->length, to);
	return true;
}

int frame_texts_begin(struct frame_texts *texts, FILE **ret)
{
	if (!texts->to)
		texts->to = open_memstream(&texts->texts, &texts->size);
	if (!texts->to)
		return -ENOMEM;
	*ret = texts->to;
	return 0;
}

int frame_texts_keep(struct frame_texts *texts, uint64_t frame, uint32_t kind)
{
	size_t at = texts->size;

	if (2 * (texts->nr + 1) > texts->nr_slots && grow_slots(texts))
		return -ENOMEM;
	if (fflush(texts->to) || ferror(texts->to))
		return -ENOMEM;
	*find_slot(texts, frame, kind) = (struct frame_texts_slot){
		.frame = frame,
		.kind = kind,
		.length = (uint32_t)(texts->size - at),
		.at = at,
	};
	texts->nr++;
	return 0;
}
