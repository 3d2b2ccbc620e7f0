/* SPDX-License-Identifier: Apache-2.0 */
/* Rows made from code: one hole of a few instructions, what is said of each byte of it. */
#include "cmocka_all.h"

#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/synth/synth.h"

/* push %rbx; push %rbp; sub $0x18,%rsp; call . + 0x1000; add $0x18,%rsp; pop %rbp; pop %rbx; ret */
#define PUSHES                                                             \
	"\x53\x55\x48\x83\xec\x18\xe8\xfb\x0f\x00\x00\x48\x83\xc4\x18\x5d" \
	"\x5b\xc3"

/* sub $0x28,%rsp; mov %rbx,8(%rsp); mov %r12,0x10(%rsp); xor %ebx,%ebx; xor %r12d,%r12d; mov
 * 8(%rsp),%rbx; mov 0x10(%rsp),%r12; lea 0x28(%rsp),%rsp; ret */
#define STORES                                                             \
	"\x48\x83\xec\x28\x48\x89\x5c\x24\x08\x4c\x89\x64\x24\x10\x31\xdb" \
	"\x45\x31\xe4\x48\x8b\x5c\x24\x08\x4c\x8b\x64\x24\x10\x48\x8d\x64" \
	"\x24\x28\xc3"

/* push %rbp; mov %rsp,%rbp; and $-32,%rsp; sub $0x40,%rsp; mov %rbx,-8(%rbp); leave; ret */
#define FRAME                                                              \
	"\x55\x48\x89\xe5\x48\x83\xe4\xe0\x48\x83\xec\x40\x48\x89\x5d\xf8" \
	"\xc9\xc3"

/* mov %rsp,%rax; push %rbx; and $-64,%rsp; sub $0x80,%rsp; mov %rax,0x78(%rsp); xor %eax,%eax; mov
 * 0x78(%rsp),%rsp; ret */
#define ALIGNED                                                            \
	"\x48\x89\xe0\x53\x48\x83\xe4\xc0\x48\x81\xec\x80\x00\x00\x00\x48" \
	"\x89\x44\x24\x78\x31\xc0\x48\x8b\x64\x24\x78\xc3"

/* test %edi,%edi; je 1f; push %rbx; 1: nop; nop; pop %rax; ret */
#define DISAGREE "\x85\xff\x74\x01\x53\x90\x90\x58\xc3"

/* push %rbx; nop; ret */
#define UNBALANCED "\x53\x90\xc3"

/* push %rbx; test %edi,%edi; je 1f; pop %rbx; ret; 1: .byte 0x06 */
#define UNDECODABLE "\x53\x85\xff\x74\x02\x5b\xc3\x06"

/* lea 1f(%rip),%rax; movslq (%rax,%rdi,4),%rcx; add %rax,%rcx; push %rbx; jmp *%rcx; 2: pop %rbx;
 * ret; 3: nop; pop %rbx; ret; .balign 4; 1: .long 2b-1b; .long 3b-1b; .long 0x7fffffff */
#define TABLE                                                              \
	"\x48\x8d\x05\x11\x00\x00\x00\x48\x63\x0c\xb8\x48\x01\xc1\x53\xff" \
	"\xe1\x5b\xc3\x90\x5b\xc3\x66\x90\xf9\xff\xff\xff\xfb\xff\xff\xff" \
	"\xff\xff\xff\x7f"

/* mov %rsp,%rcx; and $-64,%rsp; call 1f; mov %rcx,%rsp; ret; 1: xor %eax,%eax; ret */
#define LOCAL                                                              \
	"\x48\x89\xe1\x48\x83\xe4\xc0\xe8\x04\x00\x00\x00\x48\x89\xcc\xc3" \
	"\x31\xc0\xc3"

/* mov %rsp,%rcx; and $-64,%rsp; call 1f; nop; mov %rcx,%rsp; ret; 1: xor %ecx,%ecx; ret */
#define CLOBBERING                                                         \
	"\x48\x89\xe1\x48\x83\xe4\xc0\xe8\x05\x00\x00\x00\x90\x48\x89\xcc" \
	"\xc3\x31\xc9\xc3"

