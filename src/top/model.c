/* SPDX-License-Identifier: Apache-2.0 */
#include "top/model.h"

#include <errno.h>

void model_init(struct model *model, const struct recording *recording)
{
	*model = (struct model){ .recording = recording, .index.texts = &model->texts };
	frame_texts_start(recording, &(struct frame_text_options){ .by_function = true },
			  &model->texts);
}

void model_fini(struct model *model)
{
	frame_texts_fini(&model->texts);
	function_index_fini(&model->index);
	vector_fini(&model->places);
	sequences_fini(&model->sequences);
	vector_fini(&model->stacks);
	vector_fini(&model->processes);
	id_table_fini(&model->process_ids);
	vector_fini(&model->slots);
}

/* The place of the next function that has none yet. */
static int add_place(struct model *model)
{
	char buf[256];
	const char *place =
		function_index_place(&model->index, (uint32_t)model->places.nr, buf, sizeof(buf));
	uint32_t text;
	int err = frame_texts_intern(&model->texts.strings, place, "", false, &text);

	return err ? err : vector_push(&model->places, text);
}

static int find_process(struct model *model, uint32_t idx, uint32_t *ret)
{
	const struct recording_stack *stacks = model->recording->stacks;
	const uint32_t *firsts = model->processes.list;
	uint64_t hash = id_table_hash(stacks[idx].pid, &stacks[idx].task, sizeof(stacks[idx].task));

	*ret = ID_TABLE_FIND(&model->process_ids, hash, i,
			     stacks[firsts[i]].pid == stacks[idx].pid &&
				     stacks[firsts[i]].task == stacks[idx].task);
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = (uint32_t)model->processes.nr;
	if (vector_reserve(&model->processes, model->processes.nr + 1) ||
	    id_table_add(&model->process_ids, hash, *ret))
		return -ENOMEM;
	return vector_push(&model->processes, idx);
}

/* How many functions the frames of the kernel of @stack have. */
static size_t count_kernel(const struct model *model, const struct recording_stack *stack)
{
	const uint32_t *frames = &model->recording->frame_ids[stack->first_frame + stack->nr_user];
	size_t sum = 0;

	for (size_t i = 0; i < stack->nr_kernel; i++) {
		uint32_t nr;

		frame_slots(&model->texts, frames[i], &nr);
		sum += nr;
	}
	return sum;
}

static int add_stack(struct model *model, uint32_t idx)
{
	const struct recording_stack *stack = &model->recording->stacks[idx];
	struct stack_slots *slots = &model->slots;
	struct model_stack added;
	uint32_t comm;
	int err = frame_texts_show(&model->texts, stack->comm, &comm);

	slots->nr = 0;
	if (!err)
		err = vector_push(slots, comm);
	if (!err)
		err = stack_slots(&model->texts, stack, &(struct stack_slot_options){ 0 }, slots);
	for (size_t i = 1; !err && i < slots->nr; i++)
		slots->list[i] = model->index.of_slots[slots->list[i]];
	if (!err)
		err = sequences_add(&model->sequences, slots->list, slots->nr, 1, &added.whole);
	if (!err)
		err = sequences_add(&model->sequences, slots->list,
				    slots->nr - count_kernel(model, stack), 1, &added.user);
	if (!err)
		err = find_process(model, idx, &added.process);
	return err ? err : vector_push(&model->stacks, added);
}

int model_extend(struct model *model)
{
	int err = frame_texts_extend(&model->texts);

	if (!err)
		err = function_index_extend(&model->index);
	while (!err && model->places.nr < model->index.functions.nr)
		err = add_place(model);
	while (!err && model->stacks.nr < model->recording->nr_stacks)
		err = add_stack(model, (uint32_t)model->stacks.nr);
	return err;
}
