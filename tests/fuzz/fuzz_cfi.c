/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .eh_frame and .debug_frame as hostile bytes. Input: a u16 that splits the rest into the two
 * sections. Judged: rows ascend, are disjoint and in range; the compact table answers inside its
 * image, and at every row what the exact row says, or gives it up by name; time stays bounded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj/elf_file.h"
#include "tests/support/elf_builder.h"
#include "unwind/rows.h"
#include "unwind/table.h"
#include "verify/row_eval.h"
#include "verify/rule_eval.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct table_limits limits = {
	.cpu_ns = 500000000,
	.memory_bytes = 64u << 20,
	.rows = 200000,
};

enum {
	TEXT_VADDR = 0x1000, /* code without bytes of its own, for FDEs to speak of */
	TEXT_SIZE = 0x40000,
	DATA_VADDR = 0x1000000, /* of the file's first byte, and so of the sections */
	GAP_MAX = 15,
	CHECKED_ROWS_MAX = 20000,
};

struct judge {
	const struct table *table; /* NULL: only the rows are judged */
	uint64_t end;		   /* of the row before */
	size_t nr_rows;
};

static void check_row(const struct cfi_row *row, const struct judge *judge)
{
	REQUIRE(row->start < row->end && row->start >= judge->end);
	REQUIRE(row->start >= TEXT_VADDR && row->end <= TEXT_VADDR + TEXT_SIZE);
	REQUIRE(row->cfa > FPL_CFA_NONE && row->cfa < FPL_CFA_COUNT);
	REQUIRE(row->cfa_reg < FPL_NR_REGS && row->cfa_reg2 < FPL_NR_REGS);
	REQUIRE(row->source < CFI_SOURCE_COUNT);
	for (size_t i = 0; i < CFI_NR_REGS; i++)
		REQUIRE(row->reg[i].kind <= CFI_EXPR && row->reg[i].reg < FPL_NR_REGS);
}

/* @rule lies in the image of @table, its extended rules too. */
static void check_bounds(const struct table *table, const struct fpl_rule *rule)
{
	const uint8_t *at = (const uint8_t *)rule;
	size_t nr = 0;
	size_t left = 0;

	for (size_t i = 0; i < table->nr_chunks && left == 0; i++) {
		if (at >= table->chunks[i] && at < table->chunks[i] + FPL_CHUNK_SIZE)
			left = (size_t)(table->chunks[i] + FPL_CHUNK_SIZE - at);
	}
	REQUIRE(left >= sizeof(*rule) && rule->cfa < FPL_CFA_COUNT);
	if (rule->flags & FPL_RULE_EXT) {
		const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

		REQUIRE(left >= sizeof(*rule) + sizeof(*ext));
		nr = ext->count;
		REQUIRE(nr > 0 && nr <= FPL_EXT_MAX);
		REQUIRE(left >= sizeof(*rule) + nr * sizeof(*ext));
		for (size_t i = 0; i < nr; i++)
			REQUIRE(ext[i].dst <= MACHINE_RA && ext[i].kind <= FPL_EXT_EXPR &&
				ext[i].base < FPL_NR_REGS);
	}
}

static bool same_value(const struct caller_value *rule, const struct caller_value *row,
		       bool callee_saved)
{
	if (rule->kind == CALLER_EXPR)
		return true; /* given up by name: too large for the table, or an expression */
	if (rule->kind == CALLER_UNCLAIMED)
		return !callee_saved;
	return rule->kind == row->kind && (rule->kind != CALLER_VALUE || rule->value == row->value);
}

