/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/stats.h"

#define HEAD "{\"format\":1,\"event\":\"\",\"hz\":0,\"period_ns\":0,\"duration_ms\":0,\"cpus\":0,"

/* A number of 7 for each key, or a note where the key ends in "!", null where in "?". */
struct books_case {
	const char *what;
	const char *keys[8];
	const char *json;
};

static const struct books_case cases[] = {
	{ "nothing but what was shown", { NULL }, "\"shown\":3}\n" },
	{ "what was shown, in its place",
	  { "fired", "shown", "idle" },
	  "\"fired\":7,\"shown\":3,\"idle\":7}\n" },
	{ "objects, next to each other",
	  { "a.x", "a.y", "b.x", "c" },
	  "\"a\":{\"x\":7,\"y\":7},\"b\":{\"x\":7},\"c\":7,\"shown\":3}\n" },
	{ "objects in objects",
	  { "a.b.x", "a.c.x", "a.y", "ab.x" },
	  "\"a\":{\"b\":{\"x\":7},\"c\":{\"x\":7},\"y\":7},\"ab\":{\"x\":7},\"shown\":3}\n" },
	{ "an empty list", { "a.l[]", "b" }, "\"a\":{\"l\":[]},\"b\":7,\"shown\":3}\n" },
	{ "a list of objects",
	  { "l[]", "l[].0.x", "l[].0.y!", "l[].1.x?", "z" },
	  "\"l\":[{\"x\":7,\"y\":\"n\\\"\"},{\"x\":null}],\"z\":7,\"shown\":3}\n" },
	{ "a list of numbers",
	  { "l[].0", "l[].1", "l[].2!" },
	  "\"l\":[7,7,\"n\\\"\"],\"shown\":3}\n" },
	{ "hostile",
	  { "\"", "..", "[]", "a.b.c.d.e.f.g.h.i.j" },
	  "\"\\\"\":7,\"\":{\"\":{\"\":7}},\"[]\":7,\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{"
	  "\"g\":{\"h\":{\"i.j\":7}}}}}}}},\"shown\":3}\n" },
};

static void add(struct recording *recording, const char *key)
{
	size_t length = strlen(key);
	char name[64];

	if (!strchr("!?", key[length - 1])) {
		assert_int_equal(recording_add_number(recording, key, 7), 0);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)length - 1, key);
	assert_int_equal(recording_set_note(recording, name, key[length - 1] == '!' ? "n\"" : NULL),
			 0);
}

static void keys_with_dots_are_nested(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(recording_fini) struct recording recording;
		AUTO_FREE char *text = NULL;
		size_t size;
		FILE *to = open_memstream(&text, &size);

		assert_int_equal(recording_init(&recording), 0);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].keys) && cases[i].keys[j]; j++)
			add(&recording, cases[i].keys[j]);
		stats_write(to, &recording, 3);
		fclose(to);
		if (strncmp(text, HEAD, strlen(HEAD)) != 0 ||
		    strcmp(text + strlen(HEAD), cases[i].json) != 0)
			fail_msg("%s: %s", cases[i].what, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_with_dots_are_nested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
