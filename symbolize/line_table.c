/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "symbolize/dwarf_constants.h"

#define ROWS_MAX (1u << 24) /* of one unit */
/* into the one loop that calls it, where registers are local */
#define ALWAYS_INLINE inline __attribute__((__always_inline__))

/* The registers of a line program (DWARF 5, section 6.2.2). */
struct line_registers {
	uint64_t vaddr;
	struct line_place place;
};

/* The sequence at hand. */
struct line_state {
	uint64_t start;
	size_t first_row;
	struct line_registers last; /* of the last row */
	bool is_unordered;	    /* it goes back, or too far: it is of no use */
};

/* The effect of an instruction beside changing registers. */
enum line_event { LINE_NONE, LINE_ROW, LINE_END, LINE_FILE };

/* Two arrays of one length, of which only offs is searched: so no VECTOR of both. */
static int grow_rows(struct line_table *table)
{
	size_t wanted = table->nr_rows + 1;

	if (table->nr_rows >= ROWS_MAX)
		return -E2BIG;
	if (array_reserve(&table->offs, sizeof(*table->offs), &table->room_offs, wanted))
		return -ENOMEM;
	return array_reserve(&table->places, sizeof(*table->places), &table->room_rows, wanted);
}

static inline bool same_place(const struct line_place *a, const struct line_place *b)
{
	return a->line == b->line && a->column == b->column && a->file == b->file;
}

/* Adds a row; of several at one address the last counts, equal ones are one. */
static ALWAYS_INLINE int add_row(struct line_table *table, struct line_state *state,
				 struct line_registers now)
{
	size_t at = table->nr_rows;

	if (at == state->first_row) {
		state->start = now.vaddr;
	} else if (now.vaddr == state->last.vaddr) {
		at--;
	} else if (now.vaddr < state->last.vaddr || now.vaddr - state->start > UINT32_MAX) {
		state->is_unordered = true;
		return 0;
	} else if (same_place(&now.place, &state->last.place)) {
		return 0;
	}
	if (at == table->room_rows) {
		int code = grow_rows(table);

		if (code)
			return code;
	}
	state->last = now;
	table->offs[at] = (uint32_t)(now.vaddr - state->start);
	table->places[at] = now.place;
	table->nr_rows = at + 1;
	return 0;
}

/* Ends the sequence of @state at @end. */
static int end_sequence(struct line_table *table, struct line_state state, uint64_t end)
{
	const struct line_sequence sequence = {
		.start = state.start,
		.end = end,
		.first_row = state.first_row,
		.nr_rows = table->nr_rows - state.first_row,
	};

	if (!state.is_unordered && sequence.nr_rows && sequence.start < end &&
	    dwarf_is_code(table->unit->file, sequence.start))
		return vector_push(&table->sequences, sequence);
	table->nr_rows = state.first_row;
	return 0;
}

/* Adds the file that an instruction of kind LINE_FILE names. */
static int add_file(struct line_table *table, struct cursor operands)
{
	const char *name = cursor_text(&operands, SIZE_MAX);

	return line_header_add_file(&table->header, name, cursor_uleb(&operands));
}

/* *operands: of the instruction, where it is LINE_FILE. */
static ALWAYS_INLINE enum line_event run_extended(struct line_registers *now, struct cursor *c,
						  struct cursor *operands)
{
	uint64_t size = cursor_uleb(c);

	*operands = *c;
	if (!size)
		return LINE_NONE;
	cursor_skip(c, size);
	operands->end = c->pos;
	if (c->bad)
		return LINE_NONE;
	switch (cursor_u8(operands)) {
	case DW_LNE_end_sequence:
		return LINE_END;
	case DW_LNE_set_address:
		now->vaddr = cursor_uint(operands, size > 8 ? 8 : (size_t)size - 1);
		return LINE_NONE;
	case DW_LNE_define_file:
		return LINE_FILE;
	default:
		return LINE_NONE;
	}
}

static uint32_t narrow(uint64_t number)
{
	return number > UINT32_MAX - 1 ? UINT32_MAX - 1 : (uint32_t)number;
}

static ALWAYS_INLINE enum line_event run_standard(const struct line_header *header,
						  struct line_registers *now, uint8_t opcode,
						  struct cursor *c)
{
	switch (opcode) {
	case DW_LNS_copy:
		return LINE_ROW;
	case DW_LNS_advance_pc:
		now->vaddr += cursor_uleb(c) * header->min_insn_bytes;
		break;
	case DW_LNS_advance_line:
		now->place.line = (uint32_t)(now->place.line + (uint64_t)cursor_sleb(c));
		break;
	case DW_LNS_set_file:
		now->place.file = narrow(cursor_uleb(c));
		break;
	case DW_LNS_set_column:
		now->place.column = narrow(cursor_uleb(c));
		break;
	case DW_LNS_const_add_pc:
		now->vaddr += (uint64_t)((255 - header->opcode_base) / header->line_range) *
			      header->min_insn_bytes;
		break;
	case DW_LNS_fixed_advance_pc:
		now->vaddr += cursor_u16(c);
		break;
	default:
		for (unsigned int i = 0; i < header->operands[opcode]; i++)
			(void)cursor_uleb(c);
		break;
	}
	return LINE_NONE;
}

