/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/similar.h"
#include "source/source_spec.h"

static void words_are_perfs_with_its_aliases_and_modifiers(void **state)
{
	static const struct {
		const char *word, *name;
		enum source_class class;
		uint32_t type;
		uint64_t config;
		bool or_clock, exclude_user, exclude_kernel;
	} cases[] = {
		{ "cpu-clock", "cpu-clock", SOURCE_CLOCK, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_CPU_CLOCK, false, false, false },
		{ "cpu-cycles:k", "cpu-cycles", SOURCE_CLOCK, PERF_TYPE_HARDWARE,
		  PERF_COUNT_HW_CPU_CYCLES, false, true, false },
		{ "cycles:u", "cpu-cycles", SOURCE_CLOCK, PERF_TYPE_HARDWARE,
		  PERF_COUNT_HW_CPU_CYCLES, true, false, true },
		{ "page-faults", "page-faults", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_PAGE_FAULTS, false, false, false },
		{ "faults:u", "page-faults", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_PAGE_FAULTS, false, false, true },
		{ "minor-faults:uk", "minor-faults", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false, false },
		{ "major-faults", "major-faults", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false, false },
		{ "cs", "context-switches", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_CONTEXT_SWITCHES, false, false, false },
		{ "context-switches:k", "context-switches", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_CONTEXT_SWITCHES, false, true, false },
		{ "migrations", "cpu-migrations", SOURCE_SOFTWARE, PERF_TYPE_SOFTWARE,
		  PERF_COUNT_SW_CPU_MIGRATIONS, false, false, false },
		{ "branch-instructions", "branches", SOURCE_HARDWARE, PERF_TYPE_HARDWARE,
		  PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, false, false },
		{ "r1A8", "r1A8", SOURCE_HARDWARE, PERF_TYPE_RAW, 0x1a8, false, false, false },
		{ "r0:u", "r0", SOURCE_HARDWARE, PERF_TYPE_RAW, 0, false, false, true },
		{ "rffffffffffffffff", "rffffffffffffffff", SOURCE_HARDWARE, PERF_TYPE_RAW,
		  UINT64_MAX, false, false, false },
		{ "sched:sched_switch", "sched:sched_switch", SOURCE_TRACEPOINT,
		  PERF_TYPE_TRACEPOINT, 0, false, false, false },
		{ "syscalls:sys_enter_openat2", "syscalls:sys_enter_openat2", SOURCE_TRACEPOINT,
		  PERF_TYPE_TRACEPOINT, 0, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source_spec spec;
		struct fpl_err err = { 0 };

		if (source_spec_parse(cases[i].word, &spec, &err))
			fail_msg("%s: %s", cases[i].word, err.msg);
		if (strcmp(spec.name, cases[i].name) != 0 || spec.class != cases[i].class ||
		    spec.perf_type != cases[i].type || spec.perf_config != cases[i].config ||
		    spec.or_clock != cases[i].or_clock ||
		    spec.exclude_user != cases[i].exclude_user ||
		    spec.exclude_kernel != cases[i].exclude_kernel ||
		    spec.exclude_hv !=
			    (cases[i].type != PERF_TYPE_TRACEPOINT && strchr(cases[i].word, ':')))
			fail_msg("%s: understood as %s", cases[i].word, spec.name);
	}
}

static void nonsense_is_refused_with_what_may_be_meant(void **state)
{
	static const struct {
		const char *word, *says;
	} cases[] = {
		{ "", ": no such event: fpless events names all" },
		{ ":", ":: no such event: fpless events names all" },
		{ "r", "r: no such event: fpless events names all" },
		{ "r1g", "r1g: no such event: fpless events names all" },
		{ "r0123456789abcdef0", "no such event: fpless events names all" },
		{ "page-fault", "page-fault: no such event: did you mean page-faults?" },
		{ "PAGE-FAULTS", "no such event: fpless events names all" },
		{ "contextswitches", "did you mean context-switches?" },
		{ "task-clock", "did you mean cpu-clock?" },
		{ "cycle:u", "cycle:u: no such event: did you mean cycles?" },
		{ "page-faults:", "page-faults:: expected u or k behind the colon" },
		{ "page-faults:x", "page-faults:x: expected u or k behind the colon" },
		{ "cycles:pp", "precise events are not sampled: their pc is of another moment" },
		{ "cs:u", "cs:u: context-switches happen in the kernel only" },
		{ "nmi:nmi_handler", "nmi:nmi_handler: registers may be half stored there" },
		{ "ftrace:function", "ftrace:function: it calls no program" },
		{ "sched:sched_switch:u", "sched:sched_switch:u: no name of a tracepoint" },
		{ "sched:../sched", "sched:../sched: no name of a tracepoint" },
		{ "sched:", "sched:: no such event" },
		{ "mem:", "mem:: expected mem:ADDR[/LEN][:rw]" },
		{ "mem:x", "mem:x: expected mem:ADDR[/LEN][:rw]" },
		{ "mem:0x1y", "expected mem:ADDR[/LEN][:rw]" },
		{ "mem:-8", "expected mem:ADDR[/LEN][:rw]" },
		{ "mem:0x10000000000000000", "expected mem:ADDR[/LEN][:rw]" },
		{ "mem:0x1000/", "expected mem:ADDR[/LEN][:rw]" },
		{ "mem:0x1000/3", "mem:0x1000/3: expected 1, 2, 4 or 8 bytes" },
		{ "mem:0x1000/16", "expected 1, 2, 4 or 8 bytes" },
		{ "mem:0x1002", "mem:0x1002: the address is no multiple of 4" },
		{ "mem:0x1000:rx", "mem:0x1000:rx: expected r, w, rw or x behind the address" },
		{ "mem:0x1000:www", "expected r, w, rw or x" },
		{ "mem:0x1000:", "expected u or k behind the colon" },
		{ "mem:0x1000:rw:x", "expected u or k behind the colon" },
		{ "mem:0x1000:pp", "expected r, w, rw or x" },
		{ "uprobe:malloc", "uprobe:malloc: expected uprobe:FILE:FUNC[+OFF]" },
		{ "page-faults,cs", "page-faults,cs: one event a run" },
	};
	const struct source_spec before = source_spec_cpu_clock();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source_spec spec = before;
		struct fpl_err err = { 0 };

		if (source_spec_parse(cases[i].word, &spec, &err) != -EINVAL)
			fail_msg("%s: not refused", cases[i].word);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("%s: said: %s", cases[i].word, err.msg);
		assert_memory_equal(&spec, &before, sizeof(spec));
	}
}

