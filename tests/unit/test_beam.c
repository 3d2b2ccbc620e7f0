/* SPDX-License-Identifier: Apache-2.0 */
/* The records of Erlang's run time about its JIT are read: how frames are found, and names. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "jit/beam.h"
#include "jit/hotspot.h"
#include "tests/support/jit_object.h"

#define BASE	     0x550000000000ull /* of the run time */
#define DESCRIPTOR   0x480u	       /* offsets in its memory, behind what it exports, */
#define ENTRIES	     0x500u	       /* of the entries of its list, */
#define RECORDS	     0x800u	       /* of the records, 512 bytes each, */
#define RECORD_SIZE  512u
#define PROCESS_MAIN 0x700u
#define ENTRY	     0x1800u /* and of the code of the JIT's entry */
#define ENTRY_SIZE   0x80u
#define NORMAL_EXIT  0x7f1000000c30ull
#define MODULE	     0x7f1000002000ull

static uint8_t run_time[2 * JIT_PAGE_SIZE];
static uint32_t nr_records;

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t size)
{
	(void)ctx;
	if (addr < BASE || addr - BASE > sizeof(run_time) - size)
		return -1;
	memcpy(dst, run_time + (addr - BASE), size);
	return 0;
}

static void put(uint32_t at, const void *bytes, size_t size)
{
	memcpy(run_time + at, bytes, size);
}
#define PUT(at, text) put(at, text, sizeof(text) - 1)

static const char *const exports[] = { "process_main", "__jit_debug_descriptor",
				       "beam_normal_exit" };
static const uint32_t values[] = { PROCESS_MAIN, DESCRIPTOR, 0x10 };

static void put_object(void)
{
	memset(run_time, 0, sizeof(run_time));
	jit_object_put(run_time, exports, values, ARRAY_SIZE(exports));
	nr_records = 0;
}

/* An entry of the list, whose first one is the last that was put, and room for its record. */
static uint32_t put_entry(void)
{
	uint32_t record = RECORDS + nr_records * RECORD_SIZE, at = ENTRIES + 32 * nr_records;
	uint64_t entry[] = { 0, 0, BASE + record, RECORD_SIZE }, first = BASE + at;

	memcpy(&entry[0], run_time + DESCRIPTOR + 16, 8);
	put(at, entry, sizeof(entry));
	put(DESCRIPTOR + 16, &first, sizeof(first));
	nr_records++;
	return record;
}

static void put_run_time(void)
{
	const uint64_t words[] = { 0, 0, NORMAL_EXIT };

	put(put_entry(), words, sizeof(words));
}

/* The record of a module begins like this. Returns where its ranges are. */
static uint32_t put_module(uint64_t start, uint32_t size, uint32_t nr_ranges)
{
	const struct {
		uint32_t kind, pad;
		uint64_t start;
		uint32_t nr_ranges, size;
		uint16_t name_size;
		char name[6];
	} head = { 1, 0xffffffff, start, nr_ranges, size, 2, "m" };
	uint32_t at = put_entry();

	put(at, &head, sizeof(head));
	return at + (uint32_t)sizeof(head) + 2;
}

/* One range at @at. Returns where the next one, or its first line, is. */
static uint32_t put_range(uint32_t at, uint32_t start, uint32_t end, uint32_t nr_lines,
			  const char *name)
{
	const uint32_t words[] = { start, end, nr_lines };
	uint16_t size = (uint16_t)(strlen(name) + 1);

	put(at, words, sizeof(words));
	put(at + 12, &size, 2);
	put(at + 14, name, size);
	return at + 16 + size;
}

static uint32_t put_line(uint32_t at, uint32_t start, uint32_t line, const char *file)
{
	const uint32_t words[] = { start, line };
	uint16_t size = (uint16_t)(strlen(file) + 1);

	put(at, words, sizeof(words));
	put(at + 8, &size, 2);
	put(at + 10, file, size);
	return at + 12 + size;
}

