/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot describes itself: from memory of a JVM that is whole, and that lies. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/jvm_memory.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define HEAP	      (JVM_DATA + 0x100)

struct world {
	struct jvm_memory jvm;
	struct jit_memory *memory;
	struct hotspot hotspot;
	struct code_table table;
	struct fpl_err err;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(jit_memory_create(jvm_read, &w->jvm, &w->memory), 0);
	code_table_init(&w->table, 1 << 20);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	code_table_fini(&w->table);
	jit_memory_destroy(w->memory);
	free(w);
	return 0;
}

static int describe(struct world *w)
{
	jit_memory_destroy(w->memory);
	assert_int_equal(jit_memory_create(jvm_read, &w->jvm, &w->memory), 0);
	return hotspot_describe(w->memory, JVM_BASE, &w->hotspot, &w->err);
}

/* Ask about code in each of the three blobs. */
static void name_all(struct world *w)
{
	const uint64_t asked[] = { hotspot_asked(JVM_HEAP + 0x100, 0),
				   hotspot_asked(JVM_CODE + 0x10, 0),
				   hotspot_asked(JVM_CODE + 0x20, HOTSPOT_ASKED_LEAF),
				   hotspot_asked(JVM_HEAP + 0x1000, 0),
				   hotspot_asked(JVM_HEAP_END, 0) };

	assert_int_equal(hotspot_names(w->memory, &w->hotspot, asked, ARRAY_SIZE(asked), &w->table),
			 0);
}

static const char *name_at(struct world *w, uint64_t addr)
{
	struct code_match match;

	return code_table_find(&w->table, addr, 0, &match) ? match.name : "";
}

static void check_all(struct world *w, bool is_new)
{
	const struct fpl_region *heap = &w->hotspot.heaps[0];

	jvm_make(&w->jvm, is_new);
	assert_int_equal(describe(w), 0);
	assert_string_equal(w->hotspot.version, "17.0.2+8");
	assert_int_equal(w->hotspot.nr_heaps, 1);
	assert_int_equal(heap->start, JVM_HEAP);
	assert_int_equal(heap->end, JVM_HEAP_END);
	assert_int_equal(heap->segmap, JVM_SEGMAP);
	assert_int_equal(heap->call_stub_ra, JVM_STUB_RA);
	assert_int_equal(heap->segment_log2, 7);
	assert_int_equal(heap->complete_bytes, is_new ? 2 : 4);
	assert_int_equal(heap->code_bytes, is_new ? 4 : 8);
	assert_true(hotspot_check(&w->hotspot));
	name_all(w);
	assert_int_equal(code_table_arrange(&w->table), 0);
	assert_int_equal(w->table.nr, 3);
	assert_string_equal(name_at(w, JVM_NMETHOD + 0x80), "java.lang.String.length");
	assert_string_equal(name_at(w, JVM_HEAP + 0x100), "Interpreter");
	assert_string_equal(name_at(w, JVM_HEAP + 0x1000), "StubRoutines (1)");
	assert_string_equal(name_at(w, JVM_NMETHOD + 0x7f), "");
}

static void a_jvm_of_17_is_described_and_its_code_named(void **state)
{
	check_all(*state, false);
}

static void widths_come_from_the_types(void **state)
{
	check_all(*state, true);
}

static void symbols_are_found_by_the_hash_of_11(void **state)
{
	struct world *w = *state;

	jvm_make(&w->jvm, false);
	jvm_hash_as_11(&w->jvm);
	assert_int_equal(describe(w), 0);
	assert_int_equal(w->hotspot.nr_heaps, 1);
	jvm_put(&w->jvm, JVM_HASH + 12 + 4, 1, 4); /* the first symbol leads to itself */
	assert_int_equal(describe(w), -ENOENT);
	jvm_hash_as_11(&w->jvm);
	jvm_put(&w->jvm, JVM_HASH + 8, 1u << 31, 4);
	assert_int_equal(describe(w), -ENOENT);
	jvm_hash_as_11(&w->jvm);
	jvm_put(&w->jvm, JVM_HASH, 1u << 31, 4);
	assert_int_equal(describe(w), -ENOENT);
}

