/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted text in XML and HTML: never markup, never more than there is room for, and nothing in
 * it that cannot be seen. Write errors stay in the stream (ferror).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of a name that are written before it is cut. */
#define XML_NAME_BYTES 512u

/*
 * Write @text for an element or an attribute in double quotes: what is markup as entities, and as
 * \xHH each byte of backslashes, invalid UTF-8 and unseen characters (text_is_unseen: what XML
 * cannot hold, U+FFFE and U+FFFF, is among them). Of more than @max_bytes the rest is said:
 * "[... 1,048,064 more bytes]".
 */
void xml_put(FILE *to, const char *text, size_t max_bytes);

/* Columns of a font of one width that @text takes as xml_put() writes it; at most @max. */
size_t xml_columns(const char *text, size_t max);

/* Is what fits @columns, as xml_put() writes it, ASCII, whose columns a font of one width keeps? */
bool xml_is_ascii(const char *text, size_t columns);

/* Write what fits @columns of a font of one width, cut with "..". */
void xml_put_columns(FILE *to, const char *text, size_t columns);
