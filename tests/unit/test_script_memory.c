/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects are read from the memory of a process: the test's own. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/script_codes.h"
#include "profile/script_memory.h"

#define NOBODY	   0x3ffffffu /* no process has this number */
#define NR_TAKEN   256u
#define TURN	   32u		/* code objects of a process at a time */
#define OTHER_BITS (1ull << 48) /* of a content that is another one */

/* A code object: pointers to its name and to its lines. */
struct code_object {
	const char *name;
	const char *lines;
};

static const char name[256] = "work", lines[512] = "lines";
static struct code_object object = { .name = name, .lines = lines };
/* One of Python's: one reference, or freed. */
static uint64_t python_object[8] = { 1 };

static const struct fpl_script_rule rule = {
	.object = 1,
	.texts = { { .off = 0 }, { .off = 0 } },
	.lines_ptr_off = 8,
	.lines_size_off = 16,
};

/* That of this process, as a sample has it. */
static uint64_t own_start_ns(void)
{
	uint64_t ticks = 0;
	FILE *file = fopen("/proc/self/stat", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file,
				"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
				"%*d %*d %*d %*d %*d %*d %lu",
				&ticks),
			 1);
	fclose(file);
	return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct taken {
	size_t nr;
	struct script_wanted wanted[NR_TAKEN];
	bool is_read[NR_TAKEN];
	enum script_unnamed why[NR_TAKEN];
	struct fpl_script_code last;
};

static void take(void *ctx, const struct script_wanted *wanted,
		 const struct fpl_script_code *record, size_t size, enum script_unnamed why)
{
	struct taken *taken = ctx;

	assert_true(taken->nr < NR_TAKEN);
	taken->wanted[taken->nr] = *wanted;
	taken->why[taken->nr] = why;
	taken->is_read[taken->nr++] = record != NULL;
	if (record) {
		assert_int_equal(size, record->header.size);
		memcpy(&taken->last, record, size);
	}
}

static struct script_wanted wanted_of(uint32_t code)
{
	return (struct script_wanted){ .rule = &rule,
				       .start_ns = own_start_ns(),
				       .word = (uint64_t)&object,
				       .pid = (uint32_t)getpid(),
				       .code = code };
}

static void read_all(struct script_wanted *list, size_t nr, uint64_t deadline_ns, struct taken *ret)
{
	struct script_memory *memory;

	*ret = (struct taken){ 0 };
	assert_int_equal(script_memory_create(&memory), 0);
	script_memory_read(memory, list, nr, deadline_ns, take, ret);
	script_memory_destroy(memory);
}

static void what_is_there_is_read(void **state)
{
	static struct taken taken;
	struct script_wanted wanted = wanted_of(7);

	(void)state;
	read_all(&wanted, 1, UINT64_MAX, &taken);
	assert_int_equal(taken.nr, 1);
	assert_true(taken.is_read[0]);
	assert_int_equal(taken.wanted[0].code, 7);
	assert_int_equal(taken.last.code, (uint64_t)&object);
	assert_memory_equal(taken.last.object, &object, sizeof(object));
	assert_string_equal((char *)taken.last.text[0], name);
	assert_int_equal(taken.last.nr_lines, sizeof(lines));
	assert_string_equal((char *)taken.last.lines, lines);
}

static void what_is_not_there_says_why(void **state)
{
	static struct taken taken;
	long page = sysconf(_SC_PAGESIZE);
	void *hole = mmap(NULL, (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct {
		const char *what;
		struct script_wanted wanted;
		enum script_unnamed why;
	} cases[] = {
		{ "another content", wanted_of(0), SCRIPT_UNNAMED_CHANGED },
		{ "another content of a place", wanted_of(0), SCRIPT_UNNAMED_CHANGED },
		{ "no memory", wanted_of(0), SCRIPT_UNNAMED_GONE },
		{ "an address of the kernel", wanted_of(0), SCRIPT_UNNAMED_GONE },
		{ "another process with that number", wanted_of(0), SCRIPT_UNNAMED_GONE },
		{ "no process", wanted_of(0), SCRIPT_UNNAMED_GONE },
	};

	(void)state;
	assert_ptr_not_equal(hole, MAP_FAILED);
	cases[0].wanted.word |= OTHER_BITS;
	cases[1].wanted.content = 1;
	cases[2].wanted.word = (uint64_t)hole;
	cases[3].wanted.word = FPL_SCRIPT_CODE_MASK & ~7ull;
	cases[4].wanted.start_ns += NS_PER_S;
	cases[5].wanted.pid = NOBODY;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		read_all(&cases[i].wanted, 1, UINT64_MAX, &taken);
		if (taken.nr != 1 || taken.is_read[0] || taken.why[0] != cases[i].why)
			fail_msg("%s: %zu, read %d, why %d", cases[i].what, taken.nr,
				 taken.is_read[0], taken.why[0]);
	}
	munmap(hole, (size_t)page);
}

static void what_was_freed_is_not_read(void **state)
{
	static struct taken taken;
	static const struct {
		uint64_t references;
		bool is_alive;
	} cases[] = {
		{ 1, true },
		{ 700, true },
		{ 999999999, true },
		{ 0xffffffff, true },
		{ 0xc0000000 | 1ull << 48, true }, /* 3.14, with a flag */
		{ 0, false },
		{ 0x7f1234567890, false },
		{ 0x1a3f0c0, false }, /* in a heap below 4 GiB */
	};
	struct script_wanted wanted = wanted_of(0);

	(void)state;
	wanted.language = SCRIPT_PYTHON;
	wanted.word = (uint64_t)python_object;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		python_object[0] = cases[i].references;
		read_all(&wanted, 1, UINT64_MAX, &taken);
		assert_int_equal(taken.nr, 1);
		if (taken.is_read[0] != cases[i].is_alive)
			fail_msg("%#lx references", (unsigned long)cases[i].references);
		assert_true(taken.is_read[0] || taken.why[0] == SCRIPT_UNNAMED_CHANGED);
	}
}

