/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/hotspot_types.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "jit/symbols.h"

#define ENTRIES_MAX 16384u /* of one table; JDK 25 has some 1,300 */
#define STRIDE_MAX  256u

/* The number in the variable @name. */
static bool find_number(const struct jit_symbols *symbols, const char *name, uint64_t *ret)
{
	uint64_t addr;

	return jit_symbol_find(symbols, name, &addr) &&
	       jit_read_uint(symbols->memory, addr, 8, ret);
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

static bool find_numbers(const struct jit_symbols *symbols, const struct variable *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!find_number(symbols, all[i].name, all[i].ret))
			return false;
	return true;
}

static bool find_structs(const struct jit_symbols *symbols, struct layout *ret)
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
static bool find_number_table(const struct jit_symbols *symbols, const char *const names[4],
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
	struct jit_symbols symbols;
	int code = jit_symbols_open(memory, base, &symbols);

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
