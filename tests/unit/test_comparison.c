/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts summed up, and why walks part, over a made-up program with CFI written by hand. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_json.h"
#include "compare/compare_text.h"
#include "compare/comparison.h"
#include "format/folded_write.h"
#include "format/jsonl_write.h"
#include "report/finished.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/elf_symbols.h"
#include "tests/support/named.h"
#include "tests/support/written.h"

enum {
	FRAMED = CFI_BUILDER_TEXT, /* push rbp; mov rbp, rsp; ...; pop rbp; ret */
	LEAF = FRAMED + 0x40,	   /* no frame */
	ODD = LEAF + 0x20,	   /* the CFA by rbp, which is no frame pointer */
	REALIGNED = ODD + 0x20,	   /* the CFA in memory beside rbp's frame */
	NO_FDE = REALIGNED + 0x20, /* code without CFI */
	LAST = NO_FDE + 0x20,	   /* a part that begins with its frame */
};

#define FRAME(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define EXACT(object, vaddr) (FRAME(object, vaddr) | FPL_FRAME_EXACT)
#define CALL(object, vaddr)  FRAME(object, (vaddr) + 1) /* the return address behind vaddr */
#define BY_FP(frame)	     ((frame) | (uint64_t)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT)
#define RAW(addr)	     (FPL_FRAME_RAW | (addr))

static struct named named;

static void add_program(uint32_t id)
{
	static const uint8_t text[0x100];
	struct elf_symbols symbols;
	struct elf_builder elf;
	struct cfi_builder b;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, FRAMED, 0x40,
			BYTES("\x41\x0e\x10\x86\x02\x43\x0d\x06\x7b\x0c\x07\x08"));
	cfi_builder_fde(&b, LEAF, 0x20, BYTES(""));
	cfi_builder_fde(&b, ODD, 0x20, BYTES("\x0c\x06\x20\x50\x0c\x06\x08"));
	cfi_builder_fde(&b, REALIGNED, 0x20, BYTES("\x48\x0f\x03\x76\x78\x06"));
	cfi_builder_fde(&b, LAST, 0x20, BYTES("\x0c\x06\x10\x50\x0c\x07\x08"));

	elf_symbols_init(&symbols);
	elf_symbols_add(&symbols, "framed", STT_FUNC, STB_GLOBAL, FRAMED, 0x40);
	elf_symbols_add(&symbols, "leaf", STT_FUNC, STB_GLOBAL, LEAF, 0x20);

	elf_builder_init(&elf, ET_DYN);
	elf_builder_segment(&elf, PT_LOAD, PF_R | PF_X, 0, CFI_BUILDER_TEXT, 0x1000, 0x1000);
	elf_builder_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
			    CFI_BUILDER_TEXT, text, sizeof(text));
	elf_builder_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, CFI_BUILDER_VADDR, b.bytes,
			    b.size);
	elf_symbols_put(&symbols, &elf, SHT_SYMTAB);
	elf_builder_finish(&elf);
	named_add(&named, id, elf.bytes, elf.size, "app");
	elf_builder_fini(&elf);
	cfi_builder_fini(&b);
}

