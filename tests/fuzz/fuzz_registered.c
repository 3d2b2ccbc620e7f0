/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a process that has registered a file for debuggers, with hostile words in it: a
 * byte says of which kind the file is, triples of an address in the memory, a size and a value
 * follow. Judged: what is named and described holds, and all ends.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "jit/jit_file.h"
#include "parse/job.h"
#include "tests/support/memory_word.h"
#include "tests/support/registered_memory.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void overwrite(struct registered_memory *process, const uint8_t *data, size_t size)
{
	struct memory_word word;

	while (memory_word_take(&data, &size, REG_BASE, REG_SIZE, &word))
		registered_put(process, word.off % (REG_SIZE - 8), &word.value, word.bytes);
}

static void find(struct jit_memory *memory)
{
	static const uint64_t bases[] = { REG_BASE };
	static const uint64_t bounds[] = { REG_CODE, REG_CODE_END };
	struct made_code made;
	struct fpl_err err;
	int code = registered_find(memory, bases, 1, bounds, 1, &made, &err);

	REQUIRE(!code || code == -ENOENT);
	if (code)
		return;
	REQUIRE(made_code_check(&made) && made.base == REG_BASE);
	for (uint32_t i = 0; i < made.nr; i++)
		REQUIRE(made.pieces[i].start >= REG_CODE && made.pieces[i].end <= REG_CODE_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registered_memory *process = calloc(1, sizeof(*process));
	struct jit_memory *memory = NULL;
	struct code_table table;
	int code;

	REQUIRE(process && !jit_memory_create(registered_read, process, &memory));
	registered_make(process, size && (data[0] & 1));
	if (size)
		overwrite(process, data + 1, size - 1);
	find(memory);
	code_table_init(&table, 1 << 20);
	code = jit_files_names(memory, REG_BASE, &table);
	REQUIRE(!code || code == -ENOSPC);
	for (size_t i = 0; i < table.nr; i++)
		REQUIRE(table.entries[i].end <= 1ull << 47);
	REQUIRE(!code_table_arrange(&table) && code_table_check(&table));
	code_table_fini(&table);
	jit_memory_destroy(memory);
	free(process);
	return 0;
}
