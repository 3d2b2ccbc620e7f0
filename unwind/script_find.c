// SPDX-License-Identifier: Apache-2.0
#include "unwind/script_find.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/function_list.h"
#include "unwind/synth/op.h"

#define LOOP	  "_PyEval_EvalFrameDefault"
#define CODE_TYPE "PyCode_Type"
#define VERSION	  "Py_Version"

#define NAMES_MAX   (64u << 20) /* bytes of .dynstr, */
#define SYMBOLS_MAX (64u << 20) /* and of .dynsym */
#define LOOP_MAX    (1u << 20)	/* of the loop's code */

struct names {
	char *text; /* owned [size] */
	size_t size;
};

struct found {
	uint64_t loop, code_type, version; /* vaddrs; 0: not found */
};

static bool is_name(const struct names *names, uint32_t off, const char *name)
{
	size_t size = strlen(name) + 1;

	return off < names->size && size <= names->size - off &&
	       !memcmp(names->text + off, name, size);
}

static void find_symbols(const struct elf_file *elf, const struct elf_section *section,
			 const struct names *names, struct found *ret)
{
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size = 0;

	if (elf_file_section_bytes(elf, section, SYMBOLS_MAX, &bytes, &size, NULL))
		return;
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, bytes + at, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF)
			continue;
		if (is_name(names, symbol.st_name, LOOP))
			ret->loop = symbol.st_value;
		else if (is_name(names, symbol.st_name, CODE_TYPE))
			ret->code_type = symbol.st_value;
		else if (is_name(names, symbol.st_name, VERSION))
			ret->version = symbol.st_value;
	}
}

/* The exported symbols, if the file has those of the interpreter. */
static bool find_exports(const struct elf_file *elf, struct found *ret)
{
	CLEANUP(cleanup_free) void *owner = NULL;
	struct names names = { 0 };

	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type != SHT_DYNSYM || !section->link ||
		    section->link >= elf->nr_sections)
			continue;
		if (elf_file_section_bytes(elf, &elf->sections[section->link], NAMES_MAX,
					   (uint8_t **)&names.text, &names.size, NULL))
			return false;
		owner = names.text;
		/* most files end here */
		if (!memmem(names.text, names.size, LOOP, sizeof(LOOP)))
			return false;
		find_symbols(elf, section, &names, ret);
		return ret->loop && ret->code_type && ret->version;
	}
	return false;
}

static bool read_at(const struct elf_file *elf, uint64_t vaddr, void *buf, size_t size)
{
	const struct elf_segment *load = elf_file_load_at(elf, vaddr, size);

	return load && !elf_file_read(elf, vaddr - load->vaddr + load->off, buf, size, NULL);
}

/* The CFA that most bytes of @range have. */
static void find_body(const struct table *table, const struct vaddr_range *range,
		      struct script_facts *ret)
{
	uint64_t most = 0, start, end;

	for (uint64_t at = range->start; at < range->end; at = end) {
		const struct fpl_rule *rule = table_find_reach(table, at, &start, &end);
		uint64_t bytes = 0;

		if (end <= at)
			end = at + 1;
		if (rule->cfa != FPL_CFA_REG)
			continue;
		/* a row may be told in pieces: count all that are like it from here on */
		for (uint64_t next = at, from, to; next < range->end; next = to) {
			const struct fpl_rule *other = table_find_reach(table, next, &from, &to);

			if (to <= next)
				to = next + 1;
			if (other->cfa != rule->cfa || other->cfa_off != rule->cfa_off ||
			    (other->regs & 15u) != (rule->regs & 15u))
				break;
			bytes += to - next;
			end = to;
		}
		if (bytes > most) {
			most = bytes;
			ret->cfa_off = rule->cfa_off;
			ret->cfa_reg = rule->regs & 15u;
		}
	}
}

static bool is_body(const struct table *table, const struct script_facts *facts, uint64_t vaddr)
{
	const struct fpl_rule *rule = table_find(table, vaddr);

	return rule->cfa == FPL_CFA_REG && rule->cfa_off == facts->cfa_off &&
	       (rule->regs & 15u) == facts->cfa_reg;
}

static void add_range(struct script_facts *facts, const struct vaddr_range *range)
{
	for (size_t i = 0; i < facts->nr_ranges; i++) {
		if (facts->ranges[i].start == range->start)
			return;
	}
	if (facts->nr_ranges < SCRIPT_FACTS_RANGES_MAX)
		facts->ranges[facts->nr_ranges++] = *range;
}

/* Add the functions that code in @range jumps into where the frame is that of the body: compilers
 * put what is rarely executed into functions of their own. */
static void follow_jumps(const struct elf_file *elf, const struct table *table,
			 const struct function_list *functions, struct vaddr_range range,
			 struct script_facts *facts)
{
	size_t size = range.end - range.start;
	AUTO_FREE uint8_t *code = size <= LOOP_MAX ? malloc(size) : NULL;
	struct synth_decoder *decoder = synth_decoder_create();

	for (size_t at = 0; code && decoder && at < size;) {
		struct vaddr_range other;
		struct synth_op op;

		if (!at && !read_at(elf, range.start, code, size))
			break;
		synth_decode_lead(decoder, code + at, size - at, range.start + at, &op);
		at += op.size ? op.size : 1u;
		if (op.kind != OP_JUMP && op.kind != OP_BRANCH)
			continue;
		if ((uint64_t)op.imm - range.start >= size &&
		    is_body(table, facts, (uint64_t)op.imm) &&
		    function_list_find(functions, (uint64_t)op.imm, &other))
			add_range(facts, &other);
	}
	synth_decoder_destroy(decoder);
}

void script_facts_find(const struct elf_file *elf, const struct elf_file *debug,
		       const struct table *table, struct script_facts *ret)
{
	CLEANUP(function_list_fini) struct function_list functions = { .nr = 0 };
	struct found found = { 0 };
	struct vaddr_range range;

	*ret = (struct script_facts){ 0 };
	if (!find_exports(elf, &found))
		return;
	(void)!function_list_read(elf, debug, &functions, NULL);
	if (!function_list_find(&functions, found.loop, &range) ||
	    !read_at(elf, found.version, &ret->version, sizeof(ret->version)))
		return;
	ret->code_type = found.code_type;
	find_body(table, &range, ret);
	add_range(ret, &range);
	for (size_t i = 0; i < ret->nr_ranges; i++)
		follow_jumps(elf, table, &functions, ret->ranges[i], ret);
}
