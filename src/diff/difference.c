/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static bool has_samples(const struct tallies *tallies, size_t idx)
{
	return tallies_count(tallies, idx, DIFF_BEFORE) || tallies_count(tallies, idx, DIFF_AFTER);
}

static bool is_tested(const struct tallies *tallies, size_t idx)
{
	const struct distribution counts = {
		.count = { tallies_count(tallies, idx, DIFF_BEFORE),
			   tallies_count(tallies, idx, DIFF_AFTER) },
	};

	return significance_is_tested(&counts);
}

/* The measure is that of readers; of a clock it is time, if all samples have one. */
static enum diff_measure measure_by(const struct pairing *pairing)
{
	const struct paired_side *sides = pairing->sides;
	bool timed = pairing->measure.clock && !sides[DIFF_BEFORE].weightless &&
		     !sides[DIFF_AFTER].weightless;

	return pairing->measure.weight || timed ? DIFF_WEIGHT : DIFF_SAMPLES;
}

static struct significance_options options_of(const struct pairing *pairing, bool shares)
{
	const struct paired_side *sides = pairing->sides;
	struct significance_options ret = {
		.measure = measure_by(pairing),
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

static enum significance_kind kind_of_self(const struct pairing *pairing, size_t item)
{
	return pairing->items.list[item].kind == FUNCTION_KERNEL ? SIGNIFICANCE_OTHER
								 : SIGNIFICANCE_SELF;
}

/* It never called anything that was sampled: by itself and with what it calls it is the same. */
static bool is_leaf(const struct pairing *pairing, size_t item)
{
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		if (tallies_count(&pairing->self, item, side) !=
		    tallies_count(&pairing->total, item, side))
			return false;
	return true;
}

/* Without two runs on a side nothing is fitted, and no tally is wide. */
static void fit(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;
	const struct significance_options options = options_of(pairing, pairing->options.shares);
	size_t nr_wide = pairing->self.wide ? pairing->items.nr : 0;
	AUTO_FREE const struct distribution **selves = must_calloc(nr_wide, sizeof(*selves));
	AUTO_FREE const struct distribution **others = must_calloc(2 * nr_wide, sizeof(*others));
	struct significance_list lists[SIGNIFICANCE_KINDS] = {
		[SIGNIFICANCE_SELF] = { .list = selves },
		[SIGNIFICANCE_OTHER] = { .list = others },
	};

	for (size_t i = 0; i < nr_wide; i++) {
		struct significance_list *list = &lists[kind_of_self(pairing, i)];

		if (pairing->items.list[i].kind == FUNCTION_LABEL)
			continue;
		if (has_samples(&pairing->self, i))
			list->list[list->nr++] = &pairing->self.wide[i].distribution;
		if (!is_leaf(pairing, i))
			others[lists[SIGNIFICANCE_OTHER].nr++] =
				&pairing->total.wide[i].distribution;
	}
	significance_fit(&options, lists, &difference->significance);
}

static double effect_of(const struct difference *difference, enum significance_kind kind,
			const struct tallies *tallies, uint32_t idx)
{
	struct distribution buf;

	if (kind != SIGNIFICANCE_SELF)
		return 0;
	return significance_effect(&difference->significance,
				   tallies_get(tallies, &difference->pairing->runs, idx, &buf));
}

/* Functions share one error rate, and stacks another. The whole is tested alone. */
static void count_tests(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;
	AUTO_FREE double *effects = must_calloc(2 * pairing->items.nr + 1, sizeof(*effects));
	size_t nr = 0;

	for (size_t i = 0; i < pairing->items.nr; i++) {
		if (pairing->items.list[i].kind == FUNCTION_LABEL)
			continue;
		if (is_tested(&pairing->self, i))
			effects[nr++] = effect_of(difference, kind_of_self(pairing, i),
						  &pairing->self, (uint32_t)i);
		nr += !is_leaf(pairing, i) && is_tested(&pairing->total, i);
	}
	difference->nr_function_tests = nr;
	error_shares_make(&difference->significance, effects, nr, &difference->function_shares);
	for (size_t i = 0; i < pairing->stacks.nr; i++)
		difference->nr_stack_tests += is_tested(&pairing->samples, i);
}

static void list_functions(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;

	difference->functions = must_calloc(pairing->items.nr, sizeof(*difference->functions));
	for (size_t i = 0; i < pairing->items.nr; i++)
		if (pairing->items.list[i].kind != FUNCTION_LABEL &&
		    has_samples(&pairing->total, i))
			difference->functions[difference->nr_functions++] = (uint32_t)i;
}

static void list_stacks(struct difference *difference)
{
	const struct pairing *pairing = difference->pairing;

	difference->stacks = must_calloc(pairing->stacks.nr, sizeof(*difference->stacks));
	for (size_t i = 0; i < pairing->stacks.nr; i++)
		if (has_samples(&pairing->samples, i))
			difference->stacks[difference->nr_stacks++] = (uint32_t)i;
}

/* @tallies: self or total of the pairing. */
static struct diff_change judge(const struct difference *difference, const struct tallies *tallies,
				uint32_t item)
{
	const struct pairing *pairing = difference->pairing;
	bool self = tallies == &pairing->self || is_leaf(pairing, item);
	enum significance_kind kind = self ? kind_of_self(pairing, item) : SIGNIFICANCE_OTHER;
	double effect = effect_of(difference, kind, tallies, item);
	struct distribution buf;
	struct diff_change ret;

	significance_judge(&difference->significance, kind,
			   error_shares_quantile(&difference->function_shares, kind, effect),
			   tallies_get(tallies, &pairing->runs, item, &buf), &ret);
	return ret;
}

struct diff_function difference_function(const struct difference *difference, uint32_t item)
{
	const struct pairing *pairing = difference->pairing;

