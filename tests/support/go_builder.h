/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds small Go programs for tests: an ELF file with the code of a few functions in .text and
 * their pclntab, as Go 1.18 (magic 0xfffffff0) and 1.20 (0xfffffff1) write it.
 *
 *	static const struct go_builder_function functions[] = {
 *		{ BYTES("\x55\x48\x89\xe5\x5d\xc3"), { { 1, 0 }, { 4, 8 }, { 1, 0 } } },
 *	};
 *	go_builder_elf(&elf_builder, &(struct go_builder){ .functions = functions, .nr = 1 });
 */
#pragma once

#include "tests/support/elf_builder.h"

#define GO_BUILDER_TEXT	 0x1000u /* CFI_BUILDER_TEXT */
#define GO_BUILDER_TABLE 0x500000u
#define GO_BUILDER_ALIGN 32u

/* For @size bytes of code the stack is @depth deep. */
struct go_builder_depth {
	unsigned size;
	int depth;
};

struct go_builder_function {
	const uint8_t *code; /* [size] */
	size_t size;
	struct go_builder_depth depths[8]; /* up to the first of size 0; none: it has no table */
	uint8_t flags;
	bool packed; /* no padding behind it */
};

struct go_builder {
	const struct go_builder_function *functions; /* [nr], at most 16 */
	size_t nr;
	bool old;	      /* of Go 1.18 */
	uint64_t said_text;   /* in the header; 0: it is not said */
	uint64_t module_text; /* 0: no .go.module */
	const char *section;  /* of the table; NULL: .gopclntab */
	size_t table_off;     /* of the table in that section */
	uint64_t entry;
};

struct go_builder_bytes {
	uint8_t bytes[4096];
	size_t size;
};

static inline void go_builder_put(struct go_builder_bytes *to, const void *bytes, size_t size)
{
	if (size > sizeof(to->bytes) - to->size)
		abort();
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

static inline void go_builder_u32(struct go_builder_bytes *to, uint32_t value)
{
	go_builder_put(to, &value, sizeof(value));
}

static inline void go_builder_u64(struct go_builder_bytes *to, uint64_t value)
{
	go_builder_put(to, &value, sizeof(value));
}

static inline void go_builder_varint(struct go_builder_bytes *to, uint32_t value)
{
	for (; value > 127; value >>= 7)
		go_builder_put(to, &(uint8_t){ (uint8_t)(value | 0x80) }, 1);
	go_builder_put(to, &(uint8_t){ (uint8_t)value }, 1);
}

/* The code of all functions; offsets of each, and of the end, in @at [nr + 1]. */
static inline void go_builder_code(const struct go_builder *go, struct go_builder_bytes *text,
				   uint32_t *at)
{
	for (size_t i = 0; i < go->nr; i++) {
		at[i] = (uint32_t)text->size;
		go_builder_put(text, go->functions[i].code, go->functions[i].size);
		while (!go->functions[i].packed && text->size % GO_BUILDER_ALIGN)
			go_builder_put(text, "\xcc", 1);
	}
	at[go->nr] = (uint32_t)text->size;
}

/* The tables of depths; @at [nr]: their offsets, 0: no table. */
static inline void go_builder_depths(const struct go_builder *go, struct go_builder_bytes *depths,
				     uint32_t *at)
{
	go_builder_put(depths, "", 1);
	for (size_t i = 0; i < go->nr; i++) {
		int before = -1;

		at[i] = go->functions[i].depths[0].size ? (uint32_t)depths->size : 0;
		for (const struct go_builder_depth *d = go->functions[i].depths; d->size; d++) {
			int change = d->depth - before;

			go_builder_varint(depths, (uint32_t)change << 1 ^ (uint32_t)(change >> 31));
			go_builder_varint(depths, d->size);
			before = d->depth;
		}
		if (at[i])
			go_builder_put(depths, "", 1);
	}
}

/* Make the table, into @table, and the code, into @text. */
static inline void go_builder_table(const struct go_builder *go, struct go_builder_bytes *text,
				    struct go_builder_bytes *table)
{
	struct go_builder_bytes depths = { .size = 0 };
	uint32_t code_at[17], depths_at[16];
	uint32_t record_size = go->old ? 40 : 44;
	uint32_t records = (uint32_t)go->nr * 8 + 4;

	go_builder_code(go, text, code_at);
	go_builder_depths(go, &depths, depths_at);
	while (depths.size % 8)
		go_builder_put(&depths, "", 1);
	go_builder_u32(table, go->old ? 0xfffffff0 : 0xfffffff1);
	go_builder_put(table, "\0\0\1\10", 4);
	go_builder_u64(table, go->nr);
	go_builder_u64(table, 0);
	go_builder_u64(table, go->said_text);
	for (int i = 0; i < 3; i++)
		go_builder_u64(table, 72);
	go_builder_u64(table, 72);
	go_builder_u64(table, 72 + depths.size);
	go_builder_put(table, depths.bytes, depths.size);
	for (size_t i = 0; i < go->nr; i++) {
		go_builder_u32(table, code_at[i]);
		go_builder_u32(table, records + (uint32_t)i * record_size);
	}
	go_builder_u32(table, code_at[go->nr]);
	for (size_t i = 0; i < go->nr; i++) {
		uint8_t last[4] = { 0, go->functions[i].flags, 0, 0 };

		go_builder_u32(table, code_at[i]);
		for (int word = 0; word < 3; word++)
			go_builder_u32(table, 0);
		go_builder_u32(table, depths_at[i]);
		for (uint32_t done = 20; done < record_size - 4; done += 4)
			go_builder_u32(table, 0);
		go_builder_put(table, last, sizeof(last));
	}
}

/* Make the program; the caller ends @b with elf_builder_fini(). */
static inline void go_builder_elf(struct elf_builder *b, const struct go_builder *go)
{
	struct go_builder_bytes text = { .size = 0 }, table = { .size = go->table_off };
	uint64_t module[41] = {
		[0] = GO_BUILDER_TABLE, [1] = GO_BUILDER_TABLE + 72, [22] = go->module_text
	};

	go_builder_table(go, &text, &table);
	elf_builder_init(b, ET_EXEC);
	elf_builder_ehdr(b)->e_entry = go->entry;

	uint64_t off = elf_builder_append(b, text.bytes, text.size);

	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, off, GO_BUILDER_TEXT, text.size, text.size);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, GO_BUILDER_TEXT,
			       off, text.size);
	elf_builder_section(b, go->section ? go->section : ".gopclntab", SHT_PROGBITS, SHF_ALLOC,
			    GO_BUILDER_TABLE, table.bytes, table.size);
	elf_builder_section(b, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, 0x600000, "", 1);
	if (go->module_text)
		elf_builder_section(b, ".go.module", SHT_PROGBITS, SHF_ALLOC, 0x700000, module,
				    sizeof(module));
	elf_builder_finish(b);
}
