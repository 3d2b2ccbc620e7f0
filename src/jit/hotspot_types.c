/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/hotspot_types.h"

#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <string.h>

#include "base/cleanup.h"

#define PHDRS_MAX   64u
#define DYNAMIC_MAX 512u
#define CHAIN_MAX   256u   /* symbols of one bucket */
#define ENTRIES_MAX 16384u /* of one table; JDK 25 has some 1,300 */
#define STRIDE_MAX  256u

/* The tables of dynamic symbols, where they are loaded. */
struct symbols {
	struct jit_memory *memory;
	uint64_t base, symtab, strtab, hash;
	bool is_gnu; /* hash is DT_GNU_HASH, else DT_HASH */
};

/* The loader of glibc has made it an address, other loaders have not. */
static uint64_t place(const struct symbols *symbols, uint64_t value)
{
	return value < symbols->base ? symbols->base + value : value;
}

static int read_dynamic(struct symbols *symbols, uint64_t addr)
{
	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		Elf64_Dyn entry;

		if (!jit_read(symbols->memory, addr + i * sizeof(entry), &entry, sizeof(entry)))
			return -EFAULT;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			symbols->symtab = place(symbols, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			symbols->strtab = place(symbols, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH || (entry.d_tag == DT_HASH && !symbols->hash)) {
			symbols->hash = place(symbols, entry.d_un.d_ptr);
			symbols->is_gnu = entry.d_tag == DT_GNU_HASH;
		}
	}
	return symbols->symtab && symbols->strtab && symbols->hash ? 0 : -ENOENT;
}

