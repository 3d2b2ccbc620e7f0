/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/shared.h"
#include "format/pprof_read.h"
#include "format/pprof_write.h"
#include "tests/support/recording_dump.h"
#include "view/measure.h"

#define NO_START RECORDING_NO_ADDRESS

static struct recording recording, again;
static struct pprof_remarks remarks;

static int set_up(void **state)
{
	(void)state;
	return recording_init(&recording) || recording_init(&again);
}

static int tear_down(void **state)
{
	(void)state;
	recording_fini(&recording);
	recording_fini(&again);
	return 0;
}

static uint32_t text(const char *what)
{
	uint32_t id;

	assert_int_equal(recording_add_text(&recording, what, &id), 0);
	return id;
}

static uint32_t object(const char *path, const char *build_id, uint32_t offsets)
{
	const struct recording_object key = { .path = text(path),
					      .build_id = text(build_id),
					      .offsets = offsets,
					      .file_bias = !strcmp(path, "/bin/x")
								   ? (uint64_t)-0x400000
								   : 0 };
	uint32_t id;

	assert_int_equal(recording_add_object(&recording, &key, &id), 0);
	return id;
}

static struct recording_line line(const char *name, const char *file, uint32_t start, uint32_t at,
				  uint32_t column)
{
	const struct recording_function key = { text(name), text(file), start };
	struct recording_line ret = { .line = at, .column = column };

	assert_int_equal(recording_add_function(&recording, &key, &ret.function), 0);
	return ret;
}

static uint32_t frame(struct recording_frame key, const struct recording_line *lines)
{
	uint32_t id;

	assert_int_equal(recording_add_frame(&recording, &key, lines, &id), 0);
	return id;
}

static uint32_t simple_frame(uint64_t address, const char *name)
{
	const struct recording_line lines[] = { line(name, "", 0, 0, 0) };

	return frame((struct recording_frame){ .address = address,
					       .start = NO_START,
					       .object = object("/bin/x", "ab", 0),
					       .nr_lines = 1 },
		     lines);
}

static uint32_t stack(struct recording_stack key, const uint32_t *frames)
{
	uint32_t id;

	assert_int_equal(recording_add_stack(&recording, &key, frames, &id), 0);
	return id;
}

static void event(uint64_t time_ns, uint32_t of, uint64_t weight, uint32_t tid, uint32_t cpu)
{
	assert_int_equal(recording_add_event(&recording, &(struct recording_event){ time_ns, weight,
										    of, tid, cpu }),
			 0);
}

/* Write the recording to a file, which the caller closes. */
static FILE *write_file(void)
{
	struct fpl_err err = { 0 };
	FILE *file = tmpfile();
	uint64_t shown;

	assert_non_null(file);
	assert_int_equal(pprof_write(file, &recording, NULL, &shown, &err), 0);
	assert_int_equal(shown, measure_sum(&recording));
	rewind(file);
	return file;
}

/* Write and read it: all of it is the same. */
static void assert_same_again(void)
{
	struct fpl_err err = { 0 };
	FILE *file = write_file();
	int error =
		pprof_read("x.pb.gz", fileno(file), &(struct pprof_read_options){ .events = true },
			   &again, &remarks, &err);

	assert_string_equal(err.msg, "");
	assert_int_equal(error, 0);
	fclose(file);

	AUTO_FREE char *before = recording_dump(&recording);
	AUTO_FREE char *after = recording_dump(&again);

	assert_string_equal(after, before);
	assert_true(remarks.own);
	assert_int_equal(remarks.dangling + remarks.duplicate + remarks.negative + remarks.cut, 0);
}

static void an_empty_recording_is_one(void **state)
{
	(void)state;
	assert_same_again();
}

