/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/beam_records.h"

#include <stddef.h>

/* Both kinds of records begin like this; text follows where the structure ends before it. */
struct head {
	uint32_t kind, _pad;
	union {
		struct {
			uint32_t frame_layout, _pad;
			uint64_t normal_exit;
		} run_time;
		struct {
			uint64_t start;
			uint32_t nr_ranges, bytes;
			uint16_t name_bytes;
		} module;
	};
};
_Static_assert(sizeof(struct head) == 32, "behind it and its name are the ranges of a module");

struct range_head {
	uint32_t start, end; /* from the start of the module */
	uint32_t nr_lines;
	uint16_t name_bytes; /* with its NUL */
	char name[2];	     /* it begins here, but its bytes are counted from the end on */
};
_Static_assert(sizeof(struct range_head) == 16, "as the run time writes it");

struct line_head {
	uint32_t start, line;
	uint16_t file_bytes;
	char file[2];
};
_Static_assert(sizeof(struct line_head) == 12, "as the run time writes it");

bool beam_record_next(struct jit_list *list, struct beam_record *ret)
{
	uint64_t record, size;
	struct head head;

	if (!jit_list_next(list, &record, &size) || size < sizeof(head) ||
	    !jit_read(list->memory, record, &head, sizeof(head)))
		return false;
	*ret = (struct beam_record){ .kind = head.kind };
	if (head.kind == BEAM_RUN_TIME) {
		ret->normal_exit = head.run_time.normal_exit;
	} else if (head.kind == BEAM_MODULE) {
		ret->start = head.module.start;
		ret->end = head.module.start + head.module.bytes;
		if (ret->end < ret->start)
			ret->end = ret->start;
		ret->nr_ranges = head.module.nr_ranges;
		ret->ranges = record + sizeof(head) + head.module.name_bytes;
	}
	return true;
}

/* The text of @bytes, its NUL included, at @addr. */
static bool read_text(struct jit_memory *memory, uint64_t addr, uint16_t bytes,
		      char ret[JIT_TEXT_MAX])
{
	size_t size = bytes < JIT_TEXT_MAX ? bytes : JIT_TEXT_MAX;

	if (!size || !jit_read(memory, addr, ret, size))
		return false;
	ret[size - 1] = '\0';
	return true;
}

bool beam_range_next(struct jit_memory *memory, struct beam_record *record, struct beam_range *ret)
{
	struct range_head head;

	if (!record->nr_ranges || !jit_read(memory, record->ranges, &head, sizeof(head)) ||
	    head.start > head.end || head.end > record->end - record->start ||
	    !read_text(memory, record->ranges + offsetof(struct range_head, name), head.name_bytes,
		       ret->name))
		return false;
	ret->start = record->start + head.start;
	ret->end = record->start + head.end;
	ret->nr_lines = head.nr_lines;
	ret->lines = record->ranges + sizeof(head) + head.name_bytes;
	record->nr_ranges--;
	return true;
}

bool beam_line_next(struct jit_memory *memory, const struct beam_record *record,
		    struct beam_range *range, struct beam_line *ret)
{
	struct line_head head;

	if (!range->nr_lines || !jit_read(memory, range->lines, &head, sizeof(head)) ||
	    !read_text(memory, range->lines + offsetof(struct line_head, file), head.file_bytes,
		       ret->file))
		return false;
	ret->start = record->start + head.start;
	ret->line = head.line;
	range->lines += sizeof(head) + head.file_bytes;
	range->nr_lines--;
	return true;
}

bool beam_range_leave(struct jit_memory *memory, struct beam_record *record,
		      struct beam_range *range)
{
	struct line_head head;

	for (; range->nr_lines; range->nr_lines--) {
		if (!jit_read(memory, range->lines, &head, sizeof(head)))
			return false;
		range->lines += sizeof(head) + head.file_bytes;
	}
	record->ranges = range->lines;
	return true;
}
