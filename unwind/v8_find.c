// SPDX-License-Identifier: Apache-2.0
#include "unwind/v8_find.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define NAMES_MAX   (128u << 20) /* bytes of a table of names, */
#define SYMBOLS_MAX (64u << 20)	 /* and of symbols */

#define PREFIX	  "v8dbg_"
#define TYPES	  PREFIX "type_"
#define FUNCTION  "JSFunction__JS_FUNCTION_TYPE"
#define TYPES_MAX 64 /* of functions */

#define POINTER_BYTES 8

/* The numbers of interest: the beginning of each name, since what follows is the C++ type of a
 * field, which changes from version to version. */
enum number {
	FP_FUNCTION,
	FP_CONTEXT,
	SMI_SHIFT,
	HEAP_TAG,
	MAP_TYPE,
	FIRST_NO_TEXT,
	FUNCTION_TYPE,
	FIRST_FUNCTION,
	LAST_FUNCTION,
	SHARED_TYPE,
	SCOPE_TYPE,
	SCRIPT_TYPE,
	FUNCTION_SHARED,
	SHARED_NAME,
	SHARED_SCRIPT,
	SHARED_SCRIPT_OLD,
	SCRIPT_NAME,
	SCRIPT_SOURCE,
	SCOPE_NR_LOCALS,
	SCOPE_LOCALS,
	STRING_LENGTH,
	CHARS_ONE,
	CHARS_TWO,
	PAIR_FIRST,
	PAIR_SECOND,
	THIN_ACTUAL,
	PART_PARENT,
	PART_OFFSET,
	SHAPE_MASK,
	WIDTH_MASK,
	ONE_BYTE,
	IS_FLAT,
	IS_PAIR,
	IS_PART,
	IS_THIN,
	NR_NUMBERS,
};

static const char *const names[NR_NUMBERS] = {
	[FP_FUNCTION] = "off_fp_function",
	[FP_CONTEXT] = "off_fp_context",
	[SMI_SHIFT] = "SmiValueShift",
	[HEAP_TAG] = "HeapObjectTag",
	[MAP_TYPE] = "class_Map__instance_type__",
	[FIRST_NO_TEXT] = "FirstNonstringType",
	[FUNCTION_TYPE] = ("type_" FUNCTION),
	[FIRST_FUNCTION] = "FirstJSFunctionType",
	[LAST_FUNCTION] = "LastJSFunctionType",
	[SHARED_TYPE] = "type_SharedFunctionInfo__",
	[SCOPE_TYPE] = "type_ScopeInfo__",
	[SCRIPT_TYPE] = "type_Script__",
	[FUNCTION_SHARED] = "class_JSFunction__shared__",
	[SHARED_NAME] = "class_SharedFunctionInfo__name_or_scope_info__",
	[SHARED_SCRIPT] = "class_SharedFunctionInfo__script__",
	[SHARED_SCRIPT_OLD] = "class_SharedFunctionInfo__script_or_debug_info__",
	[SCRIPT_NAME] = "class_Script__name__",
	[SCRIPT_SOURCE] = "class_Script__source__",
	[SCOPE_NR_LOCALS] = "scopeinfo_idx_ncontextlocals",
	[SCOPE_LOCALS] = "scopeinfo_idx_first_vars",
	[STRING_LENGTH] = "class_String__length__",
	[CHARS_ONE] = "class_SeqOneByteString__chars__",
	[CHARS_TWO] = "class_SeqTwoByteString__chars__",
	[PAIR_FIRST] = "class_ConsString__first__",
	[PAIR_SECOND] = "class_ConsString__second__",
	[THIN_ACTUAL] = "class_ThinString__actual__",
	[PART_PARENT] = "class_SlicedString__parent__",
	[PART_OFFSET] = "class_SlicedString__offset__",
	[SHAPE_MASK] = "StringRepresentationMask",
	[WIDTH_MASK] = "StringEncodingMask",
	[ONE_BYTE] = "OneByteStringTag",
	[IS_FLAT] = "SeqStringTag",
	[IS_PAIR] = "ConsStringTag",
	[IS_PART] = "SlicedStringTag",
	[IS_THIN] = "ThinStringTag",
};

struct numbers {
	int32_t at[NR_NUMBERS];
	bool is_there[NR_NUMBERS];
	int32_t next_type; /* the lowest that has a name and is above that of functions; 0: none */
};

/* Symbols of a table, and their names. */
struct symbols {
	uint8_t *bytes; /* owned [size] */
	char *names;	/* owned [names_size], ends with a NUL */
	size_t size, names_size;
};

static void symbols_fini(struct symbols *symbols)
{
	free(symbols->bytes);
	free(symbols->names);
}

