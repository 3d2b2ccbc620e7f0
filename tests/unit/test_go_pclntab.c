/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of Go programs, made from the pclntab of their run time and from their code. */
#include <errno.h>

#include "cmocka_all.h"

#include "tests/support/cfi_builder.h"
#include "tests/support/go_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/function_list.h"
#include "unwind/go_way.h"
#include "unwind/table_check.h"

enum { TOPFRAME = 1, SPWRITE = 2, ASM = 4 };

/* push %rbp; mov %rsp, %rbp; sub $16, %rsp; nop; add $16, %rsp; pop %rbp; ret (Go 1.21) */
#define FRAME "\x55\x48\x89\xe5\x48\x83\xec\x10\x90\x48\x83\xc4\x10\x5d\xc3"
#define FRAME_DEPTHS                                     \
	{                                                \
		{ 1, 0 }, { 7, 8 }, { 5, 24 }, { 1, 8 }, \
		{                                        \
			1, 0                             \
		}                                        \
	}
#define FRAME_ROWS                                         \
	"0-1 r7+8\n1-8 r7+16 r6=c-16\n8-d r7+32 r6=c-16\n" \
	"d-e r7+16 r6=c-16\ne-f r7+8\n"
/* sub $24, %rsp; mov %rbp, 16(%rsp); lea 16(%rsp), %rbp; mov 16(%rsp), %rbp; add $24, %rsp; ret */
#define OLD_FRAME                                                                      \
	"\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x48\x8b\x6c\x24\x10" \
	"\x48\x83\xc4\x18\xc3"
#define OLD_DEPTHS                    \
	{                             \
		{ 4, 0 }, { 19, 24 }, \
		{                     \
			1, 0          \
		}                     \
	}
#define OLD_ROWS "0-4 r7+8\n4-9 r7+32\n9-17 r7+32 r6=c-16\n17-18 r7+8\n"

static const struct go_builder_function frame = { BYTES(FRAME), FRAME_DEPTHS, 0, false };

/* The rows of @go as text, counted from its first function; "" where it has no table. */
static void rows_of(const struct go_builder *go, char *text, size_t size)
{
	struct fpl_err err = { 0 };
	struct cfi_file *file = NULL;
	struct elf_file *elf = NULL;
	struct table *table = NULL;
	struct elf_builder b;

	memset(text, 0, size);
	go_builder_elf(&b, go);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "go", &elf, &err), 0);

	struct table_limits limits = patient_limits;

	limits.synth = false; /* what else is there without the table */

	int code = cfi_file_open(elf, NULL, &limits, &file, &err);

	if (code == 0) {
		assert_int_equal(cfi_builder_rows(file, text, size, &err), 0);
		assert_int_equal(table_compile(elf, NULL, &limits, &table, &err), 0);
		assert_int_equal(table_check(table, &err), 0);
	} else {
		assert_int_equal(code, -ENODATA);
	}
	table_destroy(table);
	cfi_file_close(file);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void assert_rows(const char *what, const struct go_builder *go, const char *want)
{
	char text[4096];

	rows_of(go, text, sizeof(text));
	if (strcmp(text, want) != 0)
		fail_msg("%s: got\n%swant\n%s", what, text, want);
}

