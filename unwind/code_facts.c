/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/code_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "unwind/arch_x86_64.h"

void code_facts_fini(struct code_facts *facts)
{
	free(facts->kept);
	free(facts->mended);
}

static int by_fde(const void *a, const void *b)
{
	const struct kept_fact *left = a, *right = b;

	return left->fde < right->fde ? -1 : left->fde > right->fde;
}

static int by_start(const void *a, const void *b)
{
	const struct mended_fact *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

void code_facts_sort(struct code_facts *facts)
{
	size_t nr = 0;

	if (facts->nr_kept)
		qsort(facts->kept, facts->nr_kept, sizeof(*facts->kept), by_fde);
	if (facts->nr_mended)
		qsort(facts->mended, facts->nr_mended, sizeof(*facts->mended), by_start);
	for (size_t i = 0; i < facts->nr_mended; i++) {
		const struct mended_fact *last = nr ? &facts->mended[nr - 1] : NULL;

		if (!last || facts->mended[i].start >= last->end)
			facts->mended[nr++] = facts->mended[i];
	}
	facts->nr_mended = nr;
}

static uint16_t kept_by(const struct code_facts *facts, uint32_t fde)
{
	size_t nr = SORTED_UP_TO(facts->kept, fde, facts->nr_kept, fde);

	return nr && facts->kept[nr - 1].fde == fde ? facts->kept[nr - 1].regs : 0;
}

bool code_teller_init(struct code_teller *teller, const struct code_facts *facts, uint32_t fde,
		      uint64_t start, uint64_t end)
{
	size_t next = SORTED_UP_TO(facts->mended, end, facts->nr_mended, start);

	*teller = (struct code_teller){ .facts = facts, .kept = kept_by(facts, fde), .next = next };
	return teller->kept || (next < facts->nr_mended && facts->mended[next].start < end);
}

static void add_kept(struct cfi_row *row, uint16_t kept)
{
	for (uint8_t reg = 0; reg < FPL_NR_REGS; reg++)
		if ((kept >> reg & 1) && row->reg[reg].kind == CFI_SAME) {
			row->kept |= (uint16_t)(1u << reg);
			row->reg[reg] = (struct cfi_reg){ .kind = CFI_VAL_REG, .reg = reg };
		}
}

/* The two registers that traces save below the frame of LuaJIT's interpreter are in the words at
 * its end. */
static void mend_luajit(struct cfi_row *row, const struct mended_fact *fact)
{
	int32_t frame = (int32_t)row->cfa_off;

	row->reg[ARCH_R12] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -frame };
	row->reg[ARCH_R13] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -frame - 8 };
	row->cfa = FPL_CFA_LUAJIT;
	row->cfa_reg = ARCH_R14;
	row->cfa_reg2 = (uint8_t)(frame / 8);
	row->cfa_off = fact->cfa_off;
	row->cfa_off2 = fact->frame_off;
}

static void mend(struct cfi_row *row, const struct mended_fact *fact)
{
	row->mended = true;
	if (fact->frame_off) {
		mend_luajit(row, fact);
		return;
	}
	row->cfa_off = fact->cfa_off;
	for (unsigned reg = 0; reg < FPL_NR_REGS; reg++)
		if (row->reg[reg].kind == CFI_AT_CFA && row->reg[reg].off < -fact->cfa_off)
			row->reg[reg] = (struct cfi_reg){ .kind = CFI_SAME };
	if (!fact->is_raise)
		return;
	row->cfa = FPL_CFA_REG;
	row->cfa_reg = ARCH_SP;
	row->cfa_reg2 = 0;
	row->cfa_off2 = 0;
	row->signal = true;
	memset(row->reg, 0, sizeof(row->reg));
	row->reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };
}

int code_tell(const struct cfi_row *row, void *ctx)
{
	struct code_teller *teller = ctx;
	const struct code_facts *facts = teller->facts;
	struct cfi_row rest = *row;
	int code = 0;

	add_kept(&rest, teller->kept);
	while (code == 0 && rest.start < rest.end && teller->next < facts->nr_mended &&
	       facts->mended[teller->next].start < rest.end) {
		const struct mended_fact *fact = &facts->mended[teller->next];
		struct cfi_row part = rest;

		if (fact->start > rest.start) {
			part.end = fact->start;
		} else {
			part.end = fact->end < rest.end ? fact->end : rest.end;
			mend(&part, fact);
			teller->next += fact->end <= rest.end;
		}
		rest.start = part.end;
		code = teller->fn(&part, teller->ctx);
	}
	if (code || rest.start == rest.end)
		return code;
	return teller->fn(&rest, teller->ctx);
}