static void what_is_not_as_it_must_be_is_refused(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr, value;
		uint8_t size;
		int code;
		const char *says;
	} cases[] = {
		{ "no ELF file", JVM_BASE, 0, 4, -ENOENT, "describes itself" },
		{ "no dynamic symbols", JVM_DYNAMIC, DT_NULL, 8, -ENOENT, "describes itself" },
		{ "symbols that cannot be read", JVM_DYNAMIC + 8, JVM_END, 8, -ENOENT,
		  "describes itself" },
		{ "no buckets", JVM_HASH, 0, 4, -ENOENT, "describes itself" },
		{ "2^31 buckets", JVM_HASH, 1u << 31, 4, -ENOENT, "describes itself" },
		{ "entries of no size", JVM_NUMBERS + 16, 0, 8, -EFAULT, "cannot be read" },
		{ "entries of 2^31 bytes", JVM_NUMBERS + 16, 1u << 31, 8, -EFAULT,
		  "cannot be read" },
		{ "a name of an entry beyond all", JVM_NUMBERS + 24, UINT64_MAX, 8, -EFAULT,
		  "cannot be read" },
		{ "no entries", JVM_STRUCTS, 0, 8, -EFAULT, "cannot be read" },
		{ "not begun: no heaps", JVM_STATICS, 0, 8, -EAGAIN, "not begun" },
		{ "not begun: no stubs", JVM_STATICS + 8, 0, 8, -EAGAIN, "not begun" },
		{ "not begun: no heap in the list", JVM_DATA + 0x10, 0, 4, -EAGAIN, "not begun" },
		{ "not begun: nothing is reserved", HEAP + 8, 0, 8, -EAGAIN, "not begun" },
		{ "2^31 heaps", JVM_DATA + 0x10, 1u << 31, 4, -ENOTSUP, "more than 4" },
		{ "-1 heaps", JVM_DATA + 0x10, UINT32_MAX, 4, -ENOTSUP, "more than 4" },
		{ "a heap that is nowhere", JVM_DATA + 0x20, 16, 8, -EFAULT, "cannot be read" },
		{ "a heap that ends first", HEAP + 16, JVM_HEAP - 1, 8, -ENOTSUP,
		  "no known layout" },
		{ "a heap of everything", HEAP + 16, UINT64_MAX, 8, -ENOTSUP, "no known layout" },
		{ "segments of one byte", HEAP + 128, 0, 4, -ENOTSUP, "no known layout" },
		{ "segments of 2^31 bytes", HEAP + 128, 31, 4, -ENOTSUP, "no known layout" },
		{ "segments of -1", HEAP + 128, UINT32_MAX, 4, -ENOTSUP, "no known layout" },
		{ "a map too short", HEAP + 72, JVM_SEGMAP + 0x7f, 8, -ENOTSUP, "no known layout" },
		{ "blocks of -1 bytes", JVM_TYPES + 24, UINT64_MAX, 8, -ENOTSUP, "HeapBlock" },
		{ "a name beyond the header", JVM_STRUCTS + 10 * JVM_STRIDE + 32, 121, 8, -ENOTSUP,
		  "no known layout" },
		{ "a type by another name", JVM_STRUCTS + 12 * JVM_STRIDE, JVM_TEXTS, 8, -ENOTSUP,
		  "CodeBlob::_frame_size is missing" },
		{ "a field of another type", JVM_STRUCTS + 12 * JVM_STRIDE + 16, JVM_TEXTS, 8,
		  -ENOTSUP, "CodeBlob::_frame_size is of another type" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, 0);
		jvm_put(&w->jvm, cases[i].addr, cases[i].value, cases[i].size);
		assert_int_equal(describe(w), cases[i].code);
		assert_non_null(strstr(w->err.msg, cases[i].says));
		assert_true(hotspot_check(&w->hotspot) || w->hotspot.nr_heaps == 0);
	}
}

