/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/function_index.h"
#include "view/hex.h"
#include "view/labels.h"

#define NOT_MAPPED UINT32_MAX

/* A run that is being added. */
struct adding {
	struct pairing *pairing;
	const struct recording *recording;
	struct frame_texts texts;
	struct function_index index;
	uint32_t *items;  /* owned [index.nr]: items of its functions, NOT_MAPPED */
	uint32_t *labels; /* owned [room_labels]: items of texts as labels, NOT_MAPPED */
	size_t room_labels;
	uint32_t *steps; /* owned [room_steps]: of the stack at hand */
	size_t nr_steps, room_steps;
};

static void adding_fini(struct adding *adding)
{
	function_index_fini(&adding->index);
	frame_texts_fini(&adding->texts);
	free(adding->items);
	free(adding->labels);
	free(adding->steps);
}

static bool item_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct pairing *pairing = ctx;
	const struct paired_item *a = &pairing->items[index], *b = key;

	return a->text == b->text &&
	       (pairing->options.by == PAIRED_BY_LINE || a->kind == b->kind) &&
	       (pairing->options.by != PAIRED_BY_PLACE || a->place == b->place);
}

static int find_item(struct pairing *pairing, const struct paired_item *key, uint32_t *ret)
{
	uint64_t hash = id_table_hash(0, &key->text, sizeof(key->text));

	*ret = id_table_find(&pairing->item_ids, hash, item_equals, pairing, key);
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = (uint32_t)pairing->nr_items;
	if (array_reserve(&pairing->items, sizeof(*pairing->items), &pairing->room_items,
			  pairing->nr_items + 1) ||
	    id_table_add(&pairing->item_ids, hash, *ret))
		return -ENOMEM;
	pairing->items[pairing->nr_items++] = *key;
	return 0;
}

/* @text as it is paired. */
static int intern(struct pairing *pairing, const char *text, uint32_t *ret)
{
	return pairing->options.strip_hex ? hex_strip_intern(&pairing->strings, text, ret)
					  : strings_intern(&pairing->strings, text, ret);
}

static int intern_place(struct adding *adding, uint32_t function, uint32_t *ret)
{
	char buf[256];
	const char *place = function_index_place(&adding->index, function, buf, sizeof(buf));

	return frame_place_intern(&adding->pairing->strings, place, ret);
}

static int map_function(struct adding *adding, uint32_t function, uint32_t *ret)
{
	const struct shown_function *shown = &adding->index.list[function];
	struct paired_item key = { .kind = shown->kernel ? PAIRED_KERNEL : PAIRED_USER };
	uint32_t *mapped = &adding->items[function];
	int err = 0;

	if (*mapped == NOT_MAPPED) {
		err = intern(adding->pairing, strings_text(&adding->texts.strings, shown->text),
			     &key.text);
		if (!err)
			err = intern_place(adding, function, &key.place);
		if (!err)
			err = find_item(adding->pairing, &key, mapped);
	}
	*ret = *mapped;
	return err;
}

/* @text: in the strings of the run's texts, which grow with the labels. */
static int map_label(struct adding *adding, uint32_t text, uint32_t *ret)
{
	struct paired_item key = { .kind = PAIRED_LABEL };
	size_t before = adding->room_labels;
	int err = array_reserve(&adding->labels, sizeof(*adding->labels), &adding->room_labels,
				text + (size_t)1);

	if (err)
		return err;
	if (adding->room_labels > before)
		memset(adding->labels + before, 0xff,
		       (adding->room_labels - before) * sizeof(*adding->labels));
	if (adding->labels[text] == NOT_MAPPED) {
		err = intern(adding->pairing, strings_text(&adding->texts.strings, text),
			     &key.text);
		if (!err)
			err = find_item(adding->pairing, &key, &adding->labels[text]);
	}
	*ret = adding->labels[text];
	return err;
}

static int put_step(struct adding *adding, uint32_t item)
{
	int err = array_reserve(&adding->steps, sizeof(*adding->steps), &adding->room_steps,
				adding->nr_steps + 1);

	if (!err)
		adding->steps[adding->nr_steps++] = item;
	return err;
}

