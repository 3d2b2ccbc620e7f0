/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/question.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define JSON_TYPE "application/json; charset=utf-8"

enum parameter { FROM, TO, BEFORE, COMM, UNIT, LIMIT, FORMAT, FUNCTION, SOURCE };

#define RANGE ((1u << FROM) | (1u << TO))
#define TASKS ((1u << COMM) | (1u << UNIT) | (1u << SOURCE))

/* Parameters, and the options that they become; that of the format is in its list, and a function
 * is the last word. */
static const struct {
	const char *name, *option;
} parameters[] = {
	[FROM] = { "from", "--from=" },	      [TO] = { "to", "--to=" },
	[BEFORE] = { "before", "--before=" }, [COMM] = { "comm", "--comm=" },
	[UNIT] = { "unit", "--cgroup=" },     [LIMIT] = { "limit", "--limit=" },
	[FORMAT] = { "format", "" },	      [FUNCTION] = { "function", "" },
	[SOURCE] = { "source", "--source=" },
};

static const struct question_path {
	const char *path;
	const char *words[3];  /* of fpless query */
	unsigned takes, needs; /* parameters: bits */
	const char *type;
	bool is_page;
} paths[] = {
	{ "/api/windows", { "list", "--json" }, RANGE | TASKS | 1u << LIMIT, 0, JSON_TYPE, false },
	{ "/api/top", { "top", "--json" }, RANGE | TASKS | 1u << LIMIT, 0, JSON_TYPE, false },
	{ "/api/diff",
	  { "diff", "-q", "--json" },
	  RANGE | TASKS | 1u << BEFORE | 1u << LIMIT,
	  0,
	  JSON_TYPE,
	  false },
	{ "/api/flame",
	  { "export", "-q", "--format=html-data" },
	  RANGE | TASKS,
	  0,
	  JSON_TYPE,
	  false },
	{ "/api/function",
	  { "function", "--json" },
	  RANGE | TASKS | 1u << LIMIT | 1u << FUNCTION,
	  1u << FUNCTION,
	  JSON_TYPE,
	  false },
	{ "/api/advice", { "advice", "--json" }, RANGE | TASKS | 1u << LIMIT, 0, JSON_TYPE, false },
	{ "/api/export",
	  { "export", "-q" },
	  RANGE | TASKS | 1u << FORMAT,
	  1u << FORMAT,
	  NULL,
	  false },
	{ "/metrics", { "metrics" }, 0, 0, QUESTION_METRICS_TYPE, false },
	{ "/report",
	  { "export", "-q", "--format=html" },
	  RANGE | TASKS,
	  0,
	  "text/html; charset=utf-8",
	  true },
	{ "/difference",
	  { "diff", "-q", "--format=html" },
	  RANGE | TASKS | 1u << BEFORE,
	  0,
	  "text/html; charset=utf-8",
	  true },
};

/* The formats of /api/export. */
static const struct {
	const char *name, *word, *type, *file;
} formats[] = {
	{ "pprof", "--format=pprof", "application/octet-stream", "fpless.pb.gz" },
	{ "folded", "--format=folded", "text/plain; charset=utf-8", "fpless.folded" },
	{ "speedscope", "--format=speedscope", JSON_TYPE, "fpless.speedscope.json" },
};

static void add_word(struct question *question, const char *word)
{
	question->words[question->nr_words++] = (char *)word;
	question->words[question->nr_words] = NULL;
}

static int hex_digit(char c)
{
	return text_hex_digit((char)tolower((unsigned char)c));
}

/* Decode @text [@size] to @ret [QUESTION_VALUE_MAX + 1]. Returns false where it is too long, cut
 * short or has a NUL. */
static bool decode(const char *text, size_t size, char *ret)
{
	size_t length = 0;

	for (size_t i = 0; i < size; i++) {
		char c = text[i] == '+' ? ' ' : text[i];

		if (c == '%') {
			if (size - i < 3 || hex_digit(text[i + 1]) < 0 ||
			    hex_digit(text[i + 2]) < 0)
				return false;
			c = (char)(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
			i += 2;
		}
		if (length == QUESTION_VALUE_MAX || !c)
			return false;
		ret[length++] = c;
	}
	ret[length] = '\0';
	return true;
}

/* Is @value a text of at most QUESTION_VALUE_MAX bytes, without characters of control? */
static bool is_text(const char *value)
{
	if (strlen(value) > QUESTION_VALUE_MAX)
		return false;
	for (const char *at = value; *at; at += text_utf8_length(at))
		if ((unsigned char)*at < ' ' || *at == 0x7f || !text_utf8_length(at))
			return false;
	return true;
}

static int refuse_value(const char *name, struct fpl_err *err)
{
	return fpl_fail(err, -EINVAL, "%s: expected at most %u bytes of text", name,
			QUESTION_VALUE_MAX);
}

static int expect_format(struct fpl_err *err)
{
	return fpl_fail(err, -EINVAL, "format: expected pprof, folded or speedscope");
}

static int take_format(struct question *question, const char *value, struct fpl_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, value) != 0)
			continue;
		add_word(question, formats[i].word);
		question->type = formats[i].type;
		question->file = formats[i].file;
		return 0;
	}
	return expect_format(err);
}

