/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/sorted.h"
#include "jit/beam.h"
#include "jit/beam_records.h"
#include "jit/hotspot.h"

struct naming {
	struct jit_memory *memory;
	const uint64_t *asked; /* [nr] */
	size_t nr;
	struct code_table *table;
};

/* The first of the addresses that is not below @addr. */
static size_t first_from(const struct naming *naming, uint64_t addr)
{
	return SORTED_NUMBERS(naming->asked, naming->nr, (addr << HOTSPOT_ASKED_SHIFT) - 1);
}

static uint64_t pc_at(const struct naming *naming, size_t idx)
{
	return naming->asked[idx] >> HOTSPOT_ASKED_SHIFT;
}

/* Add the line @line to the addresses of @range from its own to @to of which that is asked. */
static int add_line(const struct naming *naming, const struct beam_range *range,
		    const struct beam_line *line, uint64_t to)
{
	const struct symbol_line at = { .name = range->name,
					.file = line->file,
					.line = line->line };
	uint64_t from = line->start > range->start ? line->start : range->start;
	int code = 0;

	if (to > range->end)
		to = range->end;
	for (size_t i = first_from(naming, from); !code && i < naming->nr && pc_at(naming, i) < to;
	     i++)
		if (naming->asked[i] & HOTSPOT_ASKED_LINES)
			code = code_table_add_lines(naming->table, pc_at(naming, i), range->start,
						    0, &at, 1);
	return code;
}

/* A line holds up to where the next one begins. */
static int add_lines(const struct naming *naming, const struct beam_record *record,
		     struct beam_range range)
{
	struct beam_line lines[2];
	size_t at = 0;
	int code = 0;

	if (!beam_line_next(naming->memory, record, &range, &lines[at]))
		return 0;
	for (; !code && beam_line_next(naming->memory, record, &range, &lines[!at]); at = !at)
		code = add_line(naming, &range, &lines[at], lines[!at].start);
	return code ? code : add_line(naming, &range, &lines[at], range.end);
}

/* The JIT has a range for the first instructions of a function and the data before them: it gets
 * the name of the function. */
static void leave_prologue(char *name)
{
	static const char prologue[] = "-CodeInfoPrologue";
	size_t length = strlen(name);

	if (length > sizeof(prologue) - 1 &&
	    !strcmp(name + length - (sizeof(prologue) - 1), prologue))
		name[length - (sizeof(prologue) - 1)] = '\0';
}

/* Add the ranges of @record that have addresses. */
static int add_module(const struct naming *naming, struct beam_record *record)
{
	struct beam_range range;
	int code = 0;

	while (!code && beam_range_next(naming->memory, record, &range)) {
		size_t i = first_from(naming, range.start);

		if (i < naming->nr && pc_at(naming, i) < range.end) {
			leave_prologue(range.name);
			code = code_table_add(naming->table, range.start, range.end - range.start,
					      0, range.name, strlen(range.name));
			if (!code)
				code = add_lines(naming, record, range);
		}
		if (!beam_range_leave(naming->memory, record, &range))
			break;
	}
	return code;
}

int beam_names(struct jit_memory *memory, uint64_t base, const uint64_t *asked, size_t nr_asked,
	       struct code_table *ret)
{
	const struct naming naming = {
		.memory = memory, .asked = asked, .nr = nr_asked, .table = ret
	};
	struct jit_list list;
	struct beam_record record;
	int code = 0;

	if (jit_list_open(memory, base, &list))
		return 0;
	while (!code && beam_record_next(&list, &record)) {
		size_t i = first_from(&naming, record.start);

		if (record.kind == BEAM_MODULE && i < nr_asked && pc_at(&naming, i) < record.end)
			code = add_module(&naming, &record);
	}
	return code;
}
