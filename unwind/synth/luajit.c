/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/luajit.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/arch_x86_64.h"
#include "unwind/synth/functions.h"
#include "unwind/synth/op.h"

enum { FRAME_MAX = 120, NEAR = 256 }; /* bytes of a frame; of code between two marks */
enum { TOP = 8, TRACE_BYTES = 16 };   /* at the beginning of a function; what a trace adds */

/* push r13, r12, r11, r10, r9, r8, rdi, rsi, rbp; lea rbp, [rsp+88]; push rbp, rbx, rdx, rcx, rax
 */
static const uint8_t push_all[] = { 0x41, 0x55, 0x41, 0x54, 0x41, 0x53, 0x41, 0x52, 0x41,
				    0x51, 0x41, 0x50, 0x57, 0x56, 0x55, 0x48, 0x8d, 0x6c,
				    0x24, 0x58, 0x55, 0x53, 0x52, 0x51, 0x50 };
static const uint8_t load_thread[] = { 0x49, 0x8b, 0xae };	/* mov rbp, [r14 + d32] */
static const uint8_t load_base[] = { 0x49, 0x8b, 0x96 };	/* mov rdx, [r14 + d32] */
static const uint8_t load_frame[] = { 0x48, 0x8b, 0x4d };	/* mov rcx, [rbp + d8] */
static const uint8_t drop_flags[] = { 0x48, 0x83, 0xe1, 0xfc }; /* and rcx, -4 */
/* mov r13, [rcx-8]; mov r12, [rcx]; mov rsp, rcx */
static const uint8_t go_back[] = { 0x4c, 0x8b, 0x69, 0xf8, 0x4c, 0x8b, 0x21, 0x48, 0x89, 0xcc };
/* push rbx; push r15; push r14; sub rsp, i8 */
static const uint8_t enter[] = { 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec };
enum { PUSH_RBP = 0x55, ENTERED = 5 * 8 };
static const uint8_t raise_sp[] = { 0x48, 0x83, 0xc4 }; /* add rsp, i8 */
/* pop r14; pop r15; pop rbx; pop rbp; ret */
static const uint8_t leave[] = { 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3 };
/* sub rsp, 16; mov [rsp+16], r12; mov [rsp+8], r13; jmp rax */
static const uint8_t into_trace[] = { 0x48, 0x83, 0xec, 0x10, 0x4c, 0x89, 0x64, 0x24,
				      0x10, 0x4c, 0x89, 0x6c, 0x24, 0x08, 0xff, 0xe0 };
/* neg esi; call, which does not return */
static const uint8_t rethrow[] = { 0xf7, 0xde, 0xe8 };
enum { RETHROW_SIZE = 7 };

/* The interpreter's code: offsets count from its beginning. */
struct vm {
	struct cfi_file *file; /* borrowed */
	const uint8_t *code;   /* borrowed [size] */
	size_t size;
	uint64_t vaddr;
	struct cfi_row row; /* the only one */
	struct fpl_err *err;
};

enum { NOT_FOUND = -1 };

static int64_t find(const struct vm *vm, size_t from, size_t nr, const uint8_t *want, size_t size)
{
	const uint8_t *found;

	if (from > vm->size)
		return NOT_FOUND;
	if (nr > vm->size - from)
		nr = vm->size - from;
	found = memmem(vm->code + from, nr, want, size);
	return found ? found - vm->code : NOT_FOUND;
}
#define FIND(vm, from, nr, want) find(vm, (size_t)(from), nr, want, sizeof(want))

static bool is_at(const struct vm *vm, size_t at, const uint8_t *want, size_t size)
{
	return at <= vm->size && vm->size - at >= size && !memcmp(vm->code + at, want, size);
}
#define IS_AT(vm, at, want) is_at(vm, (size_t)(at), want, sizeof(want))

static int32_t number(const struct vm *vm, size_t at)
{
	int32_t value;

	memcpy(&value, vm->code + at, sizeof(value));
	return value;
}

/* Code of @size bytes from @at on has CFA = rsp + @cfa_off. */
static int mend(const struct vm *vm, size_t at, size_t size, int64_t cfa_off)
{
	const struct mended_fact fact = { .start = vm->vaddr + at,
					  .end = vm->vaddr + at + size,
					  .cfa_off = cfa_off };

	return synth_mend(vm->file, &fact, vm->err);
}

