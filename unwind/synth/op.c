/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/op.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/arch_x86_64.h"

enum { NO_REGISTER = 16, WORD_BITS = 64, REG_RAX = 0, REG_RBP = 6 };

enum { IDLE_LOG2 = 10, IDLE_MAX = 1 << IDLE_LOG2 };

struct synth_decoder {
	ZydisDecoder zydis;
	/* By hash: forms of instructions that change neither general registers nor memory, whatever
	 * their registers: most vector instructions. Their operands need no second decoding. */
	const void *idle[IDLE_MAX];
};

/* An instruction with its operands, explicit ones first. */
struct decoded {
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t vaddr;
};

struct synth_decoder *synth_decoder_create(void)
{
	struct synth_decoder *decoder = calloc(1, sizeof(*decoder));

	if (decoder)
		ZydisDecoderInit(&decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return decoder;
}

void synth_decoder_destroy(struct synth_decoder *decoder)
{
	free(decoder);
}

/* DWARF number of the general register that @reg is a part of; NO_REGISTER: of none. */
static unsigned register_number(ZydisRegister reg)
{
	/* psABI, figure 3.36: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15. */
	static const uint8_t dwarf[] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return NO_REGISTER;
	return dwarf[whole - ZYDIS_REGISTER_RAX];
}

/* As register_number(), of an operand that is a general register with all its 64 bits. */
static unsigned whole_register(const ZydisDecodedOperand *operand)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || operand->size != WORD_BITS)
		return NO_REGISTER;
	return register_number(operand->reg.value);
}

/* Base register of an operand base + displacement; NO_REGISTER: of another form. */
static unsigned plain_base(const ZydisDecodedOperand *operand)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS || operand->mem.index != ZYDIS_REGISTER_NONE)
		return NO_REGISTER;
	return register_number(operand->mem.base);
}

static int64_t displacement(const ZydisDecodedOperand *operand)
{
	return operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
}

/* The target of a direct branch, or of an operand relative to rip. */
static int64_t address(const struct decoded *in, const ZydisDecodedOperand *operand)
{
	ZyanU64 value = 0;

	return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&in->head, operand, in->vaddr, &value))
		       ? (int64_t)value
		       : 0;
}

static uint16_t written_registers(const struct decoded *in)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < in->head.operand_count; i++) {
		const ZydisDecodedOperand *operand = &in->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			mask |= 1u << register_number(operand->reg.value);
	}
	return (uint16_t)mask;
}

/* @op describes the new value of its dst, which is no clobber any more. */
static void set(struct synth_op *op, enum synth_op_kind kind, unsigned dst, unsigned src,
		int64_t imm)
{
	op->kind = (uint8_t)kind;
	op->dst = (uint8_t)dst;
	op->src = (uint8_t)src;
	op->imm = imm;
	op->clobbers &= (uint16_t) ~(1u << dst);
}

static void decode_store(const struct decoded *in, struct synth_op *op)
{
	for (unsigned i = 0; i < in->head.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &in->operands[i];
		unsigned base = plain_base(operand);

		if (base == NO_REGISTER || !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		op->kind = OP_STORE_OTHER;
		op->dst = (uint8_t)base;
		op->imm = displacement(operand);
		op->nr_bytes = (uint16_t)(operand->size / 8);
	}
}

/* Base register of an operand base + @scale * index + displacement, of @scale bytes; NO_REGISTER:
 * of another form. */
static unsigned table_base(const ZydisDecodedOperand *operand, unsigned scale)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->size != 8 * scale ||
	    operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS || operand->mem.scale != scale)
		return NO_REGISTER;
	return register_number(operand->mem.base);
}

/*
 * movsxd dst, [base + 4 * index], movzx dst, word [base + 2 * index] or mov dst, [base + 8 *
 * index]: what tables are read with. @dst: number of the register that is written.
 */
static void decode_table(const struct decoded *in, struct synth_op *op, unsigned dst,
			 unsigned nr_bytes)
{
	unsigned base = table_base(&in->operands[1], nr_bytes);

	if (dst == NO_REGISTER || base == NO_REGISTER)
		return;
	set(op, OP_TABLE, dst, base, displacement(&in->operands[1]));
	op->nr_bytes = (uint16_t)nr_bytes;
}

static void decode_move(const struct decoded *in, struct synth_op *op)
{
	const ZydisDecodedOperand *to = &in->operands[0], *from = &in->operands[1];
	unsigned dst = whole_register(to), src = whole_register(from);
	unsigned base = plain_base(from), place = plain_base(to);

	if (dst != NO_REGISTER && src != NO_REGISTER)
		set(op, OP_MOVE, dst, src, 0);
	else if (dst != NO_REGISTER && from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 from->mem.index != ZYDIS_REGISTER_NONE)
		decode_table(in, op, dst, 8);
	else if (dst != NO_REGISTER && base != NO_REGISTER)
		set(op, OP_LOAD, dst, base, displacement(from));
	else if (place != NO_REGISTER && src != NO_REGISTER)
		*op = (struct synth_op){ .kind = OP_STORE,
					 .dst = (uint8_t)place,
					 .src = (uint8_t)src,
					 .imm = displacement(to),
					 .nr_bytes = 8,
					 .size = op->size };
	else
		decode_store(in, op);
}

