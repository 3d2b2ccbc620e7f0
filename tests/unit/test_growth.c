/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow, the table that finds their entries, and what happens without memory. */
#include "cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/id_table.h"
#include "base/strings.h"
#include "base/vector.h"
#include "tests/support/skip_test.h"

/* A build with sanitizers ends where there is no memory, unless it is told not to. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

struct pair {
	uint32_t key, value;
};

static void vector_keeps_entries_while_it_grows(void **state)
{
	VECTOR(struct pair) pairs = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(vector_push(&pairs, { i, 2 * i }), 0);
	assert_int_equal(pairs.nr, 10000);
	assert_true(vector_bytes(&pairs) >= 10000 * sizeof(struct pair));
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(pairs.list[i].key, i);
		assert_int_equal(pairs.list[i].value, 2 * i);
	}
	vector_fini(&pairs);
	assert_null(pairs.list);
	assert_int_equal(pairs.nr + pairs.room, 0);
}

static void vector_is_trimmed_to_its_entries(void **state)
{
	VECTOR(size_t) list = { 0 };

	(void)state;
	vector_trim(&list);
	assert_int_equal(list.room, 0);
	for (size_t i = 0; i < 1000; i++)
		must_push(&list, i);
	assert_true(list.room > 1000);
	vector_trim(&list);
	assert_int_equal(list.room, 1000);
	assert_int_equal(list.nr, 1000);
	assert_int_equal(list.list[999], 999);
	list.nr = 0;
	vector_trim(&list);
	assert_int_equal(list.room, 1); /* never a request of no bytes */
	must_push(&list, 7);
	vector_fini(&list);
}

static void vector_can_push_an_entry_of_its_own(void **state)
{
	VECTOR(size_t) list = { 0 };

	(void)state;
	must_push(&list, 7);
	while (list.nr < list.room)
		must_push(&list, list.nr);
	must_push(&list, list.list[0]); /* the list moves */
	assert_int_equal(list.list[list.nr - 1], 7);
	vector_fini(&list);
}

static void vector_without_memory_stays_as_it_is(void **state)
{
	VECTOR(struct pair) pairs = { 0 };

	(void)state;
	must_push(&pairs, { 1, 2 });
	assert_int_equal(vector_reserve(&pairs, SIZE_MAX / 8), -ENOMEM);
	assert_int_equal(vector_reserve(&pairs, SIZE_MAX), -ENOMEM);
	assert_int_equal(pairs.nr, 1);
	assert_int_equal(pairs.list[0].value, 2);
	vector_fini(&pairs);
}

/* Few different hashes, so that most entries collide. */
static uint64_t hash_of(uint32_t key)
{
	return key % 97;
}

static void table_finds_what_was_added_and_nothing_else(void **state)
{
	enum { NR = 3000 };
	VECTOR(struct pair) pairs = { 0 };
	struct id_table table = { 0 };

	(void)state;
	assert_int_equal(ID_TABLE_FIND(&table, 5, i, true), ID_TABLE_NONE);
	for (uint32_t key = 0; key < NR; key++) {
		uint32_t found = ID_TABLE_FIND(&table, hash_of(key), i, pairs.list[i].key == key);

		assert_int_equal(found, ID_TABLE_NONE);
		must_id_table_add(&table, hash_of(key), (uint32_t)pairs.nr);
		must_push(&pairs, { key, key + 1 });
	}
	for (uint32_t key = 0; key < NR; key++)
		assert_int_equal(ID_TABLE_FIND(&table, hash_of(key), i, pairs.list[i].key == key),
				 key);
	assert_int_equal(ID_TABLE_FIND(&table, hash_of(NR), i, pairs.list[i].key == NR),
			 ID_TABLE_NONE);
	assert_int_equal(table.nr, NR);
	id_table_fini(&table);
	vector_fini(&pairs);
}

static void table_asks_of_equal_hashes_alone(void **state)
{
	struct id_table table = { 0 };
	unsigned nr_asked = 0;

	(void)state;
	must_id_table_add(&table, 0, 0);
	must_id_table_add(&table, 256, 1); /* the slot behind that of 0 */
	must_id_table_add(&table, 0, 2);
	assert_int_equal(ID_TABLE_FIND(&table, 0, i, (nr_asked++, i == 2)), 2);
	assert_int_equal(nr_asked, 2);
	id_table_fini(&table);
}

