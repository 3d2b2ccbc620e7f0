/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolize/symbol_question.h"
#include "symbolize/symbolizer.h"
#include "tests/support/elf_symbols.h"

static void build(struct elf_builder *b)
{
	struct elf_symbols syms;

	elf_builder_init(b, ET_DYN);
	elf_builder_segment(b, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x400, 0x1000);
	elf_builder_section_at(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0x400,
			       0);
	elf_symbols_init(&syms);
	elf_symbols_add(&syms, "plain", STT_FUNC, STB_GLOBAL, 0x1000, 0x10);
	elf_symbols_add(&syms, "_ZN3foo3barEi", STT_FUNC, STB_GLOBAL, 0x1100, 0x10);
	elf_symbols_put(&syms, b, SHT_SYMTAB);
	elf_builder_finish(b);
}

static struct symbolizer *create(bool no_demangle)
{
	const struct symbolizer_options options = { .no_demangle = no_demangle,
						    .debug_dir = "/nonexistent" };
	struct symbolizer *sym = NULL;

	assert_int_equal(symbolizer_create(&options, &sym, NULL), 0);
	return sym;
}

static void check(struct symbolizer *sym, uint32_t id, uint64_t vaddr, const char *name,
		  uint64_t offset)
{
	/* Always filled, whatever was there. */
	struct symbol got = { .name = "before", .offset = 77, .module = "before" };

	symbolizer_user(sym, id, vaddr, &got);
	if (!got.name != !name || (name && strcmp(got.name, name) != 0))
		fail_msg("%u+%#lx: got %s", id, (unsigned long)vaddr, got.name);
	assert_int_equal(got.offset, offset);
	assert_null(got.module);
}

static void user_addresses_are_named_after_file_and_process_are_gone(void **state)
{
	struct symbolizer *sym = create(false);
	struct elf_builder b;
	int fd;

	(void)state;
	build(&b);
	fd = elf_builder_memfd(&b);
	assert_int_equal(symbolizer_add_object(sym, 3, fd, NULL, 0, "/gone", NULL), 0);
	close(fd);
	assert_int_equal(symbolizer_add_object(sym, 1, -1, b.bytes, b.size, "[vdso]", NULL), 0);
	elf_builder_fini(&b);
	for (uint32_t id = 1; id <= 3; id += 2) {
		check(sym, id, 0x1000, "plain", 0);
		check(sym, id, 0x100f, "plain", 15);
		check(sym, id, 0x1010, NULL, 0);
		check(sym, id, 0x1104, "foo::bar(int)", 4);
		check(sym, id, 0xfff, NULL, 0);
	}
	symbolizer_destroy(sym);
}

/* Put the symbols of build() and their addresses as .gnu_debugdata into a file with code alone. */
static void local_functions_are_named_by_gnu_debugdata(void **state)
{
	struct symbolizer *sym = create(false);
	struct elf_builder inner, b;
	uint8_t packed[8192];
	size_t size = 0;

	(void)state;
	build(&inner);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, inner.bytes, inner.size,
						 packed, &size, sizeof(packed)),
			 LZMA_OK);
	elf_builder_init(&b, ET_DYN);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x400, 0x1000);
	elf_builder_section(&b, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, size);
	elf_builder_finish(&b);
	assert_int_equal(symbolizer_add_object(sym, 1, -1, b.bytes, b.size, "x", NULL), 0);
	check(sym, 1, 0x1104, "foo::bar(int)", 4);
	elf_builder_fini(&inner);
	elf_builder_fini(&b);
	symbolizer_destroy(sym);
}

static void the_same_name_is_handed_out_again(void **state)
{
	struct symbolizer *sym = create(false);
	struct elf_builder b;
	struct symbol first, second;

	(void)state;
	build(&b);
	assert_int_equal(symbolizer_add_object(sym, 1, -1, b.bytes, b.size, "x", NULL), 0);
	symbolizer_user(sym, 1, 0x1100, &first);
	symbolizer_user(sym, 1, 0x1108, &second);
	assert_ptr_equal(first.name, second.name);
	elf_builder_fini(&b);
	symbolizer_destroy(sym);
}

