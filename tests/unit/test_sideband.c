/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "proc/sideband.h"

/* A record under construction. */
struct builder {
	uint8_t bytes[512];
	size_t size;
};

static void put(struct builder *b, const void *bytes, size_t size)
{
	assert_true(b->size + size <= sizeof(b->bytes));
	memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

static void put_u32(struct builder *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put_u64(struct builder *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

static void begin(struct builder *b, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	*b = (struct builder){ 0 };
	put(b, &header, sizeof(header));
}

/* Ends with the time, as sample_id_all has it, and fills the size in. */
static void end(struct builder *b, uint64_t time_ns)
{
	put_u64(b, time_ns);

	uint16_t size = (uint16_t)b->size;

	memcpy(b->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

/* The kernel pads a path with zeros to a multiple of 8. */
static void put_path(struct builder *b, const char *path)
{
	static const char zero[8];

	put(b, path, strlen(path) + 1);
	put(b, zero, (8 - b->size % 8) % 8);
}

static void begin_map(struct builder *b, uint16_t misc, uint64_t start, uint64_t size)
{
	begin(b, PERF_RECORD_MMAP2, misc);
	put_u32(b, 41);
	put_u32(b, 42);
	put_u64(b, start);
	put_u64(b, size);
	put_u64(b, 0x26000);
}

static void parse_reads_a_mapping_by_inode(void **state)
{
	struct builder b;
	struct sideband_record r;

	(void)state;
	begin_map(&b, 0, 0x7f0000001000, 0x2000);
	put_u32(&b, 8);
	put_u32(&b, 1);
	put_u64(&b, 131103);
	put_u64(&b, 5);
	put_u32(&b, PROT_READ | PROT_EXEC);
	put_u32(&b, MAP_PRIVATE);
	put_path(&b, "/usr/lib/libc.so.6");
	end(&b, 777);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), 1);
	assert_int_equal(r.type, SIDEBAND_MAP);
	assert_int_equal(r.time_ns, 777);
	assert_int_equal(r.pid, 41);
	assert_int_equal(r.tid, 42);
	assert_int_equal(r.start, 0x7f0000001000);
	assert_int_equal(r.size, 0x2000);
	assert_int_equal(r.file_off, 0x26000);
	assert_int_equal(r.dev_major, 8);
	assert_int_equal(r.dev_minor, 1);
	assert_int_equal(r.inode, 131103);
	assert_int_equal(r.build_id_size, 0);
	assert_string_equal(r.path, "/usr/lib/libc.so.6");
}

static void put_build_id(struct builder *b, uint8_t size)
{
	uint8_t id[24] = { size };

	for (uint8_t i = 0; i < 20; i++)
		id[4 + i] = (uint8_t)(0xa0 + i);
	put(b, id, sizeof(id));
	put_u32(b, PROT_EXEC);
	put_u32(b, MAP_PRIVATE);
	put_path(b, "/x");
	end(b, 1);
}

static void parse_reads_a_mapping_by_build_id(void **state)
{
	struct builder b;
	struct sideband_record r;

	(void)state;
	begin_map(&b, PERF_RECORD_MISC_MMAP_BUILD_ID, 0x1000, 0x1000);
	put_build_id(&b, 20);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), 1);
	assert_int_equal(r.build_id_size, 20);
	assert_int_equal(r.build_id[0], 0xa0);
	assert_int_equal(r.build_id[19], 0xb3);
	assert_int_equal(r.inode, 0);

	begin_map(&b, PERF_RECORD_MISC_MMAP_BUILD_ID, 0x1000, 0x1000);
	put_build_id(&b, 21);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), -EINVAL);
}

static void make_map(struct builder *b, uint64_t start, uint64_t size, uint32_t prot)
{
	begin_map(b, 0, start, size);
	put_u32(b, 0);
	put_u32(b, 0);
	put_u64(b, 0);
	put_u64(b, 0);
	put_u32(b, prot);
	put_u32(b, 0);
	put_path(b, "//anon");
	end(b, 1);
}

