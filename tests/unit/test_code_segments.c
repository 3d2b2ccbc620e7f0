/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "obj/code_segments.h"

#define CODE (PF_R | PF_X)

static const struct elf_segment segments[] = {
	{ PT_LOAD, PF_R, 0, 0x400000, 0x1000, 0x1000 },
	{ PT_LOAD, CODE, 0x1000, 0x402000, 0x800, 0x800 },
	{ PT_DYNAMIC, CODE, 0x1800, 0x500000, 0x800, 0x800 },
	{ PT_LOAD, CODE, 0x2000, 0x600000, 0x1000, 0x1000 },
	{ PT_LOAD, CODE, 0x2800, 0x700000, 0x900, 0x900 }, /* beyond the end of the file */
	{ PT_LOAD, CODE, UINT64_MAX, 0x700000, 0x900, 0x900 },
	{ PT_LOAD, CODE, 0x100, 0x800000, 0, 0x900 }, /* of a debug file */
};

static const struct {
	const char *what;
	uint64_t off, vaddr; /* 0: none */
} places[] = {
	{ "data", 0x10, 0 },
	{ "the first byte of code", 0x1000, 0x402000 },
	{ "the last", 0x17ff, 0x4027ff },
	{ "behind it", 0x1800, 0 },
	{ "another segment", 0x2fff, 0x600fff },
	{ "behind the file", 0x3000, 0 },
	{ "nowhere", UINT64_MAX, 0 },
};

static void code_is_where_executable_segments_say(void **state)
{
	struct elf_file elf = { .size = 0x3000,
				.segments = (struct elf_segment *)segments,
				.nr_segments = ARRAY_SIZE(segments) };
	struct code_segments code;

	(void)state;
	assert_int_equal(code_segments_read(&elf, &code), 0);
	assert_int_equal(code.nr, 2);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		uint64_t vaddr = 0;

		if (code_segments_vaddr(&code, places[i].off, &vaddr) != (places[i].vaddr != 0) ||
		    vaddr != places[i].vaddr)
			fail_msg("%s", places[i].what);
	}
	code_segments_fini(&code);
	elf.nr_segments = 1;
	assert_int_equal(code_segments_read(&elf, &code), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_where_executable_segments_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