/* As OTP 25 has it; 27 has 0x40d0, and rbx at rsp + 0x40. */
#define ENTRY_25                                                                           \
	"\x48\x81\xec\x10\x41\x00\x00\x48\x83\xe4\xc0\x48\x89\x27\x48\x8d\x9c\x24\x80\x00" \
	"\x00\x00\x48\x8d\x7b\xb0"
#define ENTRY_27                                                                           \
	"\x48\x81\xec\xd0\x40\x00\x00\x48\x83\xe4\xc0\x48\x89\x27\x48\x8d\x5c\x24\x40\x48" \
	"\xc7\x83\x40\x40\x00\x00"

static void put_all(void)
{
	uint32_t at;

	put_object();
	at = put_module(BASE + ENTRY - 0x40, 0x1000, 2); /* the JIT's own */
	at = put_range(at, 0, 0x40, 0, "global::codeHeader");
	put_range(at, 0x40, 0x40 + ENTRY_SIZE, 0, "global::process_main");
	put_run_time();
	at = put_module(MODULE, 0x300, 5);
	at = put_range(at, 0, 0x80, 0, "m::codeHeader");
	at = put_range(at, 0x80, 0x100, 0, "m:f/1-CodeInfoPrologue");
	at = put_range(at, 0x100, 0x200, 2, "m:f/1");
	at = put_line(at, 0x100, 7, "m.erl");
	at = put_line(at, 0x180, 9, "other.hrl");
	put_range(at, 0x200, 0x280, 0, "m:'-f/1-fun-0-'/0");
	put_range(put_module(MODULE + 0x1000, 0x100, 1), 0, 0x100, 0, "global::codeHeader");
	PUT(ENTRY, ENTRY_25);
	PUT(ENTRY + 0x40, "\x49\x8b\x65\x58\x4d\x8b\x7d\x50\x48\x8d\x63\x80\xe9");
	PUT(ENTRY + 0x60, "\x48\x8d\x63\x80\xe9");
}

static int find(struct made_code *ret, struct fpl_err *err)
{
	struct jit_memory *memory = NULL;
	int code;

	assert_int_equal(jit_memory_create(read_bytes, NULL, &memory), 0);
	code = beam_find(memory, BASE, ret, err);
	jit_memory_destroy(memory);
	return code;
}

static void its_frames_are_found_by_the_code_of_the_entry(void **state)
{
	const struct fpl_region_beam *beam;
	struct made_code made;
	struct fpl_err err;

	(void)state;
	put_all();
	assert_int_equal(find(&made, &err), 0);
	assert_true(made_code_check(&made));
	assert_int_equal(made.nr, 1);
	assert_int_equal(made.pieces[0].region.kind, FPL_REGION_BEAM);
	assert_int_equal(made.pieces[0].end, FPL_REGION_END_MAX);
	beam = &made.pieces[0].region.beam;
	assert_int_equal(beam->normal_exit, NORMAL_EXIT);
	assert_int_equal(beam->process_main, BASE + PROCESS_MAIN);
	assert_int_equal(beam->entry, BASE + ENTRY);
	assert_int_equal(beam->entry_bytes, ENTRY_SIZE);
	assert_int_equal(beam->stack_off, 0x58);
	assert_int_equal(beam->runtime_off, 0x80);
	assert_int_equal(beam->caller_off, 0x4110 - 0x80 + 56);
	PUT(ENTRY, ENTRY_27);
	PUT(ENTRY + 0x40, "\x49\x8b\x65\x58\x4d\x8b\x7d\x50\x48\x8d\x63\xc0\xe9");
	PUT(ENTRY + 0x60, "\x48\x8d\x63\xc0\xe9");
	assert_int_equal(find(&made, &err), 0);
	assert_int_equal(beam->runtime_off, 0x40);
	assert_int_equal(beam->caller_off, 0x40d0 - 0x40 + 56);
}