static int setup(void **state)
{
	(void)state;
	named_init(&named, &(struct namer_options){ .parser = NULL });
	add_program(1);
	add_program(2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	named_fini(&named);
	return 0;
}

/* The answer where nothing else is asked. */
static enum fp_rule rule_alone(uint64_t frame)
{
	struct fp_rules rules;

	fp_rules_init(&rules, named.namer);
	fp_rules_ask(&rules, frame);
	fp_rules_resolve(&rules);
	enum fp_rule rule = fp_rules_find(&rules, frame);
	fp_rules_fini(&rules);
	return rule;
}

static void the_cfi_tells_whether_rbp_is_a_frame_pointer(void **state)
{
	static const struct {
		const char *what;
		uint64_t frame;
		enum fp_rule rule;
	} cases[] = {
		{ "before the push", EXACT(1, FRAMED), FP_RULE_PROLOGUE_OR_EPILOGUE },
		{ "before the mov", EXACT(1, FRAMED + 1), FP_RULE_PROLOGUE_OR_EPILOGUE },
		{ "the last before the frame is set up", EXACT(1, FRAMED + 3),
		  FP_RULE_PROLOGUE_OR_EPILOGUE },
		{ "the body", EXACT(1, FRAMED + 4), FP_RULE_FRAME_POINTER },
		{ "the end of the body", EXACT(1, FRAMED + 0x3e), FP_RULE_FRAME_POINTER },
		{ "behind the pop", EXACT(1, FRAMED + 0x3f), FP_RULE_PROLOGUE_OR_EPILOGUE },
		{ "a return address is looked up before it", FRAME(1, FRAMED + 0x3f),
		  FP_RULE_FRAME_POINTER },
		{ "a leaf", EXACT(1, LEAF + 8), FP_RULE_NO_FRAME_POINTER },
		{ "rbp elsewhere in the frame", EXACT(1, ODD + 8), FP_RULE_NO_FRAME_POINTER },
		{ "rbp too high in the frame", EXACT(1, ODD + 0x18), FP_RULE_NO_FRAME_POINTER },
		{ "before the realignment", EXACT(1, REALIGNED), FP_RULE_PROLOGUE_OR_EPILOGUE },
		{ "behind the realignment", EXACT(1, REALIGNED + 8), FP_RULE_FRAME_POINTER },
		{ "without CFI", EXACT(1, NO_FDE + 8), FP_RULE_UNKNOWN },
		{ "a frame from the start", EXACT(1, LAST), FP_RULE_FRAME_POINTER },
		{ "its end", EXACT(1, LAST + 0x1f), FP_RULE_PROLOGUE_OR_EPILOGUE },
		{ "behind the last FDE", EXACT(1, LAST + 0x20), FP_RULE_UNKNOWN },
		{ "another object", EXACT(2, FRAMED + 4), FP_RULE_FRAME_POINTER },
		{ "an object without a file", EXACT(3, FRAMED + 4), FP_RULE_UNKNOWN },
		{ "no object", RAW(FRAMED + 4), FP_RULE_UNKNOWN },
		{ "an address that looks like an object's", RAW(FRAME(1, FRAMED + 4)),
		  FP_RULE_UNKNOWN },
	};
	struct fp_rules rules;

	(void)state;
	fp_rules_init(&rules, named.namer);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) /* each twice, in no order */
		fp_rules_ask(&rules, cases[i * 7 % ARRAY_SIZE(cases)].frame);
	fp_rules_resolve(&rules);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum fp_rule rule = fp_rules_find(&rules, cases[i].frame);

		if (rule != cases[i].rule)
			fail_msg("%s: %s", cases[i].what, fp_rule_key(rule));
	}
	assert_int_equal(fp_rules_find(&rules, EXACT(1, FRAMED + 5)), FP_RULE_UNKNOWN);
	fp_rules_fini(&rules);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (rule_alone(cases[i].frame) != cases[i].rule)
			fail_msg("alone: %s", cases[i].what);

	fp_rules_init(&rules, named.namer);
	fp_rules_resolve(&rules);
	assert_int_equal(fp_rules_find(&rules, EXACT(1, FRAMED + 4)), FP_RULE_UNKNOWN);
	fp_rules_fini(&rules);
}

#define KERNEL 0x123456789abcull
#define TOP    CALL(1, LAST + 8)
#define BODY   CALL(1, FRAMED + 8)

/* A leaf in framed's body, prologue and in leaf: C, then what F makes of it. */
static uint64_t agree[] = { EXACT(1, FRAMED + 8),	 BODY,	      TOP,	 KERNEL,
			    BY_FP(EXACT(1, FRAMED + 8)), BY_FP(BODY), BY_FP(TOP) };
