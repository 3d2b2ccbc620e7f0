/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a real worker in its sandbox. */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "parse/client.h"
#include "parse/name_key.h"
#include "symbolize/symtab_read.h"
#include "tests/support/children.h"
#include "tests/support/skip_test.h"
#include "tests/support/elf_path.h"

struct office {
	struct parser *parser;
	struct parse_client *client;
	int self; /* this program */
	struct client_file file;
};

static int open_office(void **state)
{
	struct office *office = calloc(1, sizeof(*office));

	*state = office;
	if (!office || parser_create(PARSER_FORK, &office->parser, NULL) ||
	    client_open(office->parser, &office->client, NULL))
		return -1;
	office->self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return client_file_init(&office->file, office->self, "/bin/self");
}

static int close_office(void **state)
{
	struct office *office = *state;

	client_close(office->client);
	parser_destroy(office->parser);
	close(office->self);
	free(office);
	return 0;
}

/* A file without a name that holds @bytes. */
static void memory_file(struct client_file *file, const void *bytes, size_t size, const char *path)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	assert_int_equal(client_file_init(file, fd, path), 0);
}

/* The only process whose parent is @parent; 0: none. */
static pid_t child_of(pid_t parent)
{
	pid_t pid;

	children_of(parent, &pid);
	return pid;
}

static pid_t worker(void)
{
	return child_of(child_of(getpid()));
}

struct probe {
	const char *name;
	const struct symtab *tab;
	uint64_t vaddr;
};

static int look(const struct symtab_entry *entry, void *ctx)
{
	struct probe *probe = ctx;
	AUTO_FREE char *name = symtab_name(probe->tab, &entry->match);

	if (name && strcmp(name, probe->name) == 0)
		probe->vaddr = entry->match.start;
	return 0;
}

static void find_symbol(const struct elf_file *elf, const char *name, struct probe *ret)
{
	struct symtab *tab;

	assert_int_equal(symtab_create(elf, NULL, 0, &tab, NULL), 0);
	*ret = (struct probe){ .name = name, .tab = tab };
	symtab_for_each(tab, look, ret);
	symtab_destroy(tab);
}

static void facts_are_those_of_the_file(void **state)
{
	struct office *office = *state;
	struct elf_file *told, *read;
	struct identity identity, own;
	struct debug_link link;

	assert_int_equal(client_facts(office->client, &office->file, &told, &identity, &link, NULL),
			 0);
	assert_int_equal(elf_file_open_path("/proc/self/exe", &read, NULL), 0);
	assert_int_equal(identity_read(read, &own, NULL), 0);
	assert_memory_equal(&identity, &own, sizeof(own));
	assert_int_equal(told->entry, read->entry);
	assert_int_equal(told->type, read->type);
	assert_int_equal(told->nr_segments, read->nr_segments);
	assert_memory_equal(told->segments, read->segments,
			    read->nr_segments * sizeof(*read->segments));
	assert_int_equal(told->build_id_size, read->build_id_size);
	assert_int_equal(told->nr_sections, 0);
	elf_file_close(told);
	elf_file_close(read);
}

static void assert_table_is_the_one_compiled_here(struct office *office, bool synth)
{
	struct table_limits limits = table_limits_default;
	struct table *sent, *own;
	struct elf_file *elf;

	limits.synth = office->file.synth = synth;
	assert_int_equal(client_table(office->client, &office->file, &sent, NULL), 0);
	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	assert_int_equal(table_compile(elf, NULL, &limits, &own, NULL), 0);
	assert_int_equal(sent->stats.synth_bytes, own->stats.synth_bytes);
	assert_int_equal(sent->image_bytes, own->image_bytes);
	assert_int_equal(sent->entry_vaddr, own->entry_vaddr);
	for (uint32_t at = 0; at < own->image_bytes; at += FPL_CHUNK_SIZE) {
		uint32_t left = own->image_bytes - at;

		assert_memory_equal(sent->chunks[at >> FPL_CHUNK_LOG2],
				    own->chunks[at >> FPL_CHUNK_LOG2],
				    left < FPL_CHUNK_SIZE ? left : FPL_CHUNK_SIZE);
	}
	elf_file_close(elf);
	table_destroy(sent);
	table_destroy(own);
}

static void table_is_the_one_compiled_here(void **state)
{
	assert_table_is_the_one_compiled_here(*state, false);
	assert_table_is_the_one_compiled_here(*state, true);
}

