/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a client of `fpless serve --mcp' as hostile bytes, a line each. Judged: an
 * answer is JSON-RPC on one line, and a question that is asked is words of ours and values that are
 * text.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "serve/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const char *word)
{
	if (strlen(word) > QUESTION_VALUE_MAX + 16)
		abort();
	for (; *word; word += text_utf8_length(word))
		if (!text_utf8_length(word) || (unsigned char)*word < ' ' || *word == 0x7f)
			abort();
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* mcp.ask: of the answers that there may be, one by the length of the question. */
static void ask(void *ctx, const struct question *question, struct mcp_told *ret)
{
	static const char *const told[] = { NULL, "{\"a\":[1,18446744073709551615,1.5]}", "[]",
					    "{" };
	const char *answer = told[question->nr_text % 4];

	(void)ctx;
	if (question->nr_words < 3 || question->words[question->nr_words] ||
	    strcmp(question->words[0], "query") != 0)
		abort();
	for (unsigned i = 1; i < question->nr_words; i++) {
		const char *word = question->words[i];

		check_word(word);
		/* options that write, or lead to another store, are not among them */
		if (!strcmp(word, "--"))
			break;
		if (starts_with(word, "-o") || starts_with(word, "--output") ||
		    (starts_with(word, "--store") && strcmp(word, "--store=s") != 0))
			abort();
	}
	ret->json = answer ? must_strdup(answer) : NULL;
	ret->size = answer ? strlen(answer) : 0;
	memcpy(ret->said, "no", 3);
}

static void check_answer(char *answer, size_t size)
{
	json_object *object;

	if (!answer)
		return;
	if (strlen(answer) != size || memchr(answer, '\n', size))
		abort();
	object = json_tokener_parse(answer);
	if (!object || (!json_object_is_type(object, json_type_array) &&
			!json_object_object_get_ex(object, "id", NULL)))
		abort();
	json_object_put(object);
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp mcp = { .store = "--store=s", .ask = ask };
	const char *at = (const char *)data, *end = at + size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at), nr = 0;

		char *answer = length <= MCP_MESSAGE_MAX ? mcp_take(&mcp, at, length, &nr)
							 : mcp_refuse_long(&nr);

		check_answer(answer, nr);
		at += length + 1;
	}
	return 0;
}
