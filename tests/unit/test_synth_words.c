/* SPDX-License-Identifier: Apache-2.0 */
/* Words that relocations make addresses: RELA, and RELR with its masks. */
#include "cmocka_all.h"

#include <elf.h>
#include <string.h>

#include "tests/support/elf_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/synth/words.h"

enum { DATA = 0x3000, RELR = 0x2000, RELA = 0x2800, NR_WORDS = 130, UNWANTED = 0x99 };
enum { TABLES_SIZE = 0x1000, JMPREL = 0x2c00, DYNAMIC = 0x4000 };

struct fixture {
	struct elf_builder elf;
	struct elf_file *file;
	struct synth_words words;
};

/* The words of DATA hold 0x1000 and their number. */
static void open_file(struct fixture *f, const uint64_t *relr, size_t nr_relr,
		      const Elf64_Rela *rela, size_t nr_rela)
{
	struct fpl_err err = { 0 };
	uint64_t words[NR_WORDS];

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < NR_WORDS; i++)
		words[i] = 0x1000 + i;
	words[5] = UNWANTED;
	elf_builder_init(&f->elf, ET_DYN);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_W, DATA, DATA, sizeof(words),
			    sizeof(words));
	elf_builder_put(&f->elf, DATA, words, sizeof(words));
	if (nr_relr)
		elf_builder_put(&f->elf, RELR, relr, nr_relr * sizeof(*relr));
	if (nr_rela)
		elf_builder_put(&f->elf, RELA, rela, nr_rela * sizeof(*rela));
	elf_builder_section_at(&f->elf, ".relr.dyn", SHT_RELR, SHF_ALLOC, RELR, RELR,
			       nr_relr * sizeof(*relr));
	elf_builder_section_at(&f->elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, RELA, RELA,
			       nr_rela * sizeof(*rela));
	elf_builder_finish(&f->elf);
	assert_int_equal(elf_file_from_memory(f->elf.bytes, f->elf.size, "test", &f->file, &err),
			 0);
}

/* The same without section headers: what there is, is in segments, and @dynamic says where. */
static void open_stripped(struct fixture *f, const Elf64_Dyn *dynamic, size_t nr,
			  const uint64_t *relr, size_t nr_relr, const Elf64_Rela *rela,
			  size_t nr_rela)
{
	struct fpl_err err = { 0 };
	uint64_t words[NR_WORDS];

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < NR_WORDS; i++)
		words[i] = 0x1000 + i;
	elf_builder_init(&f->elf, ET_DYN);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_W, DATA, DATA, sizeof(words),
			    sizeof(words));
	elf_builder_segment(&f->elf, PT_LOAD, PF_R, RELR, RELR, TABLES_SIZE, TABLES_SIZE);
	elf_builder_segment(&f->elf, PT_DYNAMIC, PF_R, DYNAMIC, DYNAMIC, nr * sizeof(*dynamic),
			    nr * sizeof(*dynamic));
	elf_builder_put(&f->elf, DATA, words, sizeof(words));
	elf_builder_put(&f->elf, RELR, relr, nr_relr * sizeof(*relr));
	elf_builder_put(&f->elf, RELA, rela, nr_rela * sizeof(*rela));
	elf_builder_put(&f->elf, JMPREL, rela, nr_rela * sizeof(*rela));
	elf_builder_put(&f->elf, DYNAMIC, dynamic, nr * sizeof(*dynamic));
	f->elf.without_sections = true;
	elf_builder_finish(&f->elf);
	assert_int_equal(elf_file_from_memory(f->elf.bytes, f->elf.size, "test", &f->file, &err),
			 0);
	assert_int_equal(f->file->nr_sections, 0);
}

static bool read_file(void *ctx, uint64_t vaddr, void *to, size_t size)
{
	struct fixture *f = ctx;
	const struct elf_segment *segment = elf_file_load_at(f->file, vaddr, size);

	return segment &&
	       !elf_file_read(f->file, segment->off + (vaddr - segment->vaddr), to, size, NULL);
}

static bool is_wanted(void *ctx, uint64_t value)
{
	(void)ctx;
	return value != UNWANTED;
}

static void read_words(struct fixture *f)
{
	struct fpl_err err = { 0 };
	struct budget budget;
	struct synth_words_source source = {
		.elf = f->file,
		.budget = &budget,
		.read = read_file,
		.is_wanted = is_wanted,
		.ctx = f,
	};

	budget_init(&budget, "test", &patient_limits);
	assert_int_equal(synth_words_read(&source, &f->words, &err), 0);
}

static void close_file(struct fixture *f)
{
	synth_words_fini(&f->words);
	elf_file_close(f->file);
	elf_builder_fini(&f->elf);
}

static void check_word(const struct fixture *f, size_t word, uint64_t value)
{
	const struct synth_word *found = synth_words_find(&f->words, DATA + 8 * word);

	assert_non_null(found);
	assert_int_equal(found->value, value);
}

