/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: write_formats FORMAT counts|events: a recording made by hand, in FORMAT ("chart": a flame
 * chart as svg), on stdout. It has what is hard: hostile names, inlined functions, code without a
 * name or an object, modules, tasks without frames, recursion; and with events, the times of its
 * samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/formats.h"
#include "picture/html.h"
#include "picture/html_data.h"
#include "picture/picture_options.h"

/* A function where it is inlined or is itself: "name", "name@file:line". */
struct one_frame {
	const char *object; /* NULL: none */
	const char *lines[3];
	uint64_t address, start;
	uint8_t kind, origin;
	bool exact;
};

enum { MAIN, WORK, INNER, BARE, LOOP, LOST, EVIL, SYSCALL, WORKER, EXT4, GAP, NR_FRAMES };

static const struct one_frame frames[NR_FRAMES] = {
	[MAIN] = { "/usr/bin/app",
		   { "main@/src/app.c:12" },
		   0x1120,
		   0x1100,
		   .kind = RECORDING_USER },
	[WORK] = { "/usr/bin/app",
		   { "work@/src/app.c:40" },
		   0x1210,
		   0x1200,
		   .kind = RECORDING_USER },
	[INNER] = { "/usr/bin/app",
		    { "add@/src/add.h:3", "sum@/src/add.h:9", "work@/src/app.c:44" },
		    0x1225,
		    0x1200,
		    .exact = true },
	[BARE] = { "/opt/lib 1 (deleted)/x.so", { NULL }, 0x2050, 0x2000, .exact = true },
	[LOOP] = { "/opt/lib 1 (deleted)/x.so",
		   { "loop_avx2" },
		   0x2150,
		   0x2100,
		   .origin = FPL_ORIGIN_SYNTH },
	[LOST] = { NULL, { NULL }, 0x7f0000001000, RECORDING_NO_ADDRESS, .origin = FPL_ORIGIN_FP },
	[EVIL] = { "/lib/e;v\x1b\"il.so",
		   { "(anonymous namespace)::f<\"a\";\n\xff\\>(int)" },
		   0x3010,
		   0x3000,
		   .origin = FPL_ORIGIN_CFI_USER },
	[SYSCALL] = { "[kernel.kallsyms]",
		      { "do_syscall_64" },
		      0xffffffff81000061,
		      0xffffffff81000000,
		      .kind = RECORDING_KERNEL },
	[WORKER] = { "[kernel.kallsyms]",
		     { "process_one_work" },
		     0xffffffff81002010,
		     0xffffffff81002000,
		     RECORDING_KERNEL,
		     .exact = true },
	[EXT4] = { "[ext4]",
		   { "ext4_read" },
		   0xffffffffc0000010,
		   0xffffffffc0000000,
		   RECORDING_KERNEL,
		   .exact = true },
	[GAP] = { NULL,
		  { RECORDING_GAP },
		  RECORDING_NO_ADDRESS,
		  RECORDING_NO_ADDRESS,
		  .origin = RECORDING_NO_ORIGIN },
};

static const struct {
	const char *comm;
	uint32_t pid;
	uint64_t count, weight;
	uint8_t stop;
	bool no_user;
	int user[5], kernel[3]; /* leaf first; -1: no more */
} stacks[] = {
	{ "app", 10, 3, 30000000, FPL_STOP_OUTERMOST, false, { INNER, WORK, MAIN, -1 }, { -1 } },
	{ "app",
	  10,
	  2,
	  20000000,
	  FPL_STOP_OUTERMOST,
	  false,
	  { WORK, WORK, MAIN, -1 },
	  { EXT4, SYSCALL, -1 } },
	{ "app", 11, 1, 10000000, FPL_STOP_OUTERMOST, false, { INNER, WORK, MAIN, -1 }, { -1 } },
	{ " 7 #;\"\n\xff",
	  12,
	  1,
	  10000000,
	  FPL_STOP_FP_END,
	  false,
	  { BARE, LOOP, LOST, EVIL, -1 },
	  { -1 } },
	{ "kworker/0:1", 2, 1, 10000000, RECORDING_NO_STOP, true, { -1 }, { WORKER, -1 } },
	{ "deep",
	  14,
	  2,
	  20000000,
	  FPL_STOP_OUTERMOST,
	  false,
	  { INNER, WORK, GAP, MAIN, -1 },
	  { -1 } },
	{ "sh", 13, 1, 10000000, FPL_STOP_EXECING, false, { -1 }, { -1 } },
};

/* Events of every sample but those of the last stack. */
static const struct recording_event events[] = {
	{ 10000000, 10000000, 0, 10, 0 }, { 20000000, 10000000, 1, 10, 1 },
	{ 20000000, 10000000, 0, 20, 0 }, { 50000000, 10000000, 2, 11, 1 },
	{ 60000000, 10000000, 3, 12, 0 }, { 70000000, 10000000, 4, 2, 1 },
	{ 90000000, 10000000, 1, 10, 0 }, { 91000000, 10000000, 0, 10, 1 },
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "write_formats: %s\n", strerror(-error));
	exit(1);
}