static void another_run_time_is_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t at;
		const char *bytes;
		uint32_t size;
		int code;
		const char *why;
	} cases[] = {
#define CASE(what, at, bytes, code, why) { what, at, bytes, sizeof(bytes) - 1, code, why }
#define UNKNOWN				 "global::process_main of Erlang is unknown code"
		CASE("no process_main", JIT_OBJECT_NAMES + 1, "P", -ENOTSUP,
		     "Erlang exports no process_main"),
		CASE("no list", JIT_OBJECT_NAMES + 33, "P", -ENOTSUP,
		     "Erlang exports no process_main"),
		CASE("no ELF file", 0, "\x7e", -ENOTSUP, "Erlang exports no process_main"),
		CASE("an empty list", DESCRIPTOR + 16, "\0\0\0\0\0\0\0\0", -EAGAIN,
		     "Erlang has not described its JIT yet"),
		CASE("a list that leads nowhere", DESCRIPTOR + 16, "\1\0\0\0\0\0\0\0", -EAGAIN,
		     "Erlang has not described its JIT yet"),
		CASE("no record of the run time", RECORDS + RECORD_SIZE, "\2", -EAGAIN,
		     "Erlang has not described its JIT yet"),
		CASE("no record of the entry", RECORDS, "\2", -EAGAIN,
		     "Erlang has not described its JIT yet"),
		CASE("rsp is lowered by a byte's number", ENTRY + 1, "\x83", -ENOTSUP, UNKNOWN),
		CASE("it is aligned by another number", ENTRY + 10, "\x80", -ENOTSUP, UNKNOWN),
		CASE("it is not stored", ENTRY + 12, "\x8b", -ENOTSUP, UNKNOWN),
		CASE("or elsewhere", ENTRY + 13, "\x26", -ENOTSUP, UNKNOWN),
		CASE("rbx is no sum", ENTRY + 15, "\x8b", -ENOTSUP, UNKNOWN),
		CASE("rbx lies below rsp", ENTRY + 21, "\xff", -ENOTSUP, UNKNOWN),
		CASE("rbx lies above the frame", ENTRY + 3, "\x10\0\0\0", -ENOTSUP, UNKNOWN),
		CASE("two stacks of a process", ENTRY + 0x50, "\x49\x8b\x65\x60", -ENOTSUP,
		     UNKNOWN),
		CASE("no stack of a process", ENTRY + 0x40, "\x90", -ENOTSUP, UNKNOWN),
		CASE("two stacks of the thread", ENTRY + 0x63, "\x90", -ENOTSUP, UNKNOWN),
#undef CASE
	};
	struct made_code made;
	struct fpl_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		put_all();
		put(cases[i].at, cases[i].bytes, cases[i].size);
		assert_int_equal(find(&made, &err), cases[i].code);
		assert_string_equal(err.msg, cases[i].why);
		assert_int_equal(made.nr, 0);
	}
}

static void name(struct code_table *table, const uint64_t *asked, size_t nr)
{
	struct jit_memory *memory = NULL;

	assert_int_equal(jit_memory_create(read_bytes, NULL, &memory), 0);
	code_table_init(table, 1 << 20);
	assert_int_equal(beam_names(memory, BASE, asked, nr, table), 0);
	assert_int_equal(code_table_arrange(table), 0);
	jit_memory_destroy(memory);
}

static void check_name(const struct code_table *table, uint64_t addr, const char *want,
		       const char *file, uint32_t line)
{
	struct code_match match;
	struct symbol_line at;

	if (!want) {
		assert_false(code_table_find(table, addr, 0, &match));
		return;
	}
	assert_true(code_table_find(table, addr, 0, &match));
	assert_string_equal(match.name, want);
	assert_int_equal(match.lines.nr, file ? 1 : 0);
	if (!file)
		return;
	at = code_lines_at(&match.lines, 0);
	assert_string_equal(at.name, want);
	assert_string_equal(at.file, file);
	assert_int_equal(at.line, line);
}

