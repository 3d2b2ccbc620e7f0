/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files that tests write and read again. Include behind cmocka_all.h. */
#pragma once

#include <stdio.h>

static inline void write_text(const char *path, const char *text)
{
	FILE *to = fopen(path, "w");

	assert_non_null(to);
	fputs(text, to);
	assert_int_equal(fclose(to), 0);
}

static inline void assert_content(const char *path, const char *want)
{
	char got[256] = "";
	FILE *from = fopen(path, "r");

	if (!from)
		fail_msg("%s is not there", path);
	got[fread(got, 1, sizeof(got) - 1, from)] = '\0';
	fclose(from);
	assert_string_equal(got, want);
}