static void bytes_to_watch_are_perfs(void **state)
{
	static const struct {
		const char *word, *name;
		uint64_t addr, len;
		uint32_t access;
		bool exclude_user, exclude_kernel;
	} cases[] = {
		{ "mem:0x1000", "mem:0x1000", 0x1000, 4, HW_BREAKPOINT_RW, false, false },
		{ "mem:4096:w", "mem:4096:w", 4096, 4, HW_BREAKPOINT_W, false, false },
		{ "mem:0x1001/1:rw", "mem:0x1001/1:rw", 0x1001, 1, HW_BREAKPOINT_RW, false, false },
		{ "mem:0x1008/8:r", "mem:0x1008/8:r", 0x1008, 8, HW_BREAKPOINT_R, false, false },
		{ "mem:0x1001:x", "mem:0x1001:x", 0x1001, sizeof(long), HW_BREAKPOINT_X, false,
		  false },
		{ "mem:0x1000:w:u", "mem:0x1000:w", 0x1000, 4, HW_BREAKPOINT_W, false, true },
		{ "mem:0x1000:k", "mem:0x1000", 0x1000, 4, HW_BREAKPOINT_RW, true, false },
		{ "mem:0xffffffff81000000:w", "mem:0xffffffff81000000:w", 0xffffffff81000000, 4,
		  HW_BREAKPOINT_W, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source_spec spec;
		struct fpl_err err = { 0 };

		if (source_spec_parse(cases[i].word, &spec, &err))
			fail_msg("%s: %s", cases[i].word, err.msg);
		if (strcmp(spec.name, cases[i].name) != 0 || spec.class != SOURCE_SOFTWARE ||
		    spec.perf_type != PERF_TYPE_BREAKPOINT || spec.perf_config ||
		    spec.breakpoint.addr != cases[i].addr || spec.breakpoint.len != cases[i].len ||
		    spec.breakpoint.access != cases[i].access ||
		    spec.exclude_user != cases[i].exclude_user ||
		    spec.exclude_kernel != cases[i].exclude_kernel)
			fail_msg("%s: understood as %s", cases[i].word, spec.name);
	}
}

static void probes_are_left_to_whoever_opens_them(void **state)
{
	static const char word[] = "uprobe:libc.so.6:malloc+0x10";
	struct source_spec spec;

	(void)state;
	assert_int_equal(source_spec_parse(word, &spec, NULL), 0);
	assert_int_equal(spec.class, SOURCE_PROBE);
	assert_string_equal(spec.name, word);
	assert_ptr_equal(spec.probe, word);
}

static void every_listed_name_is_understood_and_no_two_are_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < source_words_nr; i++) {
		const char *names[] = { source_words[i].name, source_words[i].alias };
		struct source_spec spec;
		struct fpl_err err = { 0 };

		for (size_t j = 0; j < ARRAY_SIZE(names) && names[j]; j++) {
			assert_int_equal(source_spec_parse(names[j], &spec, &err), 0);
			assert_string_equal(spec.name, source_words[i].name);
			assert_int_equal(spec.perf_type, source_words[i].perf_type);
			assert_int_equal(spec.perf_config, source_words[i].perf_config);
		}
	}
}

static void distance_is_of_insertions_deletions_and_replacements(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = {
		{ "", "", 0 },	     { "", "abc", 3 },		 { "abc", "", 3 },
		{ "abc", "abc", 0 }, { "abc", "abd", 1 },	 { "abc", "ac", 1 },
		{ "ab", "ba", 2 },   { "kitten", "sitting", 3 }, { "flaw", "lawn", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(similar_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(similar_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void long_words_are_compared_by_their_beginning(void **state)
{
	char a[3 * SIMILAR_MAX], b[2 * SIMILAR_MAX];

	(void)state;
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[sizeof(a) - 1] = b[sizeof(b) - 1] = '\0';
	b[0] = 'y';
	assert_int_equal(similar_distance(a, b), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_perfs_with_its_aliases_and_modifiers),
		cmocka_unit_test(nonsense_is_refused_with_what_may_be_meant),
		cmocka_unit_test(bytes_to_watch_are_perfs),
		cmocka_unit_test(probes_are_left_to_whoever_opens_them),
		cmocka_unit_test(every_listed_name_is_understood_and_no_two_are_alike),
		cmocka_unit_test(distance_is_of_insertions_deletions_and_replacements),
		cmocka_unit_test(long_words_are_compared_by_their_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
