/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "format/gunzip.h"
#include "format/pprof_fields.h"
#include "format/pprof_read.h"
#include "format/read.h"
#include "tests/support/proto_builder.h"
#include "tests/support/recording_dump.h"

static struct proto file; /* a Profile under construction */
static struct recording recording;
static struct pprof_remarks remarks;
static struct fpl_err err;

static int set_up(void **state)
{
	(void)state;
	file.size = 0;
	err = (struct fpl_err){ 0 };
	return recording_init(&recording);
}

static int tear_down(void **state)
{
	(void)state;
	recording_fini(&recording);
	return 0;
}

/* Texts of the files made here, by index. */
enum {
	NONE,
	SAMPLES,
	COUNT,
	CPU,
	NANOSECONDS,
	MAIN,
	LEAF,
	BIN_X,
	X_C,
	COMM,
	KERNEL,
	SCHEDULE,
	PID,
	THREAD_ID,
	MODULE,
	WALL,
	MILLISECONDS,
	BYTES,
	FORTY_TWO,
	NR_TEXTS
};

static const char *const texts[NR_TEXTS] = {
	"",
	"samples",
	"count",
	"cpu",
	"nanoseconds",
	"main",
	"leaf",
	"/bin/x",
	"x.c",
	"comm",
	"[kernel.kallsyms]_stext",
	"schedule",
	"pid",
	"thread id",
	"/lib/modules/6.1/nf-nat.ko.xz",
	"wall",
	"milliseconds",
	"bytes",
	"42",
};

static void add_texts(void)
{
	for (size_t i = 0; i < NR_TEXTS; i++)
		proto_string(&file, PPROF_FIELD_STRING, texts[i]);
}

/* A message of numbers: fields 1, 2, 3... of those that are not 0. */
static void add_numbers(struct proto *to, unsigned field, const uint64_t *values, size_t nr)
{
	static struct proto message;

	message.size = 0;
	for (size_t i = 0; i < nr; i++)
		if (values[i])
			proto_number(&message, (unsigned)i + 1, values[i]);
	proto_message(to, field, &message);
}

