/* SPDX-License-Identifier: Apache-2.0 */
/* Is a text JSON, or XML, as its readers demand? Strict: UTF-8 without control characters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WELL_FORMED_DEPTH 1024u /* nested values or elements */

struct text_part {
	const unsigned char *at, *end;
};

/* Take one character of UTF-8: not overlong, no surrogate. Returns 0 for anything else. */
static inline uint32_t take_utf8(struct text_part *part)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = part->at < part->end ? *part->at++ : 0;
	unsigned nr = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
	uint32_t c = nr == 1 ? first : first & (0x7fu >> nr);

	if (nr == 4 && first >> 3 != 30)
		return 0;
	for (unsigned i = 1; i < nr; i++) {
		if (part->at == part->end || *part->at >> 6 != 2)
			return 0;
		c = c << 6 | (*part->at++ & 0x3f);
	}
	return c < least[nr] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : c;
}

static inline bool take_word(struct text_part *part, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(part->end - part->at) < size || memcmp(part->at, word, size) != 0)
		return false;
	part->at += size;
	return true;
}

static inline void skip_blanks(struct text_part *part)
{
	while (part->at < part->end && strchr(" \t\r\n", *part->at))
		part->at++;
}

static inline bool take_digits(struct text_part *part)
{
	const unsigned char *first = part->at;

	while (part->at < part->end && *part->at >= '0' && *part->at <= '9')
		part->at++;
	return part->at > first;
}

static inline bool take_json_number(struct text_part *part)
{
	take_word(part, "-");
	if (!take_word(part, "0") && !take_digits(part))
		return false;
	if (take_word(part, ".") && !take_digits(part))
		return false;
	if (take_word(part, "e") || take_word(part, "E")) {
		if (!take_word(part, "+"))
			take_word(part, "-");
		return take_digits(part);
	}
	return true;
}

static inline bool take_json_escape(struct text_part *part)
{
	if (part->at == part->end)
		return false;
	if (*part->at != 'u')
		return strchr("\"\\/bfnrt", *part->at++);
	part->at++;
	for (unsigned i = 0; i < 4; i++) {
		if (part->at == part->end || !strchr("0123456789abcdefABCDEF", *part->at++))
			return false;
	}
	return true;
}

static inline bool take_json_string(struct text_part *part)
{
	if (!take_word(part, "\""))
		return false;
	while (part->at < part->end && *part->at != '"') {
		if (take_word(part, "\\")) {
			if (!take_json_escape(part))
				return false;
			continue;
		}
		if (take_utf8(part) < ' ')
			return false;
	}
	return take_word(part, "\"");
}

static inline bool take_json(struct text_part *part, unsigned depth);

/* Take the contents between two brackets, the first of which was read. */
static inline bool take_json_list(struct text_part *part, const char *end, bool keys,
				  unsigned depth)
{
	skip_blanks(part);
	if (take_word(part, end))
		return true;
	do {
		skip_blanks(part);
		if (keys && !take_json_string(part))
			return false;
		skip_blanks(part);
		if ((keys && !take_word(part, ":")) || !take_json(part, depth + 1))
			return false;
		skip_blanks(part);
	} while (take_word(part, ","));
	return take_word(part, end);
}

static inline bool take_json(struct text_part *part, unsigned depth)
{
	skip_blanks(part);
	if (depth > WELL_FORMED_DEPTH || part->at == part->end)
		return false;
	if (take_word(part, "{"))
		return take_json_list(part, "}", true, depth);
	if (take_word(part, "["))
		return take_json_list(part, "]", false, depth);
	if (*part->at == '"')
		return take_json_string(part);
	return take_word(part, "true") || take_word(part, "false") || take_word(part, "null") ||
	       take_json_number(part);
}

/* Is all of it one value? */
static inline bool is_json(const char *text, size_t size)
{
	struct text_part part = { (const unsigned char *)text, (const unsigned char *)text + size };

	if (!take_json(&part, 0))
		return false;
	skip_blanks(&part);
	return part.at == part.end;
}