static void functions_have_names_and_lines(void **state)
{
	const uint64_t asked[] = {
		hotspot_asked(BASE + ENTRY, HOTSPOT_ASKED_LEAF),
		hotspot_asked(MODULE - 1, HOTSPOT_ASKED_LINES),
		hotspot_asked(MODULE + 0xff, HOTSPOT_ASKED_LEAF | HOTSPOT_ASKED_LINES),
		hotspot_asked(MODULE + 0x100, HOTSPOT_ASKED_LINES),
		hotspot_asked(MODULE + 0x17f, HOTSPOT_ASKED_LINES),
		hotspot_asked(MODULE + 0x180, HOTSPOT_ASKED_LEAF | HOTSPOT_ASKED_LINES),
		hotspot_asked(MODULE + 0x1ff, 0),
		hotspot_asked(MODULE + 0x27f, HOTSPOT_ASKED_LINES),
		hotspot_asked(MODULE + 0x280, HOTSPOT_ASKED_LINES),
	};
	struct code_table table;

	(void)state;
	put_all();
	name(&table, asked, ARRAY_SIZE(asked));
	check_name(&table, BASE + ENTRY, "global::process_main", NULL, 0);
	check_name(&table, MODULE - 1, NULL, NULL, 0);
	check_name(&table, MODULE + 0x50, NULL, NULL, 0); /* it was not asked about */
	check_name(&table, MODULE + 0xff, "m:f/1", NULL, 0);
	check_name(&table, MODULE + 0x100, "m:f/1", "m.erl", 7);
	check_name(&table, MODULE + 0x17f, "m:f/1", "m.erl", 7);
	check_name(&table, MODULE + 0x180, "m:f/1", "other.hrl", 9);
	check_name(&table, MODULE + 0x1ff, "m:f/1", NULL, 0);
	check_name(&table, MODULE + 0x27f, "m:'-f/1-fun-0-'/0", NULL, 0);
	check_name(&table, MODULE + 0x280, NULL, NULL, 0);
	code_table_fini(&table);
}

/* Records that lie end the reading of their module. */
static void records_that_lie_have_no_names(void **state)
{
	const uint64_t asked[] = { hotspot_asked(MODULE + 0x100, HOTSPOT_ASKED_LINES) };
	const uint32_t module = RECORDS + 2 * RECORD_SIZE, first = module + 34;
	const uint32_t second =
		first + 16 + sizeof("m::codeHeader") + 16 + sizeof("m:f/1-CodeInfoPrologue");
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff };
	struct code_table table;

	(void)state;
	for (int i = 0; i < 5; i++) {
		uint64_t self = BASE + ENTRIES;

		put_all();
		if (i == 0)
			put(first + 4, huge, 4); /* a range beyond the module */
		else if (i == 1)
			put(first + 8, huge, 4); /* lines without end */
		else if (i == 2)
			put(second, huge, 4); /* a range that begins behind its end */
		else if (i == 3)
			put(module + 20, "\0\0\0\0", 4); /* no code */
		else
			put(DESCRIPTOR + 16, &self, 8);
		if (i == 4) /* a list that leads to itself, without the module */
			put(ENTRIES, &self, 8);
		name(&table, asked, ARRAY_SIZE(asked));
		check_name(&table, MODULE + 0x100, NULL, NULL, 0);
		code_table_fini(&table);
	}
	/* a name of no bytes, and one without NUL, which is cut off */
	put_all();
	put(second + 12, "\0\0", 2);
	name(&table, asked, ARRAY_SIZE(asked));
	check_name(&table, MODULE + 0x100, NULL, NULL, 0);
	code_table_fini(&table);
	put_all();
	put(second + 12, "\x04", 1);
	name(&table, asked, ARRAY_SIZE(asked));
	check_name(&table, MODULE + 0x100, "m:f", NULL, 0);
	code_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_frames_are_found_by_the_code_of_the_entry),
		cmocka_unit_test(another_run_time_is_refused),
		cmocka_unit_test(functions_have_names_and_lines),
		cmocka_unit_test(records_that_lie_have_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
