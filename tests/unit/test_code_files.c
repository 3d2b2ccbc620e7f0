/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdumps: what programs write of the code they make at run time. */
#include "cmocka_all.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolize/jitdump.h"
#include "symbolize/perf_map.h"

#define ROOM (1u << 20)

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

static const char *name_at(const struct code_table *table, uint64_t addr, uint64_t time_ns)
{
	struct code_match match;

	return code_table_find(table, addr, time_ns, &match) ? match.name : "none";
}

/* Reads @size bytes of @text as a perf map; the table is arranged. */
static void read_map(const char *text, size_t size, uint64_t read_max, struct code_table *table,
		     struct code_file_result *ret)
{
	AUTO_FD int fd = file_of(text, size);

	assert_int_equal(perf_map_read(fd, read_max, table, ret), 0);
	assert_int_equal(code_table_arrange(table), 0);
}

static void lines_of_a_perf_map_are_functions(void **state)
{
	static const char text[] = "3ef414c0 398 RegExp:[{(]\n"
				   "3ef41860 26 LazyCompile:~a b /x.js:1:13\n"
				   "0x7F0000001000 0x10 with 0x\r\n"
				   "\n"
				   "3ef41870 4 overlaps\n"
				   "3ef50000 1 \xff\x01 bytes of a stranger\n";
	struct code_file_result result;
	struct code_table table;

	(void)state;
	code_table_init(&table, ROOM);
	read_map(text, sizeof(text) - 1, 1 << 20, &table, &result);
	assert_int_equal(result.end, CODE_FILE_WHOLE);
	assert_int_equal(result.nr_entries, 5);
	assert_int_equal(result.nr_bad, 0);
	assert_string_equal(name_at(&table, 0x3ef41857, 0), "RegExp:[{(]");
	assert_string_equal(name_at(&table, 0x3ef41858, 0), "none");
	assert_string_equal(name_at(&table, 0x3ef41860, 0), "LazyCompile:~a b /x.js:1:13");
	assert_string_equal(name_at(&table, 0x3ef41871, 0), "overlaps");
	assert_string_equal(name_at(&table, 0x7f000000100f, 0), "with 0x");
	assert_string_equal(name_at(&table, 0x3ef50000, 0), "\xff\x01 bytes of a stranger");
	code_table_fini(&table);
}