static int symbols_open(struct jit_memory *memory, uint64_t base, struct symbols *ret)
{
	Elf64_Ehdr head;
	Elf64_Phdr phdr;

	*ret = (struct symbols){ .memory = memory, .base = base };
	if (!jit_read(memory, base, &head, sizeof(head)))
		return -EFAULT;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(phdr) ||
	    head.e_phnum > PHDRS_MAX)
		return -ENOENT;
	for (size_t i = 0; i < head.e_phnum; i++) {
		if (!jit_read(memory, base + head.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return -EFAULT;
		if (phdr.p_type == PT_DYNAMIC)
			return read_dynamic(ret, base + phdr.p_vaddr);
	}
	return -ENOENT;
}

/* The symbol of number @idx, if it has @name. */
static bool is_symbol(const struct symbols *symbols, uint32_t idx, const char *name, uint64_t *ret)
{
	char text[JIT_TEXT_MAX];
	Elf64_Sym sym;

	if (!jit_read(symbols->memory, symbols->symtab + idx * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF ||
	    !jit_read_text(symbols->memory, symbols->strtab + sym.st_name, text) ||
	    strcmp(text, name) != 0)
		return false;
	*ret = symbols->base + sym.st_value;
	return true;
}

static bool find_in_gnu_hash(const struct symbols *symbols, const char *name, uint64_t *ret)
{
	struct {
		uint32_t nr_buckets, first, nr_words, shift;
	} head;
	uint32_t hash = (uint32_t)elf_gnu_hash(name), idx, word;
	uint64_t buckets, chain;

	if (!jit_read(symbols->memory, symbols->hash, &head, sizeof(head)) || !head.nr_buckets)
		return false;
	buckets = symbols->hash + sizeof(head) + 8ull * head.nr_words;
	chain = buckets + 4ull * head.nr_buckets;
	if (!jit_read(symbols->memory, buckets + 4ull * (hash % head.nr_buckets), &idx, 4) ||
	    idx < head.first)
		return false;
	for (size_t i = 0; i < CHAIN_MAX; i++, idx++) {
		if (!jit_read(symbols->memory, chain + 4ull * (idx - head.first), &word, 4))
			return false;
		if ((word | 1) == (hash | 1) && is_symbol(symbols, idx, name, ret))
			return true;
		if (word & 1)
			return false;
	}
	return false;
}

/* JDK 11 has no other hash. */
static bool find_in_hash(const struct symbols *symbols, const char *name, uint64_t *ret)
{
	struct {
		uint32_t nr_buckets, nr_symbols;
	} head;
	uint64_t buckets = symbols->hash + sizeof(head), chain;
	uint32_t idx;

	if (!jit_read(symbols->memory, symbols->hash, &head, sizeof(head)) || !head.nr_buckets)
		return false;
	chain = buckets + 4ull * head.nr_buckets;
	if (!jit_read(symbols->memory, buckets + 4ull * (elf_hash(name) % head.nr_buckets), &idx,
		      4))
		return false;
	for (size_t i = 0; i < CHAIN_MAX && idx && idx < head.nr_symbols; i++) {
		if (is_symbol(symbols, idx, name, ret))
			return true;
		if (!jit_read(symbols->memory, chain + 4ull * idx, &idx, 4))
			return false;
	}
	return false;
}

static bool find_symbol(const struct symbols *symbols, const char *name, uint64_t *ret)
{
	return symbols->is_gnu ? find_in_gnu_hash(symbols, name, ret)
			       : find_in_hash(symbols, name, ret);
}

/* The number in the variable @name. */
static bool find_number(const struct symbols *symbols, const char *name, uint64_t *ret)
{
	uint64_t addr;

	return find_symbol(symbols, name, &addr) && jit_read_uint(symbols->memory, addr, 8, ret);
}

/* A table: where it begins, bytes of an entry, and where its parts are in one. */
struct layout {
	uint64_t first, stride, type_name, field_name, content, is_static, off, address;
};

/* A table of names with a number each. */
struct number_layout {
	uint64_t first, stride, name, value;
};

struct variable {
	const char *name;
	uint64_t *ret;
};

static bool find_numbers(const struct symbols *symbols, const struct variable *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!find_number(symbols, all[i].name, all[i].ret))
			return false;
	return true;
}

static bool find_structs(const struct symbols *symbols, struct layout *ret)
{
	const struct variable all[] = {
		{ "gHotSpotVMStructs", &ret->first },
		{ "gHotSpotVMStructEntryArrayStride", &ret->stride },
		{ "gHotSpotVMStructEntryTypeNameOffset", &ret->type_name },
		{ "gHotSpotVMStructEntryFieldNameOffset", &ret->field_name },
		{ "gHotSpotVMStructEntryTypeStringOffset", &ret->content },
		{ "gHotSpotVMStructEntryIsStaticOffset", &ret->is_static },
		{ "gHotSpotVMStructEntryOffsetOffset", &ret->off },
		{ "gHotSpotVMStructEntryAddressOffset", &ret->address },
	};

	return find_numbers(symbols, all, ARRAY_SIZE(all));
}

/* @names: of the numbers of a table, in the order of struct number_layout. */
static bool find_number_table(const struct symbols *symbols, const char *const names[4],
			      struct number_layout *ret)
{
	const struct variable all[] = { { names[0], &ret->first },
					{ names[1], &ret->stride },
					{ names[2], &ret->name },
					{ names[3], &ret->value } };

	return find_numbers(symbols, all, ARRAY_SIZE(all));
}

/* The text that the word at @addr points to; false: it points nowhere. */
static bool read_named(struct jit_memory *memory, uint64_t addr, char ret[JIT_TEXT_MAX])
{
	uint64_t text;

	return jit_read_uint(memory, addr, 8, &text) && text && jit_read_text(memory, text, ret);
}

/* Takes what the entry at @addr says of @field, which is its. */
static bool take_field(struct jit_memory *memory, const struct layout *layout, uint64_t addr,
		       struct hotspot_field *field)
{
	char content[JIT_TEXT_MAX] = "";
	uint64_t is_static, off;

	if (!jit_read_uint(memory, addr + layout->is_static, 4, &is_static))
		return false;
	if (!jit_read_uint(memory, addr + (is_static ? layout->address : layout->off), 8, &off))
		return false;
	(void)!read_named(memory, addr + layout->content, content);
	field->is_found = true;
	field->is_static = is_static;
	field->off = off;
	memcpy(field->content, content, sizeof(field->content) - 1);
	field->content[sizeof(field->content) - 1] = '\0';
	return true;
}

static int read_fields(struct jit_memory *memory, const struct layout *layout,
		       struct hotspot_field *fields, size_t nr)
{
	char type[JIT_TEXT_MAX], name[JIT_TEXT_MAX];

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		uint64_t addr = layout->first + i * layout->stride;

		if (!read_named(memory, addr + layout->type_name, type))
			return i ? 0 : -EFAULT;
		for (size_t k = 0; k < nr; k++) {
			if (fields[k].is_found || strcmp(fields[k].type, type) != 0)
				continue;
			if (!read_named(memory, addr + layout->field_name, name))
				return -EFAULT;
			if (!strcmp(fields[k].name, name) &&
			    !take_field(memory, layout, addr, &fields[k]))
				return -EFAULT;
		}
	}
	return -EFAULT; /* it has no end */
}

