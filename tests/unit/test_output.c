/* SPDX-License-Identifier: Apache-2.0 */
/* The formats, of a profile written by hand: kernel threads, raw frames, hostile names, merging. */
#include "cmocka_all.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/folded_write.h"
#include "format/jsonl_write.h"
#include "format/stats.h"
#include "format/text_report.h"
#include "recording/keys.h"
#include "recording/verdict_class.h"
#include "report/run_report.h"
#include "report/tally.h"
#include "tests/support/elf_builder.h"
#include "tests/support/named.h"
#include "tests/support/written.h"
#include "view/share.h"

/* An address that no kernel symbol can hold. */
#define NO_KERNEL 0x123456789abcull

#define FRAME(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define LEAF(object, vaddr)  (FRAME(object, vaddr) | FPL_FRAME_EXACT)
#define ORIGIN(name)	     ((uint64_t)FPL_ORIGIN_##name << FPL_FRAME_ORIGIN_SHIFT)
#define RAW(addr)	     (FPL_FRAME_RAW | (addr))

static const struct {
	const char *name;
	uint64_t vaddr, size;
} symbols[] = {
	{ "main", 0x1100, 0x10 },
	{ "callee", 0x1110, 0x10 },
	{ "evil;na\\me\n\xff", 0x1120, 0x10 },
	{ "_ZN3foo3barEv", 0x1130, 0x10 },
};

static struct profile_object objects[] = {
	{ .id = 1, .path = "/usr/bin/app", .build_id = "c0ffee" },
	{ .id = 2, .path = "/lib/e;v\x1b.so", .build_id = "" },
};

/* 0x1110 as a return address belongs to main: the call was its last instruction. */
static uint64_t app_frames[] = { LEAF(1, 0x1114), FRAME(1, 0x1110), NO_KERNEL };
static uint64_t raw_frames[] = { LEAF(1, 0x1124), RAW(0x7f00dead0000) | ORIGIN(FP),
				 FRAME(1, 0x1135) | ORIGIN(CFI_USER) };
static uint64_t object_frames[] = { LEAF(2, 0x30), FRAME(2, 0x40) | ORIGIN(SYNTH) };
static uint64_t kernel_frames[] = { NO_KERNEL, NO_KERNEL + 16 };

static struct profile_stack stacks[] = {
	{ .count = 5,
	  .weight = 50,
	  .pid = 10,
	  .stop = FPL_STOP_OUTERMOST,
	  .comm = "app",
	  .nr_user = 2,
	  .nr_kernel = 1,
	  .frames = app_frames,
	  .flags = FPL_SAMPLE_KERNEL },
	{ .count = 2,
	  .weight = 20,
	  .pid = 11,
	  .stop = FPL_STOP_OUTERMOST,
	  .comm = "app",
	  .nr_user = 2,
	  .nr_kernel = 1,
	  .frames = app_frames,
	  .flags = FPL_SAMPLE_KERNEL },
	{ .count = 3,
	  .weight = 30,
	  .pid = 2,
	  .stop = FPL_STOP_NO_USER_REGS,
	  .comm = "kworker/0:1",
	  .nr_kernel = 2,
	  .frames = kernel_frames,
	  .flags = FPL_SAMPLE_KTHREAD | FPL_SAMPLE_KERNEL },
	{ .count = 1,
	  .weight = 10,
	  .pid = 12,
	  .stop = FPL_STOP_FP_END,
	  .comm = "a;b\\\n\xff\"",
	  .nr_user = 3,
	  .frames = raw_frames },
	{ .count = 1,
	  .weight = 10,
	  .pid = 13,
	  .stop = FPL_STOP_NO_CFI,
	  .comm = "a",
	  .nr_user = 2,
	  .frames = object_frames },
	{ .count = 1,
	  .weight = 10,
	  .pid = 13,
	  .stop = FPL_STOP_NO_CFI,
	  .comm = "a b",
	  .nr_user = 2,
	  .frames = object_frames },
	{ .count = 1,
	  .weight = 10,
	  .pid = 14,
	  .stop = FPL_STOP_EXECING,
	  .comm = "sh",
	  .frames = app_frames },
};
enum { SHOWN = 14 };

static char *argv[] = { "fpless profile", "-F", "99", NULL };

