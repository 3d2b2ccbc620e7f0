/* SPDX-License-Identifier: Apache-2.0 */
#include "view/json.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

/* How many bytes from @text on stand for themselves: ASCII without quote, backslash, control. */
static size_t plain_length(const unsigned char *text, bool in_markup)
{
	size_t length = 0;

	while (text[length] >= 0x20 && text[length] < 0x7f && text[length] != '"' &&
	       text[length] != '\\' && !(in_markup && text[length] == '<'))
		length++;
	return length;
}

/* The code point of the valid sequence of at most three bytes at @s. */
static unsigned code_point(const unsigned char *s, size_t length)
{
	unsigned first = length == 1 ? *s : length == 2 ? *s & 0x1fu : *s & 0xfu;

	for (size_t i = 1; i < length; i++)
		first = first << 6 | (s[i] & 0x3fu);
	return first;
}

static void put_text(const struct json *json, const char *text)
{
	FILE *to = json->to;

	putc('"', to);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		size_t plain = plain_length(s, json->in_markup);

		if (plain) {
			fwrite(s, 1, plain, to);
			s += plain;
			continue;
		}

		size_t length = text_utf8_length((const char *)s);

		if (length == 0)
			fprintf(to, "\\\\x%02x", *s++);
		else if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s++);
		else if (*s == '<' || text_is_unseen((const char *)s, length)) {
			fprintf(to, "\\u%04x", code_point(s, length));
			s += length;
		} else {
			fwrite(s, 1, length, to);
			s += length;
		}
	}
	putc('"', to);
}

static void put_key(struct json *json, const char *key)
{
	if (json->comma)
		putc(',', json->to);
	json->comma = true;
	if (key) {
		put_text(json, key);
		putc(':', json->to);
	}
}

void json_next(struct json *json)
{
	put_key(json, NULL);
}

void json_open(struct json *json, const char *key, char bracket)
{
	put_key(json, key);
	putc(bracket, json->to);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc(bracket, json->to);
	json->comma = true;
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	put_key(json, key);
	fprintf(json->to, "%" PRIu64, value);
}

void json_decimal(struct json *json, const char *key, uint64_t whole, unsigned millionths)
{
	put_key(json, key);
	fprintf(json->to, "%" PRIu64 ".%06u", whole, millionths);
}

void json_real(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	put_key(json, key);
	fprintf(json->to, "%.9g", value);
}

void json_true(struct json *json, const char *key)
{
	put_key(json, key);
	fputs("true", json->to);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_key(json, key);
	fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *key)
{
	put_key(json, key);
	fputs("null", json->to);
}

void json_address(struct json *json, const char *key, uint64_t addr)
{
	put_key(json, key);
	fprintf(json->to, "\"0x%" PRIx64 "\"", addr);
}

void json_string(struct json *json, const char *key, const char *text)
{
	put_key(json, key);
	put_text(json, text);
}