/* A function of Lua with any number of arguments, and its first instruction. */
static uint64_t steps[2] = { 81 };
static uint64_t lua_object[16] = { [1] = 1ull << 24 | 10, [8] = 0 };

static void what_lua_freed_is_not_read(void **state)
{
	static struct taken taken;
	static const struct {
		uint64_t kind, step;
		bool is_alive;
	} cases[] = {
		{ 1ull << 24 | 10, 81, true },
		{ 10, 5, true }, /* it takes so many */
		{ 1ull << 24 | 10, 80, false },
		{ 0x7f1234567890, 81, false },
		{ 0, 81, false },
	};
	struct script_wanted wanted = wanted_of(0);

	(void)state;
	wanted.language = SCRIPT_LUA;
	wanted.word = (uint64_t)lua_object;
	lua_object[8] = (uint64_t)steps;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		lua_object[1] = cases[i].kind;
		steps[0] = cases[i].step;
		read_all(&wanted, 1, UINT64_MAX, &taken);
		assert_int_equal(taken.nr, 1);
		assert_int_equal(taken.is_read[0], cases[i].is_alive);
	}
	lua_object[8] = 8; /* a pointer to nothing */
	read_all(&wanted, 1, UINT64_MAX, &taken);
	assert_false(taken.is_read[0]);
}

static void processes_take_turns(void **state)
{
	static struct taken taken;
	struct script_wanted list[4 * TURN];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(list); i++) {
		list[i] = wanted_of(i);
		/* three quarters are of one process */
		if (i >= 3 * TURN)
			list[i].pid = NOBODY;
	}
	read_all(list, ARRAY_SIZE(list), UINT64_MAX, &taken);
	assert_int_equal(taken.nr, ARRAY_SIZE(list));
	for (uint32_t i = 0; i < ARRAY_SIZE(list); i++) {
		bool is_others = i / TURN == 1;

		assert_int_equal(taken.wanted[i].pid == NOBODY, is_others);
		assert_int_equal(taken.is_read[i], !is_others);
	}
}

static void nothing_is_begun_when_time_is_over(void **state)
{
	static struct taken taken;
	struct script_wanted wanted = wanted_of(0);

	(void)state;
	read_all(&wanted, 1, 0, &taken);
	assert_int_equal(taken.nr, 0);
}

static const struct script_facts python = { .version = 0x030b02f0, .language = SCRIPT_PYTHON };

/* Script codes that want @nr code objects of process @pid. */
static struct script_codes *codes_of(uint32_t pid, uint32_t nr)
{
	struct script_wanted wanted = wanted_of(0);
	struct script_codes *codes;

	wanted.pid = pid;
	assert_int_equal(script_codes_create(64u << 20, false, &codes), 0);
	for (uint32_t i = 0; i < nr; i++) {
		wanted.word = 0x10000 + 16 * i;
		script_codes_want(codes, &python, 1, &wanted);
	}
	return codes;
}

static void code_of_a_program_that_has_gone_has_no_name(void **state)
{
	struct script_codes *codes = codes_of(NOBODY, 2);
	uint64_t word = script_codes_frame(codes, 1, 0x10010, 5);
	struct script_frame frame;
	struct script_stats stats;

	(void)state;
	assert_true(script_codes_has(codes, 1, 0x10000, 0));
	assert_false(script_codes_has(codes, 2, 0x10000, 0));
	script_codes_read(codes, false);
	assert_false(script_codes_find(codes, word, &frame));
	assert_string_equal(frame.language, "python");
	assert_int_equal(frame.why, SCRIPT_UNNAMED_GONE);
	script_codes_stats(codes, &stats);
	assert_int_equal(stats.codes, 2);
	assert_int_equal(stats.unnamed_codes, 2);
	assert_int_equal(stats.refused_codes, 0);
	script_codes_put(codes);
}

static void a_process_has_half_of_the_room(void **state)
{
	struct script_codes *codes = codes_of(NOBODY, SCRIPT_WANTED_MAX / 2 + 3);
	struct script_wanted other = wanted_of(0);
	struct script_stats stats;

	(void)state;
	script_codes_stats(codes, &stats);
	assert_int_equal(stats.codes, SCRIPT_WANTED_MAX / 2);
	assert_int_equal(stats.refused_codes, 3);
	script_codes_want(codes, &python, 2, &other);
	script_codes_stats(codes, &stats);
	assert_int_equal(stats.codes, SCRIPT_WANTED_MAX / 2 + 1);
	script_codes_put(codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_read),
		cmocka_unit_test(what_is_not_there_says_why),
		cmocka_unit_test(what_was_freed_is_not_read),
		cmocka_unit_test(what_lua_freed_is_not_read),
		cmocka_unit_test(processes_take_turns),
		cmocka_unit_test(nothing_is_begun_when_time_is_over),
		cmocka_unit_test(code_of_a_program_that_has_gone_has_no_name),
		cmocka_unit_test(a_process_has_half_of_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
