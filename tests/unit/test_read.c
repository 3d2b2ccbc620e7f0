/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>

#include "../support/recording_text.h"
#include "base/cleanup.h"
#include "format/line_input.h"
#include "format/perf_header.h"

#define OUTERMOST_STACK                                                                          \
	"{\"type\":\"stack\",\"count\":2,\"weight_ns\":20,\"comm\":\"a\",\"pid\":7,\"stop\":"    \
	"\"outermost\",\"user\":[{\"object\":\"/bin/a\",\"build_id\":\"ab\",\"vaddr\":\"0x20\"," \
	"\"symbol\":\"leaf\",\"offset\":4,\"origin\":\"cfi\",\"exact\":true},{\"addr\":"         \
	"\"0x7f00\",\"symbol\":null,\"offset\":null,\"origin\":\"fp\"}],\"kernel\":[{\"addr\":"  \
	"\"0xffffffff81000010\",\"symbol\":\"sys\",\"offset\":16,\"module\":null}]}\n"
#define META                                                                                   \
	"{\"type\":\"meta\",\"format\":1,\"event\":\"cpu-clock\",\"period_ns\":10,\"hz\":99,"  \
	"\"start_unix_ns\":5,\"duration_ns\":6000000,\"cpus\":2,\"kernel\":\"6.1\",\"argv\":[" \
	"\"fpless\",\"-a\"]}\n"
#define BOOKS                                                                                      \
	"{\"type\":\"books\",\"format\":1,\"event\":\"cpu-clock\",\"hz\":99,\"period_ns\":10,"     \
	"\"duration_ms\":6,\"cpus\":2,\"fired\":2,\"shown\":2,\"idle\":0,\"lost\":{\"ring_full\":" \
	"0},"                                                                                      \
	"\"incomplete\":{\"most\":[{\"samples\":1,\"stop\":\"expr\"},{\"samples\":2}]}}\n"

struct read_case {
	const char *what;
	const char *text;
	const char *folded; /* with --annotate and --origin; NULL: it is refused */
	const char *error;  /* a part of the message */
	unsigned by;
};

static void judge(const struct read_case *test)
{
	const struct read_options options = { .by = test->by };
	const struct format_options format_options = { .annotate = true,
						       .origin = true,
						       .inlined = FORMAT_INLINED_ALWAYS };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };
	int error = recording_of(test->text, strlen(test->text), &options, &recording, &err);

	if (!test->folded) {
		if (!error || !strstr(err.msg, test->error) || strncmp(err.msg, "in:", 3) != 0)
			fail_msg("%s: refused with '%s'", test->what, err.msg);
		return;
	}

	AUTO_FREE char *folded = error ? NULL : recording_as(&recording, "folded", &format_options);

	if (error || strcmp(folded, test->folded) != 0)
		fail_msg("%s: '%s' %s", test->what, folded ? folded : "", err.msg);
}

