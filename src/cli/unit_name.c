/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/unit_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Ids of containers have 64 digits (a few tools: 32); who shows them, shows 12. */
enum { ID_LEAST = 32, ID_SHOWN = 12 };

#define DIGITS	   "0123456789"
#define HEX_DIGITS DIGITS "abcdef"

/* A part of a path. */
struct part {
	const char *text; /* borrowed [length] */
	size_t length;
};

static bool ends_in(struct part part, const char *suffix)
{
	size_t length = strlen(suffix);

	return part.length > length && !memcmp(part.text + part.length - length, suffix, length);
}

static bool begins_with(struct part part, const char *prefix)
{
	size_t length = strlen(prefix);

	return part.length > length && !memcmp(part.text, prefix, length);
}

/* The index of the id of a container in @part; its length: @part has no id. */
static size_t find_id(struct part part)
{
	size_t at = 0;

	while (at < part.length) {
		size_t digits = strspn(part.text + at, HEX_DIGITS);

		if (digits > part.length - at)
			digits = part.length - at;
		if (digits >= ID_LEAST)
			return at;
		at += digits + 1;
	}
	return part.length;
}

/* The last part of [@path, @end); false: it has no part. */
static bool part_before(const char *path, const char *end, struct part *ret)
{
	const char *first;

	while (end > path && end[-1] == '/')
		end--;
	for (first = end; first > path && first[-1] != '/';)
		first--;
	*ret = (struct part){ first, (size_t)(end - first) };
	return end > first;
}

static bool is_container(struct part part)
{
	return find_id(part) < part.length;
}

static bool is_unit(struct part part)
{
	return ends_in(part, ".service") ||
	       (ends_in(part, ".scope") && !begins_with(part, "session-"));
}

static bool is_slice(struct part part)
{
	return ends_in(part, ".slice");
}

static bool is_any(struct part part)
{
	return part.length != 0;
}

/* The last part for which @is holds. */
static bool last_part(const char *path, bool (*is)(struct part), struct part *ret)
{
	const char *end = path + strlen(path);

	while (part_before(path, end, ret)) {
		if (is(*ret))
			return true;
		end = ret->text;
	}
	return false;
}

/* "docker-ID.scope", or "docker" and below it "ID". */
static void write_container(const char *path, struct part part, char *ret)
{
	struct part above = { "container", strlen("container") };
	size_t id = find_id(part);

	if (id) {
		snprintf(ret, UNIT_NAME_SIZE, "%.*s", (int)(id + ID_SHOWN), part.text);
		return;
	}
	part_before(path, part.text, &above);
	if (!above.length || is_container(above))
		above = (struct part){ "container", strlen("container") };
	snprintf(ret, UNIT_NAME_SIZE, "%.*s-%.*s", (int)above.length, above.text, ID_SHOWN,
		 part.text);
}

/* A scope without the number at its end, which is that of a process. */
static void write_unit(struct part part, char *ret)
{
	size_t stem = part.length - strlen(".scope"), digits = 0;

	if (ends_in(part, ".scope"))
		while (digits < stem && strchr(DIGITS, part.text[stem - 1 - digits]))
			digits++;
	if (digits && digits + 1 < stem && part.text[stem - 1 - digits] == '-')
		snprintf(ret, UNIT_NAME_SIZE, "%.*s.scope", (int)(stem - 1 - digits), part.text);
	else
		snprintf(ret, UNIT_NAME_SIZE, "%.*s", (int)part.length, part.text);
}

const char *unit_name(const char *cgroup, char ret[static UNIT_NAME_SIZE])
{
	struct part part;

	if (last_part(cgroup, is_container, &part))
		write_container(cgroup, part, ret);
	else if (last_part(cgroup, is_unit, &part) || last_part(cgroup, is_slice, &part) ||
		 last_part(cgroup, is_any, &part))
		write_unit(part, ret);
	else
		snprintf(ret, UNIT_NAME_SIZE, "host");
	return ret;
}
