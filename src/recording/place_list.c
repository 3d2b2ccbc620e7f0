/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/place_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/must_add.h"

#define LIST "incomplete.most[]."

/* The notes that identify a place, and behind these the others. */
enum { STOP, FUNCTION, OBJECT, ADVICE, NOTES, IDENTITY = ADVICE };

static const char *const names[NOTES] = {
	[STOP] = "stop",
	[FUNCTION] = "function",
	[OBJECT] = "object",
	[ADVICE] = "advice",
};

struct place {
	uint64_t samples;
	const char *notes[NOTES]; /* NULL: null, or not said */
};

/* Copies of what the recordings say, which are changed meanwhile, are not needed: texts stay. */
struct places {
	struct place list[2 * PLACE_LIST_MAX];
	size_t nr;
};

bool place_list_has_key(const char *key)
{
	return !strncmp(key, LIST, strlen(LIST));
}

/* The part of an element that @key is: its index in *ret. NULL: @key is no part of one. */
static const char *part_of(const char *key, size_t *ret)
{
	char *end;

	if (!place_list_has_key(key) || key[strlen(LIST)] < '0' || key[strlen(LIST)] > '9')
		return NULL;
	*ret = strtoul(key + strlen(LIST), &end, 10);
	return *end == '.' && *ret < PLACE_LIST_MAX ? end + 1 : NULL;
}

static void read_number(const struct recording *recording, const struct recording_number *number,
			struct places *to, size_t first)
{
	const char *key = recording_string(recording, number->key);
	size_t idx;
	const char *part = part_of(key, &idx);

	if (!part)
		return;
	if (first + idx >= to->nr)
		to->nr = first + idx + 1;
	if (!strcmp(part, "samples"))
		to->list[first + idx].samples = number->value;
	for (size_t i = 0; i < NOTES; i++)
		if (!strcmp(part, names[i]) && number->note && number->note != RECORDING_NO_NOTE)
			to->list[first + idx].notes[i] = recording_string(recording, number->note);
}

static void read_list(const struct recording *recording, struct places *to)
{
	size_t first = to->nr;

	for (size_t i = 0; i < recording->nr_numbers; i++)
		read_number(recording, &recording->numbers[i], to, first);
}

static bool are_equal(const struct place *a, const struct place *b)
{
	for (size_t i = 0; i < IDENTITY; i++)
		if (!a->notes[i] != !b->notes[i] ||
		    (a->notes[i] && strcmp(a->notes[i], b->notes[i]) != 0))
			return false;
	return true;
}

/* Make equal places one. */
static int join(struct places *places, size_t *ret_common)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->nr; i++) {
		struct place *place = &places->list[i];
		size_t at = 0;

		if (!place->samples)
			continue; /* a gap in the list of a hostile file */
		while (at < kept && !are_equal(&places->list[at], place))
			at++;
		if (at == kept) {
			places->list[kept++] = *place;
			continue;
		}
		if (__builtin_add_overflow(places->list[at].samples, place->samples,
					   &places->list[at].samples))
			return -EOVERFLOW;
		++*ret_common;
	}
	places->nr = kept;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	for (size_t i = 0; i < IDENTITY; i++) {
		const char *s = a->notes[i] ? a->notes[i] : "", *t = b->notes[i] ? b->notes[i] : "";
		int order = strcmp(s, t);

		if (order)
			return order;
	}
	return 0;
}

static void write_place(struct recording *to, const struct place *place, size_t idx)
{
	char key[64];

	snprintf(key, sizeof(key), LIST "%zu.samples", idx);
	must_add_number(to, key, place->samples);
	for (size_t i = 0; i < NOTES; i++) {
		snprintf(key, sizeof(key), LIST "%zu.%s", idx, names[i]);
		must_set_note(to, key, place->notes[i]);
	}
}

int place_list_merge(struct recording *to, const struct recording *from, size_t *ret_common)
{
	struct places places = { .nr = 0 };
	int err;

	*ret_common = 0;
	read_list(to, &places);
	read_list(from, &places);
	if (!places.nr)
		return 0;
	err = join(&places, ret_common);
	qsort(places.list, places.nr, sizeof(*places.list), compare);
	recording_drop_numbers(to, place_list_has_key);
	for (size_t i = 0; !err && i < places.nr && i < PLACE_LIST_MAX; i++)
		write_place(to, &places.list[i], i);
	return err;
}