static void folded_lines_are_read(void **state)
{
	static const struct read_case cases[] = {
		{ "ours", "a;main;leaf 2\n", "a;main;leaf 2\n", NULL, 0 },
		{ "nothing", "", "", NULL, 0 },
		{ "no newline at the end", "a;b 1", "a;b 1\n", NULL, 0 },
		{ "line ends of other systems", "a;b 1\r\n", "a;b 1\n", NULL, 0 },
		{ "a task without frames", "a 3\n", "a 3\n", NULL, 0 },
		{ "equal lines", "a;b 1\na;b 2\n", "a;b 3\n", NULL, 0 },
		{ "blanks in names", "a b;operator new(unsigned long) 1\n",
		  "a b;operator new(unsigned long) 1\n", NULL, 0 },
		{ "a kernel part", "a;main;sys_[k];leaf_[k] 1\n", "a;main;sys_[k];leaf_[k] 1\n",
		  NULL, 0 },
		{ "a delimiter", "a;main;-;sys 1\n", "a;main;sys_[k] 1\n", NULL, 0 },
		{ "a delimiter and marks", "a;main;-;sys_[k] 1\n", "a;main;sys_[k] 1\n", NULL, 0 },
		{ "a leaf called -", "a;main;- 1\n", "a;main;- 1\n", NULL, 0 },
		{ "a mark of the kernel below a user", "a;sys_[k];main 1\n", "a;sys_[k];main 1\n",
		  NULL, 0 },
		{ "origins", "a;x_[fp];y_[cfi_user];z_[synth] 1\n",
		  "a;x_[fp];y_[cfi_user];z_[synth] 1\n", NULL, 0 },
		{ "others' marks", "a;x_[i];y_[j] 1\n", "a;x_[i];y_[j] 1\n", NULL, 0 },
		{ "what is inlined", "a;x_[fp];y_[i]_[fp];z_[i]_[fp];s_[k];t_[i]_[k] 1\n",
		  "a;x_[fp];y_[i]_[fp];z_[i]_[fp];s_[k];t_[i]_[k] 1\n", NULL, 0 },
		{ "a mark alone", "a;_[k] 1\n", "a;_[k] 1\n", NULL, 0 },
		{ "escapes", "a\\x3b;b\\x5c\\x0a 1\n", "a\\x3b;b\\x5c\\x0a 1\n", NULL, 0 },
		{ "code without a name", "a;[x+0x10];[0x7f] 1\n", "a;[x+0x10];[0x7f] 1\n", NULL,
		  0 },
		{ "code in the vDSO", "a;[[vdso]+0x10] 1\n", "a;[[vdso]+0x10] 1\n", NULL, 0 },
		{ "code behind a path", "a;[/bin/x+0x10];[0x7f] 1\n", "a;[x+0x10];[0x7f] 1\n", NULL,
		  0 },
		{ "what only looks like it", "a;[/bin/x+0x010];[0x];[+0x];[0xffffffffffffffff] 1\n",
		  "a;[/bin/x+0x010];[0x];[+0x];[0xffffffffffffffff] 1\n", NULL, 0 },
		{ "empty frames", "a;;b 1\n", "a;;b 1\n", NULL, 0 },
		{ "labels", "/x.slice;cpu 3;sh-12/13;f 1\n", "/x.slice;cpu 3;sh-12/13;f 1\n", NULL,
		  31 },
		{ "a label that is not there", "sh;f 1\n", "sh;f 1\n", NULL,
		  RECORDING_HAS_COMM | RECORDING_HAS_PID },
		{ "a count that is a word", "a;b 1\na;b x\n", NULL,
		  "line 2 (offset 6): the count 'x'", 0 },
		{ "a negative count", "a;b 1\na;b -1\n", NULL, "the count '-1'", 0 },
		{ "a fraction", "a;b 1\na;b 1.5\n", NULL, "the count '1.5'", 0 },
		{ "a count beyond 64 bits", "a;b 18446744073709551616\n", NULL, "the count", 0 },
		{ "counts that overflow", "a;b 18446744073709551614\na;c 1\n", NULL,
		  "line 2 (offset 25): counts or weights add up", 0 },
		{ "no count", "a;b 1\na;b\n", NULL, "no count", 0 },
		{ "no stack", "a;b 1\n 7\n", NULL, "without a stack", 0 },
		{ "something else", "hello\n", NULL, "neither", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

static void jsonl_is_read(void **state)
{
	static const struct read_case cases[] = {
		{ "all of it", META OUTERMOST_STACK BOOKS, "a;[0x7f00]_[fp];leaf;sys_[k] 2\n", NULL,
		  0 },
		{ "cut off", META OUTERMOST_STACK, "a;[0x7f00]_[fp];leaf;sys_[k] 2\n", NULL, 0 },
		{ "cut off in a line", META OUTERMOST_STACK "{\"type\":\"stack\",\"count\":2,\"com",
		  "a;[0x7f00]_[fp];leaf;sys_[k] 2\n", NULL, 0 },
		{ "cut off in its first line", "{\"type\":\"me", NULL, "line 1 (offset 0): no JSON",
		  0 },
		{ "a line that is not whole before others",
		  META "{\"type\":\"stack\",\"count\":2,\"com\n" OUTERMOST_STACK BOOKS, NULL,
		  "line 2 (offset 157): no JSON", 0 },
		{ "no meta", OUTERMOST_STACK BOOKS, NULL, "no \"meta\"", 0 },
		{ "two metas", META META BOOKS, NULL, "line 2 (offset 157): a second meta", 0 },
		{ "a line behind the books", META OUTERMOST_STACK BOOKS OUTERMOST_STACK, NULL,
		  "behind the books", 0 },
		{ "half a line", META "{\"type\":\"sta\n", NULL, "line 2 (offset 157): no JSON",
		  0 },
		{ "two objects in a line", META "{\"type\":\"stack\"}{}\n", NULL, "no JSON", 0 },
		{ "a newer format", "{\"type\":\"meta\",\"format\":4}\n", NULL, "format 4", 0 },
		{ "a count below 0", META "{\"type\":\"stack\",\"count\":-1}\n", NULL,
		  "\"count\" is no whole number", 0 },
		{ "a count beyond 64 bits",
		  META "{\"type\":\"stack\",\"count\":99999999999999999999}\n", NULL,
		  "\"count\" is no whole number", 0 },
		{ "a count as text", META "{\"type\":\"stack\",\"count\":\"1\"}\n", NULL,
		  "\"count\" is no whole number", 0 },
		{ "an unknown stop", META "{\"type\":\"stack\",\"count\":1,\"stop\":\"x\"}\n", NULL,
		  "no stop is called \"x\"", 0 },
		{ "frames that are no list", META "{\"type\":\"stack\",\"count\":1,\"user\":{}}\n",
		  NULL, "\"user\" is no list", 0 },
		{ "an address that is none",
		  META "{\"type\":\"stack\",\"count\":1,\"user\":[{\"addr\":\"7f\",\"origin\":"
		       "\"cfi\"}]}\n",
		  NULL, "\"addr\" is no address", 0 },
		{ "an offset beyond its address",
		  META "{\"type\":\"stack\",\"count\":1,\"user\":[{\"addr\":\"0x1\",\"symbol\":"
		       "\"f\",\"offset\":2,\"origin\":\"cfi\"}]}\n",
		  NULL, "beyond its address", 0 },
		{ "a NUL in a name",
		  META "{\"type\":\"stack\",\"count\":1,\"comm\":\"a\\u0000b\"}\n", NULL,
		  "holds a NUL", 0 },
		{ "too deep", "{\"type\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}\n", NULL,
		  "nesting too deep", 0 },
		{ "books that show more than there is", META BOOKS, NULL,
		  "the books show 2 samples, the stacks add up to 0", 0 },
		{ "another type", META "{\"type\":\"x\"}\n", NULL, "no line is of type \"x\"", 0 },
		{ "a list", META "[]\n", NULL, "no object with a \"type\"", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

/* A stack of one sample in format 2, and frames that it describes. */
#define TREE_META "{\"type\":\"meta\",\"format\":2,\"event\":\"cpu-clock\"}\n"
#define TREE(lists)                                                                              \
	"{\"type\":\"stack\",\"count\":1,\"comm\":\"a\",\"pid\":1,\"stop\":\"outermost\"," lists \
	"}\n"
#define USER(name) "{\"addr\":\"0x1\",\"symbol\":\"" name "\",\"offset\":0,\"origin\":\"cfi\"}"
#define KERNEL(name) \
	"{\"addr\":\"0xffffffff81000010\",\"symbol\":\"" name "\",\"offset\":16,\"module\":null}"
#define TREE_FIRST \
	TREE("\"user\":[" USER("f") "," USER("g") "," USER("main") "],\"kernel\":[" KERNEL("k") "]")

static void stacks_that_name_the_frames_of_others_are_read(void **state)
{
	static const struct read_case cases[] = {
		{ "no frame of another", TREE_META TREE_FIRST, "a;main;g;f;k_[k] 1\n", NULL, 0 },
		{ "the outer frames of another",
		  TREE_META TREE_FIRST TREE(
			  "\"user\":[" USER("h") "],\"user_rest\":2,\"kernel\":[]"),
		  "a;main;g;f;k_[k] 1\na;main;g;h 1\n", NULL, 0 },
		{ "all frames of another, and a frame by number",
		  TREE_META TREE_FIRST TREE(
			  "\"user\":[2],\"user_rest\":1,\"kernel\":[],\"kernel_rest\":4"),
		  "a;main;g;f;g;k_[k] 1\na;main;g;f;k_[k] 1\n", NULL, 0 },
		{ "the frames of one that names others itself",
		  TREE_META TREE_FIRST TREE("\"user\":[" USER("h") "],\"user_rest\":2")
			  TREE("\"user\":[1],\"user_rest\":5"),
		  "a;main;g;f;k_[k] 1\na;main;g;h 1\na;main;g;h;f 1\n", NULL, 0 },
		{ "cut off", TREE_META TREE_FIRST "{\"type\":\"stack\",\"user\":[1",
		  "a;main;g;f;k_[k] 1\n", NULL, 0 },
		{ "a frame of its own line, which is behind it",
		  TREE_META TREE("\"user\":[1," USER("f") "]"), NULL, "frame 1 where 0 were before",
		  0 },
		{ "frame 0", TREE_META TREE_FIRST TREE("\"user\":[0]"), NULL,
		  "frame 0 where 4 were before", 0 },
		{ "a frame beyond 32 bits", TREE_META TREE_FIRST TREE("\"user\":[4294967297]"),
		  NULL, "\"user\" is no whole number", 0 },
		{ "the rest of its own line",
		  TREE_META TREE("\"user\":[" USER("f") "],\"user_rest\":1"), NULL,
		  "\"user_rest\" is 1 where 0 frames were listed before", 0 },
		{ "a kernel frame in the list of a stack with its waker's",
		  TREE_META TREE_FIRST TREE("\"user\":[4]"), "a;k_[k] 1\na;main;g;f;k_[k] 1\n",
		  NULL, 0 },
		{ "user frames of the kernel",
		  TREE_META TREE_FIRST TREE("\"user\":[],\"kernel_rest\":1"), NULL,
		  "\"kernel\" has a number of a frame of the other kind", 0 },
		{ "a frame that is a text", TREE_META TREE("\"user\":[\"f\"]"), NULL, "no object",
		  0 },
		{ "numbers in format 1", META "{\"type\":\"stack\",\"count\":1,\"user\":[1]}\n",
		  NULL, "no object", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

/* A line of samples in time, its columns as lists. */
#define SAMPLES(time, stack, tid, cpu, weight)                                        \
	"{\"type\":\"samples\",\"time_ns\":" time ",\"stack\":" stack ",\"tid\":" tid \
	",\"cpu\":" cpu ",\"weight_ns\":" weight "}\n"

/* Stacks in format 3, where a frame may be given by one like it. */
#define ALIKE_META "{\"type\":\"meta\",\"format\":3,\"event\":\"cpu-clock\"}\n"
#define ALIKE_FIRST                                                                            \
	TREE("\"user\":[{\"addr\":\"0x1018\",\"symbol\":\"f\",\"offset\":24,\"file\":\"f.c\"," \
	     "\"line\":7,\"column\":2,\"origin\":\"cfi\"}],\"kernel\":[" KERNEL("k") "]")

static void frames_like_others_are_read(void **state)
{
	static const struct read_case cases[] = {
		{ "a user frame and a kernel frame",
		  ALIKE_META ALIKE_FIRST TREE("\"user\":[[1,3]],\"kernel\":[[2,1],[2,0]]"),
		  "a;f;k_[k] 1\na;f;k_[k];k_[k] 1\n", NULL, 0 },
		{ "by its number", ALIKE_META ALIKE_FIRST TREE("\"user\":[[1,3,8,0],3]"),
		  "a;f;f 1\na;f;k_[k] 1\n", NULL, 0 },
		{ "of its own line", ALIKE_META TREE("\"user\":[[1,0]," USER("f") "]"), NULL,
		  "a frame like frame 1 where 0 were described", 0 },
		{ "like frame 0", ALIKE_META ALIKE_FIRST TREE("\"user\":[[0,3]]"), NULL,
		  "a frame like frame 0 where 2 were described", 0 },
		{ "like one that is like another",
		  ALIKE_META ALIKE_FIRST TREE("\"user\":[[1,3],[3,4]]"), NULL,
		  "a frame like frame 3 where 2 were described", 0 },
		{ "of three numbers", ALIKE_META ALIKE_FIRST TREE("\"user\":[[1,3,8]]"), NULL,
		  "a frame of 3 numbers", 0 },
		{ "of none", ALIKE_META ALIKE_FIRST TREE("\"user\":[[]]"), NULL,
		  "a frame of 0 numbers", 0 },
		{ "of a text", ALIKE_META ALIKE_FIRST TREE("\"user\":[[1,\"3\"]]"), NULL,
		  "\"user\" is no whole number", 0 },
		{ "a line beyond 32 bits",
		  ALIKE_META ALIKE_FIRST TREE("\"user\":[[1,3,4294967296,0]]"), NULL,
		  "\"user\" is no whole number", 0 },
		{ "beyond 64 bits",
		  ALIKE_META ALIKE_FIRST TREE("\"kernel\":[[2,18446744073709551614]]"), NULL,
		  "offset is beyond 64 bits", 0 },
		{ "a user frame of the kernel", ALIKE_META ALIKE_FIRST TREE("\"kernel\":[[1,3]]"),
		  NULL, "\"kernel\" has a frame like one of the other kind", 0 },
		{ "like one without a beginning",
		  ALIKE_META TREE("\"user\":[{\"addr\":\"0x1\",\"symbol\":null,\"offset\":null,"
				  "\"origin\":\"cfi\"},[1,3]]"),
		  NULL, "a frame like one without a beginning or a line", 0 },
		{ "a line of one without a name",
		  ALIKE_META TREE("\"user\":[{\"addr\":\"0x1\",\"symbol\":null,\"offset\":null,"
				  "\"start\":\"0x1\",\"origin\":\"cfi\"},[1,3,1,1]]"),
		  NULL, "a frame like one without a beginning or a line", 0 },
		{ "in format 2", TREE_META TREE_FIRST TREE("\"user\":[[1,3]]"), NULL, "no object",
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

static void what_format_3_leaves_out_is_read(void **state)
{
	static const struct read_case cases[] = {
		{ "a stack of the task before",
		  ALIKE_META ALIKE_FIRST "{\"type\":\"stack\",\"user\":[" USER("g") "]}\n",
		  "a;f;k_[k] 1\na;g 1\n", NULL, 0 },
		{ "two equal stacks of the task before",
		  ALIKE_META ALIKE_FIRST "{\"type\":\"stack\",\"user\":[1]}\n"
					 "{\"type\":\"stack\",\"user\":[1]}\n",
		  "a;f;k_[k] 1\na;f 2\n", NULL, 0 },
		{ "a first stack without a count", ALIKE_META "{\"type\":\"stack\",\"user\":[]}\n",
		  NULL, "the first stack has no \"count\"", 0 },
		{ "a sample of the next stack",
		  ALIKE_META TREE("\"weight_ns\":9,\"user\":[" USER("f") "]")
			  SAMPLES("[1]", "[0]", "[8]", "[1]", "[5]"),
		  "a;f 1\n", NULL, 0 },
		{ "a sample of the next stack where there is none",
		  ALIKE_META ALIKE_FIRST SAMPLES("[1,1]", "[1,0]", "[8,8]", "[1,1]", "[0,0]"), NULL,
		  "a sample of stack 1 where there are 1", 0 },
		{ "a second sample of a stack that has one",
		  ALIKE_META ALIKE_FIRST SAMPLES("[1,1]", "[0,1]", "[8,8]", "[1,1]", "[0,0]"), NULL,
		  "more samples of stack 0 than its count", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

/* Each stack has a thousand frames more than the one before it: as deep as the limit, and no
 * deeper. */
static void stacks_that_name_others_are_no_deeper_than_any(void **state)
{
	const struct read_options options = { 0 };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	fputs(TREE_META TREE("\"user\":[" USER("f") "]"), to);
	for (unsigned i = 1; i <= 70; i++) {
		fputs("{\"type\":\"stack\",\"count\":1,\"user\":[", to);
		for (unsigned j = 0; j < 1000; j++)
			fputs(j ? ",1" : "1", to);
		fprintf(to, "],\"user_rest\":%u}\n", i == 1 ? 1 : 1000 * (i - 2) + 2);
	}
	fclose(to);
	assert_int_equal(recording_of(text, size, &options, &recording, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "in: line 68 "));
	assert_non_null(strstr(err.msg, "a stack of more than 65535 frames"));
	assert_int_equal(recording.stacks[65].nr_user, 65001);
}

#define TWO_SAMPLES SAMPLES("[7,3]", "[0,0]", "[8,9]", "[1,0]", "[5,5]")

static void samples_in_time_of_jsonl_are_read(void **state)
{
	static const struct read_case cases[] = {
		{ "samples", META OUTERMOST_STACK TWO_SAMPLES BOOKS,
		  "a;[0x7f00]_[fp];leaf;sys_[k] 2\n", NULL, 0 },
		{ "a line of no sample",
		  META OUTERMOST_STACK SAMPLES("[]", "[]", "[]", "[]", "[]") BOOKS,
		  "a;[0x7f00]_[fp];leaf;sys_[k] 2\n", NULL, 0 },
		{ "a column that is missing",
		  META OUTERMOST_STACK "{\"type\":\"samples\",\"time_ns\":[1]}\n", NULL,
		  "line 3 (offset 494): \"stack\" is no list", 0 },
		{ "a column that is short",
		  META OUTERMOST_STACK SAMPLES("[7,3]", "[0,0]", "[8]", "[1,0]", "[5,5]"), NULL,
		  "\"tid\" is a list of 1, \"time_ns\" one of 2", 0 },
		{ "a stack that is not there",
		  META OUTERMOST_STACK SAMPLES("[7]", "[1]", "[8]", "[1]", "[5]"), NULL,
		  "a sample of stack 1 where there are 1", 0 },
		{ "a stack below 0",
		  META OUTERMOST_STACK SAMPLES("[7]", "[-1]", "[8]", "[1]", "[5]"), NULL,
		  "\"stack\" is no whole number", 0 },
		{ "a time that is a text",
		  META OUTERMOST_STACK SAMPLES("[\"7\"]", "[0]", "[8]", "[1]", "[5]"), NULL,
		  "\"time_ns\" is no whole number", 0 },
		{ "a thread beyond 32 bits",
		  META OUTERMOST_STACK SAMPLES("[7]", "[0]", "[4294967296]", "[1]", "[5]"), NULL,
		  "\"tid\" is no whole number", 0 },
		{ "a null", META OUTERMOST_STACK SAMPLES("[7]", "[0]", "[8]", "[null]", "[5]"),
		  NULL, "\"cpu\" is no whole number", 0 },
		{ "more samples than the count",
		  META OUTERMOST_STACK TWO_SAMPLES SAMPLES("[11]", "[0]", "[8]", "[1]", "[0]"),
		  NULL, "line 4 (offset 585): more samples of stack 0 than its count", 0 },
		{ "samples that weigh more than their stack",
		  META OUTERMOST_STACK SAMPLES("[7,3]", "[0,0]", "[8,9]", "[1,0]", "[15,6]"), NULL,
		  "samples of stack 0 weigh more", 0 },
		{ "times beyond 64 bits",
		  META OUTERMOST_STACK SAMPLES("[18446744073709551614,2]", "[0,0]", "[8,9]",
					       "[1,0]", "[5,5]"),
		  NULL, "do not ascend", 0 },
		{ "a line before another",
		  META OUTERMOST_STACK SAMPLES("[7]", "[0]", "[8]", "[1]", "[5]")
			  SAMPLES("[6]", "[0]", "[8]", "[1]", "[5]"),
		  NULL, "do not ascend", 0 },
		{ "a stack behind the samples", META OUTERMOST_STACK TWO_SAMPLES OUTERMOST_STACK,
		  NULL, "a stack behind the samples", 0 },
		{ "an object's place that is none",
		  META
		  "{\"type\":\"stack\",\"count\":1,\"user\":[{\"object\":\"/a\",\"build_id\":\"\","
		  "\"file_bias\":1,\"vaddr\":\"0x1\",\"origin\":\"cfi\"}]}\n",
		  NULL, "\"file_bias\" is no address", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

/* All that other formats show of a recording is in its .jsonl. */
static void jsonl_keeps_samples_objects_and_labels(void **state)
{
	static const char text[] =
		"{\"type\":\"meta\",\"format\":1,\"event\":\"cpu-clock\",\"period_ns\":10,\"hz\":"
		"99,\"start_unix_ns\":5,\"duration_ns\":6,\"cpus\":2,\"kernel\":\"6.1\",\"by\":["
		"\"pid\",\"cgroup\"],\"argv\":[]}\n"
		"{\"type\":\"stack\",\"count\":2,\"weight_ns\":20,\"comm\":\"a\",\"pid\":7,"
		"\"cgroup\":\"/\",\"state\":\"blocked\",\"process_start_ns\":123,\"stop\":null,\"user\":[{\"object\":"
		"\"/bin/a\",\"build_id\":\"ab\",\"file_bias\":\"0xffffffffffc00000\",\"offsets\":true,\"vaddr\":\"0x401020\",\"symbol\":null,\"offset\":"
		"null,\"start\":\"0x401000\",\"origin\":\"cfi\",\"exact\":true}],\"kernel\":[]}\n"
		"{\"type\":\"stack\",\"count\":1,\"weight_ns\":10,\"comm\":\"k\",\"pid\":2,"
		"\"cgroup\":\"/\",\"process_start_ns\":1,\"no_user\":true,\"stop\":null,\"user\":[],"
		"\"kernel\":[]}\n"
		"{\"type\":\"samples\",\"time_ns\":[0,4],\"stack\":[1,0],\"tid\":[2,8],\"cpu\":[0,1],"
		"\"weight_ns\":[10,9]}\n"
		"{\"type\":\"books\",\"format\":1,\"event\":\"cpu-clock\",\"hz\":99,\"period_ns\":"
		"10,\"duration_ms\":0,\"cpus\":2,\"fired\":3,\"shown\":3}\n";
	const struct read_options options = { .events = true };
	const struct format_options format_options = { 0 };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	if (recording_of(text, strlen(text), &options, &recording, &err))
		fail_msg("%s", err.msg);

	AUTO_FREE char *again = recording_as(&recording, "jsonl", &format_options);

	assert_string_equal(again, text);
	assert_int_equal(recording.by, RECORDING_HAS_PID | RECORDING_HAS_CGROUP);
	assert_int_equal(recording.stacks[0].task, 123);
	assert_int_equal(recording.stacks[0].state, RECORDING_STATE_BLOCKED);
	assert_int_equal(recording.stacks[1].state, RECORDING_STATE_NONE);
	assert_false(recording.stacks[0].no_user);
	assert_true(recording.stacks[1].no_user);
	assert_int_equal(recording.objects[recording.frames[0].object].file_bias,
			 UINT64_C(0xffffffffffc00000));
	assert_int_equal(recording.nr_events, 2);
	assert_int_equal(recording.events[1].time_ns, 4);
	assert_int_equal(recording.events[1].stack, 0);
	assert_int_equal(recording.events[1].tid, 8);
	assert_int_equal(recording.events[1].cpu, 1);
	assert_int_equal(recording.events[1].weight, 9);
}

static void jsonl_written_again_is_the_same_bytes(void **state)
{
	/* the second stack is one of another task that had the same pid: it stays a line */
	static const char text[] = META OUTERMOST_STACK OUTERMOST_STACK
		"{\"type\":\"stack\",\"count\":1,\"weight_ns\":0,\"comm\":\"\\\\xff\xc3\xa4\\\\xc3"
		"\\u0001\",\"pid\":8,\"tid\":9,\"no_user\":true,\"stop\":null,\"user\":[],\"kernel\":[]}\n"
		"{\"type\":\"books\",\"format\":1,\"event\":\"cpu-clock\",\"hz\":99,\"period_ns\":"
		"10,"
		"\"duration_ms\":6,\"cpus\":2,\"fired\":5,\"shown\":5,\"idle\":0,\"lost\":{"
		"\"ring_full\":0},\"incomplete\":{\"places\":2,\"most\":[{\"samples\":1,\"stop\":"
		"\"expr\"},{\"samples\":2,\"hint\":null}]},\"last\":{\"empty\":[],\"x\":1}}\n";
	const struct read_options options = { 0 };
	const struct format_options format_options = { 0 };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	if (recording_of(text, strlen(text), &options, &recording, &err))
		fail_msg("%s", err.msg);

	AUTO_FREE char *again = recording_as(&recording, "jsonl", &format_options);

	assert_string_equal(again, text);
	assert_string_equal(recording_string(&recording, recording.stacks[2].comm),
			    "\xff\xc3\xa4\xc3\x01");
	assert_true(recording.stacks[2].no_user);
	assert_false(recording.stacks[0].no_user);
}

static void what_perf_prints_wrongly_is_left_out(void **state)
{
	static const struct read_case cases[] = {
		{ "the kernel behind a user",
		  "sh 1 1.5: cycles:\n\t7f f (/a)\n\tffffffff81000000 s ([kernel.kallsyms])\n\n",
		  "sh;f 1\n", NULL, 0 },
		{ "an address of no code",
		  "sh 1 1.5: cycles:\n\t7f f (/a)\n\t817ff80000000000 [unknown] ([unknown])\n"
		  "\t80 g (/a)\n\n",
		  "sh;g;f 1\n", NULL, 0 },
		{ "a last sample that is cut off",
		  "sh 1 1.5: cycles:\n\t7f f (/a)\n\nsh 1 1.6: cycles:\n\t7f f (/a)\n\t80 mai",
		  "sh;f 1\n", NULL, 0 },
		{ "a last heading that is cut off", "sh 1 1.5: cycles:\n\t7f f (/a)\n\nsh 1 1.",
		  "sh;f 1\n", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

static void the_text_of_perf_script_is_read(void **state)
{
	static const struct read_case cases[] = {
		{ "with pid, cpu and period",
		  "# a comment\n\nweb server  12/13 [003]  1.500000:   1001 cpu-clock:ppp: \n"
		  "\tffffffff81000010 sys_read+0x10 ([kernel.kallsyms])\n"
		  "\t    7f00 read+0x4 (/lib/libc.so.6)\n\t 10 main (/bin/a)\n\n",
		  "web server;main;read;sys_read_[k] 1\n", NULL, 0 },
		{ "no cpu, no period", "sh 12 1.5: cycles:u:\n\t7f00 f+0x1 (/a)\n\n", "sh;f 1\n",
		  NULL, 0 },
		{ "no blank line at the end", "sh 12 1.5: cycles:u:\n\t7f00 f+0x1 (/a)", "sh;f 1\n",
		  NULL, 0 },
		{ "padded names",
		  "              dd  12 1.5:  1 cycles: \n\t7f f (/a)\n\n"
		  "              dd  12 1.6:  1 cycles: \n\t7f f (/a)\n\n",
		  "dd;f 2\n", NULL, 0 },
		{ "unknown symbols",
		  "sh 1 1.5: cycles:\n\t7f [unknown] (/lib/x.so)\n\t80 [unknown] ([unknown])\n\n",
		  "sh;[0x80];[x.so] 1\n", NULL, 0 },
		{ "a module", "sh 1 1.5: cycles:\n\tffffffffc0000010 go+0x1 ([nf_tables])\n\n",
		  "sh;go_[k] 1\n", NULL, 0 },
		{ "the vDSO is the user's", "sh 1 1.5: cycles:\n\t7f go+0x1 ([vdso])\n\n",
		  "sh;go 1\n", NULL, 0 },
		{ "names with parentheses and blanks",
		  "sh 1 1.5: cycles:\n\t7f a::b(int (*)(int))+0x2 (/tmp/x (deleted))\n\n",
		  "sh;a::b(int (*)(int)) 1\n", NULL, 0 },
		{ "an inlined function",
		  "sh 1 1.5: cycles:\n\t7f inner (inlined)\n\t7f outer+0x3 (/a)\n\n",
		  "sh;outer;inner_[i] 1\n", NULL, 0 },
		{ "how frames were found",
		  "sh 1 1.5: cycles:\n\t10 f_[synth]+0x3 (/a)\n\t7f [unknown]_[fp]\n\t20 _[fp]\n\n",
		  "sh;_[fp];[0x7f]_[fp];f_[synth] 1\n", NULL, 0 },
		{ "no symbols printed", "sh 1 1.5: cycles:\n\t7f (/a)\n\t80\n\n",
		  "sh;[0x80];[a] 1\n", NULL, 0 },
		{ "no chain",
		  "sh 1 1.5: 7 cycles:  7f f+0x1 (/a)\n   sh 1 1.6: 7 cycles: 7f f (/a)\n",
		  "sh;f 2\n", NULL, 0 },
		{ "a tracepoint", "sh 1 1.5: sched:sched_switch: prev=sh (1)\n\t7f f (/a)\n\n",
		  "sh;f 1\n", NULL, 0 },
		{ "other records",
		  "sh 1 1.5: PERF_RECORD_COMM: sh:1/1\nsh 1 1.5: cycles:\n\t7f f (/a)\n",
		  "sh;f 1\n", NULL, 0 },
		{ "a name with numbers", "a 7 b 12/13 [003] 1.5: cycles:\n\t7f f (/a)\n\n",
		  "a 7 b;f 1\n", NULL, 0 },
		{ "source lines",
		  "sh 1 1.5: cycles:\n\t7f f (/a)\n  a.c:12\n\t80 g (/a)\n  ??:0\n\n", "sh;g;f 1\n",
		  NULL, 0 },
		{ "a frame that is none", "sh 1 1.5: cycles:\n\tzz f (/a)\n\n", NULL,
		  "line 2 (offset 18): no frame", 0 },
		{ "inlined in nothing", "sh 1 1.5: cycles:\n\t7f f (inlined)\n\n", NULL,
		  "inlined in no frame", 0 },
		{ "no sample", "# only\n", NULL, "no sample", 0 },
		{ "a line of something else", "sh 1 1.5: cycles:\n\t7f f (/a)\n\nwhat is this\n",
		  NULL, "line 4 (offset 30): no sample", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

static void labels_come_back_from_perf_script(void **state)
{
	static const struct read_case cases[] = {
		{ "labels that stacks are shown by",
		  "# by : state key\n#\nsh 1 1.5: wall: \n# labels : state=blocked waker=a\\x20b\n"
		  "\t7f f (/a)\n\nsh 1 1.6: wall: \n# labels : state=on-cpu\n\t7f f (/a)\n\n",
		  "blocked;a b;sh;f 1\non-cpu;sh;f 1\n", NULL, 0 },
		{ "labels that tell nothing",
		  "sh 1 1.5: wall: \n# labels : state=none x =\n# other\n\t7f f (/a)\n\n",
		  "sh;f 1\n", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		judge(&cases[i]);
}

static void perf_script_has_times_and_weights(void **state)
{
	static const char text[] = "sh 1/2 [003] 7.000001: 10 cpu-clock:u:\n\t7f f (/a)\n\n"
				   "sh 1/4 [001] 6.999999500: 20 cpu-clock:u:\n\t7f f (/a)\n\n";
	const struct read_options options = { .events = true };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(recording_of(text, strlen(text), &options, &recording, &err), 0);
	assert_string_equal(recording_string(&recording, recording.event), "cpu-clock");
	assert_int_equal(recording.nr_stacks, 1);
	assert_int_equal(recording.stacks[0].weight, 30);
	assert_int_equal(recording.stacks[0].pid, 1);
	assert_int_equal(recording.nr_events, 2);
	assert_int_equal(recording.events[0].time_ns, 0);
	assert_int_equal(recording.events[0].tid, 4);
	assert_int_equal(recording.events[0].cpu, 1);
	assert_int_equal(recording.events[0].weight, 20);
	assert_int_equal(recording.events[1].time_ns, 1500);
	assert_int_equal(recording.duration_ns, 1500);
}

static void lines_and_memory_are_bounded(void **state)
{
	const struct read_options little = { .memory = 1 << 20 }, usual = { 0 };
	AUTO_FREE char *text = malloc(LINE_INPUT_MAX + 64);
	struct fpl_err err = { 0 };
	size_t length = 0;

	(void)state;
	{
		CLEANUP(recording_fini) struct recording recording = { 0 };

		memset(text, 'x', LINE_INPUT_MAX + 64);
		memcpy(text, "a;b", 3);
		assert_int_equal(recording_of(text, LINE_INPUT_MAX + 64, &usual, &recording, &err),
				 -EBADMSG);
		assert_non_null(strstr(err.msg, "in: line 1 (offset 0): longer than"));
	}
	CLEANUP(recording_fini) struct recording recording = { 0 };

	for (int i = 0; i < 100000; i++)
		length += (size_t)snprintf(text + length, 64, "task %d;function %d 1\n", i, i);
	assert_int_equal(recording_of(text, length, &little, &recording, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "--memory"));
	assert_true(recording_bytes(&recording) < 4 << 20);
}

static void a_line_that_begins_a_sample_is_taken_apart(void **state)
{
	char line[] = "  tokio 1 x   12/34 [007] 9223372.000000001:  5 sched:sched_switch: more";
	char without_time[] = "sh 5 cycles:u:";
	char none[] = "sh x cycles:u:";
	struct perf_header header;

	(void)state;
	assert_true(perf_header_parse(line, &header));
	assert_string_equal(header.comm, "tokio 1 x");
	assert_string_equal(header.event, "sched:sched_switch");
	assert_string_equal(header.rest, "more");
	assert_true(header.has_pid && header.has_tid && header.has_cpu && header.has_time);
	assert_int_equal(header.pid, 12);
	assert_int_equal(header.tid, 34);
	assert_int_equal(header.cpu, 7);
	assert_int_equal(header.time_ns, 9223372000000001);
	assert_int_equal(header.period, 5);
	assert_true(perf_header_parse(without_time, &header));
	assert_false(header.has_time || header.has_pid || header.has_period);
	assert_int_equal(header.tid, 5);
	assert_string_equal(header.event, "cycles:u");
	assert_false(perf_header_parse(none, &header));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_lines_are_read),
		cmocka_unit_test(jsonl_is_read),
		cmocka_unit_test(stacks_that_name_the_frames_of_others_are_read),
		cmocka_unit_test(frames_like_others_are_read),
		cmocka_unit_test(what_format_3_leaves_out_is_read),
		cmocka_unit_test(stacks_that_name_others_are_no_deeper_than_any),
		cmocka_unit_test(samples_in_time_of_jsonl_are_read),
		cmocka_unit_test(jsonl_keeps_samples_objects_and_labels),
		cmocka_unit_test(jsonl_written_again_is_the_same_bytes),
		cmocka_unit_test(the_text_of_perf_script_is_read),
		cmocka_unit_test(what_perf_prints_wrongly_is_left_out),
		cmocka_unit_test(labels_come_back_from_perf_script),
		cmocka_unit_test(perf_script_has_times_and_weights),
		cmocka_unit_test(lines_and_memory_are_bounded),
		cmocka_unit_test(a_line_that_begins_a_sample_is_taken_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