static void say_last(void)
{
	(void)!write(STDERR_FILENO, "last\n", 5);
}

/* @fn ends the process and says @wanted on stderr before that. */
static void check_end(void (*fn)(void), const char *wanted)
{
	char said[16384] = "";
	size_t length = 0;
	int pipe_fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(pipe_fds[1], STDERR_FILENO);
		alloc_set_last(say_last);
		fn();
		_exit(0);
	}
	close(pipe_fds[1]);
	for (ssize_t n; (n = read(pipe_fds[0], said + length, sizeof(said) - 1 - length)) > 0;)
		length += (size_t)n;
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), ALLOC_EXIT);
#ifdef __SANITIZE_ADDRESS__ /* has said something itself */
	assert_true(length >= strlen(wanted));
	assert_string_equal(said + length - strlen(wanted), wanted);
#else
	assert_string_equal(said, wanted);
#endif
}

/* More than any machine has, and no constant that a compiler sees. */
static volatile size_t too_much = PTRDIFF_MAX - 4096;

static void allocate(void)
{
	alloc_set_name("x.svg");
	free(must_malloc(too_much));
}

static void allocate_many(void)
{
	free(must_calloc(too_much, 8));
}

static void grow(void)
{
	VECTOR(struct pair) pairs = { 0 };

	must_reserve(&pairs, too_much);
}

static void lack_of_memory_ends_the_process(void **state)
{
	(void)state;
	check_end(allocate, "fpless: x.svg: out of memory\nlast\n");
	check_end(allocate_many, "fpless: out of memory\nlast\n");
	check_end(grow, "fpless: out of memory\nlast\n");
}

static void stream_into_memory_holds_what_was_written(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = must_memstream(&text, &size);

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		assert_int_equal(ftell(stream), 6 * (long)i);
		fprintf(stream, "%05u\n", i);
	}
	must_memstream_close(stream);
	assert_int_equal(size, 600000);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(strtoul(text + 6 * (size_t)i, NULL, 10), i);
	assert_int_equal(text[size], '\0');
	free(text);
}

/* A glibc whose streams into memory drop what does not fit would go on. */
static void write_beyond_limit(void)
{
	struct rlimit limit = { 64 << 20, 64 << 20 };
	char *text;
	size_t size;
	FILE *stream = must_memstream(&text, &size);

	setrlimit(RLIMIT_AS, &limit);
	for (unsigned i = 0; i < 64 << 10; i++)
		fprintf(stream, "%01024u", i);
	must_memstream_close(stream);
}

static void stream_into_memory_drops_nothing(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip_test("with sanitizers no limit of memory holds");
#endif
	check_end(write_beyond_limit, "fpless: out of memory\nlast\n");
}

static void nothing_is_an_allocation_too(void **state)
{
	char *text = NULL;
	size_t size;
	void *list = must_reallocarray(NULL, 0, 8);
	FILE *stream = must_memstream(&text, &size);

	(void)state;
	fputs("abc", stream);
	must_memstream_close(stream);
	assert_string_equal(text, "abc");
	free(text);
	free(must_malloc(0));
	free(must_calloc(0, 8));
	list = must_reallocarray(list, 0, 8);
	free(list);
	text = must_asprintf("%d-%s", 1, "b");
	assert_string_equal(text, "1-b");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_keeps_entries_while_it_grows),
		cmocka_unit_test(vector_is_trimmed_to_its_entries),
		cmocka_unit_test(vector_can_push_an_entry_of_its_own),
		cmocka_unit_test(vector_without_memory_stays_as_it_is),
		cmocka_unit_test(table_finds_what_was_added_and_nothing_else),
		cmocka_unit_test(table_asks_of_equal_hashes_alone),
		cmocka_unit_test(lack_of_memory_ends_the_process),
		cmocka_unit_test(stream_into_memory_holds_what_was_written),
		cmocka_unit_test(stream_into_memory_drops_nothing),
		cmocka_unit_test(nothing_is_an_allocation_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