/* Does an entry read the frame before it from @off of the thread, and keep it where
 * LUAJIT_BEFORE_OFF says? mov r15, [rbp + @off]; mov [rsp+32], r15 */
static bool is_chained(const struct vm *vm, uint8_t off)
{
	const uint8_t chain[] = { 0x4c, 0x8b, 0x7d, off, 0x4c, 0x89, 0x7c, 0x24, 0x20 };

	return FIND(vm, 0, vm->size, chain) >= 0;
}

/*
 * The way out of a trace begins at @at. The word behind that of the thread is the base of the
 * stack of a trace that runs, else 0: regions rely on its place (bpf/walk_luajit.h).
 */
static int mend_exit(const struct vm *vm, size_t at)
{
	int64_t thread = FIND(vm, at, NEAR, load_thread), frame, back;
	struct mended_fact fact = { .start = vm->vaddr + at };
	uint8_t off;

	if (thread < 0 || (size_t)thread + 14 > vm->size || !IS_AT(vm, thread + 7, load_base))
		return 0;
	fact.cfa_off = number(vm, (size_t)thread + 3);
	frame = FIND(vm, thread, NEAR, drop_flags);
	if (number(vm, (size_t)thread + 10) != fact.cfa_off + 8 || frame < 4 ||
	    !IS_AT(vm, frame - 4, load_frame))
		return 0;
	off = vm->code[frame - 1];
	back = FIND(vm, frame, NEAR, go_back);
	if (!off || off > INT8_MAX || off % 8 || back < 0 || !is_chained(vm, off))
		return 0;
	fact.frame_off = off;
	fact.end = vm->vaddr + (uint64_t)back + sizeof(go_back);
	return synth_mend(vm->file, &fact, vm->err);
}

/* By how much @op lowers rsp; false: nothing says that. */
static bool lowers_by(const struct synth_op *op, int64_t *ret)
{
	bool sets = op->kind == OP_ADD || op->kind == OP_ALIGN || op->kind == OP_MOVE ||
		    op->kind == OP_LEA || op->kind == OP_LOAD;

	*ret = 0;
	if (op->kind == OP_PUSH || op->kind == OP_PUSH_OTHER)
		*ret = 8;
	else if (op->kind == OP_POP || op->kind == OP_POP_OTHER)
		*ret = -8;
	return op->kind != OP_BAD && op->kind != OP_LEAVE && !(sets && op->dst == ARCH_SP) &&
	       !(op->clobbers >> ARCH_SP & 1);
}

/* Mend the code [@at, @end): functions, up to an instruction that moves rsp in another way than by
 * push and pop. */
static int mend_functions(const struct vm *vm, struct synth_decoder *decoder, size_t at, size_t end)
{
	int64_t depth = TOP, more = 0;
	size_t from = at;
	int code = 0;

	while (at < end && !code) {
		struct synth_op op;

		synth_decode(decoder, vm->code + at, end - at, vm->vaddr + at, &op);
		if (!lowers_by(&op, &more) || depth + more < TOP ||
		    (op.kind == OP_RETURN && depth != TOP))
			break;
		at += op.size;
		if (more) {
			code = mend(vm, from, at - from, depth);
			from = at;
			depth += more;
		}
	}
	return code || from == at ? code : mend(vm, from, at - from, depth);
}

/* Behind the way out from @at on, and before the next entry, there are functions that traces call.
 */
static int mend_called(const struct vm *vm, size_t at)
{
	int64_t thrown = FIND(vm, at, 2 * NEAR, rethrow), entry;
	struct synth_decoder *decoder;
	int code;

	if (thrown < 0)
		return 0;
	decoder = synth_decoder_create();
	if (!decoder)
		return fpl_fail(vm->err, -ENOMEM, "%s: out of memory", vm->file->budget.name);
	at = (size_t)thrown + RETHROW_SIZE;
	entry = FIND(vm, at, vm->size, enter);
	code = mend_functions(vm, decoder, at, entry < 0 ? vm->size : (size_t)entry);
	synth_decoder_destroy(decoder);
	return code;
}

/* A piece of code, from a place on, in which the CFA is @cfa_off above rsp. */
struct piece {
	int8_t at;
	uint8_t size, cfa_off;
};