#define NUMBERS(to, field, ...)                                   \
	add_numbers(to, field, (const uint64_t[]){ __VA_ARGS__ }, \
		    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void add_types(void)
{
	NUMBERS(&file, PPROF_FIELD_SAMPLE_TYPE, SAMPLES, COUNT);
	NUMBERS(&file, PPROF_FIELD_SAMPLE_TYPE, CPU, NANOSECONDS);
}

/* A sample of two values, whose locations are one digit each, leaf first, and a label. */
static void add_sample(const char *locations, int64_t count, int64_t ns, uint64_t key, uint64_t str,
		       uint64_t num)
{
	static struct proto sample;

	sample.size = 0;
	for (; *locations; locations++)
		proto_number(&sample, 1, (uint64_t)(*locations - '0'));
	proto_number(&sample, 2, (uint64_t)count);
	proto_number(&sample, 2, (uint64_t)ns);
	if (key)
		NUMBERS(&sample, 3, key, str, num);
	proto_message(&file, PPROF_FIELD_SAMPLE, &sample);
}

static void add_location(uint64_t id, uint64_t mapping, uint64_t address, uint64_t inlined,
			 uint64_t function)
{
	static struct proto location;

	location.size = 0;
	proto_number(&location, 1, id);
	proto_number(&location, 2, mapping);
	proto_number(&location, 3, address);
	if (inlined)
		NUMBERS(&location, 4, inlined, 3, 9);
	if (function)
		NUMBERS(&location, 4, function, 12);
	proto_message(&file, PPROF_FIELD_LOCATION, &location);
}

/* The places that samples refer to. */
static void add_places(void)
{
	NUMBERS(&file, PPROF_FIELD_MAPPING, 1, 0x400000, 0x500000, 0x1000, BIN_X);
	NUMBERS(&file, PPROF_FIELD_MAPPING, 2, 0xffffffff81000000, 0xffffffff82000000, 0, KERNEL);
	NUMBERS(&file, PPROF_FIELD_MAPPING, 9, 0xffffffffc0000000, 0xffffffffc0100000, 0, MODULE);
	add_location(1, 1, 0x400010, 0, 1);
	add_location(2, 1, 0x400020, 2, 1);
	add_location(7, 2, 0xffffffff81000010, 0, 3);
	add_location(8, 9, 0xffffffffc0000010, 0, 0);
	NUMBERS(&file, PPROF_FIELD_FUNCTION, 1, MAIN, 0, X_C, 1);
	NUMBERS(&file, PPROF_FIELD_FUNCTION, 2, LEAF);
	NUMBERS(&file, PPROF_FIELD_FUNCTION, 3, 0, SCHEDULE);
}

/* As the protocol's own libraries and Go write them: by field number, texts behind the samples. */
static void add_usual(void)
{
	add_types();
	add_sample("21", 3, 30000000, COMM, LEAF, 0);
	add_sample("7821", 1, 10000000, PID, 0, 7);
	add_sample("7821", 2, 20000000, PID, 0, 7);
	add_places();
	add_texts();
	proto_number(&file, PPROF_FIELD_TIME, 1700000000000000000);
	proto_number(&file, PPROF_FIELD_DURATION, 1000000000);
	NUMBERS(&file, PPROF_FIELD_PERIOD_TYPE, CPU, NANOSECONDS);
	proto_number(&file, PPROF_FIELD_PERIOD, 10000000);
}

/* Gzip, one member behind @size bytes of @out [room]; returns the new size. */
static size_t add_member(unsigned char *out, size_t size, size_t room, const unsigned char *bytes,
			 size_t nr)
{
	z_stream stream = { .next_in = (unsigned char *)(uintptr_t)bytes,
			    .avail_in = (unsigned)nr,
			    .next_out = out + size,
			    .avail_out = (unsigned)(room - size) };

	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return room - stream.avail_out;
}

static int read_bytes(const unsigned char *bytes, size_t size,
		      const struct pprof_read_options *options)
{
	AUTO_FD int fd = memfd_create("pprof", MFD_CLOEXEC);

	recording_fini(&recording);
	assert_int_equal(recording_init(&recording), 0);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return pprof_read("x.pb.gz", fd, options, &recording, &remarks, &err);
}

static int read_file(void)
{
	return read_bytes(file.bytes, file.size, &(struct pprof_read_options){ .events = true });
}

static void assert_recording(const char *expected)
{
	AUTO_FREE char *dump = recording_dump(&recording);

	assert_string_equal(dump, expected);
}

static const char usual[] =
	"event cpu kernel  hz 100 period 10000000 start 1700000000000000000 duration 1000000000 "
	"cpus "
	"0 by 0\n"
	"  stack 3 30000000 ns task 0 stop 255 has 1 class 0 comm 'leaf' pid 0 tid 0 cpu 0 cgroup "
	"'' "
	"2 0 0\n"
	"    user 0x1020 start 0xffffffffffffffff origin 255 exact in '/bin/x'  offsets 0\n"
	"      'leaf' :3:9 from 0\n"
	"      'main' x.c:12:0 from 1\n"
	"    user 0x1011 start 0xffffffffffffffff origin 255 in '/bin/x'  offsets 0\n"
	"      'main' x.c:12:0 from 1\n"
	"  stack 3 30000000 ns task 0 stop 255 has 2 class 0 comm '' pid 7 tid 0 cpu 0 cgroup '' "
	"2 2 0\n"
	"    user 0x1020 start 0xffffffffffffffff origin 255 exact in '/bin/x'  offsets 0\n"
	"      'leaf' :3:9 from 0\n"
	"      'main' x.c:12:0 from 1\n"
	"    user 0x1011 start 0xffffffffffffffff origin 255 in '/bin/x'  offsets 0\n"
	"      'main' x.c:12:0 from 1\n"
	"    kernel 0xffffffff81000010 start 0xffffffffffffffff origin 0 exact in "
	"'[kernel.kallsyms]'  0\n"
	"      'schedule' :12:0 from 0\n"
	"    kernel 0xffffffffc0000011 start 0xffffffffffffffff origin 0 in '[nf_nat]'  0\n";

static void places_may_follow_their_samples(void **state)
{
	(void)state;
	add_usual();
	assert_int_equal(read_file(), 0);
	assert_recording(usual);
	assert_false(remarks.own);
	assert_int_equal(remarks.dangling + remarks.duplicate + remarks.negative, 0);
}

static void a_file_is_gzipped_or_not_or_in_members(void **state)
{
	(void)state;
	static unsigned char packed[128 << 10];
	size_t size;

	add_usual();
	size = add_member(packed, 0, sizeof(packed), file.bytes, file.size);
	assert_int_equal(read_bytes(packed, size, &(struct pprof_read_options){ 0 }), 0);
	assert_recording(usual);

	for (size_t cut = 0; cut <= file.size; cut += 13) {
		size = add_member(packed, 0, sizeof(packed), file.bytes, cut);
		size = add_member(packed, size, sizeof(packed), file.bytes + cut, file.size - cut);
		memset(packed + size, 0, 512);
		assert_int_equal(
			read_bytes(packed, size + cut % 512, &(struct pprof_read_options){ 0 }), 0);
		assert_recording(usual);
	}
}

static void a_pipe_is_read_as_well(void **state)
{
	(void)state;
	int ends[2];

	add_usual();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], file.bytes, file.size), file.size);
	close(ends[1]);
	assert_int_equal(
		recording_read("-", ends[0], &(struct read_options){ 0 }, &recording, &err), 0);
	close(ends[0]);
	assert_recording(usual);
}

