/* SPDX-License-Identifier: Apache-2.0 */
/* The headers and the table of a small file in one question to a real worker. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "parse/client.h"
#include "tests/support/office.h"

/* The answer to a question for facts and table. */
struct met {
	struct elf_file *elf;
	struct identity identity;
	struct debug_link link;
	struct client_debugging debugging;
	struct table *table;
};

static void describe(int fd, struct client_file *ret)
{
	assert_true(fd >= 0);
	assert_int_equal(client_file_init(ret, fd, "/bin/file"), 0);
	ret->synth = ret->synth_later = true;
}

static int ask(const struct office *office, const struct client_file *file, struct met *ret,
	       struct fpl_err *err)
{
	return client_facts_and_table(office->client, file, &ret->elf, &ret->identity, &ret->link,
				      &ret->debugging, &ret->table, err);
}

static void a_table_comes_with_the_facts(void **state)
{
	struct office *office = *state;
	AUTO_FD int fd = open(FIXTURES "/chain", O_RDONLY | O_CLOEXEC);
	struct client_file file;
	struct elf_file *alone;
	struct identity own;
	struct debug_link link;
	struct table *asked;
	struct met met;

	describe(fd, &file);
	assert_int_equal(ask(office, &file, &met, NULL), 0);
	assert_int_equal(client_facts(office->client, &file, &alone, &own, &link, NULL), 0);
	assert_int_equal(client_table(office->client, &file, &asked, NULL), 0);
	assert_memory_equal(&met.identity, &own, sizeof(own));
	assert_int_equal(met.elf->entry, alone->entry);
	assert_int_equal(met.elf->nr_segments, alone->nr_segments);
	assert_non_null(met.table);
	assert_int_equal(met.table->image_bytes, asked->image_bytes);
	assert_int_equal(met.table->entry_vaddr, asked->entry_vaddr);
	assert_true(asked->image_bytes <= FPL_CHUNK_SIZE);
	assert_memory_equal(met.table->chunks[0], asked->chunks[0], asked->image_bytes);
	elf_file_close(met.elf);
	elf_file_close(alone);
	table_destroy(met.table);
	table_destroy(asked);
}

static void no_table_comes_with_the_facts_of_a_stripped_file(void **state)
{
	AUTO_FD int fd = open(FIXTURES "/chain_split", O_RDONLY | O_CLOEXEC);
	struct client_file file;
	struct met met;

	describe(fd, &file);
	for (int i = 0; i < 2; i++) { /* nothing is left of the first answer */
		assert_int_equal(ask(*state, &file, &met, NULL), 0);
		assert_true(met.link.is_stripped);
		assert_null(met.table);
		elf_file_close(met.elf);
	}
}

static void an_error_of_either_is_one_of_the_question(void **state)
{
	static const char text[] = "no ELF file at all";
	struct office *office = *state;
	AUTO_FD int fd = memfd_create("test", MFD_CLOEXEC);
	struct client_file file;
	struct fpl_err err = { 0 };
	struct met met;

	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	describe(fd, &file);
	assert_int_equal(ask(office, &file, &met, &err), -ENOEXEC);
	assert_string_equal(err.msg, "/bin/file: no ELF file");
	assert_null(met.table);
	assert_int_equal(parser_nr_deaths(office->parser), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_office, close_office)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_table_comes_with_the_facts),
		test(no_table_comes_with_the_facts_of_a_stripped_file),
		test(an_error_of_either_is_one_of_the_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