static void masks_count_from_the_word_behind_the_last(void **state)
{
	/* Words 2, 3, 5 (unwanted) and 65, then 66 + 0, then 129 of the next mask. */
	static const uint64_t relr[] = {
		DATA + 16,
		1 | 1ull << 1 | 1ull << 3 | 1ull << 63,
		1 | 1ull << 1,
		1 | 1ull << 1,
	};
	struct fixture f;

	(void)state;
	open_file(&f, relr, sizeof(relr) / sizeof(relr[0]), NULL, 0);
	read_words(&f);
	assert_int_equal(f.words.nr, 5);
	check_word(&f, 2, 0x1002);
	check_word(&f, 3, 0x1003);
	check_word(&f, 65, 0x1041);
	check_word(&f, 66, 0x1042);
	check_word(&f, 129, 0x1081);
	assert_null(synth_words_find(&f.words, DATA + 8 * 5));
	close_file(&f);
}

static void places_outside_of_the_file_are_none(void **state)
{
	static const uint64_t relr[] = { UINT64_MAX - 1, UINT64_MAX, DATA + 8 * NR_WORDS - 8,
					 UINT64_MAX };
	struct fixture f;

	(void)state;
	open_file(&f, relr, sizeof(relr) / sizeof(relr[0]), NULL, 0);
	read_words(&f);
	assert_int_equal(f.words.nr, 1);
	check_word(&f, NR_WORDS - 1, 0x1000 + NR_WORDS - 1);
	close_file(&f);
}

static void addends_are_values(void **state)
{
	static const Elf64_Rela rela[] = {
		{ DATA + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x4444 },
		{ DATA, ELF64_R_INFO(0, R_X86_64_IRELATIVE), 0x5555 },
		{ DATA + 8, ELF64_R_INFO(1, R_X86_64_64), 0x6666 },
		{ DATA + 16, ELF64_R_INFO(0, R_X86_64_RELATIVE), UNWANTED },
	};
	struct fixture f;

	(void)state;
	open_file(&f, NULL, 0, rela, sizeof(rela) / sizeof(rela[0]));
	read_words(&f);
	assert_int_equal(f.words.nr, 2);
	check_word(&f, 0, 0x5555);
	check_word(&f, 3, 0x4444);
	close_file(&f);
}

static const Elf64_Rela one_rela[] = {
	{ DATA + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x4444 },
};
static const uint64_t one_relr[] = { DATA + 16, 1 | 1ull << 2 }; /* words 2 and 4 */

static void stripped_files_are_read_by_their_dynamic_entries(void **state)
{
	static const struct {
		const char *what;
		Elf64_Dyn dynamic[6];
		size_t nr_words; /* that are found */
	} cases[] = {
		{ "rela", { { DT_RELA, { RELA } }, { DT_RELASZ, { sizeof(one_rela) } } }, 1 },
		{ "jmprel",
		  { { DT_PLTRELSZ, { sizeof(one_rela) } }, { DT_JMPREL, { JMPREL } } },
		  1 },
		{ "relr", { { DT_RELR, { RELR } }, { DT_RELRSZ, { sizeof(one_relr) } } }, 2 },
		{ "both",
		  { { DT_RELR, { RELR } },
		    { DT_RELRSZ, { sizeof(one_relr) } },
		    { DT_RELA, { RELA } },
		    { DT_RELASZ, { sizeof(one_rela) } } },
		  3 },
		{ "behind the end of the list",
		  { { DT_RELR, { RELR } },
		    { DT_NULL, { 0 } },
		    { DT_RELRSZ, { sizeof(one_relr) } } },
		  0 },
		{ "no size", { { DT_RELR, { RELR } } }, 0 },
		{ "longer than the segment",
		  { { DT_RELA, { RELA } }, { DT_RELASZ, { TABLES_SIZE } } },
		  0 },
		{ "a size that wraps",
		  { { DT_RELA, { RELA } }, { DT_RELASZ, { UINT64_MAX - 8 } } },
		  0 },
		{ "in no segment", { { DT_RELA, { 0x9000 } }, { DT_RELASZ, { 24 } } }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;

		open_stripped(&f, cases[i].dynamic, 6, one_relr, 2, one_rela, 1);
		read_words(&f);
		if (f.words.nr != cases[i].nr_words)
			fail_msg("%s: %zu words", cases[i].what, f.words.nr);
		close_file(&f);
	}
}

static void a_dynamic_segment_may_say_anything_of_itself(void **state)
{
	static const Elf64_Dyn dynamic[] = { { DT_RELR, { RELR } },
					     { DT_RELRSZ, { sizeof(one_relr) } } };
	static const uint64_t sizes[] = { 0, 15, 0x100000, UINT64_MAX / 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fixture f;

		open_stripped(&f, dynamic, 2, one_relr, 2, one_rela, 1);
		f.file->segments[2].file_size = sizes[i];
		read_words(&f);
		assert_int_equal(f.words.nr, 0);
		close_file(&f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_count_from_the_word_behind_the_last),
		cmocka_unit_test(places_outside_of_the_file_are_none),
		cmocka_unit_test(addends_are_values),
		cmocka_unit_test(stripped_files_are_read_by_their_dynamic_entries),
		cmocka_unit_test(a_dynamic_segment_may_say_anything_of_itself),
	};

	return cmocka_run_group_tests_name("synth_words", tests, NULL, NULL);
}
