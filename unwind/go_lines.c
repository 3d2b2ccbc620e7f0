/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/go_value.h"

enum {
	VALUE_INLINED = 2, /* index of a table of values: which call was inlined, or -1 */
	DATA_INLINED = 3,  /* index of a function's data: its inlined calls */
	NO_OFFSET = UINT32_MAX,
	TEXT_MOST = 65536, /* bytes of a name, or of a path */
	CALL_MOST = 20,	   /* bytes of an inlined call */
};

/* struct inlinedCall of runtime/symtabinl.go: where its fields are. */
struct call_layout {
	uint8_t size, name, parent, start_line; /* start_line 0: not there */
};

struct go_lines {
	const struct elf_file *elf; /* borrowed */
	struct go_functions functions;
	uint64_t data; /* address that offsets of functions' data count from; 0: unknown */
	struct call_layout call;
};

/* A function, and an offset of its code. */
struct spot {
	const struct go_lines *lines;
	const struct go_function *function;
	uint64_t record, at;
};

static const struct go_table *table_of(const struct spot *spot)
{
	return &spot->lines->functions.table;
}

static uint32_t field(const struct spot *spot, uint64_t off)
{
	return go_table_u32(table_of(spot), spot->record + off);
}

/* The value at the spot of the table @off; false: it has none. */
static bool value_at(const struct spot *spot, uint32_t off, int64_t *ret)
{
	struct go_value at =
		go_value_begin(table_of(spot), off, 0, spot->function->end - spot->function->start);

	while (off && go_value_next(&at)) {
		if (spot->at >= at.end)
			continue;
		*ret = at.value;
		return true;
	}
	return false;
}

/* Returns the text at @off of those in [@begin, @end) of the table, or NULL. */
static const char *text_at(const struct go_table *table, uint64_t begin, uint64_t end, uint64_t off)
{
	if (begin >= end || end > table->size || off >= end - begin)
		return NULL;

	const uint8_t *text = table->bytes + begin + off;
	uint64_t left = end - begin - off;

	return memchr(text, '\0', left < TEXT_MOST ? left : TEXT_MOST) ? (const char *)text : NULL;
}

/* An offset that is not of the beginning of a name was read in the wrong place. */
static const char *name_at(const struct go_table *table, uint32_t off)
{
	const char *name = text_at(table, table->names_off, table->units_off, off);

	return name && (!off || !name[-1]) ? name : NULL;
}

static const char *file_at(const struct spot *spot)
{
	const struct go_table *table = table_of(spot);
	uint64_t nr =
		table->files_off > table->units_off ? (table->files_off - table->units_off) / 4 : 0;
	int64_t number;
	uint64_t idx;

	if (!value_at(spot, field(spot, GO_RECORD_FILES), &number) || number < 0)
		return NULL;
	idx = field(spot, GO_RECORD_UNIT) + (uint64_t)number;
	if (idx >= nr)
		return NULL;
	return text_at(table, table->files_off, table->values_off,
		       go_table_u32(table, table->units_off + 4 * idx));
}

static void put_place(const struct spot *spot, const char *name, uint32_t start_line,
		      struct go_place *ret)
{
	int64_t line = 0;

	(void)value_at(spot, field(spot, GO_RECORD_LINES), &line);
	*ret = (struct go_place){
		.name = name,
		.file = file_at(spot),
		.line = line > 0 ? (uint32_t)line : 0,
		.start_line = start_line,
	};
}

/* The offset of the table of inlined calls by pc; 0: nothing was inlined. */
static uint32_t inlined_values(const struct spot *spot)
{
	if (field(spot, GO_RECORD_NR_VALUES) <= VALUE_INLINED)
		return 0;
	return field(spot, go_table_record_bytes(table_of(spot)) + 4 + 4 * VALUE_INLINED);
}

