/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs that HotSpot has written itself get rows from their instructions, and forged ones none. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "bpf/arch_x86_64.h"
#include "parse/job.h"
#include "tests/support/jvm_memory.h"

#define STUBS	(JVM_HEAP + 0xc00)
#define BLOB	(STUBS + 16)
#define STUB	(JVM_HEAP + 0x1000) /* among the stubs, a multiple of 16 */
#define NR_NOPS 40u

/* It aligns rsp, keeps what that was at rsp + 56, and uses rbp for something else. */
static const uint8_t enter[] = { 0x55, 0x48, 0x8b, 0xec, 0x52, 0x51, 0x48, 0x8b, 0xc4, 0x48, 0x83,
				 0xec, 0x70, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x89, 0x44, 0x24, 0x38,
				 0x48, 0x89, 0x6c, 0x24, 0x40, 0x31, 0xed, 0x31, 0xc0 };
static const uint8_t leave[] = { 0x48, 0x8b, 0x6c, 0x24, 0x40, 0x48, 0x8b,
				 0x64, 0x24, 0x38, 0x59, 0x5a, 0x5d, 0xc3 };

static struct jvm_memory jvm;

static uint8_t *at(uint64_t addr)
{
	return jvm.bytes + (addr - JVM_BASE);
}

static void make(void)
{
	memset(&jvm, 0, sizeof(jvm));
	jvm_make(&jvm, 0);
	memset(at(STUB), 0x90, 256);
	memcpy(at(STUB), enter, sizeof(enter));
	memcpy(at(STUB) + sizeof(enter) + NR_NOPS, leave, sizeof(leave));
}

static void find(struct hotspot *ret)
{
	struct jit_memory *memory = NULL;
	struct fpl_err err = { 0 };

	assert_int_equal(jit_memory_create(jvm_read, &jvm, &memory), 0);
	assert_int_equal(hotspot_describe(memory, JVM_BASE, ret, &err), 0);
	stubs_find(memory, ret);
	assert_true(hotspot_check(ret));
	jit_memory_destroy(memory);
}

static void a_stub_that_aligns_its_frame_has_a_row(void **state)
{
	struct hotspot hotspot;
	const struct fpl_region *row = &hotspot.stubs[0];

	(void)state;
	make();
	find(&hotspot);
	assert_int_equal(hotspot.nr_stubs, 1);
	assert_int_equal(row->kind, FPL_REGION_ROW);
	assert_in_range(row->start, STUB, STUB + sizeof(enter));
	assert_in_range(row->end, STUB + sizeof(enter) + NR_NOPS, STUB + 255);
	assert_int_equal(row->rule.cfa, FPL_CFA_DEREF);
	assert_int_equal(row->rule.regs, ARCH_SP);
	assert_int_equal(row->rule.cfa_off, 56);
	assert_int_equal(row->rule.off2, 32);
	assert_int_equal(row->rule.saved[ARCH_SAVED_RBP], -2);
	assert_int_equal(hotspot.has_all_stubs, 0);
}

static void the_stubs_of_compilers_are_known_by_their_name(void **state)
{
	static const char *const names[] = { "StubRoutines (2)", "StubRoutines (compiler stubs)",
					     "StubRoutines (compilerstubs)" };
	struct hotspot hotspot;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		make();
		jvm_put(&jvm, BLOB + 96, jvm_text(&jvm, names[i]), 8);
		find(&hotspot);
		assert_int_equal(hotspot.nr_stubs, 1);
		assert_int_equal(hotspot.has_all_stubs, 1);
	}
}

static void stubs_that_are_forged_have_no_rows(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr, value;
		uint8_t size;
	} cases[] = {
		{ "a blob of another kind", BLOB + 96, JVM_TEXTS, 8 },
		{ "a name nowhere", BLOB + 96, JVM_END, 8 },
		{ "a blob larger than its block", BLOB + 12, 1u << 20, 4 },
		{ "a blob of 2^31 bytes", BLOB + 12, 1u << 31, 4 },
		{ "code that begins elsewhere", BLOB + 32, JVM_DATA, 8 },
		{ "a block of no length", STUBS, 0, 8 },
		{ "a block of 2^63 segments", STUBS, 1ull << 63, 8 },
		{ "a block before it of no length", JVM_HEAP, 0, 8 },
		{ "a free block", STUBS + 8, 0, 1 },
		{ "the stub of calls is in no heap", JVM_STATICS + 8, JVM_DATA, 8 },
		{ "no end", STUB + sizeof(enter) + NR_NOPS + sizeof(leave) - 1, 0x06, 1 },
	};
	struct hotspot hotspot;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		make();
		jvm_put(&jvm, cases[i].addr, cases[i].value, cases[i].size);
		find(&hotspot);
		assert_int_equal(hotspot.nr_stubs, 0);
	}
}

static void more_rows_than_there_is_room_for_are_left_out(void **state)
{
	struct hotspot hotspot;

	(void)state;
	make();
	for (uint64_t addr = STUB; addr < STUB + 32 * 128; addr += 128)
		memcpy(at(addr), at(STUB), 128);
	find(&hotspot);
	assert_int_equal(hotspot.nr_stubs, HOTSPOT_STUBS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stub_that_aligns_its_frame_has_a_row),
		cmocka_unit_test(the_stubs_of_compilers_are_known_by_their_name),
		cmocka_unit_test(stubs_that_are_forged_have_no_rows),
		cmocka_unit_test(more_rows_than_there_is_room_for_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
