/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "naming/name_entry.h"
#include "tests/support/name_entry_seal.h"

static const struct name_key some_key = { { 1, 2, 3 } };

static struct symbol_place place(const char *name, uint64_t start, uint64_t from, uint64_t to)
{
	return (struct symbol_place){ .name = name, .start = start, .same = { from, to } };
}

static void add(struct name_entry *entry, uint64_t vaddr, struct symbol_place what)
{
	assert_int_equal(name_entry_add(entry, &vaddr, &what, 1), 0);
}

/* Requires that the entry knows @vaddr as @name; "-": not at all; NULL: as code without a name. */
static void expect(const struct name_entry *entry, uint64_t vaddr, const char *name)
{
	const struct name_range *range = name_entry_find(entry, vaddr);
	const char *got = range ? name_entry_text(entry, range) : "-";

	if (!got != !name || (got && strcmp(got, name) != 0))
		fail_msg("%#llx: %s", (unsigned long long)vaddr, got ? got : "without a name");
}

static struct name_entry some_entry(void)
{
	struct name_entry entry = { .search = { .build_id_size = 20, .link_name = "x.debug" } };

	add(&entry, 0x1000, place("first", 0x1000, 0x1000, 0x1040));
	add(&entry, 0x2008, place("outer", 0x2000, 0x2000, 0x2010));
	add(&entry, 0x2018, place("inner", 0x2010, 0x2010, 0x2020));
	add(&entry, 0x2028, place("outer", 0x2000, 0x2020, 0x2030));
	add(&entry, 0x3000, place(NULL, 0x2ff0, 0x2ff0, 0x3010));
	add(&entry, 0x4000, place(NULL, SYMBOL_NO_START, 0x3f00, 0x5000));
	return entry;
}

static void a_function_met_once_is_known_everywhere(void **state)
{
	struct name_entry entry = some_entry();

	(void)state;
	expect(&entry, 0xfff, "-");
	expect(&entry, 0x1000, "first");
	expect(&entry, 0x103f, "first");
	expect(&entry, 0x1040, "-");
	expect(&entry, 0x200f, "outer");
	expect(&entry, 0x2010, "inner");
	expect(&entry, 0x202f, "outer");
	assert_int_equal(name_entry_find(&entry, 0x2021)->origin, 0x2000);
	expect(&entry, 0x3001, NULL);
	assert_int_equal(name_entry_find(&entry, 0x3001)->origin, 0x2ff0);
	expect(&entry, 0x4fff, NULL);
	expect(&entry, 0x5000, "-");
	expect(&entry, UINT64_MAX, "-");
	name_entry_fini(&entry);
	expect(&entry, 0x1000, "-");
}

static void many_answers_come_at_once(void **state)
{
	const uint64_t vaddrs[] = { 5, 8, 9, 20, 30, 40, 45, UINT64_MAX };
	const struct symbol_place places[] = {
		place("a", 5, 5, 10),	place("a", 5, 5, 10),	place("a", 5, 5, 10),
		place("b", 15, 15, 25), place(NULL, 0, 0, 0), /* unknown end */
		place("c", 40, 40, 46), place("c", 40, 40, 46), place(NULL, SYMBOL_NO_START, 0, 0),
	};
	struct name_entry entry = { .nr = 0 };

	(void)state;
	assert_int_equal(name_entry_add(&entry, vaddrs, places, ARRAY_SIZE(vaddrs)), 0);
	assert_int_equal(entry.nr, 3);
	assert_int_equal(entry.text_size, 6);
	expect(&entry, 9, "a");
	expect(&entry, 10, "-");
	expect(&entry, 16, "b");
	expect(&entry, 30, "-");
	expect(&entry, 45, "c");
	name_entry_fini(&entry);
}

/* Answers of one file do not contradict each other; those of a worker that lies do. */
static void what_is_known_stays(void **state)
{
	struct name_entry entry = { .nr = 0 };

	(void)state;
	add(&entry, 0x2000, place("known", 0x2000, 0x2000, 0x2010));
	add(&entry, 0x1000, place("wide", 0x800, 0x800, 0x9000));
	add(&entry, 0x2010, place("behind", 0x100, 0x100, 0x9000));
	add(&entry, 0x2005, place("in place of", 0x2000, 0x2000, 0x2010));
	expect(&entry, 0x7ff, "-");
	expect(&entry, 0x800, "wide");
	expect(&entry, 0x1fff, "wide");
	expect(&entry, 0x2000, "known");
	expect(&entry, 0x200f, "known");
	expect(&entry, 0x2010, "behind");
	expect(&entry, 0x8fff, "behind");
	expect(&entry, 0x9000, "-");
	name_entry_fini(&entry);
}

