/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "obj/elf_file.h"
#include "tests/support/elf_builder.h"
#include "tests/unit/cmocka_all.h"

/* Finish the file, open it, and end the builder. Close it by elf_file_close(). */
static inline struct elf_file *elf_builder_open(struct elf_builder *b)
{
	struct elf_file *elf = NULL;

	elf_builder_finish(b);
	assert_int_equal(elf_file_from_memory(b->bytes, b->size, "test", &elf, NULL), 0);
	elf_builder_fini(b);
	return elf;
}