static int mend_pieces(const struct vm *vm, size_t at, const struct piece *pieces, size_t nr)
{
	int code = 0;

	for (size_t i = 0; !code && i < nr; i++)
		code = mend(vm, at + (size_t)pieces[i].at, pieces[i].size, pieces[i].cfa_off);
	return code;
}

/* Mend the entry that saves registers from @at on, behind rbp, which a stub may have saved. */
static int mend_enter(const struct vm *vm, size_t at)
{
	static const struct piece pieces[] = {
		{ -1, 1, TOP },	    { 0, 1, TOP + 8 }, { 1, 2, TOP + 16 },
		{ 3, 2, TOP + 24 }, { 5, 4, ENTERED },
	};
	bool has_push = at && vm->code[at - 1] == PUSH_RBP;

	if (at + sizeof(enter) >= vm->size ||
	    vm->code[at + sizeof(enter)] + ENTERED != vm->row.cfa_off)
		return 0;
	return mend_pieces(vm, at, pieces + !has_push, ARRAY_SIZE(pieces) - !has_push);
}

/* Mend the way back, which restores them from @at on. */
static int mend_leave(const struct vm *vm, size_t at)
{
	static const struct piece pieces[] = {
		{ 0, 2, ENTERED }, { 2, 2, TOP + 24 }, { 4, 1, TOP + 16 },
		{ 5, 1, TOP + 8 }, { 6, 1, TOP },
	};

	if (at < 4 || !IS_AT(vm, at - 4, raise_sp) || vm->code[at - 1] + ENTERED != vm->row.cfa_off)
		return 0;
	return mend_pieces(vm, at, pieces, ARRAY_SIZE(pieces));
}

static int mend_into_trace(const struct vm *vm, size_t at)
{
	return mend(vm, at + 4, sizeof(into_trace) - 4, vm->row.cfa_off + TRACE_BYTES);
}

static int mend_each(const struct vm *vm, const uint8_t *want, size_t size,
		     int (*mend_at)(const struct vm *vm, size_t at))
{
	int64_t at = find(vm, 0, vm->size, want, size);
	int code = 0;

	while (at >= 0 && !code) {
		code = mend_at(vm, (size_t)at);
		at = find(vm, (size_t)at + size, vm->size, want, size);
	}
	return code;
}

static int note_row(const struct cfi_row *row, void *ctx)
{
	*(struct cfi_row *)ctx = *row;
	return 0;
}

/* Is there nothing but the one row, of a frame that the rest can be counted from? */
static int read_row(struct vm *vm, const struct cfi_fde *fde, bool *ret)
{
	const struct cfi_row *row = &vm->row;
	uint64_t end;
	int code = cfa_program_run(&vm->file->machine, &vm->file->list.cies[fde->cie], fde,
				   fde->start, fde->end, note_row, &vm->row, &end, vm->err);

	*ret = code == 0 && row->start == fde->start && row->end == fde->end &&
	       row->cfa == FPL_CFA_REG && row->cfa_reg == ARCH_SP && row->cfa_off > ENTERED &&
	       row->cfa_off <= FRAME_MAX && !(row->cfa_off & 7);
	return code < 0 ? code : 0;
}

static int look_at(void *ctx, const struct cfi_fde *fde, const uint8_t *code, uint64_t size,
		   struct fpl_err *err)
{
	struct vm vm = { .file = ctx, .code = code, .size = size, .vaddr = fde->start, .err = err };
	int64_t exit = FIND(&vm, 0, size, push_all);
	bool is_vm = false;
	int status = exit < 0 ? 0 : read_row(&vm, fde, &is_vm);

	if (status || !is_vm)
		return status;
	status = mend_exit(&vm, (size_t)exit);
	if (!status)
		status = mend_called(&vm, (size_t)exit);
	if (!status)
		status = mend_each(&vm, enter, sizeof(enter), mend_enter);
	if (!status)
		status = mend_each(&vm, leave, sizeof(leave), mend_leave);
	return status ? status : mend_each(&vm, into_trace, sizeof(into_trace), mend_into_trace);
}

int synth_mend_luajit(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	return synth_functions_for_each(file, elf, SYNTH_NAME_BEGIN("luaJIT_"), look_at, file, err);
}
