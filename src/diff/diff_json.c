/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "diff/diff_write.h"
#include "view/json.h"

static const char *const side_keys[DIFF_SIDES] = {
	[DIFF_BEFORE] = "before",
	[DIFF_AFTER] = "after",
};

static void write_side(struct json *json, const struct difference *difference, enum diff_side side)
{
	const struct pairing *pairing = difference->pairing;
	const struct paired_side *of = &pairing->sides[side];

	json_open(json, side_keys[side], '{');
	json_number(json, "runs", of->nr_runs);
	json_number(json, "samples", pairing->whole.count[side]);
	json_number(json, "weight_ns", pairing->whole.weight_ns[side]);
	json_number(json, "duration_ns", of->duration_ns);
	json_close(json, '}');
}

/* @distribution: whose counts are said; @unit: percent of what. */
static void write_change(struct json *json, const char *key, const struct diff_change *change,
			 const struct distribution *distribution, double unit)
{
	json_open(json, key, '{');
	json_number(json, "samples_before", distribution->count[DIFF_BEFORE]);
	json_number(json, "samples_after", distribution->count[DIFF_AFTER]);
	json_real(json, "before", 100 * unit * change->before);
	json_real(json, "after", 100 * unit * change->after);
	json_real(json, "change", 100 * unit * change->change);
	json_real(json, "interval", 100 * unit * change->interval);
	json_string(json, "verdict", diff_verdict_key(change->verdict));
	json_close(json, '}');
}

static void write_function(struct json *json, const struct difference *difference,
			   const struct diff_function *function)
{
	const struct pairing *pairing = difference->pairing;
	const struct paired_item *item = &pairing->items[function->item];

	json_open(json, NULL, '{');
	json_string(json, "function", pairing_text(pairing, item->text));
	json_string(json, "object", pairing_text(pairing, item->place));
	json_bool(json, "kernel", item->kind == PAIRED_KERNEL);
	write_change(json, "self", &function->self, &item->self, difference->unit);
	write_change(json, "total", &function->total, &item->total, difference->unit);
	json_close(json, '}');
}

static void write_stack(struct json *json, const struct difference *difference,
			const struct diff_stack *stack)
{
	const struct pairing *pairing = difference->pairing;
	const struct paired_stack *paired = &pairing->stacks[stack->stack];

	json_open(json, NULL, '{');
	json_open(json, "labels", '[');
	for (uint32_t i = 0; i < paired->nr; i++) {
		const struct paired_item *item = &pairing->items[pairing->steps[paired->first + i]];

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
	write_change(json, "samples", &stack->change, &paired->distribution, difference->unit);
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

void diff_json_write(FILE *to, struct difference *difference, const char *counted)
{
	const struct pairing *pairing = difference->pairing;
	struct json json = { .to = to };

	difference_sort_functions(difference, DIFFERENCE_BY_SELF);
	difference_sort_stacks(difference);
	json_open(&json, NULL, '{');
	json_string(&json, "type", "diff");
	json_number(&json, "format", 1);
	json_string(&json, "measure",
		    difference->significance.options.measure == DIFF_WEIGHT ? "weight_ns"
									    : "samples");
	json_string(&json, "counted", counted);
	json_bool(&json, "normalized", pairing->options.shares);
	for (enum diff_side side = 0; side < DIFF_SIDES; side++)
		write_side(&json, difference, side);
	write_noise(&json, difference);
	if (difference->whole_judged)
		write_change(&json, "whole", &difference->whole, &pairing->whole, difference->unit);
	else
		json_null(&json, "whole");
	json_open(&json, "functions", '[');
	for (size_t i = 0; i < difference->nr_functions; i++)
		write_function(&json, difference, &difference->functions[i]);
	json_close(&json, ']');
	json_open(&json, "stacks", '[');
	for (size_t i = 0; i < difference->nr_stacks; i++)
		write_stack(&json, difference, &difference->stacks[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	putc('\n', to);
}
