/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable memory that a process says it has: the first bytes are the code at its beginning, or
 * both a php, or Erlang, and the code that it makes. Judged: what is found holds, and the code that
 * is read as an entry ends where it may.
 */
#include <errno.h>
#include <string.h>

#include "bpf/entry_x86_64.h"
#include "jit/beam.h"
#include "jit/hotspot.h"
#include "jit/php.h"
#include "jit/trampoline.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x10000ull

struct code {
	const uint8_t *bytes;
	size_t size;
};

static int read_code(void *ctx, uint64_t addr, void *dst, size_t size)
{
	const struct code *code = ctx;

	memset(dst, 0xcc, size);
	if (addr < BASE || addr - BASE > code->size)
		return -1;
	if (size > code->size - (addr - BASE))
		size = code->size - (addr - BASE);
	memcpy(dst, code->bytes + (addr - BASE), size);
	return 0;
}

static void find_php(struct jit_memory *memory, size_t size)
{
	const uint64_t bounds[] = { BASE, BASE + size };
	struct made_code made;
	struct fpl_err err;
	int code = php_find(memory, BASE, bounds, 1, &made, &err);

	REQUIRE(!code || code == -ENOENT || code == -EFAULT || code == -ENOTSUP);
	if (!code) {
		REQUIRE(made_code_check(&made));
		for (uint32_t i = 0; i < made.nr; i++)
			REQUIRE(made.pieces[i].start >= BASE && made.pieces[i].end <= BASE + size);
	}
}

static void find_beam(struct jit_memory *memory)
{
	uint64_t asked[64];
	struct code_table table;
	struct made_code made;
	struct fpl_err err;
	int code = beam_find(memory, BASE, &made, &err);

	REQUIRE(!code || code == -EAGAIN || code == -EFAULT || code == -ENOTSUP);
	REQUIRE(code || made_code_check(&made));
	for (size_t i = 0; i < 64; i++)
		asked[i] = hotspot_asked(BASE + 64 * i,
					 i & (HOTSPOT_ASKED_LEAF | HOTSPOT_ASKED_LINES));
	code_table_init(&table, 1 << 16);
	code = beam_names(memory, BASE, asked, 64, &table);
	REQUIRE(!code || code == -ENOSPC || code == -EINVAL);
	REQUIRE(!code_table_arrange(&table) && code_table_check(&table));
	code_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t bounds[] = { BASE, 2 * BASE, 2 * BASE + 64, 3 * BASE };
	struct code code = { data, size };
	uint8_t bytes[ENTRY_BYTES + 8] = { 0 };
	struct fpl_rule rule;
	struct entry entry = { .bytes = bytes, .nr = ENTRY_BYTES, .rule = &rule };
	struct jit_memory *memory = NULL;
	struct fpl_region region;

	if (size > BASE)
		return 0;
	REQUIRE(!jit_memory_create(read_code, &code, &memory));
	if (!trampoline_find(memory, bounds, 2, &region)) {
		REQUIRE(region.kind == FPL_REGION_FRAME && fpl_region_holds(&region));
		REQUIRE(region.start == BASE && region.end == 3 * BASE);
	}
	find_php(memory, size);
	find_beam(memory);
	jit_memory_destroy(memory);

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	entry_begin(&rule);
	for (uint32_t i = 0; i < ENTRY_INSNS; i++) {
		uint32_t at = entry.at;
		long ends = entry_step(i, &entry);

		REQUIRE(entry.at >= at && entry.at - at <= 8 && (ends || entry.at > at));
		REQUIRE(fpl_region_rule_holds(&rule));
		if (ends)
			break;
	}
	return 0;
}