static uint32_t text(struct recording *recording, const char *words, size_t length)
{
	char copy[128];
	uint32_t ret;

	snprintf(copy, sizeof(copy), "%.*s", (int)length, words);
	check(recording_add_text(recording, copy, &ret));
	return ret;
}

/* "name@file:line", the function beginning two lines before. */
static struct recording_line add_line(struct recording *recording, const char *words)
{
	const char *at = strchr(words, '@'), *colon = at ? strrchr(at, ':') : NULL;
	struct recording_function function = { 0 };
	struct recording_line line = { 0 };

	function.name = text(recording, words, at ? (size_t)(at - words) : strlen(words));
	if (colon) {
		line.line = (uint32_t)strtoul(colon + 1, NULL, 10);
		line.column = 5;
		function.file = text(recording, at + 1, (size_t)(colon - at - 1));
		function.start_line = line.line - 2;
	}
	check(recording_add_function(recording, &function, &line.function));
	return line;
}

static uint32_t add_frame(struct recording *recording, const struct one_frame *one)
{
	struct recording_frame frame = { .address = one->address,
					 .start = one->start,
					 .kind = one->kind,
					 .origin = one->origin,
					 .exact = one->exact };
	struct recording_line lines[3];
	uint32_t ret;

	if (one->object) {
		struct recording_object object = {
			.path = text(recording, one->object, strlen(one->object)),
		};

		if (!strcmp(one->object, "/usr/bin/app"))
			object.build_id =
				text(recording, "0123456789abcdef0123456789abcdef01234567", 40);
		check(recording_add_object(recording, &object, &frame.object));
	}
	for (; frame.nr_lines < 3 && one->lines[frame.nr_lines]; frame.nr_lines++)
		lines[frame.nr_lines] = add_line(recording, one->lines[frame.nr_lines]);
	check(recording_add_frame(recording, &frame, lines, &ret));
	return ret;
}

static void make(struct recording *recording, bool with_events)
{
	check(recording_init(recording));
	recording->event = text(recording, "cpu-clock", 9);
	recording->kernel = text(recording, "6.1.0", 5);
	recording->hz = 100;
	recording->period = 10000000;
	recording->start_unix_ns = 1700000000123456789;
	recording->duration_ns = 100000000;
	recording->nr_cpus = 2;
	check(recording_add_arg(recording, "fpless"));
	check(recording_add_arg(recording, "pro\"file"));
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		struct recording_stack stack = {
			.count = stacks[i].count,
			.weight = stacks[i].weight,
			.comm = text(recording, stacks[i].comm, strlen(stacks[i].comm)),
			.pid = stacks[i].pid,
			.stop = stacks[i].stop,
			.no_user = stacks[i].no_user,
			.has = RECORDING_HAS_COMM | RECORDING_HAS_PID,
		};
		uint32_t list[8];

		while (stacks[i].user[stack.nr_user] >= 0) {
			list[stack.nr_user] =
				add_frame(recording, &frames[stacks[i].user[stack.nr_user]]);
			if (stacks[i].user[stack.nr_user] == GAP)
				stack.elided = 41234;
			stack.nr_user++;
		}
		while (stacks[i].kernel[stack.nr_kernel] >= 0) {
			list[stack.nr_user + stack.nr_kernel] =
				add_frame(recording, &frames[stacks[i].kernel[stack.nr_kernel]]);
			stack.nr_kernel++;
		}
		check(recording_add_stack(recording, &stack, list, NULL));
	}
	for (size_t i = 0; with_events && i < ARRAY_SIZE(events); i++)
		check(recording_add_event(recording, &events[i]));
	recording_sort_events(recording);
	check(recording_add_number(recording, "fired", 11));
	check(recording_add_number(recording, "shown", 11));
	check(recording_add_number(recording, "lost.ring_full", 0));
}

int main(int argc, char **argv)
{
	const bool is_chart = argc == 3 && !strcmp(argv[1], "chart");
	const struct format *format =
		argc == 3 ? format_find(&recording_formats, is_chart ? "svg" : argv[1]) : NULL;
	struct picture_options picture = picture_options_usual;
	/* of a page what it shows: the rest is the same in each, and not always built */
	format_write_fn *write = !format		       ? NULL
				 : format->write == html_write ? html_data_write
							       : format->write;
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };
	uint64_t shown;

	if (!format) {
		fprintf(stderr, "usage: write_formats FORMAT counts|events\n");
		return 1;
	}
	make(&recording, !strcmp(argv[2], "events"));
	picture.chart = is_chart;
	if (write(stdout, &recording,
		  &(struct format_options){ .origin = true, .picture = &picture }, &shown, &err)) {
		fprintf(stderr, "write_formats: %s\n", err.msg);
		return 1;
	}
	if (shown != 11 || fflush(stdout))
		fprintf(stderr, "write_formats: %llu samples\n", (unsigned long long)shown);
	return shown != 11;
}