static void the_run_is_kept(void **state)
{
	(void)state;
	recording.event = text("cpu-clock");
	recording.kernel = text("6.18.1 \"x\"");
	recording.hz = 99;
	recording.period = 10101010;
	recording.start_unix_ns = 1700000000123456789;
	recording.duration_ns = 60000000001;
	recording.nr_cpus = 192;
	recording.by = RECORDING_HAS_TID | RECORDING_HAS_CGROUP;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			recording_add_arg(&recording,
					  (const char *[]){ "fpless", "", "a b\nc\\\xff" }[i]),
			0);
	assert_int_equal(recording_add_number(&recording, "lost.ring_full", UINT64_MAX), 0);
	assert_int_equal(recording_add_number(&recording, "fired", 0), 0);
	assert_int_equal(recording_set_note(&recording, "most[].0.object", "/a b c"), 0);
	assert_int_equal(recording_set_note(&recording, "most[].0.advice", NULL), 0);
	assert_same_again();
}

static const struct {
	const char *type, *unit, *weight_type;
	uint64_t weight;
	const char *weight_unit;
} counted[] = {
	{ "alloc_space", "bytes", "", 0, "" },
	{ "contentions", "count", "delay", 77, "" },
	{ "cpu", "nanoseconds", "", 5, "" },
	{ "cpu", "nanoseconds", "", 6, "" },
	{ "wall", "seconds", "wall", 5000000000, "" },
	{ "cpu", "bytes", "", 5, "" },
	{ "samples", "", "", 0, "" },
	{ "", "bytes", "", 0, "" },
	{ "", "count", "delay", 7, "" },
	{ "", "nanoseconds", "", 5, "" },
	{ "objects", "count", "", 0, "" },
	{ "objects", "count", "delay", 0, "" },
	{ "", "", "page-faults", 500, "count" },
	{ "", "", "write", UINT32_MAX, "bytes" },
	{ "", "", "off-cpu", 77, "" },
};

static void counted_samples_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		tear_down(NULL);
		assert_int_equal(set_up(NULL), 0);

		const uint32_t frames[] = { simple_frame(0x400010, "f") };

		recording.sample_type = text(counted[i].type);
		recording.sample_unit = text(counted[i].unit);
		recording.weight_type = text(counted[i].weight_type);
		recording.period = 100;
		recording.weight_unit = text(counted[i].weight_unit);
		/* what weighs something else than CPU time is no clock */
		recording.hz = *counted[i].weight_type ? 0 : 10000000;
		stack((struct recording_stack){ .count = 5,
						.weight = counted[i].weight,
						.nr_user = 1,
						.stop = RECORDING_NO_STOP },
		      frames);
		assert_same_again();
	}
}