static void parse_keeps_executable_mappings_that_make_sense(void **state)
{
	static const struct {
		const char *what;
		uint64_t start, size;
		uint32_t prot;
		int want;
	} cases[] = {
		{ "executable", 0x1000, 0x1000, PROT_EXEC, 1 },
		{ "data", 0x1000, 0x1000, PROT_READ | PROT_WRITE, 0 },
		{ "empty", 0x1000, 0, PROT_EXEC, -EINVAL },
		{ "around the end of memory", 0xfffffffffffff000, 0x2000, PROT_EXEC, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct builder b;
		struct sideband_record r;

		make_map(&b, cases[i].start, cases[i].size, cases[i].prot);
		if (sideband_parse(b.bytes, b.size, &r) != cases[i].want)
			fail_msg("%s", cases[i].what);
	}
}

static void make_task(struct builder *b, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid)
{
	begin(b, type, 0);
	put_u32(b, pid);
	put_u32(b, ppid);
	put_u32(b, tid);
	put_u32(b, ppid);
	put_u64(b, 5);
	end(b, 9);
}

static void parse_tells_processes_from_threads(void **state)
{
	static const struct {
		const char *what;
		uint32_t type, pid, ppid, tid;
		int want;
		enum sideband_type want_type;
	} cases[] = {
		{ "new process", PERF_RECORD_FORK, 50, 40, 50, 1, SIDEBAND_FORK },
		{ "new thread", PERF_RECORD_FORK, 40, 40, 51, 0, SIDEBAND_FORK },
		{ "end of a thread", PERF_RECORD_EXIT, 40, 40, 51, 1, SIDEBAND_EXIT },
		{ "end of a leader", PERF_RECORD_EXIT, 50, 40, 50, 1, SIDEBAND_EXIT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct builder b;
		struct sideband_record r;

		make_task(&b, cases[i].type, cases[i].pid, cases[i].ppid, cases[i].tid);

		int got = sideband_parse(b.bytes, b.size, &r);

		if (got != cases[i].want || r.type != cases[i].want_type || r.pid != cases[i].pid ||
		    r.parent != cases[i].ppid || r.tid != cases[i].tid || r.time_ns != 9)
			fail_msg("%s: got %d", cases[i].what, got);
	}
}

static void parse_reads_exec_and_lost(void **state)
{
	struct builder b;
	struct sideband_record r;

	(void)state;
	begin(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32(&b, 7);
	put_u32(&b, 8);
	put_path(&b, "perl");
	end(&b, 3);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), 1);
	assert_int_equal(r.type, SIDEBAND_EXEC);
	assert_int_equal(r.pid, 7);

	begin(&b, PERF_RECORD_COMM, 0);
	put_u32(&b, 7);
	put_u32(&b, 8);
	put_path(&b, "renamed");
	end(&b, 3);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), 0);

	begin(&b, PERF_RECORD_LOST, 0);
	put_u64(&b, 1);
	put_u64(&b, 123);
	end(&b, 4);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), 1);
	assert_int_equal(r.type, SIDEBAND_LOST);
	assert_int_equal(r.nr_lost, 123);
}

static void parse_reads_a_new_cgroup(void **state)
{
	struct builder b;
	struct sideband_record r;

	(void)state;
	begin(&b, PERF_RECORD_CGROUP, 0);
	put_u64(&b, 0x100000019);
	put_path(&b, "/a/b c");
	end(&b, 4);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), 1);
	assert_int_equal(r.type, SIDEBAND_CGROUP);
	assert_true(r.cgroup == 0x100000019);
	assert_string_equal(r.path, "/a/b c");

	begin(&b, PERF_RECORD_CGROUP, 0); /* its path has no end */
	put_u64(&b, 25);
	put(&b, "/unended", 8);
	end(&b, 4);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), -EINVAL);
}

/* Every prefix and every single changed byte of a record is survived (ASan watches). */
static void parse_survives_hostile_bytes(void **state)
{
	struct builder b;
	struct sideband_record r;

	(void)state;
	make_map(&b, 0x1000, 0x1000, PROT_EXEC);
	for (size_t size = 0; size <= b.size; size++) {
		AUTO_FREE uint8_t *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, b.bytes, size);
		if (size >= 8) { /* a header that is true to the size */
			uint16_t claimed = (uint16_t)size;

			memcpy(copy + offsetof(struct perf_event_header, size), &claimed, 2);
		}

		int got = sideband_parse(copy, size, &r);

		if (size < b.size && got == 1)
			fail_msg("a record cut to %zu bytes was taken", size);
	}
	for (size_t i = 0; i < b.size; i++) {
		for (unsigned v = 0; v < 256; v += 5) {
			AUTO_FREE uint8_t *copy = malloc(b.size);

			assert_non_null(copy);
			memcpy(copy, b.bytes, b.size);
			copy[i] = (uint8_t)v;
			if (sideband_parse(copy, b.size, &r) == 1 && r.type == SIDEBAND_MAP)
				assert_true(strlen(r.path) < b.size);
		}
	}
}

static void parse_refuses_a_path_without_an_end(void **state)
{
	struct builder b;
	struct sideband_record r;

	(void)state;
	begin_map(&b, 0, 0x1000, 0x1000);
	put_u32(&b, 0);
	put_u32(&b, 0);
	put_u64(&b, 0);
	put_u64(&b, 0);
	put_u32(&b, PROT_EXEC);
	put_u32(&b, 0);
	put(&b, "/no/end.", 8);
	end(&b, 0x4141414141414141);
	assert_int_equal(sideband_parse(b.bytes, b.size, &r), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_reads_a_mapping_by_inode),
		cmocka_unit_test(parse_reads_a_mapping_by_build_id),
		cmocka_unit_test(parse_keeps_executable_mappings_that_make_sense),
		cmocka_unit_test(parse_tells_processes_from_threads),
		cmocka_unit_test(parse_reads_exec_and_lost),
		cmocka_unit_test(parse_reads_a_new_cgroup),
		cmocka_unit_test(parse_survives_hostile_bytes),
		cmocka_unit_test(parse_refuses_a_path_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
