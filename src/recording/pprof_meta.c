/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "pprof.pb-c.h"
#include "recording/must_add.h"
#include "recording/pprof_rules.h"

/* The comments, as they are found. */
struct comments {
	struct pprof_fields *fields;
	int64_t *list; /* owned [nr] */
	size_t nr, room;
	struct fpl_err *err;
};

static void cleanup_comments(struct comments *comments)
{
	free(comments->list);
}

__attribute__((__format__(__printf__, 2, 3))) static int add_comment(struct comments *comments,
								     const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);

	int length = vasprintf(&text, fmt, args);

	va_end(args);
	if (length < 0) {
		text = NULL; /* vasprintf leaves it undefined */
		return fpl_fail(comments->err, -ENOMEM, "out of memory");
	}
	if (array_reserve(&comments->list, sizeof(*comments->list), &comments->room,
			  comments->nr + 1))
		return fpl_fail(comments->err, -ENOMEM, "out of memory");
	return pprof_fields_word(comments->fields, text, &comments->list[comments->nr++],
				 comments->err);
}

static const struct {
	unsigned has;
	const char *word;
} by_words[] = { PPROF_BY_LIST };

static int add_by(struct comments *comments, unsigned by)
{
	char text[64] = "";
	int used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(by_words); i++)
		if (by & by_words[i].has)
			used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s",
					 used ? "," : "", by_words[i].word);
	return used ? add_comment(comments, PPROF_COMMENT "by %s", text) : 0;
}

static int add_number(struct comments *comments, const struct recording_number *number)
{
	const struct recording *recording = comments->fields->recording;
	const char *key = recording_string(recording, number->key);

	if (number->note == RECORDING_NO_NOTE)
		return add_comment(comments, PPROF_COMMENT PPROF_COMMENT_NOTE "%s", key);
	if (number->note)
		return add_comment(comments, PPROF_COMMENT PPROF_COMMENT_NOTE "%s %s", key,
				   recording_string(recording, number->note));
	return add_comment(comments, PPROF_COMMENT PPROF_COMMENT_BOOKS "%s %" PRIu64, key,
			   number->value);
}

static int add_comments(struct comments *comments)
{
	const struct recording *recording = comments->fields->recording;
	int error = add_comment(comments, "%s", PPROF_COMMENT_OWN);

	if (!error && recording->event)
		error = add_comment(comments, PPROF_COMMENT "event %s",
				    recording_string(recording, recording->event));
	if (!error && recording->kernel)
		error = add_comment(comments, PPROF_COMMENT "kernel %s",
				    recording_string(recording, recording->kernel));
	if (!error && recording->hz)
		error = add_comment(comments, PPROF_COMMENT "hz %" PRIu64, recording->hz);
	if (!error && recording->nr_cpus)
		error = add_comment(comments, PPROF_COMMENT "cpus %" PRIu32, recording->nr_cpus);
	if (!error)
		error = add_by(comments, recording->by);
	for (size_t i = 0; !error && i < recording->nr_args; i++)
		error = add_comment(comments, PPROF_COMMENT "arg %s",
				    recording_string(recording, recording->args[i]));
	for (size_t i = 0; !error && i < recording->nr_numbers; i++)
		error = add_number(comments, &recording->numbers[i]);
	return error;
}

static int set_type(struct pprof_fields *fields, Pprof__ValueType *ret, const char *type,
		    const char *unit, struct fpl_err *err)
{
	int error;

	pprof__value_type__init(ret);
	error = pprof_fields_word(fields, type, &ret->type, err);
	return error ? error : pprof_fields_word(fields, unit, &ret->unit, err);
}

static int set_count_type(struct pprof_fields *fields, Pprof__ValueType *ret, struct fpl_err *err)
{
	const struct recording *recording = fields->recording;

	if (!recording->sample_type)
		return set_type(fields, ret, "samples", "count", err);
	return set_type(fields, ret, recording_string(recording, recording->sample_type),
			recording_string(recording, recording->sample_unit), err);
}

int pprof_meta_write(struct pprof_fields *fields, bool weighed, struct fpl_err *err)
{
	const struct recording *recording = fields->recording;
	CLEANUP(cleanup_comments) struct comments comments = { .fields = fields, .err = err };
	Pprof__ValueType count, weight;
	Pprof__ValueType *types[] = { &count, &weight };
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	int error = set_count_type(fields, &count, err);

	if (!error)
		error = set_type(fields, &weight,
				 recording->weight_type
					 ? recording_string(recording, recording->weight_type)
					 : "cpu",
				 "nanoseconds", err);
	if (!error)
		error = add_comments(&comments);
	if (error)
		return error;
	profile.n_sample_type = weighed ? 2 : 1;
	profile.sample_type = types;
	profile.period_type = weighed || recording->period_ns ? &weight : NULL;
	profile.period = (int64_t)recording->period_ns;
	profile.time_nanos = (int64_t)recording->start_unix_ns;
	profile.duration_nanos = (int64_t)recording->duration_ns;
	profile.default_sample_type = types[profile.n_sample_type - 1]->type;
	profile.n_comment = comments.nr;
	profile.comment = comments.list;
	return pprof_fields_message(fields, 0, &profile.base, err);
}

void pprof_meta_fini(struct pprof_meta *meta)
{
	vector_fini(&meta->comments);
}

void pprof_meta_add_comment(struct pprof_meta *meta, const struct pprof_field *field)
{
	struct cursor packed = cursor_make(field->bytes, field->size);

	if (!field->is_bytes)
		must_push(&meta->comments, (int64_t)field->value);
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

/* What is behind @word in @text; NULL: it does not begin with that. */
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