/* test %edi,%edi; je 1f; push %rbx; call . + 0x1000; 1: nop; ret */
#define NORETURN "\x85\xff\x74\x06\x53\xe8\xfb\x0f\x00\x00\x90\xc3"

/* push %rbx; call 1f; call . + 0x1000; nopl 0(%rax,%rax); 1: ret */
#define PADDED                                                             \
	"\x53\xe8\x0a\x00\x00\x00\xe8\xfb\x0f\x00\x00\x0f\x1f\x44\x00\x00" \
	"\xc3"

/* push %rbx; call 2f; call 1f; pop %rbx; ret; nop; 1: push %rax; call 3f; xchg %ax,%ax; 2: ret; 3:
 * jmp 3b */
#define EXITS                                                              \
	"\x53\xe8\x10\x00\x00\x00\xe8\x03\x00\x00\x00\x5b\xc3\x90\x50\xe8" \
	"\x03\x00\x00\x00\x66\x90\xc3\xeb\xfe"

/* lea 1f(%rip),%rdi; jmp . + 0x1000; nopl 0(%rax); 1: push %rbx; pop %rbx; ret */
#define TAKEN                                                              \
	"\x48\x8d\x3d\x09\x00\x00\x00\xe9\xfb\x0f\x00\x00\x0f\x1f\x40\x00" \
	"\x53\x5b\xc3"

/* lea 1f(%rip),%rdi; jmp . + 0x1000; nopl 0(%rax); 1: endbr64; jmp *%rdx */
#define TAKEN_LANDING                                                      \
	"\x48\x8d\x3d\x09\x00\x00\x00\xe9\xfb\x0f\x00\x00\x0f\x1f\x40\x00" \
	"\xf3\x0f\x1e\xfa\xff\xe2"

/* push %rbx; lea 1f(%rip),%rdi; call 2f; nopl (%rax); 1: push %rbx; pop %rbx; ret; 4 of nop; 2: jmp
 * 2b */
#define TAKEN_BEHIND_EXIT                                                  \
	"\x53\x48\x8d\x3d\x08\x00\x00\x00\xe8\x0a\x00\x00\x00\x0f\x1f\x00" \
	"\x53\x5b\xc3\x90\x90\x90\x90\xeb\xfe"

/* test %edi,%edi; je 1f; push %rbx; call 2f; ud2; 1: ret; 2: push %rax; call . + 0x1000; ud2 */
#define ABORTS                                                             \
	"\x85\xff\x74\x08\x53\xe8\x03\x00\x00\x00\x0f\x0b\xc3\x50\xe8\xfb" \
	"\x0f\x00\x00\x0f\x0b"

/* test %edi,%edi; je 1f + 1; 1: mov $0xc3c3c3c3,%eax; ret */
#define MIDDLE "\x85\xff\x74\x01\xb8\xc3\xc3\xc3\xc3\xc3"

/* mov %rbx,-8(%rsp); xor %ebx,%ebx; sub $0x98,%rsp; nop; add $0x98,%rsp; xor %eax,%eax; ret */
#define REDZONE                                                            \
	"\x48\x89\x5c\x24\xf8\x31\xdb\x48\x81\xec\x98\x00\x00\x00\x90\x48" \
	"\x81\xc4\x98\x00\x00\x00\x31\xc0\xc3"

/* xchg %rsp,%rdi; nop; xchg %rsp,%rdi; ret */
#define SWAPPED "\x48\x87\xe7\x90\x48\x87\xe7\xc3"

/* push %rbx; mov $9,%ecx; 1: nop; loop 1b; pop %rbx; ret */
#define LOOP "\x53\xb9\x09\x00\x00\x00\x90\xe2\xfd\x5b\xc3"

/* 1: push %rax; dec %edi; jne 1b; ret */
#define GROWING "\x50\xff\xcf\x75\xfb\xc3"

/* push %rbx; pop %rbx; jmp . + 0x1000 */
#define TAIL "\x53\x5b\xe9\xfb\x0f\x00\x00"

