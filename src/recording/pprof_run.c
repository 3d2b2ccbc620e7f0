/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/pprof_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "pprof.pb-c.h"
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
	if (comments->nr == comments->room) {
		size_t room = 2 * comments->room + 64;
		int64_t *bigger = reallocarray(comments->list, room, sizeof(*bigger));

		if (!bigger)
			return fpl_fail(comments->err, -ENOMEM, "out of memory");
		comments->list = bigger;
		comments->room = room;
	}
	return pprof_fields_word(comments->fields, text, &comments->list[comments->nr++],
				 comments->err);
}

static int add_by(struct comments *comments, unsigned by)
{
	static const struct {
		unsigned has;
		const char *word;
	} words[] = { PPROF_BY_LIST };
	char text[64] = "";
	int used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (by & words[i].has)
			used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%s",
					 used ? "," : "", words[i].word);
	return used ? add_comment(comments, PPROF_COMMENT "by %s", text) : 0;
}

static int add_number(struct comments *comments, const struct recording_number *number)
{
	const struct recording *recording = comments->fields->recording;
	const char *key = recording_string(recording, number->key);

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

int pprof_run_write(struct pprof_fields *fields, struct fpl_err *err)
{
	const struct recording *recording = fields->recording;
	CLEANUP(cleanup_comments) struct comments comments = { .fields = fields, .err = err };
	Pprof__ValueType samples, cpu;
	Pprof__ValueType *types[] = { &samples, &cpu };
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	int error = set_type(fields, &samples, "samples", "count", err);

	if (!error)
		error = set_type(fields, &cpu, "cpu", "nanoseconds", err);
	if (!error)
		error = add_comments(&comments);
	if (error)
		return error;
	profile.n_sample_type = ARRAY_SIZE(types);
	profile.sample_type = types;
	profile.period_type = &cpu;
	profile.period = (int64_t)recording->period_ns;
	profile.time_nanos = (int64_t)recording->start_unix_ns;
	profile.duration_nanos = (int64_t)recording->duration_ns;
	profile.default_sample_type = cpu.type;
	profile.n_comment = comments.nr;
	profile.comment = comments.list;
	return pprof_fields_message(fields, 0, &profile.base, err);
}