/* lea dst, [dst + src + displacement], in either order. */
static void decode_lea_sum(const ZydisDecodedOperand *from, unsigned dst, struct synth_op *op)
{
	unsigned base = register_number(from->mem.base), index = register_number(from->mem.index);

	if (from->mem.scale == 1 && base != NO_REGISTER && index != NO_REGISTER &&
	    (base == dst || index == dst))
		set(op, OP_SUM, dst, base == dst ? index : base, displacement(from));
}

static void decode_lea(const struct decoded *in, struct synth_op *op)
{
	unsigned dst = whole_register(&in->operands[0]);

	if (dst == NO_REGISTER)
		return;
	if (in->operands[1].mem.base == ZYDIS_REGISTER_RIP) {
		set(op, OP_ADDRESS, dst, 0, address(in, &in->operands[1]));
		return;
	}

	unsigned base = plain_base(&in->operands[1]);

	if (base != NO_REGISTER)
		set(op, OP_LEA, dst, base, displacement(&in->operands[1]));
	else
		decode_lea_sum(&in->operands[1], dst, op);
}

/* add, sub and and of a register with a constant or another register. */
static void decode_sum(const struct decoded *in, struct synth_op *op)
{
	unsigned dst = whole_register(&in->operands[0]), src = whole_register(&in->operands[1]);
	bool constant = in->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	int64_t imm = constant ? in->operands[1].imm.value.s : 0;

	if (dst == NO_REGISTER) {
		decode_store(in, op);
		return;
	}
	switch (in->head.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		if (constant)
			set(op, OP_ADD, dst, 0, imm);
		else if (src != NO_REGISTER)
			set(op, OP_SUM, dst, src, 0);
		break;
	case ZYDIS_MNEMONIC_SUB:
		if (constant)
			set(op, OP_ADD, dst, 0, -imm);
		break;
	default: /* and: -2^n keeps all but low bits */
		if (constant && imm < 0 && (-imm & (-imm - 1)) == 0)
			set(op, OP_ALIGN, dst, 0, imm);
	}
}

static void decode_push(const struct decoded *in, struct synth_op *op)
{
	unsigned src = whole_register(&in->operands[0]);

	if (in->head.operand_width != WORD_BITS)
		op->kind = OP_BAD; /* 2 bytes: no program does that */
	else
		set(op, src == NO_REGISTER ? OP_PUSH_OTHER : OP_PUSH, ARCH_SP, src & 15, 0);
}

static void decode_pop(const struct decoded *in, struct synth_op *op)
{
	unsigned dst = whole_register(&in->operands[0]);

	if (in->head.operand_width != WORD_BITS) {
		op->kind = OP_BAD;
		return;
	}
	op->clobbers &= (uint16_t) ~(1u << ARCH_SP);
	set(op, dst == NO_REGISTER ? OP_POP_OTHER : OP_POP, dst == NO_REGISTER ? ARCH_SP : dst, 0,
	    0);
}

static void decode_swap(const struct decoded *in, struct synth_op *op)
{
	unsigned dst = whole_register(&in->operands[0]), src = whole_register(&in->operands[1]);

	if (dst == NO_REGISTER || src == NO_REGISTER) {
		decode_store(in, op);
		return;
	}
	set(op, OP_SWAP, dst, src, 0);
	op->clobbers = 0;
}

/* As whole_register(), of one whose upper half is zeroed, too. */
static unsigned wide_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->size >= WORD_BITS / 2
		       ? register_number(operand->reg.value)
		       : NO_REGISTER;
}

static void decode_control(const struct decoded *in, struct synth_op *op)
{
	const ZydisDecodedOperand *to = &in->operands[0];
	bool direct = to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	unsigned reg = whole_register(to);

	op->clobbers = 0;
	op->imm = direct ? address(in, to) : 0;
	switch (in->head.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		op->kind = direct ? OP_CALL : reg == NO_REGISTER ? OP_CALL_ANY : OP_CALL_REGISTER;
		op->dst = (uint8_t)(reg & 15);
		break;
	case ZYDIS_CATEGORY_COND_BR:
		op->clobbers = written_registers(in); /* loop counts in rcx */
		op->kind = direct ? OP_BRANCH : OP_BAD;
		break;
	case ZYDIS_CATEGORY_RET:
		op->nr_bytes =
			to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && in->head.operand_count_visible
				? (uint16_t)to->imm.value.u
				: 0;
		op->kind = in->head.mnemonic == ZYDIS_MNEMONIC_RET ? OP_RETURN : OP_BAD;
		break;
	default:
		op->kind = direct		? OP_JUMP
			   : reg == NO_REGISTER ? OP_JUMP_MEMORY
						: OP_JUMP_REGISTER;
		op->dst = (uint8_t)(reg & 15);
		if (op->kind == OP_JUMP_MEMORY && table_base(to, 8) != NO_REGISTER) {
			op->src = (uint8_t)table_base(to, 8);
			op->imm = displacement(to);
			op->nr_bytes = 8;
		}
	}
}