static uint64_t skip[] = { EXACT(1, FRAMED), BODY, TOP, BY_FP(EXACT(1, FRAMED)), BY_FP(TOP) };
static uint64_t skip_elsewhere[] = { EXACT(1, FRAMED + 1), BODY, TOP, BY_FP(EXACT(1, FRAMED + 1)),
				     BY_FP(TOP) };
static uint64_t wrong[] = { EXACT(2, LEAF), BODY, TOP, BY_FP(EXACT(2, LEAF)), BY_FP(RAW(0x77)) };
static uint64_t cut[] = { EXACT(2, LEAF), CALL(2, ODD), BY_FP(EXACT(2, LEAF)) };
static uint64_t empty[] = { EXACT(1, LEAF), TOP };
static uint64_t longer[] = { EXACT(1, LEAF), BY_FP(EXACT(1, LEAF)), BY_FP(TOP) };
static uint64_t stepped[] = { EXACT(1, LEAF), BY_FP(TOP), BY_FP(EXACT(1, LEAF)) };
static uint64_t thread[] = { KERNEL };

static struct profile_stack stacks[] = {
	{ .count = 50, .comm = "app", .nr_user = 3, .nr_kernel = 1, .nr_fp = 3, .frames = agree },
	{ .count = 9, .comm = "app", .nr_user = 3, .nr_fp = 2, .frames = skip },
	{ .count = 1, .comm = "app", .nr_user = 3, .nr_fp = 2, .frames = skip_elsewhere },
	{ .count = 20, .comm = "b;d", .nr_user = 3, .nr_fp = 2, .frames = wrong },
	{ .count = 10, .comm = "b;d", .nr_user = 2, .nr_fp = 1, .frames = cut },
	{ .count = 6, .comm = "app", .nr_user = 2, .nr_fp = 0, .frames = empty },
	{ .count = 4, .comm = "app", .nr_user = 1, .nr_fp = 2, .frames = longer },
	{ .count = 30, .comm = "go", .nr_user = 2, .nr_fp = 1, .frames = stepped },
	{ .count = 5,
	  .comm = "kworker",
	  .nr_kernel = 1,
	  .frames = thread,
	  .stop = FPL_STOP_NO_USER_REGS,
	  .flags = FPL_SAMPLE_KTHREAD },
};
enum { SHOWN = 135, JUDGED = 100 };

static struct profile_object objects[] = {
	{ .id = 1, .path = "/usr/bin/app", .build_id = "c0ffee" },
	{ .id = 2, .path = "/lib/b\x1b.so", .build_id = "" },
};

static struct profile profile = {
	.source = { .name = "cpu-clock", .hz = 99 },
	.user = true,
	.kernel = true,
	.fp_max = 127,
	.duration_ns = 2500000000,
	.nr_cpus = 2,
	.objects = objects,
	.nr_objects = ARRAY_SIZE(objects),
	.stacks = stacks,
	.nr_stacks = ARRAY_SIZE(stacks),
	.books = { .fired = SHOWN },
};

struct made {
	struct names names;
	struct recording recording;
	struct comparison comparison;
};

static void make(struct made *made, const struct profile *of)
{
	names_init(&made->names, of, named.namer, &(struct names_options){ .by_function = true });
	assert_int_equal(recording_init(&made->recording), 0);
	finished_make(&made->names, &made->recording);
	comparison_make(&made->names, &made->recording, &made->comparison);
}

static void unmake(struct made *made)
{
	comparison_fini(&made->comparison);
	recording_fini(&made->recording);
	names_fini(&made->names);
}