static void bad_lines_are_counted_and_the_others_kept(void **state)
{
	static const struct {
		const char *what, *line, *why;
		size_t size;
	} cases[] = {
		{ "no numbers", "hello world\n", "not a start, a size and a name", 0 },
		{ "one number", "1000\n", "not a start, a size and a name", 0 },
		{ "two numbers", "1000 20\n", "not a start, a size and a name", 0 },
		{ "seventeen digits", "10000000000000000 1 x\n", "not a start, a size and a name",
		  0 },
		{ "sign", "-1000 20 x\n", "not a start, a size and a name", 0 },
		{ "tabs", "1000\t20\tx\n", "not a start, a size and a name", 0 },
		{ "no name", "1000 20 \n", "no name", 0 },
		{ "only a return", "1000 20 \r\n", "no name", 0 },
		{ "no size", "1000 0 x\n", "no size", 0 },
		{ "around", "ffffffffffffffff 2 x\n", "beyond the address space", 0 },
		{ "a NUL", "1000 20 a\0b\n", "a NUL in the name", 12 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = cases[i].size ? cases[i].size : strlen(cases[i].line);
		char text[128] = "2000 10 before\n", remark[256];
		struct code_file_result result;
		struct code_table table;
		size_t at = strlen(text);

		memcpy(text + at, cases[i].line, size);
		memcpy(text + at + size, "3000 10 behind\n", 15);
		code_table_init(&table, ROOM);
		read_map(text, at + size + 15, 1 << 20, &table, &result);
		if (result.nr_bad != 1 || result.nr_entries != 2 || result.bad_off != at ||
		    strcmp(code_fault_text(result.fault), cases[i].why) != 0)
			fail_msg("%s: %llu bad, %llu good, at %llu, %s", cases[i].what,
				 (unsigned long long)result.nr_bad,
				 (unsigned long long)result.nr_entries,
				 (unsigned long long)result.bad_off, code_fault_text(result.fault));
		assert_string_equal(name_at(&table, 0x2000, 0), "before");
		assert_string_equal(name_at(&table, 0x3000, 0), "behind");
		assert_true(code_file_remark(&result, "m", remark, sizeof(remark)));
		assert_memory_equal(remark, "m: 1 left out, the first at offset 15: ", 39);
		code_table_fini(&table);
	}
}

static void a_line_that_is_being_written_is_left_alone(void **state)
{
	static const char text[] = "1000 10 whole\n2000 10 hal";
	struct code_file_result result;
	struct code_table table;
	char remark[64];

	(void)state;
	code_table_init(&table, ROOM);
	read_map(text, sizeof(text) - 1, 1 << 20, &table, &result);
	assert_int_equal(result.nr_entries, 1);
	assert_int_equal(result.nr_bad, 0);
	assert_string_equal(name_at(&table, 0x2000, 0), "none");
	assert_false(code_file_remark(&result, "m", remark, sizeof(remark)));
	code_table_fini(&table);
}

static void names_longer_than_a_buffer_are_cut_and_the_next_line_found(void **state)
{
	enum { LONG = 200000 };
	AUTO_FREE char *text = malloc(LONG + 64);
	struct code_file_result result;
	struct code_table table;
	const size_t at = 8;

	(void)state;
	memcpy(text, "1000 10 ", at);
	memset(text + at, 'x', LONG);
	memcpy(text + at + LONG, "\n2000 10 next\n", 14);
	code_table_init(&table, ROOM);
	read_map(text, at + LONG + 14, 1 << 20, &table, &result);
	assert_int_equal(result.nr_entries, 2);
	assert_int_equal(strlen(name_at(&table, 0x1000, 0)), CODE_NAME_MAX);
	assert_string_equal(name_at(&table, 0x2000, 0), "next");
	code_table_fini(&table);
}

static void no_more_is_read_or_kept_than_allowed(void **state)
{
	static const char line[] = "1000 10 some function\n";
	enum { NR = 2000, LINE = sizeof(line) - 1 };
	AUTO_FREE char *text = malloc((size_t)NR * LINE);
	static const struct {
		const char *what;
		uint64_t read_max;
		size_t room;
		enum code_file_end end;
		const char *remark;
	} cases[] = {
		{ "all of it, to the byte", NR * LINE, ROOM, CODE_FILE_WHOLE, NULL },
		{ "one byte less", NR * LINE - 1, ROOM, CODE_FILE_TOO_LONG,
		  "m: only the first 43999 bytes were read" },
		{ "a part", 10 * LINE, ROOM, CODE_FILE_TOO_LONG,
		  "m: only the first 220 bytes were read" },
		{ "no room", NR * LINE, 10 * (CODE_ENTRY_CHARGE + sizeof("some function")),
		  CODE_FILE_NO_ROOM,
		  "m: no room for more names from offset 220 on: raise --jit-memory" },
	};

	(void)state;
	for (size_t i = 0; i < NR; i++)
		memcpy(text + i * LINE, line, LINE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_file_result result;
		struct code_table table;
		char remark[256] = "";

		code_table_init(&table, cases[i].room);
		read_map(text, (size_t)NR * LINE, cases[i].read_max, &table, &result);
		if (result.end != cases[i].end)
			fail_msg("%s: end %d", cases[i].what, (int)result.end);
		assert_int_equal(code_file_remark(&result, "m", remark, sizeof(remark)),
				 cases[i].remark != NULL);
		if (cases[i].remark)
			assert_string_equal(remark, cases[i].remark);
		assert_string_equal(name_at(&table, 0x1000, 0), "some function");
		code_table_fini(&table);
	}
}

/* A jitdump as it is written, piece by piece. */
struct dump {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct dump *dump, const void *bytes, size_t size)
{
	assert_true(dump->size + size <= sizeof(dump->bytes));
	memcpy(dump->bytes + dump->size, bytes, size);
	dump->size += size;
}

static void put_header(struct dump *dump, uint64_t flags)
{
	put(dump, (uint32_t[]){ 0x4a695444, 1, 40, EM_X86_64, 0, 77 }, 24);
	put(dump, (uint64_t[]){ 5, flags }, 16);
}

static void put_prefix(struct dump *dump, uint32_t id, size_t size, uint64_t time_ns)
{
	put(dump, (uint32_t[]){ id, (uint32_t)size }, 8);
	put(dump, &time_ns, 8);
}

static void put_load(struct dump *dump, uint64_t time_ns, uint32_t pid, uint64_t addr,
		     uint64_t size, const char *name)
{
	static const uint8_t code[64];

	put_prefix(dump, 0, 56 + strlen(name) + 1 + sizeof(code), time_ns);
	put(dump, (uint32_t[]){ pid, 78 }, 8);
	put(dump, (uint64_t[]){ addr, addr, size, 1 }, 32);
	put(dump, name, strlen(name) + 1);
	put(dump, code, sizeof(code));
}

static void put_move(struct dump *dump, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(dump, 1, 64, time_ns);
	put(dump, (uint32_t[]){ 77, 78 }, 8);
	put(dump, (uint64_t[]){ to, from, to, size, 1 }, 40);
}

static int read_dump(const struct dump *dump, uint32_t pid, struct code_table *table,
		     struct code_file_result *ret, struct fpl_err *err)
{
	AUTO_FD int fd = file_of(dump->bytes, dump->size);
	int code = jitdump_read(fd, 1 << 20, pid, table, ret, err);

	assert_int_equal(code_table_arrange(table), 0);
	return code;
}

static void records_of_a_jitdump_are_functions_in_time(void **state)
{
	struct dump dump = { .size = 0 };
	struct code_file_result result;
	struct code_table table;

	(void)state;
	put_header(&dump, 0);
	put_load(&dump, 100, 77, 0x1000, 0x40, "first");
	put_prefix(&dump, 2, 24, 100); /* debug info */
	put(&dump, (uint64_t[]){ 0 }, 8);
	put_load(&dump, 200, 77, 0x1000, 0x40, "second");
	put_load(&dump, 250, 77, 0x2000, 0x40, "mover");
	put_move(&dump, 300, 0x2000, 0x3000, 0x40);
	put_prefix(&dump, 4, 16, 300); /* unwinding info */
	put_prefix(&dump, 3, 16, 400); /* close */
	put_load(&dump, 500, 77, 0x4000, 0x40, "behind the end");
	code_table_init(&table, ROOM);
	assert_int_equal(read_dump(&dump, 77, &table, &result, NULL), 0);
	assert_int_equal(result.end, CODE_FILE_WHOLE);
	assert_int_equal(result.nr_entries, 3);
	assert_int_equal(result.nr_bad, 0);
	assert_string_equal(name_at(&table, 0x1000, 150), "first");
	assert_string_equal(name_at(&table, 0x103f, 200), "second");
	assert_string_equal(name_at(&table, 0x2000, 299), "mover");
	assert_string_equal(name_at(&table, 0x2000, 300), "none");
	assert_string_equal(name_at(&table, 0x3000, 300), "mover");
	assert_string_equal(name_at(&table, 0x4000, 500), "none");
	code_table_fini(&table);
}

static void times_of_another_clock_count_for_the_order_alone(void **state)
{
	struct dump dump = { .size = 0 };
	struct code_file_result result;
	struct code_table table;

	(void)state;
	put_header(&dump, 1);
	put_load(&dump, 1ull << 60, 77, 0x1000, 0x40, "first");
	put_load(&dump, 1ull << 61, 77, 0x1000, 0x40, "second");
	code_table_init(&table, ROOM);
	assert_int_equal(read_dump(&dump, 0, &table, &result, NULL), 0);
	assert_string_equal(name_at(&table, 0x1000, 1), "second");
	code_table_fini(&table);
}

static void a_file_that_is_no_jitdump_of_this_process_is_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t words[6];
		uint32_t pid;
		size_t size;
		const char *why;
	} cases[] = {
		{ "short",
		  { 0x4a695444, 1, 40, EM_X86_64, 0, 77 },
		  77,
		  24,
		  "offset 0: shorter than the header of a jitdump" },
		{ "ELF",
		  { 0x464c457f, 1, 40, EM_X86_64, 0, 77 },
		  77,
		  40,
		  "offset 0: not a jitdump" },
		{ "swapped",
		  { 0x4454694a, 1, 40, EM_X86_64, 0, 77 },
		  77,
		  40,
		  "offset 0: of a machine of the other byte order" },
		{ "version",
		  { 0x4a695444, 2, 40, EM_X86_64, 0, 77 },
		  77,
		  40,
		  "offset 4: version 2, known is 1" },
		{ "header size",
		  { 0x4a695444, 1, 39, EM_X86_64, 0, 77 },
		  77,
		  40,
		  "offset 8: a header of 39 bytes, wanted 40" },
		{ "machine",
		  { 0x4a695444, 1, 40, EM_AARCH64, 0, 77 },
		  77,
		  40,
		  "offset 12: for another architecture (ELF machine 183)" },
		{ "process",
		  { 0x4a695444, 1, 40, EM_X86_64, 0, 77 },
		  76,
		  40,
		  "offset 20: of process 77, not 76" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dump dump = { .size = cases[i].size };
		struct code_file_result result;
		struct code_table table;
		struct fpl_err err = { 0 };

		memcpy(dump.bytes, cases[i].words, sizeof(cases[i].words));
		code_table_init(&table, ROOM);
		if (read_dump(&dump, cases[i].pid, &table, &result, &err) != -EINVAL ||
		    strcmp(err.msg, cases[i].why) != 0)
			fail_msg("%s: %s", cases[i].what, err.msg);
		code_table_fini(&table);
	}
}