/* push %rbp; mov %rsp,%rbp; push %rsi; call . + 0x1000; leave; pop %rcx; lea 8(%r15),%rsp; push
 * %rcx; ret */
#define POPS_ARGUMENTS                                                     \
	"\x55\x48\x89\xe5\x56\xe8\xfb\x0f\x00\x00\xc9\x59\x49\x8d\x67\x08" \
	"\x51\xc3"

/* pop %rcx; push $4; push $5; push %rcx; ret */
#define MOVES_RETURN "\x59\x6a\x04\x6a\x05\x51\xc3"

/* push %rbx; call . + 0x1000; mov $1,%ebp; lea (%rdi,%rdi),%rbp; ret */
#define COMPUTES "\x53\xe8\xfb\x0f\x00\x00\xbd\x01\x00\x00\x00\x48\x8d\x2c\x3f\xc3"

/* push %rbx; call . + 0x1000; mov (%rdi),%rbp; ret */
#define LOADS "\x53\xe8\xfb\x0f\x00\x00\x48\x8b\x2f\xc3"

/* push %rbx; call . + 0x1000; test %edi,%edi; je 1f; xor %ebp,%ebp; 1: nop; ret */
#define COMPUTES_OR_NOT "\x53\xe8\xfb\x0f\x00\x00\x85\xff\x74\x02\x31\xed\x90\xc3"

/* push %rbp; call . + 0x1000; test %edi,%edi; je 1f; mov %rsp,%rbp; 1: nop; push %rax; ret */
#define FRAME_OR_NOT "\x55\xe8\xfb\x0f\x00\x00\x85\xff\x74\x03\x48\x89\xe5\x90\x50\xc3"

/* push %rbx; jmp . + 0x1000 */
#define TAIL_DEEP "\x53\xe9\xfb\x0f\x00\x00"

/* lea 1f(%rip),%rax; movzwl 3f-1f(%rax,%rdi,2),%ecx; add %rax,%rcx; push %rbx; jmp *%rcx; 1: ud2;
 * 2: pop %rbx; ret; 4: nop; pop %rbx; ret; 3: .short 0, 2b-1b, 4b-1b, 0xffff */
#define SHORT_TABLE                                                        \
	"\x48\x8d\x05\x0e\x00\x00\x00\x0f\xb7\x8c\x78\x07\x00\x00\x00\x48" \
	"\x01\xc1\x53\xff\xe1\x0f\x0b\x5b\xc3\x90\x5b\xc3\x00\x00\x02\x00" \
	"\x04\x00\xff\xff"

/* As TABLE, but by lea -7(%rax,%rcx),%rcx */
#define LEA_TABLE                                                          \
	"\x48\x8d\x05\x15\x00\x00\x00\x48\x63\x0c\xb8\x53\x48\x8d\x8c\x08" \
	"\xf9\xff\xff\xff\xff\xe1\x5b\xc3\x90\x5b\xc3\x90\x01\x00\x00\x00" \
	"\x03\x00\x00\x00\xff\xff\xff\x7f"

/* cmp $1,%edi; je 5f; lea 3f(%rip),%rax; movslq (%rax,%rsi,4),%rcx; add %rax,%rcx; push %rbx; jmp
 * *%rcx; 1: pop %rbx; ret; 2: clc; pop %rbx; ret; 5: nop; nop; lea 4f(%rip),%rax; movslq
 * (%rax,%rsi,4),%rcx; add %rax,%rcx; jmp *%rcx; 6: nop; ret; 3: .long 0, 0, 0, 1b-3b; 4: .long
 * 2b-3b, 0, 0, 6b-4b, 0x7fffffff */
#define OVERLAPPING_TABLES                                                 \
	"\x83\xff\x01\x74\x16\x48\x8d\x05\x24\x00\x00\x00\x48\x63\x0c\xb0" \
	"\x48\x01\xc1\x53\xff\xe1\x5b\xc3\xf8\x5b\xc3\x90\x90\x48\x8d\x05" \
	"\x1c\x00\x00\x00\x48\x63\x0c\xb0\x48\x01\xc1\xff\xe1\x90\xc3\x90" \
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe6\xff\xff\xff" \
	"\xe8\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\xed\xff\xff\xff" \
	"\xff\xff\xff\x7f"