static void all_of_a_task_is_kept(void **state)
{
	(void)state;
	const uint32_t frames[] = { simple_frame(0x1000, "f") };
	struct recording_stack key = { .count = 3, .weight = 30, .nr_user = 1 };
	const struct recording_stack odd[] = {
		{ .stop = RECORDING_NO_STOP },
		{ .stop = FPL_STOP_COUNT - 1, .task = UINT64_MAX, .no_user = true },
		{ .has = RECORDING_HAS_COMM },
		{ .has = RECORDING_HAS_COMM, .comm = text("a;b\\x \xc3\xa4 \xff") },
		{ .has = RECORDING_HAS_PID | RECORDING_HAS_TID | RECORDING_HAS_CPU,
		  .pid = UINT32_MAX,
		  .tid = UINT32_MAX,
		  .cpu = 0 },
		{ .has = RECORDING_HAS_CGROUP, .cgroup = text("/system-serial\\x2dgetty.slice") },
		{ .has = RECORDING_HAS_CGROUP },
		{ .has = RECORDING_HAS_FP, .class = 4 },
		{ .state = RECORDING_STATE_ON_CPU },
		{ .state = RECORDING_STATE_RUNNABLE },
		{ .state = RECORDING_STATE_BLOCKED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		key = odd[i];
		key.count = i;
		key.weight = i * UINT64_C(1000000007);
		key.nr_user = i % 2;
		stack(key, frames);
	}
	assert_same_again();
}

static void all_of_a_frame_is_kept(void **state)
{
	(void)state;
	const struct recording_line lines[] = {
		line("inlined<a, b>", "/src/a b.h", 7, 12, 80),
		line("", "", 0, 0, 0),
		line("_Zmain\xff\xfe", "main.c", 1, UINT32_MAX, 0),
	};
	const uint32_t x = object("/bin/x", "ab12", 0), none = object("/bin/y", "", 0);
	const uint32_t foreign = object("/bin/z", "", 1);
	const uint32_t kernel = object("[kernel.kallsyms]", "", 0);
	const struct recording_frame odd[] = {
		{ .address = 0x1010, .start = 0x1000, .object = x, .nr_lines = 3 },
		{ .address = 0x1010, .start = 0x1000, .object = x, .nr_lines = 3, .exact = true },
		{ .address = 0x100f, .start = 0x1000, .object = x, .nr_lines = 3, .exact = true },
		{ .address = 0x1010, .start = 0x1000, .object = x, .origin = FPL_ORIGIN_SYNTH },
		{ .address = 0x1010, .start = NO_START, .object = x, .nr_lines = 1 },
		{ .address = 0x1010, .start = 0x2000, .object = none, .nr_lines = 1 },
		{ .address = 0x1010, .start = 0, .object = none, .nr_lines = 1 },
		{ .address = 0, .start = NO_START, .object = none, .exact = true },
		{ .address = 0, .start = NO_START, .object = none },
		{ .address = 0, .start = 0 },
		{ .address = 1, .start = 0 },
		{ .address = 0, .start = NO_START, .exact = true },
		{ .address = NO_START, .start = NO_START },
		{ .address = NO_START, .start = NO_START, .object = x, .nr_lines = 1 },
		{ .address = NO_START, .start = 77, .object = x, .exact = true },
		{ .address = 0xffff800000000000, .start = NO_START },
		{ .address = 0xffffffffff600400, .start = NO_START },
		{ .address = 0x7fffffffffffffff, .start = NO_START, .object = x },
		{ .address = 0x4321, .start = 0x4000, .object = foreign, .nr_lines = 1 },
		{ .address = 0x4321, .start = 5, .object = kernel },
		{ .address = 0x7f0000001234, .start = NO_START, .origin = RECORDING_NO_ORIGIN },
	};
	uint32_t frames[ARRAY_SIZE(odd)];

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		frames[i] = frame(odd[i], lines);
		stack((struct recording_stack){ .count = 1, .nr_user = 1 }, &frames[i]);
		stack((struct recording_stack){ .count = 1, .nr_fp = 1 }, &frames[i]);
		stack((struct recording_stack){ .count = 1, .nr_user = (uint16_t)(i + 1) }, frames);
	}
	assert_same_again();
}

static void kernel_frames_survive_a_round_trip(void **state)
{
	(void)state;
	const uint32_t kernel = object("[kernel.kallsyms]", "", 0);
	const uint32_t module = object("[ext4]", "", 0), vmlinux = object("/boot/vmlinux", "", 0);
	const struct recording_line lines[] = { line("do_syscall_64", "", 0, 0, 0) };
	const struct recording_frame odd[] = {
		{ .address = 0xffffffff81000010, .start = 0xffffffff81000000, .object = kernel },
		{ .address = 0xffffffffc0000010, .start = NO_START, .object = module },
		{ .address = 0xffffffff81000011, .start = NO_START, .object = vmlinux },
		{ .address = 0xffffffff81000012, .start = NO_START },
		{ .address = 0x1234, .start = NO_START, .object = vmlinux },
		{ .address = NO_START, .start = NO_START },
		{ .address = NO_START, .start = NO_START, .object = module },
	};

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		struct recording_frame of_kernel = odd[i];
		uint32_t frames[5];

		of_kernel.kind = RECORDING_KERNEL;
		of_kernel.nr_lines = 1;
		frames[0] = simple_frame(0x5000 + i, "user");
		frames[1] = frame(of_kernel, lines);
		of_kernel.exact = true;
		frames[2] = frame(of_kernel, lines);
		frames[3] = frame(odd[i], lines); /* code of a user that looks like the kernel */
		frames[4] = frames[1];
		stack((struct recording_stack){ .count = 1, .nr_user = 1, .nr_kernel = 2 }, frames);
		stack((struct recording_stack){ .count = 1, .nr_kernel = 1 }, &frames[1]);
		stack((struct recording_stack){ .count = 1, .nr_kernel = 1 }, &frames[2]);
		stack((struct recording_stack){ .count = 1, .nr_user = 1 }, &frames[3]);
		stack((struct recording_stack){ .count = 1, .nr_user = 1, .nr_kernel = 1 },
		      &frames[3]);
	}
	assert_same_again();
}

