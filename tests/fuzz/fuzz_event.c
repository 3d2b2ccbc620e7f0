/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format file of a tracepoint (or the arguments in the note of a USDT probe), a word behind -e
 * and a filter as hostile bytes, an empty line between each two. Judged: fields lie in the text or
 * in the registers, the word fits its room, and each test of a filter leads to one behind it and to
 * a text that ends.
 */
#include <stdlib.h>
#include <string.h>

#include "source/event_filter.h"
#include "source/event_format.h"
#include "source/probe_fields.h"
#include "source/probe_word.h"
#include "source/source_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_format(const struct event_format *format)
{
	if (format->nr > EVENT_FIELDS_MAX)
		abort();
	for (size_t i = 0; i < format->nr; i++) {
		const struct event_field *field = &format->fields[i];

		if (field->field.off < 8 || !*field->name || field->name <= field->type)
			abort();
		if (event_format_find(format, field->name, strlen(field->name)) > field)
			abort();
	}
}

static void check_filter(const struct fpl_source *source)
{
	if (!source->nr_tests || source->nr_tests > FPL_TESTS_MAX)
		abort();
	for (uint32_t i = 0; i < source->nr_tests; i++) {
		const struct fpl_test *test = &source->tests[i];
		bool is_text = test->field.kind >= FPL_FIELD_TEXT;

		if ((test->yes < FPL_TEST_PASS &&
		     (test->yes <= i || test->yes >= source->nr_tests)) ||
		    (test->no < FPL_TEST_PASS && (test->no <= i || test->no >= source->nr_tests)))
			abort();
		if (is_text && (test->value >= FPL_TESTS_MAX ||
				!memchr(source->texts[test->value], 0, FPL_TEST_TEXT)))
			abort();
		if (!is_text && (!test->field.size || test->field.size > 8))
			abort();
	}
}

/* Fields of a USDT probe whose note has @args, and a filter over them. */
static void check_probe(const char *args, const char *filter)
{
	struct fpl_source source = { 0 };
	struct event_format format;
	struct fpl_err err;

	if (probe_fields_of_usdt(args, &format, &err))
		return;
	if (format.nr > (size_t)2 * PROBE_ARGS_MAX)
		abort();
	for (size_t i = 0; i < format.nr; i++) {
		const struct fpl_field *field = &format.fields[i].field;

		if (!*format.fields[i].name || !*format.fields[i].type ||
		    field->place > FPL_PLACE_CONSTANT || field->off + 8u > 168 + 1 ||
		    (field->kind != FPL_FIELD_NONE && (!field->size || field->size > 8)))
			abort();
	}
	if (!event_filter_compile(filter, &format, &source, &err))
		check_filter(&source);
	event_format_fini(&format);
}

static void check_word(const char *word)
{
	struct source_spec spec;
	struct probe_word probe;
	struct fpl_err err;

	char name[16];

	if (!source_spec_parse(word, &spec, &err) && !memchr(spec.name, 0, sizeof(spec.name)))
		abort();
	probe_word_name(word, name, sizeof(name));
	if (!memchr(name, 0, sizeof(name)))
		abort();
	if (!probe_word_parse(word, &probe, &err) &&
	    (!*probe.name || !memchr(probe.name, 0, sizeof(probe.name)) ||
	     !*probe.file != probe_is_of_kernel(probe.kind) ||
	     !*probe.provider != (probe.kind != PROBE_USDT)))
		abort();
}

/* The text up to an empty line, or up to the end; *@rest: what is behind it. */
static char *take_part(char **rest)
{
	char *part = *rest, *end = strstr(part, "\n\n");

	if (end)
		*end = '\0';
	*rest = end ? end + 2 : part + strlen(part);
	return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fpl_source source = { 0 };
	struct event_format format = { 0 };
	struct fpl_err err;
	char *text = malloc(size + 1), *rest = text;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';

	const char *fields = take_part(&rest), *word = take_part(&rest);

	check_word(word);
	check_probe(fields, rest);
	if (!event_format_parse(fields, strlen(word) % 2 ? "syscalls" : "sched", &format, &err)) {
		check_format(&format);
		if (!event_filter_compile(rest, &format, &source, &err))
			check_filter(&source);
		event_format_fini(&format);
	}
	free(text);
	return 0;
}
