/* SPDX-License-Identifier: Apache-2.0 */
/* A perf.data is read as what a perf prints that has no rights, little time and a keeper. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/perf_data.h"
#include "parse/sandbox.h"

#define SECONDS 60u /* more than any of these needs */

static char folder[] = "/tmp/fpless-test-XXXXXX";
static const char file_bytes[] = "PERFILE2\x68\0\0\0\0\0\0\0and more";
static const char stream_bytes[] = "PERFILE2\x10\0\0\0\0\0\0\0and more";

/* From now on `perf' is this shell script. */
static void make_perf(const char *script)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/perf", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
}

static int file_of(const char *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(io_write(fd, bytes, size), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int pipe_of(const char *bytes, size_t size)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, size), size);
	close(ends[1]);
	return ends[0];
}

/* Run perf on @fd, which is closed, and take its text. Returns the result of the run. */
static int run(int fd, unsigned seconds, bool has_samples, char text[4096], struct fpl_err *err)
{
	struct perf_data data;
	ssize_t nr;
	int error;

	assert_true(perf_data_is(fd));
	error = perf_data_open("x.data", fd, seconds, &data, err);
	close(fd);
	if (error)
		return error;
	perf_data_begin(&data);
	nr = io_read(data.text_fd, text, 4095);
	assert_true(nr >= 0);
	text[nr] = '\0';
	error = perf_data_end(&data, "x.data", has_samples, 0, err);
	perf_data_fini(&data);
	perf_data_fini(&data);
	return error;
}

static void a_perf_data_is_known_by_its_beginning_which_stays_there(void **state)
{
	static const struct {
		const char *what, *bytes;
		size_t size;
		bool is;
	} cases[] = {
		{ "a file", file_bytes, sizeof(file_bytes), true },
		{ "of a pipe", stream_bytes, sizeof(stream_bytes), true },
		{ "cut", file_bytes, 15, false },
		{ "empty", "", 0, false },
		{ "folded", "PERFILE;main;f 3\na;b 4\n", 23, false },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const char *bytes = cases[i / 2].bytes;
		size_t size = cases[i / 2].size;
		AUTO_FD int fd = i % 2 ? pipe_of(bytes, size) : file_of(bytes, size);
		char again[64];

		if (perf_data_is(fd) != cases[i / 2].is)
			fail_msg("%s", cases[i / 2].what);
		assert_int_equal(io_read(fd, again, sizeof(again)), size);
		assert_memory_equal(again, bytes, size);
	}
}

/* Also where the file is readable by its owner alone, or comes from a pipe. */
static void perf_reads_the_file(void **state)
{
	char text[4096];
	struct fpl_err err = { 0 };

	(void)state;
	make_perf("eval \"input=\\$$#\"; cat \"$input\"; echo \" $*\"");
	assert_int_equal(run(file_of(file_bytes, sizeof(file_bytes)), SECONDS, true, text, &err),
			 0);
	assert_memory_equal(text, file_bytes, sizeof(file_bytes));
	assert_string_equal(text + sizeof(file_bytes),
			    " script --ns -F +pid -f -i /proc/self/fd/0\n");
	assert_int_equal(run(pipe_of(file_bytes, sizeof(file_bytes)), SECONDS, true, text, &err),
			 0);
	assert_memory_equal(text, file_bytes, sizeof(file_bytes));
	make_perf("cat; echo \" $*\"");
	assert_int_equal(
		run(pipe_of(stream_bytes, sizeof(stream_bytes)), SECONDS, true, text, &err), 0);
	assert_memory_equal(text, stream_bytes, sizeof(stream_bytes));
	assert_string_equal(text + sizeof(stream_bytes), " script --ns -F +pid -f -i -\n");
}