/* push %rbx; lea 1f(%rip),%r8; jmp 2f; 1: pop %rbx; ret; 2: call 3f; jmp *%r8; 3: xor %eax,%eax;
 * ret */
#define LABEL                                                              \
	"\x53\x4c\x8d\x05\x02\x00\x00\x00\xeb\x02\x5b\xc3\xe8\x03\x00\x00" \
	"\x00\x41\xff\xe0\x31\xc0\xc3"

/* sub $0x58,%rsp; lea 1f(%rip),%r8; call 2f; add $0x58,%rsp; ret; 1: nop; ret; 2: push %r8; xor
 * %r8d,%r8d; pop %rcx; jmp *%rcx */
#define PASSED_LABEL                                                       \
	"\x48\x83\xec\x58\x4c\x8d\x05\x0a\x00\x00\x00\xe8\x07\x00\x00\x00" \
	"\x48\x83\xc4\x58\xc3\x90\xc3\x41\x50\x45\x31\xc0\x59\xff\xe1"

/* push %rbx; lea 1f(%rip),%rax; call *%rax; pop %rbx; ret; 1: ret */
#define CALLED_LABEL "\x53\x48\x8d\x05\x04\x00\x00\x00\xff\xd0\x5b\xc3\xc3"

/* lea 3f(%rip),%rax; push %rbx; jmp *(%rax,%rdi,8); 1: pop %rbx; ret; 2: nop; pop %rbx; ret; 3:
 * .quad 1b, 2b, 0xffff, from the beginning */
#define ADDRESS_TABLE                                                      \
	"\x48\x8d\x05\x09\x00\x00\x00\x53\xff\x24\xf8\x5b\xc3\x90\x5b\xc3" \
	"\x0b\x00\x00\x00\x00\x00\x00\x00\x0d\x00\x00\x00\x00\x00\x00\x00" \
	"\xff\xff\x00\x00\x00\x00\x00\x00"

/* lea 3f(%rip),%rax; mov (%rax,%rdi,8),%rcx; push %rbx; jmp *%rcx; 1: pop %rbx; ret; 3: .quad 1b,
 * 0xffff */
#define LOADED_ADDRESS                                                     \
	"\x48\x8d\x05\x09\x00\x00\x00\x48\x8b\x0c\xf8\x53\xff\xe1\x5b\xc3" \
	"\x0e\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00"

/* lea 3f(%rip),%rax; movslq (%rax,%rdi,4),%r8; push %rbx; add %rax,%r8; call 4f; jmp *%r8; 1: pop
 * %rbx; ret; 4: xor %eax,%eax; ret; 3: .long 0, 0, 0, 1b-3b, 0x7fffffff */
#define TABLE_BEHIND_CALL                                                  \
	"\x48\x8d\x05\x15\x00\x00\x00\x4c\x63\x04\xb8\x53\x49\x01\xc0\xe8" \
	"\x05\x00\x00\x00\x41\xff\xe0\x5b\xc3\x31\xc0\xc3\x00\x00\x00\x00" \
	"\x00\x00\x00\x00\x00\x00\x00\x00\xfb\xff\xff\xff\xff\xff\xff\x7f"

#define CODE(bytes) bytes, sizeof(bytes) - 1

enum { TEXT = CFI_BUILDER_TEXT };

static void write_result(FILE *out, const struct synth_result *result)
{
	size_t row = 0;

	for (size_t gap = 0; gap <= result->nr_gaps; gap++) {
		for (; row < result->nr_rows && (gap == result->nr_gaps ||
						 result->rows[row].start < result->gaps[gap].start);
		     row++)
			cfi_builder_row_text(&result->rows[row], out);
		if (gap < result->nr_gaps)
			fprintf(out, "%" PRIx64 "-%" PRIx64 " %s%s\n",
				result->gaps[gap].start - TEXT, result->gaps[gap].end - TEXT,
				synth_reason_key(result->gaps[gap].reason),
				result->gaps[gap].fp_refuted ? " no_fp" : "");
	}
}

