/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debugging information of a hostile ELF file, taken as the object and as its own supplement.
 * Judged: every address of its code is answered within the bounds of the header, and the same when
 * asked again.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/debug_index.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESSES_MAX 512u /* of a segment */

static void check_frame(const struct symbol_line *frame)
{
	REQUIRE(!frame->name || frame->name[0]);
	REQUIRE(!frame->file || (frame->file[0] && frame->line));
	REQUIRE(frame->line || !frame->column);
}

static void check_address(struct debug_index *index, uint64_t vaddr)
{
	static struct symbol_line frames[SYMBOL_LINES_MAX], again[SYMBOL_LINES_MAX];
	size_t nr = debug_index_find(index, vaddr, frames);

	REQUIRE(nr <= SYMBOL_LINES_MAX);
	for (size_t i = 0; i < nr; i++)
		check_frame(&frames[i]);
	REQUIRE(debug_index_find(index, vaddr, again) == nr);
	REQUIRE(memcmp(frames, again, nr * sizeof(*frames)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct debug_index_options options = { .no_demangle = true };
	struct elf_file *elf = NULL;
	struct debug_index *index = NULL;

	if (elf_file_from_memory(data, size, "fuzz", &elf, NULL))
		return 0;
	if (debug_index_create(elf, elf, &options, &index, NULL) == 0) {
		check_address(index, 0);
		check_address(index, UINT64_MAX);
		for (size_t i = 0; i < elf->nr_segments && i < 8; i++) {
			const struct elf_segment *segment = &elf->segments[i];

			if (segment->type != PT_LOAD)
				continue;
			for (uint64_t n = 0; n < ADDRESSES_MAX && n < segment->mem_size; n++)
				check_address(index, segment->vaddr + n);
		}
	}
	debug_index_destroy(index);
	elf_file_close(elf);
	return 0;
}