static void every_sample_is_counted_once_in_each_table(void **state)
{
	const struct comparison *c;
	uint64_t programs = 0, parted = 0, rules = 0, objects_sum = 0;
	struct made made;

	(void)state;
	make(&made, &profile);
	c = &made.comparison;
	assert_int_equal(c->shown, SHOWN);
	assert_int_equal(c->judged, JUDGED);
	assert_int_equal(c->counts[VERDICT_AGREE], 50);
	assert_int_equal(c->counts[VERDICT_WRONG], 24);
	assert_int_equal(c->counts[VERDICT_SKIP], 10);
	assert_int_equal(c->counts[VERDICT_CUT], 16);
	assert_int_equal(c->counts[VERDICT_UNJUDGED], 35);
	assert_int_equal(c->reasons[VERDICT_REASON_FP_FRAME], 30);
	assert_int_equal(c->reasons[VERDICT_REASON_NO_USER_PART], 5);
	for (size_t i = 0; i < c->programs.rows.nr; i++)
		for (size_t j = 0; j < VERDICT_CLASS_COUNT; j++)
			programs += c->programs.rows.list[i].counts[j];
	for (size_t i = 0; i < c->objects.rows.nr; i++)
		objects_sum += comparison_parted(&c->objects.rows.list[i]);
	for (size_t i = 0; i < c->partings.rows.nr; i++)
		parted += comparison_parted(&c->partings.rows.list[i]);
	for (size_t i = 0; i < VERDICT_CLASS_COUNT; i++)
		for (size_t j = 0; j < FP_RULE_COUNT; j++)
			rules += c->rules[i][j];
	assert_int_equal(programs, SHOWN);
	assert_int_equal(objects_sum, 50);
	assert_int_equal(parted, 50);
	assert_int_equal(rules, 50);
	unmake(&made);
}

/* The JSON of the made-up profile but for the books. */
static const char json_text[] =
	"{\"type\":\"compare\",\"format\":1,\"fp_max\":127,\"shown\":135,\"judged\":100,"
	"\"frames\":276,\"frames_common\":194,"
	"\"classes\":{\"agree\":50,\"wrong\":24,\"skip\":10,\"cut\":16,\"unjudged\":35},"
	"\"unjudged\":{\"outermost\":0,\"depth\":0,\"no_mapping\":0,\"no_table\":0,\"no_cfi\":0,"
	"\"expr\":0,\"reg_unknown\":0,\"read_fault\":0,\"no_progress\":0,\"bad_ra\":0,"
	"\"fp_end\":0,\"no_user_regs\":0,\"exiting\":0,\"execing\":0,\"compat32\":0,"
	"\"table_changed\":0,\"burst\":0,\"not_walked\":0,\"no_user_part\":5,\"fp_frame\":30,\"synth_frame\":0,"
	"\"left_out\":0},"
	"\"at\":{"
	"\"wrong\":{\"prologue_or_epilogue\":0,\"no_frame_pointer\":24,\"frame_pointer\":0,"
	"\"unknown\":0},"
	"\"skip\":{\"prologue_or_epilogue\":10,\"no_frame_pointer\":0,\"frame_pointer\":0,"
	"\"unknown\":0},"
	"\"cut\":{\"prologue_or_epilogue\":0,\"no_frame_pointer\":10,\"frame_pointer\":0,"
	"\"unknown\":6}},"
	"\"programs\":["
	"{\"comm\":\"app\",\"judged\":70,\"agree\":50,\"wrong\":4,\"skip\":10,\"cut\":6,"
	"\"unjudged\":0},"
	"{\"comm\":\"b;d\",\"judged\":30,\"agree\":0,\"wrong\":20,\"skip\":0,\"cut\":10,"
	"\"unjudged\":0},"
	"{\"comm\":\"go\",\"judged\":0,\"agree\":0,\"wrong\":0,\"skip\":0,\"cut\":0,"
	"\"unjudged\":30},"
	"{\"comm\":\"kworker\",\"judged\":0,\"agree\":0,\"wrong\":0,\"skip\":0,\"cut\":0,"
	"\"unjudged\":5}],"
	"\"objects\":["
	"{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"samples\":40,\"wrong\":24,"
	"\"skip\":10,\"cut\":6},"
	"{\"object\":\"/lib/b\\u001b.so\",\"build_id\":\"\",\"samples\":10,\"wrong\":0,"
	"\"skip\":0,\"cut\":10}],"
	"\"objects_before\":["
	"{\"object\":\"/lib/b\\u001b.so\",\"build_id\":\"\",\"samples\":30,\"wrong\":20,"
	"\"skip\":0,\"cut\":10},"
	"{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"samples\":14,\"wrong\":4,"
	"\"skip\":10,\"cut\":0},"
	"{\"object\":null,\"build_id\":null,\"samples\":6,\"wrong\":0,\"skip\":0,\"cut\":6}],"
	"\"partings\":["
	"{\"samples\":20,\"class\":\"wrong\",\"at\":\"no_frame_pointer\",\"function\":\"framed\","
	"\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"},"
	"{\"samples\":10,\"class\":\"cut\",\"at\":\"no_frame_pointer\","
	"\"function\":\"[b\\\\x1b.so+0x1060]\",\"object\":\"/lib/b\\u001b.so\",\"build_id\":\"\"},"
	"{\"samples\":10,\"class\":\"skip\",\"at\":\"prologue_or_epilogue\","
	"\"function\":\"framed\",\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"},"
	"{\"samples\":6,\"class\":\"cut\",\"at\":\"unknown\",\"function\":\"leaf\","
	"\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"},"
	"{\"samples\":4,\"class\":\"wrong\",\"at\":\"no_frame_pointer\",\"function\":\"leaf\","
	"\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"}],"
	"\"partings_left\":{\"places\":0,\"samples\":0},\"books\":{\"format\":1,";

