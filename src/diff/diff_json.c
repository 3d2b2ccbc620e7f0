/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/cleanup.h"
#include "diff/diff_write.h"
#include "diff/growth_power.h"
#include "diff/headline.h"
#include "view/json.h"

static const char *const side_keys[DIFF_SIDES] = {
	[DIFF_BEFORE] = "before",
	[DIFF_AFTER] = "after",
};

/* As recording/keys.h has it. */
static const char *weight_key_of(const struct pairing *pairing)
{
	return pairing->measure.weighs_ns ? "weight_ns" : "weight";
}

static void write_side(struct json *json, const struct difference *difference, enum diff_side side)
{
	const struct pairing *pairing = difference->pairing;
	const struct paired_side *of = &pairing->sides[side];

	json_open(json, side_keys[side], '{');
	json_number(json, "runs", of->nr_runs);
	json_number(json, "samples", pairing->whole.count[side]);
	json_number(json, weight_key_of(pairing), pairing->whole.weight[side]);
	json_number(json, "duration_ns", of->duration_ns);
	json_close(json, '}');
}

/* @before, @after: samples; @unit: percent of what. */
static void write_change(struct json *json, const char *key, const struct diff_change *change,
			 uint64_t before, uint64_t after, double unit)
{
	json_open(json, key, '{');
	json_number(json, "samples_before", before);
	json_number(json, "samples_after", after);
	json_real(json, "before", 100 * unit * change->before);
	json_real(json, "after", 100 * unit * change->after);
	json_real(json, "change", 100 * unit * change->change);
	json_real(json, "interval", 100 * unit * change->interval);
	json_string(json, "verdict", diff_verdict_key(change->verdict));
	json_close(json, '}');
}

/* The change of thing @idx of @tallies. */
static void write_tallied(struct json *json, const char *key, const struct diff_change *change,
			  const struct tallies *tallies, uint32_t idx, double unit)
{
	write_change(json, key, change, tallies_count(tallies, idx, DIFF_BEFORE),
		     tallies_count(tallies, idx, DIFF_AFTER), unit);
}

static void write_function(struct json *json, const struct difference *difference, uint32_t idx)
{
	const struct pairing *pairing = difference->pairing;
	const struct shown_function *item = &pairing->items.list[idx];
	const struct diff_function function = difference_function(difference, idx);

	json_open(json, NULL, '{');
	json_string(json, "function", pairing_text(pairing, item->text));
	json_string(json, "object", pairing_text(pairing, item->place));
	json_bool(json, "kernel", item->kind == FUNCTION_KERNEL);
	write_tallied(json, "self", &function.self, &pairing->self, idx, difference->unit);
	write_tallied(json, "total", &function.total, &pairing->total, idx, difference->unit);
	json_close(json, '}');
}

static void write_stack(struct json *json, const struct difference *difference, uint32_t idx)
{
	const struct pairing *pairing = difference->pairing;
	const struct sequence *paired = &pairing->stacks.list[idx];
	const struct diff_change change = difference_stack(difference, idx);

	json_open(json, NULL, '{');
	json_open(json, "labels", '[');
	for (uint32_t i = 0; i < paired->nr; i++) {
		const struct shown_function *item =
			&pairing->items.list[pairing->stacks.ids.list[paired->first + i]];

		if (i == paired->nr_labels) {
			json_close(json, ']');
			json_open(json, "frames", '[');
		}
		json_string(json, NULL, pairing_text(pairing, item->text));
	}
	json_close(json, ']');
	if (paired->nr == paired->nr_labels) {
		json_open(json, "frames", '[');
		json_close(json, ']');
	}
	write_tallied(json, "samples", &change, &pairing->samples, idx, difference->unit);
	json_close(json, '}');
}