/* Is each line one value, the last one, too, ended? */
static inline bool is_json_lines(const char *text, size_t size)
{
	while (size) {
		const char *end = memchr(text, '\n', size);

		if (!end || !is_json(text, (size_t)(end - text)))
			return false;
		size -= (size_t)(end + 1 - text);
		text = end + 1;
	}
	return true;
}

static inline bool is_name_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("-_:.", c);
}

static inline struct text_part take_name(struct text_part *part)
{
	struct text_part name = { part->at, part->at };

	while (part->at < part->end && *part->at && is_name_char(*part->at))
		part->at++;
	name.end = part->at;
	return name;
}

/* Characters of a text or of a value, up to @stop: XML 1.0, 2.2 and 2.4. */
static inline bool take_xml_text(struct text_part *part, char stop)
{
	while (part->at < part->end && *part->at != (unsigned char)stop) {
		if (*part->at == '<')
			return false;
		if (take_word(part, "&")) {
			take_word(part, "#");
			if (take_name(part).at == part->at || !take_word(part, ";"))
				return false;
			continue;
		}

		uint32_t c = take_utf8(part);

		if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0xfffe || c == 0xffff)
			return false;
	}
	return true;
}

static inline bool skip_past(struct text_part *part, const char *end)
{
	while (part->at < part->end && !take_word(part, end))
		part->at++;
	return part->at <= part->end && !memcmp(part->at - strlen(end), end, strlen(end));
}

/* Take the rest of a tag behind its name. Returns false if it is malformed. */
static inline bool take_xml_attributes(struct text_part *part, bool *ret_empty)
{
	for (;;) {
		skip_blanks(part);
		*ret_empty = take_word(part, "/");
		if (take_word(part, ">"))
			return true;

		struct text_part name = take_name(part);
		unsigned char quote;

		if (*ret_empty || name.at == name.end || !take_word(part, "=") ||
		    part->at == part->end)
			return false;
		quote = *part->at++;
		if ((quote != '"' && quote != '\'') || !take_xml_text(part, (char)quote) ||
		    part->at++ == part->end)
			return false;
	}
}

struct xml_open {
	struct text_part names[WELL_FORMED_DEPTH];
	unsigned nr;
};

/* A tag, whose < was read. */
static inline bool take_xml_tag(struct text_part *part, struct xml_open *open)
{
	bool ends = take_word(part, "/"), empty;
	struct text_part name = take_name(part);
	size_t size = (size_t)(name.end - name.at);

	if (!size || !take_xml_attributes(part, &empty))
		return false;
	if (ends) {
		if (!open->nr)
			return false;

		const struct text_part *last = &open->names[--open->nr];

		return (size_t)(last->end - last->at) == size && !memcmp(last->at, name.at, size);
	}
	if (empty)
		return true;
	if (open->nr == WELL_FORMED_DEPTH)
		return false;
	open->names[open->nr++] = name;
	return true;
}

/* Are all elements ended, all characters allowed? What a DTD would say is not looked at. */
static inline bool is_xml(const char *text, size_t size)
{
	struct text_part part = { (const unsigned char *)text, (const unsigned char *)text + size };
	struct xml_open open = { .nr = 0 };

	while (part.at < part.end) {
		bool fine;

		if (take_word(&part, "<?"))
			fine = skip_past(&part, "?>");
		else if (take_word(&part, "<!--"))
			fine = skip_past(&part, "-->");
		else if (take_word(&part, "<![CDATA["))
			fine = skip_past(&part, "]]>");
		else if (take_word(&part, "<!"))
			fine = skip_past(&part, ">");
		else if (take_word(&part, "<"))
			fine = take_xml_tag(&part, &open);
		else
			fine = take_xml_text(&part, '<');
		if (!fine)
			return false;
	}
	return !open.nr;
}
