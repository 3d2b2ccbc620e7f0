/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/sample_type.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

bool sample_type_is_samples(const struct recording *recording)
{
	return !recording->sample_type && !recording->sample_unit;
}

static const char *type_of(const struct recording *recording)
{
	return sample_type_is_samples(recording)
		       ? "samples"
		       : recording_string(recording, recording->sample_type);
}

static const char *unit_of(const struct recording *recording)
{
	return sample_type_is_samples(recording)
		       ? "count"
		       : recording_string(recording, recording->sample_unit);
}

static const char *weight_unit_of(const struct recording *recording)
{
	return recording_string(recording, recording->weight_unit);
}

const char *sample_type_weight(const struct recording *recording)
{
	return recording->weight_type ? recording_string(recording, recording->weight_type) : "cpu";
}

bool sample_type_weighs_else(const struct recording *recording)
{
	return !recording->hz &&
	       (recording->weight_unit || strcmp(sample_type_weight(recording), "cpu") != 0);
}

/* Are weights of the same, or of no interest to readers? */
static bool weights_equal(const struct recording *a, const struct recording *b)
{
	bool else_of_a = sample_type_weighs_else(a) && !a->by_count;
	bool else_of_b = sample_type_weighs_else(b) && !b->by_count;

	return else_of_a == else_of_b &&
	       (!else_of_a || !strcmp(sample_type_weight(a), sample_type_weight(b)));
}

bool sample_types_equal(const struct recording *a, const struct recording *b)
{
	return !strcmp(type_of(a), type_of(b)) && !strcmp(unit_of(a), unit_of(b)) &&
	       !strcmp(weight_unit_of(a), weight_unit_of(b)) && weights_equal(a, b);
}

bool sample_type_is(const struct recording *recording, const char *name)
{
	return !strcmp(type_of(recording), name);
}

uint64_t sample_unit_ns(const char *unit)
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

const char *sample_type_after(const char *type)
{
	return !strcmp(type, "blocked") || !strcmp(type, "wall") ? " time" : "";
}

const char *sample_type_text(const struct recording *recording, char *buf, size_t size)
{
	const char *type = type_of(recording), *unit = unit_of(recording);
	char text[256];

	/* of "objects" and "count" the first says it all */
	if (*type && (!*unit || !strcmp(unit, "count")))
		snprintf(text, sizeof(text), "%s", type);
	else
		snprintf(text, sizeof(text), "%s%s%s", unit, *type ? " of " : "", type);
	text_escape(buf, size, text, "");
	return buf;
}

const char *sample_type_counted(const struct recording *recording, uint64_t nr, char *buf,
				size_t size)
{
	sample_type_text(recording, buf, size);
	if (nr == 1 && !strcmp(buf, "samples"))
		buf[strlen("sample")] = '\0';
	return buf;
}

/* Do weights repeat the counts, which are nanoseconds of the same? */
static bool weights_are_counts(const struct recording *recording)
{
	if (!sample_type_is(recording, sample_type_weight(recording)) ||
	    sample_unit_ns(unit_of(recording)) != 1)
		return false;
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].weight != recording->stacks[i].count)
			return false;
	return true;
}

bool sample_type_is_weighed(const struct recording *recording)
{
	if (sample_type_is_samples(recording) || recording->weight_unit)
		return true;
	if (sample_unit_ns(unit_of(recording)))
		return !weights_are_counts(recording);
	if (recording->weight_type)
		return true; /* it says of what, though there may be none */
	for (size_t i = 0; i < recording->nr_stacks; i++)
		if (recording->stacks[i].weight)
			return true;
	return false;
}