static void frames_are_found_by_the_depth_of_the_stack(void **state)
{
	static const struct {
		const char *what;
		struct go_builder_function function;
		bool old;
		const char *want;
	} cases[] = {
		{ "pushed rbp", { BYTES(FRAME), FRAME_DEPTHS, 0, false }, false, FRAME_ROWS },
		{ "stored rbp, Go 1.18",
		  { BYTES(OLD_FRAME), OLD_DEPTHS, 0, false },
		  true,
		  OLD_ROWS },
		{ "no table of depths", { BYTES("\xc3"), { { 0, 0 } }, 0, false }, false, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct go_builder go = { .functions = &cases[i].function,
					 .nr = 1,
					 .old = cases[i].old,
					 .said_text = GO_BUILDER_TEXT };

		assert_rows(cases[i].what, &go, cases[i].want);
	}
}

static const struct {
	const char *what;
	struct go_builder_function function;
	const char *want;
} kinds[] = {
	{ "assembly with a frame: only rbp is known to be saved",
	  { BYTES(FRAME), FRAME_DEPTHS, ASM, false },
	  "20-21 r7+8\n21-28 r7+16 r3=u r6=c-16 r12=u r13=u r15=u\n"
	  "28-2d r7+32 r3=u r6=c-16 r12=u r13=u r15=u\n"
	  "2d-2e r7+16 r3=u r6=c-16 r12=u r13=u r15=u\n2e-2f r7+8\n" },
	{ "assembly that writes r14: it may not be the caller's g any longer",
	  { BYTES("\x55\x48\x89\xe5\x4d\x31\xf6\x5d\xc3"),
	    { { 1, 0 }, { 7, 8 }, { 1, 0 } },
	    ASM,
	    false },
	  "20-21 r7+8\n21-28 r7+16 r3=u r6=c-16 r12=u r13=u r14=u r15=u\n28-29 r7+8\n" },
	{ "assembly that pushes another register",
	  { BYTES("\x50\x90\x58\xc3"), { { 1, 0 }, { 2, 8 }, { 1, 0 } }, ASM, false },
	  "20-21 r7+8\n21-23 r7+16 r3=u r6=u r12=u r13=u r15=u\n23-24 r7+8\n" },
	{ "goexit",
	  { BYTES("\x90\xe8\0\0\0\0\x90"), { { 7, 0 } }, TOPFRAME | ASM, false },
	  "20-40 r7+8 ra=u\n" },
	{ "marked as outermost, but it returns out of a frame: a handler of signals",
	  { BYTES(FRAME), FRAME_DEPTHS, TOPFRAME, false },
	  "20-21 r7+8\n21-28 r7+16 r6=c-16\n28-2d r7+32 r6=c-16\n"
	  "2d-2e r7+16 r6=c-16\n2e-2f r7+8\n" },
	{ "what handlers return to: from the byte before on",
	  { BYTES("\x48\xc7\xc0\x0f\0\0\0\x0f\x05\xcc"), { { 10, 0 } }, ASM, false },
	  "1f-40 *(r7+160)+0 r0=*(r7+144) r1=*(r7+136) r2=*(r7+152) r3=*(r7+128) "
	  "r4=*(r7+112) r5=*(r7+104) r6=*(r7+120) r8=*(r7+40) r9=*(r7+48) "
	  "r10=*(r7+56) r11=*(r7+64) r12=*(r7+72) r13=*(r7+80) r14=*(r7+88) "
	  "r15=*(r7+96) ra=*(r7+168) signal\n" },
	/* push %rbp; mov %rsp, %rbp; mov 56(%rdx), %rsp; call *(%rdi); pop %rbp; ret */
	{ "systemstack: behind the switch rbp leads to the frame",
	  { BYTES("\x55\x48\x89\xe5\x48\x8b\x62\x38\xff\x17\x5d\xc3"),
	    { { 1, 0 }, { 10, 8 }, { 1, 0 } },
	    SPWRITE | ASM,
	    false },
	  "20-21 r7+8\n21-25 r7+16 r3=u r6=c-16 r12=u r13=u r15=u\n"
	  "25-2b r6+16 r3=u r6=c-16 r12=u r13=u r15=u\n2b-2c r7+8\n" },
	/* the same with mov $0, %rbp behind the switch, and no way back */
	{ "mcall: behind the end of the chain there is no caller",
	  { BYTES("\x55\x48\x89\xe5\x48\x8b\x62\x38\x48\xc7\xc5\0\0\0\0\xff\x17\xcc"),
	    { { 1, 0 }, { 17, 8 } },
	    SPWRITE | ASM,
	    false },
	  "20-21 r7+8\n21-25 r7+16 r3=u r6=c-16 r12=u r13=u r15=u\n"
	  "25-2f r6+16 r3=u r6=c-16 r12=u r13=u r15=u\n2f-32 r7+8 ra=u\n" },
	{ "morestack: the same without a frame",
	  { BYTES("\x90\x48\x8b\x63\x38\x31\xed\xff\x17\xcc"),
	    { { 10, 0 } },
	    SPWRITE | ASM,
	    false },
	  "20-22 r7+8\n22-27 expr\n27-2a r7+8 ra=u\n" },
	{ "gogo: behind the switch nothing is known",
	  { BYTES("\x48\x8b\x23\xff\xe0"), { { 5, 0 } }, SPWRITE | ASM, false },
	  "20-21 r7+8\n21-25 expr\n" },
	{ "clone: behind the system call the child has another stack",
	  { BYTES("\x90\x0f\x05\x48\x85\xc0\xc3\x48\x89\xf4\xff\xd7"),
	    { { 12, 0 } },
	    SPWRITE | ASM,
	    false },
	  "20-22 r7+8\n22-2c expr\n" },
	{ "marked as leaving its stack, one knows not where",
	  { BYTES("\x90\xc3"), { { 2, 0 } }, SPWRITE | ASM, false },
	  "20-22 expr\n" },
	{ "a return address that has been popped",
	  { BYTES("\x41\x5c\x0f\x05\x41\x54\xc3"), { { 2, 0 }, { 4, -8 }, { 1, 0 } }, ASM, false },
	  "20-22 r7+8\n22-26 r7+0 ra=v:r12+0\n26-27 r7+8\n" },
	{ "or dropped",
	  { BYTES("\x90\x90\x0f\x05\x90\x90\xc3"), { { 2, 0 }, { 4, -8 }, { 1, 0 } }, ASM, false },
	  "20-22 r7+8\n22-26 expr\n26-27 r7+8\n" },
	{ "one that saves the flags: it has interrupted its caller",
	  { BYTES("\x55\x48\x89\xe5\x9c\x90\x9d\x5d\xc3"),
	    { { 1, 0 }, { 4, 8 }, { 2, 16 }, { 1, 8 }, { 1, 0 } },
	    ASM,
	    false },
	  "20-21 r7+8 signal\n21-25 r7+16 r3=u r6=c-16 r12=u r13=u r15=u signal\n"
	  "25-27 r7+24 r3=u r6=c-16 r12=u r13=u r15=u signal\n"
	  "27-28 r7+16 r3=u r6=c-16 r12=u r13=u r15=u signal\n28-29 r7+8 signal\n" },
	{ "a depth that is no multiple of 8 ends the rows",
	  { BYTES("\x90\x90\x90"), { { 1, 0 }, { 1, 4 }, { 1, 0 } }, ASM, false },
	  "20-21 r7+8\n" },
	{ "a depth that goes on behind the function is cut",
	  { BYTES("\x90"), { { 1000, 0 } }, ASM, false },
	  "20-40 r7+8\n" },
};

/* Behind a usual function, which shows that the table is where it seems to be. */
static void functions_have_rows_of_their_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct go_builder_function functions[] = { frame, kinds[i].function };
		struct go_builder go = { .functions = functions,
					 .nr = 2,
					 .said_text = GO_BUILDER_TEXT };
		char want[4096];

		snprintf(want, sizeof(want), "%s%s", FRAME_ROWS, kinds[i].want);
		assert_rows(kinds[i].what, &go, want);
	}
}

