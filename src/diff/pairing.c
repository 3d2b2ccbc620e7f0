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
	uint32_t *places; /* owned [2 * nr_objects]: of user and kernel code, NOT_MAPPED */
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
	free(adding->places);
	free(adding->labels);
	free(adding->steps);
}

static bool items_equal(const struct pairing *pairing, const struct paired_item *a,
			const struct paired_item *b)
{
	return (pairing->options.by == PAIRED_BY_LINE || a->kind == b->kind) &&
	       (pairing->options.by != PAIRED_BY_PLACE || a->place == b->place);
}

/* The last item of @text: its entry, made where there is none; NULL: no memory. */
static uint32_t *last_item(struct pairing *pairing, uint32_t text)
{
	size_t wanted = text + (size_t)1;

	if (array_reserve(&pairing->last_items, sizeof(*pairing->last_items), &pairing->room_texts,
			  wanted))
		return NULL;
	if (wanted > pairing->nr_texts) {
		memset(&pairing->last_items[pairing->nr_texts], 0,
		       (wanted - pairing->nr_texts) * sizeof(*pairing->last_items));
		pairing->nr_texts = wanted;
	}
	return &pairing->last_items[text];
}

static int find_item(struct pairing *pairing, const struct paired_item *key, uint32_t *ret)
{
	uint32_t *last = last_item(pairing, key->text);

	if (!last)
		return -ENOMEM;
	for (uint32_t at = *last; at; at = pairing->items[at - 1].before) {
		if (!items_equal(pairing, &pairing->items[at - 1], key))
			continue;
		*ret = at - 1;
		return 0;
	}
	if (pairing->nr_items >= UINT32_MAX - 1 ||
	    array_reserve(&pairing->items, sizeof(*pairing->items), &pairing->room_items,
			  pairing->nr_items + 1) ||
	    tallies_grow(&pairing->self) || tallies_grow(&pairing->total))
		return -ENOMEM;
	*ret = (uint32_t)pairing->nr_items++;
	pairing->items[*ret] = *key;
	pairing->items[*ret].before = *last;
	*last = *ret + 1;
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
	const struct shown_function *shown = &adding->index.list[function];
	uint32_t *mapped = &adding->places[2 * (size_t)shown->object + shown->kernel];
	char buf[256];
	int err = 0;

	if (*mapped == NOT_MAPPED)
		err = frame_place_intern(
			&adding->pairing->strings,
			function_index_place(&adding->index, function, buf, sizeof(buf)), mapped);
	*ret = *mapped;
	return err;
}

/* Room for @nr numbers, none of which is mapped. */
static uint32_t *make_map(size_t nr)
{
	uint32_t *map = reallocarray(NULL, nr + 1, sizeof(*map));

	if (map)
		memset(map, 0xff, (nr + 1) * sizeof(*map));
	return map;
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
	    id_table_add(&pairing->stack_ids, hash, *ret) || tallies_grow(&pairing->samples))
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
	const struct tally_runs *runs = &pairing->runs;
	uint32_t number = ++pairing->nr_counted;
	int err = 0;

	if (pairing->options.by == PAIRED_BY_LINE)
		return 0;
	for (size_t i = 0; !err && i < adding->nr_steps; i++) {
		uint32_t step = adding->steps[i];
		struct paired_item *item = &pairing->items[step];

		if (item->kind == PAIRED_LABEL)
			continue;
		if (i + 1 == adding->nr_steps)
			err = tallies_add(&pairing->self, runs, step, stack->count,
					  stack->weight_ns);
		if (!err && item->last_stack != number)
			err = tallies_add(&pairing->total, runs, step, stack->count,
					  stack->weight_ns);
		item->last_stack = number;
	}
	return err;
}

static int add_stack(struct adding *adding, const struct recording_stack *stack)
{
	struct pairing *pairing = adding->pairing;
	struct tally_runs *runs = &pairing->runs;
	uint32_t nr_labels, found;
	int err = put_stack(adding, stack, &nr_labels);

	if (!err)
		err = find_stack(adding, nr_labels, &found);
	if (!err)
		err = run_tally_add(&runs->whole[runs->side], stack->count, stack->weight_ns);
	if (!err)
		err = tallies_add(&pairing->samples, runs, found, stack->count, stack->weight_ns);
	return err ? err : count_items(adding, stack);
}

