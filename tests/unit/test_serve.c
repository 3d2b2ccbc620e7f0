/* SPDX-License-Identifier: Apache-2.0 */
/* Requests become questions, and those of others are refused. */
#include "cmocka_all.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/asking.h"
#include "serve/door.h"
#include "serve/question.h"

/* The words of @question with a blank between each two; to be freed. */
static char *words_of(const struct question *question)
{
	char *text;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	for (unsigned i = 0; i < question->nr_words; i++)
		fprintf(to, i ? " %s" : "%s", question->words[i]);
	must_memstream_close(to);
	return text;
}

static void requests_become_questions(void **state)
{
	static const struct {
		const char *target, *words;
	} cases[] = {
		{ "/api/windows", "query list --json --store=s" },
		{ "/api/windows?", "query list --json --store=s" },
		{ "/api/windows?&&from=-2h&", "query list --json --from=-2h --store=s" },
		{ "/api/top?from=%2D5m&limit=3",
		  "query top --json --from=-5m --limit=3 --store=s" },
		{ "/api/top?comm=a+b%2Bc", "query top --json --comm=a b+c --store=s" },
		{ "/api/top?comm=--help", "query top --json --comm=--help --store=s" },
		{ "/api/top?comm=%c3%A4", "query top --json --comm=\xc3\xa4 --store=s" },
		{ "/api/top?comm=a=b", "query top --json --comm=a=b --store=s" },
		{ "/api/diff?before=-2h..-1h&unit=db",
		  "query diff -q --json --before=-2h..-1h --cgroup=db --store=s" },
		{ "/api/function?function=-x&limit=3",
		  "query function --json --limit=3 --store=s -- -x" },
		{ "/api/advice?comm=a", "query advice --json --comm=a --store=s" },
		{ "/api/windows?source=off-cpu", "query list --json --source=off-cpu --store=s" },
		{ "/api/flame", "query export -q --format=html-data --store=s" },
		{ "/api/export?format=folded", "query export -q --format=folded --store=s" },
		{ "/report?to=now", "query export -q --format=html --to=now --store=s" },
		{ "/difference", "query diff -q --format=html --store=s" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct question question;
		struct fpl_err err = { 0 };

		if (question_parse(cases[i].target, "--store=s", &question, &err))
			fail_msg("%s: %s", cases[i].target, err.msg);
		AUTO_FREE char *words = words_of(&question);

		assert_string_equal(words, cases[i].words);
		assert_null(question.words[question.nr_words]);
		assert_non_null(question.type);
	}
}

static void what_is_no_question_is_refused(void **state)
{
	static const struct {
		const char *target;
		int code;
		const char *why;
	} cases[] = {
		{ "", -ENOENT, "nothing is here" },
		{ "/api", -ENOENT, "nothing is here" },
		{ "/api/top/", -ENOENT, "nothing is here" },
		{ "/api/../api/top", -ENOENT, "nothing is here" },
		{ "/%61pi/top", -ENOENT, "nothing is here" },
		{ "/../../etc/passwd", -ENOENT, "nothing is here" },
		{ "http://x/api/top", -ENOENT, "nothing is here" },
		{ "/api/top?store=/etc", -EINVAL, "does not take" },
		{ "/api/top?from", -EINVAL, "does not take" },
		{ "/api/top?before=-2h..-1h", -EINVAL, "does not take" },
		{ "/api/top?fro=1", -EINVAL, "does not take" },
		{ "/api/top?from=1&from=2", -EINVAL, "from: given twice" },
		{ "/api/top?comm=%", -EINVAL, "comm: expected" },
		{ "/api/top?comm=%4", -EINVAL, "comm: expected" },
		{ "/api/top?comm=%zz", -EINVAL, "comm: expected" },
		{ "/api/top?comm=%00", -EINVAL, "comm: expected" },
		{ "/api/top?comm=a%0ab", -EINVAL, "comm: expected" },
		{ "/api/top?comm=%ff", -EINVAL, "comm: expected" },
		{ "/api/function", -EINVAL, "function: expected" },
		{ "/api/function?function=a&function=b", -EINVAL, "function: given twice" },
		{ "/api/top?function=a", -EINVAL, "does not take" },
		{ "/api/export", -EINVAL, "format: expected" },
		{ "/api/export?format=html", -EINVAL, "format: expected" },
		{ "/api/export?format=pprof+-o+/x", -EINVAL, "format: expected" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct question question;
		struct fpl_err err = { 0 };

		assert_int_equal(question_parse(cases[i].target, "", &question, &err),
				 cases[i].code);
		if (!strstr(err.msg, cases[i].why))
			fail_msg("%s: %s", cases[i].target, err.msg);
	}
}

static void values_have_a_limit(void **state)
{
	char target[2 * QUESTION_TARGET_MAX] = "/api/top?comm=";
	size_t begin = strlen(target);
	struct question question;
	struct fpl_err err;

	(void)state;
	memset(target + begin, 'x', QUESTION_VALUE_MAX);
	assert_int_equal(question_parse(target, "", &question, &err), 0);
	target[begin + QUESTION_VALUE_MAX] = 'x';
	assert_int_equal(question_parse(target, "", &question, &err), -EINVAL);
	memset(target + begin, '&', QUESTION_TARGET_MAX - begin);
	assert_int_equal(question_parse(target, "", &question, &err), 0);
	target[QUESTION_TARGET_MAX] = '&';
	assert_int_equal(question_parse(target, "", &question, &err), -EINVAL);
}

#define TOKEN	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SESSION "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
#define BEARER	"Bearer " TOKEN
#define COOKIE	"fpless-8080=" SESSION

static const struct door port = {
	.fd = -1, .is_tcp = true, .port = 8080, .token = TOKEN, .session = SESSION
};

/* A request that is good, to be spoiled. */
static struct visit good_visit(void)
{
	return (struct visit){ .method = "GET",
			       .host = "127.0.0.1:8080",
			       .nr_hosts = 1,
			       .authorization = BEARER,
			       .nr_authorizations = 1 };
}

static const struct {
	const char *what;
	struct visit visit;
	enum door_need need;
	unsigned status;
} visits[] = {
	{ "a token", { "GET", "127.0.0.1:8080", .authorization = BEARER }, DOOR_TOKEN, 0 },
	{ "localhost", { "GET", "localhost:8080", .authorization = BEARER }, DOOR_TOKEN, 0 },
	{ "IPv6", { "GET", "[::1]:8080", .authorization = BEARER }, DOOR_TOKEN, 0 },
	{ "a cookie", { "GET", "127.0.0.1:8080", .cookie = COOKIE }, DOOR_TOKEN, 0 },
	{ "cookies", { "GET", "127.0.0.1:8080", .cookie = "a=b; " COOKIE "; c" }, DOOR_TOKEN, 0 },
	{ "our page",
	  { "GET", "127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin", .cookie = COOKIE },
	  DOOR_TOKEN,
	  0 },
	{ "typed", { "GET", "127.0.0.1:8080", .site = "none", .cookie = COOKIE }, DOOR_TOKEN, 0 },
	{ "nothing needed", { "GET", "127.0.0.1:8080", .cookie = NULL }, DOOR_NOTHING, 0 },
	{ "a link to the page",
	  { "GET", "127.0.0.1:8080", .site = "cross-site" },
	  DOOR_NOTHING,
	  0 },
	{ "no token", { "GET", "127.0.0.1:8080", .cookie = NULL }, DOOR_TOKEN, 401 },
	{ "another token",
	  { "GET", "127.0.0.1:8080", .authorization = "Bearer " SESSION },
	  DOOR_TOKEN,
	  401 },
	{ "a part of it",
	  { "GET", "127.0.0.1:8080", .authorization = "Bearer 0011" },
	  DOOR_TOKEN,
	  401 },
	{ "more than it",
	  { "GET", "127.0.0.1:8080", .authorization = BEARER "0" },
	  DOOR_TOKEN,
	  401 },
	{ "another scheme", { "GET", "127.0.0.1:8080", .authorization = TOKEN }, DOOR_TOKEN, 401 },
	{ "the token as a cookie",
	  { "GET", "127.0.0.1:8080", .cookie = "fpless-8080=" TOKEN },
	  DOOR_TOKEN,
	  401 },
	{ "another cookie",
	  { "GET", "127.0.0.1:8080", .cookie = "fpless-808=" SESSION "; xfpless-8080=" SESSION },
	  DOOR_TOKEN,
	  401 },
	{ "a cookie for another", { "GET", "127.0.0.1:8080", .cookie = COOKIE }, DOOR_LOGIN, 401 },
	{ "rebinding", { "GET", "evil.example:8080", .authorization = BEARER }, DOOR_TOKEN, 421 },
	{ "rebinding without need",
	  { "GET", "evil.example:8080", .cookie = NULL },
	  DOOR_NOTHING,
	  421 },
	{ "another port", { "GET", "127.0.0.1:80", .authorization = BEARER }, DOOR_TOKEN, 421 },
	{ "a longer name",
	  { "GET", "127.0.0.1:8080.evil.example", .authorization = BEARER },
	  DOOR_TOKEN,
	  421 },
	{ "no name", { "GET", NULL, .authorization = BEARER }, DOOR_TOKEN, 421 },
	{ "another page",
	  { "GET", "127.0.0.1:8080", "http://evil.example", .authorization = BEARER },
	  DOOR_TOKEN,
	  403 },
	{ "a page of nothing",
	  { "GET", "127.0.0.1:8080", "null", .authorization = BEARER },
	  DOOR_TOKEN,
	  403 },
	{ "another site",
	  { "GET", "127.0.0.1:8080", .site = "cross-site", .cookie = COOKIE },
	  DOOR_TOKEN,
	  403 },
	{ "the same site, another port",
	  { "GET", "127.0.0.1:8080", .site = "same-site", .cookie = COOKIE },
	  DOOR_TOKEN,
	  403 },
	{ "another method",
	  { "POST", "127.0.0.1:8080", .authorization = BEARER },
	  DOOR_TOKEN,
	  405 },
	{ "small letters", { "get", "127.0.0.1:8080", .authorization = BEARER }, DOOR_TOKEN, 405 },
};

static void a_port_knows_who_may_ask(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(visits); i++) {
		struct visit visit = visits[i].visit;
		const char *why = NULL;
		unsigned status;

		visit.nr_hosts = visit.host != NULL;
		visit.nr_authorizations = visit.authorization != NULL;
		status = door_judge(&port, &visit, visits[i].need, &why);
		if (status != visits[i].status)
			fail_msg("%s: %u: %s", visits[i].what, status, why);
	}
}

static void what_is_said_twice_is_refused(void **state)
{
	struct visit visit = good_visit();
	const char *why;

	(void)state;
	assert_int_equal(door_judge(&port, &visit, DOOR_TOKEN, &why), 0);
	visit.nr_hosts = 2;
	assert_int_equal(door_judge(&port, &visit, DOOR_TOKEN, &why), 421);
	visit = good_visit();
	visit.nr_authorizations = 2;
	assert_int_equal(door_judge(&port, &visit, DOOR_TOKEN, &why), 401);
	visit = good_visit();
	visit.has_body = true;
	assert_int_equal(door_judge(&port, &visit, DOOR_TOKEN, &why), 413);
}

static void a_socket_is_guarded_by_its_mode(void **state)
{
	const struct door door = { .fd = -1 };
	struct visit visit = { .method = "GET", .host = "profiles.example", .nr_hosts = 1 };
	const char *why;

	(void)state;
	assert_int_equal(door_judge(&door, &visit, DOOR_TOKEN, &why), 0);
	visit.origin = "https://profiles.example";
	assert_int_equal(door_judge(&door, &visit, DOOR_TOKEN, &why), 0);
	visit.origin = "https://evil.example";
	assert_int_equal(door_judge(&door, &visit, DOOR_TOKEN, &why), 403);
	visit.origin = NULL;
	visit.site = "cross-site";
	assert_int_equal(door_judge(&door, &visit, DOOR_TOKEN, &why), 403);
	visit.site = NULL;
	visit.method = "DELETE";
	assert_int_equal(door_judge(&door, &visit, DOOR_TOKEN, &why), 405);
}

/* The status of what the shell does for @script, and what it said; *asking is there to be read. */
static unsigned ask_shell(const char *script, uint64_t now_ns, struct asking *asking,
			  char said[ASKING_SAID_BYTES])
{
	char *words[] = { "-c", (char *)script, NULL };
	struct fpl_err err = { 0 };
	struct pollfd end;
	unsigned status = 0;

	if (asking_start("/bin/sh", words, asking, &err))
		fail_msg("%s", err.msg);
	end = (struct pollfd){ .fd = asking->end_fd, .events = POLLIN };
	while (!asking_has_ended(asking, now_ns, &status, said))
		poll(&end, 1, -1);
	return status;
}

static void the_end_of_a_question_is_a_status(void **state)
{
	static const struct {
		const char *script;
		uint64_t now_ns;
		unsigned status;
		const char *said;
	} cases[] = {
		{ "echo answer", 0, 200, "" },
		{ "echo 'fpless query: --from x: expected' >&2; exit 1", 0, 400,
		  "--from x: expected" },
		{ "echo 'fpless: no samples' >&2; echo more >&2; exit 3", 0, 404, "no samples" },
		{ "printf 'fpless: a\\033b' >&2; exit 2", 0, 500, "a\\x1bb" },
		{ "kill -SEGV $$", 0, 500, "" },
		{ "exec sleep 1000", UINT64_MAX, 503, "takes more than" },
		{ "exec head -c 80000000 /dev/zero", 0, 413, "more than 64 MiB" },
		/* nothing of ours is there: no variable, no descriptor, no file as input */
		{ "test -z \"$HOME$USER\" && ! read -r x && ! test -e /proc/$$/fd/3", 0, 200, "" },
	};

	(void)state;
	setenv("HOME", "/", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(asking_fini) struct asking asking = ASKING_NONE;
		char said[ASKING_SAID_BYTES];
		unsigned status = ask_shell(cases[i].script, cases[i].now_ns, &asking, said);

		if (status != cases[i].status || !strstr(said, cases[i].said))
			fail_msg("%s: %u: %s", cases[i].script, status, said);
	}
}

static void an_answer_is_read_from_its_file(void **state)
{
	CLEANUP(asking_fini) struct asking asking = ASKING_NONE;
	char said[ASKING_SAID_BYTES], answer[16] = "";

	(void)state;
	assert_int_equal(ask_shell("echo answer", 0, &asking, said), 200);
	assert_int_equal(pread(asking.answer_fd, answer, sizeof(answer), 0), 7);
	assert_string_equal(answer, "answer\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_become_questions),
		cmocka_unit_test(what_is_no_question_is_refused),
		cmocka_unit_test(values_have_a_limit),
		cmocka_unit_test(a_port_knows_who_may_ask),
		cmocka_unit_test(what_is_said_twice_is_refused),
		cmocka_unit_test(a_socket_is_guarded_by_its_mode),
		cmocka_unit_test(the_end_of_a_question_is_a_status),
		cmocka_unit_test(an_answer_is_read_from_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