static void names_stay_mangled_where_asked(void **state)
{
	struct symbolizer *sym = create(true);
	struct elf_builder b;

	(void)state;
	build(&b);
	assert_int_equal(symbolizer_add_object(sym, 1, -1, b.bytes, b.size, "x", NULL), 0);
	check(sym, 1, 0x1100, "_ZN3foo3barEi", 0);
	elf_builder_fini(&b);
	symbolizer_destroy(sym);
}

static void objects_that_cannot_be_read_have_no_names(void **state)
{
	struct symbolizer *sym = create(false);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(null >= 0);
	assert_int_equal(symbolizer_add_object(sym, 1, null, NULL, 0, "a device", NULL), 0);
	assert_int_equal(symbolizer_add_object(sym, 2, -1, "no ELF", 6, "text", NULL), 0);
	assert_int_equal(symbolizer_add_object(sym, 3, -1, NULL, 0, "nothing", NULL), 0);
	close(null);
	for (uint32_t id = 0; id <= 5; id++)
		check(sym, id, 0x1000, NULL, 0);
	check(sym, UINT32_MAX, 0x1000, NULL, 0);
	symbolizer_destroy(sym);
}

static void ids_out_of_range_or_taken_are_refused(void **state)
{
	struct symbolizer *sym = create(false);
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(symbolizer_add_object(sym, 0, -1, "x", 1, "zero", &err), -EINVAL);
	assert_int_equal(symbolizer_add_object(sym, UINT32_MAX, -1, "x", 1, "far", &err), -EINVAL);
	assert_int_equal(symbolizer_add_object(sym, 7, -1, "x", 1, "first", &err), 0);
	assert_int_equal(symbolizer_add_object(sym, 7, -1, "x", 1, "second", &err), -EEXIST);
	assert_int_equal(symbolizer_add_object(sym, 8, 1 << 20, NULL, 0, "no fd", &err), -EBADF);
	symbolizer_destroy(sym);
}

/* A source that names each address "f<vaddr>", and counts what it is asked. */
struct asked {
	size_t rounds, addresses;
	struct trust trust; /* of the last file that was asked about */
	bool has_trust;
};

static int name_places(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		       struct symbol_places *ret, struct fpl_err *err)
{
	struct asked *asked = ctx;

	(void)fd, (void)path, (void)err;
	ret->places = calloc(nr, sizeof(*ret->places));
	ret->text = calloc(nr, 16);
	if (!ret->places || !ret->text)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		assert_true(!i || vaddrs[i - 1] < vaddrs[i]);
		snprintf(ret->text + 16 * i, 16, "f%llx", (unsigned long long)vaddrs[i]);
		ret->places[i].name = ret->text + 16 * i;
	}
	asked->rounds++;
	asked->addresses += nr;
	return 0;
}

static void addresses_that_come_live_are_named_a_round_at_a_time(void **state)
{
	static const struct {
		uint64_t vaddrs[4];
		size_t rounds[2], addresses[2]; /* asked by then: not live, live */
	} steps[] = {
		{ { 0x30, 0x10, 0x30, 0x20 }, { 1, 1 }, { 3, 3 } },
		{ { 0x10, 0x20, 0x30, 0x10 }, { 1, 1 }, { 3, 3 } },
		{ { 0x25, 0x10, 0x05, 0x40 }, { 4, 2 }, { 6, 6 } },
		{ { 0x05, 0x25, 0x40, 0x30 }, { 4, 2 }, { 6, 6 } },
		{ { 0x06, 0x26, 0x41, 0x29 }, { 8, 3 }, { 10, 10 } },
	};
	AUTO_FD int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (int live = 0; live < 2; live++) {
		struct asked asked = { 0 };
		const struct symbol_source source = { .names = name_places, .ctx = &asked };
		const struct symbolizer_options options = { .source = &source, .live = live };
		const char *kept = NULL;
		struct symbolizer *sym = NULL;

		assert_int_equal(symbolizer_create(&options, &sym, NULL), 0);
		assert_int_equal(symbolizer_add_object(sym, 1, fd, NULL, 0, "null", NULL), 0);
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
			for (size_t k = 0; k < 4; k++)
				symbolizer_expect(sym, 1, steps[i].vaddrs[k]);
			for (size_t k = 0; k < 4; k++) {
				struct symbol symbol;
				char name[16];

				symbolizer_user(sym, 1, steps[i].vaddrs[k], &symbol);
				snprintf(name, sizeof(name), "f%llx",
					 (unsigned long long)steps[i].vaddrs[k]);
				assert_string_equal(symbol.name, name);
				kept = kept ? kept : symbol.name;
			}
			assert_int_equal(asked.rounds, steps[i].rounds[live]);
			assert_int_equal(asked.addresses, steps[i].addresses[live]);
			assert_int_equal(symbolizer_nr_named(sym), asked.addresses);
		}
		assert_string_equal(kept, "f30"); /* what was handed out stays */
		symbolizer_destroy(sym);
	}
}