static void an_entry_that_is_full_begins_anew(void **state)
{
	enum { NR = NAME_ENTRY_RANGES_MAX };
	AUTO_FREE uint64_t *vaddrs = calloc(NR + 5, sizeof(*vaddrs));
	AUTO_FREE struct symbol_place *places = calloc(NR + 5, sizeof(*places));
	struct name_entry entry = { .nr = 0 };

	(void)state;
	assert_true(vaddrs && places);
	for (uint64_t i = 0; i < NR + 5; i++) {
		vaddrs[i] = 16 * i;
		places[i] = place("x", 16 * i, 16 * i, 16 * i + 16);
	}
	assert_int_equal(name_entry_add(&entry, vaddrs, places, NR - 1), 0);
	assert_int_equal(entry.nr, NR - 1);
	add(&entry, vaddrs[NR - 1], place("last", vaddrs[NR - 1], vaddrs[NR - 1], UINT64_MAX));
	expect(&entry, 0, "x");
	expect(&entry, 16 * NR, "last");

	struct name_entry before = entry;

	entry = (struct name_entry){ .nr = 0 };
	assert_int_equal(name_entry_add(&entry, vaddrs, places, NR), 0);
	add(&entry, vaddrs[NR + 1], place("one more", 0, vaddrs[NR + 1], vaddrs[NR + 2]));
	assert_int_equal(entry.nr, 1);
	expect(&entry, vaddrs[NR + 1], "one more");
	/* more than there is room for at all */
	assert_int_equal(name_entry_add(&entry, vaddrs, places, NR + 5), 0);
	assert_int_equal(entry.nr, NR);
	expect(&entry, 16 * (NR - 1), "x");
	expect(&entry, 16 * NR, "-");
	name_entry_fini(&before);
	name_entry_fini(&entry);
}

static void names_that_are_too_long_in_all_are_left_out(void **state)
{
	enum { HALF = NAME_ENTRY_TEXT_MAX / 2 };
	char *names[3];
	const uint64_t vaddrs[] = { 1, 2, 3 };
	struct symbol_place places[3];
	struct name_entry entry = { .nr = 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		names[i] = malloc(HALF);
		assert_non_null(names[i]);
		memset(names[i], 'x', HALF - 1);
		names[i][HALF - 1] = '\0';
		places[i] = place(names[i], i, i + 1, i + 2);
	}
	assert_int_equal(name_entry_add(&entry, vaddrs, places, 3), 0);
	assert_int_equal(entry.nr, 2);
	assert_int_equal(entry.text_size, 2 * HALF);
	add(&entry, 9, place("after", 9, 9, 10));
	assert_int_equal(entry.nr, 1);
	expect(&entry, 9, "after");
	name_entry_fini(&entry);
	for (size_t i = 0; i < 3; i++)
		free(names[i]);
}

static void bytes_give_the_entry_back(void **state)
{
	struct name_entry entry = some_entry(), got;
	uint8_t *bytes, *again;
	size_t size, again_size;

	(void)state;
	for (int no_lines = 0; no_lines < 2; no_lines++) {
		entry.has_no_lines = no_lines;
		entry.search.met[3] = (struct file_stamp){ .dev = 7, .mtime_ns = -5 };
		assert_int_equal(name_entry_write(&entry, &some_key, &bytes, &size), 0);
		assert_int_equal(size, NAME_HEADER_SIZE + 6 * sizeof(struct name_range) +
					       entry.text_size);
		assert_int_equal(name_entry_read(&some_key, bytes, size, &got, NULL), 0);
		assert_memory_equal(&got.search, &entry.search, sizeof(got.search));
		assert_int_equal(got.has_no_lines, no_lines);
		expect(&got, 0x2010, "inner");
		expect(&got, 0x4000, NULL);
		assert_int_equal(name_entry_write(&got, &some_key, &again, &again_size), 0);
		assert_int_equal(again_size, size);
		assert_memory_equal(again, bytes, size);
		free(bytes);
		free(again);
		name_entry_fini(&got);
	}
	name_entry_fini(&entry);

	/* one that knows nothing but that there are no lines */
	entry.has_no_lines = true;
	assert_int_equal(name_entry_write(&entry, &some_key, &bytes, &size), 0);
	assert_int_equal(name_entry_read(&some_key, bytes, size, &got, NULL), 0);
	assert_true(got.has_no_lines && !got.nr && !got.text_size);
	name_entry_fini(&got);
	free(bytes);
}

static int read_entry(const uint8_t *bytes, size_t size)
{
	struct name_entry got;
	struct fpl_err err = { 0 };
	int code = name_entry_read(&some_key, bytes, size, &got, &err);

	assert_int_equal(code, err.code);
	name_entry_fini(&got);
	return code;
}