/* @size: bytes of a number of the table. */
static int read_numbers(struct jit_memory *memory, const struct number_layout *layout, size_t size,
			struct hotspot_number *numbers, size_t nr)
{
	char name[JIT_TEXT_MAX];

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		uint64_t addr = layout->first + i * layout->stride;

		if (!read_named(memory, addr + layout->name, name))
			return i ? 0 : -EFAULT;
		for (size_t k = 0; k < nr; k++) {
			if (numbers[k].is_found || strcmp(numbers[k].name, name) != 0)
				continue;
			numbers[k].is_found = jit_read_uint(memory, addr + layout->value, size,
							    &numbers[k].value);
		}
	}
	return -EFAULT;
}

static bool layout_holds(const struct layout *layout)
{
	return layout->first && layout->stride >= 8 && layout->stride <= STRIDE_MAX &&
	       layout->type_name < STRIDE_MAX && layout->field_name < STRIDE_MAX &&
	       layout->content < STRIDE_MAX && layout->is_static < STRIDE_MAX &&
	       layout->off < STRIDE_MAX && layout->address < STRIDE_MAX;
}

static bool number_layout_holds(const struct number_layout *layout)
{
	return layout->first && layout->stride >= 8 && layout->stride <= STRIDE_MAX &&
	       layout->name < STRIDE_MAX && layout->value < STRIDE_MAX;
}

int hotspot_types_read(struct jit_memory *memory, uint64_t base,
		       const struct hotspot_wanted *wanted)
{
	static const char *const of_types[] = { "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride",
						"gHotSpotVMTypeEntryTypeNameOffset",
						"gHotSpotVMTypeEntrySizeOffset" };
	static const char *const of_constants[] = { "gHotSpotVMIntConstants",
						    "gHotSpotVMIntConstantEntryArrayStride",
						    "gHotSpotVMIntConstantEntryNameOffset",
						    "gHotSpotVMIntConstantEntryValueOffset" };
	struct number_layout types = { 0 }, constants = { 0 };
	struct layout structs = { 0 };
	struct symbols symbols;
	int code = symbols_open(memory, base, &symbols);

	if (code)
		return code;
	if (!find_structs(&symbols, &structs) || !find_number_table(&symbols, of_types, &types))
		return -ENOENT;
	if (!layout_holds(&structs) || !number_layout_holds(&types))
		return -EFAULT;
	code = read_fields(memory, &structs, wanted->fields, wanted->nr_fields);
	if (!code)
		code = read_numbers(memory, &types, 8, wanted->types, wanted->nr_types);
	/* what needs a constant does without */
	if (!code && find_number_table(&symbols, of_constants, &constants) &&
	    number_layout_holds(&constants))
		(void)!read_numbers(memory, &constants, 4, wanted->constants, wanted->nr_constants);
	return code;
}