static struct profile profile = {
	.source = { .name = "cpu-clock", .period = 10101010, .hz = 99 },
	.argv = argv,
	.user = true,
	.kernel = true,
	.start_unix_ns = 1700000000000000000,
	.duration_ns = 2500000000,
	.nr_cpus = 2,
	.kernel_release = "6.1.0",
	.objects = objects,
	.nr_objects = ARRAY_SIZE(objects),
	.stacks = stacks,
	.nr_stacks = ARRAY_SIZE(stacks),
	.books = { .expected = 40,
		   .missed = 4,
		   .fired = 36,
		   .idle = 15,
		   .filtered = 5,
		   .lost = { [FPL_LOST_RING_FULL] = 2 },
		   .bpf_ns = 37000,
		   .uretprobe_samples = 3,
		   .sample_ns = 36000,
		   .bpf_runs = 36 },
	.tables = { 3, 1000, 100, 4096, 1048576, 12, 3, 5000, 4, 2, 3145728, 1 },
	.max_overhead = 0.5,
	.hz_end = 50,
	.hz_changes = 2,
	.maps = { { "procs", 15, 16, 4096, 0, "--max-processes", true },
		  { "mappings", 5, 100, 8192, 2, "--max-mappings", true },
		  { "stacks", 5, 100, 8192, 0, "--stack-memory", true },
		  { "scratch", 1, 1, 12288, 0, NULL, false } },
	.nr_maps = 4,
	.drain_gap_max_ns = 3500000,
	.away_ns = 8040000000,
	.maps_bytes = 2097152,
	.rss_peak_bytes = 1000000,
	.user_cpu_ms = 7,
	.startup_ms = 42,
};

static struct named named;

/* An ELF file with the symbols above: names no assembler would take. */
static void build_app(struct elf_builder *elf)
{
	Elf64_Sym table[ARRAY_SIZE(symbols) + 1] = { 0 };
	uint8_t text[0x200] = { 0 };
	char names[256] = "";
	size_t at = 1;

	elf_builder_init(elf, ET_DYN);
	size_t text_idx = elf_builder_section(elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					      0x1000, text, sizeof(text));
	elf_builder_segment(elf, PT_LOAD, PF_R | PF_X, elf->sections[text_idx].sh_offset, 0x1000,
			    sizeof(text), sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		size_t size = strlen(symbols[i].name) + 1;

		assert_true(at + size <= sizeof(names));
		memcpy(names + at, symbols[i].name, size);
		table[i + 1] = (Elf64_Sym){ .st_name = (uint32_t)at,
					    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					    .st_shndx = (uint16_t)text_idx,
					    .st_value = symbols[i].vaddr,
					    .st_size = symbols[i].size };
		at += size;
	}
	size_t names_idx = elf_builder_section(elf, ".strtab", SHT_STRTAB, 0, 0, names, at);
	size_t table_idx =
		elf_builder_section(elf, ".symtab", SHT_SYMTAB, 0, 0, table, sizeof(table));
	elf->sections[table_idx].sh_link = (uint32_t)names_idx;
	elf->sections[table_idx].sh_info = 1;
	elf->sections[table_idx].sh_entsize = sizeof(Elf64_Sym);
	elf_builder_finish(elf);
}

static int setup(void **state)
{
	struct elf_builder elf;

	(void)state;
	build_app(&elf);
	named_init(&named, &(struct namer_options){ .parser = NULL });
	named_add(&named, 1, elf.bytes, elf.size, "app");
	elf_builder_fini(&elf);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	named_fini(&named);
	return 0;
}

static void assert_folded(const struct format_options *options, const char *want)
{
	AUTO_FREE char *text = written_profile(folded_write, &profile, named.namer, options, SHOWN);

	assert_string_equal(text, want);
}

static void folded_merges_equal_lines_and_sorts_by_count_then_text(void **state)
{
	(void)state;
	/* ' ' sorts before ';', so "a b" comes before "a" with frames. */
	assert_folded(&(struct format_options){ 0 },
		      "a b;[e\\x3bv\\x1b.so+0x40];[e\\x3bv\\x1b.so+0x30] 1\n"
		      "a;[e\\x3bv\\x1b.so+0x40];[e\\x3bv\\x1b.so+0x30] 1\n"
		      "a\\x3bb\\x5c\\x0a\\xff\";foo::bar();[0x7f00dead0000];"
		      "evil\\x3bna\\x5cme\\x0a\\xff 1\n"
		      "sh 1\n"
		      "kworker/0:1;[0x123456789acc];[0x123456789abc] 3\n"
		      "app;main;callee;[0x123456789abc] 7\n");
}

