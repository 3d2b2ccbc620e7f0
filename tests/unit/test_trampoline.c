/* SPDX-License-Identifier: Apache-2.0 */
/* Trampolines to code made at run time, and memory that only looks as if one were there. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/arch_x86_64.h"
#include "jit/trampoline.h"

#define BASE  0x7f0000000000ull
#define PAGES 8u

static uint8_t bytes[PAGES * JIT_PAGE_SIZE];

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t size)
{
	(void)ctx;
	if (addr < BASE || addr - BASE > sizeof(bytes) - size)
		return -1;
	memcpy(dst, bytes + (addr - BASE), size);
	return 0;
}

/* The page @idx alone begins with @code [@size]. */
static void put(unsigned idx, const char *code, size_t size)
{
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes + (size_t)idx * JIT_PAGE_SIZE, code, size);
}

#define QEMU "\x55\x53\x41\x54\x41\x55\x41\x56\x41\x57\x48\x89\xfd\x48\x81\xc4\x78\xfb\xff\xff"
#define GUILE                                                                      \
	"\x48\x83\xec\x18\x48\x89\x1c\x24\x4c\x89\x64\x24\x08\x4c\x89\x6c\x24\x10" \
	"\x48\x89\xfb\x49\x89\xf4\x48\x8b\x43\x10\x48\x8b\x4b\x18"

static int find(const uint64_t *bounds, size_t nr, struct fpl_region *ret)
{
	struct jit_memory *memory = NULL;
	int code;

	assert_int_equal(jit_memory_create(read_bytes, NULL, &memory), 0);
	code = trampoline_find(memory, bounds, nr, ret);
	jit_memory_destroy(memory);
	return code;
}

static void a_trampoline_says_what_frame_all_code_has(void **state)
{
	static const struct {
		const char *what, *code;
		size_t size;
		int cfa_off; /* 0: it is no trampoline */
	} cases[] = {
#define CASE(what, code, cfa_off) { what, code, sizeof(code) - 1, cfa_off }
		CASE("qemu", QEMU "\xff\xe6", 1216),
		CASE("guile", GUILE "\x49\xff\xe4", 32),
		CASE("no jump", QEMU "\x90\x90", 0),
		CASE("a call", QEMU "\xff\xd6", 0),
		CASE("a jump by memory", QEMU "\xff\x26", 0),
		CASE("a jump in front of which rsp moves", QEMU "\x48\x83\xc4\x08\xff\xe6", 0),
		CASE("two frames", QEMU "\x48\x83\xec\x08\xff\xe6", 0),
		CASE("no frame", "\x55\xff\xe6", 0),
		CASE("other code", "\x48\x83\xe8\x18\x49\x89\xcc", 0),
		CASE("no code", "", 0),
		CASE("prefixes without end",
		     "\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48\x48", 0),
		CASE("pushes without end",
		     "PPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP", 0),
		CASE("a frame of 2 GiB", "\x48\x81\xc4\x00\x00\x00\x80\xff\xe6", 0),
#undef CASE
	};
	static const uint64_t bounds[] = { BASE, BASE + JIT_PAGE_SIZE };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_region region;

		print_message("%s\n", cases[i].what);
		put(0, cases[i].code, cases[i].size);
		assert_int_equal(find(bounds, 1, &region), cases[i].cfa_off ? 0 : -ENOENT);
		if (!cases[i].cfa_off)
			continue;
		assert_true(fpl_region_holds(&region));
		assert_int_equal(region.kind, FPL_REGION_FRAME);
		assert_int_equal(region.rule.cfa_off, cases[i].cfa_off);
		assert_int_equal(region.rule.regs, ARCH_SP);
	}
}

static void its_region_ends_behind_the_last_mapping_that_follows(void **state)
{
	static const uint64_t page = JIT_PAGE_SIZE;
	const uint64_t bounds[] = { BASE,
				    BASE + page,
				    BASE + 2 * page,
				    BASE + 3 * page,
				    BASE + 3 * page,
				    BASE + 4 * page,
				    BASE + 5 * page,
				    BASE + 6 * page,
				    BASE + 9 * page,
				    BASE + 10 * page };
	struct fpl_region region;

	(void)state;
	put(2, QEMU "\xff\xe6", sizeof(QEMU) + 1);
	assert_int_equal(find(bounds, 5, &region), 0);
	assert_int_equal(region.start, BASE + 2 * page);
	assert_int_equal(region.end, BASE + 6 * page);
	assert_int_equal(find(bounds, 2, &region), 0);
	assert_int_equal(region.end, BASE + 3 * page);
	assert_int_equal(find(bounds, 1, &region), -ENOENT);
	assert_int_equal(find(bounds, 0, &region), -ENOENT);
}

static void memory_that_cannot_be_read_has_none(void **state)
{
	static const uint64_t bounds[] = { BASE - 2 * JIT_PAGE_SIZE, BASE - JIT_PAGE_SIZE,
					   UINT64_MAX - 8, UINT64_MAX };
	struct fpl_region region;

	(void)state;
	put(0, QEMU "\xff\xe6", sizeof(QEMU) + 1);
	assert_int_equal(find(bounds, 2, &region), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trampoline_says_what_frame_all_code_has),
		cmocka_unit_test(its_region_ends_behind_the_last_mapping_that_follows),
		cmocka_unit_test(memory_that_cannot_be_read_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