static char *rendered(const struct profile *of,
		      void (*write)(FILE *to, const struct comparison *comparison))
{
	struct made made;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	make(&made, of);
	write(to, &made.comparison);
	fclose(to);
	unmake(&made);
	return text;
}

static void json_is_one_document_with_every_key(void **state)
{
	AUTO_FREE char *text = rendered(&profile, compare_json_write);

	(void)state;
	size_t same = 0;
	while (json_text[same] && text[same] == json_text[same])
		same++;
	if (json_text[same])
		fail_msg("expected: %.80s\ngot: %.80s", json_text + same, text + same);
	assert_string_equal(text + strlen(text) - 3, "}}\n");
}

static void text_explains_each_class(void **state)
{
	AUTO_FREE char *text = rendered(&profile, compare_text_write);
	const char *const lines[] = {
		"100 of 135 samples judged: cpu-clock at 99 Hz, 2.5 s, 2 CPUs\n",
		"  agree      50.00%        50  it has the frames of the CFI walk",
		"  wrong      24.00%        24  it has a frame that is not on the stack\n",
		"  skip       10.00%        10  it misses a frame",
		"  cut        16.00%        16  it ends before the stack does\n",
		"  unjudged                 35  ",
		("\nOf 2.8 frames a stack has, it has the first 1.9 right, counted from the leaf "
		 "(70.3%)\n"),
		" no_user_part 5, fp_frame 30\n",
		"       70  71.43%   5.71%  14.29%   8.57%         0  app\n",
		"       30   0.00%  66.67%   0.00%  33.33%         0  b\\x3bd\n",
		"        0       -       -       -       -        30  go\n",
		"       40  24.00%  10.00%   6.00%  /usr/bin/app\n",
		"       10   0.00%   0.00%  10.00%  /lib/b\\x1b.so\n",
		"       30  20.00%   0.00%  10.00%  /lib/b\\x1b.so\n",
		"        6   0.00%   0.00%   6.00%  (no object)\n",
		"         0        10         0  prologue_or_epilogue: ",
		"        24         0        10  no_frame_pointer: ",
		"   20.00%        20  wrong  framed  (app)  no_frame_pointer\n",
		"   10.00%        10  cut    [b\\x1b.so+0x1060]  (b\\x1b.so)  no_frame_pointer\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("missing: %s\nin: %s", lines[i], text);
	assert_null(strstr(text, "frame_pointer: rbp is"));
	assert_null(strstr(text, "... and"));
}

static void the_report_has_one_line(void **state)
{
	AUTO_FREE char *text = rendered(&profile, compare_text_report);

	(void)state;
	assert_string_equal(text, "  compare      100 judged: agree 50.00 %, wrong 24.00 %, "
				  "skip 10.00 %, cut 16.00 %; 35 unjudged\n");
}

static void twenty_partings_are_listed_and_the_rest_is_summed_up(void **state)
{
	enum { NR = COMPARISON_NR_PARTINGS + 3 };
	static uint64_t frames[NR][3];
	struct profile_stack many[NR];
	struct profile of = profile;

	(void)state;
	for (uint64_t i = 0; i < NR; i++) {
		frames[i][0] = EXACT(1, LEAF);
		frames[i][1] = FRAME(2, NO_FDE + i);
		frames[i][2] = BY_FP(EXACT(1, LEAF));
		many[i] = (struct profile_stack){ .count = 100 - i,
						  .comm = "app",
						  .nr_user = 2,
						  .nr_fp = 1,
						  .frames = frames[i] };
	}
	of.stacks = many;
	of.nr_stacks = NR;
	AUTO_FREE char *json = rendered(&of, compare_json_write);
	AUTO_FREE char *text = rendered(&of, compare_text_write);
	assert_non_null(strstr(json, "\"partings_left\":{\"places\":3,\"samples\":237}"));
	assert_non_null(strstr(json, "{\"samples\":81,\"class\":\"cut\""));
	assert_null(strstr(json, "{\"samples\":80,\"class\":\"cut\""));
	assert_non_null(strstr(text, "  ... and 3 more places\n"));
}

static void a_place_is_function_object_class_and_rule(void **state)
{
	/* All part at a function called framed. The last is the first again, of another program. */
	static uint64_t frames[][3] = {
		{ EXACT(1, LEAF), CALL(1, FRAMED), BY_FP(EXACT(1, LEAF)) },
		{ EXACT(1, LEAF), CALL(2, FRAMED), BY_FP(EXACT(1, LEAF)) },
		{ EXACT(1, FRAMED), CALL(1, FRAMED), BY_FP(EXACT(1, FRAMED)) },
		{ EXACT(1, LEAF), CALL(1, FRAMED), BY_FP(RAW(1)) },
		{ EXACT(1, FRAMED + 8), CALL(1, FRAMED), BY_FP(EXACT(1, FRAMED + 8)) },
		{ EXACT(1, LEAF + 1), CALL(1, FRAMED + 8), BY_FP(EXACT(1, LEAF + 1)) },
	};
	static const char *const want =
		"\"partings\":["
		"{\"samples\":97,\"class\":\"cut\",\"at\":\"no_frame_pointer\","
		"\"function\":\"framed\",\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"},"
		"{\"samples\":32,\"class\":\"cut\",\"at\":\"no_frame_pointer\","
		"\"function\":\"framed\",\"object\":\"/lib/b\\u001b.so\",\"build_id\":\"\"},"
		"{\"samples\":16,\"class\":\"cut\",\"at\":\"prologue_or_epilogue\","
		"\"function\":\"framed\",\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"},"
		"{\"samples\":8,\"class\":\"wrong\",\"at\":\"unknown\","
		"\"function\":\"leaf\",\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"},"
		"{\"samples\":4,\"class\":\"cut\",\"at\":\"frame_pointer\","
		"\"function\":\"framed\",\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\"}],";
	static const uint64_t counts[] = { 64, 32, 16, 8, 4, 33 };
	struct profile_stack list[ARRAY_SIZE(frames)];
	struct profile of = profile;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		list[i] = (struct profile_stack){ .count = counts[i],
						  .comm = "app",
						  .nr_user = 2,
						  .nr_fp = 1,
						  .frames = frames[i] };
		if (i == 5)
			memcpy(list[i].comm, "other", 6);
	}
	of.stacks = list;
	of.nr_stacks = ARRAY_SIZE(list);
	AUTO_FREE char *json = rendered(&of, compare_json_write);
	if (!strstr(json, want))
		fail_msg("not there:\n%s\nin:\n%.2000s", want, strstr(json, "\"objects\""));
	assert_non_null(strstr(json, "\"programs\":[{\"comm\":\"app\",\"judged\":124,"));
	assert_non_null(strstr(json, "\"objects\":[{\"object\":\"/usr/bin/app\","
				     "\"build_id\":\"c0ffee\",\"samples\":125,"));
}

