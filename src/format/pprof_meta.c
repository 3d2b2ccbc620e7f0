/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pprof_meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "pprof.pb-c.h"
#include "format/pprof_rules.h"
#include "recording/must_add.h"
#include "recording/sample_type.h"
#include "recording/sources.h"
#include "view/measure.h"

/* The comments, as they are found. */
struct comments {
	struct pprof_fields *fields;
	VECTOR(int64_t) texts;
};

/* @text: @kind and what it says, or NULL: nothing. */
static void add_comment(struct comments *comments, const char *kind, const char *text)
{
	AUTO_FREE char *whole =
		must_asprintf(PPROF_COMMENT "%s%s%s", kind, text ? " " : "", text ? text : "");

	must_push(&comments->texts, pprof_fields_word(comments->fields, whole));
}

static void add_comment_number(struct comments *comments, const char *kind, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	add_comment(comments, kind, text);
}

static const struct {
	unsigned has;
	const char *word;
} by_words[] = { PPROF_BY_LIST };

static void add_by(struct comments *comments, unsigned by)
{
	char text[64] = "";
	int used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(by_words); i++)
		if (by & by_words[i].has)
			used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s",
					 used ? "," : "", by_words[i].word);
	if (used)
		add_comment(comments, "by", text);
}

static void add_source(struct comments *comments, const struct recording_source *source)
{
	AUTO_FREE char *text =
		must_asprintf("%" PRIu64 " %" PRIu64 " %s", source->hz, source->period,
			      recording_string(comments->fields->recording, source->event));

	add_comment(comments, "source", text);
}

static void add_number(struct comments *comments, const struct recording_number *number)
{
	const struct recording *recording = comments->fields->recording;
	AUTO_FREE char *key =
		must_asprintf("%s%s", number->note ? PPROF_COMMENT_NOTE : PPROF_COMMENT_BOOKS,
			      recording_string(recording, number->key));

	if (!number->note)
		add_comment_number(comments, key, number->value);
	else if (number->note == RECORDING_NO_NOTE)
		add_comment(comments, key, NULL);
	else
		add_comment(comments, key, recording_string(recording, number->note));
}

static void add_comments(struct comments *comments)
{
	const struct recording *recording = comments->fields->recording;

	must_push(&comments->texts, pprof_fields_word(comments->fields, PPROF_COMMENT_OWN));
	if (recording->event)
		add_comment(comments, "event", recording_string(recording, recording->event));
	if (recording->kernel)
		add_comment(comments, "kernel", recording_string(recording, recording->kernel));
	if (recording->hz)
		add_comment_number(comments, "hz", recording->hz);
	if (recording->nr_cpus)
		add_comment_number(comments, "cpus", recording->nr_cpus);
	add_by(comments, recording->by);
	if (recording->key)
		add_comment(comments, "key", recording_string(recording, recording->key));
	for (size_t i = 0; i < recording->nr_sources; i++)
		add_source(comments, &recording->sources[i]);
	for (size_t i = 0; i < recording->nr_args; i++)
		add_comment(comments, "arg", recording_string(recording, recording->args[i]));
	for (size_t i = 0; i < recording->nr_numbers; i++)
		add_number(comments, &recording->numbers[i]);
}

static void set_type(struct pprof_fields *fields, Pprof__ValueType *ret, const char *type,
		     const char *unit)
{
	pprof__value_type__init(ret);
	ret->type = pprof_fields_word(fields, type);
	ret->unit = pprof_fields_word(fields, unit);
}

/* In place of the types that say count and weight; the one that is shown is preferred. */
static void set_heap_types(struct pprof_fields *fields, Pprof__Profile *profile,
			   Pprof__ValueType **types)
{
	static const char *const words[PPROF_HEAP_TYPES][2] = {
#define X(name, unit) { #name, unit },
		PPROF_HEAP_LIST(X)
#undef X
	};
	struct measure measure;
	size_t shown = PPROF_HEAP_TYPES - 1;

	measure_init(fields->recording, &measure);
	for (size_t i = 0; i < PPROF_HEAP_TYPES; i++) {
		set_type(fields, types[i], words[i][0], words[i][1]);
		if (!strcmp(measure.type, words[i][0]))
			shown = i;
	}
	profile->n_sample_type = PPROF_HEAP_TYPES;
	profile->period_type = types[1];
	profile->default_sample_type = types[shown]->type;
}

void pprof_meta_write(struct pprof_fields *fields, bool weighed, bool plain)
{
	const struct recording *recording = fields->recording;
	struct comments comments = { .fields = fields };
	Pprof__ValueType all[1 + RECORDING_SOURCES_MAX];
	Pprof__ValueType *types[1 + RECORDING_SOURCES_MAX];
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	unsigned shown;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		types[i] = &all[i];
	if (sample_type_is_samples(recording))
		set_type(fields, &all[0], "samples", "count");
	else
		set_type(fields, &all[0], recording_string(recording, recording->sample_type),
			 recording_string(recording, recording->sample_unit));
	for (size_t i = 0; i < sources_nr(recording); i++) {
		struct recording_source source = sources_at(recording, i);

		set_type(fields, &all[1 + i],
			 source.weight_type ? recording_string(recording, source.weight_type)
					    : "cpu",
			 source.weight_unit ? recording_string(recording, source.weight_unit)
					    : "nanoseconds");
	}
	if (!plain)
		add_comments(&comments);
	profile.n_sample_type = 1 + (weighed ? sources_nr(recording) : 0);
	profile.sample_type = types;
	profile.period_type = weighed || recording->period ? types[1] : NULL;
	profile.period = (int64_t)recording->period;
	profile.time_nanos = (int64_t)recording->start_unix_ns;
	profile.duration_nanos = (int64_t)recording->duration_ns;
	shown = weighed && !recording->nr_sources &&
		!(recording->by_count && sample_type_weighs_else(recording));
	profile.default_sample_type = types[shown]->type;
	profile.n_comment = comments.texts.nr;
	profile.comment = comments.texts.list;
	if (recording->has_heap)
		set_heap_types(fields, &profile, types);
	pprof_fields_message(fields, 0, &profile.base);
	vector_fini(&comments.texts);
}

