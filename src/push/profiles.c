/* SPDX-License-Identifier: Apache-2.0 */
#include "push/profiles.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LINE_SIZE = 4096 };

/* The words of a line that are left. */
struct words {
	char *rest;
	bool bad; /* there was none, or another one than expected */
};

static const char *next_word(struct words *words)
{
	const char *word = strsep(&words->rest, " ");

	if (word && *word)
		return word;
	words->bad = true;
	return "";
}

static uint64_t next_number(struct words *words)
{
	uint64_t number = 0;

	if (!text_to_number(next_word(words), UINT64_MAX, &number))
		words->bad = true;
	return number;
}

static void next_text(struct words *words, char ret[static PROFILES_WORD_SIZE])
{
	int length = snprintf(ret, PROFILES_WORD_SIZE, "%s", next_word(words));

	if (length >= (int)PROFILES_WORD_SIZE)
		words->bad = true;
}

/* The next line, without its end; false: no whole line is left. */
static bool next_line(struct profiles *profiles, char ret[static LINE_SIZE])
{
	size_t left = (size_t)(profiles->end - profiles->at);
	const char *end = memchr(profiles->at, '\n', left < LINE_SIZE ? left : LINE_SIZE);
	size_t length = end ? (size_t)(end - profiles->at) : 0;

	if (!end || memchr(profiles->at, '\0', length))
		return false;
	memcpy(ret, profiles->at, length);
	ret[length] = '\0';
	profiles->at = end + 1;
	return true;
}

static void read_window(struct words *words, struct profile *ret)
{
	ret->t0 = next_number(words);
	ret->t1 = next_number(words);
	ret->samples = next_number(words);
}

static void read_profile(struct words *words, struct profiles *profiles, struct profile *ret)
{
	uint64_t size = next_number(words);

	read_window(words, ret);
	ret->weight = next_number(words);
	next_text(words, ret->type);
	next_text(words, ret->unit);
	next_text(words, ret->state);
	next_text(words, ret->name);
	ret->bytes = profiles->at;
	ret->size = (size_t)size;
	/* its line's end, too */
	if (words->bad || size >= (size_t)(profiles->end - profiles->at) ||
	    profiles->at[size] != '\n')
		words->bad = true;
	else
		profiles->at += size + 1;
}

enum profiles_item profiles_next(struct profiles *profiles, struct profile *ret)
{
	enum profiles_item item = PROFILES_CUT;
	char line[LINE_SIZE];
	struct words words = { .rest = line };
	const char *word;

	*ret = (struct profile){ 0 };
	if (!next_line(profiles, line))
		return PROFILES_CUT;
	word = next_word(&words);
	if (!strcmp(word, "window")) {
		item = PROFILES_WINDOW;
		read_window(&words, ret);
	} else if (!strcmp(word, "profile")) {
		item = PROFILES_PROFILE;
		read_profile(&words, profiles, ret);
	} else if (!strcmp(word, "end")) {
		item = PROFILES_END;
	}
	return words.bad || words.rest || ret->t1 < ret->t0 ? PROFILES_CUT : item;
}