/* A run of @side begins, unless it is under way. */
static int begin_run(struct pairing *pairing, enum diff_side side)
{
	struct tally_runs *runs = &pairing->runs;
	int err;

	if (runs->open)
		return 0;
	err = tallies_begin_run(&pairing->self, runs, side);
	if (!err)
		err = tallies_begin_run(&pairing->total, runs, side);
	if (!err)
		err = tallies_begin_run(&pairing->samples, runs, side);
	pairing->nr_counted = 0;
	for (size_t i = 0; i < pairing->nr_items; i++)
		pairing->items[i].last_stack = 0;
	runs->whole[side] = (struct run_tally){ 0 };
	runs->side = side;
	runs->open = !err;
	return err;
}

/* The run is counted: into the distributions with it. */
static int close_run(struct pairing *pairing, enum diff_side side)
{
	struct tally_runs *runs = &pairing->runs;
	struct run_tally whole = runs->whole[side];
	struct paired_side *of = &pairing->sides[side];
	int err = tallies_end_run(&pairing->self, runs);

	if (!err)
		err = tallies_end_run(&pairing->total, runs);
	if (!err)
		err = tallies_end_run(&pairing->samples, runs);
	for (enum diff_measure measure = 0; measure < DIFF_MEASURES; measure++) {
		of->noise[measure] += distribution_sample_noise(&whole, measure, false);
		of->share_noise[measure] += distribution_sample_noise(&whole, measure, true);
	}
	of->nr_runs++;
	of->nr_empty += !whole.count;
	runs->nr[side]++;
	runs->open = false;
	return err ? err
		   : distribution_take(&pairing->whole, side, &whole, &runs->whole[side], false);
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
	*pairing = (struct pairing){ .options = *options, .runs.shares = options->shares };
	strings_init(&pairing->strings);
}

void pairing_settle(struct pairing *pairing)
{
	strings_drop_table(&pairing->strings);
	id_table_fini(&pairing->stack_ids);
	free(pairing->last_items);
	pairing->last_items = NULL;
	pairing->nr_texts = pairing->room_texts = 0;
}

void pairing_fini(struct pairing *pairing)
{
	pairing_settle(pairing);
	strings_fini(&pairing->strings);
	free(pairing->items);
	free(pairing->steps);
	free(pairing->stacks);
	tallies_fini(&pairing->self);
	tallies_fini(&pairing->total);
	tallies_fini(&pairing->samples);
}

static int fail(int error, struct fpl_err *err)
{
	return error ? fpl_fail(err, error, "%s",
				error == -EOVERFLOW ? "counts add up to more than 2^64"
						    : "out of memory for functions and stacks")
		     : 0;
}

int pairing_add_part(struct pairing *pairing, const struct recording *recording,
		     enum diff_side side, struct fpl_err *err)
{
	CLEANUP(adding_fini)
	struct adding adding = { .pairing = pairing, .recording = recording };
	struct paired_side *of = &pairing->sides[side];
	int error = begin_run(pairing, side);

	if (!error)
		error = frame_texts_init(recording, &pairing->options.text, &adding.texts);
	if (!error)
		error = function_index_init(&adding.texts, &adding.index);
	if (!error) {
		adding.items = make_map(adding.index.nr);
		adding.places = make_map(2 * recording->nr_objects);
		error = adding.items && adding.places ? add_stacks(&adding, side) : -ENOMEM;
	}
	if (__builtin_add_overflow(of->duration_ns, recording->duration_ns, &of->duration_ns))
		of->duration_ns = UINT64_MAX;
	return fail(error, err);
}

int pairing_end_run(struct pairing *pairing, enum diff_side side, struct fpl_err *err)
{
	int error = begin_run(pairing, side);

	return fail(error ? error : close_run(pairing, side), err);
}

int pairing_add(struct pairing *pairing, const struct recording *recording, enum diff_side side,
		struct fpl_err *err)
{
	int error = pairing_add_part(pairing, recording, side, err);

	return error ? error : pairing_end_run(pairing, side, err);
}
