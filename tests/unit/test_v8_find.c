/* SPDX-License-Identifier: Apache-2.0 */
/* V8 is described by the numbers of its file, and not at all where one is missing or lies. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/elf_builder_open.h"
#include "tests/support/elf_symbols.h"
#include "unwind/v8_find.h"

#define DATA	   0x9000u /* at 0xc00 of the file */
#define DATA_BYTES 0x400u
#define TRAMPOLINE "Builtins_InterpreterEntryTrampoline"

struct number {
	const char *name;
	int32_t value;
};

/* As node 20 has them. */
static const struct number whole[] = {
	{ "v8dbg_off_fp_function", -16 },
	{ "v8dbg_off_fp_context", -8 },
	{ "v8dbg_SmiValueShift", 1 },
	{ "v8dbg_HeapObjectTag", 1 },
	{ "v8dbg_class_Map__instance_type__uint16_t", 12 },
	{ "v8dbg_FirstNonstringType", 128 },
	{ "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", 2066 },
	{ "v8dbg_FirstJSFunctionType", 2066 },
	{ "v8dbg_LastJSFunctionType", 2081 },
	{ "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 270 },
	{ "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", 263 },
	{ "v8dbg_type_Script__SCRIPT_TYPE", 171 },
	{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24 },
	{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16 },
	{ "v8dbg_class_SharedFunctionInfo__script__Object", 32 },
	{ "v8dbg_class_Script__name__Object", 16 },
	{ "v8dbg_class_Script__source__Object", 8 },
	{ "v8dbg_scopeinfo_idx_ncontextlocals", 2 },
	{ "v8dbg_scopeinfo_idx_first_vars", 3 },
	{ "v8dbg_class_String__length__int32_t", 12 },
	{ "v8dbg_class_SeqOneByteString__chars__char", 16 },
	{ "v8dbg_class_SeqTwoByteString__chars__char", 16 },
	{ "v8dbg_class_ConsString__first__String", 16 },
	{ "v8dbg_class_ConsString__second__String", 24 },
	{ "v8dbg_class_ThinString__actual__String", 16 },
	{ "v8dbg_class_SlicedString__parent__String", 16 },
	{ "v8dbg_class_SlicedString__offset__SMI", 24 },
	{ "v8dbg_StringRepresentationMask", 7 },
	{ "v8dbg_StringEncodingMask", 8 },
	{ "v8dbg_OneByteStringTag", 8 },
	{ "v8dbg_SeqStringTag", 0 },
	{ "v8dbg_ConsStringTag", 1 },
	{ "v8dbg_SlicedStringTag", 3 },
	{ "v8dbg_ThinStringTag", 5 },
};

/* A file with those numbers, but @other in place of the one of its name; a name without a number,
 * NULL, leaves that one out. */
static bool find(const struct number *other, bool leaves_out, struct script_facts *ret)
{
	CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;
	struct elf_builder b;
	struct elf_symbols syms;
	int32_t data[DATA_BYTES / 4] = { 0 };

	elf_builder_init(&b, ET_DYN);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_W, 0xc00, DATA, DATA_BYTES, DATA_BYTES);
	elf_symbols_init(&syms);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		bool is_other = other && !strcmp(other->name, whole[i].name);

		if (is_other && leaves_out)
			continue;
		data[i] = is_other ? other->value : whole[i].value;
		elf_symbols_add(&syms, whole[i].name, STT_OBJECT, STB_GLOBAL, DATA + 4 * i, 4);
	}
	elf_builder_put(&b, 0xc00, data, sizeof(data));
	elf_builder_section_at(&b, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, 0xc00,
			       DATA_BYTES);
	elf_symbols_put(&syms, &b, SHT_DYNSYM);
	elf_symbols_init(&syms);
	elf_symbols_add(&syms, TRAMPOLINE, STT_FUNC, STB_LOCAL, 0x5000, 0x200);
	elf_symbols_put(&syms, &b, SHT_SYMTAB);
	elf = elf_builder_open(&b);
	*ret = (struct script_facts){ 0 };
	return v8_find(elf, NULL, ret);
}

