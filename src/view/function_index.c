/* SPDX-License-Identifier: Apache-2.0 */
#include "view/function_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool function_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct shown_function *a = &((const struct function_index *)ctx)->list[index];
	const struct shown_function *b = key;

	return a->text == b->text && a->object == b->object && a->kernel == b->kernel;
}

static int find_or_add(struct function_index *index, const struct shown_function *key,
		       uint32_t *ret)
{
	const uint32_t parts[] = { key->text, key->object, key->kernel };
	uint64_t hash = id_table_hash(0, parts, sizeof(parts));

	*ret = id_table_find(&index->ids, hash, function_equals, index, key);
	if (*ret != ID_TABLE_NONE)
		return 0;
	if (index->nr == index->room) {
		size_t room = index->room ? 2 * index->room : 256;
		struct shown_function *list = reallocarray(index->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		index->list = list;
		index->room = room;
	}
	*ret = (uint32_t)index->nr;
	if (id_table_add(&index->ids, hash, *ret))
		return -ENOMEM;
	index->list[index->nr++] = *key;
	return 0;
}

static int add_frame(struct function_index *index, uint32_t idx)
{
	const struct recording *recording = index->texts->recording;
	const struct recording_frame *frame = &recording->frames[idx];
	struct shown_function key = { .object = frame->object,
				      .kernel = frame->kind == RECORDING_KERNEL };
	size_t nr;
	const uint32_t *texts = frame_texts_of(index->texts, idx, &nr);
	uint32_t *to = &index->of_texts[texts - index->texts->ids];
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		key.text = texts[i];
		if (frame->nr_lines) { /* the last nr of them have texts */
			const struct recording_line *line =
				&recording->lines[frame->first_line + frame->nr_lines - nr + i];

			key.file = recording->functions[line->function].file;
			key.start_line = recording->functions[line->function].start_line;
		}
		err = find_or_add(index, &key, &to[i]);
	}
	return err;
}

int function_index_init(const struct frame_texts *texts, struct function_index *ret)
{
	const struct recording *recording = texts->recording;
	int err = 0;

	*ret = (struct function_index){ .texts = texts };
	ret->of_texts =
		calloc(recording->nr_lines + recording->nr_frames + 1, sizeof(*ret->of_texts));
	if (!ret->of_texts)
		return -ENOMEM;
	for (size_t i = 0; !err && i < recording->nr_frames; i++)
		err = add_frame(ret, (uint32_t)i);
	return err;
}

void function_index_fini(struct function_index *index)
{
	free(index->list);
	free(index->of_texts);
	id_table_fini(&index->ids);
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
