/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

size_t text_utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;

	size_t len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	/* The second byte excludes overlong forms, surrogates and values beyond U+10FFFF. */
	unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;

	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* The code point of three bytes, U+0800 to U+FFFF. */
static unsigned code_of_three(const unsigned char *s)
{
	return (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
}

bool text_is_unseen(const char *text, size_t size)
{
	static const struct {
		unsigned first, last;
	} unseen[] = {
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
	};
	const unsigned char *s = (const unsigned char *)text;

	if (size == 1)
		return *s < 0x20 || *s == 0x7f;
	if (size == 2) /* C1 moves a terminal's cursor as ESC sequences do */
		return (s[0] == 0xc2 && (s[1] < 0xa0 || s[1] == 0xad)) ||
		       (s[0] == 0xd8 && s[1] == 0x9c);
	if (size != 3 || s[0] < 0xe2)
		return false;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++)
		if (code_of_three(s) >= unseen[i].first && code_of_three(s) <= unseen[i].last)
			return true;
	return false;
}

/* True if the valid sequence at @s needs no escape. */
static bool is_plain(const char *s, size_t size, const char *also)
{
	return *s != '\\' && !(size == 1 && strchr(also, *s)) && !text_is_unseen(s, size);
}

/*
 * Number of bytes from @s on that are printable ASCII without need of an escape: nearly all of any
 * name.
 */
static size_t plain_span(const char *s, const char *also)
{
	size_t length = 0;

	while (s[length] >= 0x20 && s[length] < 0x7f && s[length] != '\\' &&
	       (!*also || s[length] != *also) && (!*also || !also[1] || !strchr(also, s[length])))
		length++;
	return length;
}

size_t text_escape(char *dst, size_t dst_size, const char *src, const char *also)
{
	size_t length = 0, written = 0;
	bool cut = dst_size == 0;

	for (const unsigned char *s = (const unsigned char *)src; *s;) {
		size_t span = plain_span((const char *)s, also);

		if (span && (cut || span < dst_size - written)) {
			if (!cut) {
				memcpy(dst + written, s, span);
				written += span;
			}
			length += span;
			s += span;
			continue;
		}

		size_t taken = text_utf8_length((const char *)s);
		char piece[4];
		size_t size;

		if (taken && is_plain((const char *)s, taken, also)) {
			memcpy(piece, s, taken);
			size = taken;
		} else {
			taken = 1;
			piece[0] = '\\';
			piece[1] = 'x';
			piece[2] = hex_digits[*s >> 4];
			piece[3] = hex_digits[*s & 15];
			size = 4;
		}
		if (!cut && written + size < dst_size) {
			memcpy(dst + written, piece, size);
			written += size;
		} else {
			cut = true;
		}
		length += size;
		s += taken;
	}
	if (dst_size)
		dst[written] = '\0';
	return length;
}

const char *text_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void text_hex(const uint8_t *bytes, size_t size, char *ret)
{
	for (size_t i = 0; i < size; i++) {
		ret[2 * i] = hex_digits[bytes[i] >> 4];
		ret[2 * i + 1] = hex_digits[bytes[i] & 15];
	}
	ret[2 * size] = '\0';
}

int text_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_to_number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	if (value > max)
		return false;
	*ret = value;
	return true;
}