/* Read the inlined call @idx of the function. */
static bool read_call(const struct spot *spot, int64_t idx, uint8_t *ret)
{
	const struct go_table *table = table_of(spot);
	uint64_t bytes = go_table_record_bytes(table);
	uint64_t nr_values = field(spot, GO_RECORD_NR_VALUES), nr_data = field(spot, bytes) >> 24;
	uint32_t off = field(spot, bytes + 4 + 4 * (nr_values + DATA_INLINED));
	uint64_t vaddr = spot->lines->data + off + (uint64_t)idx * spot->lines->call.size;

	if (!spot->lines->data || nr_data <= DATA_INLINED || off == NO_OFFSET)
		return false;
	return elf_file_read_vaddr(spot->lines->elf, vaddr, ret, spot->lines->call.size, NULL) == 0;
}

static uint32_t word_of(const uint8_t *call, uint8_t off)
{
	uint32_t word;

	memcpy(&word, call + off, sizeof(word));
	return word;
}

/* Put the call that is inlined at @spot, and go on to where it is called from. */
static bool put_inlined(struct spot *spot, int64_t idx, struct go_place *ret)
{
	const struct call_layout *layout = &spot->lines->call;
	uint8_t call[CALL_MOST];
	const char *name;
	uint32_t parent;

	if (!read_call(spot, idx, call))
		return false;
	name = name_at(table_of(spot), word_of(call, layout->name));
	parent = word_of(call, layout->parent);
	if (!name || parent >= spot->function->end - spot->function->start)
		return false;
	put_place(spot, name, layout->start_line ? word_of(call, layout->start_line) : 0, ret);
	spot->at = parent;
	return true;
}

static const struct go_function *find_function(const struct go_functions *functions, uint64_t vaddr)
{
	size_t lo = 0, hi = functions->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (functions->list[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr < functions->list[lo - 1].end ? &functions->list[lo - 1] : NULL;
}

size_t go_lines_find(const struct go_lines *lines, uint64_t vaddr, struct go_place *ret,
		     size_t nr_max)
{
	const struct go_function *function = find_function(&lines->functions, vaddr);
	size_t nr = 0;
	int64_t idx;

	if (!function)
		return 0;

	struct spot spot = {
		.lines = lines,
		.function = function,
		.record = lines->functions.table.functions_off + function->record,
		.at = vaddr - function->start,
	};
	uint32_t inlined = inlined_values(&spot);

	while (value_at(&spot, inlined, &idx) && idx >= 0)
		if (nr + 1 >= nr_max || !put_inlined(&spot, idx, &ret[nr++]))
			return 0;
	put_place(&spot, name_at(table_of(&spot), go_lines_name(&lines->functions, function)),
		  lines->functions.table.magic == GO_MAGIC_118 ? 0
							       : field(&spot, GO_RECORD_START_LINE),
		  &ret[nr]);
	return nr + 1;
}

const struct go_functions *go_lines_functions(const struct go_lines *lines)
{
	return &lines->functions;
}

void go_lines_close(struct go_lines *lines)
{
	if (!lines)
		return;
	go_functions_fini(&lines->functions);
	free(lines);
}

static void cleanup_lines(struct go_lines **lines)
{
	go_lines_close(*lines);
}

int go_lines_open(const struct elf_file *elf, struct budget *budget, struct go_lines **ret,
		  struct fpl_err *err)
{
	CLEANUP(cleanup_lines) struct go_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	lines->elf = elf;

	int code = go_functions_list(elf, budget, &lines->functions, err);

	if (code)
		return code;
	if (!lines->functions.nr)
		return -ENODATA;
	lines->data = go_table_data(elf, &lines->functions.table);
	lines->call = lines->functions.table.magic == GO_MAGIC_118
			      ? (struct call_layout){ .size = 20, .name = 12, .parent = 16 }
			      : (struct call_layout){
					.size = 16, .name = 4, .parent = 8, .start_line = 12
				};
	/* it has served to place the functions */
	free(lines->functions.code);
	lines->functions.code = NULL;
	*ret = TAKE_PTR(lines);
	return 0;
}
