/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/disassembly.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct disassembler {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
};

struct disassembler *disassembler_create(bool intel)
{
	struct disassembler *ret = calloc(1, sizeof(*ret));
	ZydisFormatter *formatter;

	if (!ret)
		return NULL;
	formatter = &ret->formatter;
	ZydisDecoderInit(&ret->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(formatter,
			   intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
				  ZYDIS_PADDING_DISABLED);
	return ret;
}

void disassembler_destroy(struct disassembler *disassembler)
{
	free(disassembler);
}

static enum listing_kind kind_of(ZydisInstructionCategory category)
{
	switch (category) {
	case ZYDIS_CATEGORY_CALL:
		return LISTING_CALL;
	case ZYDIS_CATEGORY_RET:
		return LISTING_RETURN;
	case ZYDIS_CATEGORY_COND_BR:
		return LISTING_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return LISTING_JUMP;
	default:
		return LISTING_PLAIN;
	}
}

/* A jump through a register or memory has no target here. */
static uint64_t target_of(const ZydisDecodedInstruction *head, const ZydisDecodedOperand *operand,
			  uint64_t vaddr)
{
	ZyanU64 target;

	if (!head->operand_count_visible || operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !operand->imm.is_relative ||
	    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(head, operand, vaddr, &target)))
		return LISTING_NO_TARGET;
	return target;
}

/* Conditions as Zydis and as objdump, perf and gdb call them. */
static const struct {
	const char *zydis, *usual;
} conditions[] = {
	{ "nbe", "a" }, { "nle", "g" }, { "nb", "ae" },
	{ "nl", "ge" }, { "nz", "ne" }, { "z", "e" },
};

/* Gives jumps, moves and settings on a condition their usual names: shorter ones. */
static void rename_condition(char *text)
{
	static const char *const prefixes[] = { "j", "cmov", "set" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		char *at = text + strlen(prefixes[i]);

		if (strncmp(text, prefixes[i], strlen(prefixes[i])) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(conditions); k++) {
			size_t length = strlen(conditions[k].zydis);
			size_t usual = strlen(conditions[k].usual);

			if (strncmp(at, conditions[k].zydis, length) != 0 || at[length] != ' ')
				continue;
			memcpy(at, conditions[k].usual, usual);
			memmove(at + usual, at + length, strlen(at + length) + 1);
			return;
		}
	}
}

void disassemble(const struct disassembler *disassembler, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct disassembled *ret)
{
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	ret->target = LISTING_NO_TARGET;
	if (!ZYAN_SUCCESS(
		    ZydisDecoderDecodeFull(&disassembler->decoder, code, size, &head, operands)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&disassembler->formatter, &head, operands,
							  head.operand_count_visible, ret->text,
							  sizeof(ret->text), vaddr, ZYAN_NULL))) {
		ret->size = 1;
		ret->kind = LISTING_BAD;
		snprintf(ret->text, sizeof(ret->text), ".byte 0x%02x", code[0]);
		return;
	}
	rename_condition(ret->text);
	ret->size = head.length;
	ret->kind = (uint8_t)kind_of(head.meta.category);
	if (ret->kind != LISTING_PLAIN)
		ret->target = target_of(&head, &operands[0], vaddr);
}