/* Names are read of hostile memory: what leads nowhere has none, and nothing is read for ever. */
static void code_that_lies_has_no_name(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr, value;
		uint8_t size;
		uint32_t nr; /* names that are left */
	} cases[] = {
		{ "a method that is nowhere", JVM_NMETHOD + 112, 1, 8, 2 },
		{ "a method of itself", JVM_NMETHOD + 112, JVM_NMETHOD, 8, 2 },
		{ "a name of no bytes", JVM_DATA + 0x444, 0, 2, 2 },
		{ "a blob larger than its block", JVM_NMETHOD + 12, 0x7fffffff, 4, 2 },
		{ "code before the blob", JVM_NMETHOD + 32, JVM_NMETHOD - 1, 8, 2 },
		{ "a block of no segments", JVM_NMETHOD - 16, 0, 8, 2 },
		{ "a block of -1 segments", JVM_NMETHOD - 16, UINT64_MAX, 8, 2 },
		{ "a block of 2^31 segments", JVM_NMETHOD - 16, 1u << 31, 8, 2 },
		{ "a block that ends before the code", JVM_NMETHOD - 16, 1, 8, 2 },
		{ "no block", JVM_SEGMAP + 17, 0xff, 1, 2 },
		{ "a block before the heap", JVM_SEGMAP + 17, 0xfe, 1, 2 },
		{ "a block in a block", JVM_SEGMAP + 17, 0, 1, 2 },
		{ "a block that is free", JVM_NMETHOD - 8, 0, 1, 2 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, 0);
		assert_int_equal(describe(w), 0);
		jvm_put(&w->jvm, cases[i].addr, cases[i].value, cases[i].size);
		code_table_fini(&w->table);
		code_table_init(&w->table, 1 << 20);
		assert_int_equal(describe(w), 0);
		name_all(w);
		assert_int_equal(w->table.nr, cases[i].nr);
	}
}

/* Names what is at @pc, which is a leaf or not, as "function:line file" of each function, the
 * innermost first; "": nothing is known. */
static const char *inlined_at(struct world *w, uint64_t pc, bool is_leaf, char ret[512])
{
	uint64_t asked =
		hotspot_asked(pc, HOTSPOT_ASKED_LINES | (is_leaf ? HOTSPOT_ASKED_LEAF : 0));
	struct code_match match;
	size_t size = 0;

	ret[0] = '\0';
	code_table_fini(&w->table);
	code_table_init(&w->table, 1 << 20);
	assert_int_equal(describe(w), 0);
	assert_int_equal(hotspot_names(w->memory, &w->hotspot, &asked, 1, &w->table), 0);
	assert_int_equal(code_table_arrange(&w->table), 0);
	assert_true(code_table_check(&w->table));
	if (!code_table_find(&w->table, pc, 0, &match))
		return ret;
	assert_string_equal(match.name, "java.lang.String.length");
	assert_int_equal(match.start, JVM_CODE);
	for (size_t i = 0; i < match.lines.nr; i++) {
		struct symbol_line line = code_lines_at(&match.lines, i);

		size += (size_t)snprintf(ret + size, 512 - size, "%s%s:%u %s", i ? " < " : "",
					 line.name, line.line, line.file ? line.file : "?");
	}
	return ret;
}

#define OUTER "java.lang.String.length:5 java/lang/String.java"
#define INNER "java.lang.String.charAt:57 java/lang/String.java < " OUTER

static void what_is_inlined_at_a_call_is_known(void **state)
{
	static const struct {
		const char *what;
		uint32_t off;
		bool is_leaf;
		const char *known, *with_all; /* without and with DebugNonSafepoints */
	} cases[] = {
		{ "a call of the method itself", 0x1f, false, OUTER, OUTER },
		{ "a call of an inlined method", 0x3f, false, INNER, INNER },
		{ "no place that calls return to", 0x3e, false, "", "" },
		{ "behind all", 0x60, false, "", "" },
		{ "a leaf", 0x1f, true, "", OUTER },
		{ "a leaf between two places", 0x20, true, "", INNER },
		{ "the first leaf", 0, true, "", OUTER },
		{ "a leaf behind all places", 0x40, true, "", "" },
	};
	struct world *w = *state;
	char text[512];

	for (int new = 0; new < 2; new ++) {
		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, new);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			print_message("%s\n", cases[i].what);
			jvm_put(&w->jvm, JVM_FLAGS + 49, 0, 1);
			assert_string_equal(
				inlined_at(w, JVM_CODE + cases[i].off, cases[i].is_leaf, text),
				cases[i].known);
			jvm_put(&w->jvm, JVM_FLAGS + 49, 1, 1);
			assert_string_equal(
				inlined_at(w, JVM_CODE + cases[i].off, cases[i].is_leaf, text),
				cases[i].with_all);
		}
	}
}