/* The table's answer at @pc must equal @row. */
static void check_answer(const struct table *table, const struct cfi_row *row, uint64_t pc)
{
	static const bool callee_saved[FPL_NR_REGS + 1] = {
		[3] = true,  [6] = true,  [7] = true,  [12] = true,
		[13] = true, [14] = true, [15] = true, [MACHINE_RA] = true,
	};
	const struct fpl_rule *rule = table_find(table, pc);
	struct machine machine;
	struct caller got, want;

	check_bounds(table, rule);
	machine_init(&machine, pc, pc);
	rule_eval(rule, &machine, &got);
	row_eval(row, &machine, &want);
	REQUIRE(got.status != CALLER_NONE);
	if (got.status == CALLER_GIVEN_UP)
		return;
	REQUIRE(want.status == CALLER_FOUND);
	REQUIRE(got.cfa == want.cfa);
	REQUIRE(got.signal == want.signal);
	for (unsigned int i = 0; i <= MACHINE_RA; i++)
		REQUIRE(same_value(&got.reg[i], &want.reg[i], callee_saved[i]));
}

static int judge_row(const struct cfi_row *row, void *ctx)
{
	struct judge *judge = ctx;

	check_row(row, judge);
	if (judge->table != NULL && judge->nr_rows++ < CHECKED_ROWS_MAX) {
		/* behind a gap the row before ends, at the latest after GAP_MAX bytes */
		if (row->start - judge->end > GAP_MAX)
			REQUIRE(table_find(judge->table, row->start - 1)->cfa == FPL_CFA_NONE);
		check_answer(judge->table, row, row->start);
		check_answer(judge->table, row, row->end - 1);
		check_answer(judge->table, row, row->start + (row->end - row->start) / 2);
	}
	judge->end = row->end;
	return 0;
}

static void check_everywhere(const struct table *table)
{
	for (uint64_t pc = TEXT_VADDR - FPL_NR_SPANS; pc < TEXT_VADDR + TEXT_SIZE + FPL_NR_SPANS;
	     pc += 239)
		check_bounds(table, table_find(table, pc));
	check_bounds(table, table_find(table, 0));
	check_bounds(table, table_find(table, UINT64_MAX));
}

static void judge_file(const struct elf_file *elf)
{
	struct table *table = NULL;
	struct judge judge = { 0 };
	struct fpl_err err = { 0 };
	int rc = table_compile(elf, NULL, &limits, &table, &err);
	int rows_rc;

	REQUIRE(rc <= 0 && (rc == 0 || err.msg[0] != '\0'));
	judge.table = rc == 0 ? table : NULL;
	rows_rc = cfi_rows_for_each(elf, NULL, &limits, judge_row, &judge, &err);
	REQUIRE(rc != 0 || rows_rc == 0 || rows_rc == -EFBIG);
	if (table != NULL)
		check_everywhere(table);
	table_destroy(table);
}

static void add_section(struct elf_builder *b, const char *name, const uint8_t *bytes, size_t size)
{
	uint64_t off = elf_builder_append(b, bytes, size);

	elf_builder_section_at(b, name, SHT_PROGBITS, SHF_ALLOC, DATA_VADDR + off, off, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_builder b;
	struct fpl_err err = { 0 };
	struct elf_file *elf = NULL;
	uint16_t split;

	if (size < sizeof(split))
		return 0;
	memcpy(&split, data, sizeof(split));
	data += sizeof(split);
	size -= sizeof(split);
	if (split > size)
		split = (uint16_t)size;
	elf_builder_init(&b, ET_DYN);
	add_section(&b, ".eh_frame", data, split);
	if (split < size)
		add_section(&b, ".debug_frame", data + split, size - split);
	elf_builder_segment(&b, PT_LOAD, PF_R, 0, DATA_VADDR, b.size, b.size);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, TEXT_VADDR,
			    b.size < TEXT_SIZE ? b.size : TEXT_SIZE, TEXT_SIZE);
	elf_builder_finish(&b);
	REQUIRE(elf_file_from_memory(b.bytes, b.size, "fuzz", &elf, &err) == 0);
	judge_file(elf);
	elf_file_close(elf);
	elf_builder_fini(&b);
	return 0;
}
