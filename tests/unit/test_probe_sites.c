/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/probe_sites.h"
#include "tests/support/elf_builder_open.h"
#include "tests/support/elf_symbols.h"

#define CODE 0x1000u /* at 0x400 of the file, 0x800 bytes */
#define DATA 0x9000u /* at 0xc00, 0x100 bytes */

static void start_object(struct elf_builder *b)
{
	elf_builder_init(b, ET_DYN);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, 0x400, CODE, 0x800, 0x8000);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_W, 0xc00, DATA, 0x100, 0x1000);
	elf_builder_put(b, 0xd00, NULL, 0);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE, 0x400,
			       0x800);
}

struct note {
	uint64_t vaddr, base, counter;
	const char *texts; /* with the NULs between them */
	size_t texts_size;
	const char *owner;
	uint32_t type;
};

/* Write @note to @to; returns its bytes. */
static size_t put_note(uint8_t *to, const struct note *note)
{
	size_t owner_size = strlen(note->owner) + 1, desc = 12 + ((owner_size + 3) & ~3ul);
	const uint32_t head[] = { (uint32_t)owner_size, (uint32_t)(24 + note->texts_size),
				  note->type };
	const uint64_t addresses[] = { note->vaddr, note->base, note->counter };

	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), note->owner, owner_size);
	memcpy(to + desc, addresses, sizeof(addresses));
	memcpy(to + desc + sizeof(addresses), note->texts, note->texts_size);
	return (desc + sizeof(addresses) + note->texts_size + 3) & ~3ul;
}

#define TEXTS(text) text, sizeof(text)
#define PROBE	    "stapsdt", 3

static const struct {
	const char *what;
	struct note note;
	uint64_t off, ref_ctr_off; /* off 0: it is left out */
} notes[] = {
	{ "a probe", { 0x1010, 0, 0, TEXTS("libc\0setjmp\0008@%rdi -4@%esi"), PROBE }, 0x410, 0 },
	{ "one with a counter", { 0x1010, 0, 0x9008, TEXTS("p\0n\0"), PROBE }, 0x410, 0xc08 },
	{ "one that prelink has moved", { 0x810, 0x1100, 0, TEXTS("p\0n\0"), PROBE }, 0x510, 0 },
	{ "one with the arguments of another language",
	  { 0x1010, 0, 0, TEXTS("p\0n\0what?"), PROBE },
	  0x410,
	  0 },
	{ "another owner", { 0x1010, 0, 0, TEXTS("p\0n\0"), "stapsdu", 3 }, 0, 0 },
	{ "a longer owner", { 0x1010, 0, 0, TEXTS("p\0n\0"), "stapsdt2", 3 }, 0, 0 },
	{ "another type", { 0x1010, 0, 0, TEXTS("p\0n\0"), "stapsdt", 2 }, 0, 0 },
	{ "code that is nowhere", { 0x100, 0, 0, TEXTS("p\0n\0"), PROBE }, 0, 0 },
	{ "code behind the file's", { 0x1800, 0, 0, TEXTS("p\0n\0"), PROBE }, 0, 0 },
	{ "data as code", { 0x9000, 0, 0, TEXTS("p\0n\0"), PROBE }, 0, 0 },
	{ "a counter in the code", { 0x1010, 0, 0x1020, TEXTS("p\0n\0"), PROBE }, 0, 0 },
	{ "a counter at the end of the data", { 0x1010, 0, 0x90ff, TEXTS("p\0n\0"), PROBE }, 0, 0 },
	{ "no name", { 0x1010, 0, 0, TEXTS("p\0\0"), PROBE }, 0, 0 },
	{ "no provider", { 0x1010, 0, 0, TEXTS("\0n\0"), PROBE }, 0, 0 },
	{ "two texts", { 0x1010, 0, 0, "p\0n\0", 4, PROBE }, 0, 0 },
	{ "texts without an end", { 0x1010, 0, 0, "p\0n\0args", 8, PROBE }, 0, 0 },
	{ "no texts", { 0x1010, 0, 0, "", 0, PROBE }, 0, 0 },
};

static struct elf_file *with_notes(const uint8_t *bytes, size_t size)
{
	struct elf_builder b;

	start_object(&b);
	elf_builder_section_at(&b, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, 0x1a00, 0x400, 1);
	elf_builder_section(&b, ".note.stapsdt", SHT_NOTE, 0, 0, bytes, size);
	return elf_builder_open(&b);
}

static void notes_say_where_probes_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
		uint8_t bytes[256] = { 0 };
		struct elf_file *elf = with_notes(bytes, put_note(bytes, &notes[i].note));

		print_message("%s\n", notes[i].what);
		assert_int_equal(probe_sites_read_notes(elf, &sites, NULL), 0);
		elf_file_close(elf);
		assert_true(probe_sites_check(&sites));
		assert_int_equal(sites.nr, notes[i].off != 0);
		if (!sites.nr)
			continue;
		assert_int_equal(sites.list[0].off, notes[i].off);
		assert_int_equal(sites.list[0].ref_ctr_off, notes[i].ref_ctr_off);
		assert_string_equal(sites.text + sites.list[0].provider, notes[i].note.texts);
	}
}