/* The step of a special opcode. */
struct line_step {
	uint32_t bytes, lines; /* modulo 2^32 */
};

static void make_steps(const struct line_header *header, struct line_step *steps)
{
	uint32_t bytes = 0, line = 0;

	for (unsigned int opcode = header->opcode_base; opcode <= UINT8_MAX; opcode++) {
		steps[opcode].bytes = bytes;
		steps[opcode].lines = (uint32_t)header->line_base + line;
		if (++line == header->line_range) {
			line = 0;
			bytes += header->min_insn_bytes;
		}
	}
}

/* Runs one instruction. */
static ALWAYS_INLINE enum line_event run_one(const struct line_header *header,
					     const struct line_step *steps,
					     struct line_registers *now, struct cursor *c,
					     struct cursor *operands)
{
	uint8_t opcode = cursor_u8(c);

	if (opcode < header->opcode_base)
		return opcode ? run_standard(header, now, opcode, c)
			      : run_extended(now, c, operands);
	now->vaddr += steps[opcode].bytes;
	now->place.line += steps[opcode].lines;
	return LINE_ROW;
}

static int run(struct line_table *table, struct cursor c)
{
	static const struct line_registers first = { .place = { .file = 1, .line = 1 } };
	struct line_state state = { .first_row = 0 };
	struct line_registers now = first;
	struct line_step steps[256];
	struct cursor operands;
	int code = 0;

	make_steps(&table->header, steps);
	while (!code && cursor_left(&c)) {
		switch (run_one(&table->header, steps, &now, &c, &operands)) {
		case LINE_ROW:
			code = add_row(table, &state, now);
			break;
		case LINE_END:
			code = end_sequence(table, state, now.vaddr);
			state.first_row = table->nr_rows;
			state.is_unordered = false;
			now = first;
			break;
		case LINE_FILE:
			code = add_file(table, operands);
			break;
		case LINE_NONE:
			break;
		}
	}
	/* what has no end is no sequence */
	table->nr_rows = state.first_row;
	return code ? code : c.bad ? -EINVAL : 0;
}

static int compare_sequences(const void *left, const void *right)
{
	const struct line_sequence *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static void cleanup_table(struct line_table **table)
{
	line_table_destroy(*table);
}

int line_table_create(const struct dwarf_unit *unit, struct dwarf_file *supplement,
		      struct line_table **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_table) struct line_table *table = calloc(1, sizeof(*table));
	struct dwarf_file *file = unit->file;
	uint64_t off = unit->root.stmt_list_off;
	struct cursor c, start;
	int code;

	if (!table)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->elf->name);
	if (off == UINT64_MAX)
		return dwarf_fail(file, DWARF_INFO, unit->off, -ENOENT, "a unit without lines",
				  err);
	c = start = dwarf_at(file, DWARF_LINE, off);
	table->unit = unit;
	code = c.bad ? -EINVAL : line_header_read(unit, supplement, &c, &table->header);
	if (!code)
		code = dwarf_work(file, (uint64_t)(c.end - start.pos), err);
	if (code == -E2BIG)
		return code;
	if (!code) {
		code = run(table, c);
		/* the sequences before what went wrong are whole */
		if (code != -ENOMEM && table->sequences.nr)
			code = 0;
	}
	if (code == -ENOMEM)
		return fpl_fail(err, code, "%s: out of memory", file->elf->name);
	if (code)
		return dwarf_fail(file, DWARF_LINE, off, code, "a line table that makes no sense",
				  err);
	if (table->sequences.nr)
		qsort(table->sequences.list, table->sequences.nr, sizeof(*table->sequences.list),
		      compare_sequences);
	*ret = TAKE_PTR(table);
	return 0;
}

void line_table_destroy(struct line_table *table)
{
	if (!table)
		return;
	line_header_fini(&table->header);
	free(table->offs);
	free(table->places);
	vector_fini(&table->sequences);
	free(table);
}

const struct line_place *line_table_find(const struct line_table *table, uint64_t vaddr)
{
	size_t nr = SORTED_UP_TO(table->sequences.list, start, table->sequences.nr, vaddr);
	const struct line_sequence *sequence = nr ? &table->sequences.list[nr - 1] : NULL;
	uint64_t off;

	if (!sequence || vaddr >= sequence->end)
		return NULL;
	off = vaddr - sequence->start;
	nr = SORTED_NUMBERS(table->offs + sequence->first_row, sequence->nr_rows, off);
	return &table->places[sequence->first_row + nr - 1];
}
