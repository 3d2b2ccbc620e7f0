/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "symbolize/dwarf_constants.h"

#define ROWS_MAX (1u << 24) /* of one unit */

/* The machine that runs a program (DWARF 5, section 6.2.2). */
struct line_machine {
	struct line_table *table;
	struct line_row now;
	size_t first_row;  /* of the sequence at hand */
	bool is_unordered; /* the sequence goes back: it is of no use */
};

static int push_row(struct line_table *table, const struct line_row *row)
{
	if (table->nr_rows == table->room_rows) {
		size_t room = table->room_rows ? table->room_rows * 2 : 256;
		struct line_row *grown;

		if (table->nr_rows >= ROWS_MAX)
			return -E2BIG;
		grown = reallocarray(table->rows, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		table->rows = grown;
		table->room_rows = room;
	}
	table->rows[table->nr_rows++] = *row;
	return 0;
}

static int push_sequence(struct line_table *table, const struct line_sequence *sequence)
{
	if (table->nr_sequences == table->room_sequences) {
		size_t room = table->room_sequences ? table->room_sequences * 2 : 16;
		struct line_sequence *grown = reallocarray(table->sequences, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->sequences = grown;
		table->room_sequences = room;
	}
	table->sequences[table->nr_sequences++] = *sequence;
	return 0;
}

/* Adds the row at hand; of several at one address the last counts, equal ones are one. */
static int emit(struct line_machine *machine)
{
	struct line_table *table = machine->table;
	const struct line_row *now = &machine->now;

	if (table->nr_rows > machine->first_row) {
		struct line_row *last = &table->rows[table->nr_rows - 1];

		if (now->vaddr < last->vaddr) {
			machine->is_unordered = true;
			return 0;
		}
		if (now->vaddr == last->vaddr) {
			*last = *now;
			return 0;
		}
		if (now->file == last->file && now->line == last->line &&
		    now->column == last->column)
			return 0;
	}
	return push_row(table, now);
}

static void restart(struct line_machine *machine)
{
	machine->now = (struct line_row){ .file = 1, .line = 1 };
	machine->first_row = machine->table->nr_rows;
	machine->is_unordered = false;
}

static int end_sequence(struct line_machine *machine)
{
	struct line_table *table = machine->table;
	struct line_sequence sequence = { .first_row = machine->first_row };
	int code = 0;

	machine->now.file = LINE_END;
	machine->now.line = machine->now.column = 0;
	if (table->nr_rows > machine->first_row) {
		sequence.nr_rows = table->nr_rows - machine->first_row;
		sequence.start = table->rows[machine->first_row].vaddr;
		sequence.end = machine->now.vaddr;
	}
	if (machine->is_unordered || sequence.start >= sequence.end ||
	    !dwarf_is_code(table->unit->file, sequence.start))
		table->nr_rows = machine->first_row;
	else
		code = push_sequence(table, &sequence);
	restart(machine);
	return code;
}

static int run_extended(struct line_machine *machine, struct cursor *c)
{
	uint64_t size = cursor_uleb(c);
	struct cursor operands = *c;
	const char *name;

	if (!size)
		return 0;
	cursor_skip(c, size);
	if (c->bad)
		return -EINVAL;
	operands.end = c->pos;
	switch (cursor_u8(&operands)) {
	case DW_LNE_end_sequence:
		return end_sequence(machine);
	case DW_LNE_set_address:
		machine->now.vaddr = cursor_uint(&operands, size > 8 ? 8 : (size_t)size - 1);
		return 0;
	case DW_LNE_define_file:
		name = cursor_text(&operands, SIZE_MAX);
		return line_header_add_file(&machine->table->header, name, cursor_uleb(&operands));
	default:
		return 0;
	}
}

static uint32_t narrow(uint64_t number)
{
	return number > UINT32_MAX - 1 ? UINT32_MAX - 1 : (uint32_t)number;
}

static int run_standard(struct line_machine *machine, uint8_t opcode, struct cursor *c)
{
	const struct line_header *header = &machine->table->header;
	struct line_row *now = &machine->now;

	switch (opcode) {
	case DW_LNS_copy:
		return emit(machine);
	case DW_LNS_advance_pc:
		now->vaddr += cursor_uleb(c) * header->min_insn_bytes;
		return 0;
	case DW_LNS_advance_line:
		now->line = (uint32_t)(now->line + (uint64_t)cursor_sleb(c));
		return 0;
	case DW_LNS_set_file:
		now->file = narrow(cursor_uleb(c));
		return 0;
	case DW_LNS_set_column:
		now->column = narrow(cursor_uleb(c));
		return 0;
	case DW_LNS_const_add_pc:
		now->vaddr += (uint64_t)((255 - header->opcode_base) / header->line_range) *
			      header->min_insn_bytes;
		return 0;
	case DW_LNS_fixed_advance_pc:
		now->vaddr += cursor_u16(c);
		return 0;
	default:
		for (unsigned int i = 0; i < header->operands[opcode]; i++)
			(void)cursor_uleb(c);
		return 0;
	}
}

static int run_special(struct line_machine *machine, uint8_t opcode)
{
	const struct line_header *header = &machine->table->header;
	unsigned int adjusted = opcode - header->opcode_base;

	machine->now.vaddr += (uint64_t)(adjusted / header->line_range) * header->min_insn_bytes;
	machine->now.line += (uint32_t)(header->line_base + (int)(adjusted % header->line_range));
	return emit(machine);
}

static int run(struct line_table *table, struct cursor *c)
{
	struct line_machine machine = { .table = table };
	int code = 0;

	restart(&machine);
	while (!code && cursor_left(c)) {
		uint8_t opcode = cursor_u8(c);

		if (opcode >= table->header.opcode_base)
			code = run_special(&machine, opcode);
		else if (opcode == 0)
			code = run_extended(&machine, c);
		else
			code = run_standard(&machine, opcode, c);
	}
	/* what has no end is no sequence */
	table->nr_rows = machine.first_row;
	return code ? code : c->bad ? -EINVAL : 0;
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
		code = run(table, &c);
		/* the sequences before what went wrong are whole */
		if (code != -ENOMEM && table->nr_sequences)
			code = 0;
	}
	if (code == -ENOMEM)
		return fpl_fail(err, code, "%s: out of memory", file->elf->name);
	if (code)
		return dwarf_fail(file, DWARF_LINE, off, code, "a line table that makes no sense",
				  err);
	if (table->nr_sequences)
		qsort(table->sequences, table->nr_sequences, sizeof(*table->sequences),
		      compare_sequences);
	*ret = TAKE_PTR(table);
	return 0;
}

void line_table_destroy(struct line_table *table)
{
	if (!table)
		return;
	line_header_fini(&table->header);
	free(table->rows);
	free(table->sequences);
	free(table);
}

const struct line_row *line_table_find(const struct line_table *table, uint64_t vaddr)
{
	size_t nr = SORTED_UP_TO(table->sequences, start, table->nr_sequences, vaddr);
	const struct line_sequence *sequence = nr ? &table->sequences[nr - 1] : NULL;
	const struct line_row *rows;

	if (!sequence || vaddr >= sequence->end)
		return NULL;
	rows = table->rows + sequence->first_row;
	return &rows[SORTED_UP_TO(rows, vaddr, sequence->nr_rows, vaddr) - 1];
}
