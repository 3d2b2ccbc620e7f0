/* SPDX-License-Identifier: Apache-2.0 */
#include "view/function_index.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/id_table.h"

/* What finds functions while frames are added. */
struct finder {
	struct function_index *index;
	struct id_table ids;
	/* owned [texts->strings.nr]: 1 + the function of user code in no object that has the text,
	 * 0: none yet. Where nothing but names is known there is nothing else. */
	uint32_t *bare;
};

static void finder_fini(struct finder *finder)
{
	id_table_fini(&finder->ids);
	free(finder->bare);
}

static uint32_t append(struct function_index *index, const struct shown_function *key)
{
	/* an index has to fit 32 bits */
	if (index->functions.nr == ID_TABLE_NONE)
		alloc_fail();
	must_push(&index->functions, *key);
	return (uint32_t)index->functions.nr - 1;
}

static uint32_t find_or_add(struct finder *finder, const struct shown_function *key)
{
	const uint32_t parts[] = { key->text, key->object, key->kernel };
	const struct shown_function *list = finder->index->functions.list;
	uint64_t hash;
	uint32_t found;

	if (!key->object && !key->kernel) {
		uint32_t *bare = &finder->bare[key->text];

		if (!*bare)
			*bare = append(finder->index, key) + 1;
		return *bare - 1;
	}
	hash = id_table_hash(0, parts, sizeof(parts));
	found = ID_TABLE_FIND(&finder->ids, hash, i,
			      list[i].text == key->text && list[i].object == key->object &&
				      list[i].kernel == key->kernel);
	if (found == ID_TABLE_NONE) {
		found = append(finder->index, key);
		must_id_table_add(&finder->ids, hash, found);
	}
	return found;
}

static void add_frame(struct finder *finder, uint32_t idx)
{
	struct function_index *index = finder->index;
	const struct recording *recording = index->texts->recording;
	const struct recording_frame *frame = &recording->frames[idx];
	struct shown_function key = { .object = frame->object & INT32_MAX,
				      .kernel = frame->kind == RECORDING_KERNEL };
	size_t nr;
	const uint32_t *texts = frame_texts_of(index->texts, idx, &nr);
	uint32_t *to = &index->of_texts[texts - index->texts->ids];

	for (size_t i = 0; i < nr; i++) {
		key.text = texts[i];
		if (frame->nr_lines) /* the last nr of them have texts */
			key.function =
				recording->lines[frame->first_line + frame->nr_lines - nr + i]
					.function;
		to[i] = find_or_add(finder, &key);
	}
}

void function_index_init(const struct frame_texts *texts, struct function_index *ret)
{
	const struct recording *recording = texts->recording;
	CLEANUP(finder_fini) struct finder finder = { .index = ret };

	*ret = (struct function_index){ .texts = texts };
	ret->of_texts =
		must_calloc(recording->nr_lines + recording->nr_frames + 1, sizeof(*ret->of_texts));
	finder.bare = must_calloc(texts->strings.nr + 1, sizeof(*finder.bare));
	for (size_t i = 0; i < recording->nr_frames; i++)
		add_frame(&finder, (uint32_t)i);
}

void function_index_fini(struct function_index *index)
{
	vector_fini(&index->functions);
	free(index->of_texts);
}

const uint32_t *function_index_of(const struct function_index *index, uint32_t idx, size_t *ret_nr)
{
	const uint32_t *texts = frame_texts_of(index->texts, idx, ret_nr);

	return &index->of_texts[texts - index->texts->ids];
}

const char *function_index_place(const struct function_index *index, uint32_t function, char *buf,
				 size_t size)
{
	const struct recording *recording = index->texts->recording;
	const struct shown_function *shown = &index->functions.list[function];
	const struct recording_frame frame = {
		.object = shown->object,
		.kind = shown->kernel ? RECORDING_KERNEL : RECORDING_USER,
	};

	return frame_place(recording, &frame, buf, size);
}