static void labels_of_others_are_known_by_their_names(void **state)
{
	(void)state;
	add_types();
	add_sample("1", 1, 1, THREAD_ID, 0, 77);
	add_sample("1", 1, 1, THREAD_ID, FORTY_TWO, 0);
	add_sample("1", 1, 1, PID, LEAF, 0); /* no number */
	add_sample("1", 1, 1, PID, 0, UINT64_MAX);
	add_places();
	add_texts();
	assert_int_equal(read_file(), 0);
	assert_int_equal(recording.nr_stacks, 3);
	assert_int_equal(recording.stacks[0].tid, 77);
	assert_int_equal(recording.stacks[1].tid, 42);
	assert_int_equal(recording.stacks[1].has, RECORDING_HAS_TID);
	assert_int_equal(recording.stacks[2].has, 0);
	assert_int_equal(recording.stacks[2].count, 2);
}

static const struct {
	const char *what;
	uint64_t types[2][2], preferred;
	const char *wanted;
	uint64_t count, weight;
} type_cases[] = {
	{ "as fpless has them", { { SAMPLES, COUNT }, { CPU, NANOSECONDS } }, CPU, NULL, 3, 500 },
	{ "the other way", { { CPU, NANOSECONDS }, { SAMPLES, COUNT } }, 0, NULL, 500, 3 },
	{ "a time alone counts periods",
	  { { WALL, BYTES }, { CPU, NANOSECONDS } },
	  0,
	  NULL,
	  5,
	  500 },
	{ "counts alone weigh periods",
	  { { SAMPLES, COUNT }, { WALL, BYTES } },
	  SAMPLES,
	  NULL,
	  3,
	  300 },
	{ "another unit of time",
	  { { SAMPLES, COUNT }, { CPU, MILLISECONDS } },
	  0,
	  NULL,
	  3,
	  500000000 },
	{ "any time, if there is none of a CPU",
	  { { LEAF, COUNT }, { WALL, NANOSECONDS } },
	  0,
	  NULL,
	  3,
	  500 },
	{ "what the file prefers", { { LEAF, COUNT }, { MAIN, BYTES } }, LEAF, NULL, 3, 300 },
	{ "the last one else", { { LEAF, COUNT }, { MAIN, BYTES } }, 0, NULL, 500, 0 },
	{ "any time of samples",
	  { { SAMPLES, COUNT }, { WALL, MILLISECONDS } },
	  0,
	  NULL,
	  3,
	  500000000 },
	{ "bytes, though there are samples and their time",
	  { { SAMPLES, COUNT }, { MAIN, BYTES } },
	  0,
	  NULL,
	  500,
	  0 },
	{ "what is asked for", { { LEAF, COUNT }, { MAIN, BYTES } }, 0, "leaf", 3, 0 },
	{ "a time that is asked for counts and weighs",
	  { { SAMPLES, COUNT }, { CPU, MILLISECONDS } },
	  0,
	  "cpu",
	  500,
	  500000000 },
	{ "samples that are asked for weigh as ever",
	  { { SAMPLES, COUNT }, { CPU, NANOSECONDS } },
	  CPU,
	  "samples",
	  3,
	  500 },
};