static void damage_of_any_byte_is_seen(void **state)
{
	struct name_entry entry = some_entry();
	uint8_t *bytes;
	size_t size;

	(void)state;
	assert_int_equal(name_entry_write(&entry, &some_key, &bytes, &size), 0);
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 0x10;

		int code = read_entry(bytes, size);

		if (code != -EBADMSG && code != -ESTALE)
			fail_msg("byte %zu: %d", i, code);
		bytes[i] ^= 0x10;
	}
	for (size_t cut = 0; cut < size; cut++) {
		/* of its own size, so that a byte too many is seen */
		AUTO_FREE uint8_t *torn = malloc(cut + 1);

		assert_non_null(torn);
		memcpy(torn, bytes, cut);
		if (read_entry(torn, cut) != -EBADMSG)
			fail_msg("of %zu bytes", cut);
	}
	memset(bytes + size / 2, 0, size - size / 2);
	assert_int_equal(read_entry(bytes, size), -EBADMSG);
	free(bytes);
	name_entry_fini(&entry);
}

/* Entries that an attacker could write, with a valid digest. */
static void malformed_entry_is_refused(void **state)
{
	enum { FIRST = NAME_HEADER_SIZE, SECOND = FIRST + sizeof(struct name_range) };
	static const struct {
		const char *what;
		size_t off;
		uint64_t value;
		int code;
	} cases[] = {
		{ "another format", NAME_AT_FORMAT, 99, -ESTALE },
		{ "another version", NAME_AT_VERSION, 0, -ESTALE },
		{ "another key", NAME_AT_KEY, 9, -EBADMSG },
		{ "a build-id too long", NAME_AT_SEARCH, 65, -EBADMSG },
		{ "more ranges than follow", NAME_AT_NR, 7, -EBADMSG },
		{ "fewer ranges than follow", NAME_AT_NR, 5, -EBADMSG },
		{ "ranges that wrap", NAME_AT_NR, 1ull << 60, -EBADMSG },
		{ "more text than follows", NAME_AT_TEXT_SIZE, 1000, -EBADMSG },
		{ "text that wraps", NAME_AT_TEXT_SIZE, UINT64_MAX, -EBADMSG },
		{ "a truth beyond true", NAME_AT_NO_LINES, 2, -EBADMSG },
		{ "a range that is empty", FIRST, 0x1040, -EBADMSG },
		{ "a range over the next", FIRST + 8, 0x2001, -EBADMSG },
		{ "up to the next", FIRST + 8, 0x2000, 0 },
		{ "ranges that descend", SECOND, 0x103f, -EBADMSG },
		{ "a start behind its range", FIRST + 16, 0x1001, -EBADMSG },
		{ "a name without a start", FIRST + 16, SYMBOL_NO_START, -EBADMSG },
		{ "a name outside the text", FIRST + 24, 1000, -EBADMSG },
		{ "a name that is a tail", FIRST + 24, 2, 0 },
		{ "something in what is unused", FIRST + 24, 1ull << 40, -EBADMSG },
	};
	struct name_entry entry = some_entry();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t *bytes;
		size_t size;

		assert_int_equal(name_entry_write(&entry, &some_key, &bytes, &size), 0);
		memcpy(bytes + cases[i].off, &cases[i].value, sizeof(cases[i].value));
		name_entry_seal(bytes, size);

		int code = read_entry(bytes, size);

		if (code != cases[i].code)
			fail_msg("%s: %d", cases[i].what, code);
		free(bytes);
	}
	name_entry_fini(&entry);
}

static void texts_without_an_end_are_refused(void **state)
{
	struct name_entry entry = some_entry();
	uint8_t *bytes;
	size_t size;

	(void)state;
	assert_int_equal(name_entry_write(&entry, &some_key, &bytes, &size), 0);
	bytes[size - 1] = 'x';
	name_entry_seal(bytes, size);
	assert_int_equal(read_entry(bytes, size), -EBADMSG);
	bytes[size - 1] = '\0';
	name_entry_seal(bytes, size);
	assert_int_equal(read_entry(bytes, size), 0);
	/* and a debuglink that leads elsewhere */
	memcpy(bytes + NAME_AT_SEARCH + offsetof(struct name_search, link_name), "../a", 5);
	name_entry_seal(bytes, size);
	assert_int_equal(read_entry(bytes, size), -EBADMSG);
	memset(bytes + NAME_AT_SEARCH + offsetof(struct name_search, link_name), 'a', NAME_MAX + 1);
	name_entry_seal(bytes, size);
	assert_int_equal(read_entry(bytes, size), -EBADMSG);
	free(bytes);
	name_entry_fini(&entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_met_once_is_known_everywhere),
		cmocka_unit_test(many_answers_come_at_once),
		cmocka_unit_test(what_is_known_stays),
		cmocka_unit_test(an_entry_that_is_full_begins_anew),
		cmocka_unit_test(names_that_are_too_long_in_all_are_left_out),
		cmocka_unit_test(bytes_give_the_entry_back),
		cmocka_unit_test(damage_of_any_byte_is_seen),
		cmocka_unit_test(malformed_entry_is_refused),
		cmocka_unit_test(texts_without_an_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