/* Frames @frames [nr], leaf first, from the root to the leaf. */
static int put_frames(struct adding *adding, const uint32_t *frames, size_t nr)
{
	int err = 0;

	for (size_t i = nr; !err && i-- > 0;) {
		size_t nr_functions;
		const uint32_t *functions =
			function_index_of(&adding->index, frames[i], &nr_functions);

		while (!err && nr_functions-- > 0) {
			uint32_t item;

			err = map_function(adding, functions[nr_functions], &item);
			if (!err)
				err = put_step(adding, item);
		}
	}
	return err;
}

/* All steps of @stack. */
static int put_stack(struct adding *adding, const struct recording_stack *stack,
		     uint32_t *ret_nr_labels)
{
	const uint32_t *user = &adding->recording->frame_ids[stack->first_frame];
	uint32_t labels[LABELS_MAX], item;
	int err = labels_intern(&adding->texts, stack, labels, ret_nr_labels);

	adding->nr_steps = 0;
	for (uint32_t i = 0; !err && i < *ret_nr_labels; i++) {
		err = map_label(adding, labels[i], &item);
		if (!err)
			err = put_step(adding, item);
	}
	if (!err)
		err = put_frames(adding, user, stack->nr_user);
	if (!err && adding->pairing->options.delimited && stack->nr_user && stack->nr_kernel) {
		uint32_t dash;

		err = strings_intern(&adding->texts.strings, "-", &dash);
		if (!err)
			err = map_label(adding, dash, &item);
		if (!err)
			err = put_step(adding, item);
	}
	return err ? err : put_frames(adding, user + stack->nr_user, stack->nr_kernel);
}

static bool stack_equals(const void *ctx, uint32_t index, const void *key)
{
	const struct pairing *pairing = ctx;
	const struct adding *adding = key;
	const struct paired_stack *stack = &pairing->stacks[index];

	return stack->nr == adding->nr_steps &&
	       !memcmp(&pairing->steps[stack->first], adding->steps,
		       stack->nr * sizeof(*adding->steps));
}

/* The stack whose steps are at hand. */
static int find_stack(struct adding *adding, uint32_t nr_labels, uint32_t *ret)
{
	struct pairing *pairing = adding->pairing;
	size_t nr = adding->nr_steps;
	uint64_t hash = id_table_hash(1, adding->steps, nr * sizeof(*adding->steps));

	*ret = id_table_find(&pairing->stack_ids, hash, stack_equals, pairing, adding);
	if (*ret != ID_TABLE_NONE)
		return 0;
	*ret = (uint32_t)pairing->nr_stacks;
	if (array_reserve(&pairing->stacks, sizeof(*pairing->stacks), &pairing->room_stacks,
			  pairing->nr_stacks + 1) ||
	    array_reserve(&pairing->steps, sizeof(*pairing->steps), &pairing->room_steps,
			  pairing->nr_steps + nr) ||
	    id_table_add(&pairing->stack_ids, hash, *ret))
		return -ENOMEM;
	pairing->stacks[pairing->nr_stacks++] = (struct paired_stack){ .first = pairing->nr_steps,
								       .nr = (uint32_t)nr,
								       .nr_labels = nr_labels };
	memcpy(&pairing->steps[pairing->nr_steps], adding->steps, nr * sizeof(*adding->steps));
	pairing->nr_steps += nr;
	return 0;
}

/* Count the samples of @stack for each function in it; the last step was running. */
static int count_items(struct adding *adding, const struct recording_stack *stack)
{
	struct pairing *pairing = adding->pairing;
	size_t number = ++pairing->nr_counted;
	int err = 0;

	if (pairing->options.by == PAIRED_BY_LINE)
		return 0;
	for (size_t i = 0; !err && i < adding->nr_steps; i++) {
		struct paired_item *item = &pairing->items[adding->steps[i]];

		if (item->kind == PAIRED_LABEL)
			continue;
		if (i + 1 == adding->nr_steps)
			err = run_tally_add(&item->run_self, stack->count, stack->weight_ns);
		if (!err && item->last_stack != number)
			err = run_tally_add(&item->run_total, stack->count, stack->weight_ns);
		item->last_stack = number;
	}
	return err;
}