static bool symbols_read(const struct elf_file *elf, uint32_t type, struct symbols *ret)
{
	*ret = (struct symbols){ 0 };
	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type != type || !section->link || section->link >= elf->nr_sections)
			continue;
		return !elf_file_section_bytes(elf, section, SYMBOLS_MAX, &ret->bytes, &ret->size,
					       NULL) &&
		       !elf_file_section_bytes(elf, &elf->sections[section->link], NAMES_MAX,
					       (uint8_t **)&ret->names, &ret->names_size, NULL) &&
		       ret->names_size && !ret->names[ret->names_size - 1];
	}
	return false;
}

/* The symbol at @at bytes, and its name; NULL: it has none here. */
static const char *symbol_at(const struct symbols *symbols, size_t at, Elf64_Sym *ret)
{
	memcpy(ret, symbols->bytes + at, sizeof(*ret));
	return ret->st_shndx != SHN_UNDEF && ret->st_name < symbols->names_size
		       ? symbols->names + ret->st_name
		       : NULL;
}

/* The number at @vaddr. Memory that the file has no bytes for begins as 0. */
static bool read_number(const struct elf_file *elf, uint64_t vaddr, int32_t *ret)
{
	const struct elf_segment *load = elf_file_load_at(elf, vaddr, sizeof(*ret));

	if (load)
		return !elf_file_read(elf, vaddr - load->vaddr + load->off, ret, sizeof(*ret),
				      NULL);
	*ret = 0;
	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type == SHT_NOBITS && vaddr - section->vaddr < section->size)
			return true;
	}
	return false;
}

/* Is @name the one that begins with @wanted? One that is whole has no beginning. */
static bool is_named(const char *name, const char *wanted)
{
	size_t size = strlen(wanted);

	return wanted[size - 1] == '_' ? !strncmp(name, wanted, size) : !strcmp(name, wanted);
}

static void take_number(const char *name, int32_t value, struct numbers *ret)
{
	for (size_t i = 0; i < NR_NUMBERS; i++) {
		if (!is_named(name, names[i]))
			continue;
		ret->at[i] = value;
		ret->is_there[i] = true;
	}
}

/* Types of functions follow each other: they end where the next type with a name is. */
static void find_next_type(const struct elf_file *elf, const struct symbols *symbols,
			   struct numbers *ret)
{
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		const char *name = symbol_at(symbols, at, &symbol);
		int32_t value;

		if (!name || strncmp(name, TYPES, strlen(TYPES)) != 0 ||
		    !read_number(elf, symbol.st_value, &value))
			continue;
		if (value > ret->at[FUNCTION_TYPE] && (!ret->next_type || value < ret->next_type))
			ret->next_type = value;
	}
}

static bool find_numbers(const struct elf_file *elf, struct numbers *ret)
{
	CLEANUP(symbols_fini) struct symbols symbols;

	*ret = (struct numbers){ 0 };
	if (!symbols_read(elf, SHT_DYNSYM, &symbols))
		return false;
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		const char *name = symbol_at(&symbols, at, &symbol);
		int32_t value;

		if (name && !strncmp(name, PREFIX, strlen(PREFIX)) &&
		    read_number(elf, symbol.st_value, &value))
			take_number(name + strlen(PREFIX), value, ret);
	}
	find_next_type(elf, &symbols, ret);
	if (!ret->is_there[FIRST_FUNCTION]) {
		ret->at[FIRST_FUNCTION] = ret->at[FUNCTION_TYPE];
		ret->is_there[FIRST_FUNCTION] = ret->is_there[FUNCTION_TYPE];
	}
	if (!ret->is_there[LAST_FUNCTION]) {
		ret->at[LAST_FUNCTION] = ret->next_type - 1;
		ret->is_there[LAST_FUNCTION] = ret->next_type != 0;
	}
	if (!ret->is_there[SHARED_SCRIPT]) {
		ret->at[SHARED_SCRIPT] = ret->at[SHARED_SCRIPT_OLD];
		ret->is_there[SHARED_SCRIPT] = ret->is_there[SHARED_SCRIPT_OLD];
	}
	return true;
}

/* Do all numbers hold that walks rely on? Pointers must be whole words: with compressed ones, as in
 * Chromium, the parts of a pair are half a word apart. */
