/* SPDX-License-Identifier: Apache-2.0 */
/* Make text safe for a terminal, a folded line or a message: names are untrusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length of the valid UTF-8 sequence at @s (RFC 3629, section 4), or 0. Reads no byte past a NUL.
 */
size_t text_utf8_length(const char *s);

/*
 * Is the valid UTF-8 sequence at @s [@size, as text_utf8_length says] a character that a terminal
 * or a page obeys instead of showing it? These are controls (C0, DEL, C1), separators of lines,
 * what changes the direction of the text around it (U+061C, U+200E, U+202A to U+202E, U+2066 to
 * U+2069), and what takes no room, so that two names look like one (U+00AD, U+200B, U+2060, U+FEFF
 * and others). Every writer for the eye asks here; src/picture/page/base.js has the same list.
 */
bool text_is_unseen(const char *s, size_t size);

/*
 * Copy the string @src to @dst, with every byte of an unseen character (text_is_unseen), backslash,
 * byte of invalid UTF-8 and byte found in @also (may be "") written as \xHH with lower-case digits.
 *
 * Always NUL-terminates; a result longer than @dst_size - 1 is cut before the first character that
 * does not fit whole. Returns the length the whole result would have (as snprintf does), so that
 * a caller can size a buffer with @dst_size 0. Cost: O(length).
 */
size_t text_escape(char *dst, size_t dst_size, const char *src, const char *also);

/* The last part of @path, or all of it if it ends in a slash. Points into @path. */
const char *text_path_name(const char *path);

/* Write @bytes [@size] as 2 * @size lower-case digits and a NUL to @ret. */
void text_hex(const uint8_t *bytes, size_t size, char *ret);

/* The value of a lower-case hexadecimal digit; -1: not a digit. */
int text_hex_digit(char c);

/*
 * Parse all of @text as a decimal number of at most @max, digits only. Returns false for anything
 * else and leaves *ret alone.
 */
bool text_to_number(const char *text, uint64_t max, uint64_t *ret);