static void sample_types_name_the_counted_value(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(type_cases); i++) {
		file.size = 0;
		for (size_t j = 0; j < 2; j++)
			NUMBERS(&file, PPROF_FIELD_SAMPLE_TYPE, type_cases[i].types[j][0],
				type_cases[i].types[j][1]);
		add_sample("1", 3, 500, 0, 0, 0);
		add_places();
		add_texts();
		NUMBERS(&file, PPROF_FIELD_PERIOD_TYPE, CPU, NANOSECONDS);
		proto_number(&file, PPROF_FIELD_PERIOD, 100);
		proto_number(&file, PPROF_FIELD_DEFAULT_TYPE, type_cases[i].preferred);
		assert_int_equal(read_bytes(file.bytes, file.size,
					    &(struct pprof_read_options){
						    .sample_type = type_cases[i].wanted }),
				 0);
		if (recording.stacks[0].count != type_cases[i].count ||
		    recording.stacks[0].weight != type_cases[i].weight)
			fail_msg("%s: %" PRIu64 " of %" PRIu64 " ns", type_cases[i].what,
				 recording.stacks[0].count, recording.stacks[0].weight);
	}
	assert_int_equal(read_bytes(file.bytes, file.size,
				    &(struct pprof_read_options){ .sample_type = "x" }),
			 -ENOENT);
	assert_string_equal(err.msg,
			    "x.pb.gz: no sample type is called 'x': there are samples (count), cpu "
			    "(nanoseconds)");
}

static void missing_references_are_counted(void **state)
{
	(void)state;
	add_types();
	add_sample("1", -1, 5, 0, 0, 0);
	add_sample("1", 1, -5, 0, 0, 0);
	add_sample("0", 1, 1, 0, 0, 0);
	add_sample("5", 1, 1, 0, 0, 0); /* the same: of nothing known */
	add_sample("3", 1, 1, 0, 0, 0);
	add_sample("", 1, 1, 999, 999, 0);
	add_sample("1", 0, 0, 0, 0, 0);
	add_location(3, 44, 0x1234, 55, 1);
	add_places();
	add_places();
	add_location(0, 0, 0, 0, 0);
	add_texts();
	assert_int_equal(read_file(), 0);
	assert_int_equal(recording.nr_stacks, 3);
	assert_int_equal(recording_shown(&recording), 4);
	assert_int_equal(recording.stacks[0].count, 2);
	assert_int_equal(recording_frame_at(&recording, &recording.stacks[0], 0)->address,
			 RECORDING_NO_ADDRESS);
	assert_int_equal(recording_frame_at(&recording, &recording.stacks[1], 0)->nr_lines, 1);
	assert_int_equal(recording_frame_at(&recording, &recording.stacks[1], 0)->address, 0x1234);
	assert_int_equal(remarks.negative, 2);
	assert_int_equal(remarks.dangling, 4);
	assert_int_equal(remarks.duplicate, 11);
}

static void sums_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	add_types();
	add_sample("1", INT64_MAX, 1, 0, 0, 0);
	add_sample("1", 1, 1, 0, 0, 0);
	add_places();
	add_texts();
	assert_int_equal(read_file(), -EBADMSG);
	assert_string_equal(err.msg, "x.pb.gz: the values of all samples do not fit 63 bits");
}

static void a_file_that_ends_early_is_refused(void **state)
{
	(void)state;
	static unsigned char packed[128 << 10];
	size_t size;

	add_texts();
	add_types();
	add_places();
	for (int i = 0; i < 100; i++)
		add_sample("21", 1, 1, PID, 0, (uint64_t)i + 1);
	size = add_member(packed, 0, sizeof(packed), file.bytes, file.size);
	for (size_t cut = size - 1; cut > size / 2; cut -= 7) {
		assert_int_equal(read_bytes(packed, cut, &(struct pprof_read_options){ 0 }),
				 -ENODATA);
		assert_memory_equal(err.msg, "x.pb.gz: offset ", 16);
	}
	assert_int_equal(read_bytes(file.bytes, file.size - 1, &(struct pprof_read_options){ 0 }),
			 -ENODATA);
}

static void other_file_than_pprof_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *what, *bytes;
		size_t size;
		const char *said;
	} cases[] = {
		{ "nothing", "", 0, "x.pb.gz: no sample types" },
		{ "text", "main;leaf 3\n", 12, "x.pb.gz: offset 6: no protocol buffer" },
		{ "a field of no kind", "\x0f", 1,
		  "x.pb.gz: offset 1: no protocol buffer: a field of" },
		{ "a field without a number", "\x02\x00", 2,
		  "x.pb.gz: offset 1: no protocol buffer: a field without" },
		{ "a number without an end", "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12,
		  "x.pb.gz: offset 1: no protocol buffer: a number" },
		{ "a sample that is none", "\x0a\x02\x08\x01\x12\x02\xff\xff", 8,
		  "x.pb.gz: offset 8: a sample that is no message" },
		{ "broken gzip", "\x1f\x8b\x08\0\0\0\0\0\0\3garbage", 17, "x.pb.gz: offset" },
		{ "gzip of another method", "\x1f\x8b\x07\0\0\0\0\0\0\3", 10, "x.pb.gz: offset" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int error = read_bytes((const unsigned char *)cases[i].bytes, cases[i].size,
				       &(struct pprof_read_options){ 0 });

		if ((error != -EBADMSG && error != -ENODATA) ||
		    strncmp(err.msg, cases[i].said, strlen(cases[i].said)) != 0)
			fail_msg("%s: %d, %s", cases[i].what, error, err.msg);
	}
}

