/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <ctype.h>
#include <string.h>

#include "../support/recording_text.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/agent_metrics.h"
#include "recording/must_add.h"

#define S UINT64_C(1000000000)

/* The metrics of @sums and of the functions in the folded text @folded; to be freed. */
static char *metrics_of(const struct agent_sums *sums, const char *folded, size_t top)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(hottest_fini) struct hottest hottest = { 0 };
	const struct read_options options = { .memory = 64 << 20 };
	struct fpl_err err = { 0 };
	char *text = NULL;
	size_t size;
	FILE *to;

	if (recording_of(folded, strlen(folded), &options, &recording, &err))
		fail_msg("%s", err.msg);
	hottest_init(&recording, 64, &hottest);
	to = must_memstream(&text, &size);
	agent_sums_write_metrics(to, sums, &hottest, top);
	must_memstream_close(to);
	return text;
}

/* Read NAME{LABEL="TEXT"} in front of @value, as the format has it. Fails for anything else. */
static void check_series(const char *line, const char *value)
{
	const char *at = line, *text;

	while (isalnum((unsigned char)*at) || *at == '_')
		at++;
	if (*at == '{') {
		for (at++; isalpha((unsigned char)*at); at++)
			;
		if (strncmp(at, "=\"", 2) != 0)
			fail_msg("no label: %s", line);
		for (at += 2; *at && *at != '"'; at += *at == '\\' ? 2 : 1)
			if (*at == '\\' && at[1] != '\\')
				fail_msg("an escape that is none: %s", line);
		at += *at == '"' && at[1] == '}' ? 2 : 0;
	}
	for (text = line; *text; text += text_utf8_length(text))
		if (!text_utf8_length(text) || (unsigned char)*text < ' ')
			fail_msg("not to be read by all: %s", line);
	if (at != value)
		fail_msg("expected a blank behind the name: %s", line);
}

/*
 * Each family has a line of help, one of its type and then its series, all in one place, and no
 * series is there twice: of the last promtool says nothing. @text is changed.
 */
static void check_format(char *text)
{
	char *seen[256], *line, *family = NULL;
	size_t nr = 0;

	assert_int_equal(text[strlen(text) - 1], '\n');
	while ((line = strsep(&text, "\n")) && *line) {
		char *value = strrchr(line, ' '), *end;

		assert_non_null(value);
		if (!strncmp(line, "# HELP ", 7)) {
			char *type = strsep(&text, "\n");

			family = line + 7;
			*strchr(family, ' ') = '\0';
			assert_memory_equal(type, "# TYPE ", 7);
			assert_memory_equal(type + 7, family, strlen(family));
			assert_int_equal(!strcmp(strrchr(type, ' '), " counter"),
					 !strcmp(family + strlen(family) - 6, "_total"));
		} else {
			assert_non_null(family);
			assert_memory_equal(line, family, strlen(family));
			strtod(value + 1, &end);
			assert_true(end != value + 1 && !*end);
			check_series(line, value);
			*value = '\0';
		}
		for (size_t i = 0; i < nr; i++)
			if (!strcmp(seen[i], line))
				fail_msg("twice: %s", line);
		assert_true(nr < ARRAY_SIZE(seen));
		seen[nr++] = line;
	}
}

static void windows_add_up(void **state)
{
	struct profile_stack stacks[] = { { .count = 7, .stop = FPL_STOP_OUTERMOST },
					  { .count = 2, .stop = FPL_STOP_NO_CFI, .source = 1 } };
	struct profile profile = {
		.sources = { { .name = "cpu-clock" }, { .name = "page-faults" } },
		.nr_sources = 2,
		.user = true,
		.stacks = stacks,
		.nr_stacks = 2,
		.start_unix_ns = 1795921920 * S,
		.duration_ns = 10 * S,
		.books = { .bpf_ns = S / 4, .lost = { [FPL_LOST_RING_FULL] = 3 } }
	};
	struct agent_sums sums = { 0 };
	AUTO_FREE char *text = NULL, *status = NULL;
	size_t size;
	FILE *to;
	/* the third of four is dropped before it is named */
	static const struct {
		uint64_t number;
		bool is_kept;
	} windows[] = { { 0, true }, { 1, false }, { 3, true } };
	static const char *const lines[] = {
		"fpless_windows_total 2\n",
		"fpless_windows_lost_total{reason=\"dropped\"} 1\n",
		"fpless_windows_lost_total{reason=\"refused\"} 1\n",
		"fpless_samples_total{source=\"cpu-clock\"} 21\n",
		"fpless_samples_total{source=\"page-faults\"} 6\n",
		"fpless_lost_total{reason=\"ring_full\"} 9\n",
		"fpless_incomplete_total{stop=\"no_cfi\"} 6\n",
		"fpless_last_window_samples 9\n",
		"fpless_last_window_timestamp_seconds 1795921930.000000000\n",
		"fpless_bpf_seconds_total 0.750000000\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		profile.window.number = windows[i].number;
		agent_sums_add(&sums, &profile, windows[i].is_kept);
	}
	text = metrics_of(&sums, "a;b 1\n", 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("%s is not in\n%s", lines[i], text);
	check_format(text);
	to = must_memstream(&status, &size);
	agent_sums_write_status(to, &sums);
	must_memstream_close(to);
	assert_string_equal(
		status,
		"2 windows kept, 2 not; the last of 20261129T031200Z has 9 samples, 3 more lost");
}

static void names_of_functions_break_no_line(void **state)
{
	static const char folded[] =
		"t;say \"hi\" 5\nt;a\\b 4\nt;c\xff\x1b[31m 3\nt;\xc3\xa9t\xc3\xa9 2\nt;d\xe2\x80\xae"
		"e 1\n";
	struct agent_sums sums = { 0 };
	AUTO_FREE char *text = metrics_of(&sums, folded, 5);

	(void)state;
	assert_non_null(strstr(text, "{function=\"say \\\\x22hi\\\\x22\"} 0.333333\n"));
	assert_non_null(strstr(text, "{function=\"\xc3\xa9t\xc3\xa9\"} 0.133333\n"));
	check_format(text);
}

static void functions_of_one_label_are_one_series(void **state)
{
	char folded[2048], name[400];
	struct agent_sums sums = { 0 };
	AUTO_FREE char *text = NULL;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(folded, sizeof(folded), "t;%sa 5\nt;f 3\nt;%sb 2\n", name, name);
	text = metrics_of(&sums, folded, 2);
	assert_non_null(strstr(text, "xx\"} 0.700000\n"));
	assert_non_null(strstr(text, "{function=\"f\"} 0.300000\n"));
	check_format(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_add_up),
		cmocka_unit_test(names_of_functions_break_no_line),
		cmocka_unit_test(functions_of_one_label_are_one_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