static void records_that_make_no_sense_are_left_out(void **state)
{
	struct dump dump = { .size = 0 };
	struct code_file_result result;
	struct code_table table;
	char remark[256];

	(void)state;
	put_header(&dump, 0);
	put_prefix(&dump, 9, 16, 1); /* unknown: at offset 40 */
	put_load(&dump, 1, 76, 0x1000, 0x40, "of another process");
	put_load(&dump, 1, 77, 0x1000, 0, "of no size");
	put_load(&dump, 1, 77, UINT64_MAX, 9, "around");
	put_load(&dump, 1, 77, 0x1000, 9, "");
	put_move(&dump, 1, 0x2000, 0x3000, 9);
	put_load(&dump, 1, 77, 0x4000, 9, "good");
	put_prefix(&dump, 0, 15, 1); /* shorter than a header: no next record */
	put_load(&dump, 1, 77, 0x5000, 9, "unreachable");
	code_table_init(&table, ROOM);
	assert_int_equal(read_dump(&dump, 77, &table, &result, NULL), 0);
	assert_int_equal(result.nr_bad, 6);
	assert_int_equal(result.nr_entries, 1);
	assert_int_equal(result.end, CODE_FILE_BROKEN);
	assert_int_equal(result.fault, CODE_FAULT_SHORT_RECORD);
	assert_string_equal(name_at(&table, 0x4000, 1), "good");
	assert_string_equal(name_at(&table, 0x5000, 1), "none");
	assert_true(code_file_remark(&result, "d", remark, sizeof(remark)));
	assert_non_null(strstr(remark, ": a record shorter than its own header: what follows"));
	code_table_fini(&table);
}

