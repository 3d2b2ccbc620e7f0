/* SPDX-License-Identifier: Apache-2.0 */
/* Code of PHP's JIT is found in memory, with its frames, and memory that only looks like it is not.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/arch_x86_64.h"
#include "jit/php.h"
#include "tests/support/jit_object.h"

#define BASE 0x550000000000ull /* of php */
#define LOOP 0x800u	       /* the offset of execute_ex in its page */

#define BUFFER	   0x551000000000ull
#define BUFFER_END (BUFFER + sizeof(buffer))
#define STUBS_END  0x300u
#define EXIT	   0x45u /* the exit's sub, */
#define RAISE	   0x90u /* and its add */
#define FUNCTIONS  0x1c0u

static uint8_t php[JIT_PAGE_SIZE], buffer[2 * JIT_PAGE_SIZE];

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t size)
{
	(void)ctx;
	if (addr >= BASE && addr - BASE <= sizeof(php) - size)
		memcpy(dst, php + (addr - BASE), size);
	else if (addr >= BUFFER && addr - BUFFER <= sizeof(buffer) - size)
		memcpy(dst, buffer + (addr - BUFFER), size);
	else
		return -1;
	return 0;
}

#define PUT(bytes, at, text) memcpy((bytes) + (at), text, sizeof(text) - 1)

/* Debian 12 has push r13, r12, rbp, rbx; sub rsp, 0x78; ...; jmp [r15] */
#define ENTRY_8_2 "\x41\x55\x41\x54\x55\x53\x48\x83\xec\x78\x64\x48\x8b\x04\x25\x28"
/* Debian 13 has endbr64; push rbp; mov rbp, rsp; push r13, r12, rbx; sub rsp, 0xa8 */
#define ENTRY_8_4 \
	"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x41\x55\x41\x54\x53\x48\x81\xec\xa8\x00\x00\x00\x64\x48"
#define JUMP "\x41\xff\x27"

static void put_php(void)
{
	static const char *const name = "execute_ex";
	const uint32_t value = LOOP;

	memset(php, 0, sizeof(php));
	jit_object_put(php, &name, &value, 1);
	PUT(php, LOOP, ENTRY_8_2);
	PUT(php, LOOP + 0x60, JUMP);
}

static void put_words(uint64_t next, uint64_t stubs_end)
{
	const uint64_t words[] = { next, stubs_end };

	memcpy(buffer + sizeof(buffer) - sizeof(words), words, sizeof(words));
}

static void put_buffer(void)
{
	memset(buffer, 0, sizeof(buffer));
	PUT(buffer, 0x10, "\x53"); /* no function: it is in front of the exit */
	PUT(buffer, EXIT, "\x48\x81\xec\xf8\x00\x00\x00");
	PUT(buffer, RAISE, "\x48\x81\xc4\x00\x01\x00\x00");
	PUT(buffer, 0x1b2, "\x48\x83\xec\x08"); /* a stub begins at a multiple of 16 */
	PUT(buffer, FUNCTIONS, "\x48\x83\xec\x08");
	PUT(buffer, FUNCTIONS + 0x40, "\x53");
	put_words(BUFFER + 0x1000, BUFFER + STUBS_END);
}

static int find(uint64_t base, struct made_code *ret, struct fpl_err *err)
{
	const uint64_t bounds[] = { BUFFER - 0x10000, BUFFER - 0x8000, BUFFER, BUFFER_END };
	struct jit_memory *memory = NULL;
	int code;

	assert_int_equal(jit_memory_create(read_bytes, NULL, &memory), 0);
	code = php_find(memory, base, bounds, 2, ret, err);
	jit_memory_destroy(memory);
	return code;
}

static void check_piece(const struct made_piece *piece, uint64_t start, uint64_t end, int cfa_off)
{
	assert_int_equal(piece->start, start);
	assert_int_equal(piece->end, end);
	assert_int_equal(piece->region.kind, FPL_REGION_FRAME);
	assert_int_equal(piece->region.rule.cfa, FPL_CFA_REG);
	assert_int_equal(piece->region.rule.regs, ARCH_SP);
	assert_int_equal(piece->region.rule.cfa_off, cfa_off);
}

static void its_code_runs_in_the_frame_of_the_loop(void **state)
{
	const struct fpl_rule *rule;
	struct made_code made;
	struct fpl_err err;

	(void)state;
	put_php();
	put_buffer();
	assert_int_equal(find(BASE, &made, &err), 0);
	assert_true(made_code_check(&made));
	assert_int_equal(made.nr, 3);
	check_piece(&made.pieces[0], BUFFER + EXIT + 7, BUFFER + RAISE + 1, 160 + 256);
	check_piece(&made.pieces[1], BUFFER + FUNCTIONS, BUFFER + STUBS_END, 16);
	check_piece(&made.pieces[2], BUFFER, BUFFER_END, 160);
	rule = &made.pieces[2].region.rule;
	assert_int_equal(rule->saved[ARCH_SAVED_RBX], -5);
	assert_int_equal(rule->saved[ARCH_SAVED_RBP], -4);
	assert_int_equal(rule->saved[ARCH_SAVED_R12], -3);
	assert_int_equal(rule->saved[ARCH_SAVED_R13], -2);
	assert_int_equal(rule->saved[ARCH_SAVED_R14], FPL_SAVED_SAME);
	assert_int_equal(made.pieces[0].region.rule.saved[ARCH_SAVED_RBX], -5);
	assert_int_equal(made.pieces[1].region.rule.saved[ARCH_SAVED_RBX], FPL_SAVED_SAME);

	PUT(php, LOOP, ENTRY_8_4);
	PUT(buffer, FUNCTIONS, "\x53\x90\x90\x90");
	assert_int_equal(find(BASE, &made, &err), 0);
	check_piece(&made.pieces[1], BUFFER + FUNCTIONS, BUFFER + STUBS_END, 16);
	check_piece(&made.pieces[2], BUFFER, BUFFER_END, 208);
	assert_int_equal(made.pieces[2].region.rule.saved[ARCH_SAVED_RBP], -2);
}

