/* SPDX-License-Identifier: Apache-2.0 */
#include "view/function_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/id_table.h"

static bool function_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct shown_function *a = &((const struct function_index *)ctx)->list[index];
	const struct shown_function *b = key;

	return a->text == b->text && a->object == b->object && a->kernel == b->kernel;
}

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

static int append(struct function_index *index, const struct shown_function *key, uint32_t *ret)
{
	if (index->nr == UINT32_MAX ||
	    array_reserve(&index->list, sizeof(*index->list), &index->room, index->nr + 1))
		return -ENOMEM;
	*ret = (uint32_t)index->nr;
	index->list[index->nr++] = *key;
	return 0;
}

static int find_or_add(struct finder *finder, const struct shown_function *key, uint32_t *ret)
{
	const uint32_t parts[] = { key->text, key->object, key->kernel };
	uint64_t hash;

	if (!key->object && !key->kernel) {
		uint32_t *bare = &finder->bare[key->text];

		if (!*bare && append(finder->index, key, ret))
			return -ENOMEM;
		*ret = *bare ? *bare - 1 : *ret;
		*bare = *ret + 1;
		return 0;
	}
	hash = id_table_hash(0, parts, sizeof(parts));
	*ret = id_table_find(&finder->ids, hash, function_equals, finder->index, key);
	if (*ret != ID_TABLE_NONE)
		return 0;
	return append(finder->index, key, ret) || id_table_add(&finder->ids, hash, *ret) ? -ENOMEM
											 : 0;
}

static int add_frame(struct finder *finder, uint32_t idx)
{
	struct function_index *index = finder->index;
	const struct recording *recording = index->texts->recording;
	const struct recording_frame *frame = &recording->frames[idx];
	struct shown_function key = { .object = frame->object & INT32_MAX,
				      .kernel = frame->kind == RECORDING_KERNEL };
	size_t nr;
	const uint32_t *texts = frame_texts_of(index->texts, idx, &nr);
	uint32_t *to = &index->of_texts[texts - index->texts->ids];
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		key.text = texts[i];
		if (frame->nr_lines) /* the last nr of them have texts */
			key.function =
				recording->lines[frame->first_line + frame->nr_lines - nr + i]
					.function;
		err = find_or_add(finder, &key, &to[i]);
	}
	return err;
}

int function_index_init(const struct frame_texts *texts, struct function_index *ret)
{
	const struct recording *recording = texts->recording;
	CLEANUP(finder_fini) struct finder finder = { .index = ret };
	int err = 0;

	*ret = (struct function_index){ .texts = texts };
	ret->of_texts =
		calloc(recording->nr_lines + recording->nr_frames + 1, sizeof(*ret->of_texts));
	finder.bare = calloc(texts->strings.nr + 1, sizeof(*finder.bare));
	if (!ret->of_texts || !finder.bare)
		return -ENOMEM;
	for (size_t i = 0; !err && i < recording->nr_frames; i++)
		err = add_frame(&finder, (uint32_t)i);
	return err;
}

void function_index_fini(struct function_index *index)
{
	free(index->list);
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
	const struct shown_function *shown = &index->list[function];
	const struct recording_frame frame = {
		.object = shown->object,
		.kind = shown->kernel ? RECORDING_KERNEL : RECORDING_USER,
	};

	return frame_place(recording, &frame, buf, size);
}
