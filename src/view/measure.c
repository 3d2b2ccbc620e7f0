/* SPDX-License-Identifier: Apache-2.0 */
#include "view/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "recording/sample_type.h"

static enum measure_kind kind_of(const struct measure *measure)
{
	if (measure->unit_ns)
		return MEASURE_TIME;
	return strcmp(measure->unit, "bytes") != 0 ? MEASURE_COUNT : MEASURE_BYTES;
}

/* The unit is told only where it says more than the type: "count" does not. */
static void put_noun(struct measure *measure)
{
	char text[256];

	bool plain = measure->kind != MEASURE_COUNT || !strcmp(measure->unit, "count");

	if (measure->kind == MEASURE_SAMPLES)
		snprintf(text, sizeof(text), "samples");
	else if (*measure->type && (plain || !*measure->unit))
		snprintf(text, sizeof(text), "%s", measure->type);
	else if (*measure->type)
		snprintf(text, sizeof(text), "%s of %s", measure->unit, measure->type);
	else
		snprintf(text, sizeof(text), "%s",
			 measure->kind == MEASURE_COUNT ? measure->unit : "");
	text_escape(measure->noun, sizeof(measure->noun), text, "");
}

void measure_init(const struct recording *recording, struct measure *ret)
{
	const char *unit = recording_string(recording, recording->weight_unit);
	const char *counted = recording_string(recording, recording->sample_unit);

	*ret = (struct measure){
		.weight = sample_type_weighs_else(recording) && !recording->by_count,
		.clock = !sample_type_weighs_else(recording),
		.weighs_ns = !recording->weight_unit,
		.type = "",
		.unit = "",
	};
	if (ret->weight) {
		ret->type = sample_type_weight(recording);
		ret->unit = recording->weight_unit ? unit : "nanoseconds";
	} else if (!sample_type_is_samples(recording)) {
		ret->type = recording_string(recording, recording->sample_type);
		ret->unit = counted;
	}
	ret->unit_ns = sample_unit_ns(ret->unit);
	if (*ret->type || *ret->unit)
		ret->kind = kind_of(ret);
	put_noun(ret);
}

struct measure measure_alone(const struct measure *measure)
{
	struct measure ret = *measure;

	ret.type = ret.unit = "";
	return ret;
}

void measure_init_counts(const char *noun, struct measure *ret)
{
	bool samples = !strcmp(noun, "samples");

	*ret = (struct measure){
		.kind = samples ? MEASURE_SAMPLES : MEASURE_COUNT,
		.clock = true,
		.weighs_ns = true,
		.type = "",
		.unit = "",
	};
	text_escape(ret->noun, sizeof(ret->noun), noun, "");
}

void measure_init_time(const char *noun, struct measure *ret)
{
	*ret = (struct measure){
		.kind = MEASURE_TIME,
		.weight = true,
		.weighs_ns = true,
		.unit_ns = 1,
		.type = "",
		.unit = "",
	};
	text_escape(ret->noun, sizeof(ret->noun), noun, "");
}

uint64_t measure_sum(const struct recording *recording)
{
	struct measure measure;
	uint64_t sum = 0;

	measure_init(recording, &measure);
	for (size_t i = 0; i < recording->nr_stacks; i++)
		sum += measure_stack(&measure, &recording->stacks[i]);
	return sum;
}

const char *number_grouped(uint64_t value, char buf[static NUMBER_GROUPED_SIZE])
{
	char digits[21];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *to = buf;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

struct scale {
	double unit;
	const char *name;
};

/* The largest of @scales [@nr] that @value has one of; what has none of the first is written as
 * that. */
static void write_scaled(double value, const struct scale *scales, size_t nr, char *buf)
{
	size_t i = nr - 1;
	char number[NUMBER_GROUPED_SIZE];

	/* what would be rounded to 1024.0 KiB is 1.0 MiB */
	while (i && value < scales[i].unit * 0.99995)
		i--;
	if (!i) {
		snprintf(buf, MEASURE_NUMBER_SIZE, "%.0f %s", value, scales[0].name);
		return;
	}
	value /= scales[i].unit;
	if (value < 10000)
		snprintf(buf, MEASURE_NUMBER_SIZE, "%.1f %s", value, scales[i].name);
	else
		snprintf(buf, MEASURE_NUMBER_SIZE, "%s %s",
			 number_grouped((uint64_t)(value + 0.5), number), scales[i].name);
}

const char *measure_number(const struct measure *measure, uint64_t value,
			   char buf[static MEASURE_NUMBER_SIZE])
{
	static const struct scale times[] = {
		{ 1, "ns" },
		{ 1e3, "us" },
		{ 1e6, "ms" },
		{ 1e9, "s" },
	};
	static const struct scale bytes[] = {
		{ 1, "B" },	   { 0x1p10, "KiB" }, { 0x1p20, "MiB" },
		{ 0x1p30, "GiB" }, { 0x1p40, "TiB" },
	};

	if (measure->kind == MEASURE_TIME)
		write_scaled((double)value * (double)measure->unit_ns, times, ARRAY_SIZE(times),
			     buf);
	else if (measure->kind == MEASURE_BYTES)
		write_scaled((double)value, bytes, ARRAY_SIZE(bytes), buf);
	else
		number_grouped(value, buf);
	return buf;
}

const char *measure_plain(const struct measure *measure, uint64_t value,
			  char buf[static MEASURE_NUMBER_SIZE])
{
	if (measure->kind != MEASURE_SAMPLES)
		return measure_number(measure, value, buf);
	snprintf(buf, MEASURE_NUMBER_SIZE, "%" PRIu64, value);
	return buf;
}

static const char *say(const struct measure *measure, const char *number, const char *noun,
		       char *buf, size_t size)
{
	/* a number that has a unit is of something, unless its recording does not say of what */
	bool of = measure->kind == MEASURE_TIME || measure->kind == MEASURE_BYTES;

	snprintf(buf, size, "%s%s%s%s", number,
		 !*noun ? ""
		 : of	? " of "
			: " ",
		 noun, sample_type_after(noun));
	return buf;
}

const char *measure_said(const struct measure *measure, uint64_t value, char *buf, size_t size)
{
	bool one = value == 1 && !strcmp(measure->noun, "samples");
	char number[MEASURE_NUMBER_SIZE];

	return say(measure, measure_number(measure, value, number), one ? "sample" : measure->noun,
		   buf, size);
}

const char *measure_many(const struct measure *measure, uint64_t value, char *buf, size_t size)
{
	char number[MEASURE_NUMBER_SIZE];

	return say(measure, measure_number(measure, value, number), measure->noun, buf, size);
}

const char *measure_reported(const struct measure *measure, uint64_t value, char *buf, size_t size)
{
	char number[MEASURE_NUMBER_SIZE];

	return say(measure, measure_plain(measure, value, number), measure->noun, buf, size);
}
