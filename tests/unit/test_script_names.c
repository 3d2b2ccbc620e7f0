/* SPDX-License-Identifier: Apache-2.0 */
/* The file of code objects that a worker reads: names and lines, and any bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_all.h"

#include "bpf/shared_script.h"
#include "script/names.h"
#include "unwind/script_facts.h"

#define VERSION 0x030b02f0u
#define CODE	0x7f0000001000ull
#define START	184u /* of its instructions, in the object */

static void put_string(uint8_t *to, const char *text)
{
	uint64_t size = strlen(text), state = 1u << 2 | 32u | 64u;

	memcpy(to + 16, &size, sizeof(size));
	memcpy(to + 32, &state, sizeof(state));
	memcpy(to + 48, text, size);
}

/* Append to the file a code object of 3.11 in /a/b.py, from line 10 on, whose second instruction is
 * on line 12, and the places of both. */
static void add(int fd, const char *function)
{
	static const uint8_t lines[] = { 0x80 | 13 << 3, 0, 0x80 | 12 << 3, 0 };
	static const uint32_t places[] = { START, START + 2 };
	const struct script_file_code head = {
		.version = VERSION,
		.language = SCRIPT_PYTHON,
		.record_size = offsetof(struct fpl_script_code, lines) + 40,
		.nr_places = 2,
	};
	struct fpl_script_code *record = calloc(1, sizeof(*record));
	uint64_t nr_lines = sizeof(lines);
	uint32_t line = 10;

	assert_non_null(record);
	record->code = CODE;
	record->size[0] = record->size[1] = record->size[2] = 256;
	record->nr_lines = 32 + sizeof(lines);
	memcpy(record->object + 72, &line, sizeof(line));
	put_string(record->text[0], function);
	put_string(record->text[1], "/a/b.py");
	memcpy(record->lines + 16, &nr_lines, sizeof(nr_lines));
	memcpy(record->lines + 32, lines, sizeof(lines));
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, record, head.record_size), head.record_size);
	assert_int_equal(write(fd, places, sizeof(places)), sizeof(places));
	free(record);
}

static int file_of_two(uint64_t *ret_size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	add(fd, "f");
	add(fd, "C.g");
	*ret_size = (uint64_t)lseek(fd, 0, SEEK_CUR);
	return fd;
}

static void each_code_has_its_name_and_its_lines(void **state)
{
	static const char *const functions[] = { "f", "C.g" };
	struct script_names names;
	uint64_t size;
	int fd = file_of_two(&size);

	(void)state;
	assert_int_equal(script_names_read(fd, size, &names), 0);
	assert_true(script_names_check(&names));
	assert_int_equal(names.nr_codes, 2);
	assert_int_equal(names.nr_lines, 4);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(names.text + names.codes[i].function, functions[i]);
		assert_string_equal(names.text + names.codes[i].file, "/a/b.py");
		assert_int_equal(names.codes[i].first_line, 10);
		assert_int_equal(names.codes[i].nr_lines, 2);
		assert_int_equal(names.lines[2 * i], 10);
		assert_int_equal(names.lines[2 * i + 1], 12);
	}
	script_names_fini(&names);
	close(fd);
}

static void a_file_that_ends_early_is_refused(void **state)
{
	uint64_t whole, one;
	int fd = file_of_two(&whole);

	(void)state;
	one = whole / 2;
	for (uint64_t size = 1; size < whole; size += 7) {
		struct script_names names;

		assert_int_equal(script_names_read(fd, size, &names), size == one ? 0 : -EINVAL);
		script_names_fini(&names);
	}
	close(fd);
}

/* Each byte in turn is another one: the file is refused, or the answer holds together. */
static void any_byte_may_be_another(void **state)
{
	uint64_t size;
	int fd = file_of_two(&size);

	(void)state;
	for (uint64_t at = 0; at < size; at++) {
		struct script_names names;
		uint8_t was, other;

		assert_int_equal(pread(fd, &was, 1, (off_t)at), 1);
		other = (uint8_t)~was;
		assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
		if (!script_names_read(fd, size, &names))
			assert_true(script_names_check(&names));
		script_names_fini(&names);
		assert_int_equal(pwrite(fd, &was, 1, (off_t)at), 1);
	}
	close(fd);
}

static void an_unknown_version_has_no_names(void **state)
{
	const uint64_t version = 0x030f00f0;
	struct script_names names;
	uint64_t size;
	int fd = file_of_two(&size);

	(void)state;
	assert_int_equal(pwrite(fd, &version, sizeof(version), 0), sizeof(version));
	assert_int_equal(script_names_read(fd, size, &names), 0);
	assert_int_equal(names.codes[0].function, SCRIPT_NO_TEXT);
	assert_int_equal(names.lines[0], 0);
	assert_string_equal(names.text + names.codes[1].function, "C.g");
	script_names_fini(&names);
	close(fd);
}

static void a_text_beyond_the_text_does_not_pass(void **state)
{
	struct script_name code = { .function = 0, .file = SCRIPT_NO_TEXT, .nr_lines = 1 };
	uint32_t line = 1;
	char text[] = "f";
	struct script_names names = { .codes = &code,
				      .lines = &line,
				      .text = text,
				      .nr_codes = 1,
				      .nr_lines = 1,
				      .text_size = sizeof(text) };

	(void)state;
	assert_true(script_names_check(&names));
	code.file = sizeof(text);
	assert_false(script_names_check(&names));
	code.file = SCRIPT_NO_TEXT;
	code.nr_lines = 2;
	assert_false(script_names_check(&names));
	code.nr_lines = 1;
	text[1] = 'x';
	assert_false(script_names_check(&names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_code_has_its_name_and_its_lines),
		cmocka_unit_test(a_file_that_ends_early_is_refused),
		cmocka_unit_test(any_byte_may_be_another),
		cmocka_unit_test(an_unknown_version_has_no_names),
		cmocka_unit_test(a_text_beyond_the_text_does_not_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
