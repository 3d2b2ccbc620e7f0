/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about probes to a real worker in its sandbox. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "parse/client.h"
#include "parse/message.h"
#include "tests/support/elf_builder.h"
#include "tests/support/office.h"

static void a_function_is_found_by_its_name(void **state)
{
	struct office *office = *state;
	AUTO_FD int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct client_file file;
	struct probe_sites sites;
	struct fpl_err err = { 0 };
	char name[PARSE_NAME_TEXT_MAX + 2];

	assert_int_equal(client_file_init(&file, self, "/bin/self"), 0);
	assert_int_equal(client_function(office->client, &file, "open_office", &sites, NULL), 0);
	assert_int_equal(sites.nr, 1);
	assert_int_equal(sites.list[0].kind, PROBE_SITE_CODE);
	assert_string_equal(sites.text + sites.list[0].name, "open_office");
	assert_in_range(sites.list[0].off, 1, file.size - 1);
	probe_sites_fini(&sites);
	assert_int_equal(client_function(office->client, &file, "open_ofice", &sites, NULL), 0);
	assert_int_equal(sites.list[0].kind, PROBE_SITE_SIMILAR);
	assert_string_equal(sites.text + sites.list[0].name, "open_office");
	probe_sites_fini(&sites);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(client_function(office->client, &file, name, &sites, &err), -E2BIG);
	assert_string_equal(err.msg, "/bin/self: a name of more than 1023 bytes");
	name[sizeof(name) - 2] = '\0';
	assert_int_equal(client_function(office->client, &file, name, &sites, NULL), 0);
	assert_int_equal(sites.nr, 0);
	probe_sites_fini(&sites);
}

/* A file with one note. */
static int noted_file(void)
{
	static const struct __attribute__((__packed__)) {
		uint32_t sizes[3];
		char owner[8];
		uint64_t addresses[3];
		char texts[12];
	} note = { { 8, 24 + 12, 3 }, "stapsdt", { 0x1010, 0, 0 }, "one\0two\0001@$" };
	struct elf_builder b;
	int fd;

	elf_builder_init(&b, ET_DYN);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0x400, 0x1000, 0x100, 0x100);
	elf_builder_put(&b, 0x500, NULL, 0);
	elf_builder_section(&b, ".note.stapsdt", SHT_NOTE, 0, 0, &note, sizeof(note));
	elf_builder_finish(&b);
	fd = elf_builder_memfd(&b);
	elf_builder_fini(&b);
	return fd;
}

static void probes_are_what_notes_say(void **state)
{
	struct office *office = *state;
	AUTO_FD int fd = noted_file();
	struct client_file file;
	struct probe_sites sites;

	assert_int_equal(client_file_init(&file, fd, "/bin/noted"), 0);
	assert_int_equal(client_probes(office->client, &file, &sites, NULL), 0);
	assert_int_equal(sites.nr, 1);
	assert_int_equal(sites.list[0].off, 0x410);
	assert_string_equal(sites.text + sites.list[0].provider, "one");
	assert_string_equal(sites.text + sites.list[0].name, "two");
	assert_string_equal(sites.text + sites.list[0].args, "1@$");
	probe_sites_fini(&sites);
	/* the client's next question is another one, and answered, too */
	assert_int_equal(client_function(office->client, &file, "0x1010", &sites, NULL), 0);
	assert_int_equal(sites.nr, 1);
	assert_int_equal(sites.list[0].off, 0x410);
	probe_sites_fini(&sites);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_function_is_found_by_its_name, open_office,
						close_office),
		cmocka_unit_test_setup_teardown(probes_are_what_notes_say, open_office,
						close_office),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