/* An agent may have a JVM say all later: what was compiled before has no more than calls. */
static void leaves_are_not_known_where_the_jvm_began_without(void **state)
{
	struct world *w = *state;
	char text[512];

	jvm_make(&w->jvm, 0);
	jvm_put(&w->jvm, JVM_FLAGS + 49, 1, 1);
	jvm_put(&w->jvm, JVM_FLAGS + 24 + 16, 0x100, 4);
	assert_string_equal(inlined_at(w, JVM_CODE + 0x20, true, text), "");
	jvm_put(&w->jvm, JVM_FLAGS + 24 + 16, 0x105, 4);
	assert_string_equal(inlined_at(w, JVM_CODE + 0x20, true, text), INNER);
}

/* The outer method alone is named where what is said of the inlined ones does not hold together. */
static void scopes_that_lie_are_not_shown(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr, value;
		uint8_t size;
		const char *left; /* "": nothing but the name */
	} cases[] = {
		{ "another method outside", JVM_METADATA + 8, JVM_DATA + 0x500, 8, "" },
		{ "a method that is nowhere", JVM_METADATA, 16, 8, "" },
		{ "a method that is a flag", JVM_METADATA, JVM_FLAGS, 8, "" },
		{ "a method beyond the metadata", JVM_SCOPES + 9, 3, 1, "" },
		{ "a method of number 0", JVM_SCOPES + 9, 0, 1, "" },
		{ "a bci behind the code", JVM_INNER + 32, 200, 2, "" },
		{ "a scope in itself", JVM_SCOPES + 8, 8, 1, "" },
		{ "a scope in a later one", JVM_SCOPES + 8, 9, 1, "" },
		{ "a scope behind the stream", JVM_PCS + 36, 48, 4, "" },
		{ "a scope that does not end", JVM_PCS + 36, 47, 4, "" },
		{ "a scope of 2^31", JVM_PCS + 36, 1u << 31, 4, "" },
		{ "no scope", JVM_PCS + 36, 0, 4, "" },
		{ "places that descend", JVM_PCS + 16, 0x7000, 4, "" },
		{ "places that end first", JVM_NMETHOD + 52, 0, 4, "" },
		{ "places that begin at -1", JVM_NMETHOD + 48, UINT32_MAX, 4, "" },
		{ "2^26 places", JVM_NMETHOD + 52, 1u << 30, 4, "" },
		{ "a stream of everything", JVM_NMETHOD + 40, 0, 8, "" },
		{ "a stream that ends first", JVM_NMETHOD + 40, UINT64_MAX, 8, "" },
		{ "metadata that end first", JVM_NMETHOD + 56, INT32_MAX, 4, "" },
		{ "an inlined method without a name", JVM_DATA + 0x4c4, 0, 2, "" },
		{ "no lines", JVM_INNER + 28, 0, 2,
		  "java.lang.String.charAt:0 java/lang/String.java < " OUTER },
		{ "lines that do not end", JVM_INNER + 24, (48 + 210 + 6) / 8, 4,
		  "java.lang.String.charAt:0 java/lang/String.java < " OUTER },
		{ "a file that is nowhere", JVM_DATA + 0x280 + 72 + 56, 16, 8,
		  "java.lang.String.charAt:0 ? < java.lang.String.length:0 ?" },
	};
	struct world *w = *state;
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, 0);
		jvm_put(&w->jvm, cases[i].addr, cases[i].value, cases[i].size);
		assert_string_equal(inlined_at(w, JVM_CODE + 0x3f, false, text), cases[i].left);
		assert_string_equal(name_at(w, JVM_CODE + 0x3f), "java.lang.String.length");
	}
}