static void a_file_that_was_written_to_has_no_names_from_then_on(void **state)
{
	char path[] = "/tmp/test_symbolizer.XXXXXX";
	AUTO_FD int fd = mkstemp(path);
	struct asked asked = { 0 };
	const struct symbol_source source = { .names = name_places, .ctx = &asked };
	const struct symbolizer_options options = { .source = &source, .live = true };
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct symbolizer *sym = NULL, *fresh = NULL;
	struct symbol symbol;

	(void)state;
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(futimens(fd, long_ago), 0);
	assert_int_equal(symbolizer_create(&options, &sym, NULL), 0);
	assert_int_equal(symbolizer_create(&options, &fresh, NULL), 0);
	assert_int_equal(symbolizer_add_object(sym, 1, fd, NULL, 0, path, NULL), 0);
	/* who removes or links it changes nothing of what is in it */
	unlink(path);
	symbolizer_user(sym, 1, 0x10, &symbol);
	assert_string_equal(symbol.name, "f10");
	assert_int_equal(pwrite(fd, "y", 1, 0), 1);
	symbolizer_user(sym, 1, 0x20, &symbol);
	assert_null(symbol.name);
	assert_int_equal(symbolizer_adopt(fresh, sym, 1, NULL), 0);
	symbolizer_user(fresh, 1, 0x10, &symbol);
	assert_null(symbol.name);
	assert_int_equal(asked.rounds, 1);
	symbolizer_destroy(fresh);
	symbolizer_destroy(sym);
}

static void a_file_that_is_closed_keeps_the_names_that_were_asked(void **state)
{
	AUTO_FD int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct asked asked = { 0 };
	const struct symbol_source source = { .names = name_places, .ctx = &asked };
	const struct symbolizer_options options = { .source = &source, .live = true };
	struct symbolizer *sym = NULL;
	struct symbol_question question;
	struct symbol_answer answer;
	struct symbol symbol;

	(void)state;
	assert_int_equal(symbolizer_create(&options, &sym, NULL), 0);
	assert_int_equal(symbolizer_add_object(sym, 1, fd, NULL, 0, "null", NULL), 0);
	assert_false(symbolizer_question(sym, 1, &question));
	symbolizer_expect(sym, 1, 0x20);
	symbolizer_expect(sym, 1, 0x10);
	assert_true(symbolizer_question(sym, 1, &question));
	assert_int_equal(question.nr, 2);
	/* what is said meanwhile is for the next question */
	symbolizer_expect(sym, 1, 0x30);
	symbol_question_ask(&question, &source, &answer);
	assert_int_equal(answer.code, 0);
	symbolizer_answer(sym, 1, &question, &answer);
	symbolizer_user(sym, 1, 0x10, &symbol);
	assert_string_equal(symbol.name, "f10");
	assert_true(symbolizer_question(sym, 1, &question));
	assert_int_equal(question.nr, 1);
	symbol_question_ask(&question, &source, &answer);
	symbolizer_answer(sym, 1, &question, &answer);
	symbolizer_close_file(sym, 1);
	assert_int_equal(symbolizer_fd(sym, 1), -1);
	symbolizer_user(sym, 1, 0x20, &symbol);
	assert_string_equal(symbol.name, "f20");
	symbolizer_expect(sym, 1, 0x40);
	symbolizer_user(sym, 1, 0x40, &symbol);
	assert_null(symbol.name);
	assert_int_equal(asked.rounds, 2);
	symbolizer_destroy(sym);
}