/* Reads of the file are served from the hole, in which the tables lie. */
static bool read_hole(void *ctx, uint64_t vaddr, void *to, size_t size)
{
	const struct synth_hole *hole = ctx;

	if (vaddr < hole->start || vaddr - hole->start > hole->size - size)
		return false;
	memcpy(to, hole->bytes + (vaddr - hole->start), size);
	return true;
}

/* Addresses count from the beginning of the hole. */
static bool read_word(void *ctx, uint64_t vaddr, uint64_t *ret)
{
	if (!read_hole(ctx, vaddr, ret, sizeof(*ret)))
		return false;
	*ret += TEXT;
	return true;
}

/* Analyse @code [size], entered at its first byte with @evidence. */
static void analyse(const char *code, size_t size, enum synth_evidence evidence, char *text,
		    size_t text_size)
{
	struct synth_hole hole = { TEXT, size, (const uint8_t *)code };
	struct synth_entry entry = { TEXT, (uint8_t)evidence };
	struct synth_input input = {
		.holes = &hole,
		.nr_holes = 1,
		.entries = &entry,
		.nr_entries = evidence != EVIDENCE_GUESS,
		.guesses = true,
		.read = read_hole,
		.word = read_word,
		.ctx = &hole,
	};
	struct synth_result result;
	struct fpl_err err = { 0 };
	struct budget budget;
	FILE *out = fmemopen(text, text_size, "w");

	budget_init(&budget, "test", &patient_limits);
	if (synth_analyse(&input, &budget, &result, &err))
		fail_msg("%s", err.msg);
	write_result(out, &result);
	fclose(out);
	synth_result_fini(&result);
}

