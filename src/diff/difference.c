/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool has_samples(const struct distribution *distribution)
{
	return distribution->count[DIFF_BEFORE] || distribution->count[DIFF_AFTER];
}

static struct significance_options options_of(const struct pairing *pairing, bool shares)
{
	const struct paired_side *sides = pairing->sides;
	struct significance_options ret = {
		.measure = sides[DIFF_BEFORE].weightless || sides[DIFF_AFTER].weightless
				   ? DIFF_SAMPLES
				   : DIFF_WEIGHT,
		.shares = shares,
	};

	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		ret.runs[side] = sides[side].nr_runs - (shares ? sides[side].nr_empty : 0);
		ret.sample_noise[side] = shares ? sides[side].share_noise[ret.measure]
						: sides[side].noise[ret.measure];
	}
	/* a side that saw nothing could have seen such samples as the other did */
	for (enum diff_side side = 0; !shares && side < DIFF_SIDES; side++)
		if (ret.sample_noise[side] <= 0)
			ret.sample_noise[side] = ret.sample_noise[!side];
	return ret;
}

static int fit(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;
	const struct significance_options options = options_of(pairing, pairing->options.shares);
	AUTO_FREE const struct distribution **list = calloc(pairing->nr_items + 1, sizeof(*list));
	size_t nr = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < pairing->nr_items; i++) {
		const struct paired_item *item = &pairing->items[i];

		if (item->kind != PAIRED_LABEL && has_samples(&item->self))
			list[nr++] = &item->self;
	}
	return significance_fit(&options, list, nr, &difference->significance);
}

/* What is looked at together shares one error rate. The whole is looked at alone. */
static void count_tests(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;

	for (size_t i = 0; i < pairing->nr_items; i++) {
		const struct paired_item *item = &pairing->items[i];

		if (item->kind == PAIRED_LABEL)
			continue;
		difference->nr_function_tests += significance_is_tested(&item->self);
		difference->nr_function_tests += significance_is_tested(&item->total);
	}
	for (size_t i = 0; i < pairing->nr_stacks; i++)
		difference->nr_stack_tests +=
			significance_is_tested(&pairing->stacks[i].distribution);
}

static int judge_functions(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;
	double quantile =
		significance_quantile(&difference->significance, difference->nr_function_tests);

	difference->functions = calloc(pairing->nr_items + 1, sizeof(*difference->functions));
	if (!difference->functions)
		return -ENOMEM;
	for (size_t i = 0; i < pairing->nr_items; i++) {
		const struct paired_item *item = &pairing->items[i];
		struct diff_function *to = &difference->functions[difference->nr_functions];

		if (item->kind == PAIRED_LABEL || !has_samples(&item->total))
			continue;
		to->item = (uint32_t)i;
		significance_judge(&difference->significance, quantile, &item->self, &to->self);
		significance_judge(&difference->significance, quantile, &item->total, &to->total);
		difference->nr_functions++;
	}
	return 0;
}

static int judge_stacks(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;
	double quantile =
		significance_quantile(&difference->significance, difference->nr_stack_tests);

	difference->stacks = calloc(pairing->nr_stacks + 1, sizeof(*difference->stacks));
	if (!difference->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < pairing->nr_stacks; i++) {
		struct diff_stack *to = &difference->stacks[difference->nr_stacks];

		if (!has_samples(&pairing->stacks[i].distribution))
			continue;
		to->stack = (uint32_t)i;
		significance_judge(&difference->significance, quantile,
				   &pairing->stacks[i].distribution, &to->change);
		difference->nr_stacks++;
	}
	return 0;
}