static bool numbers_hold(const struct numbers *numbers)
{
	const int32_t *at = numbers->at;

	for (size_t i = 0; i < NR_NUMBERS; i++) {
		if (!numbers->is_there[i] && i != FUNCTION_TYPE && i != SHARED_SCRIPT_OLD)
			return false;
	}
	for (size_t i = FUNCTION_SHARED; i < NR_NUMBERS; i++) {
		if (i != SHARED_SCRIPT_OLD && (at[i] < 0 || at[i] > UINT8_MAX))
			return false;
	}
	for (size_t i = FIRST_NO_TEXT; i <= SCRIPT_TYPE; i++) {
		if (at[i] < 0 || at[i] > UINT16_MAX)
			return false;
	}
	return at[PAIR_SECOND] - at[PAIR_FIRST] == POINTER_BYTES && at[SMI_SHIFT] == 1 &&
	       at[HEAP_TAG] == 1 && at[CHARS_ONE] == at[CHARS_TWO] &&
	       at[ONE_BYTE] == at[WIDTH_MASK] && at[MAP_TYPE] > 0 && at[MAP_TYPE] <= UINT8_MAX &&
	       !(at[MAP_TYPE] & 1) && at[FP_FUNCTION] < 0 && at[FP_FUNCTION] >= -128 &&
	       !(at[FP_FUNCTION] & 7) && at[FP_CONTEXT] < 0 && at[FP_CONTEXT] >= -128 &&
	       !(at[FP_CONTEXT] & 7) && !(at[FUNCTION_SHARED] & 7) &&
	       at[LAST_FUNCTION] >= at[FIRST_FUNCTION] &&
	       at[LAST_FUNCTION] - at[FIRST_FUNCTION] < TYPES_MAX && at[SCOPE_LOCALS] < 16 &&
	       at[SCOPE_NR_LOCALS] < 16;
}

/* A ScopeInfo is its map, then words: the first of them is number 0. */
static uint8_t scope_off(int32_t idx)
{
	return (uint8_t)(POINTER_BYTES * (1 + idx));
}

static struct v8_facts facts_of(const struct numbers *numbers)
{
	const int32_t *at = numbers->at;

	return (struct v8_facts){
		.function_off = (int16_t)at[FP_FUNCTION],
		.context_off = (int16_t)at[FP_CONTEXT],
		.shared_off = (uint16_t)at[FUNCTION_SHARED],
		.first_function = (uint16_t)at[FIRST_FUNCTION],
		.last_function = (uint16_t)at[LAST_FUNCTION],
		.objects = {
			.type_off = (uint16_t)at[MAP_TYPE],
			.first_no_text = (uint16_t)at[FIRST_NO_TEXT],
			.function_type = (uint16_t)at[SHARED_TYPE],
			.scope_type = (uint16_t)at[SCOPE_TYPE],
			.script_type = (uint16_t)at[SCRIPT_TYPE],
			.name_off = (uint8_t)at[SHARED_NAME],
			.script_off = (uint8_t)at[SHARED_SCRIPT],
			.script_name_off = (uint8_t)at[SCRIPT_NAME],
			.source_off = (uint8_t)at[SCRIPT_SOURCE],
			.nr_locals_off = scope_off(at[SCOPE_NR_LOCALS]),
			.locals_off = scope_off(at[SCOPE_LOCALS]),
			/* the place is two words, before the locals since V8 13 */
			.place_off = at[SCOPE_LOCALS] - at[SCOPE_NR_LOCALS] == 3
					     ? scope_off(at[SCOPE_NR_LOCALS] + 1)
					     : 0,
			.length_off = (uint8_t)at[STRING_LENGTH],
			.chars_off = (uint8_t)at[CHARS_ONE],
			.first_off = (uint8_t)at[PAIR_FIRST],
			.actual_off = (uint8_t)at[THIN_ACTUAL],
			.parent_off = (uint8_t)at[PART_PARENT],
			.offset_off = (uint8_t)at[PART_OFFSET],
			.shape_mask = (uint8_t)at[SHAPE_MASK],
			.one_byte_mask = (uint8_t)at[WIDTH_MASK],
			.is_flat = (uint8_t)at[IS_FLAT],
			.is_pair = (uint8_t)at[IS_PAIR],
			.is_part = (uint8_t)at[IS_PART],
			.is_thin = (uint8_t)at[IS_THIN],
		},
	};
}

/* Code that interpreted functions run in, a frame for each. */
static void find_code(const struct elf_file *elf, struct script_facts *ret)
{
	static const char *const wanted[] = { "Builtins_InterpreterEntryTrampoline",
					      "Builtins_InterpreterEntryTrampolineForProfiling" };
	CLEANUP(symbols_fini) struct symbols symbols;

	if (!symbols_read(elf, SHT_SYMTAB, &symbols))
		return;
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		const char *name = symbol_at(&symbols, at, &symbol);

		for (size_t i = 0; name && i < ARRAY_SIZE(wanted); i++) {
			if (!strcmp(name, wanted[i]) && symbol.st_size &&
			    symbol.st_value + symbol.st_size > symbol.st_value &&
			    ret->nr_ranges < SCRIPT_FACTS_RANGES_MAX)
				ret->ranges[ret->nr_ranges++] =
					(struct vaddr_range){ symbol.st_value,
							      symbol.st_value + symbol.st_size };
		}
	}
}

bool v8_find(const struct elf_file *elf, const struct elf_file *debug, struct script_facts *ret)
{
	struct numbers numbers;

	if (!find_numbers(elf, &numbers) || !numbers_hold(&numbers))
		return false;
	ret->v8 = facts_of(&numbers);
	ret->version = 1;
	find_code(elf, ret);
	if (!ret->nr_ranges && debug)
		find_code(debug, ret);
	return true;
}