static const struct {
	const char *what, *code;
	size_t size;
	enum synth_evidence evidence;
	const char *want;
} cases[] = {
	{ "registers on the stack", CODE(PUSHES), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-2 r7+16\n"
	  "2-6 r7+24\n"
	  "6-f r7+48\n"
	  "f-10 r7+24\n"
	  "10-11 r7+16\n"
	  "11-12 r7+8\n" },
	{ "registers stored in a frame", CODE(STORES), EVIDENCE_SYMBOL,
	  "0-4 r7+8\n"
	  "4-10 r7+48\n"
	  "10-13 r7+48 r3=c-40\n"
	  "13-18 r7+48 r3=c-40 r12=c-32\n"
	  "18-1d r7+48 r12=c-32\n"
	  "1d-22 r7+48\n"
	  "22-23 r7+8\n" },
	{ "a frame pointer and an aligned stack", CODE(FRAME), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-4 r7+16\n"
	  "4-11 r6+16 r6=c-16\n"
	  "11-12 r7+8\n" },
	{ "the old rsp in the aligned frame", CODE(ALIGNED), EVIDENCE_SYMBOL,
	  "0-4 r7+8\n"
	  "4-8 r7+16\n"
	  "8-16 r0+8\n"
	  "16-1b *(r7+120)+8\n"
	  "1b-1c r7+8\n" },
	{ "paths with stacks of different depth", CODE(DISAGREE), EVIDENCE_SYMBOL,
	  "0-5 r7+8\n"
	  "5-9 bad_end no_fp\n" },
	{ "a return that does not return", CODE(UNBALANCED), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-3 r7+16\n" },
	{ "no instruction on one path", CODE(UNDECODABLE), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-6 r7+16\n"
	  "6-7 r7+8\n"
	  "7-8 bad_end no_fp\n" },
	{ "a jump by table", CODE(TABLE), EVIDENCE_SYMBOL,
	  "0-f r7+8\n"
	  "f-12 r7+16\n"
	  "12-13 r7+8\n"
	  "13-15 r7+16\n"
	  "15-16 r7+8\n"
	  "16-18 filler\n"
	  "18-24 no_entry\n" },
	{ "a jump by table of 16 bits", CODE(SHORT_TABLE), EVIDENCE_SYMBOL,
	  "0-13 r7+8\n"
	  "13-15 r7+16\n"
	  "15-17 no_entry\n"
	  "17-18 r7+16\n"
	  "18-19 r7+8\n"
	  "19-1b r7+16\n"
	  "1b-1c r7+8\n"
	  "1c-1e filler\n"
	  "1e-24 no_entry\n" },
	{ "a jump by table, added by lea", CODE(LEA_TABLE), EVIDENCE_SYMBOL,
	  "0-c r7+8\n"
	  "c-17 r7+16\n"
	  "17-18 r7+8\n"
	  "18-1a r7+16\n"
	  "1a-1b r7+8\n"
	  "1b-1c filler\n"
	  "1c-28 no_entry\n" },
	{ "the end of a table in the unused beginning of the next", CODE(OVERLAPPING_TABLES),
	  EVIDENCE_SYMBOL,
	  "0-14 r7+8\n"
	  "14-17 r7+16\n"
	  "17-18 r7+8\n"
	  "18-1a r7+16\n"
	  "1a-2f r7+8\n"
	  "2f-3c filler\n"
	  "3c-54 no_entry\n" },
	{ "a jump by table of addresses", CODE(ADDRESS_TABLE), EVIDENCE_SYMBOL,
	  "0-8 r7+8\n"
	  "8-c r7+16\n"
	  "c-d r7+8\n"
	  "d-f r7+16\n"
	  "f-10 r7+8\n"
	  "10-28 no_entry\n" },
	{ "an address out of a table", CODE(LOADED_ADDRESS), EVIDENCE_SYMBOL,
	  "0-c r7+8\n"
	  "c-f r7+16\n"
	  "f-10 r7+8\n"
	  "10-20 no_entry\n" },
	{ "a jump by table behind a local call", CODE(TABLE_BEHIND_CALL), EVIDENCE_SYMBOL,
	  "0-c r7+8\n"
	  "c-18 r7+16\n"
	  "18-1c r7+8\n"
	  "1c-28 filler\n"
	  "28-30 no_entry\n" },
	{ "a label in a register", CODE(LABEL), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-b r7+16\n"
	  "b-c r7+8\n"
	  "c-14 r7+16\n"
	  "14-17 r7+8\n" },
	{ "a label in a register, on the stack, in another, of a callee", CODE(PASSED_LABEL),
	  EVIDENCE_SYMBOL,
	  "0-4 r7+8\n"
	  "4-14 r7+96\n"
	  "14-19 r7+8\n"
	  "19-1d r7+16\n"
	  "1d-1f r7+8\n" },
	{ "a call of a label in a register", CODE(CALLED_LABEL), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-b r7+16\n"
	  "b-d r7+8\n" },
	{ "the old rsp in a register that a callee keeps", CODE(LOCAL), EVIDENCE_SYMBOL,
	  "0-7 r7+8\n"
	  "7-f r2+8\n"
	  "f-10 r7+8\n"
	  "10-13 r7+8 r2=v:r2+0\n" },
	{ "a callee that does not keep it", CODE(CLOBBERING), EVIDENCE_SYMBOL,
	  "0-7 r7+8\n"
	  "7-11 bad_end no_fp\n"
	  "11-14 r7+8\n" },
	{ "a call that does not come back, by what is behind it", CODE(NORETURN), EVIDENCE_SYMBOL,
	  "0-5 r7+8\n"
	  "5-a r7+16\n"
	  "a-c r7+8\n" },
	{ "likewise, by the function behind the padding", CODE(PADDED), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-b r7+16\n"
	  "b-10 no_entry\n"
	  "10-11 r7+8\n" },
	{ "a callee that ends nowhere, and one behind it that does", CODE(EXITS), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-b r7+16\n"
	  "b-d no_entry\n"
	  "d-e filler\n"
	  "e-f r7+8\n"
	  "f-14 r7+16\n"
	  "14-16 no_entry\n"
	  "16-19 r7+8\n" },
	{ "a function the address of which is taken", CODE(TAKEN), EVIDENCE_SYMBOL,
	  "0-c r7+8\n"
	  "c-10 filler\n"
	  "10-11 r7+8\n"
	  "11-12 r7+16\n"
	  "12-13 r7+8\n" },
	{ "likewise, which jumps on by register: endbr64 tells", CODE(TAKEN_LANDING),
	  EVIDENCE_SYMBOL,
	  "0-c r7+8\n"
	  "c-10 filler\n"
	  "10-16 r7+8\n" },
	{ "likewise, behind a call that does not come back", CODE(TAKEN_BEHIND_EXIT),
	  EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-d r7+16\n"
	  "d-10 no_entry\n"
	  "10-11 r7+8\n"
	  "11-12 r7+16\n"
	  "12-13 r7+8\n"
	  "13-17 filler\n"
	  "17-19 r7+8\n" },
	{ "a callee that ends nowhere", CODE(ABORTS), EVIDENCE_SYMBOL,
	  "0-5 r7+8\n"
	  "5-a r7+16\n"
	  "a-c no_entry\n"
	  "c-e r7+8\n"
	  "e-15 r7+16\n" },
	{ "instructions that overlap", CODE(MIDDLE), EVIDENCE_SYMBOL,
	  "0-4 r7+8\n"
	  "4-9 overlap no_fp\n"
	  "9-a r7+8\n" },
	{ "a register saved below the stack pointer", CODE(REDZONE), EVIDENCE_SYMBOL,
	  "0-7 r7+8\n"
	  "7-e r7+8 r3=c-16\n"
	  "e-16 r7+160 r3=c-16\n"
	  "16-19 r7+8 r3=c-16\n" },
	{ "rsp in another register", CODE(SWAPPED), EVIDENCE_SYMBOL,
	  "0-3 r7+8\n"
	  "3-7 r5+8\n"
	  "7-8 r7+8\n" },
	{ "a loop", CODE(LOOP), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-a r7+16\n"
	  "a-b r7+8\n" },
	{ "a loop that pushes", CODE(GROWING), EVIDENCE_SYMBOL, "0-6 bad_end no_fp\n" },
	{ "a jump to a function elsewhere", CODE(TAIL), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-2 r7+16\n"
	  "2-7 r7+8\n" },
	{ "a jump elsewhere with something on the stack", CODE(TAIL_DEEP), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-6 r7+16\n" },
	{ "a return that pops arguments, too", CODE(POPS_ARGUMENTS), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-4 r7+16\n"
	  "4-a r6+16 r6=c-16\n"
	  "a-b bad_end\n"
	  "b-12 bad_end no_fp\n" },
	{ "a return address that is moved", CODE(MOVES_RETURN), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-7 bad_end no_fp\n" },
	{ "a frame pointer that is computed with", CODE(COMPUTES), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-6 r7+16\n"
	  "6-10 bad_end no_fp\n" },
	{ "a frame pointer that is loaded", CODE(LOADS), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-6 r7+16\n"
	  "6-9 bad_end no_fp\n"
	  "9-a bad_end\n" },
	{ "computed with on one path, the caller's on the other", CODE(COMPUTES_OR_NOT),
	  EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-6 r7+16\n"
	  "6-e bad_end no_fp\n" },
	{ "a frame pointer on one path only", CODE(FRAME_OR_NOT), EVIDENCE_SYMBOL,
	  "0-1 r7+8\n"
	  "1-6 r7+16\n"
	  "6-d bad_end no_fp\n"
	  "d-10 bad_end\n" },
	{ "a guess that returns", CODE(PUSHES), EVIDENCE_GUESS,
	  "0-1 r7+8\n"
	  "1-2 r7+16\n"
	  "2-6 r7+24\n"
	  "6-f r7+48\n"
	  "f-10 r7+24\n"
	  "10-11 r7+16\n"
	  "11-12 r7+8\n" },
	{ "a guess that never does", CODE("\x90\x0f\x0b"), EVIDENCE_GUESS,
	  "0-1 filler\n"
	  "1-3 guess no_fp\n" },
	{ "a guess of which a path ends in nonsense", CODE(UNDECODABLE), EVIDENCE_GUESS,
	  "0-8 guess no_fp\n" },
	{ "an address in data, and no function", CODE("\xff\xe0"), EVIDENCE_DATA,
	  "0-2 guess no_fp\n" },
	{ "a symbol at the same", CODE("\xff\xe0"), EVIDENCE_SYMBOL, "0-2 r7+8\n" },
};

static void rows_say_where_the_frame_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[2048] = "";

		analyse(cases[i].code, cases[i].size, cases[i].evidence, text, sizeof(text));
		if (strcmp(text, cases[i].want) != 0)
			fail_msg("%s: got\n%s", cases[i].what, text);
	}
}

/*
 * As a part that compilers split off a function, of which no symbol is left: it takes registers
 * from a stack that it did not put them on, and jumps to a function that is known.
 */
static void a_guess_is_no_part_of_a_function_that_it_jumps_to(void **state)
{
	static const uint8_t part[] = { 0x31, 0xc0,			/* xor %eax,%eax */
					0x5b, 0x5d, 0x41, 0x5c,		/* pop %rbx, %rbp, %r12 */
					0xe9, 0xf5, 0x00, 0x00, 0x00 }; /* jmp 0x1100 */
	static const uint8_t known[] = { 0x53, 0x5b, 0xc3 };		/* push, pop %rbx; ret */
	static const struct synth_hole holes[] = { { 0x1000, sizeof(part), part },
						   { 0x1100, sizeof(known), known } };
	static const struct synth_entry entry = { 0x1100, EVIDENCE_SYMBOL };
	const struct synth_input input = {
		.holes = holes,
		.nr_holes = 2,
		.entries = &entry,
		.nr_entries = 1,
		.guesses = true,
	};
	struct synth_result result;
	struct fpl_err err = { 0 };
	struct budget budget;

	(void)state;
	budget_init(&budget, "test", &patient_limits);
	assert_int_equal(synth_analyse(&input, &budget, &result, &err), 0);
	assert_int_equal(result.row_bytes, sizeof(known));
	assert_int_equal(result.rows[0].start, 0x1100);
	synth_result_fini(&result);
}

/*
 * Each of many labels is pushed, and a loop that pushes moves it away without end: 1: lea 2f(%rip),
 * %rax; push %rax, again and again; then 3: push %rcx; jne 3b; 2: jmp *%rax.
 */
static void labels_in_a_loop_cost_no_more_than_they_may(void **state)
{
	enum { NR_LABELS = 1000, LABEL_BYTES = 8, SIZE = NR_LABELS * LABEL_BYTES + 5 };
	static const uint8_t lea[] = { 0x48, 0x8d, 0x05 },
			     loop[] = { 0x51, 0x75, 0xfd, 0xff, 0xe0 };
	static uint8_t code[SIZE];
	const struct synth_hole hole = { 0x1000, SIZE, code };
	const struct synth_entry entry = { 0x1000, EVIDENCE_SYMBOL };
	const struct synth_input input = {
		.holes = &hole, .nr_holes = 1, .entries = &entry, .nr_entries = 1
	};
	struct synth_result result;
	struct fpl_err err = { 0 };
	struct budget budget;

	(void)state;
	for (uint32_t i = 0; i < NR_LABELS; i++) {
		uint8_t *at = code + (size_t)i * LABEL_BYTES;
		uint32_t distance = SIZE - 2 - (i * LABEL_BYTES + LABEL_BYTES - 1);

		memcpy(at, lea, sizeof(lea));
		memcpy(at + sizeof(lea), &distance, sizeof(distance));
		at[LABEL_BYTES - 1] = 0x50;
	}
	memcpy(code + SIZE - sizeof(loop), loop, sizeof(loop));
	budget_init(&budget, "test", &patient_limits);
	if (synth_analyse(&input, &budget, &result, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(result.instructions, 2 * NR_LABELS + 3);
	/* 700,000; 2.2 million, all that is allowed, where facts of one label share a few places */
	assert_in_range(result.label_probes, 1, 1000000);
	synth_result_fini(&result);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_say_where_the_frame_is),
		cmocka_unit_test(a_guess_is_no_part_of_a_function_that_it_jumps_to),
		cmocka_unit_test(labels_in_a_loop_cost_no_more_than_they_may),
	};

	return cmocka_run_group_tests_name("synth", tests, NULL, NULL);
}
