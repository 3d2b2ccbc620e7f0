/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/ocaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/arch_x86_64.h"
#include "unwind/synth/functions.h"

enum { STUBS_MAX = 256 }; /* of one FDE */

/* Opcodes, and the sizes of instructions. */
enum { CALL = 0xe8, JUMP = 0xe9, JUMP_SHORT = 0xeb, CALL_SIZE = 5, JUMP_SIZE = 5 };
enum { SHORT_SIZE = 2, BRANCH_SIZE = 6 };
enum { CUT_SIZE = 4, POP_SIZE = 4 };

/* Instructions of a raise; those with an offset from r14 end in one more byte, the offset. */
static const uint8_t cut_stack[] = { 0x49, 0x8b, 0x66 };		/* mov D(%r14),%rsp */
static const uint8_t pop_handler[] = { 0x41, 0x8f, 0x46 };		/* pop D(%r14) */
static const uint8_t young_pointer[] = { 0x4d, 0x8b, 0x7e };		/* mov E(%r14),%r15 */
static const uint8_t ret_code[] = { 0xc3 };				/* ret */
static const uint8_t pop_and_jump[] = { 0x41, 0x5b, 0x41, 0xff, 0xe3 }; /* pop, jmp by r11 */
enum { POP_R11_SIZE = 2 };

struct stub {
	uint64_t start, end;			     /* vaddr */
	uint64_t back;				     /* behind the branch that leads to the stub */
	struct cfi_row at_start, at_branch, at_back; /* cfa NONE: none yet */
};

struct ocaml_search {
	struct cfi_file *file;	      /* borrowed */
	struct stub stubs[STUBS_MAX]; /* of one FDE */
	size_t nr_stubs;
};

static int64_t distance(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Does the branch that ends at @back of @code lead to @to? */
static bool branches_to(const uint8_t *code, uint64_t back, uint64_t to)
{
	if (back >= SHORT_SIZE && (code[back - 2] & 0xf0) == 0x70 &&
	    back + (uint64_t)(int8_t)code[back - 1] == to)
		return true;
	return back >= BRANCH_SIZE && code[back - 6] == 0x0f && (code[back - 5] & 0xf0) == 0x80 &&
	       back + (uint64_t)distance(code + back - 4) == to;
}

/* Is there a stub at @at of @code [size]? *ret: by offsets. */
static bool read_stub(const uint8_t *code, uint64_t size, uint64_t at, struct stub *ret)
{
	uint64_t jump = at + CALL_SIZE, end, back;

	if (code[at] != CALL || size - at < CALL_SIZE + SHORT_SIZE)
		return false;
	if (code[jump] == JUMP_SHORT) {
		end = jump + SHORT_SIZE;
		back = end + (uint64_t)(int8_t)code[jump + 1];
	} else if (code[jump] == JUMP && size - jump >= JUMP_SIZE) {
		end = jump + JUMP_SIZE;
		back = end + (uint64_t)distance(code + jump + 1);
	} else {
		return false;
	}
	if (back >= size || !branches_to(code, back, at))
		return false;
	*ret = (struct stub){ .start = at, .end = end, .back = back };
	return true;
}

static bool is_at(const uint8_t *code, uint64_t size, uint64_t at, const uint8_t *want,
		  size_t want_size)
{
	return at <= size && size - at >= want_size && !memcmp(code + at, want, want_size);
}
#define IS_AT(code, size, at, want) is_at(code, size, at, want, sizeof(want))

/*
 * Is the rest of a raise at @pop of @code [size], behind the instruction that cuts the stack?
 * Returns the offset up to which the handler's address is on top of the stack; 0: no raise.
 */
static uint64_t read_raise(const uint8_t *code, uint64_t size, uint64_t pop)
{
	uint64_t at = pop + POP_SIZE;

	if (!IS_AT(code, size, pop, pop_handler) || at > size || code[at - 1] != code[pop - 1])
		return 0;
	if (IS_AT(code, size, at, pop_and_jump))
		return at + POP_R11_SIZE;
	if (IS_AT(code, size, at, young_pointer))
		at += sizeof(young_pointer) + 1;
	return IS_AT(code, size, at, ret_code) ? at + sizeof(ret_code) : 0;
}

static void find_stubs(struct ocaml_search *search, const uint8_t *code, uint64_t size,
		       uint64_t vaddr)
{
	const uint8_t *call = memchr(code, CALL, size);

	search->nr_stubs = 0;
	while (call && search->nr_stubs < STUBS_MAX) {
		uint64_t at = (uint64_t)(call - code);
		struct stub *stub = &search->stubs[search->nr_stubs];

		if (read_stub(code, size, at, stub)) {
			stub->start += vaddr;
			stub->end += vaddr;
			stub->back += vaddr;
			search->nr_stubs++;
		}
		call = memchr(call + 1, CALL, size - at - 1);
	}
}

static bool covers(const struct cfi_row *row, uint64_t start, uint64_t end)
{
	return row->start <= start && end <= row->end;
}

static int note_row(const struct cfi_row *row, void *ctx)
{
	struct ocaml_search *search = ctx;

	for (size_t i = 0; i < search->nr_stubs; i++) {
		struct stub *stub = &search->stubs[i];

		if (covers(row, stub->start, stub->end))
			stub->at_start = *row;
		if (covers(row, stub->back - 1, stub->back))
			stub->at_branch = *row;
		if (covers(row, stub->back, stub->back + 1))
			stub->at_back = *row;
	}
	return 0;
}

static bool is_by_sp(const struct cfi_row *row)
{
	return row->cfa == FPL_CFA_REG && row->cfa_reg == ARCH_SP;
}

/* Do the rows around the stub agree with each other, and not with its own? */
static bool is_wrong(const struct stub *stub)
{
	return is_by_sp(&stub->at_start) && is_by_sp(&stub->at_branch) &&
	       is_by_sp(&stub->at_back) && stub->at_branch.cfa_off == stub->at_back.cfa_off &&
	       stub->at_start.cfa_off != stub->at_back.cfa_off;
}

static int mend(struct ocaml_search *search, struct mended_fact fact, struct fpl_err *err)
{
	return synth_mend(search->file, &fact, err);
}

static int mend_stubs(struct ocaml_search *search, struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < search->nr_stubs && code == 0; i++) {
		const struct stub *stub = &search->stubs[i];

		if (is_wrong(stub))
			code = mend(search,
				    (struct mended_fact){ .start = stub->start,
							  .end = stub->end,
							  .cfa_off = stub->at_back.cfa_off },
				    err);
	}
	return code;
}

