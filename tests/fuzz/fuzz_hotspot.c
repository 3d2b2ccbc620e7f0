/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a JVM with hostile words in it: triples of an address in it, a size and a value.
 * Judged: what is described holds, what is named holds together, inlined methods too, and all ends.
 */
#include <stdlib.h>

#include "parse/job.h"
#include "tests/support/jvm_memory.h"
#include "tests/support/memory_word.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The address of @off: bits of @where lead to the few bytes that say what is inlined. */
static uint64_t place_of(uint32_t off, uint8_t where)
{
	if (where & 64)
		return JVM_METADATA + off % (JVM_SCOPES_NEW + 48 - JVM_METADATA);
	if (where & 32)
		return JVM_NMETHOD + off % 0x80;
	if (where & 16)
		return JVM_INNER + off % 0x130;
	return JVM_BASE + off % (sizeof(((struct jvm_memory *)0)->bytes) - 8);
}

static void overwrite(struct jvm_memory *jvm, const uint8_t *data, size_t size)
{
	struct memory_word word;

	while (memory_word_take(&data, &size, JVM_BASE, sizeof(jvm->bytes), &word))
		jvm_put(jvm, place_of(word.off, word.where), word.value, word.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jvm_memory *jvm = calloc(1, sizeof(*jvm));
	const unsigned lines = HOTSPOT_ASKED_LINES;
	const uint64_t asked[] = { hotspot_asked(JVM_HEAP + 0x100, 0),
				   hotspot_asked(JVM_CODE + 0x1f, lines),
				   hotspot_asked(JVM_CODE + 0x20, lines | HOTSPOT_ASKED_LEAF),
				   hotspot_asked(JVM_CODE + 0x3f, lines),
				   hotspot_asked(JVM_HEAP + 0x1000, 0),
				   hotspot_asked(JVM_DATA + 0x200, HOTSPOT_ASKED_METHOD) };
	struct jit_memory *memory = NULL;
	struct code_table table;
	struct hotspot hotspot;
	struct fpl_err err = { 0 };

	REQUIRE(jvm && !jit_memory_create(jvm_read, jvm, &memory));
	jvm_make(jvm, size && (data[0] & 1));
	if (size)
		overwrite(jvm, data + 1, size - 1);
	code_table_init(&table, 1 << 20);
	if (!hotspot_describe(memory, JVM_BASE, &hotspot, &err)) {
		stubs_find(memory, &hotspot);
		REQUIRE(hotspot_check(&hotspot));
		(void)!hotspot_names(memory, &hotspot, asked, sizeof(asked) / sizeof(asked[0]),
				     &table);
		if (!code_table_arrange(&table))
			REQUIRE(code_table_check(&table));
	}
	code_table_fini(&table);
	jit_memory_destroy(memory);
	free(jvm);
	return 0;
}