static void a_switch_in_an_old_frame_ends_where_rbp_is_restored(void **state)
{
	/* OLD_FRAME with mov 56(%rdx), %rsp and mov %r12, %rsp between its halves */
	static const struct go_builder_function functions[] = {
		{ BYTES(OLD_FRAME), OLD_DEPTHS, 0, false },
		{ BYTES("\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10"
			"\x48\x8b\x62\x38\x4c\x89\xe4\x48\x8b\x6c\x24\x10\x48\x83\xc4\x18\xc3"),
		  { { 4, 0 }, { 26, 24 }, { 1, 0 } },
		  SPWRITE | ASM,
		  false },
	};
	struct go_builder go = {
		.functions = functions, .nr = 2, .old = true, .said_text = GO_BUILDER_TEXT
	};

	(void)state;
	assert_rows("nanotime1 of Go 1.18", &go,
		    OLD_ROWS "20-24 r7+8\n24-29 r7+32 r3=u r12=u r13=u r15=u\n"
			     "29-2f r7+32 r3=u r6=c-16 r12=u r13=u r15=u\n"
			     "2f-3a r6+16 r3=u r6=c-16 r12=u r13=u r15=u\n"
			     "3a-3e r7+32 r3=u r6=c-16 r12=u r13=u r15=u\n3e-3f r7+8\n");
}

/* mov %fs:-8, reg and back */
#define TLS_LOAD(modrm)	 "\x64\x48\x8b" modrm "\x25\xf8\xff\xff\xff"
#define TLS_STORE(modrm) "\x64\x48\x89" modrm "\x25\xf8\xff\xff\xff"