/* The stack holds the previous handler, then the address at which this one begins. */
static int mend_raises(struct ocaml_search *search, const uint8_t *code, uint64_t size,
		       uint64_t vaddr, struct fpl_err *err)
{
	const uint8_t *end = code + size;
	const uint8_t *cut = memmem(code, size, cut_stack, sizeof(cut_stack));
	int status = 0;

	while (cut && status == 0) {
		uint64_t pop = (uint64_t)(cut - code) + CUT_SIZE;
		uint64_t left = read_raise(code, size, pop);

		if (left) {
			struct mended_fact fact = { .start = vaddr + pop,
						    .end = vaddr + pop + POP_SIZE,
						    .cfa_off = 16,
						    .is_raise = true };

			status = mend(search, fact, err);
			fact.start = fact.end;
			fact.end = vaddr + left;
			fact.cfa_off = 8;
			if (status == 0)
				status = mend(search, fact, err);
		}
		cut++;
		cut = memmem(cut, (size_t)(end - cut), cut_stack, sizeof(cut_stack));
	}
	return status;
}

static int look_at(void *ctx, const struct cfi_fde *fde, const uint8_t *bytes, uint64_t size,
		   struct fpl_err *err)
{
	struct ocaml_search *search = ctx;
	struct cfi_file *file = search->file;
	uint64_t end;
	int status = mend_raises(search, bytes, size, fde->start, err);

	if (status)
		return status;
	find_stubs(search, bytes, size, fde->start);
	if (search->nr_stubs == 0)
		return 0;
	status = cfa_program_run(&file->machine, &file->list.cies[fde->cie], fde, fde->start,
				 fde->end, note_row, search, &end, err);
	return status < 0 ? status : mend_stubs(search, err);
}

int synth_mend_ocaml(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	/* most files need none of its memory, so it is not cleared */
	AUTO_FREE struct ocaml_search *search = malloc(sizeof(*search));

	if (!search)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	search->file = file;
	search->nr_stubs = 0;
	return synth_functions_for_each(file, elf, SYNTH_NAME("caml_call_gc"), look_at, search,
					err);
}