static void errors_are_those_of_the_file_and_name_it(void **state)
{
	struct office *office = *state;
	struct client_file file;
	struct elf_file *elf;
	struct identity identity;
	struct debug_link link;
	struct fpl_err err = { 0 };

	memory_file(&file, "no ELF file at all", 18, "/tmp/text");
	assert_int_equal(client_facts(office->client, &file, &elf, &identity, &link, &err),
			 -ENOEXEC);
	assert_string_equal(err.msg, "/tmp/text: no ELF file");
	close(file.fd);
	assert_int_equal(parser_nr_deaths(office->parser), 0);
}

static void assert_status(pid_t pid, const char *line)
{
	char path[64], text[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (!found && fgets(text, sizeof(text), file))
		found = strcmp(text, line) == 0;
	fclose(file);
	if (!found)
		fail_msg("pid %d has not: %s", (int)pid, line);
}

static size_t nr_fds(pid_t pid)
{
	char path[64];
	size_t nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) /* not root */
		return 0;
	for (const struct dirent *entry; (entry = readdir(dir));)
		nr += entry->d_name[0] != '.';
	closedir(dir);
	return nr;
}

static void worker_has_no_rights(void **state)
{
	static const char *const lines[] = {
		"NoNewPrivs:\t1\n",
		"CapInh:\t0000000000000000\n",
		"CapPrm:\t0000000000000000\n",
		"CapEff:\t0000000000000000\n",
		"CapAmb:\t0000000000000000\n",
#ifndef __SANITIZE_ADDRESS__
		"Seccomp:\t2\n",
#endif
	};
	struct office *office = *state;
	struct table *table;

	assert_int_equal(client_table(office->client, &office->file, &table, NULL), 0);
	table_destroy(table);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_status(child_of(getpid()), lines[i]);
		assert_status(worker(), lines[i]);
	}
	if (geteuid() == 0)
		assert_status(worker(), "Uid:\t2147483646\t2147483646\t2147483646\t2147483646\n");
	assert_true(nr_fds(child_of(getpid())) <= 4);
	assert_true(nr_fds(worker()) <= 4);
}

static void death_of_a_worker_costs_one_request(void **state)
{
	struct office *office = *state;
	struct fpl_err err = { 0 };
	struct table *table;
	pid_t first;

	assert_int_equal(client_table(office->client, &office->file, &table, NULL), 0);
	table_destroy(table);
	first = worker();
	need_root();
	assert_int_equal(kill(first, SIGTERM), 0);
	assert_int_equal(client_table(office->client, &office->file, &table, &err), -EOWNERDEAD);
	assert_string_equal(err.msg, "/bin/self: the process that read it was killed by signal 15 "
				     "(Terminated)");
	assert_int_equal(client_table(office->client, &office->file, &table, &err), 0);
	table_destroy(table);
	assert_int_not_equal(worker(), first);
	assert_int_equal(parser_nr_deaths(office->parser), 1);
}

/* The file is not blamed for @signal. */
static void expect_replaced_after(struct office *office, int signal)
{
	struct table *table;
	pid_t first;

	assert_int_equal(client_table(office->client, &office->file, &table, NULL), 0);
	table_destroy(table);
	first = worker();
	need_root();
	assert_int_equal(kill(first, signal), 0);
	assert_int_equal(client_table(office->client, &office->file, &table, NULL), 0);
	table_destroy(table);
	assert_int_not_equal(worker(), first);
	assert_int_equal(parser_nr_deaths(office->parser), 0);
}

static void killed_worker_is_replaced(void **state)
{
	expect_replaced_after(*state, SIGKILL);
}

static void stopped_worker_is_replaced(void **state)
{
	expect_replaced_after(*state, SIGSTOP);
}