static void perf_has_no_rights(void **state)
{
	char text[4096];
	struct fpl_err err = { 0 };
	static const char *const everywhere[] = {
		"NoNewPrivs:\t1\n", "core=0\n",	      "debuginfod=<>\n",
		"secret=<>\n",	    "written=2048\n", "open=3\n",
	};

	(void)state;
	setenv("DEBUGINFOD_URLS", "https://example.org", 1);
	setenv("SECRET", "x", 1);
	make_perf("cat /proc/self/status; echo core=$(ulimit -c); echo written=$(ulimit -f)\n"
		  "echo \"debuginfod=<$DEBUGINFOD_URLS>\"; echo \"secret=<$SECRET>\"\n"
		  "echo open=$(cd /proc/self/fd; set -- [0-9]; [ -e \"$1\" ]; echo $(($# - 1)))");
	assert_int_equal(run(file_of(file_bytes, sizeof(file_bytes)), SECONDS, true, text, &err),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(everywhere); i++)
		if (!strstr(text, everywhere[i]))
			fail_msg("%sis not in %s", everywhere[i], text);
	assert_non_null(strstr(text, sandbox_has_filter() ? "Seccomp:\t2\n" : "Seccomp:\t"));
	if (geteuid())
		return;
	assert_non_null(strstr(text, "Uid:\t65534\t65534\t65534\t65534\n"));
	assert_non_null(strstr(text, "Groups:\t \n"));
	if (!strstr(text, "CapPrm:\t0000000400000000\n"))
		assert_non_null(strstr(text, "CapPrm:\t0000000000000000\n"));
}

static void what_goes_wrong_is_one_error(void **state)
{
	static const struct {
		const char *what, *script;
		unsigned seconds;
		bool has_samples;
		int error;
		const char *message;
	} cases[] = {
		{ "it fails", "echo; echo 'bad\033[file' >&2; echo more >&2; exit 255", SECONDS,
		  false, -EBADMSG, "x.data: perf script: bad\\x1b[file" },
		{ "silently", "exit 1", SECONDS, false, -EBADMSG,
		  "x.data: perf script: it failed without a word" },
		{ "behind samples", "echo text; exit 1", SECONDS, true, 0, "" },
		{ "it is killed", "kill -9 $$; sleep 1000", 1, false, -EBADMSG,
		  "x.data: perf script: " },
		{ "it hangs", "exec sleep 1000", 1, false, -EBADMSG,
		  "x.data: perf script: it took too long and was ended: perf script -i FILE | fpless report - has no limit" },
		{ "what it started hangs", "sleep 1000 & exit 1", SECONDS, false, -EBADMSG,
		  "x.data: perf script: it failed without a word" },
		{ "it says too much", "yes >&2; exit 1", SECONDS, false, -EBADMSG,
		  "x.data: perf script: y" },
	};
	char text[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_err err = { 0 };
		int error;

		make_perf(cases[i].script);
		error = run(file_of(file_bytes, sizeof(file_bytes)), cases[i].seconds,
			    cases[i].has_samples, text, &err);
		if (error != cases[i].error ||
		    strncmp(err.msg, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s: %d: %s", cases[i].what, error, err.msg);
	}
}

/* The reader's error stays, and perf does not print for ever. */
static void a_reader_that_stops_ends_perf(void **state)
{
	AUTO_FD int fd = file_of(file_bytes, sizeof(file_bytes));
	struct fpl_err err = { 0 };
	struct perf_data data;
	char byte;

	(void)state;
	make_perf("exec yes");
	assert_int_equal(perf_data_open("x.data", fd, SECONDS, &data, &err), 0);
	perf_data_begin(&data);
	assert_int_equal(read(data.text_fd, &byte, 1), 1);
	snprintf(err.msg, sizeof(err.msg), "as it was");
	assert_int_equal(perf_data_end(&data, "x.data", true, -E2BIG, &err), -E2BIG);
	assert_string_equal(err.msg, "as it was");
	perf_data_fini(&data);
}

static void without_perf_the_package_is_named(void **state)
{
	AUTO_FD int fd = file_of(file_bytes, sizeof(file_bytes));
	char *path = strdup(getenv("PATH"));
	struct fpl_err err = { 0 };
	struct perf_data data;

	(void)state;
	setenv("PATH", "/nonexistent:", 1);
	assert_int_equal(perf_data_open("x.data", fd, SECONDS, &data, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "perf is not installed: sudo apt-get install linux-perf"));
	perf_data_fini(&data);
	setenv("PATH", path, 1);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_perf_data_is_known_by_its_beginning_which_stays_there),
		cmocka_unit_test(perf_reads_the_file),
		cmocka_unit_test(perf_has_no_rights),
		cmocka_unit_test(what_goes_wrong_is_one_error),
		cmocka_unit_test(a_reader_that_stops_ends_perf),
		cmocka_unit_test(without_perf_the_package_is_named),
	};
	char path[4096];

	/* user 65534 must find it */
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", folder);
	setenv("PATH", path, 1);

	int result = cmocka_run_group_tests(tests, NULL, NULL);

	snprintf(path, sizeof(path), "%s/perf", folder);
	unlink(path);
	rmdir(folder);
	return result;
}