static void decode_by_name(const struct decoded *in, struct synth_op *op)
{
	switch (in->head.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		decode_move(in, op);
		break;
	case ZYDIS_MNEMONIC_LEA:
		decode_lea(in, op);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
		decode_sum(in, op);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		decode_push(in, op);
		break;
	case ZYDIS_MNEMONIC_POP:
		decode_pop(in, op);
		break;
	case ZYDIS_MNEMONIC_PUSHFQ:
		set(op, OP_PUSH_OTHER, ARCH_SP, 0, 0);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		set(op, OP_POP_OTHER, ARCH_SP, 0, 0);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		decode_swap(in, op);
		break;
	case ZYDIS_MNEMONIC_MOVSXD:
		decode_table(in, op, whole_register(&in->operands[0]), 4);
		break;
	case ZYDIS_MNEMONIC_MOVZX:
		decode_table(in, op, wide_register(&in->operands[0]), 2);
		break;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
		op->clobbers |= 1u << REG_RAX; /* by the kernel: its answer */
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		op->kind = OP_LEAVE;
		op->clobbers = 0;
		break;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT:
		op->kind = OP_END;
		break;
	default:
		decode_store(in, op);
	}
}

/* Not in user programs: instructions that trap there, or are beyond this analysis. */
static bool is_foreign(const ZydisDecodedInstruction *head)
{
	return (head->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) &&
	       head->mnemonic != ZYDIS_MNEMONIC_HLT;
}

/* Decode without operands. False: no instruction. */
static bool decode_head(const struct synth_decoder *decoder, const uint8_t *code, size_t size,
			ZydisDecoderContext *context, struct decoded *in)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder->zydis, context, code, size,
							  &in->head)) &&
	       !is_foreign(&in->head);
}

static bool decode_operands(const struct synth_decoder *decoder, const ZydisDecoderContext *context,
			    struct decoded *in)
{
	/* two operands are read even if there are fewer */
	memset(in->operands, 0, 2 * sizeof(*in->operands));
	return ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder->zydis, context, &in->head,
						       in->operands, in->head.operand_count));
}

static bool is_control(const struct decoded *in)
{
	/* Transactions count as branches because of their abort target. */
	if (in->head.mnemonic == ZYDIS_MNEMONIC_XEND || in->head.mnemonic == ZYDIS_MNEMONIC_XABORT)
		return false;
	switch (in->head.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return true;
	default:
		return false;
	}
}

static void reduce(const struct decoded *in, struct synth_op *op)
{
	op->clobbers = written_registers(in);
	if (is_control(in))
		decode_control(in, op);
	else
		decode_by_name(in, op);
}

static const void **idle_slot(struct synth_decoder *decoder, const void *form)
{
	return &decoder->idle[(uint32_t)((uintptr_t)form >> 2) * 2654435761u >> (32 - IDLE_LOG2)];
}

/*
 * The kinds and uses of the operands are the same for all instructions of a form: only the register
 * differs, within its class.
 */
static bool is_idle(const struct decoded *in)
{
	for (unsigned i = 0; i < in->head.operand_count; i++) {
		const ZydisDecodedOperand *operand = &in->operands[i];
		bool is_register = operand->type == ZYDIS_OPERAND_TYPE_REGISTER;

		if ((operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    (!is_register || register_number(operand->reg.value) != NO_REGISTER))
			return false;
	}
	return true;
}

void synth_decode(struct synth_decoder *decoder, const uint8_t *code, size_t size, uint64_t vaddr,
		  struct synth_op *ret)
{
	ZydisDecoderContext context;
	struct decoded in;

	*ret = (struct synth_op){ .kind = OP_BAD, .size = 1 };
	if (!decode_head(decoder, code, size, &context, &in))
		return;

	const void **slot = idle_slot(decoder, context.definition);

	if (*slot != context.definition && !decode_operands(decoder, &context, &in))
		return;
	ret->kind = OP_OTHER;
	ret->size = in.head.length;
	if (*slot == context.definition)
		return;
	in.vaddr = vaddr;
	reduce(&in, ret);
	if (ret->kind == OP_OTHER && !ret->clobbers && is_idle(&in))
		*slot = context.definition;
}

void synth_decode_lead(const struct synth_decoder *decoder, const uint8_t *code, size_t size,
		       uint64_t vaddr, struct synth_op *ret)
{
	ZydisDecoderContext context;
	struct decoded in;

	*ret = (struct synth_op){ .kind = OP_BAD, .size = 1 };
	if (!decode_head(decoder, code, size, &context, &in))
		return;
	in.vaddr = vaddr;
	ret->kind = OP_OTHER;
	ret->size = in.head.length;
	if ((is_control(&in) || in.head.mnemonic == ZYDIS_MNEMONIC_LEA) &&
	    decode_operands(decoder, &context, &in))
		reduce(&in, ret);
}