static void names_and_functions_are_those_of_the_file(void **state)
{
	struct office *office = *state;
	struct symbol_places places;
	struct probe probe = { .vaddr = 0 };
	struct elf_file *elf;

	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	find_symbol(elf, "open_office", &probe);
	assert_true(probe.vaddr != 0);

	const uint64_t vaddrs[] = { 0, probe.vaddr, probe.vaddr + 1, UINT64_MAX };

	assert_int_equal(client_names(office->client, &office->file, vaddrs, 4, &places, NULL), 0);
	assert_null(places.places[0].name);
	assert_string_equal(places.places[1].name, "open_office");
	assert_int_equal(places.places[1].start, vaddrs[1]);
	assert_string_equal(places.places[2].name, "open_office");
	assert_int_equal(places.places[2].start, vaddrs[1]);
	assert_null(places.places[3].name);
	free(places.places);
	free(places.text);

	uint8_t bits[4];

	assert_int_equal(client_frames(office->client, &office->file, vaddrs, 4, bits, NULL), 0);
	assert_int_equal(bits[0] | bits[3], 0);
	assert_true(bits[1] & bits[2] & SYMBOL_FRAME_KNOWN);
	elf_file_close(elf);
}

static void lines_are_those_of_the_debug_file(void **state)
{
	struct office *office = *state;
	const char *path = FIXTURES "/inlined_split";
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct client_file file;
	struct elf_file *elf;
	struct debug_link link;
	struct symbol_chains chains;
	struct symbol_places places;
	const struct symbol_line *last;
	struct probe probe;

	if (fd < 0)
		skip_test("%s is not built: no C++ compiler", path);
	assert_int_equal(client_file_init(&file, fd, path), 0);
	assert_int_equal(client_facts(office->client, &file, &elf, NULL, &link, NULL), 0);
	client_find_debug(office->client, &file, elf, &link, NULL);
	elf_file_close(elf);
	assert_true(file.debug_fd >= 0);
	assert_int_equal(elf_file_open_path(FIXTURES "/inlined_split.debug", &elf, NULL), 0);
	find_symbol(elf, "_Z9outermosti", &probe);
	elf_file_close(elf);

	const uint64_t vaddrs[] = { 0, probe.vaddr, UINT64_MAX };

	assert_int_equal(client_lines(office->client, &file, vaddrs, 3, &chains, NULL), 0);
	assert_int_equal(chains.chains[0].nr | chains.chains[2].nr, 0);
	assert_int_not_equal(chains.chains[1].nr, 0);
	last = &chains.lines[chains.chains[1].first + chains.chains[1].nr - 1];
	assert_string_equal(last->name, "outermost(int)");
	assert_string_equal(last->file, "/fixture/inlined.cc");
	assert_int_equal(last->start_line, 28);
	symbol_chains_fini(&chains);

	client_mangled(office->client);
	assert_int_equal(client_lines(office->client, &file, vaddrs, 3, &chains, NULL), 0);
	last = &chains.lines[chains.chains[1].first + chains.chains[1].nr - 1];
	assert_string_equal(last->name, "_Z9outermosti");
	symbol_chains_fini(&chains);
	assert_int_equal(client_names(office->client, &file, vaddrs, 3, &places, NULL), 0);
	assert_string_equal(places.places[1].name, "_Z9outermosti");
	symbol_places_fini(&places);
	close(file.debug_fd);
}

static void a_listing_is_the_code_of_the_function(void **state)
{
	struct office *office = *state;
	bool calls_another = false, returns = false;
	struct probe probe = { .vaddr = 0 };
	struct listing listing;
	struct fpl_err err = { 0 };
	struct elf_file *elf;

	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	find_symbol(elf, "open_office", &probe);
	elf_file_close(elf);
	assert_int_equal(client_listing(office->client, &office->file, probe.vaddr + 1, false,
					&listing, NULL),
			 0);
	assert_int_equal(listing.range.start, probe.vaddr);
	assert_int_equal(listing.insns[0].vaddr, probe.vaddr);
	assert_false(listing.is_cut);
	for (size_t i = 0; i < listing.nr; i++) {
		const struct listing_insn *insn = &listing.insns[i];

		assert_int_not_equal(insn->kind, LISTING_BAD);
		returns |= insn->kind == LISTING_RETURN;
		calls_another |= insn->target_name && !strcmp(insn->target_name, "client_open");
	}
	assert_true(calls_another && returns);
	listing_fini(&listing);
	assert_int_equal(
		client_listing(office->client, &office->file, UINT64_MAX, false, &listing, &err),
		-ENOENT);
	assert_non_null(strstr(err.msg, "no symbol and no FDE covers 0xffffffffffffffff"));
}