static void many_programs_keep_their_own_counts(void **state)
{
	enum { NR = 500 };
	static struct profile_stack many[2 * NR];
	struct profile of = profile;
	struct made made;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = stacks[i < NR ? 0 : 3];
		many[i].count = 1000 - i % NR;
		snprintf(many[i].comm, sizeof(many[i].comm), "c%u", i % NR);
	}
	of.stacks = many;
	of.nr_stacks = ARRAY_SIZE(many);
	make(&made, &of);
	assert_int_equal(made.comparison.programs.rows.nr, NR);
	for (unsigned i = 0; i < NR; i++) {
		const struct comparison_row *row = &made.comparison.programs.rows.list[i];

		assert_string_equal(row->comm, many[i].comm);
		assert_string_equal(strings_text(&made.names.strings, row->text), many[i].comm);
		assert_int_equal(row->counts[VERDICT_AGREE], 1000 - i);
		assert_int_equal(row->counts[VERDICT_WRONG], 1000 - i);
		assert_int_equal(comparison_judged(row), 2 * (1000 - i));
	}
	unmake(&made);
	AUTO_FREE char *text = rendered(&of, compare_text_write);
	assert_non_null(strstr(text, "  ... and 470 more programs\n"));
}

/* Objects of one name: their places read alike, and differ in object, class or rule alone. */
static void places_that_read_alike_keep_their_own_counts(void **state)
{
	enum { NR = 60, NR_KINDS = 4 };
	static struct profile_object many_objects[NR];
	static uint64_t frames[NR * NR_KINDS][4];
	static struct profile_stack many[NR * NR_KINDS];
	struct profile of = profile;
	struct made made;

	(void)state;
	for (unsigned i = 0; i < NR; i++)
		many_objects[i] = (struct profile_object){ .id = i + 1,
							   .path = objects[0].path,
							   .build_id = "" };
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
		uint64_t leaf = EXACT(1, i & 1 ? LEAF : FRAMED);

		frames[i][0] = leaf;
		frames[i][1] = FRAME(3 + i / NR_KINDS % (NR - 2), 0x77);
		frames[i][2] = BY_FP(leaf);
		frames[i][3] = BY_FP(RAW(1));
		many[i] = (struct profile_stack){ .count = 1000 - i,
						  .comm = "app",
						  .nr_user = 2,
						  .nr_fp = i & 2 ? 1 : 2,
						  .frames = frames[i] };
	}
	of.objects = many_objects;
	of.nr_objects = NR;
	of.stacks = many;
	of.nr_stacks = ARRAY_SIZE(many) - 2 * NR_KINDS; /* objects 3 to NR, each once */
	make(&made, &of);
	assert_int_equal(made.comparison.partings.rows.nr, of.nr_stacks);
	assert_int_equal(made.comparison.objects.rows.nr, NR - 2);
	assert_int_equal(made.comparison.before.rows.nr, 1);
	for (unsigned i = 0; i < of.nr_stacks; i++) {
		const struct comparison_row *row = &made.comparison.partings.rows.list[i];

		assert_int_equal(comparison_parted(row), 1000 - i);
		assert_int_equal(row->object, 3 + i / NR_KINDS);
		assert_int_equal(row->class, i & 2 ? VERDICT_CUT : VERDICT_WRONG);
		assert_int_equal(row->rule,
				 i & 1 ? FP_RULE_NO_FRAME_POINTER : FP_RULE_PROLOGUE_OR_EPILOGUE);
	}
	unmake(&made);
}