static void an_answer_that_failed_is_not_asked_for_again(void **state)
{
	AUTO_FD int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct asked asked = { 0 };
	const struct symbol_source source = { .names = name_places, .ctx = &asked };
	const struct symbolizer_options options = { .source = &source, .live = true };
	struct symbolizer *sym = NULL;
	struct symbol_question question;
	struct symbol_answer answer = { .code = -EOWNERDEAD };
	struct symbol symbol;

	(void)state;
	assert_int_equal(symbolizer_create(&options, &sym, NULL), 0);
	assert_int_equal(symbolizer_add_object(sym, 1, fd, NULL, 0, "null", NULL), 0);
	symbolizer_expect(sym, 1, 0x20);
	assert_true(symbolizer_question(sym, 1, &question));
	symbolizer_answer(sym, 1, &question, &answer);
	symbolizer_expect(sym, 1, 0x30);
	assert_false(symbolizer_question(sym, 1, &question));
	symbolizer_user(sym, 1, 0x20, &symbol);
	assert_null(symbol.name);
	assert_int_equal(asked.rounds, 0);
	symbolizer_destroy(sym);
}

static void note_trust(void *ctx, const struct trust *trust)
{
	struct asked *asked = ctx;

	asked->has_trust = trust;
	if (trust)
		asked->trust = *trust;
}

static void a_file_that_has_lost_its_name_is_of_the_trust_it_was_met_with(void **state)
{
	char path[] = "/tmp/test_symbolizer.XXXXXX";
	AUTO_FD int fd = mkstemp(path);
	struct asked asked = { 0 };
	const struct symbol_source source = { .names = name_places,
					      .trust = note_trust,
					      .ctx = &asked };
	const struct symbolizer_options options = { .source = &source };
	struct symbolizer *sym = NULL;
	struct trust trust, unnamed;
	struct symbol symbol;

	(void)state;
	assert_int_equal(trust_read(fd, &trust), 0);
	assert_int_equal(symbolizer_create(&options, &sym, NULL), 0);
	assert_int_equal(symbolizer_add_object(sym, 1, fd, NULL, 0, path, NULL), 0);
	unlink(path);
	assert_int_equal(trust_read(fd, &unnamed), 0);
	assert_memory_not_equal(&trust, &unnamed, sizeof(trust));
	symbolizer_user(sym, 1, 0x10, &symbol);
	assert_string_equal(symbol.name, "f10");
	assert_memory_equal(&asked.trust, &trust, sizeof(trust));
	assert_false(asked.has_trust); /* it is for that file alone */
	symbolizer_destroy(sym);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_addresses_are_named_after_file_and_process_are_gone),
		cmocka_unit_test(local_functions_are_named_by_gnu_debugdata),
		cmocka_unit_test(the_same_name_is_handed_out_again),
		cmocka_unit_test(names_stay_mangled_where_asked),
		cmocka_unit_test(objects_that_cannot_be_read_have_no_names),
		cmocka_unit_test(ids_out_of_range_or_taken_are_refused),
		cmocka_unit_test(addresses_that_come_live_are_named_a_round_at_a_time),
		cmocka_unit_test(a_file_that_is_closed_keeps_the_names_that_were_asked),
		cmocka_unit_test(a_file_that_has_lost_its_name_is_of_the_trust_it_was_met_with),
		cmocka_unit_test(an_answer_that_failed_is_not_asked_for_again),
		cmocka_unit_test(a_file_that_was_written_to_has_no_names_from_then_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
