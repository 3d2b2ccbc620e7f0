/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/pairing.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/function_index.h"
#include "view/hex.h"
#include "view/labels.h"
#include "view/stack_slots.h"

/* A run that is being added. */
struct adding {
	struct pairing *pairing;
	const struct recording *recording;
	struct frame_texts texts;
	struct function_index index;
	uint32_t *items;  /* owned [index.functions.nr]: items of its functions, ID_TABLE_NONE */
	uint32_t *places; /* owned [2 * nr_objects]: of user and kernel code, ID_TABLE_NONE */
	VECTOR(uint32_t) labels;  /* items of texts as labels, ID_TABLE_NONE */
	struct stack_slots steps; /* of the stack at hand */
};

static void adding_fini(struct adding *adding)
{
	function_index_fini(&adding->index);
	frame_texts_fini(&adding->texts);
	free(adding->items);
	free(adding->places);
	vector_fini(&adding->labels);
	vector_fini(&adding->steps);
}

static uint32_t find_item(struct pairing *pairing, const struct shown_function *key)
{
	uint32_t item = must_functions_add(&pairing->items, key);

	if (item == pairing->last_stacks.nr) {
		must_push(&pairing->last_stacks, 0);
		tallies_grow(&pairing->self);
		tallies_grow(&pairing->total);
	}
	return item;
}

/* @text as it is paired. */
static uint32_t intern(struct pairing *pairing, const char *text)
{
	return pairing->options.strip_hex ? hex_strip_intern(&pairing->strings, text)
					  : must_strings_intern(&pairing->strings, text);
}

static uint32_t intern_place(struct adding *adding, uint32_t function)
{
	const struct shown_function *shown = &adding->index.functions.list[function];
	uint32_t *mapped =
		&adding->places[2 * (size_t)shown->place + (shown->kind == FUNCTION_KERNEL)];
	char buf[256];

	if (*mapped == ID_TABLE_NONE)
		*mapped = frame_place_intern(
			&adding->pairing->strings,
			function_index_place(&adding->index, function, buf, sizeof(buf)));
	return *mapped;
}

static uint32_t map_function(struct adding *adding, uint32_t function)
{
	const struct shown_function *shown = &adding->index.functions.list[function];
	uint32_t *mapped = &adding->items[function];

	if (*mapped == ID_TABLE_NONE) {
		const struct shown_function key = {
			.text = intern(adding->pairing,
				       strings_text(&adding->texts.strings, shown->text)),
			.place = intern_place(adding, function),
			.kind = shown->kind,
		};

		*mapped = find_item(adding->pairing, &key);
	}
	return *mapped;
}

/* @text: in the strings of the run's texts, which grow with the labels. */
static uint32_t map_label(struct adding *adding, uint32_t text)
{
	while (text >= adding->labels.nr)
		must_push(&adding->labels, ID_TABLE_NONE);
	if (adding->labels.list[text] == ID_TABLE_NONE) {
		const struct shown_function key = {
			.text = intern(adding->pairing, strings_text(&adding->texts.strings, text)),
			.kind = FUNCTION_LABEL,
		};

		adding->labels.list[text] = find_item(adding->pairing, &key);
	}
	return adding->labels.list[text];
}

/* All steps of @stack. Returns how many labels are among them. */
static uint32_t put_stack(struct adding *adding, const struct recording_stack *stack)
{
	const struct stack_slot_options options = {
		.delimited = adding->pairing->options.delimited,
	};
	struct stack_slots *steps = &adding->steps;
	uint32_t labels[LABELS_MAX], nr_labels = labels_intern(&adding->texts, stack, labels);

	steps->nr = 0;
	for (uint32_t i = 0; i < nr_labels; i++)
		must_push(steps, map_label(adding, labels[i]));
	must_stack_slots(&adding->texts, stack, &options, steps);
	for (size_t i = nr_labels; i < steps->nr; i++)
		steps->list[i] =
			steps->list[i] == STACK_DELIMITER
				? map_label(adding,
					    must_strings_intern(&adding->texts.strings, "-"))
				: map_function(adding, adding->index.of_slots[steps->list[i]]);
	return nr_labels;
}