static void a_debug_file_has_no_code_to_list(void **state)
{
	struct office *office = *state;
	const char *path = FIXTURES "/inlined_split.debug";
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct client_file file;
	struct listing listing;
	struct elf_file *elf;
	struct probe probe;

	if (fd < 0)
		skip_test("%s is not built: no C++ compiler", path);
	assert_int_equal(elf_file_open_path(path, &elf, NULL), 0);
	find_symbol(elf, "_Z9outermosti", &probe);
	elf_file_close(elf);
	assert_int_equal(client_file_init(&file, fd, path), 0);
	assert_int_equal(client_listing(office->client, &file, probe.vaddr, false, &listing, NULL),
			 -ENODATA);
}

static void a_file_without_debugging_information_has_no_lines(void **state)
{
	struct office *office = *state;
	const uint64_t vaddr = 0x1000;
	const char *path = FIXTURES "/inlined_none";
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_chains chains;
	struct client_file file;
	struct fpl_err err = { 0 };

	if (fd < 0)
		skip_test("%s is not built: no C++ compiler", path);
	assert_int_equal(client_file_init(&file, fd, path), 0);
	assert_int_equal(client_lines(office->client, &file, &vaddr, 1, &chains, &err), -ENOENT);
}

/* Has the file open at @fd a key? Not while it was changed a moment ago. */
static bool wait_for_key(int fd)
{
	struct name_key key;

	for (int i = 0; i < 3000; i++) {
		if (name_key_read(fd, "/", false, &key) == 0)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

/* Files are put away, or closed, behind the answer. */
static bool wait_for_fds(size_t nr)
{
	for (int i = 0; i < 3000; i++) {
		if (nr_fds(worker()) == nr)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

/* A kept file answers as one that is read again; only a client that asks for it has files kept. */
static void a_worker_keeps_files_that_will_be_asked_about_again(void **state)
{
	struct office *office = *state;
	struct symbol_places places;
	struct probe probe = { .vaddr = 0 };
	struct elf_file *elf;

	if (!wait_for_key(office->self))
		skip_test("the times of this file system tell no change");
	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	find_symbol(elf, "open_office", &probe);
	elf_file_close(elf);

	const uint64_t vaddrs[] = { 0, probe.vaddr, UINT64_MAX };

	for (unsigned int i = 0; i < 4; i++) {
		if (i == 1)
			client_keep(office->client);
		assert_int_equal(
			client_names(office->client, &office->file, vaddrs, 3, &places, NULL), 0);
		assert_null(places.places[0].name);
		assert_string_equal(places.places[1].name, "open_office");
		assert_int_equal(places.places[1].start, vaddrs[1]);
		assert_null(places.places[2].name);
		symbol_places_fini(&places);
		/* beside its socket */
		assert_true(wait_for_fds(i ? 2 : 1));
	}
}

static const char *const files[] = { "chain", "fork", "leaf", "hole", "vfork", "signal", "clock" };

/* Names of some files, by a worker that may have few descriptors: of each there is an answer. */
static bool names_files(rlim_t nr_fds)
{
	const struct rlimit few = { nr_fds, nr_fds };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	static const uint64_t vaddrs[] = { 0x1000 };
	struct parser *parser;
	struct parse_client *client;
	bool all = true;

	/* who may raise limits would */
	if (syscall(SYS_capget, &header, caps) < 0)
		return false;
	caps[0].effective &= ~(1u << CAP_SYS_RESOURCE);
	caps[0].permitted &= ~(1u << CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &header, caps) < 0 || setrlimit(RLIMIT_NOFILE, &few) < 0 ||
	    parser_create(PARSER_FORK, &parser, NULL) || client_open(parser, &client, NULL))
		return false;
	client_keep(client);
	for (size_t i = 0; i < ARRAY_SIZE(files) * 2; i++) {
		char path[PATH_MAX];
		struct client_file file;
		struct symbol_places places;

		snprintf(path, sizeof(path), FIXTURES "/%s", files[i % ARRAY_SIZE(files)]);
		AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || !wait_for_key(fd) || client_file_init(&file, fd, path) ||
		    client_names(client, &file, vaddrs, 1, &places, NULL))
			all = false;
		else
			symbol_places_fini(&places);
	}
	client_close(client);
	parser_destroy(parser);
	return all;
}

static void few_descriptors_are_enough(void **state)
{
	static const rlim_t limits[] = { 12, 13, 16, 100 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			syscall(SYS_close_range, 3, ~0u, 0);
			_exit(names_files(limits[i]) ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static const char *code_at(const struct code_table *table, uint64_t addr)
{
	struct code_match match;

	return code_table_find(table, addr, 0, &match) ? match.name : "none";
}

static void perf_maps_come_back_as_tables(void **state)
{
	static const char text[] = "2000 10 later\n1000 20 first\nhello\n1008 8 over\n";
	struct office *office = *state;
	struct client_file file;
	struct code_table table;
	struct code_file_result result;

	memory_file(&file, text, sizeof(text) - 1, "/tmp/perf-1.map");
	code_table_init(&table, 1 << 20);
	assert_int_equal(client_perf_map(office->client, &file, &table, &result, NULL), 0);
	assert_int_equal(result.nr_entries, 3);
	assert_int_equal(result.nr_bad, 1);
	assert_int_equal(result.bad_off, 28);
	assert_int_equal(result.fault, CODE_FAULT_NO_LINE);
	assert_string_equal(code_at(&table, 0x1007), "first");
	assert_string_equal(code_at(&table, 0x1008), "over");
	assert_string_equal(code_at(&table, 0x200f), "later");
	assert_string_equal(code_at(&table, 0x2010), "none");
	code_table_fini(&table);

	code_table_init(&table, CODE_ENTRY_CHARGE + 16);
	assert_int_equal(client_perf_map(office->client, &file, &table, &result, NULL), 0);
	assert_int_equal(result.end, CODE_FILE_NO_ROOM);
	assert_int_equal(table.nr, 1);
	code_table_fini(&table);
	close(file.fd);
}

static void jitdumps_come_back_as_tables_or_say_what_is_wrong(void **state)
{
	const struct {
		uint32_t magic, version, header_size, machine, pad, pid;
		uint64_t time, flags;
		uint32_t id, size;
		uint64_t load_time;
		uint32_t load_pid, tid;
		uint64_t vma, addr, code_size, index;
		char name[8];
	} dump = {
		.magic = 0x4a695444,
		.version = 1,
		.header_size = 40,
		.machine = 62,
		.pid = 7,
		.size = 64,
		.load_time = 5,
		.load_pid = 7,
		.addr = 0x1000,
		.code_size = 16,
		.name = "jitted",
	};
	struct office *office = *state;
	struct client_file file;
	struct code_table table;
	struct code_file_result result;
	struct fpl_err err = { 0 };

	memory_file(&file, &dump, sizeof(dump), "jit-7.dump");
	code_table_init(&table, 1 << 20);
	assert_int_equal(client_jitdump(office->client, &file, 7, &table, &result, NULL), 0);
	assert_string_equal(code_at(&table, 0x100f), "jitted");
	code_table_fini(&table);
	assert_int_equal(client_jitdump(office->client, &file, 8, &table, &result, &err), -EINVAL);
	assert_string_equal(err.msg, "jit-7.dump: offset 20: of process 7, not 8");
	code_table_fini(&table);
	close(file.fd);
	assert_int_equal(parser_nr_deaths(office->parser), 0);
}

static void examinations_are_those_of_the_file_and_are_checked(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
		size_t nr;
	} cases[] = {
		{ "a build-id that is none", offsetof(struct examination, build_id), ';', 1 },
		{ "a build-id without an end", offsetof(struct examination, build_id), '0',
		  sizeof(((struct examination *)0)->build_id) },
		{ "a problem without an end", offsetof(struct examination, problem), 'x',
		  sizeof(((struct examination *)0)->problem) },
		{ "two as a bool", offsetof(struct examination, measured), 2, 1 },
		{ "255 as a bool", offsetof(struct examination, debug_has_info), 255, 1 },
		{ "too many functions", offsetof(struct examination, coverage.nr_largest), 6, 1 },
		{ "a name without an end", offsetof(struct examination, coverage.largest[0].name),
		  'x', COVERAGE_NAME_MAX },
	};
	struct office *office = *state;
	struct examination sent, own, changed;
	struct elf_file *elf;

	assert_int_equal(client_examine(office->client, &office->file, &sent, NULL), 0);
	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	assert_int_equal(examine(elf, NULL, &own, NULL), 0);
	elf_file_close(elf);
	assert_true(own.has_table);
	assert_memory_equal(&sent, &own, sizeof(own));
	if (own.coverage.nr_largest == 0)
		own.coverage.nr_largest = 1; /* without a name */
	assert_true(examination_check(&own));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		changed = own;
		memset((char *)&changed + cases[i].at, cases[i].byte, cases[i].nr);
		if (examination_check(&changed))
			fail_msg("%s", cases[i].what);
	}
}

static void spawner_that_was_ended_or_stopped_is_replaced(void **state)
{
	struct office *office = *state;
	struct table *table;

	assert_int_equal(client_table(office->client, &office->file, &table, NULL), 0);
	table_destroy(table);
	need_root();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(kill(child_of(getpid()), i ? SIGKILL : SIGSTOP), 0);
		client_close(office->client);
		assert_int_equal(client_open(office->parser, &office->client, NULL), 0);
		assert_int_equal(client_table(office->client, &office->file, &table, NULL), 0);
		table_destroy(table);
	}
}

static void another_trust_gets_another_worker(void **state)
{
	struct office *office = *state;
	struct client_file file;
	struct elf_file *elf;
	struct identity identity;
	struct debug_link link;
	pid_t first;

	assert_int_equal(client_facts(office->client, &office->file, &elf, &identity, &link, NULL),
			 0);
	elf_file_close(elf);
	first = worker();
	assert_int_equal(client_facts(office->client, &office->file, &elf, &identity, &link, NULL),
			 0);
	elf_file_close(elf);
	assert_int_equal(worker(), first);
	memory_file(&file, "x", 1, "x");
	assert_int_equal(client_facts(office->client, &file, &elf, &identity, &link, NULL),
			 -ENOEXEC);
	assert_int_not_equal(worker(), first);
	close(file.fd);
}

static void files_that_end_workers_wait(void **state)
{
	struct office *office = *state;
	struct trust other = { .dev = 1, .uid = 2 };
	struct fpl_err err = { 0 };
	pid_t pid;
	int sock;

	for (int i = 0; i < 17; i++)
		parser_blame(office->parser, &office->file.trust);
	assert_int_equal(parser_hire(office->parser, &office->file.trust, false, &sock, &pid, &err),
			 -EAGAIN);
	assert_string_not_equal(err.msg, "");
	assert_int_equal(parser_hire(office->parser, &other, true, &sock, &pid, &err), 0);
	close(sock);
	assert_true(parser_bury(office->parser, pid) >= 0);
}

static void trust_names_the_possible_writers(void **state)
{
	char path[] = "/tmp/fpless-test-XXXXXX";
	int fd = mkstemp(path);
	struct trust own, shared, unnamed;
	const struct trust root = { .dev = 1, .uid = 0 }, user = { .dev = 1, .uid = 1000 };
	const struct trust anyone = { .dev = 1, .uid = 0, .inode = 7 };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(trust_read(fd, &own), 0);
	assert_int_equal(own.inode, 0);
	assert_int_equal(own.uid, geteuid());
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(trust_read(fd, &shared), 0);
	assert_int_not_equal(shared.inode, 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	unlink(path);
	assert_int_equal(trust_read(fd, &unnamed), 0);
	assert_int_not_equal(unnamed.inode, 0);
	close(fd);
	assert_true(trust_covers(&user, &root));
	assert_true(trust_covers(&user, &user));
	assert_false(trust_covers(&root, &user));
	assert_false(trust_covers(&user, &anyone));
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_office, close_office)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(facts_are_those_of_the_file),
		test(table_is_the_one_compiled_here),
		test(errors_are_those_of_the_file_and_name_it),
		test(worker_has_no_rights),
		test(death_of_a_worker_costs_one_request),
		test(killed_worker_is_replaced),
		test(stopped_worker_is_replaced),
		test(names_and_functions_are_those_of_the_file),
		test(lines_are_those_of_the_debug_file),
		test(a_listing_is_the_code_of_the_function),
		test(a_debug_file_has_no_code_to_list),
		test(a_file_without_debugging_information_has_no_lines),
		test(a_worker_keeps_files_that_will_be_asked_about_again),
		cmocka_unit_test(few_descriptors_are_enough),
		test(perf_maps_come_back_as_tables),
		test(jitdumps_come_back_as_tables_or_say_what_is_wrong),
		test(examinations_are_those_of_the_file_and_are_checked),
		test(spawner_that_was_ended_or_stopped_is_replaced),
		test(another_trust_gets_another_worker),
		test(files_that_end_workers_wait),
		test(trust_names_the_possible_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
