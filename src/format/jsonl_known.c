/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_known.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/jsonl_frame.h"

#define TEXTS_MAX (16u << 20)
#define NO_FRAME  UINT32_MAX

void jsonl_known_init(struct jsonl_known *known)
{
	*known = (struct jsonl_known){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(known->texts); i++)
		strings_init(&known->texts[i]);
}

void jsonl_known_fini(struct jsonl_known *known)
{
	for (size_t i = 0; i < ARRAY_SIZE(known->texts); i++) {
		strings_fini(&known->texts[i]);
		vector_fini(&known->frames[i]);
	}
	for (size_t i = 0; i < JSONL_NR_LISTS; i++)
		vector_fini(&known->taken[i]);
}

/* The end of the object that begins at @at, behind its brace; NULL: it has none in the line. */
static char *end_of_object(char *at)
{
	size_t depth = 0;

	for (; *at; at++) {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			if (!*at)
				return NULL;
		} else if (*at == '{' || *at == '[') {
			depth++;
		} else if (*at == '}' || *at == ']') {
			if (!--depth)
				return at + 1;
		}
	}
	return NULL;
}

static void cleanup_json(json_object **object)
{
	json_object_put(*object);
}

/* Parse a frame. NO_FRAME: it is no JSON, or there was an error. */
static uint32_t parse(struct reading *reading, struct json_tokener *tokener, const char *text,
		      enum recording_kind kind, bool leaf)
{
	size_t length = strlen(text), before = reading->frames.nr;

	json_tokener_reset(tokener);

	CLEANUP(cleanup_json)
	json_object *object = json_tokener_parse_ex(tokener, text, (int)length + 1);

	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    json_tokener_get_parse_end(tokener) < length)
		return NO_FRAME;
	jsonl_frame_read(reading, object, kind, leaf);
	if (reading->frames.nr == before)
		return NO_FRAME;
	return reading->frames.list[--reading->frames.nr];
}

/* The frame of the object [@begin, @end) of the line, which is as before afterwards. */
static uint32_t frame_of(struct jsonl_known *known, struct reading *reading,
			 struct json_tokener *tokener, enum jsonl_list list, char *begin, char *end)
{
	bool leaf = !known->taken[list].nr;
	size_t kind = list == JSONL_USER ? 0 : leaf ? 1 : 2;
	char behind = *end;
	uint32_t text;

	*end = '\0';
	text = must_strings_intern(&known->texts[kind], begin);
	while (known->frames[kind].nr <= text)
		must_push(&known->frames[kind], NO_FRAME);
	if (known->frames[kind].list[text] == NO_FRAME)
		known->frames[kind].list[text] =
			parse(reading, tokener, begin,
			      list == JSONL_USER ? RECORDING_USER : RECORDING_KERNEL, leaf);
	*end = behind;
	return known->frames[kind].list[text];
}

/* Take the objects of the list that begins at @at. Returns its bracket at the end; NULL: it stays.
 */
static char *take_list(struct jsonl_known *known, struct reading *reading,
		       struct json_tokener *tokener, enum jsonl_list list, char *at)
{
	for (;;) {
		char *end = *at == '{' ? end_of_object(at) : NULL;
		uint32_t frame = end ? frame_of(known, reading, tokener, list, at, end) : NO_FRAME;

		if (frame == NO_FRAME || known->taken[list].nr == READING_FRAMES_MAX)
			return NULL;
		must_push(&known->taken[list], frame);
		if (*end == ']')
			return end;
		if (*end != ',')
			return NULL;
		at = end + 1;
	}
}

void jsonl_known_take(struct jsonl_known *known, struct reading *reading,
		      struct json_tokener *tokener, char *line, size_t *length)
{
	/* in a text these quotation marks would have a backslash before them */
	static const char *const keys[JSONL_NR_LISTS] = { ",\"user\":[", ",\"kernel\":[" };
	size_t memory = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known->texts); i++)
		memory += strings_memory(&known->texts[i]);
	for (size_t i = 0; i < JSONL_NR_LISTS; i++) {
		char *key = memory < TEXTS_MAX ? strstr(line, keys[i]) : NULL;
		char *begin = key ? key + strlen(keys[i]) : NULL, *end;

		known->taken[i].nr = 0;
		end = begin ? take_list(known, reading, tokener, (enum jsonl_list)i, begin) : NULL;
		if (!end) {
			known->taken[i].nr = 0;
			continue;
		}
		memmove(begin, end, *length - (size_t)(end - line) + 1);
		*length -= (size_t)(end - begin);
	}
}