static void a_bomb_is_refused(void **state)
{
	(void)state;
	enum { MIB = 1 << 20, NR = 20 };
	static unsigned char zeros[MIB], member[4096], *packed;
	struct proto head = { .size = 0 };
	size_t size, at;

	packed = malloc((NR + 1) * sizeof(member));
	assert_non_null(packed);
	/* an unknown field of 20 MiB */
	proto_varint(&head, 99u << 3 | 2);
	proto_varint(&head, (uint64_t)NR * MIB);
	at = add_member(packed, 0, sizeof(member), head.bytes, head.size);
	size = add_member(member, 0, sizeof(member), zeros, sizeof(zeros));
	for (int i = 0; i < NR; i++, at += size)
		memcpy(packed + at, member, size);
	assert_int_equal(read_bytes(packed, at, &(struct pprof_read_options){ 0 }), -EBADMSG);
	assert_non_null(strstr(err.msg, "500 times its size"));
	free(packed);
}

/* 1.2 million times @unit [@size], in members of 2,000: too little, and not packed enough, for a
 * bomb. */
static void expect_nonsense(const void *unit, size_t size, const char *why)
{
	enum { NR = 1200000, PER_MEMBER = 2000 };
	static unsigned char units[PER_MEMBER * 8], member[4096];
	unsigned char *packed = malloc((size_t)NR / PER_MEMBER * sizeof(member));
	size_t at = 0, packed_size;

	assert_non_null(packed);
	assert_true(size <= 8);
	for (size_t i = 0; i < PER_MEMBER; i++)
		memcpy(units + i * size, unit, size);
	packed_size = add_member(member, 0, sizeof(member), units, PER_MEMBER * size);
	for (size_t i = 0; i < NR / PER_MEMBER; i++, at += packed_size)
		memcpy(packed + at, member, packed_size);
	assert_int_equal(read_bytes(packed, at, &(struct pprof_read_options){ 0 }), -EBADMSG);
	if (!strstr(err.msg, why) || !strstr(err.msg, "unpacked offset"))
		fail_msg("%s", err.msg);
	free(packed);
}

/* Read @nr fields of @size bytes [at most 2 KiB] that @put makes, in members. */
static int read_fields(uint32_t nr, size_t size, void (*put)(uint32_t index, unsigned char *to))
{
	enum { MEMBER = 1 << 20 };
	static unsigned char fields[MEMBER];
	size_t per_member = MEMBER / size, room = (nr * size / MEMBER + 2) * (MEMBER + 4096),
	       at = 0;
	unsigned char *packed = malloc(room);

	assert_non_null(packed);
	for (uint32_t i = 0; i < nr;) {
		size_t there = 0;

		for (; there < per_member && i < nr; there++, i++)
			put(i, fields + there * size);
		at = add_member(packed, at, room, fields, there * size);
	}

	int error = read_bytes(packed, at, &(struct pprof_read_options){ 0 });

	free(packed);
	return error;
}

enum { OWN_TEXT_BYTES = 6, LONG_TEXT_BYTES = 1027, FUNCTION_BYTES = 14 };

/* A text that no other index has. */
static void put_own_text(uint32_t index, unsigned char *to)
{
	memcpy(to, "\x32\x04", 2);
	for (int i = 0; i < 4; i++)
		to[2 + i] = (unsigned char)('a' + (index >> 6 * i) % 64);
}

/* 1 KiB, without a repetition that deflate would find. */
static void put_long_text(uint32_t index, unsigned char *to)
{
	uint32_t state = 1;

	(void)index;
	memcpy(to, "\x32\x80\x08", 3);
	for (size_t i = 3; i < LONG_TEXT_BYTES; i++) {
		state = state * 1664525 + 1013904223;
		to[i] = (unsigned char)(1 + (state >> 24) % 250);
	}
}

