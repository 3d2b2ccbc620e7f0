/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "output/frame_texts.h"

/* What frame_texts_repeat() writes of (@frame, @kind); NULL: it has nothing. The caller frees it.
 */
static char *repeated(const struct frame_texts *texts, uint64_t frame, uint32_t kind)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);

	bool found = frame_texts_repeat(texts, frame, kind, to);

	assert_int_equal(fclose(to), 0);
	if (found)
		return text;
	assert_int_equal(size, 0);
	free(text);
	return NULL;
}

static void keep(struct frame_texts *texts, uint64_t frame, uint32_t kind, const char *text)
{
	FILE *to;

	assert_int_equal(frame_texts_begin(texts, &to), 0);
	fputs(text, to);
	assert_int_equal(frame_texts_keep(texts, frame, kind), 0);
}

static void assert_repeats(const struct frame_texts *texts, uint64_t frame, uint32_t kind,
			   const char *want)
{
	char *text = repeated(texts, frame, kind);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void nothing_is_repeated_that_was_not_kept(void **state)
{
	struct frame_texts texts = { 0 };

	(void)state;
	assert_null(repeated(&texts, 1, 1));
	keep(&texts, 1, 1, "one");
	assert_null(repeated(&texts, 2, 1));
	assert_null(repeated(&texts, 0, 1));
	frame_texts_fini(&texts);
	assert_null(repeated(&texts, 1, 1));
}

static void the_kinds_of_a_frame_are_kept_apart(void **state)
{
	struct frame_texts texts = { 0 };

	(void)state;
	keep(&texts, 7, 1, "as leaf");
	assert_null(repeated(&texts, 7, 2));
	assert_null(repeated(&texts, 6, 2)); /* of the same hash */
	keep(&texts, 7, 2, "as caller");
	keep(&texts, 6, 2, "");
	assert_repeats(&texts, 7, 1, "as leaf");
	assert_repeats(&texts, 7, 2, "as caller");
	assert_repeats(&texts, 6, 2, "");
	frame_texts_fini(&texts);
}

static void texts_stay_when_there_are_many(void **state)
{
	enum { NR = 5000 };
	struct frame_texts texts = { 0 };
	char text[64];

	(void)state;
	for (uint64_t i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "frame %llu", (unsigned long long)i);
		keep(&texts, i << 12, 1, text);
	}
	for (uint64_t i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "frame %llu", (unsigned long long)i);
		assert_repeats(&texts, i << 12, 1, text);
	}
	frame_texts_fini(&texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_repeated_that_was_not_kept),
		cmocka_unit_test(the_kinds_of_a_frame_are_kept_apart),
		cmocka_unit_test(texts_stay_when_there_are_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