static void folded_marks_kernel_frames_and_origins_on_request(void **state)
{
	(void)state;
	assert_folded(
		&(struct format_options){ .delimited = true, .annotate = true, .origin = true },
		"a b;[e\\x3bv\\x1b.so+0x40]_[synth];[e\\x3bv\\x1b.so+0x30] 1\n"
		"a;[e\\x3bv\\x1b.so+0x40]_[synth];[e\\x3bv\\x1b.so+0x30] 1\n"
		"a\\x3bb\\x5c\\x0a\\xff\";foo::bar()_[cfi_user];[0x7f00dead0000]_[fp];"
		"evil\\x3bna\\x5cme\\x0a\\xff 1\n"
		"sh 1\n"
		"kworker/0:1;[0x123456789acc]_[k];[0x123456789abc]_[k] 3\n"
		"app;main;callee;-;[0x123456789abc]_[k] 7\n");
}

#define BOOKS                                                                                                         \
	"\"format\":1,\"event\":\"cpu-clock\",\"hz\":99,\"period_ns\":10101010,"                                      \
	"\"duration_ms\":2500,\"cpus\":2,\"expected\":40,\"missed\":4,\"fired\":36,"                                  \
	"\"shown\":14,\"idle\":15,\"filtered\":5,\"lost\":{\"ring_full\":2,"                                          \
	"\"stack_map_full\":0,\"object_map_full\":0,\"snapshot_full\":0,\"scratch\":0,"                               \
	"\"user_memory\":0,\"no_frames\":0},\"user_samples\":11,\"complete\":7,"                                      \
	"\"stop\":{\"outermost\":7,\"depth\":0,\"no_mapping\":0,\"no_table\":0,\"no_cfi\":2,"                         \
	"\"expr\":0,\"reg_unknown\":0,\"read_fault\":0,\"no_progress\":0,\"bad_ra\":0,"                               \
	"\"fp_end\":1,\"no_user_regs\":0,\"exiting\":0,\"execing\":1,\"compat32\":0,"                                 \
	"\"table_changed\":0,\"burst\":0,\"not_walked\":0},\"frames\":21,\"elided\":{\"samples\":0,\"most\":0},"      \
	"\"frames_by_origin\":{\"cfi\":17,\"cfi_user\":1,"                                                            \
	"\"fp\":1,\"synth\":2,\"script\":0,\"jit\":0},"                                                               \
	"\"samples_by_origin\":{\"cfi\":10,\"cfi_user\":1,\"fp\":1,"                                                  \
	"\"synth\":2,\"script\":0,\"jit\":0},\"uretprobe_samples\":3,\"bpf_ns\":37000,\"bpf_runs\":36,\"sample_ns\":" \
	"36000,"                                                                                                      \
	"\"weight_ns\":140,\"hz_end\":50,\"hz_changes\":2,\"deep\":{\"walked\":0,"                                    \
	"\"refused\":0,\"cut\":0,\"ns\":0},\"tables\":{"                                                              \
	"\"objects\":3,"                                                                                              \
	"\"rows\":1000,\"rules\":100,\"bytes\":4096,\"allocated_bytes\":1048576,"                                     \
	"\"cache_hits\":12,\"cache_misses\":3,\"cache_bytes\":5000,"                                                  \
	"\"evicted\":4,\"refused\":2,\"refused_bytes\":3145728,\"synth_refused\":1},"                                 \
	"\"no_room\":{\"files\":0,\"reading\":0,\"objects\":0,\"tables\":0,\"mappings\":0,"                           \
	"\"snapshots\":0},"                                                                                           \
	"\"maps_bytes\":2097152,\"maps\":{"                                                                           \
	"\"procs\":{\"entries\":15,\"max\":16,\"bytes\":4096,\"refused\":0},"                                         \
	"\"mappings\":{\"entries\":5,\"max\":100,\"bytes\":8192,\"refused\":2},"                                      \
	"\"stacks\":{\"entries\":5,\"max\":100,\"bytes\":8192,\"refused\":0},"                                        \
	"\"scratch\":{\"entries\":1,\"max\":1,\"bytes\":12288,\"refused\":0}},"                                       \
	"\"rss_peak_bytes\":1000000,\"user_cpu_ms\":7,"                                                               \
	"\"startup_ms\":42,\"drain_gap_max_ms\":3,\"away_ms\":8040,"                                                  \
	"\"timeline\":{\"events\":0,\"missing\":0,\"ring_full\":0,\"memory_full\":0},"                                \
	"\"stream\":{\"printed\":0,\"unprinted\":0},"                                                                 \
	"\"run_time_code\":{\"frames\":1,\"named\":0,\"uncertain\":0,"                                                \
	"\"files\":0,\"refused\":0,\"functions\":0,\"bytes\":0}}\n"