	return (struct diff_function){
		.item = item,
		.self = judge(difference, &pairing->self, item),
		.total = judge(difference, &pairing->total, item),
	};
}

static bool is_real(const struct difference *difference, const struct tallies *tallies,
		    uint32_t idx)
{
	/* what is not tested is noise */
	return is_tested(tallies, idx) && judge(difference, tallies, idx).verdict != DIFF_NOISE;
}

void difference_count_real(const struct difference *difference, size_t *ret_self, size_t *ret_total)
{
	const struct pairing *pairing = difference->pairing;

	*ret_self = *ret_total = 0;
	for (size_t i = 0; i < difference->nr_functions; i++) {
		*ret_self += is_real(difference, &pairing->self, difference->functions[i]);
		*ret_total += is_real(difference, &pairing->total, difference->functions[i]);
	}
}

struct diff_test difference_widest(const struct difference *difference)
{
	const struct tallies *selves = &difference->pairing->self;
	struct diff_test ret = { .kind = SIGNIFICANCE_OTHER, .chance = SIGNIFICANCE_LEVEL / 2 };

	if (difference->whole_judged)
		ret.interval = difference->whole.interval;
	for (size_t i = 0; i < difference->nr_functions; i++) {
		uint32_t item = difference->functions[i];
		enum significance_kind kind = kind_of_self(difference->pairing, item);
		struct diff_change change;

		if (!is_tested(selves, item))
			continue;
		change = judge(difference, selves, item);
		if (change.interval > ret.interval)
			ret = (struct diff_test){
				.kind = kind,
				.chance = error_shares_chance(
					&difference->function_shares,
					effect_of(difference, kind, selves, item)),
				.interval = change.interval,
			};
	}
	return ret;
}

double difference_shows(const struct difference *difference, size_t runs)
{
	const struct significance_options *options = &difference->significance.options;
	const struct distribution *whole = &difference->pairing->whole;
	struct significance_typical typical = { 0 };
	double nr = (double)options->runs[DIFF_BEFORE] + (double)options->runs[DIFF_AFTER];
	double share = 0.1, samples = 0, sum = 0, noise = 0, effect;
	size_t fewest = options->runs[DIFF_BEFORE] < options->runs[DIFF_AFTER]
				? options->runs[DIFF_BEFORE]
				: options->runs[DIFF_AFTER];

	for (enum diff_side side = 0; side < DIFF_SIDES; side++) {
		samples += (double)whole->count[side];
		sum += whole->of[options->measure][side].sum;
		noise += options->sample_noise[side];
	}
	if (!fewest || sum <= 0)
		return INFINITY;
	typical.mean = options->shares ? share : share * sum / nr;
	typical.noise = share * samples / nr * noise / nr * (options->shares ? 1 - share : 1);
	/* a change by a fifth, as significance_effect() has it */
	effect = 0.2 * typical.mean /
		 sqrt(2 / (double)fewest *
		      (typical.noise + pow(difference->significance.variation * typical.mean, 2)));
	return 100 * significance_shows(&difference->significance, &typical,
					error_shares_chance(&difference->function_shares, effect),
					runs ? runs : fewest);
}

struct diff_change difference_stack(const struct difference *difference, uint32_t stack)
{
	const struct pairing *pairing = difference->pairing;
	struct distribution buf;
	struct diff_change ret;

