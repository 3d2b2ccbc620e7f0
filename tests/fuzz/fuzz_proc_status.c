/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/TID/status, in which the target chooses the name and the number of groups, as
 * hostile bytes. Judged: the number of a key, and the letter of the state, are those that a plain
 * reading of whole lines finds.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/thread.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_MAX_READ = 127 }; /* bytes of a line that are looked at */

/* The number behind @key in @line [@size], newline included. */
static int64_t plain_number(const char *line, size_t size, const char *key)
{
	size_t at = strlen(key);
	uint64_t value = 0;

	size = size < LINE_MAX_READ ? size : LINE_MAX_READ;
	while (at < size && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (at == size || !isdigit((unsigned char)line[at]))
		return -1;
	for (; at < size && isdigit((unsigned char)line[at]); at++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(line[at] - '0'), &value))
			return -1;
	return at < size && isspace((unsigned char)line[at]) && value <= INT64_MAX ? (int64_t)value
										   : -1;
}

static int64_t plain_search(const char *text, const char *key)
{
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');

		if (!strncmp(line, key, strlen(key)))
			return plain_number(line, (size_t)(end - line) + (*end == '\n'), key);
		line = *end ? end + 1 : end;
	}
	return -1;
}

static void check_number(const char *text, const char *key)
{
	/* fmemopen() takes no size of 0 */
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	REQUIRE(file);
	REQUIRE(thread_number_in(file, key) == plain_search(text, key));
	(void)fclose(file);
}

/* The first line is the name. */
static char plain_state(const char *text)
{
	static const char key[] = "State:\t";
	const char *line = strchr(text, '\n');

	while (line && strncmp(line + 1, key, strlen(key)) != 0)
		line = strchr(line + 1, '\n');
	return line ? line[1 + strlen(key)] : '\0';
}

static void check_state(const char *text)
{
	REQUIRE(thread_state_in(text) == plain_state(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "Tgid:", "TracerPid:", "VmSize:", "Name:", "Groups:" };
	AUTO_FREE char *text = malloc(size + 2);

	REQUIRE(text);
	memcpy(text, data, size);
	for (size_t i = 0; i < size; i++) /* the kernel writes none */
		text[i] = text[i] ? text[i] : ' ';
	memcpy(text + size, "\n", 2);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		check_number(text, keys[i]);
	check_state(text);
	return 0;
}