/* The whole where it cannot be judged: means over all runs. */
static void measure_whole(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;
	const struct spread *of = pairing->whole.of[difference->significance.options.measure];
	const struct paired_side *sides = pairing->sides;
	struct diff_change *whole = &difference->whole;

	*whole = (struct diff_change){ .interval = INFINITY };
	if (sides[DIFF_BEFORE].nr_runs)
		whole->before = of[DIFF_BEFORE].sum / (double)sides[DIFF_BEFORE].nr_runs;
	if (sides[DIFF_AFTER].nr_runs)
		whole->after = of[DIFF_AFTER].sum / (double)sides[DIFF_AFTER].nr_runs;
	whole->change = whole->after - whole->before;
	difference->unit = 1;
	if (!pairing->options.shares && has_samples(&pairing->whole))
		difference->unit = 1 / (whole->before > 0 ? whole->before : whole->after);
}

int difference_make(const struct pairing *pairing, struct difference *ret)
{
	int err;

	*ret = (struct difference){
		.pairing = pairing,
		.whole_judged = !pairing->options.shares,
	};
	err = fit(ret);
	if (err)
		return err;
	measure_whole(ret);
	if (ret->whole_judged)
		significance_judge(&ret->significance, significance_quantile(&ret->significance, 1),
				   &pairing->whole, &ret->whole);
	count_tests(ret);
	err = judge_functions(ret);
	return err ? err : judge_stacks(ret);
}

void difference_fini(struct difference *difference)
{
	free(difference->functions);
	free(difference->stacks);
}

/* Real changes before noise, large before small. */
static int compare_changes(const struct diff_change *a, const struct diff_change *b)
{
	bool a_noise = a->verdict == DIFF_NOISE, b_noise = b->verdict == DIFF_NOISE;
	double a_size = fabs(a->change), b_size = fabs(b->change);

	if (a_noise != b_noise)
		return a_noise - b_noise;
	if (a_size != b_size)
		return a_size > b_size ? -1 : 1;
	/* what is there before what is not */
	return (a->before < b->before) - (a->before > b->before);
}

static int compare_items(const struct pairing *pairing, uint32_t left, uint32_t right)
{
	const struct paired_item *a = &pairing->items[left], *b = &pairing->items[right];
	int order = strcmp(pairing_text(pairing, a->text), pairing_text(pairing, b->text));

	if (!order)
		order = strcmp(pairing_text(pairing, a->place), pairing_text(pairing, b->place));
	return order ? order : a->kind - b->kind;
}

static int compare_self(const void *left, const void *right, void *pairing)
{
	const struct diff_function *a = left, *b = right;
	int order = compare_changes(&a->self, &b->self);

	return order ? order : compare_items(pairing, a->item, b->item);
}

static int compare_total(const void *left, const void *right, void *pairing)
{
	const struct diff_function *a = left, *b = right;
	int order = compare_changes(&a->total, &b->total);

	return order ? order : compare_items(pairing, a->item, b->item);
}

void difference_sort_functions(struct difference *difference, enum difference_order order)
{
	qsort_r(difference->functions, difference->nr_functions, sizeof(*difference->functions),
		order == DIFFERENCE_BY_SELF ? compare_self : compare_total,
		(void *)(uintptr_t)difference->pairing);
}

static int compare_steps(const struct pairing *pairing, uint32_t left, uint32_t right)
{
	const struct paired_stack *a = &pairing->stacks[left], *b = &pairing->stacks[right];
	int order = 0;

	for (uint32_t i = 0; !order && i < a->nr && i < b->nr; i++)
		order = compare_items(pairing, pairing->steps[a->first + i],
				      pairing->steps[b->first + i]);
	return order ? order : (a->nr > b->nr) - (a->nr < b->nr);
}

static int compare_stacks(const void *left, const void *right, void *pairing)
{
	const struct diff_stack *a = left, *b = right;
	int order = compare_changes(&a->change, &b->change);

	return order ? order : compare_steps(pairing, a->stack, b->stack);
}

void difference_sort_stacks(struct difference *difference)
{
	qsort_r(difference->stacks, difference->nr_stacks, sizeof(*difference->stacks),
		compare_stacks, (void *)(uintptr_t)difference->pairing);
}