static void another_interpreter_is_refused(void **state)
{
	static const struct {
		const char *what, *bytes, *says;
		size_t at, size;
		int code;
	} cases[] = {
#define CASE(what, at, bytes, code, says) { what, bytes, says, at, sizeof(bytes) - 1, code }
		CASE("another name", JIT_OBJECT_NAMES + 1, "execute_ey", -ENOTSUP,
		     "exports no execute_ex"),
		CASE("no ELF file", 0, "MZ", -ENOTSUP, "exports no execute_ex"),
		CASE("symbols elsewhere", JIT_OBJECT_DYNAMIC + 8, "\x00\x00\x00\x00\x00\x66",
		     -ENOTSUP, "exports no execute_ex"),
		CASE("segments elsewhere", 32, "\x00\x00\x00\x00\x00\x66", -EFAULT,
		     "cannot be read"),
		CASE("no frame", LOOP, "\xc3", -ENOTSUP, "begins in an unknown way"),
		CASE("a frame of 2 GiB", LOOP + 6, "\x48\x81\xec\x00\x00\x00\x80", -ENOTSUP,
		     "begins in an unknown way"),
		CASE("handlers are called", LOOP + 0x60, "\x41\xff\x17", -ENOTSUP,
		     "does not jump to handlers"),
#undef CASE
	};
	struct made_code made;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_err err = { 0 };

		print_message("%s\n", cases[i].what);
		put_php();
		put_buffer();
		memcpy(php + cases[i].at, cases[i].bytes, cases[i].size);
		assert_int_equal(find(BASE, &made, &err), cases[i].code);
		assert_non_null(strstr(err.msg, cases[i].says));
		assert_int_equal(made.nr, 0);
	}
}

static void other_memory_is_not_the_jits(void **state)
{
	static const struct {
		const char *what;
		uint64_t next, stubs_end;
		int code;
	} cases[] = {
		{ "full", BUFFER_END - 16, BUFFER + 0x300, 0 },
		{ "nothing but stubs", BUFFER + 0x300, BUFFER + 0x300, 0 },
		{ "nothing yet", 0, 0, -ENOENT },
		{ "no stubs", BUFFER + 0x300, BUFFER, -ENOENT },
		{ "stubs behind other code", BUFFER + 0x300, BUFFER + 0x301, -ENOENT },
		{ "code behind the end", BUFFER_END - 15, BUFFER + 0x300, -ENOENT },
		{ "addresses of other memory", BASE + 0x300, BASE + 0x300, -ENOENT },
		{ "the largest numbers", UINT64_MAX, UINT64_MAX, -ENOENT },
	};
	struct made_code made;
	struct fpl_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		put_php();
		put_buffer();
		put_words(cases[i].next, cases[i].stubs_end);
		assert_int_equal(find(BASE, &made, &err), cases[i].code);
	}
}

static void stubs_of_another_kind_have_no_rule_of_their_own(void **state)
{
	static const struct {
		const char *what, *bytes;
		size_t at, size, nr;
	} cases[] = {
#define CASE(what, at, bytes, nr) { what, bytes, at, sizeof(bytes) - 1, nr }
		CASE("the exit leaves a word", RAISE, "\x48\x81\xc4\xf8\x00\x00\x00", 1),
		CASE("the exit takes none", EXIT, "\x48\x81\xec\x00\x00\x00\x00", 1),
		CASE("the exit takes 2 GiB", EXIT, "\x48\x81\xec\xf8\xff\xff\x7f", 1),
		CASE("the exit does not end", RAISE, "\x90\x90\x90\x90\x90\x90\x90", 1),
		CASE("no exit", EXIT, "\x90\x90\x90", 1),
		CASE("an exit at the end", STUBS_END - 4, "\x48\x81\xec\xf8", 3),
#undef CASE
	};
	struct made_code made;
	struct fpl_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		put_php();
		put_buffer();
		memcpy(buffer + cases[i].at, cases[i].bytes, cases[i].size);
		assert_int_equal(find(BASE, &made, &err), 0);
		assert_int_equal(made.nr, cases[i].nr);
		check_piece(&made.pieces[made.nr - 1], BUFFER, BUFFER_END, 160);
	}
	put_buffer();
	put_words(BUFFER_END - 16, BUFFER + EXIT + 8);
	assert_int_equal(find(BASE, &made, &err), 0);
	assert_int_equal(made.nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_code_runs_in_the_frame_of_the_loop),
		cmocka_unit_test(another_interpreter_is_refused),
		cmocka_unit_test(other_memory_is_not_the_jits),
		cmocka_unit_test(stubs_of_another_kind_have_no_rule_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
