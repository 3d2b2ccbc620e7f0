/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/alloc.h"
#include "format/pprof_rules.h"
#include "recording/sample_type.h"
#include "recording/sources.h"

#define NONE PPROF_TYPES_MAX

static const char *text_of(const struct pprof_tables *tables, int64_t index)
{
	return recording_string(tables->recording, pprof_tables_text(tables, index));
}

/* The first type called @type (NULL: any) that is a time, or a count. */
static size_t find_type(const struct pprof_values *values, const struct pprof_tables *tables,
			const char *type, bool time)
{
	for (size_t i = 0; i < values->nr; i++) {
		const char *unit = text_of(tables, values->types[i].unit);

		if ((!type || !strcmp(text_of(tables, values->types[i].type), type)) &&
		    (time ? sample_unit_ns(unit) != 0 : !strcmp(unit, "count")))
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

/* The type that the file prefers; by default the last, as for other readers of pprofs. */
static size_t preferred(const struct pprof_values *values, const struct pprof_tables *tables)
{
	size_t i = find_name(values, tables, text_of(tables, values->default_type));

	return i == NONE ? values->nr - 1 : i;
}

static bool is_time(const struct pprof_values *values, const struct pprof_tables *tables, size_t i)
{
	return sample_unit_ns(text_of(tables, values->types[i].unit)) != 0;
}

static bool is_samples(const struct pprof_values *values, const struct pprof_tables *tables,
		       size_t i)
{
	return !strcmp(text_of(tables, values->types[i].type), "samples") &&
	       !strcmp(text_of(tables, values->types[i].unit), "count");
}

/* The first type of @list that the file has. */
static size_t first_of(const size_t *list, size_t nr)
{
	size_t i = 0;

	while (i + 1 < nr && list[i] == NONE)
		i++;
	return list[i];
}

static void choose(struct pprof_values *values, const struct pprof_tables *tables)
{
	const size_t counts[] = { find_type(values, tables, "samples", false),
				  find_type(values, tables, NULL, false) };
	const size_t times[] = { find_type(values, tables, "cpu", true),
				 find_type(values, tables, NULL, true) };
	size_t best = preferred(values, tables);

	/* what fpless wrote has the counts first, whatever they are of */
	if (tables->own && !values->is_heap) {
		values->count = 0;
		values->weight = values->nr > 1 ? 1 : is_time(values, tables, 0) ? 0 : NONE;
		tables->recording->by_count = values->nr > 1 && !best;
	} else if (is_time(values, tables, best)) {
		values->count = first_of(counts, ARRAY_SIZE(counts));
		values->weight = best;
	} else {
		values->count = best;
		values->weight = is_samples(values, tables, best)
					 ? first_of(times, ARRAY_SIZE(times))
					 : NONE;
	}
}

/* The type called @wanted is what counts; a time weighs what it counts. */
static bool choose_wanted(struct pprof_values *values, const struct pprof_tables *tables,
			  const char *wanted)
{
	size_t i = find_name(values, tables, wanted);

	choose(values, tables);
	tables->recording->by_count = i == values->count;
	if (i == NONE || i == values->count)
		return i != NONE;
	values->count = i;
	values->weight = is_time(values, tables, i) ? i : NONE;
	return true;
}

/* "alloc_space (bytes), ..." */
static void list_types(const struct pprof_values *values, const struct pprof_tables *tables,
		       char *buf, size_t size)
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < values->nr && used < size; i++) {
		int nr = snprintf(buf + used, size - used, "%s%.40s (%.20s)", i ? ", " : "",
				  text_of(tables, values->types[i].type),
				  text_of(tables, values->types[i].unit));

		used += nr < 0 ? 0 : (size_t)nr;
	}
}

/* Tell the recording what was chosen. */
static void tell_types(const struct pprof_values *values, struct pprof_tables *tables)
{
	struct recording *recording = tables->recording;

	if (values->count != NONE && !is_samples(values, tables, values->count)) {
		const struct pprof_type *count = &values->types[values->count];

		recording->sample_type = pprof_tables_text(tables, count->type);
		recording->sample_unit = pprof_tables_text(tables, count->unit);
	}
	if (values->weight != NONE &&
	    strcmp(text_of(tables, values->types[values->weight].type), "cpu") != 0)
		recording->weight_type =
			pprof_tables_text(tables, values->types[values->weight].type);
	if (values->weight != NONE && !is_time(values, tables, values->weight))
		recording->weight_unit =
			pprof_tables_text(tables, values->types[values->weight].unit);
}