/* The relevant instructions of systemstack, with g.m at 48, m.curg at 192 and g.sched.sp at 56. */
#define SYSTEMSTACK_FROM     "\x49\x89\xd6\x48\x8b\x5a\x38\x48\x89\xdc\xff\xd7"
#define SYSTEMSTACK_G	     "\x48\x8b\x58\x30\x48\x8b\x83\xc0\0\0\0"
#define SYSTEMSTACK_SP(disp) "\x48\x8b\x60" disp "\x48\xc7\x40\x38\0\0\0\0\xc3"
#define SYSTEMSTACK \
	SYSTEMSTACK_FROM TLS_LOAD("\x04") SYSTEMSTACK_G TLS_STORE("\x04") SYSTEMSTACK_SP("\x38")
#define SYSTEMSTACK_ROWS "20-28 r7+8\n28-4a call:r14:48,192,56\n4a-56 r7+8\n"
#define MORESTACK                                                                              \
	"\x48\x8b\x04\x24\x48\x89\x46\x40\x48\x8d\x44\x24\x08\x48\x89\x46\x38\x48\x89\x6e\x68" \
	"\x48\x8b\x1b" TLS_STORE("\x1c") "\x48\x8b\x63\x38\xe8\0\0\0\0\xc3"

static const struct go_builder_function left[] = {
	{ BYTES(FRAME), FRAME_DEPTHS, 0, false },
	{ BYTES(SYSTEMSTACK), { { 54, 0 } }, SPWRITE | ASM, false },
	/* mcall */
	{ BYTES("\x48\x8b\x1c\x24\x49\x89\x5e\x40\x48\x8d\x5c\x24\x08\x49\x89\x5e\x38\x49\x89\x6e"
		"\x68"
		"\x49\x8b\x5e\x30\x49\x8b\x66\x38\x50\x4c\x8b\x22\x41\xff\xd4\x58\xe9\0\0\0\0\xc3"),
	  { { 43, 0 } },
	  SPWRITE | ASM,
	  false },
	{ BYTES(MORESTACK), { { 43, 0 } }, SPWRITE | ASM, false },
	/* asmcgocall: to the system stack, and on it already */
	{ BYTES("\x48\x8b\x44\x24\x08\x48\x8b\x5c\x24\x10\x48\x89\xe2"
		"\x48\x8b\x66\x38\x48\x83\xec\x40\x48\x83\xe4\xf0\x48\x89\x7c\x24\x30"
		"\x48\x8b\x7f\x08\x48\x29\xd7\x48\x89\x7c\x24\x28\xff\xd0"
		"\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28" TLS_STORE(
			"\x3c") "\x48\x89\xf4\xc3"
				"\x48\x83\xec\x40\x48\x83\xe4\xf0\x48\xc7\x44\x24\x30\0\0\0\0"
				"\x48\x89\x54\x24\x28\xff\xd0\x48\x8b\x74\x24\x28\x48\x89\xf4\xc3"),
	  { { 104, 0 } },
	  SPWRITE | ASM,
	  false },
};

static void functions_without_a_frame_find_back_as_they_do_themselves(void **state)
{
	struct go_builder go = { .functions = left,
				 .nr = ARRAY_SIZE(left),
				 .said_text = GO_BUILDER_TEXT };

	(void)state;
	assert_rows("Go 1.18 to 1.20", &go,
		    FRAME_ROWS SYSTEMSTACK_ROWS
		    "60-7a r7+8\n7a-8b r7+8 ra=u\n"
		    "a0-c2 r7+8\nc2-cb resume:r14:48,192,56\n"
		    "e0-ee r7+8\nee-106 r1+8\n106-124 height:r7+48+8\n124-128 r7+8\n"
		    "128-139 r1+8\n139-145 *(r7+40)+8\n145-148 r7+8\n");
}