/* Without the types that scopes need there are names as before. */
static void a_jvm_without_scopes_has_names(void **state)
{
	static const char *const without[] = { "_scopes_pcs_offset", "_scopes_data_begin",
					       "_metadata_offset", "_code_size" };
	struct world *w = *state;
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
		uint8_t *name;

		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, 0);
		name = memmem(w->jvm.bytes, sizeof(w->jvm.bytes), without[i],
			      strlen(without[i]) + 1);
		assert_non_null(name);
		*name = 'X';
		assert_string_equal(inlined_at(w, JVM_CODE + 0x3f, false, text), "");
		assert_int_equal(w->hotspot.has_scopes, 0);
		assert_string_equal(name_at(w, JVM_CODE + 0x3f), "java.lang.String.length");
	}
}

/* The name of the Method at @addr; "": no method is there. */
static const char *method_at(struct world *w, uint64_t addr)
{
	uint64_t asked = hotspot_asked(addr, HOTSPOT_ASKED_METHOD);

	code_table_fini(&w->table);
	code_table_init(&w->table, 1 << 20);
	assert_int_equal(describe(w), 0);
	assert_int_equal(hotspot_names(w->memory, &w->hotspot, &asked, 1, &w->table), 0);
	assert_int_equal(code_table_arrange(&w->table), 0);
	return name_at(w, addr);
}

static void a_method_is_named_if_its_class_has_it(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr, value;
		uint8_t size;
	} cases[] = {
		{ "another number", JVM_DATA + 0x240 + 36, 0, 2 },
		{ "a number behind the array", JVM_DATA + 0x240 + 36, 2, 2 },
		{ "another method there", JVM_METHODS + 16, JVM_DATA + 0x500, 8 },
		{ "an array that is nowhere", JVM_DATA + 0x400 + 16, 16, 8 },
		{ "no array", JVM_DATA + 0x400 + 16, 0, 8 },
		{ "no class", JVM_DATA + 0x280 + 24, 0, 8 },
		{ "no ConstMethod", JVM_DATA + 0x200 + 8, 0, 8 },
	};
	const uint64_t method = JVM_DATA + 0x200;
	struct world *w = *state;

	for (int new = 0; new < 2; new ++) {
		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, new);
		assert_string_equal(method_at(w, method), "java.lang.String.length");
		assert_int_equal(w->hotspot.heaps[0].has_methods, 1);
		assert_int_equal(w->hotspot.heaps[0].const_method_off, 8);
		assert_int_equal(w->hotspot.heaps[0].const_bytes, 48);
		assert_int_equal(w->hotspot.heaps[0].code_size_off, 32);
		assert_string_equal(method_at(w, method + 8), "");
		assert_string_equal(method_at(w, JVM_CODE), "");
		assert_string_equal(method_at(w, 16), "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(&w->jvm, 0, sizeof(w->jvm));
		jvm_make(&w->jvm, 0);
		jvm_put(&w->jvm, cases[i].addr, cases[i].value, cases[i].size);
		assert_string_equal(method_at(w, method), "");
	}
}

/* Walks do not tell methods then, so frames of the interpreter have their pcs. */
static void a_jvm_without_numbers_of_methods_has_other_names(void **state)
{
	struct world *w = *state;
	uint8_t *name;

	jvm_make(&w->jvm, 0);
	name = memmem(w->jvm.bytes, sizeof(w->jvm.bytes), "_method_idnum", 14);
	assert_non_null(name);
	*name = 'X';
	assert_string_equal(method_at(w, JVM_DATA + 0x200), "");
	assert_int_equal(w->hotspot.heaps[0].has_methods, 0);
	name_all(w);
	assert_int_equal(w->table.nr, 3);
}

