/* SPDX-License-Identifier: Apache-2.0 */
#include "top/model.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "view/frame_texts.h"

void model_init(struct model *model, const struct recording *recording)
{
	*model = (struct model){ .recording = recording };
	strings_init(&model->strings);
}

void model_fini(struct model *model)
{
	strings_fini(&model->strings);
	id_table_fini(&model->ids);
	free(model->functions);
	free(model->frames);
	free(model->of_frames);
	free(model->stacks);
	free(model->sequence);
}

/* Room for @more elements of @size bytes behind the @nr there are. */
static int reserve(void *array, size_t nr, size_t more, size_t *room, size_t size)
{
	size_t wanted = *room ? *room : 256;
	void *bigger;

	if (nr + more <= *room)
		return 0;
	while (wanted < nr + more)
		wanted *= 2;
	bigger = reallocarray(*(void **)array, wanted, size);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*room = wanted;
	return 0;
}

static bool function_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct model_function *a = &((const struct model *)ctx)->functions[index];
	const struct model_function *b = key;

	return a->text == b->text && a->object == b->object && a->kernel == b->kernel;
}

/* Where the function lives. */
static int intern_place(struct model *model, struct model_function *function)
{
	const struct recording *recording = model->recording;
	const struct recording_frame frame = {
		.object = function->object,
		.kind = function->kernel ? RECORDING_KERNEL : RECORDING_USER,
	};
	char buf[256];
	const char *place = frame_place(recording, &frame, buf, sizeof(buf));

	return frame_texts_intern(&model->strings, place, "", false, &function->place);
}

static int find_or_add(struct model *model, struct model_function *key, uint32_t *ret)
{
	const uint32_t parts[] = { key->text, key->object, key->kernel };
	uint64_t hash = id_table_hash(0, parts, sizeof(parts));

	*ret = id_table_find(&model->ids, hash, function_equals, model, key);
	if (*ret != ID_TABLE_NONE)
		return 0;
	if (reserve(&model->functions, model->nr_functions, 1, &model->room_functions,
		    sizeof(*model->functions)) ||
	    intern_place(model, key) ||
	    id_table_add(&model->ids, hash, (uint32_t)model->nr_functions))
		return -ENOMEM;
	*ret = (uint32_t)model->nr_functions;
	model->functions[model->nr_functions++] = *key;
	return 0;
}

/* The text of code without a name: of its function, where its start is known. */
static int intern_unnamed(struct model *model, const struct recording_frame *frame, uint32_t *ret)
{
	const struct recording *recording = model->recording;
	const char *path = recording_string(recording, recording->objects[frame->object].path);
	bool placed = frame->kind == RECORDING_USER && *path;
	bool started = placed && frame->start != RECORDING_NO_ADDRESS;

	return frame_texts_intern_place(&model->strings, placed ? text_path_name(path) : NULL,
					started ? frame->start : frame->address, "", false, ret);
}

static int add_frame(struct model *model, const struct recording_frame *frame)
{
	const struct recording *recording = model->recording;
	struct model_frame added = { .first = (uint32_t)model->nr_of_frames,
				     .nr = frame->nr_lines ? frame->nr_lines : 1 };
	struct model_function key = { .object = frame->object,
				      .kernel = frame->kind == RECORDING_KERNEL };

	if (reserve(&model->frames, model->nr_frames, 1, &model->room_frames,
		    sizeof(*model->frames)) ||
	    reserve(&model->of_frames, model->nr_of_frames, added.nr, &model->room_of_frames,
		    sizeof(*model->of_frames)))
		return -ENOMEM;
	for (uint32_t i = 0; i < added.nr; i++) {
		const struct recording_line *line = &recording->lines[frame->first_line + i];
		int err = frame->nr_lines
				  ? frame_texts_intern(
					    &model->strings,
					    recording_string(
						    recording,
						    recording->functions[line->function].name),
					    "", false, &key.text)
				  : intern_unnamed(model, frame, &key.text);

		if (err || find_or_add(model, &key, &model->of_frames[added.first + i]))
			return -ENOMEM;
	}
	model->nr_of_frames += added.nr;
	model->frames[model->nr_frames++] = added;
	return 0;
}

/* Append the functions of frames @from to @to of @stack. */
static int append(struct model *model, const struct recording_stack *stack, uint32_t from,
		  uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct model_frame *frame =
			&model->frames[model->recording->frame_ids[stack->first_frame + i]];

		if (reserve(&model->sequence, model->nr_sequence, frame->nr, &model->room_sequence,
			    sizeof(*model->sequence)))
			return -ENOMEM;
		for (uint32_t j = 0; j < frame->nr; j++)
			model->sequence[model->nr_sequence++] = model->of_frames[frame->first + j];
	}
	return 0;
}

static int add_stack(struct model *model, const struct recording_stack *stack)
{
	struct model_stack added = { .first = model->nr_sequence };
	uint32_t nr_walked = (uint32_t)stack->nr_user + stack->nr_kernel;
	int err = reserve(&model->stacks, model->nr_stacks, 1, &model->room_stacks,
			  sizeof(*model->stacks));

	if (!err)
		err = frame_texts_intern(&model->strings,
					 recording_string(model->recording, stack->comm), "", false,
					 &added.comm);
	if (!err)
		err = append(model, stack, stack->nr_user, nr_walked);
	added.nr_kernel = (uint32_t)(model->nr_sequence - added.first);
	if (!err)
		err = append(model, stack, 0, stack->nr_user);
	if (err) {
		model->nr_sequence = added.first;
		return err;
	}
	added.nr = (uint32_t)(model->nr_sequence - added.first);
	model->stacks[model->nr_stacks++] = added;
	return 0;
}

int model_extend(struct model *model)
{
	const struct recording *recording = model->recording;
	int err = 0;

	while (!err && model->nr_frames < recording->nr_frames)
		err = add_frame(model, &recording->frames[model->nr_frames]);
	while (!err && model->nr_stacks < recording->nr_stacks)
		err = add_stack(model, &recording->stacks[model->nr_stacks]);
	return err;
}