static void origins_follow_the_frames(void **state)
{
	(void)state;
	uint32_t frames[FPL_ORIGIN_COUNT * 4];

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] =
			frame((struct recording_frame){ .address = 0x1000 + i,
							.start = NO_START,
							.origin = (uint8_t)(i % FPL_ORIGIN_COUNT),
							.exact = i / FPL_ORIGIN_COUNT % 2 },
			      NULL);
	for (uint16_t i = 0; i <= ARRAY_SIZE(frames); i++) {
		stack((struct recording_stack){ .count = 1, .nr_user = i }, frames);
		stack((struct recording_stack){ .count = 1,
						.nr_user = i,
						.nr_fp = (uint16_t)(ARRAY_SIZE(frames) - i),
						.has = RECORDING_HAS_FP },
		      frames);
	}
	assert_same_again();
}

static void objects_get_addresses_of_their_own(void **state)
{
	(void)state;
	static const uint64_t addresses[] = {
		0, 1, 0xfff, 0x1000, 1 << 30, 1ull << 47, 0x7000000000000000, UINT64_MAX - 1
	};

	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(addresses); j++) {
			uint32_t id = frame(
				(struct recording_frame){
					.address = addresses[j],
					.start = NO_START,
					.exact = true,
					.object = object((const char *[]){ "/a", "/b", "/c" }[i],
							 "", 0),
				},
				NULL);

			stack((struct recording_stack){ .count = 1, .nr_user = 1 }, &id);
		}
	}
	assert_same_again();
}

static void samples_with_a_time_are_kept_one_by_one(void **state)
{
	(void)state;
	const uint32_t frames[] = { simple_frame(0x1000, "f"), simple_frame(0x2000, "g") };
	const struct recording_stack key = {
		.count = 4, .weight = 41, .nr_user = 1, .has = RECORDING_HAS_PID, .pid = 9
	};
	uint32_t first, second, third;

	recording.start_unix_ns = 1700000000000000000;
	first = stack(key, frames);
	second = stack(key, frames + 1);
	third = stack((struct recording_stack){ .count = 2, .nr_user = 2 }, frames);
	event(5, second, 10, 11, 0);
	event(5, first, 10, 12, 1);
	event(0, second, 10, 12, 1);
	event(900000000000, second, 11, 11, 0);
	event(7, second, 10, 11, 0); /* all of the second, two of the first, none of the third */
	event(8, first, 10, 0, 0);
	recording_sort_events(&recording);
	assert_int_equal(third, 2);
	assert_same_again();
}

static void labels_of_a_stack_stay_beside_those_of_its_samples(void **state)
{
	(void)state;
	uint32_t frames[] = { simple_frame(0x1000, "f") }, of;

	recording.start_unix_ns = 17;
	of = stack((struct recording_stack){ .count = 1,
					     .weight = 1,
					     .nr_user = 1,
					     .has = RECORDING_HAS_TID | RECORDING_HAS_CPU,
					     .tid = 4,
					     .cpu = 5 },
		   frames);
	event(3, of, 1, 4, 5);
	of = stack(
		(struct recording_stack){
			.count = 1, .nr_user = 1, .has = RECORDING_HAS_TID, .tid = 4 },
		frames);
	event(4, of, 0, 4, 6);
	assert_same_again();
}

/* More data than one member of gzip holds at once. */
static void make_thousands(void)
{
	enum { NR_FRAMES = 5000, DEPTH = 40, NR_STACKS = 40000 };
	static uint32_t frames[NR_FRAMES];
	char name[64];

	for (uint32_t i = 0; i < NR_FRAMES; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		frames[i] = simple_frame(0x1000 + 16 * i, name);
	}
	for (uint32_t i = 0; i < NR_STACKS; i++)
		stack((struct recording_stack){ .count = i,
						.nr_user = (uint16_t)(i % DEPTH),
						.has = RECORDING_HAS_PID,
						.pid = i },
		      &frames[i * 7919 % (NR_FRAMES - DEPTH)]);
}