void pprof_meta_fini(struct pprof_meta *meta)
{
	vector_fini(&meta->comments);
}

void pprof_meta_add_comment(struct pprof_meta *meta, const struct pprof_field *field)
{
	struct cursor packed;

	if (!field->is_bytes) {
		must_push(&meta->comments, (int64_t)field->value);
		return;
	}
	packed = cursor_make(field->bytes, field->size);
	while (cursor_left(&packed)) {
		uint64_t text = cursor_uleb(&packed);

		if (!packed.bad)
			must_push(&meta->comments, (int64_t)text);
	}
}

static const char *comment_at(const struct pprof_meta *meta, const struct pprof_tables *tables,
			      size_t i)
{
	return recording_string(tables->recording,
				pprof_tables_text(tables, meta->comments.list[i]));
}

bool pprof_meta_is_own(const struct pprof_meta *meta, const struct pprof_tables *tables)
{
	return meta->comments.nr && !strcmp(comment_at(meta, tables, 0), PPROF_COMMENT_OWN);
}

/* The rest of @text behind @word; NULL: it does not begin with that. */
static const char *behind(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) ? NULL : text + length;
}

/* As decimal digits alone; 0 where it is something else. */
static uint64_t number_of(const char *text)
{
	char *end;

	errno = 0;

	uint64_t value = strtoull(text, &end, 10);

	return errno || *end || *text < '0' || *text > '9' ? 0 : value;
}

static unsigned by_of(const char *text)
{
	unsigned by = 0;

	while (*text) {
		size_t length = strcspn(text, ",");

		for (size_t i = 0; i < ARRAY_SIZE(by_words); i++)
			if (strlen(by_words[i].word) == length &&
			    !strncmp(by_words[i].word, text, length))
				by |= by_words[i].has;
		text += length + (text[length] == ',');
	}
	return by;
}

/* "KEY NUMBER"; of a note "KEY TEXT" or "KEY", for null. A key has no space in it. */
static void apply_book(struct recording *recording, const char *text, bool note)
{
	size_t length = strcspn(text, " ");
	const char *value = text[length] ? text + length + 1 : NULL;
	AUTO_FREE char *key = must_asprintf("%.*s", (int)length, text);

	if (note)
		must_set_note(recording, key, value);
	else if (value)
		must_add_number(recording, key, number_of(value));
}

/* "HZ PERIOD EVENT" */
static void apply_source(struct recording *recording, const char *text)
{
	struct recording_source *source = &recording->sources[recording->nr_sources];
	char *end;

	if (recording->nr_sources == RECORDING_SOURCES_MAX)
		return;
	source->hz = strtoull(text, &end, 10);
	source->period = strtoull(end, &end, 10);
	source->event = must_add_text(recording, end + (*end == ' '));
	source->weight_type = source->weight_unit = 0;
	recording->nr_sources++;
}

static void apply_comment(struct recording *recording, const char *comment)
{
	const char *text = behind(comment, PPROF_COMMENT), *value;

	if (!text)
		return;
	if ((value = behind(text, "event ")))
		recording->event = must_add_text(recording, value);
	else if ((value = behind(text, "kernel ")))
		recording->kernel = must_add_text(recording, value);
	else if ((value = behind(text, "arg ")))
		must_add_arg(recording, value);
	else if ((value = behind(text, PPROF_COMMENT_BOOKS)))
		apply_book(recording, value, false);
	else if ((value = behind(text, PPROF_COMMENT_NOTE)))
		apply_book(recording, value, true);
	else if ((value = behind(text, "hz ")))
		recording->hz = number_of(value);
	else if ((value = behind(text, "cpus ")))
		recording->nr_cpus = (uint32_t)number_of(value);
	else if ((value = behind(text, PPROF_COMMENT_SOURCE)))
		apply_source(recording, value);
	else if ((value = behind(text, "key ")))
		recording->key = must_add_text(recording, value);
	else if ((value = behind(text, "by ")))
		recording->by = by_of(value);
}

void pprof_meta_apply(const struct pprof_meta *meta, struct pprof_tables *tables)
{
	struct recording *recording = tables->recording;

	tables->own = pprof_meta_is_own(meta, tables);
	recording->start_unix_ns = meta->start_unix_ns;
	recording->duration_ns = meta->duration_ns;
	for (size_t i = 0; tables->own && i < meta->comments.nr; i++)
		apply_comment(recording, comment_at(meta, tables, i));
}
