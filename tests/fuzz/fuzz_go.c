/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table and the code of a Go program as hostile bytes: two bytes that say how much of the rest
 * is code, the code, the table. Judged: rows ascend inside the code and hold together, they are
 * what the compact table says, and that passes the check of tables; lines and their texts end.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/elf_builder.h"
#include "unwind/go_lines.h"
#include "unwind/rows.h"
#include "unwind/table_check.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 0x401000, TABLE = 0x500000, TEXT_MOST = 65536 };

struct judge {
	const struct table *table;
	uint64_t at, end;
};

static int judge_row(const struct cfi_row *row, void *ctx)
{
	struct judge *judge = ctx;
	const struct fpl_rule *rule = table_find(judge->table, row->start);
	bool end = row->reg[CFI_RA].kind == CFI_UNDEF;

	REQUIRE(row->source == CFI_SOURCE_GO);
	REQUIRE(row->start >= judge->at && row->start < row->end && row->end <= judge->end);
	REQUIRE(row->cfa == FPL_CFA_REG || row->cfa == FPL_CFA_EXPR || row->signal ||
		row->other_stack);
	REQUIRE(rule->cfa == row->cfa);
	REQUIRE(((rule->flags & FPL_RULE_END) != 0) == end);
	REQUIRE(((rule->flags & FPL_RULE_SWITCH) != 0) == row->other_stack);
	REQUIRE(row->cfa != FPL_CFA_REG || rule->cfa_off == row->cfa_off);
	judge->at = row->end;
	return 0;
}

/* Lines end, their texts too, and at each address there are at most as many as were asked for. */
static void read_lines(const struct elf_file *elf, size_t text)
{
	struct go_lines *lines = NULL;
	struct budget budget;

	budget_init(&budget, elf->name, &table_limits_default);
	if (go_lines_open(elf, &budget, &lines, NULL))
		return;
	for (uint64_t at = TEXT; at < TEXT + text; at++) {
		struct go_place places[8];
		size_t nr = go_lines_find(lines, at, places, ARRAY_SIZE(places));

		REQUIRE(nr <= ARRAY_SIZE(places));
		for (size_t i = 0; i < nr; i++) {
			REQUIRE(!places[i].name || strlen(places[i].name) < TEXT_MOST);
			REQUIRE(!places[i].file || strlen(places[i].file) < TEXT_MOST);
		}
	}
	go_lines_close(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf = NULL;
	struct table *table = NULL;
	struct fpl_err err = { 0 };
	struct elf_builder b;
	size_t text;

	if (size < 2)
		return 0;
	text = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (text == 0 || text > size)
		return 0;
	elf_builder_init(&b, ET_EXEC);
	elf_builder_ehdr(&b)->e_entry = TEXT;

	uint64_t off = elf_builder_append(&b, data, text);

	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, off, TEXT, text, text);
	elf_builder_section_at(&b, ".text", SHT_PROGBITS, SHF_ALLOC, TEXT, off, text);
	elf_builder_section(&b, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, TABLE, data + text,
			    size - text);
	elf_builder_finish(&b);
	REQUIRE(elf_file_from_memory(b.bytes, b.size, "fuzz", &elf, &err) == 0);

	int code = table_compile(elf, NULL, &table_limits_default, &table, &err);

	if (code == 0) {
		struct judge judge = { .table = table, .at = TEXT, .end = TEXT + text };

		REQUIRE(table_check(table, &err) == 0);
		REQUIRE(cfi_rows_for_each(elf, NULL, &table_limits_default, judge_row, &judge,
					  &err) == 0);
	} else {
		REQUIRE(code == -ENODATA || code == -EINVAL || code == -EFBIG);
	}
	read_lines(elf, text);
	table_destroy(table);
	elf_file_close(elf);
	elf_builder_fini(&b);
	return 0;
}