static void numbers_of_node_describe_its_heap(void **state)
{
	struct script_facts facts;

	(void)state;
	assert_true(find(NULL, false, &facts));
	assert_int_equal(facts.version, 1);
	assert_int_equal(facts.v8.function_off, -16);
	assert_int_equal(facts.v8.context_off, -8);
	assert_int_equal(facts.v8.shared_off, 24);
	assert_int_equal(facts.v8.first_function, 2066);
	assert_int_equal(facts.v8.last_function, 2081);
	assert_int_equal(facts.v8.objects.type_off, 12);
	assert_int_equal(facts.v8.objects.nr_locals_off, 24);
	assert_int_equal(facts.v8.objects.locals_off, 32);
	assert_int_equal(facts.v8.objects.place_off, 0);
	assert_int_equal(facts.nr_ranges, 1);
	assert_int_equal(facts.ranges[0].start, 0x5000);
	assert_int_equal(facts.ranges[0].end, 0x5200);
}

/* Types of functions follow each other; without their last one they end before the next type. */
static void types_of_functions_end_at_the_next_type(void **state)
{
	struct number last = { "v8dbg_LastJSFunctionType", 0 };
	struct script_facts facts;

	(void)state;
	assert_false(find(&last, true, &facts));
	assert_false(
		find(&(struct number){ "v8dbg_LastJSFunctionType", 2066 + 64 }, false, &facts));
	assert_false(find(&(struct number){ "v8dbg_LastJSFunctionType", 2065 }, false, &facts));
}

static void no_number_may_be_missing(void **state)
{
	static const char *const spare[] = { "v8dbg_type_JSFunction__JS_FUNCTION_TYPE",
					     "v8dbg_FirstJSFunctionType" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		struct script_facts facts;
		bool is_spare =
			!strcmp(whole[i].name, spare[0]) || !strcmp(whole[i].name, spare[1]);

		if (find(&whole[i], true, &facts) != is_spare)
			fail_msg("without %s", whole[i].name);
		assert_int_equal(facts.version, is_spare);
	}
}

static void numbers_that_lie_are_refused(void **state)
{
	static const struct number lies[] = {
		/* pointers are half a word: Chromium */
		{ "v8dbg_class_ConsString__second__String", 20 },
		{ "v8dbg_SmiValueShift", 0 },
		{ "v8dbg_HeapObjectTag", 3 },
		{ "v8dbg_class_SeqTwoByteString__chars__char", 12 },
		{ "v8dbg_OneByteStringTag", 0 },
		{ "v8dbg_class_Map__instance_type__uint16_t", 13 },
		{ "v8dbg_class_Map__instance_type__uint16_t", 0 },
		{ "v8dbg_class_Map__instance_type__uint16_t", 0x7fffffff },
		{ "v8dbg_off_fp_function", 16 },
		{ "v8dbg_off_fp_function", -136 },
		{ "v8dbg_off_fp_function", -12 },
		{ "v8dbg_off_fp_context", 0 },
		{ "v8dbg_off_fp_context", -0x7fffffff - 1 },
		{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 256 },
		{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 20 },
		{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", -8 },
		{ "v8dbg_FirstNonstringType", 65536 },
		{ "v8dbg_type_Script__SCRIPT_TYPE", -1 },
		{ "v8dbg_scopeinfo_idx_first_vars", 16 },
		{ "v8dbg_scopeinfo_idx_ncontextlocals", 255 },
		{ "v8dbg_ThinStringTag", 256 },
	};
	struct script_facts facts;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		if (find(&lies[i], false, &facts))
			fail_msg("%s %d", lies[i].name, lies[i].value);
		assert_int_equal(facts.version, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_node_describe_its_heap),
		cmocka_unit_test(types_of_functions_end_at_the_next_type),
		cmocka_unit_test(no_number_may_be_missing),
		cmocka_unit_test(numbers_that_lie_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