static int add_stack(struct adding *adding, const struct recording_stack *stack)
{
	struct pairing *pairing = adding->pairing;
	uint32_t nr_labels, found;
	int err = put_stack(adding, stack, &nr_labels);

	if (!err)
		err = find_stack(adding, nr_labels, &found);
	if (!err)
		err = run_tally_add(&pairing->run, stack->count, stack->weight_ns);
	if (!err)
		err = run_tally_add(&pairing->stacks[found].run, stack->count, stack->weight_ns);
	return err ? err : count_items(adding, stack);
}

/* The run is counted: into the distributions with it. */
static int close_run(struct pairing *pairing, enum diff_side side)
{
	const bool shares = pairing->options.shares;
	const struct run_tally whole = pairing->run;
	struct paired_side *of = &pairing->sides[side];
	int err = distribution_take(&pairing->whole, side, &pairing->run, &whole, false);

	for (size_t i = 0; !err && i < pairing->nr_items; i++) {
		struct paired_item *item = &pairing->items[i];

		err = distribution_take(&item->self, side, &item->run_self, &whole, shares);
		if (!err)
			err = distribution_take(&item->total, side, &item->run_total, &whole,
						shares);
	}
	for (size_t i = 0; !err && i < pairing->nr_stacks; i++)
		err = distribution_take(&pairing->stacks[i].distribution, side,
					&pairing->stacks[i].run, &whole, shares);
	for (enum diff_measure measure = 0; measure < DIFF_MEASURES; measure++) {
		of->noise[measure] += distribution_sample_noise(&whole, measure, false);
		of->share_noise[measure] += distribution_sample_noise(&whole, measure, true);
	}
	of->nr_runs++;
	of->nr_empty += !whole.count;
	return err;
}

static int add_stacks(struct adding *adding, enum diff_side side)
{
	const struct recording *recording = adding->recording;
	struct paired_side *of = &adding->pairing->sides[side];
	int err = 0;

	for (size_t i = 0; !err && i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];

		of->weightless = of->weightless || (stack->count && !stack->weight_ns);
		err = add_stack(adding, stack);
	}
	return err;
}

void pairing_init(struct pairing *pairing, const struct pairing_options *options)
{
	*pairing = (struct pairing){ .options = *options };
	strings_init(&pairing->strings);
}

void pairing_fini(struct pairing *pairing)
{
	strings_fini(&pairing->strings);
	free(pairing->items);
	free(pairing->steps);
	free(pairing->stacks);
	id_table_fini(&pairing->item_ids);
	id_table_fini(&pairing->stack_ids);
}

int pairing_add(struct pairing *pairing, const struct recording *recording, enum diff_side side,
		struct fpl_err *err)
{
	CLEANUP(adding_fini)
	struct adding adding = { .pairing = pairing, .recording = recording };
	struct paired_side *of = &pairing->sides[side];
	int error = frame_texts_init(recording, &pairing->options.text, &adding.texts);

	if (!error)
		error = function_index_init(&adding.texts, &adding.index);
	if (!error) {
		adding.items = reallocarray(NULL, adding.index.nr + 1, sizeof(*adding.items));
		error = adding.items ? 0 : -ENOMEM;
	}
	if (!error) {
		memset(adding.items, 0xff, (adding.index.nr + 1) * sizeof(*adding.items));
		error = add_stacks(&adding, side);
	}
	if (!error)
		error = close_run(pairing, side);
	if (__builtin_add_overflow(of->duration_ns, recording->duration_ns, &of->duration_ns))
		of->duration_ns = UINT64_MAX;
	return error ? fpl_fail(err, error, "%s",
				error == -EOVERFLOW ? "counts add up to more than 2^64"
						    : "out of memory for functions and stacks")
		     : 0;
}