/* The parameter @name [@length] of @path; ARRAY_SIZE(parameters): it has none. */
static size_t find_parameter(const struct question_path *path, const char *name, size_t length)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(parameters) &&
	       (strlen(parameters[i].name) != length || memcmp(parameters[i].name, name, length)))
		i++;
	return i < ARRAY_SIZE(parameters) && path->takes & 1u << i ? i : ARRAY_SIZE(parameters);
}

int question_add(struct question *question, const char *name, size_t length, const char *value,
		 struct fpl_err *err)
{
	const struct question_path *path = question->path;
	size_t i = find_parameter(path, name, length);
	char *word = question->text + question->nr_text;

	if (i == ARRAY_SIZE(parameters))
		return fpl_fail(err, -EINVAL, "a parameter that %s does not take", path->path);
	if (question->given & 1u << i)
		return fpl_fail(err, -EINVAL, "%s: given twice", parameters[i].name);
	question->given |= 1u << i;
	if (!is_text(value))
		return refuse_value(parameters[i].name, err);
	if (i == FORMAT)
		return take_format(question, value, err);
	/* each parameter is there once, and an option is at most 9 bytes */
	_Static_assert(ARRAY_SIZE(parameters) * (QUESTION_VALUE_MAX + 10) <= sizeof(question->text),
		       "the text of all parameters");
	question->nr_text += (unsigned)snprintf(word, sizeof(question->text) - question->nr_text,
						"%s%s", parameters[i].option, value) +
			     1;
	if (i == FUNCTION)
		question->operand = word;
	else
		add_word(question, word);
	return 0;
}

static const struct question_path *find_path(const char *target, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (strlen(paths[i].path) == length && !memcmp(paths[i].path, target, length))
			return &paths[i];
	return NULL;
}

int question_begin(const char *path, size_t length, struct question *ret, struct fpl_err *err)
{
	const struct question_path *found = find_path(path, length);

	*ret = (struct question){ .path = found };
	if (!found)
		return fpl_fail(err, -ENOENT, "nothing is here");
	ret->type = found->type;
	ret->is_page = found->is_page;
	add_word(ret, "query");
	for (size_t i = 0; i < ARRAY_SIZE(found->words) && found->words[i]; i++)
		add_word(ret, found->words[i]);
	return 0;
}

int question_end(struct question *question, const char *store, struct fpl_err *err)
{
	unsigned missing = question->path->needs & ~question->given;

	if (missing & 1u << FORMAT)
		return expect_format(err);
	if (missing)
		return fpl_fail(err, -EINVAL, "%s: expected",
				parameters[__builtin_ctz(missing)].name);
	add_word(question, store);
	if (question->operand) {
		add_word(question, "--");
		add_word(question, question->operand);
	}
	return 0;
}

/* Take "NAME=VALUE", @text [@size]. */
static int take_parameter(struct question *question, const char *text, size_t size,
			  struct fpl_err *err)
{
	const char *equals = memchr(text, '=', size);
	size_t name = equals ? (size_t)(equals - text) : size;
	char value[QUESTION_VALUE_MAX + 1];
	size_t i = find_parameter(question->path, text, name);

	if (!equals || i == ARRAY_SIZE(parameters))
		return fpl_fail(err, -EINVAL, "a parameter that %s does not take",
				question->path->path);
	if (!decode(equals + 1, size - name - 1, value))
		return refuse_value(parameters[i].name, err);
	return question_add(question, text, name, value, err);
}

int question_parse(const char *target, const char *store, struct question *ret, struct fpl_err *err)
{
	size_t length = strcspn(target, "?");
	const char *at = target + length;
	int code = question_begin(target, length, ret, err);

	if (!code && strlen(target) > QUESTION_TARGET_MAX)
		return fpl_fail(err, -EINVAL, "expected at most %u bytes", QUESTION_TARGET_MAX);
	while (!code && *at) {
		size_t size = strcspn(at + 1, "&");

		if (size)
			code = take_parameter(ret, at + 1, size, err);
		at += 1 + size;
	}
	return code ? code : question_end(ret, store, err);
}