/* The stack whose steps are at hand. */
static uint32_t find_stack(struct adding *adding, uint32_t nr_labels)
{
	struct pairing *pairing = adding->pairing;
	uint32_t found = must_sequences_add(&pairing->stacks, adding->steps.list, adding->steps.nr,
					    nr_labels);

	if (found == pairing->samples.nr)
		tallies_grow(&pairing->samples);
	return found;
}

/* Count the samples of @stack for each function of its own thread; the last of them was running. */
static int count_items(struct adding *adding, const struct recording_stack *stack)
{
	struct pairing *pairing = adding->pairing;
	const struct tally_runs *runs = &pairing->runs;
	uint32_t number = ++pairing->nr_counted;
	int err = 0;

	if (pairing->options.by == FUNCTIONS_BY_TEXT)
		return 0;
	for (size_t i = 0; !err && i < adding->steps.nr_own; i++) {
		uint32_t step = adding->steps.list[i];

		if (pairing->items.list[step].kind == FUNCTION_LABEL)
			continue;
		if (i + 1 == adding->steps.nr_own)
			err = tallies_add(&pairing->self, runs, step, stack->count, stack->weight,
					  stack->squares);
		if (!err && pairing->last_stacks.list[step] != number)
			err = tallies_add(&pairing->total, runs, step, stack->count, stack->weight,
					  stack->squares);
		pairing->last_stacks.list[step] = number;
	}
	return err;
}

static int add_stack(struct adding *adding, const struct recording_stack *stack)
{
	struct pairing *pairing = adding->pairing;
	struct tally_runs *runs = &pairing->runs;
	uint32_t found = find_stack(adding, put_stack(adding, stack));
	int err = run_tally_add(&runs->whole[runs->side], stack->count, stack->weight,
				stack->squares);

	if (!err)
		err = tallies_add(&pairing->samples, runs, found, stack->count, stack->weight,
				  stack->squares);
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
	for (size_t i = 0; i < pairing->last_stacks.nr; i++)
		pairing->last_stacks.list[i] = 0;
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

		of->weightless = of->weightless || (stack->count && !stack->weight);
		err = add_stack(adding, stack);
	}
	return err;
}

void pairing_init(struct pairing *pairing, const struct pairing_options *options)
{
	*pairing = (struct pairing){
		.options = *options,
		.runs.shares = options->shares,
		.items.by = options->by,
	};
	strings_init(&pairing->strings);
}

void pairing_settle(struct pairing *pairing)
{
	strings_drop_table(&pairing->strings);
	functions_settle(&pairing->items);
	sequences_settle(&pairing->stacks);
	vector_fini(&pairing->last_stacks);
}

void pairing_fini(struct pairing *pairing)
{
	pairing_settle(pairing);
	strings_fini(&pairing->strings);
	functions_fini(&pairing->items);
	sequences_fini(&pairing->stacks);
	tallies_fini(&pairing->self);
	tallies_fini(&pairing->total);
	tallies_fini(&pairing->samples);
}

static int fail(int error, struct fpl_err *err)
{
	return error ? fpl_fail(err, error, "counts add up to more than 2^64") : 0;
}

int pairing_add_part(struct pairing *pairing, const struct recording *recording,
		     enum diff_side side, struct fpl_err *err)
{
	CLEANUP(adding_fini)
	struct adding adding = { .pairing = pairing, .recording = recording };
	struct paired_side *of = &pairing->sides[side];
	int error = begin_run(pairing, side);
	struct measure measure;

	measure_init(recording, &measure);
	pairing->measure = measure_alone(&measure);
	frame_texts_init(recording, &pairing->options.text, &adding.texts);
	function_index_init(&adding.texts, &adding.index);
	adding.items = must_id_map(adding.index.functions.nr);
	adding.places = must_id_map(2 * recording->nr_objects);
	if (!error)
		error = add_stacks(&adding, side);
	if (__builtin_add_overflow(of->duration_ns, recording->duration_ns, &of->duration_ns))
		of->duration_ns = UINT64_MAX;
	return fail(error, err);
}

int pairing_end_run(struct pairing *pairing, enum diff_side side, struct fpl_err *err)
{
	int error = begin_run(pairing, side);

	return fail(error ? error : close_run(pairing, side), err);
}
