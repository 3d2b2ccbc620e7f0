/* SPDX-License-Identifier: Apache-2.0 */
#include "view/function_index.h"

#include <errno.h>
#include <stdlib.h>

#include "view/json.h"

static int add_frame(struct function_index *index, uint32_t idx)
{
	const struct recording_frame *frame = &index->texts->recording->frames[idx];
	struct shown_function key = {
		.place = frame->object,
		.kind = frame->kind == RECORDING_KERNEL ? FUNCTION_KERNEL : FUNCTION_USER,
	};
	uint32_t nr, slot = frame_slots(index->texts, idx, &nr);
	int err = array_reserve(&index->of_slots, sizeof(*index->of_slots), &index->room,
				(size_t)slot + nr);

	for (uint32_t i = slot; !err && i < slot + nr; i++) {
		key.text = index->texts->ids[i];
		err = functions_add(&index->functions, &key, &index->of_slots[i]);
	}
	return err;
}

int function_index_extend(struct function_index *index)
{
	int err = 0;

	for (; !err && index->nr_frames < index->texts->nr_frames; index->nr_frames += !err)
		err = add_frame(index, (uint32_t)index->nr_frames);
	return err;
}

void function_index_init(const struct frame_texts *texts, struct function_index *ret)
{
	*ret = (struct function_index){ .texts = texts };
	/* as many as there are, and no room to grow: names can be most of the memory of a run */
	must_reserve(&ret->functions.firsts, texts->strings.nr);
	alloc_check(array_reserve(&ret->of_slots, sizeof(*ret->of_slots), &ret->room,
				  frame_slots_nr(texts)));
	alloc_check(function_index_extend(ret));
	functions_settle(&ret->functions);
}

void function_index_fini(struct function_index *index)
{
	functions_fini(&index->functions);
	free(index->of_slots);
}

uint32_t *function_index_sources(const struct function_index *index)
{
	const struct recording *recording = index->texts->recording;
	uint32_t *sources = must_calloc(index->functions.nr + 1, sizeof(*sources));
	uint32_t nr_found = 0;

	for (uint32_t i = 0; i < index->nr_frames; i++) {
		const struct recording_frame *frame = &recording->frames[i];
		uint32_t nr, slot = frame_slots(index->texts, i, &nr);

		/* functions are numbered in the order in which frames have them */
		for (uint32_t j = slot; j < slot + nr; j++)
			if (index->of_slots[j] == nr_found)
				sources[nr_found++] =
					frame->nr_lines ? recording->lines[j - i].function : 0;
	}
	return sources;
}

const char *function_index_place(const struct function_index *index, uint32_t function, char *buf,
				 size_t size)
{
	const struct recording *recording = index->texts->recording;
	const struct shown_function *shown = &index->functions.list[function];
	const struct recording_frame frame = {
		.object = shown->place,
		.kind = shown->kind == FUNCTION_KERNEL ? RECORDING_KERNEL : RECORDING_USER,
	};

	return frame_place(recording, &frame, buf, size);
}

const char *function_index_text(const struct function_index *index, uint32_t function)
{
	return strings_text(&index->texts->strings, index->functions.list[function].text);
}

void function_index_json(const struct function_index *index, uint32_t function, struct json *json)
{
	char buf[128];

	json_string(json, "function", function_index_text(index, function));
	json_string(json, "object", function_index_place(index, function, buf, sizeof(buf)));
}
