/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to fpless serve as hostile bytes: its target, and behind it, a line each, the headers
 * that say who asks. Judged: a question is words of ours or options with a value that is text, and
 * no request is let in without the token.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "serve/door.h"
#include "serve/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SESSION "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

/* Is it one of ours with a value? */
static bool is_option(const char *word)
{
	static const char *const options[] = { "--from=",   "--to=",	"--before=", "--comm=",
					       "--cgroup=", "--limit=", "--source=" };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strncmp(word, options[i], strlen(options[i])))
			return strlen(word) <= strlen(options[i]) + QUESTION_VALUE_MAX;
	return false;
}

static void check_word(const struct question *question, const char *word)
{
	bool is_of_text = word >= question->text && word < question->text + sizeof(question->text);
	/* behind "--" any text is a word */
	bool is_operand = word == question->operand &&
			  word == question->words[question->nr_words - 1] &&
			  !strcmp(question->words[question->nr_words - 2], "--") &&
			  strlen(word) <= QUESTION_VALUE_MAX;

	if (!is_of_text)
		return;
	if (!is_operand && !is_option(word))
		abort();
	for (; *word; word += text_utf8_length(word))
		if (!text_utf8_length(word) || (unsigned char)*word < ' ' || *word == 0x7f)
			abort();
}

static void check_question(const char *target)
{
	struct question question;
	struct fpl_err err;

	if (question_parse(target, "--store=s", &question, &err)) {
		if (!memchr(err.msg, 0, sizeof(err.msg)))
			abort();
		return;
	}
	if (question.nr_words + 1 > QUESTION_WORDS_MAX || question.words[question.nr_words] ||
	    question.nr_text > sizeof(question.text) || !question.type)
		abort();
	for (unsigned i = 0; i < question.nr_words; i++)
		check_word(&question, question.words[i]);
}

/* The line up to its end; *rest: what is behind it. */
static char *take_line(char **rest)
{
	char *line = *rest, *end = strchr(line, '\n');

	if (end)
		*end = '\0';
	*rest = end ? end + 1 : line + strlen(line);
	return line;
}

static const char *given(const char *line)
{
	return *line ? line : NULL;
}

static void check_visit(char *rest)
{
	const struct door door = {
		.fd = -1, .is_tcp = true, .port = 8080, .token = TOKEN, .session = SESSION
	};
	struct visit visit = { .method = take_line(&rest) };
	const char *why;

	visit.host = given(take_line(&rest));
	visit.origin = given(take_line(&rest));
	visit.site = given(take_line(&rest));
	visit.authorization = given(take_line(&rest));
	visit.cookie = given(take_line(&rest));
	visit.nr_hosts = visit.host != NULL;
	visit.nr_authorizations = visit.authorization != NULL;
	for (enum door_need need = DOOR_TOKEN; need <= DOOR_NOTHING; need++) {
		unsigned status = door_judge(&door, &visit, need, &why);
		bool has_secret =
			(visit.authorization && !strcmp(visit.authorization, "Bearer " TOKEN)) ||
			(need == DOOR_TOKEN && visit.cookie && strstr(visit.cookie, SESSION));

		if (!why || (!status && need != DOOR_NOTHING && !has_secret) ||
		    (!status && (!visit.host || !strstr(visit.host, ":8080"))) ||
		    (!status && strcmp(visit.method, "GET") != 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	check_question(take_line(&rest));
	check_visit(rest);
	free(text);
	return 0;
}