static void a_reader_stops_when_it_has_read_enough(void **state)
{
	struct world *w = *state;
	uint8_t byte;

	jvm_make(&w->jvm, 0);
	w->memory->pages_left = 1;
	assert_true(jit_read(w->memory, JVM_BASE, &byte, 1));
	assert_true(jit_read(w->memory, JVM_BASE + 1, &byte, 1));
	assert_false(jit_read(w->memory, JVM_BASE + JIT_PAGE_SIZE, &byte, 1));
	assert_false(jit_read(w->memory, UINT64_MAX, &byte, 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Code of another number, and a Method that refers to something else, came to lie there since. */
static void what_has_another_tag_by_now_has_no_name(void **state)
{
	const uint64_t of_code = FPL_CODE_TAGGED | fpl_frame_tag(0x7205);
	const uint64_t of_method = FPL_CODE_TAGGED | fpl_method_tag(JVM_DATA + 0x240, 5);
	const struct {
		const char *what;
		uint64_t addr, tag;
		unsigned kind;
		const char *name;
	} cases[] = {
		{ "its number", JVM_CODE + 0x1f, of_code, 0, "java.lang.String.length" },
		{ "not known which", JVM_CODE + 0x1f, 0, 0, "java.lang.String.length" },
		{ "another number", JVM_CODE + 0x1f, of_code ^ fpl_frame_tag(1), 0, "" },
		{ "no method any more", JVM_HEAP + 0x1000, of_code, 0, "" },
		{ "its ConstMethod and name", JVM_DATA + 0x200, of_method, HOTSPOT_ASKED_METHOD,
		  "java.lang.String.length" },
		{ "not known of what", JVM_DATA + 0x200, 0, HOTSPOT_ASKED_METHOD,
		  "java.lang.String.length" },
		{ "another ConstMethod", JVM_DATA + 0x200,
		  FPL_CODE_TAGGED | fpl_method_tag(JVM_DATA + 0x248, 5), HOTSPOT_ASKED_METHOD, "" },
		{ "in the low bits", JVM_DATA + 0x200, of_method ^ 2, HOTSPOT_ASKED_METHOD, "" },
		{ "another name", JVM_DATA + 0x200,
		  FPL_CODE_TAGGED | fpl_method_tag(JVM_DATA + 0x240, 6), HOTSPOT_ASKED_METHOD, "" },
	};
	struct world *w = *state;
	struct code_match match;

	jvm_make(&w->jvm, 0);
	jvm_put(&w->jvm, JVM_NMETHOD + 304, 0x7205, 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t addr = cases[i].tag + cases[i].addr;
		uint64_t asked = hotspot_asked(addr, HOTSPOT_ASKED_LINES | cases[i].kind);

		print_message("%s\n", cases[i].what);
		code_table_fini(&w->table);
		code_table_init(&w->table, 1 << 20);
		assert_int_equal(describe(w), 0);
		assert_int_equal(w->hotspot.heaps[0].compile_id_off, 304);
		assert_int_equal(hotspot_names(w->memory, &w->hotspot, &asked, 1, &w->table), 0);
		assert_int_equal(code_table_arrange(&w->table), 0);
		assert_string_equal(name_at(w, addr), cases[i].name);
		/* lines are told of the address that was asked about, too */
		if (!cases[i].kind && *cases[i].name) {
			assert_true(code_table_find(&w->table, addr, 0, &match));
			assert_true(match.lines.nr > 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_jvm_of_17_is_described_and_its_code_named),
		TEST(widths_come_from_the_types),
		TEST(symbols_are_found_by_the_hash_of_11),
		TEST(what_is_not_as_it_must_be_is_refused),
		TEST(code_that_lies_has_no_name),
		TEST(what_is_inlined_at_a_call_is_known),
		TEST(leaves_are_not_known_where_the_jvm_began_without),
		TEST(scopes_that_lie_are_not_shown),
		TEST(a_jvm_without_scopes_has_names),
		TEST(a_method_is_named_if_its_class_has_it),
		TEST(a_jvm_without_numbers_of_methods_has_other_names),
		TEST(what_has_another_tag_by_now_has_no_name),
		TEST(a_reader_stops_when_it_has_read_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