static void stats_hold_every_key_zeros_too(void **state)
{
	AUTO_FREE char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	struct recording recording;

	(void)state;
	record_profile(&profile, named.namer, &recording);
	stats_write(to, &recording, SHOWN);
	fclose(to);
	recording_fini(&recording);
	assert_string_equal(text, "{" BOOKS);
}

#define APP                                                                          \
	"\"comm\":\"app\",\"pid\":%d,\"stop\":\"outermost\",\"user\":["              \
	"{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"vaddr\":\"0x1114\"," \
	"\"symbol\":\"callee\",\"offset\":4,\"origin\":\"cfi\",\"exact\":true},"     \
	"{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"vaddr\":\"0x1110\"," \
	"\"symbol\":\"main\",\"offset\":16,\"origin\":\"cfi\"}],\"kernel\":["        \
	"{\"addr\":\"0x123456789abc\",\"symbol\":null,\"offset\":null,\"module\":null}]}\n"

static const char jsonl_format[] =
	"{\"type\":\"meta\",\"format\":1,\"event\":\"cpu-clock\",\"period_ns\":10101010,"
	"\"hz\":99,\"start_unix_ns\":1700000000000000000,\"duration_ns\":2500000000,\"cpus\":2,"
	"\"kernel\":\"6.1.0\",\"argv\":[\"fpless profile\",\"-F\",\"99\"]}\n"
	"{\"type\":\"stack\",\"count\":5,\"weight_ns\":50," APP
	"{\"type\":\"stack\",\"count\":2,\"weight_ns\":20," APP
	"{\"type\":\"stack\",\"count\":3,\"weight_ns\":30,\"comm\":\"kworker/0:1\",\"pid\":2,"
	"\"no_user\":true,\"stop\":null,\"user\":[],\"kernel\":["
	"{\"addr\":\"0x123456789abc\",\"symbol\":null,\"offset\":null,\"module\":null},"
	"{\"addr\":\"0x123456789acc\",\"symbol\":null,\"offset\":null,\"module\":null}]}\n"
	"{\"type\":\"stack\",\"count\":1,\"weight_ns\":10,\"comm\":\"a;b\\\\\\u000a\\\\xff\\\"\","
	"\"pid\":12,\"stop\":\"fp_end\",\"user\":["
	"{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"vaddr\":\"0x1124\","
	"\"symbol\":\"evil;na\\\\me\\u000a\\\\xff\",\"offset\":4,\"origin\":\"cfi\","
	"\"exact\":true},"
	"{\"addr\":\"0x7f00dead0000\",\"symbol\":null,\"offset\":null,\"origin\":\"fp\"},"
	"{\"object\":\"/usr/bin/app\",\"build_id\":\"c0ffee\",\"vaddr\":\"0x1135\","
	"\"symbol\":\"foo::bar()\",\"offset\":5,\"origin\":\"cfi_user\"}],\"kernel\":[]}\n"
	"{\"type\":\"stack\",\"count\":1,\"weight_ns\":10,\"comm\":\"a\",\"pid\":13,"
	"\"stop\":\"no_cfi\",\"user\":["
	"{\"object\":\"/lib/e;v\\u001b.so\",\"build_id\":\"\",\"vaddr\":\"0x30\",\"symbol\":null,"
	"\"offset\":null,\"origin\":\"cfi\",\"exact\":true},"
	"{\"object\":\"/lib/e;v\\u001b.so\",\"build_id\":\"\",\"vaddr\":\"0x40\",\"symbol\":null,"
	"\"offset\":null,\"origin\":\"synth\"}],\"kernel\":[]}\n";

static void jsonl_keeps_processes_apart_and_names_what_is_known(void **state)
{
	AUTO_FREE char *want = NULL;
	AUTO_FREE char *text = written_profile(jsonl_write, &profile, named.namer,
					       &(struct format_options){ .origin = true }, SHOWN);

	(void)state;
	assert_true(asprintf(&want, jsonl_format, 10, 11) > 0);

	/* The head word for word; the last two stacks repeat its forms. */
	assert_true(strlen(text) > strlen(want));
	char *rest = text + strlen(want);
	assert_memory_equal(text, want, strlen(want));
	const char *books = strstr(rest, "{\"type\":\"books\"");
	assert_non_null(books);
	assert_string_equal(books, "{\"type\":\"books\"," BOOKS);
}