static void nothing_judged_divides_by_nothing(void **state)
{
	struct profile of = profile;

	(void)state;
	of.stacks = stacks + 7;
	of.nr_stacks = 2;
	AUTO_FREE char *text = rendered(&of, compare_text_write);
	assert_non_null(strstr(text, "0 of 35 samples judged"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "By object"));
	of.nr_stacks = 0;
	AUTO_FREE char *empty_text = rendered(&of, compare_text_write);
	assert_non_null(strstr(empty_text, "0 of 0 samples judged"));
	assert_null(strstr(empty_text, "nan"));
}

static void folded_holds_every_sample_of_either_walk(void **state)
{
	static const char *const want[] = {
		[MERGE_CFI] = "app;[app+0x10c0];leaf 6\n"
			      "app;[app+0x10c0];framed;framed 10\n"
			      "app;[app+0x10c0];framed;framed;-;[0x123456789abc] 50\n",
		[MERGE_FP] = "app 6\n"
			     "app;[app+0x10c0];framed 10\n"
			     "app;[app+0x10c0];framed;framed;-;[0x123456789abc] 50\n",
	};
	struct profile of = profile;

	(void)state;
	struct profile_stack few[] = { stacks[0], stacks[1], stacks[2], stacks[5] };
	of.stacks = few;
	of.nr_stacks = ARRAY_SIZE(few);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct format_options options = { .delimited = true };
		AUTO_FREE char *text = NULL;
		struct recording recording;
		uint64_t shown;
		size_t size;
		FILE *to = open_memstream(&text, &size);

		record_profile(&of, named.namer, &recording);
		folded_write_walk(to, &recording, (enum merge_walk)i, &options, &shown);
		assert_int_equal(shown, 66);
		fclose(to);
		recording_fini(&recording);
		assert_string_equal(text, want[i]);
	}
}