static void thousands_of_stacks_are_kept(void **state)
{
	(void)state;
	make_thousands();
	assert_same_again();
}

static void a_file_cut_behind_any_member_is_a_profile(void **state)
{
	(void)state;
	unsigned char *bytes;
	long size, whole = 0;
	uint64_t shown = 0;

	make_thousands();

	FILE *file = write_file();

	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
	/* members begin with gzip's magic, deflate, no flags, no time */
	for (long at = 1; at + 8 < size; at++) {
		if (memcmp(bytes + at, "\x1f\x8b\x08\0\0\0\0\0", 8) != 0)
			continue;

		struct fpl_err err = { 0 };
		FILE *cut = tmpfile();

		assert_non_null(cut);
		assert_int_equal(fwrite(bytes, 1, (size_t)at, cut), at);
		rewind(cut);
		recording_fini(&again);
		assert_int_equal(recording_init(&again), 0);
		assert_int_equal(pprof_read("cut", fileno(cut), &(struct pprof_read_options){ 0 },
					    &again, &remarks, &err),
				 0);
		assert_int_equal(remarks.dangling, 0);
		assert_true(recording_shown(&again) >= shown);
		shown = recording_shown(&again);
		fclose(cut);
		whole++;
	}
	assert_true(whole > 2);
	assert_true(shown > 0 && shown < recording_shown(&recording));
	free(bytes);
	fclose(file);
}

/* /dev/full takes nothing. */
static void a_full_disk_is_said(void **state)
{
	(void)state;
	struct fpl_err err = { 0 };
	uint64_t shown;
	FILE *full = fopen("/dev/full", "w");

	make_thousands();
	assert_non_null(full);
	assert_int_equal(pprof_write(full, &recording, NULL, &shown, &err), -ENOSPC);
	assert_int_equal(shown, 0);
	assert_string_equal(err.msg, "0 of 799980000 samples are in it: No space left on device");
	assert_int_equal(fclose(full), 0);
}

static rlim_t file_size(void)
{
	FILE *file = write_file();
	struct stat st;

	assert_int_equal(fstat(fileno(file), &st), 0);
	fclose(file);
	return (rlim_t)st.st_size;
}

/* A file may be no larger than this process may make it: what fits stays. */
static void partly_written_file_is_a_profile(void **state)
{
	(void)state;
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct fpl_err err = { 0 };
	struct rlimit before, limit;
	FILE *file = tmpfile();
	uint64_t shown;
	char said[128];

	make_thousands();
	assert_non_null(file);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = file_size() * 2 / 3;
	assert_int_equal(sigaction(SIGXFSZ, &ignore, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);

	int error = pprof_write(file, &recording, NULL, &shown, &err);

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(error, -EFBIG);
	snprintf(said, sizeof(said), "%" PRIu64 " of 799980000 samples are in it: File too large",
		 shown);
	assert_string_equal(err.msg, said);
	assert_false(ferror(file));
	assert_int_equal(fflush(file), 0);
	assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
	recording_fini(&again);
	assert_int_equal(recording_init(&again), 0);
	error = pprof_read("x", fileno(file), &(struct pprof_read_options){ 0 }, &again, &remarks,
			   &err);
	if (error)
		fail_msg("%s", err.msg);
	assert_int_equal(recording_shown(&again), shown);
	assert_true(shown > 0 && shown < recording_shown(&recording));
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(an_empty_recording_is_one),
		TEST(the_run_is_kept),
		TEST(counted_samples_are_kept),
		TEST(all_of_a_task_is_kept),
		TEST(all_of_a_frame_is_kept),
		TEST(kernel_frames_survive_a_round_trip),
		TEST(origins_follow_the_frames),
		TEST(objects_get_addresses_of_their_own),
		TEST(samples_with_a_time_are_kept_one_by_one),
		TEST(labels_of_a_stack_stay_beside_those_of_its_samples),
		TEST(thousands_of_stacks_are_kept),
		TEST(a_file_cut_behind_any_member_is_a_profile),
		TEST(a_full_disk_is_said),
		TEST(partly_written_file_is_a_profile),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
