/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/code_segments.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* Does it hold code, completely in the file? */
static bool is_code(const struct elf_file *elf, const struct elf_segment *segment)
{
	return segment->type == PT_LOAD && segment->flags & PF_X && segment->file_size &&
	       segment->off <= elf->size && segment->file_size <= elf->size - segment->off;
}

int code_segments_read(const struct elf_file *elf, struct code_segments *ret)
{
	struct code_segments found = { .list = calloc(elf->nr_segments + 1, sizeof(*found.list)) };

	if (!found.list)
		return -ENOMEM;
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (is_code(elf, segment))
			found.list[found.nr++] = *segment;
	}
	if (!found.nr) {
		free(found.list);
		return -ENOENT;
	}
	*ret = found;
	return 0;
}

void code_segments_fini(struct code_segments *segments)
{
	free(segments->list);
	*segments = (struct code_segments){ 0 };
}

bool code_segments_vaddr(const struct code_segments *segments, uint64_t off, uint64_t *ret)
{
	for (size_t i = 0; i < segments->nr; i++) {
		const struct elf_segment *segment = &segments->list[i];

		if (off < segment->off || off - segment->off >= segment->file_size)
			continue;
		*ret = segment->vaddr + (off - segment->off);
		return true;
	}
	return false;
}
