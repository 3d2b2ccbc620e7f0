/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_values.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define NONE PPROF_TYPES_MAX

static const char *text_of(const struct pprof_tables *tables, int64_t index)
{
	return recording_string(tables->recording, pprof_tables_text(tables, index));
}

/* Nanoseconds of one of @unit; 0: it is no time. */
static uint64_t scale_of(const char *unit)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "nanoseconds", 1 },
		{ "microseconds", 1000 },
		{ "milliseconds", 1000000 },
		{ "seconds", 1000000000 },
		{ "nanosecond", 1 },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i].unit))
			return units[i].ns;
	return 0;
}

static bool texts_are_there(const struct pprof_values *values, const struct pprof_tables *tables)
{
	bool there = pprof_tables_has_text(tables, values->default_type) &&
		     pprof_tables_has_text(tables, values->period_type.unit);

	for (size_t i = 0; i < values->nr; i++)
		there &= pprof_tables_has_text(tables, values->types[i].type) &&
			 pprof_tables_has_text(tables, values->types[i].unit);
	return there;
}

/* The first type called @type (NULL: any) that is a time, or a count. */
static size_t find_type(const struct pprof_values *values, const struct pprof_tables *tables,
			const char *type, bool time)
{
	for (size_t i = 0; i < values->nr; i++) {
		const char *unit = text_of(tables, values->types[i].unit);

		if ((!type || !strcmp(text_of(tables, values->types[i].type), type)) &&
		    (time ? scale_of(unit) != 0 : !strcmp(unit, "count")))
			return i;
	}
	return NONE;
}

static size_t find_name(const struct pprof_values *values, const struct pprof_tables *tables,
			const char *name)
{
	size_t i = 0;

	while (i < values->nr && strcmp(text_of(tables, values->types[i].type), name) != 0)
		i++;
	return i < values->nr ? i : NONE;
}

/* What the file prefers: as its readers have it, the last type where it says nothing. */
static size_t preferred(const struct pprof_values *values, const struct pprof_tables *tables)
{
	size_t i = find_name(values, tables, text_of(tables, values->default_type));

	return i == NONE ? values->nr - 1 : i;
}

static void choose(struct pprof_values *values, const struct pprof_tables *tables)
{
	size_t count = find_type(values, tables, "samples", false);
	size_t weight = find_type(values, tables, "cpu", true);
	size_t best = preferred(values, tables);
	bool best_is_time = scale_of(text_of(tables, values->types[best].unit));

	/* a heap has counts, too, but is about bytes */
	if (count == NONE && weight == NONE && best_is_time) {
		weight = best;
		count = find_type(values, tables, NULL, false);
	} else if (count == NONE && weight == NONE) {
		count = best;
	}
	values->count = count;
	values->weight = weight;
}

int pprof_values_choose(struct pprof_values *values, const struct pprof_tables *tables,
			const char *wanted, bool last, bool *ret, struct fpl_err *err)
{
	*ret = values->chosen || (values->nr && texts_are_there(values, tables)) || last;
	if (values->chosen || !*ret)
		return 0;
	if (!values->nr)
		return fpl_fail(err, -EBADMSG, "no sample types");
	if (values->period > 0)
		values->period_ns = (uint64_t)values->period *
				    scale_of(text_of(tables, values->period_type.unit));
	if (wanted) {
		values->count = find_name(values, tables, wanted);
		values->weight = NONE;
		if (values->count == NONE)
			return fpl_fail(err, -ENOENT, "no sample type is called '%s'", wanted);
	} else {
		choose(values, tables);
	}
	if (values->weight != NONE)
		values->weight_scale =
			scale_of(text_of(tables, values->types[values->weight].unit));
	values->chosen = true;
	return 0;
}

/* Value @i; 0 where there is none. */
static int64_t value_at(const Pprof__Sample *sample, size_t i)
{
	return i < sample->n_value ? sample->value[i] : 0;
}

/* At most what a signed number holds. */
static uint64_t saturated_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) || product > INT64_MAX ? INT64_MAX : product;
}

bool pprof_values_of(const struct pprof_values *values, const Pprof__Sample *sample,
		     uint64_t *ret_count, uint64_t *ret_weight_ns)
{
	int64_t count = value_at(sample, values->count);
	int64_t weight = value_at(sample, values->weight);

	if (count < 0 || weight < 0)
		return false;
	*ret_count = (uint64_t)count;
	*ret_weight_ns = saturated_product((uint64_t)weight, values->weight_scale);
	if (values->weight == NONE)
		*ret_weight_ns = saturated_product(*ret_count, values->period_ns);
	if (values->count == NONE && weight) {
		/* the samples it takes, at least the one that is there */
		uint64_t period_ns = values->period_ns ? values->period_ns : *ret_weight_ns;

		*ret_count = (*ret_weight_ns + period_ns / 2) / period_ns;
		*ret_count += !*ret_count;
	}
	return true;
}