/* One @unit weighs this much. 0: it is not a time, though weights are times. */
static uint64_t scale_of(const struct pprof_tables *tables, int64_t unit)
{
	return tables->recording->weight_unit ? 1 : sample_unit_ns(text_of(tables, unit));
}

/* Each of several sources has a type of its own behind the count. */
static int choose_sources(struct pprof_values *values, struct pprof_tables *tables,
			  const char *wanted, struct fpl_err *err)
{
	struct recording *recording = tables->recording;

	if (values->nr != 1 + recording->nr_sources)
		return fpl_fail(err, -EBADMSG, "%zu sample types of %zu sources", values->nr,
				recording->nr_sources);
	for (size_t i = 0; i < recording->nr_sources; i++) {
		const struct pprof_type *type = &values->types[1 + i];
		struct recording_source *source = &recording->sources[i];

		if (strcmp(text_of(tables, type->type), "cpu") != 0)
			source->weight_type = pprof_tables_text(tables, type->type);
		if (!is_time(values, tables, 1 + i))
			source->weight_unit = pprof_tables_text(tables, type->unit);
	}
	alloc_check(sources_set(recording, recording->sources, recording->nr_sources));
	values->count = 0;
	values->weight = 1;
	values->weight_scale = 1;
	values->of_sources = true;
	if (!wanted || sources_find_type(recording, wanted) != SOURCES_NONE)
		return 0;
	recording->by_count = true;
	return strcmp(wanted, "samples") ? -ENOENT : 0;
}

/* Has it the types of a heap, in their order? */
static bool is_heap(const struct pprof_values *values, const struct pprof_tables *tables)
{
	static const char *const names[PPROF_HEAP_TYPES] = {
#define X(name, unit) #name,
		PPROF_HEAP_LIST(X)
#undef X
	};

	for (size_t i = 0; i < PPROF_HEAP_TYPES; i++)
		if (values->nr != PPROF_HEAP_TYPES ||
		    strcmp(text_of(tables, values->types[i].type), names[i]) != 0)
			return false;
	return true;
}

int pprof_values_choose(struct pprof_values *values, struct pprof_tables *tables,
			const char *wanted, struct fpl_err *err)
{
	int code = 0;

	if (!values->nr)
		return fpl_fail(err, -EBADMSG, "no sample types");
	values->is_heap = tables->own && is_heap(values, tables);
	if (tables->recording->nr_sources) {
		code = choose_sources(values, tables, wanted, err);
		if (code != -ENOENT)
			return code;
	}
	if (code || (wanted && !choose_wanted(values, tables, wanted))) {
		char there[256];

		list_types(values, tables, there, sizeof(there));
		return fpl_fail(err, -ENOENT, "no sample type is called '%.40s': there are %s",
				wanted, there);
	}
	if (!wanted)
		choose(values, tables);
	tell_types(values, tables);
	values->weight_scale =
		values->weight == NONE ? 0 : scale_of(tables, values->types[values->weight].unit);
	if (values->period > 0)
		values->weight_period =
			(uint64_t)values->period * scale_of(tables, values->period_type.unit);
	/* a period is that of samples, not of bytes; fpless says itself what samples weigh */
	values->periodic = !tables->own && values->count != NONE &&
			   !strcmp(text_of(tables, values->types[values->count].unit), "count") &&
			   !wanted;
	return 0;
}

/* Value @i; 0 if it is missing. */
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

bool pprof_values_of(const struct pprof_values *values, const Pprof__Sample *sample, size_t source,
		     uint64_t *ret_count, uint64_t *ret_weight)
{
	int64_t count = value_at(sample, values->count);
	int64_t weight = value_at(sample, values->of_sources ? 1 + source : values->weight);

	if (count < 0 || weight < 0)
		return false;
	*ret_count = (uint64_t)count;
	*ret_weight = saturated_product((uint64_t)weight, values->weight_scale);
	if (values->weight == NONE && values->periodic)
		*ret_weight = saturated_product(*ret_count, values->weight_period);
	if (values->count == NONE && weight) {
		/* the samples it takes, at least the one that is there */
		uint64_t period = values->weight_period ? values->weight_period : *ret_weight;

		*ret_count = (*ret_weight + period / 2) / period;
		*ret_count += !*ret_count;
	}
	return true;
}

bool pprof_values_heap(const struct pprof_values *values, const Pprof__Sample *sample,
		       struct recording_heap *ret)
{
	size_t i = 0;

	if (!values->is_heap)
		return false;
#define X(name, unit) ret->name = (uint64_t)value_at(sample, i++);
	PPROF_HEAP_LIST(X)
#undef X
	return true;
}