static void jsonl_has_the_second_walk_and_the_class(void **state)
{
	AUTO_FREE char *text = written_profile(jsonl_write, &profile, named.namer,
					       &(struct format_options){ 0 }, SHOWN);

	(void)state;
	assert_non_null(strstr(
		text, "\"kernel\":[],\"fp\":["
		      "{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"vaddr\":\"0x1000\","
		      "\"symbol\":\"framed\",\"offset\":0,\"origin\":\"fp\",\"exact\":true},"
		      "{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"vaddr\":\"0x10c9\","
		      "\"symbol\":null,\"offset\":null,\"start\":\"0x10c0\",\"origin\":\"fp\"}],"
		      "\"class\":\"skip\"}\n"));
	assert_non_null(strstr(text, "\"fp\":[],\"class\":\"cut\"}\n"));
	assert_non_null(strstr(text, "\"fp\":[],\"class\":\"unjudged\"}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cfi_tells_whether_rbp_is_a_frame_pointer),
		cmocka_unit_test(every_sample_is_counted_once_in_each_table),
		cmocka_unit_test(json_is_one_document_with_every_key),
		cmocka_unit_test(text_explains_each_class),
		cmocka_unit_test(the_report_has_one_line),
		cmocka_unit_test(twenty_partings_are_listed_and_the_rest_is_summed_up),
		cmocka_unit_test(a_place_is_function_object_class_and_rule),
		cmocka_unit_test(many_programs_keep_their_own_counts),
		cmocka_unit_test(places_that_read_alike_keep_their_own_counts),
		cmocka_unit_test(nothing_judged_divides_by_nothing),
		cmocka_unit_test(folded_holds_every_sample_of_either_walk),
		cmocka_unit_test(jsonl_has_the_second_walk_and_the_class),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