/* A function and its name: function index + 1 is called text index. */
static void put_function(uint32_t index, unsigned char *to)
{
	uint32_t id = index + 1;

	memcpy(to, "\x2a\x06\x08", 3);
	memcpy(to + 3,
	       (unsigned char[]){ 0x80 | (id & 0x7f), 0x80 | (id >> 7 & 0x7f),
				  (unsigned char)(id >> 14) },
	       3);
	memcpy(to + 6, "\x10\x01", 2);
	put_own_text(index, to + 8);
}

static void texts_of_nothing_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_fields(1200000, OWN_TEXT_BYTES, put_own_text), -EBADMSG);
	assert_non_null(strstr(err.msg, "that nothing before them refers to"));
	assert_int_equal(read_fields(70000, LONG_TEXT_BYTES, put_long_text), -EBADMSG);
	assert_non_null(strstr(err.msg, "64 MiB of them, nearly all alike"));
	/* as many where each is the name of a function are only without samples */
	assert_int_equal(read_fields(1200000, FUNCTION_BYTES, put_function), -EBADMSG);
	assert_non_null(strstr(err.msg, "no sample types"));
}

static void tables_of_nothing_are_refused(void **state)
{
	(void)state;
	expect_nonsense("\x32\x00", 2, "a million texts and more, or 64 MiB of them, nearly");
	expect_nonsense("\x22\x00", 2, "without an id of their own");	      /* locations */
	expect_nonsense("\x2a\x00", 2, "without an id of their own");	      /* functions */
	expect_nonsense("\x2a\x02\x08\x07", 4, "without an id of their own"); /* all 7 */
	expect_nonsense("\x68\x01", 2, "more than a million comments");
}

static void memory_is_bounded(void **state)
{
	(void)state;
	static unsigned char packed[256 << 10];
	size_t size = 0;

	add_texts();
	add_types();
	add_places();
	size = add_member(packed, size, sizeof(packed), file.bytes, file.size);
	for (uint64_t i = 0; i < 40; i++) {
		file.size = 0;
		for (uint64_t j = 0; j < 1000; j++)
			add_sample("2", 1, 1, PID, 0, 1000 * i + j + 1);
		size = add_member(packed, size, sizeof(packed), file.bytes, file.size);
	}
	assert_int_equal(read_bytes(packed, size, &(struct pprof_read_options){ 0 }), 0);
	assert_int_equal(recording.nr_stacks, 40000);

	size_t bytes = recording_bytes(&recording);

	assert_int_equal(
		read_bytes(packed, size, &(struct pprof_read_options){ .memory = bytes / 2 }),
		-E2BIG);
	assert_non_null(strstr(err.msg, "more distinct stacks and names than"));
	assert_true(recording_bytes(&recording) < bytes);
}

static void file_like_a_pprof_is_tried(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
		bool is;
	} cases[] = {
		{ "\x1f\x8b", 2, true },
		{ "\x1f", 1, false },
		{ "\x0a\x04\x08\x01", 4, true },
		{ "\x0a\x02\x10\x01", 4, true },
		{ "\x0a\x0a\x0a", 3, false },
		{ "\nab 3\n", 6, false },
		{ "main 3\n", 7, false },
		{ "", 0, false },
		{ "Z\x04\x08\x01", 4, true },
		{ "\x32\x00", 2, true },
		{ "H\x81\x01`\x05Z\x04\x08", 8, true },
		{ "H\xff\xff", 3, false },
		{ "HP`\n", 4, false },
		{ "Hello\n", 6, false },
		{ "\x0a\x04", 2, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			pprof_looks_like((const unsigned char *)cases[i].bytes, cases[i].size),
			cases[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(places_may_follow_their_samples),
		TEST(a_file_is_gzipped_or_not_or_in_members),
		TEST(a_pipe_is_read_as_well),
		TEST(labels_of_others_are_known_by_their_names),
		TEST(sample_types_name_the_counted_value),
		TEST(missing_references_are_counted),
		TEST(sums_that_do_not_fit_are_refused),
		TEST(a_file_that_ends_early_is_refused),
		TEST(other_file_than_pprof_is_refused),
		TEST(a_bomb_is_refused),
		TEST(tables_of_nothing_are_refused),
		TEST(texts_of_nothing_are_refused),
		TEST(memory_is_bounded),
		TEST(file_like_a_pprof_is_tried),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
