/* SPDX-License-Identifier: Apache-2.0 */
#include "format/jsonl_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

uint64_t jsonl_whole(struct reading *reading, const char *key, json_object *value, uint64_t max)
{
	uint64_t number = json_object_get_uint64(value);

	/* what does not fit the type is given as its ends, whose upper one no number of ours is */
	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0 &&
	    number <= max && number != UINT64_MAX)
		return number;
	reading_fail(reading, "\"%.40s\" is no whole number from 0 to %" PRIu64, key,
		     max == UINT64_MAX ? max - 1 : max);
	return 0;
}

uint64_t jsonl_number(struct reading *reading, json_object *object, const char *key, uint64_t max)
{
	json_object *value = json_object_object_get(object, key);

	return value ? jsonl_whole(reading, key, value, max) : 0;
}

uint32_t jsonl_number32(struct reading *reading, json_object *object, const char *key)
{
	return (uint32_t)jsonl_number(reading, object, key, UINT32_MAX);
}

uint64_t jsonl_address(struct reading *reading, json_object *object, const char *key)
{
	json_object *value = json_object_object_get(object, key);
	const char *text = json_object_get_string(value);

	if (!value)
		return RECORDING_NO_ADDRESS;
	if (json_object_is_type(value, json_type_string) && !strncmp(text, "0x", 2) &&
	    text[2 + strspn(text + 2, "0123456789abcdef")] == '\0' && text[2] && strlen(text) <= 18)
		return strtoull(text, NULL, 16);
	reading_fail(reading, "\"%s\" is no address as \"0x1f\"", key);
	return 0;
}

/*
 * Undo the \xHH of bytes that have no place in JSON. Only where the result is no UTF-8 there, as
 * it was when it was written: else the backslash was one.
 */
static void undo_bytes(char *text)
{
	AUTO_FREE char *undone = strstr(text, "\\x") ? must_strdup(text) : NULL;
	char *to = undone;
	size_t length;

	if (!undone)
		return;
	for (const char *from = text; *from;) {
		int high = from[0] == '\\' && from[1] == 'x' ? text_hex_digit(from[2]) : -1;
		int low = high >= 8 ? text_hex_digit(from[3]) : -1;

		if (low < 0) {
			*to++ = *from++;
			continue;
		}
		*to++ = (char)(high * 16 + low);
		from += 4;
	}
	*to = '\0';

	/* written again it has to be the same */
	const char *was = text;

	for (const char *s = undone; *s; s += length ? length : 1) {
		char escaped[5];

		length = text_utf8_length(s);
		if (length) {
			if (strncmp(was, s, length) != 0)
				return;
			was += length;
			continue;
		}
		escaped[0] = '\\';
		escaped[1] = 'x';
		escaped[2] = "0123456789abcdef"[(unsigned char)*s >> 4];
		escaped[3] = "0123456789abcdef"[*s & 15];
		escaped[4] = '\0';
		if (strncmp(was, escaped, 4) != 0)
			return;
		was += 4;
	}
	memcpy(text, undone, strlen(undone) + 1);
}

char *jsonl_text_of(struct reading *reading, const char *key, json_object *value)
{
	const char *text;
	char *ret;

	if (!value)
		return NULL;
	if (!json_object_is_type(value, json_type_string)) {
		reading_fail(reading, "\"%.40s\" is no text", key);
		return NULL;
	}
	text = json_object_get_string(value);
	if (memchr(text, '\0', (size_t)json_object_get_string_len(value))) {
		reading_fail(reading, "\"%.40s\" holds a NUL", key);
		return NULL;
	}
	ret = must_strdup(text);
	undo_bytes(ret);
	return ret;
}

char *jsonl_text(struct reading *reading, json_object *object, const char *key)
{
	return jsonl_text_of(reading, key, json_object_object_get(object, key));
}

uint32_t jsonl_interned(struct reading *reading, json_object *object, const char *key)
{
	AUTO_FREE char *text = jsonl_text(reading, object, key);

	return must_add_text(reading->recording, text);
}