static void the_way_back_is_known_by_the_whole_form_alone(void **state)
{
	static const struct {
		const char *what;
		struct go_builder_function function;
		const char *want;
	} cases[] = {
		{ "position-independent: the offset of g is loaded",
		  { BYTES(SYSTEMSTACK_FROM "\x48\x8b\x0d\1\2\3\4\x64\x48\x8b\x01" SYSTEMSTACK_G
					   "\x64\x48\x89\x01" SYSTEMSTACK_SP("\x38")),
		    { { 51, 0 } },
		    SPWRITE | ASM,
		    false },
		  "20-28 r7+8\n28-47 call:r14:48,192,56\n47-53 r7+8\n" },
		{ "what is loaded is not what is cleared",
		  { BYTES(SYSTEMSTACK_FROM TLS_LOAD("\x04") SYSTEMSTACK_G TLS_STORE("\x04")
				  SYSTEMSTACK_SP("\x40")),
		    { { 54, 0 } },
		    SPWRITE | ASM,
		    false },
		  "20-28 r7+8\n28-56 expr\n" },
		{ "g is stored from another register",
		  { BYTES(SYSTEMSTACK_FROM TLS_LOAD("\x04") SYSTEMSTACK_G TLS_STORE("\x0c")
				  SYSTEMSTACK_SP("\x38")),
		    { { 54, 0 } },
		    SPWRITE | ASM,
		    false },
		  "20-28 r7+8\n28-56 expr\n" },
		{ "morestack, where no systemstack says where g is",
		  { BYTES(MORESTACK), { { 43, 0 } }, SPWRITE | ASM, false },
		  "20-42 r7+8\n42-4b expr\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct go_builder_function functions[] = { frame, cases[i].function };
		struct go_builder go = { .functions = functions,
					 .nr = 2,
					 .said_text = GO_BUILDER_TEXT };
		char want[4096];

		snprintf(want, sizeof(want), "%s%s", FRAME_ROWS, cases[i].want);
		assert_rows(cases[i].what, &go, want);
	}
}

/* Cut anywhere, it is another function. */
static void half_a_function_is_not_read_behind_its_end(void **state)
{
	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(left); i++) {
		struct go_layout layout = { 48, 192, 56, true }, read;

		for (uint64_t size = 0; size < left[i].size; size++) {
			uint8_t *code = malloc(size ? size : 1);
			struct go_ways ways;

			assert_non_null(code);
			memcpy(code, left[i].code, size);
			go_ways_find(code, size, &layout, &ways);
			assert_true(ways.nr <= GO_STRETCHES_MAX);
			for (size_t w = 1; w < ways.nr; w++)
				assert_true(ways.list[w].from > ways.list[w - 1].from &&
					    ways.list[w].from <= size);
			assert_false(i == 1 && go_way_layout(code, size, &read));
			free(code);
		}
	}
}

static void the_function_a_program_begins_with_has_no_caller(void **state)
{
	static const struct go_builder_function functions[] = {
		{ BYTES("\xe9\0\0\0\0"), { { 5, 0 } }, ASM, false },
		{ BYTES(FRAME), FRAME_DEPTHS, 0, false },
	};
	struct go_builder go = { .functions = functions,
				 .nr = 2,
				 .said_text = GO_BUILDER_TEXT,
				 .entry = GO_BUILDER_TEXT };
	char text[4096];

	(void)state;
	rows_of(&go, text, sizeof(text));
	assert_memory_equal(text, "0-20 r7+8 ra=u\n20-21 r7+8\n", 26);
}