static void texts_are_provider_name_and_arguments(void **state)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	uint8_t bytes[512] = { 0 };
	size_t size = put_note(bytes, &notes[0].note);
	struct elf_file *elf;

	(void)state;
	size += put_note(bytes + size, &notes[4].note);
	size += put_note(bytes + size, &notes[1].note);
	elf = with_notes(bytes, size);
	assert_int_equal(probe_sites_read_notes(elf, &sites, NULL), 0);
	elf_file_close(elf);
	assert_int_equal(sites.nr, 2);
	assert_string_equal(sites.text + sites.list[0].name, "setjmp");
	assert_string_equal(sites.text + sites.list[0].args, "8@%rdi -4@%esi");
	assert_string_equal(sites.text + sites.list[1].name, "n");
	assert_string_equal(sites.text + sites.list[1].args, "");
}

static void notes_that_end_early_are_read_as_far_as_they_go(void **state)
{
	uint8_t bytes[256] = { 0 };
	size_t size = put_note(bytes, &notes[0].note);

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
		struct elf_file *elf = with_notes(bytes, cut);

		assert_int_equal(probe_sites_read_notes(elf, &sites, NULL), 0);
		assert_int_equal(sites.nr, 0);
		elf_file_close(elf);
	}
}

static void a_file_has_no_more_probes_than_there_is_room_for(void **state)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	size_t step = 64;
	AUTO_FREE uint8_t *bytes = calloc(PROBE_SITES_MAX + 1u, step);
	struct fpl_err err = { 0 };
	struct elf_file *elf;
	size_t size = 0;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i <= PROBE_SITES_MAX; i++)
		size += put_note(bytes + size, &notes[1].note);
	elf = with_notes(bytes, size);
	assert_int_equal(probe_sites_read_notes(elf, &sites, &err), -E2BIG);
	assert_string_equal(err.msg, "test: .note.stapsdt: more probes than a file may have");
	assert_int_equal(sites.nr, PROBE_SITES_MAX);
	elf_file_close(elf);
}

/* The functions of the test object; version: of .gnu.version. */
static const struct {
	const char *name;
	unsigned int type;
	uint64_t vaddr, size;
	uint16_t version;
} functions[] = {
	{ "malloc", STT_FUNC, 0x1100, 0x40, 2 },
	{ "aliased", STT_FUNC, 0x1100, 0x40, 2 },
	{ "twice", STT_FUNC, 0x1200, 0x10, 1 },
	{ "twice", STT_FUNC, 0x1300, 0x10, 1 },
	{ "versioned", STT_FUNC, 0x1400, 0x10, 0x8002 },
	{ "versioned", STT_FUNC, 0x1500, 0x20, 3 },
	{ "only_old", STT_FUNC, 0x1600, 0x20, 0x8002 },
	{ "chosen", STT_GNU_IFUNC, 0x1700, 0x20, 2 },
	{ "object", STT_OBJECT, 0x1700, 0x20, 2 },
	{ "in_data", STT_FUNC, 0x9000, 0x20, 2 },
	{ "absent", STT_FUNC, 0x100, 0x20, 2 },
	{ "label", STT_NOTYPE, 0x1720, 0, 2 },
};

static struct elf_file *with_functions(uint32_t type)
{
	struct elf_symbols *syms = malloc(sizeof(*syms));
	uint16_t versions[ARRAY_SIZE(functions) + 1] = { 0 };
	struct elf_builder b;

	assert_non_null(syms);
	start_object(&b);
	elf_symbols_init(syms);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		char name[64];

		/* of .symtab, versions are in the names */
		snprintf(name, sizeof(name), "%s%s", functions[i].name,
			 type == SHT_DYNSYM		 ? ""
			 : functions[i].version & 0x8000 ? "@V_1"
			 : functions[i].version > 2	 ? "@@V_2"
							 : "");
		elf_symbols_add(syms, name, functions[i].type, STB_GLOBAL, functions[i].vaddr,
				functions[i].size);
		versions[i + 1] = functions[i].version;
	}
	elf_symbols_put(syms, &b, type);
	if (type == SHT_DYNSYM)
		elf_builder_section(&b, ".gnu.version", SHT_GNU_versym, 0, 0, versions,
				    sizeof(versions));
	free(syms);
	return elf_builder_open(&b);
}

static const struct {
	const char *name;
	size_t nr;
	uint64_t off;
	enum probe_site_kind kind;
	const char *similar;
} searches[] = {
	{ "malloc", 1, 0x500, PROBE_SITE_CODE, NULL },
	{ "aliased", 1, 0x500, PROBE_SITE_CODE, NULL },
	{ "twice", 2, 0x600, PROBE_SITE_CODE, NULL },
	{ "versioned", 1, 0x900, PROBE_SITE_CODE, NULL },
	{ "only_old", 1, 0xa00, PROBE_SITE_CODE, NULL },
	{ "chosen", 1, 0xb00, PROBE_SITE_IFUNC, NULL },
	{ "label", 1, 0xb20, PROBE_SITE_CODE, NULL },
	{ "0x1234", 1, 0x634, PROBE_SITE_CODE, NULL },
	{ "0x9000", 0, 0, 0, NULL },
	{ "0x1100x", 0, 0, 0, NULL },
	{ "in_data", 0, 0, 0, NULL },
	{ "", 0, 0, 0, NULL },
	{ "mallok", 1, 0, PROBE_SITE_SIMILAR, "malloc" },
	{ "version", 1, 0, PROBE_SITE_SIMILAR, "versioned" },
};

