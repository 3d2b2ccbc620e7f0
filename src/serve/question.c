/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/question.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define JSON_TYPE "application/json; charset=utf-8"

enum parameter { FROM, TO, BEFORE, COMM, UNIT, LIMIT, FORMAT };

#define RANGE ((1u << FROM) | (1u << TO))
#define TASKS ((1u << COMM) | (1u << UNIT))

/* Parameters, and the options that they become; that of the format is in its list. */
static const struct {
	const char *name, *option;
} parameters[] = {
	[FROM] = { "from", "--from=" },	      [TO] = { "to", "--to=" },
	[BEFORE] = { "before", "--before=" }, [COMM] = { "comm", "--comm=" },
	[UNIT] = { "unit", "--cgroup=" },     [LIMIT] = { "limit", "--limit=" },
	[FORMAT] = { "format", "" },
};

static const struct path {
	const char *path;
	const char *words[3]; /* of fpless query */
	unsigned takes;	      /* parameters: bits */
	const char *type;
	bool is_page;
} paths[] = {
	{ "/api/windows", { "list", "--json" }, RANGE | 1u << LIMIT, JSON_TYPE, false },
	{ "/api/top", { "top", "--json" }, RANGE | TASKS | 1u << LIMIT, JSON_TYPE, false },
	{ "/api/diff",
	  { "diff", "-q", "--json" },
	  RANGE | TASKS | 1u << BEFORE | 1u << LIMIT,
	  JSON_TYPE,
	  false },
	{ "/api/flame", { "export", "-q", "--format=html-data" }, RANGE | TASKS, JSON_TYPE, false },
	{ "/api/export", { "export", "-q" }, RANGE | TASKS | 1u << FORMAT, NULL, false },
	{ "/report",
	  { "export", "-q", "--format=html" },
	  RANGE | TASKS,
	  "text/html; charset=utf-8",
	  true },
	{ "/difference",
	  { "diff", "-q", "--format=html" },
	  RANGE | TASKS | 1u << BEFORE,
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

/* Decode @text [@size] to @ret [QUESTION_VALUE_MAX + 1]. */
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
		if (length == QUESTION_VALUE_MAX || (unsigned char)c < ' ' || c == 0x7f)
			return false;
		ret[length++] = c;
	}
	ret[length] = '\0';
	for (const char *at = ret; *at; at += text_utf8_length(at))
		if (!text_utf8_length(at))
			return false;
	return true;
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
	return fpl_fail(err, -EINVAL, "format: expected pprof, folded or speedscope");
}

/* Take "NAME=VALUE", @text [@size]. *given: bits of those before. */
static int take_parameter(struct question *question, const struct path *path, const char *text,
			  size_t size, unsigned *given, struct fpl_err *err)
{
	const char *equals = memchr(text, '=', size);
	size_t name = equals ? (size_t)(equals - text) : size, i = 0;
	char value[QUESTION_VALUE_MAX + 1], *word = question->text + question->nr_text;

	while (i < ARRAY_SIZE(parameters) &&
	       (strlen(parameters[i].name) != name || memcmp(parameters[i].name, text, name) != 0))
		i++;
	if (!equals || i == ARRAY_SIZE(parameters) || !(path->takes & 1u << i))
		return fpl_fail(err, -EINVAL, "a parameter that %s does not take", path->path);
	if (*given & 1u << i)
		return fpl_fail(err, -EINVAL, "%s: given twice", parameters[i].name);
	*given |= 1u << i;
	if (!decode(equals + 1, size - name - 1, value))
		return fpl_fail(err, -EINVAL, "%s: expected at most %u bytes of text",
				parameters[i].name, QUESTION_VALUE_MAX);
	if (i == FORMAT)
		return take_format(question, value, err);
	/* no value is longer than it was in the target, and an option is at most 6 bytes longer
	 * than its parameter */
	question->nr_text += (unsigned)snprintf(word, sizeof(question->text) - question->nr_text,
						"%s%s", parameters[i].option, value) +
			     1;
	add_word(question, word);
	return 0;
}

static const struct path *find_path(const char *target, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (strlen(paths[i].path) == length && !memcmp(paths[i].path, target, length))
			return &paths[i];
	return NULL;
}

int question_parse(const char *target, struct question *ret, struct fpl_err *err)
{
	size_t length = strcspn(target, "?");
	const struct path *path = find_path(target, length);
	const char *at = target + length;
	unsigned given = 0;
	int code = 0;

	*ret = (struct question){ 0 };
	if (!path)
		return fpl_fail(err, -ENOENT, "nothing is here");
	if (strlen(target) > QUESTION_TARGET_MAX)
		return fpl_fail(err, -EINVAL, "expected at most %u bytes", QUESTION_TARGET_MAX);
	ret->type = path->type;
	ret->is_page = path->is_page;
	add_word(ret, "query");
	for (size_t i = 0; i < ARRAY_SIZE(path->words) && path->words[i]; i++)
		add_word(ret, path->words[i]);
	while (!code && *at) {
		size_t size = strcspn(at + 1, "&");

		if (size)
			code = take_parameter(ret, path, at + 1, size, &given, err);
		at += 1 + size;
	}
	if (!code && (path->takes & 1u << FORMAT) && !(given & 1u << FORMAT))
		return fpl_fail(err, -EINVAL, "format: expected pprof, folded or speedscope");
	return code;
}