static void functions_are_where_their_code_shows_them(void **state)
{
	static const struct {
		const char *what;
		uint64_t said, module;
		const char *section;
		size_t table_off;
		const char *want;
	} cases[] = {
		{ "said by the header", GO_BUILDER_TEXT, 0, NULL, 0, FRAME_ROWS },
		{ "said by the module, since Go 1.26", 0, GO_BUILDER_TEXT, NULL, 0, FRAME_ROWS },
		{ "not said: .text", 0, 0, NULL, 0, FRAME_ROWS },
		{ "the header lies, the module does not", GO_BUILDER_TEXT - 16, GO_BUILDER_TEXT,
		  NULL, 0, FRAME_ROWS },
		{ "both lie", GO_BUILDER_TEXT - 16, GO_BUILDER_TEXT - 8, NULL, 0, FRAME_ROWS },
		{ "position-independent", GO_BUILDER_TEXT, 0, ".data.rel.ro.gopclntab", 0,
		  FRAME_ROWS },
		{ "and linked by another linker", GO_BUILDER_TEXT, 0, ".data.rel.ro", 40,
		  FRAME_ROWS },
		{ "in no section that is looked into", GO_BUILDER_TEXT, 0, ".data", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct go_builder go = { .functions = &frame,
					 .nr = 1,
					 .said_text = cases[i].said,
					 .module_text = cases[i].module,
					 .section = cases[i].section,
					 .table_off = cases[i].table_off };

		assert_rows(cases[i].what, &go, cases[i].want);
	}
}

static void a_table_that_the_code_gives_the_lie_is_not_believed(void **state)
{
	static const struct go_builder_function functions[] = {
		{ BYTES("\x90\x90\x90\xc3"), { { 1, 0 }, { 2, 8 }, { 1, 0 } }, 0, false },
		{ BYTES("\x90\x90\x90\xc3"), { { 1, 0 }, { 2, 8 }, { 1, 0 } }, 0, false },
		{ BYTES(FRAME), FRAME_DEPTHS, 0, false },
	};
	struct go_builder go = { .functions = functions, .nr = 3, .said_text = GO_BUILDER_TEXT };

	(void)state;
	assert_rows("two of three save nothing", &go, "");
}

/* Each byte of the table takes each of a few values: whatever it says, it is read to an end. */
static void a_damaged_table_does_no_harm(void **state)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	static const struct go_builder_function functions[] = {
		{ BYTES(FRAME), FRAME_DEPTHS, 0, false },
		{ BYTES("\x90\xe8\0\0\0\0\x90"), { { 7, 0 } }, TOPFRAME | ASM, false },
	};
	struct go_builder go = { .functions = functions, .nr = 2, .said_text = GO_BUILDER_TEXT };
	struct go_builder_bytes text = { .size = 0 }, table = { .size = 0 };
	struct elf_builder b;
	size_t off = 0;

	(void)state;
	go_builder_table(&go, &text, &table);
	go_builder_elf(&b, &go);
	while (memcmp(b.bytes + off, table.bytes, table.size) != 0)
		off++;
	for (size_t at = 0; at < table.size; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			struct table *compiled = NULL;
			struct elf_file *elf = NULL;

			b.bytes[off + at] = values[i];
			assert_int_equal(elf_file_from_memory(b.bytes, b.size, "go", &elf, NULL),
					 0);
			if (table_compile(elf, NULL, &patient_limits, &compiled, NULL) == 0)
				assert_int_equal(table_check(compiled, NULL), 0);
			table_destroy(compiled);
			elf_file_close(elf);
		}
		b.bytes[off + at] = table.bytes[at];
	}
	elf_builder_fini(&b);
}

/* Without any FDE: its names, and its code for readers, are by these. */
static void functions_of_the_table_are_functions_of_the_file(void **state)
{
	static const struct go_builder_function functions[] = {
		{ BYTES(FRAME), FRAME_DEPTHS, 0, false },
		{ BYTES(FRAME), FRAME_DEPTHS, 0, false },
	};
	const struct go_builder go = { .functions = functions,
				       .nr = 2,
				       .said_text = GO_BUILDER_TEXT };
	struct function_list list;
	struct vaddr_range first, second;
	struct elf_file *elf = NULL;
	struct elf_builder b;

	(void)state;
	go_builder_elf(&b, &go);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "go", &elf, NULL), 0);
	assert_int_equal(function_list_read(elf, NULL, &list, NULL), 0);
	assert_int_equal(list.nr, 2);
	assert_true(function_list_find(&list, GO_BUILDER_TEXT + 3, &first));
	assert_int_equal(first.start, GO_BUILDER_TEXT);
	assert_true(function_list_find(&list, first.end, &second));
	assert_int_equal(second.start, first.end);
	assert_false(function_list_find(&list, second.end, &first));
	function_list_fini(&list);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_found_by_the_depth_of_the_stack),
		cmocka_unit_test(functions_have_rows_of_their_kind),
		cmocka_unit_test(a_switch_in_an_old_frame_ends_where_rbp_is_restored),
		cmocka_unit_test(functions_without_a_frame_find_back_as_they_do_themselves),
		cmocka_unit_test(the_way_back_is_known_by_the_whole_form_alone),
		cmocka_unit_test(half_a_function_is_not_read_behind_its_end),
		cmocka_unit_test(functions_of_the_table_are_functions_of_the_file),
		cmocka_unit_test(the_function_a_program_begins_with_has_no_caller),
		cmocka_unit_test(functions_are_where_their_code_shows_them),
		cmocka_unit_test(a_table_that_the_code_gives_the_lie_is_not_believed),
		cmocka_unit_test(a_damaged_table_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