static void write_noise(struct json *json, const struct difference *difference)
{
	const struct significance *significance = &difference->significance;

	json_open(json, "noise", '{');
	json_real(json, "level", SIGNIFICANCE_LEVEL);
	json_number(json, "function_tests", difference->nr_function_tests);
	json_number(json, "stack_tests", difference->nr_stack_tests);
	json_number(json, "samples_min", SIGNIFICANCE_SAMPLES_MIN);
	json_real(json, "run_variation", 100 * significance->variation);
	json_bool(json, "run_variation_assumed", significance->assumed);
	json_close(json, '}');
}

/* The changes that these runs would show, and more of them. */
static void write_power(struct json *json, const struct difference *difference)
{
	static const size_t runs[] = { 0, 2, 3, 5, 10 };

	json_open(json, "shows", '[');
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		json_open(json, NULL, '{');
		if (runs[i])
			json_number(json, "runs", runs[i]);
		else
			json_null(json, "runs");
		json_real(json, "percent", difference_shows(difference, runs[i]));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void write_changed(struct json *json, const struct difference *difference)
{
	size_t self, total;

	difference_count_real(difference, &self, &total);
	json_open(json, "changed", '{');
	json_number(json, "self", self);
	json_number(json, "total", total);
	json_real(json, "bound", headline_bound(difference));
	json_close(json, '}');
}

/* All of @order as the array @key. */
static void write_list(struct json *json, const char *key, const struct difference *difference,
		       enum difference_order order,
		       void (*write)(struct json *json, const struct difference *difference,
				     uint32_t idx))
{
	CLEANUP(difference_list_fini) struct difference_list list;

	difference_list_make(difference, order, SIZE_MAX, false, &list);
	json_open(json, key, '[');
	for (size_t i = 0; i < list.nr; i++)
		write(json, difference, list.list[i]);
	json_close(json, ']');
}

static void write_limit(struct json *json, const char *key, const struct growth_power *power)
{
	if (!isfinite(power->limit)) {
		json_null(json, key);
		return;
	}
	json_open(json, key, '{');
	json_real(json, "percent", power->limit);
	json_real(json, "shows", power->shows);
	json_bool(json, "hidden", power->hidden);
	if (power->runs)
		json_number(json, "runs", power->runs);
	else
		json_null(json, "runs");
	json_close(json, '}');
}

/* The limits of growth, what is beyond them, and whether noise hides so much. */
static void write_limits(struct json *json, const struct difference *difference,
			 const struct growth_limit *limit)
{
	const struct growth_power whole = growth_power_of_whole(difference, limit->of_whole);
	const struct growth_power itself = growth_power_of_itself(difference, limit->of_itself);
	AUTO_FREE char *grown = headline_beyond(difference, limit);

	json_open(json, "limits", '{');
	write_limit(json, "of_whole", &whole);
	write_limit(json, "of_itself", &itself);
	if (grown)
		json_string(json, "beyond", grown);
	else
		json_null(json, "beyond");
	json_close(json, '}');
}

void diff_json_write(FILE *to, const struct difference *difference,
		     const struct diff_json_options *options)
{
	const struct pairing *pairing = difference->pairing;
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	json_string(&json, "type", "diff");
	json_number(&json, "format", 1);
	json_string(&json, "headline", options->headline);
	json_string(&json, "measure",
		    difference->significance.options.measure == DIFF_WEIGHT ? weight_key_of(pairing)
									    : "samples");
	if (pairing->measure.weight)
		json_string(&json, "weight_type", pairing->measure.noun);
	json_string(&json, "counted", options->counted);
	json_bool(&json, "normalized", pairing->options.shares);
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		write_side(&json, difference, side);
	write_noise(&json, difference);
	write_power(&json, difference);
	write_changed(&json, difference);
	write_limits(&json, difference, &options->limit);
	if (difference->whole_judged)
		write_change(&json, "whole", &difference->whole, pairing->whole.count[DIFF_BEFORE],
			     pairing->whole.count[DIFF_AFTER], difference->unit);
	else
		json_null(&json, "whole");
	write_list(&json, "functions", difference, DIFFERENCE_BY_SELF, write_function);
	write_list(&json, "stacks", difference, DIFFERENCE_BY_SAMPLES, write_stack);
	json_close(&json, '}');
	putc('\n', to);
}