	significance_judge(&difference->significance, SIGNIFICANCE_OTHER,
			   difference->stack_quantile,
			   tallies_get(&pairing->samples, &pairing->runs, stack, &buf), &ret);
	return ret;
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
	if (!pairing->options.shares &&
	    (pairing->whole.count[DIFF_BEFORE] || pairing->whole.count[DIFF_AFTER]))
		difference->unit = 1 / (whole->before > 0 ? whole->before : whole->after);
}

void difference_make(const struct pairing *pairing, struct difference *ret)
{
	*ret = (struct difference){
		.pairing = pairing,
		.whole_judged = !pairing->options.shares,
	};
	fit(ret);
	measure_whole(ret);
	if (ret->whole_judged)
		significance_judge(&ret->significance, SIGNIFICANCE_OTHER,
				   significance_quantile(&ret->significance, 1), &pairing->whole,
				   &ret->whole);
	count_tests(ret);
	ret->stack_quantile = significance_quantile(&ret->significance, ret->nr_stack_tests);
	list_functions(ret);
	list_stacks(ret);
}

void difference_fini(struct difference *difference)
{
	error_shares_fini(&difference->function_shares);
	free(difference->functions);
	free(difference->stacks);
}

/* The key that orders compare, of one item or stack. */
struct sort_key {
	double size, before; /* of the change; what it was */
	uint32_t idx;	     /* item or stack */
	bool is_noise;
};

struct sorting {
	const struct pairing *pairing;
	enum difference_order order;
};

static int compare_items(const struct pairing *pairing, uint32_t left, uint32_t right)
{
	const struct shown_function *a = &pairing->items.list[left],
				    *b = &pairing->items.list[right];
	int order = 0;

	if (a->text != b->text)
		order = strcmp(pairing_text(pairing, a->text), pairing_text(pairing, b->text));
	if (!order && a->place != b->place)
		order = strcmp(pairing_text(pairing, a->place), pairing_text(pairing, b->place));
	return order ? order : a->kind - b->kind;
}

static int compare_steps(const struct pairing *pairing, uint32_t left, uint32_t right)
{
	const struct sequence *a = &pairing->stacks.list[left], *b = &pairing->stacks.list[right];
	int order = 0;

	for (uint32_t i = 0; !order && i < a->nr && i < b->nr; i++)
		order = compare_items(pairing, pairing->stacks.ids.list[a->first + i],
				      pairing->stacks.ids.list[b->first + i]);
	return order ? order : (a->nr > b->nr) - (a->nr < b->nr);
}

/* Real changes before noise, large before small; ties by text. */
static int compare_keys(const void *left, const void *right, void *ctx)
{
	const struct sort_key *a = left, *b = right;
	const struct sorting *sorting = ctx;

	if (a->is_noise != b->is_noise)
		return a->is_noise - b->is_noise;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	/* what is there before what is not */
	if (a->before != b->before)
		return a->before > b->before ? -1 : 1;
	return sorting->order == DIFFERENCE_BY_SAMPLES
		       ? compare_steps(sorting->pairing, a->idx, b->idx)
		       : compare_items(sorting->pairing, a->idx, b->idx);
}

static struct diff_change change_of(const struct difference *difference,
				    enum difference_order order, uint32_t idx)
{
	const struct pairing *pairing = difference->pairing;

	if (order == DIFFERENCE_BY_SAMPLES)
		return difference_stack(difference, idx);
	return judge(difference, order == DIFFERENCE_BY_SELF ? &pairing->self : &pairing->total,
		     idx);
}

/* Put @key where it belongs among keys [*nr], of which at most @nr_max are kept. */
static void keep_key(struct sort_key *keys, size_t *nr, size_t nr_max, const struct sort_key *key,
		     struct sorting *sorting)
{
	size_t place = *nr < nr_max ? (*nr)++ : nr_max;

	for (; place && compare_keys(key, &keys[place - 1], sorting) < 0; place--)
		if (place < nr_max)
			keys[place] = keys[place - 1];
	if (place < nr_max)
		keys[place] = *key;
}

/* The most keys that are found one by one; more are sorted. */
#define FEW_KEYS 256u

void difference_list_make(const struct difference *difference, enum difference_order order,
			  size_t nr_max, bool changed, struct difference_list *ret)
{
	bool stacks = order == DIFFERENCE_BY_SAMPLES;
	const uint32_t *all = stacks ? difference->stacks : difference->functions;
	size_t nr_all = stacks ? difference->nr_stacks : difference->nr_functions;
	bool few = nr_max <= FEW_KEYS;
	struct sorting sorting = { .pairing = difference->pairing, .order = order };
	AUTO_FREE struct sort_key *keys =
		must_reallocarray(NULL, few ? nr_max : nr_all, sizeof(*keys));
	size_t nr = 0, nr_met = 0;

	*ret = (struct difference_list){ .list = NULL };
	for (size_t i = 0; i < nr_all; i++) {
		const struct diff_change change = change_of(difference, order, all[i]);
		const struct sort_key key = { .size = fabs(change.change),
					      .before = change.before,
					      .idx = all[i],
					      .is_noise = change.verdict == DIFF_NOISE };

		if (changed && change.before <= 0 && change.after <= 0)
			continue;
		nr_met++;
		if (few)
			keep_key(keys, &nr, nr_max, &key, &sorting);
		else
			keys[nr++] = key;
	}
	if (!few)
		qsort_r(keys, nr, sizeof(*keys), compare_keys, &sorting);
	ret->nr = nr < nr_max ? nr : nr_max;
	ret->nr_left = nr_met - ret->nr;
	ret->list = must_calloc(ret->nr, sizeof(*ret->list));
	for (size_t i = 0; i < ret->nr; i++)
		ret->list[i] = keys[i].idx;
}

void difference_list_fini(struct difference_list *list)
{
	free(list->list);
	list->list = NULL;
}

const char *difference_unit(const struct difference *difference, const char *counted)
{
	const struct measure *measure = &difference->pairing->measure;

	if (measure->weight)
		return measure->noun;
	return difference->significance.options.measure == DIFF_WEIGHT ? "CPU time" : counted;
}
