/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "source/probe_word.h"

static void probes_are_as_bpftrace_has_them(void **state)
{
	static const struct {
		const char *word;
		enum probe_kind kind;
		const char *file, *provider, *name;
		uint64_t off;
	} cases[] = {
		{ "uprobe:/bin/x y:main", PROBE_UPROBE, "/bin/x y", "", "main", 0 },
		{ "uprobe:libc.so.6:malloc+0x10", PROBE_UPROBE, "libc.so.6", "", "malloc", 16 },
		{ "uprobe:perl:0x1234+4", PROBE_UPROBE, "perl", "", "0x1234", 4 },
		{ "uprobe:a:main.(*T[go.x]).f:1", PROBE_UPROBE, "a", "", "main.(*T[go.x]).f:1", 0 },
		{ "uprobe:a:operator+", PROBE_UPROBE, "a", "", "operator+", 0 },
		{ "uprobe:a:f+4x", PROBE_UPROBE, "a", "", "f+4x", 0 },
		{ "uretprobe:./a:f", PROBE_URETPROBE, "./a", "", "f", 0 },
		{ "usdt:libstdc++.so.6:libstdcxx:throw", PROBE_USDT, "libstdc++.so.6", "libstdcxx",
		  "throw", 0 },
		{ "kprobe:do_exit+8", PROBE_KPROBE, "", "", "do_exit", 8 },
		{ "kretprobe:do_exit", PROBE_KRETPROBE, "", "", "do_exit", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct probe_word probe;

		assert_true(probe_word_is(cases[i].word));
		assert_int_equal(probe_word_parse(cases[i].word, &probe, NULL), 0);
		assert_true(!strncmp(cases[i].word, probe_kind_text(probe.kind),
				     strcspn(cases[i].word, ":")));
		assert_int_equal(probe.kind, cases[i].kind);
		assert_string_equal(probe.file, cases[i].file);
		assert_string_equal(probe.provider, cases[i].provider);
		assert_string_equal(probe.name, cases[i].name);
		assert_int_equal(probe.off, cases[i].off);
	}
}

static void long_words_of_probes_get_a_shorter_name(void **state)
{
	static const struct {
		const char *word, *name;
	} cases[] = {
		{ "uprobe:/lib/libc.so:malloc", "uprobe:libc.so:malloc" },
		{ "uprobe:libc.so:a_longer_function", "uprobe:libc.so:a_longer..." },
		{ "kprobe:longer_than_this_name/at_all", "kprobe:longer_than_this..." },
		{ "uprobe:/b/a:c/f", "uprobe:/b/a:c/f" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[27];

		memset(name, 'x', sizeof(name));
		probe_word_name(cases[i].word, name, i ? sizeof(name) : 26);
		assert_string_equal(name, cases[i].name);
	}
}

static void what_is_no_probe_is_refused_with_what_was_expected(void **state)
{
	static const struct {
		const char *word, *says;
	} cases[] = {
		{ "sched:sched_switch", "sched:sched_switch: no probe" },
		{ "uprobe", "uprobe: no probe" },
		{ "usdt:libc.so.6:setjmp", "expected usdt:FILE:PROVIDER:NAME" },
		{ "usdt:libc.so.6:libc:", "expected usdt:FILE:PROVIDER:NAME" },
		{ "uprobe:malloc", "uprobe:malloc: expected uprobe:FILE:FUNC[+OFF]" },
		{ "uprobe::malloc", "expected uprobe:FILE:FUNC[+OFF]" },
		{ "uprobe:a:malloc+0x10000000000000000", "offset is no number of 63 bits" },
		{ "uprobe:a:b,uprobe:a:c", "expected uprobe:FILE:FUNC[+OFF]" },
		{ "uretprobe:a:malloc+4", "a return probe is one of the whole function" },
		{ "kretprobe:do_exit+4", "a return probe is one of the whole function" },
		{ "kprobe:", "expected kprobe:FUNC[+OFF]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct probe_word probe;
		struct fpl_err err = { 0 };

		assert_int_equal(probe_word_parse(cases[i].word, &probe, &err), -EINVAL);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("%s: said: %s", cases[i].word, err.msg);
	}
}

static void a_name_has_its_room(void **state)
{
	char word[PROBE_NAME_MAX + 16] = "kprobe:";
	struct probe_word probe;

	(void)state;
	memset(word + strlen("kprobe:"), 'x', PROBE_NAME_MAX);
	assert_int_equal(probe_word_parse(word, &probe, NULL), -EINVAL);
	word[strlen(word) - 1] = '\0';
	assert_int_equal(probe_word_parse(word, &probe, NULL), 0);
	assert_int_equal(strlen(probe.name), PROBE_NAME_MAX - 1);
	assert_int_equal(probe_word_parse("kprobe:a\nb", &probe, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_are_as_bpftrace_has_them),
		cmocka_unit_test(long_words_of_probes_get_a_shorter_name),
		cmocka_unit_test(what_is_no_probe_is_refused_with_what_was_expected),
		cmocka_unit_test(a_name_has_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
