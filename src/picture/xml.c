/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/xml.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "view/measure.h"

/* One character of a text, as it is written. */
struct piece {
	const char *text; /* entity, or the bytes themselves */
	size_t size;
	size_t taken; /* bytes of the text */
	unsigned columns;
	bool as_hex;
};

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

/* The character at @s, which is not the end. */
static struct piece piece_of(const char *s)
{
	size_t size = text_utf8_length(s);
	const unsigned char *bytes = (const unsigned char *)s;
	const char *entity = entity_of(*s);

	if (!size || *s == '\\' || text_is_unseen(s, size))
		return (struct piece){ .text = s,
				       .size = size ? size : 1,
				       .taken = size ? size : 1,
				       .columns = (unsigned)(4 * (size ? size : 1)),
				       .as_hex = true };
	if (entity)
		return (struct piece){
			.text = entity, .size = strlen(entity), .taken = 1, .columns = 1
		};
	/* U+2000 and above: scripts whose characters take two, and some that take one */
	return (struct piece){ .text = s,
			       .size = size,
			       .taken = size,
			       .columns = size > 3 || (size == 3 && bytes[0] >= 0xe2) ? 2 : 1 };
}

static void put_piece(FILE *to, const struct piece *piece)
{
	if (!piece->as_hex) {
		fwrite(piece->text, 1, piece->size, to);
		return;
	}
	for (size_t i = 0; i < piece->size; i++)
		fprintf(to, "\\x%02x", (unsigned char)piece->text[i]);
}

/* How many bytes at @s need nothing done, at most @max: nearly all of any name. */
static size_t plain_span(const char *s, size_t max)
{
	size_t length = 0;

	while (length < max && s[length] >= 0x20 && s[length] < 0x7f && s[length] != '\\' &&
	       s[length] != '&' && s[length] != '<' && s[length] != '>' && s[length] != '"')
		length++;
	return length;
}

void xml_put(FILE *to, const char *text, size_t max_bytes)
{
	const char *s = text;

	while (*s && (size_t)(s - text) < max_bytes) {
		size_t span = plain_span(s, max_bytes - (size_t)(s - text));

		fwrite(s, 1, span, to);
		s += span;
		if (!*s || (size_t)(s - text) >= max_bytes)
			break;

		struct piece piece = piece_of(s);

		put_piece(to, &piece);
		s += piece.taken;
	}
	if (*s) {
		char left[NUMBER_GROUPED_SIZE];

		fprintf(to, "[... %s more bytes]", number_grouped(strlen(s), left));
	}
}

size_t xml_columns(const char *text, size_t max)
{
	size_t columns = 0;

	while (*text && columns < max) {
		struct piece piece = piece_of(text);

		columns += piece.columns;
		text += piece.taken;
	}
	return columns < max ? columns : max;
}

bool xml_is_ascii(const char *text, size_t columns)
{
	size_t used = 0;

	while (*text && used < columns) {
		struct piece piece = piece_of(text);

		if (!piece.as_hex && *text & 0x80)
			return false;
		used += piece.columns;
		text += piece.taken;
	}
	return true;
}

void xml_put_columns(FILE *to, const char *text, size_t columns)
{
	bool cut = xml_columns(text, columns + 1) > columns;
	size_t left = cut ? (columns > 2 ? columns - 2 : 0) : columns;

	while (*text) {
		struct piece piece = piece_of(text);

		if (piece.columns > left)
			break;
		put_piece(to, &piece);
		left -= piece.columns;
		text += piece.taken;
	}
	if (cut)
		fputs("..", to);
}