static void functions_are_found_by_their_name(void **state)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(types) * ARRAY_SIZE(searches); k++) {
		CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
		size_t i = k % ARRAY_SIZE(searches);
		struct elf_file *elf = with_functions(types[k / ARRAY_SIZE(searches)]);
		const struct probe_site *site;

		print_message("%s\n", searches[i].name);
		assert_int_equal(probe_sites_find(elf, NULL, 0, searches[i].name, &sites, NULL), 0);
		elf_file_close(elf);
		assert_int_equal(sites.nr, searches[i].nr);
		assert_true(probe_sites_check(&sites));
		if (!sites.nr)
			continue;
		site = &sites.list[0];
		assert_int_equal(site->kind, searches[i].kind);
		assert_int_equal(site->off, searches[i].off);
		assert_int_equal(site->nr_code,
				 site->kind == PROBE_SITE_SIMILAR ? 0 : PROBE_CODE_SIZE);
		assert_string_equal(sites.text + site->name,
				    searches[i].similar ? searches[i].similar : searches[i].name);
	}
}

static void names_of_a_debug_file_are_of_the_object(void **state)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	struct elf_file *debug = with_functions(SHT_SYMTAB), *elf;
	struct elf_builder b;

	(void)state;
	start_object(&b);
	/* its code is elsewhere in the file than the debug file says */
	b.segments[0].p_offset = 0x500;
	elf = elf_builder_open(&b);
	assert_int_equal(probe_sites_find(elf, (const struct elf_file *const[]){ debug }, 1,
					  "malloc", &sites, NULL),
			 0);
	assert_int_equal(sites.nr, 1);
	assert_int_equal(sites.list[0].off, 0x600);
	assert_int_equal(sites.list[0].size, 0x40);
	elf_file_close(elf);
	elf_file_close(debug);
}

static void what_does_not_hold_together_is_no_answer(void **state)
{
	static const struct {
		const char *what;
		struct probe_site site; /* texts are "a", "b", "" */
		bool is_sound;
	} cases[] = {
		{ "sound", { 1, 2, 3, 4, 0, 2, 4, 0, 0, { 0 }, { 0 } }, true },
		{ "sound, with code",
		  { 1, 2, 3, 4, 0, 2, 4, 0, PROBE_CODE_SIZE, { 0 }, { 0 } },
		  true },
		{ "more code than there is room for",
		  { 1, 2, 3, 4, 0, 2, 4, 0, PROBE_CODE_SIZE + 1, { 0 }, { 0 } },
		  false },
		{ "no kind",
		  { 1, 2, 3, 4, 0, 2, 4, PROBE_SITE_KIND_COUNT, 0, { 0 }, { 0 } },
		  false },
		{ "a provider outside", { 1, 2, 3, 4, 5, 2, 4, 0, 0, { 0 }, { 0 } }, false },
		{ "a name outside", { 1, 2, 3, 4, 0, 5, 4, 0, 0, { 0 }, { 0 } }, false },
		{ "arguments outside",
		  { 1, 2, 3, 4, 0, 2, UINT32_MAX, 0, 0, { 0 }, { 0 } },
		  false },
		{ "an offset below zero",
		  { 1, 1ull << 63, 3, 4, 0, 2, 4, 0, 0, { 0 }, { 0 } },
		  false },
		{ "a counter below zero",
		  { 1, 2, 3, 1ull << 63, 0, 2, 4, 0, 0, { 0 }, { 0 } },
		  false },
		{ "a size below zero",
		  { 1, 2, 1ull << 63, 4, 0, 2, 4, 0, 0, { 0 }, { 0 } },
		  false },
	};
	char text[] = "a\0b\0";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct probe_site site = cases[i].site;
		const struct probe_sites sites = {
			.list = &site, .nr = 1, .text = text, .text_size = 5
		};

		print_message("%s\n", cases[i].what);
		assert_int_equal(probe_sites_check(&sites), cases[i].is_sound);
	}
	assert_false(probe_sites_check(&(struct probe_sites){ .text = text, .text_size = 1 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_say_where_probes_are),
		cmocka_unit_test(texts_are_provider_name_and_arguments),
		cmocka_unit_test(notes_that_end_early_are_read_as_far_as_they_go),
		cmocka_unit_test(a_file_has_no_more_probes_than_there_is_room_for),
		cmocka_unit_test(functions_are_found_by_their_name),
		cmocka_unit_test(names_of_a_debug_file_are_of_the_object),
		cmocka_unit_test(what_does_not_hold_together_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