static void a_record_that_is_being_written_is_left_alone(void **state)
{
	struct dump whole = { .size = 0 };

	(void)state;
	put_header(&whole, 0);
	put_load(&whole, 1, 77, 0x1000, 9, "whole");

	size_t first = whole.size;

	put_load(&whole, 1, 77, 0x2000, 9, "cut");
	/* the code behind a name is not looked at: its end may be missing */
	for (size_t size = first; size <= whole.size; size++) {
		struct dump dump = whole;
		struct code_file_result result;
		struct code_table table;

		dump.size = size;
		code_table_init(&table, ROOM);
		assert_int_equal(read_dump(&dump, 77, &table, &result, NULL), 0);
		assert_int_equal(result.end, CODE_FILE_WHOLE);
		assert_int_equal(result.nr_bad, 0);
		assert_int_equal(result.nr_entries, size < whole.size - 64 ? 1 : 2);
		code_table_fini(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_a_perf_map_are_functions),
		cmocka_unit_test(bad_lines_are_counted_and_the_others_kept),
		cmocka_unit_test(a_line_that_is_being_written_is_left_alone),
		cmocka_unit_test(names_longer_than_a_buffer_are_cut_and_the_next_line_found),
		cmocka_unit_test(no_more_is_read_or_kept_than_allowed),
		cmocka_unit_test(records_of_a_jitdump_are_functions_in_time),
		cmocka_unit_test(times_of_another_clock_count_for_the_order_alone),
		cmocka_unit_test(a_file_that_is_no_jitdump_of_this_process_is_refused),
		cmocka_unit_test(records_that_make_no_sense_are_left_out),
		cmocka_unit_test(a_record_that_is_being_written_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