static void text_shows_functions_and_stacks_that_add_up(void **state)
{
	AUTO_FREE char *text = written_profile(text_report_write, &profile, named.namer,
					       &(struct format_options){ 0 }, SHOWN);

	(void)state;
	const char *const lines[] = {
		"14 samples: cpu-clock at 99 Hz, 2.5 s, 2 CPUs\n",
		/* 7 as leaf of app, 3 as leaf of the kernel thread */
		"   71.4%   71.4%  [0x123456789abc]  (kernel)\n",
		"    0.0%   50.0%  callee  (app)\n",
		"    7.1%    7.1%  evil\\x3bna\\x5cme\\x0a\\xff  (app)\n",
		("   50.0%  7 of 14  app\n          [0x123456789abc]\n          callee\n"
		 "          main\n"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("missing: %sin: %s", lines[i], text);
}

static char *render(const struct summary *summary, bool details)
{
	const struct hints none = { .nr = 0 };
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	run_report_write(to, summary, &none, details);
	fclose(to);
	return text;
}

static char *render_report(const struct profile *of, uint64_t shown)
{
	return render(&(struct summary){ .profile = of, .shown = shown }, true);
}

static void report_prints_the_books_as_an_identity(void **state)
{
	AUTO_FREE char *text = render_report(&profile, SHOWN);

	(void)state;
	const char *const lines[] = {
		"fpless: 14 samples in 2.5 s, 7 of 10 complete, 2 lost\n",
		"  sampled      cpu-clock at 99 Hz on 2 CPUs\n",
		"complete     70.00 % (7 of 10 user stacks)\n",
		"stops        outermost 7, no_cfi 2, fp_end 1, execing 1\n",
		"frames       1.9 per user stack, cfi 80.95 %, cfi_user 4.76 %, fp 4.76 %, "
		"synth 9.52 %\n",
		"marked       frames by rows made from code (synth) in 18.18 % of the user stacks, "
		"by frame pointers (fp) in 9.09 %\n",
		"lost         ring_full 2\n",
		"away         fpless was stopped, or had no CPU, for 8.0 s: 2 samples of this run "
		"are lost because the ring was full; more --ring-memory\n",
		"no rows      for the code without CFI of 1 object: making them would cost more "
		"than it may\n",
		"BPF          2250 ns per sample, 1800 ns per frame\n",
		"tables       3 objects, 1000 rows, 0.0 MiB (1.0 MiB allocated); 12 read from "
		"disk, 3 made and kept\n",
		"own cost     BPF 0.0 ms, fpless 7 ms of CPU: ",
		"s profiled, 0.14 % of 2 CPUs\n",
		"own memory   1.0 MiB at most, maps 2.0 MiB; started in 42 ms\n",
		"frequency    99 Hz wanted, 50 at the end: changed 2 times (--max-overhead 0.5): "
		"weigh samples by weight_ns\n",
		"books        fired 36 = shown 14 + idle 15 + filtered 5 + lost 2: closed\n",
		"expected     40 samples by the clock, 4 missed (10.00 %)\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("missing: %sin: %s", lines[i], text);
}

/* Each fault has a line with its fix; books that close have no line. */
static void without_details_the_report_is_a_summary_and_what_is_wrong(void **state)
{
	static const char *const outputs[] = { "a.svg", "/tmp/b\x1b.folded" };
	struct summary summary = { .profile = &profile,
				   .shown = SHOWN,
				   .outputs = outputs,
				   .nr_outputs = ARRAY_SIZE(outputs) };
	AUTO_FREE char *text = render(&summary, false);

	(void)state;
	assert_ptr_equal(strstr(text,
				"fpless: 14 samples in 2.5 s, 7 of 10 complete, 2 lost\n"
				"  wrote        a.svg, /tmp/b\\x1b.folded\n"
				"  cost         0.1 % of the machine: 7 ms of CPU, 1 MiB\n"
				"  lost         ring_full 2: a lower -F, or more --ring-memory\n"),
			 text);
	assert_non_null(
		strstr(text, "  away         fpless was stopped, or had no CPU, for 8.0 s"));
	assert_null(strstr(text, "  books"));
	assert_null(strstr(text, "  stops"));
	assert_null(strstr(text, "  tables"));

	summary.shown--;
	AUTO_FREE char *open_books = render(&summary, false);
	assert_non_null(strstr(open_books, "  books        fired 36 = shown 13 "));
}

static void a_run_without_faults_has_four_lines(void **state)
{
	struct profile_stack all[] = {
		{ .count = 1238, .stop = FPL_STOP_OUTERMOST, .weight = 12380000000 },
	};
	const struct profile good = {
		.source = { .name = "cpu-clock", .hz = 99 },
		.user = true,
		.stacks = all,
		.nr_stacks = 1,
		.duration_ns = 4100000000,
		.nr_cpus = 4,
		.user_cpu_ms = 180,
		.rss_peak_bytes = 21 << 20,
		.books = { .fired = 1238 },
	};
	struct summary summary = { .profile = &good,
				   .shown = 1238,
				   .unnamed = { 41, 100, "/usr/bin/perl", "apt-get install x" } };
	AUTO_FREE char *text = render(&summary, false);

	(void)state;
	assert_string_equal(text,
			    "fpless: 1,238 samples in 4.1 s, 100 % complete, none lost\n"
			    "  cost         1.1 % of the machine: 180 ms of CPU, 21 MiB\n"
			    "  names        41 % of leaves have no name, most of them in perl: "
			    "apt-get install x\n");

	/* of less than 0.1 s no share is told */
	all[0].count = 5;
	all[0].weight = 50000000;
	summary.unnamed = (struct summary_unnamed){ 5, 5, "/usr/bin/perl", "" };
	AUTO_FREE char *brief = render(&summary, false);
	assert_non_null(strstr(brief, "5 of 5 complete"));
	assert_null(strstr(brief, "  names"));
}

static void report_names_the_maps_that_are_nearly_full(void **state)
{
	AUTO_FREE char *text =
		render(&(struct summary){ .profile = &profile, .shown = SHOWN }, false);

	(void)state;
	assert_non_null(
		strstr(text, "map          procs: 15 of 16, 0.0 MiB: more --max-processes\n"));
	assert_non_null(strstr(text, "map          mappings: 5 of 100, 0.0 MiB, no room 2 times: "
				     "more --max-mappings\n"));
	assert_null(strstr(text, "stacks: "));
	assert_null(strstr(text, "scratch: "));
	assert_non_null(strstr(text, "table room   4 tables gave way to others, 2 had none at the "
				     "end; all together 3.0 MiB: more --table-memory\n"));
	assert_null(strstr(text, "ring reader"));

	AUTO_FREE char *more = render_report(&profile, SHOWN);
	assert_non_null(strstr(more, "map          stacks: 5 of 100, 0.0 MiB\n"));
	assert_non_null(strstr(more, "map          scratch: 1 of 1, 0.0 MiB\n"));
	assert_non_null(strstr(more, "ring reader  away 3.5 ms at the longest\n"));
}

static void report_and_stats_say_whom_limits_cost_what(void **state)
{
	struct profile some = profile;
	struct recording recording;
	AUTO_FREE char *report = NULL, *stats = NULL;
	size_t size;
	FILE *to = open_memstream(&stats, &size);

	(void)state;
	some.refused[PROFILE_LIMIT_FILES] = 38;
	some.refused[PROFILE_LIMIT_SNAPSHOTS] = 8;
	some.nr_owners = 4;
	for (size_t i = 0; i < some.nr_owners; i++) {
		some.owners[i].owner = 4000000 + i;
		some.owners[i].refused[PROFILE_LIMIT_FILES] = 10 - i;
	}
	some.owners[0].refused[PROFILE_LIMIT_SNAPSHOTS] = 8;
	some.owners[1].owner = OWNER_UNKNOWN;
	some.owners[2].cgroup = "/system.slice/docker-\x1b.scope";
	report = render_report(&some, SHOWN);
	assert_non_null(strstr(
		report,
		"  no room      user 4000000: 10 mappings of files not opened (more "
		"ulimit -n), 8 stacks cut short that waited for tables (more "
		"--ring-memory)\n"
		"               users not known: 9 mappings of files not opened "
		"(more ulimit -n)\n"
		"               cgroup /system.slice/docker-\\x1b.scope: 8 mappings of files not opened (more "
		"ulimit -n)\n"
		"               other users: 11 mappings of files not opened (more "
		"ulimit -n)\n"));
	record_profile(&some, named.namer, &recording);
	stats_write(to, &recording, SHOWN);
	fclose(to);
	recording_fini(&recording);
	assert_non_null(strstr(stats, "\"no_room\":{\"files\":38,\"reading\":0,\"objects\":0,"
				      "\"tables\":0,\"mappings\":0,\"snapshots\":8,\"by_user\":{"
				      "\"4000000\":{\"files\":10,"));
	assert_null(strstr(stats, "18446744073709551615"));
	assert_non_null(strstr(stats, "\"4000003\":{\"files\":7,"));
	assert_null(strstr(stats, "4000002"));
	assert_non_null(strstr(
		stats,
		"\"by_cgroup\":[{\"cgroup\":\"/system.slice/docker-\\u001b.scope\",\"files\":8,"));
}

static void report_says_loudly_that_the_books_do_not_close(void **state)
{
	AUTO_FREE char *text = render_report(&profile, SHOWN - 1);

	(void)state;
	assert_non_null(strstr(text, "DO NOT CLOSE, off by 1: please report this\n"));
}

static void report_of_nothing_divides_by_nothing(void **state)
{
	const struct profile empty = { .source = { .name = "cpu-clock", .hz = 99 }, .user = true };
	AUTO_FREE char *text = render_report(&empty, 0);

	(void)state;
	assert_non_null(strstr(text, "no user stacks"));
	assert_non_null(strstr(text, "lost         none\n"));
	assert_non_null(strstr(text, ": closed\n"));
	assert_null(strstr(text, "nan"));
}

static void completeness_never_rounds_up_to_all(void **state)
{
	struct profile_stack many[] = {
		{ .count = 1000000, .stop = FPL_STOP_OUTERMOST },
		{ .count = 1, .stop = FPL_STOP_READ_FAULT },
	};
	struct profile nearly = profile;

	(void)state;
	nearly.stacks = many;
	nearly.nr_stacks = ARRAY_SIZE(many);
	AUTO_FREE char *text = render_report(&nearly, 1000001);
	assert_non_null(strstr(text, "complete     99.99 % "));
}

static void a_percentage_is_the_share_and_all_only_of_all(void **state)
{
	static const struct {
		uint64_t part, whole;
		double percent;
	} cases[] = {
		{ 0, 0, 0 },
		{ 0, 7, 0 },
		{ 1, 4, 25 },
		{ 7, 7, 100 },
		{ 99, 100, 99 },
		{ 3, 2, 150 },
		{ 999999, 1000000, 99.99 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (share_whole_percent(cases[i].part, cases[i].whole) != cases[i].percent)
			fail_msg("%" PRIu64 " of %" PRIu64, cases[i].part, cases[i].whole);
}

static void without_user_stacks_no_stop_is_counted(void **state)
{
	struct profile kernel_only = profile;
	struct tally tally;

	(void)state;
	kernel_only.user = false;
	tally_count(&kernel_only, &tally);
	assert_int_equal(tally.user_samples, 11);
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		assert_int_equal(tally.stops[i], 0);
}

static void the_tally_adds_up_stacks_by_stop_and_origin(void **state)
{
	const uint64_t frames[] = { FRAME(1, 0x1105), FRAME(1, 0x1106),
				    FRAME(1, 0x1107) | (uint64_t)FPL_ORIGIN_FP
							       << FPL_FRAME_ORIGIN_SHIFT };
	struct profile_stack many[] = {
		{ .count = 5, .stop = FPL_STOP_OUTERMOST, .nr_user = 3, .frames = (void *)frames },
		{ .count = 100,
		  .flags = FPL_SAMPLE_KTHREAD,
		  .nr_user = 1,
		  .frames = (void *)frames },
		{ .count = 7, .stop = FPL_STOP_EXITING },
		{ .count = 11, .stop = FPL_STOP_EXECING },
		{ .count = 13, .stop = FPL_STOP_COUNT - 1, .nr_user = 1, .frames = (void *)frames },
		/* of broken records: counted, not kept */
		{ .count = 17, .stop = FPL_STOP_COUNT },
		{ .count = 19, .stop = FPL_STOP_COUNT + 1 },
	};
	struct profile some = profile;
	struct tally tally;
	uint64_t stops = 0;

	(void)state;
	some.stacks = many;
	some.nr_stacks = ARRAY_SIZE(many);
	some.books.lost[1] = 1;
	some.books.lost[FPL_LOST_RING_FULL] = 2;
	some.books.lost[FPL_LOST_COUNT - 1] = 4;
	some.books.fired = 100;
	some.books.idle = 20;
	some.books.filtered = 30;
	tally_count(&some, &tally);
	assert_int_equal(tally.user_samples, 5 + 7 + 11 + 13 + 17 + 19);
	assert_int_equal(tally_judged(&tally), 5 + 13 + 17 + 19);
	assert_int_equal(tally.complete, 5);
	assert_int_equal(tally.frames, 3 * 5 + 13);
	assert_int_equal(tally.frames_by_origin[FPL_ORIGIN_CFI], 2 * 5 + 13);
	assert_int_equal(tally.frames_by_origin[FPL_ORIGIN_FP], 5);
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		stops += tally.stops[i];
	assert_int_equal(stops, 5 + 7 + 11 + 13);
	assert_int_equal(tally.stops[FPL_STOP_COUNT - 1], 13);
	assert_int_equal(tally.lost, 7);
}

static void a_number_without_a_key_is_unknown(void **state)
{
	(void)state;
	assert_string_equal(stop_key(FPL_STOP_OUTERMOST), "outermost");
	assert_string_equal(stop_key(FPL_STOP_COUNT), "unknown");
	assert_string_equal(stop_key(FPL_STOP_COUNT + 1), "unknown");
	assert_string_not_equal(stop_key(FPL_STOP_COUNT - 1), "unknown");
	assert_string_equal(lost_key(FPL_LOST_RING_FULL), "ring_full");
	assert_string_equal(lost_key(FPL_LOST_COUNT), "unknown");
	assert_string_equal(lost_key(FPL_LOST_COUNT + 1), "unknown");
	assert_string_not_equal(lost_key(FPL_LOST_COUNT - 1), "unknown");
	assert_string_equal(origin_key(FPL_ORIGIN_CFI), "cfi");
	assert_string_equal(origin_key(FPL_ORIGIN_COUNT), "unknown");
	assert_string_equal(origin_key(FPL_ORIGIN_COUNT + 1), "unknown");
	assert_string_not_equal(origin_key(FPL_ORIGIN_COUNT - 1), "unknown");
	assert_string_equal(stop_text(FPL_STOP_COUNT), "unknown");
	assert_string_equal(origin_text(FPL_ORIGIN_COUNT), "unknown");
	assert_string_equal(origin_mark(FPL_ORIGIN_COUNT), "");
}

static void a_key_leads_back_to_its_number(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FPL_STOP_COUNT; i++)
		assert_int_equal(stop_of_key(stop_key((enum fpl_stop)i)), i);
	for (unsigned i = 0; i < FPL_ORIGIN_COUNT; i++) {
		const char *key = origin_key((enum fpl_origin)i);

		assert_int_equal(origin_of_key(key, strlen(key)), i);
		assert_int_equal(origin_of_key(key, strlen(key) - 1), RECORDING_NO_ORIGIN);
	}
	for (unsigned i = 0; i < VERDICT_CLASS_COUNT; i++)
		assert_int_equal(verdict_class_of_key(verdict_class_key((enum verdict_class)i)), i);
	assert_int_equal(stop_of_key("unknown"), RECORDING_NO_STOP);
	assert_int_equal(origin_of_key("cfi_user!1", 8), FPL_ORIGIN_CFI_USER);
	assert_int_equal(verdict_class_of_key("unknown"), VERDICT_CLASS_COUNT);
}

static void a_stack_of_2048_frames_is_written_whole(void **state)
{
	static uint64_t deep[FPL_DEPTH_MAX];
	struct profile_stack stack = { .count = 1,
				       .stop = FPL_STOP_DEPTH,
				       .nr_user = FPL_DEPTH_MAX,
				       .comm = "deep",
				       .frames = deep };
	struct profile one = profile;
	size_t commas = 0;

	(void)state;
	for (size_t i = 0; i < FPL_DEPTH_MAX; i++)
		deep[i] = FRAME(1, 0x1105);
	one.stacks = &stack;
	one.nr_stacks = 1;
	AUTO_FREE char *text =
		written_profile(folded_write, &one, named.namer, &(struct format_options){ 0 }, 1);
	for (const char *s = text; *s; s++)
		commas += *s == ';';
	assert_int_equal(commas, FPL_DEPTH_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_merges_equal_lines_and_sorts_by_count_then_text),
		cmocka_unit_test(folded_marks_kernel_frames_and_origins_on_request),
		cmocka_unit_test(stats_hold_every_key_zeros_too),
		cmocka_unit_test(jsonl_keeps_processes_apart_and_names_what_is_known),
		cmocka_unit_test(text_shows_functions_and_stacks_that_add_up),
		cmocka_unit_test(report_prints_the_books_as_an_identity),
		cmocka_unit_test(without_details_the_report_is_a_summary_and_what_is_wrong),
		cmocka_unit_test(a_run_without_faults_has_four_lines),
		cmocka_unit_test(report_names_the_maps_that_are_nearly_full),
		cmocka_unit_test(report_and_stats_say_whom_limits_cost_what),
		cmocka_unit_test(report_says_loudly_that_the_books_do_not_close),
		cmocka_unit_test(report_of_nothing_divides_by_nothing),
		cmocka_unit_test(completeness_never_rounds_up_to_all),
		cmocka_unit_test(a_percentage_is_the_share_and_all_only_of_all),
		cmocka_unit_test(without_user_stacks_no_stop_is_counted),
		cmocka_unit_test(the_tally_adds_up_stacks_by_stop_and_origin),
		cmocka_unit_test(a_number_without_a_key_is_unknown),
		cmocka_unit_test(a_key_leads_back_to_its_number),
		cmocka_unit_test(a_stack_of_2048_frames_is_written_whole),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
