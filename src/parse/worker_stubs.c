/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs that HotSpot has written itself get rows from their instructions, where neither rbp nor the
 * return address at rsp leads to their caller (decision 0038). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "jit/hotspot_blob.h"
#include "parse/job.h"
#include "unwind/arch_x86_64.h"
#include "unwind/budget.h"
#include "unwind/compact.h"
#include "unwind/synth/synth.h"

#define STUBS_BYTES_MAX	 (1u << 20) /* of one blob */
#define STUB_ALIGN	 16u
#define STUB_ENTRY	 0xec8b4855u /* push rbp; mov rbp, rsp */
#define STUB_ENTRY_BYTES 4u
#define ROW_BYTES_LEAST	 8u /* of a region: fewer are hardly ever met */

static const struct table_limits limits = { .cpu_ns = NS_PER_S / 4,
					    .memory_bytes = 32u << 20,
					    .rows = 1u << 18 };

/* A function with a frame begins at a multiple of STUB_ALIGN by saving rbp. Returns how many there
 * are: @ret has room for as many as there are multiples in @hole. */
static size_t find_entries(const struct synth_hole *hole, struct synth_entry *ret)
{
	uint64_t vaddr = (hole->start + STUB_ALIGN - 1) & ~(uint64_t)(STUB_ALIGN - 1);
	uint64_t end = hole->start + hole->size;
	size_t nr = 0;

	for (; vaddr + STUB_ENTRY_BYTES <= end; vaddr += STUB_ALIGN) {
		uint32_t code;

		memcpy(&code, hole->bytes + (vaddr - hole->start), sizeof(code));
		if (code == STUB_ENTRY)
			ret[nr++] = (struct synth_entry){ vaddr, EVIDENCE_CALL };
	}
	return nr;
}

/* Is @rule needed: do neither rbp nor the return address at rsp lead to the caller? Samples have no
 * other registers that a stub may keep its frame in. */
static bool is_needed(const struct fpl_rule *rule)
{
	return rule->regs == ARCH_SP ? rule->cfa != FPL_CFA_REG || rule->cfa_off != 8
				     : rule->regs == ARCH_FRAME_POINTER &&
					       (rule->cfa != FPL_CFA_REG || rule->cfa_off != 16);
}

static void add_row(const struct cfi_row *row, struct hotspot *ret)
{
	struct fpl_region region = { .kind = FPL_REGION_ROW, .start = row->start, .end = row->end };
	struct compact_rule packed;

	compact_pack(row, &packed);
	region.rule = packed.rule;
	region.rule.flags &= (__u8)~FPL_RULE_SYNTH;
	if (ret->nr_stubs < HOTSPOT_STUBS_MAX && packed.nr_slots == 1 &&
	    row->end - row->start >= ROW_BYTES_LEAST && is_needed(&region.rule) &&
	    fpl_region_holds(&region))
		ret->stubs[ret->nr_stubs++] = region;
}

/* Add rows of the functions in @hole, as far as @budget goes. */
static void add_stubs(const struct synth_hole *hole, struct budget *budget, struct hotspot *ret)
{
	AUTO_FREE struct synth_entry *entries =
		calloc(hole->size / STUB_ALIGN + 1, sizeof(*entries));
	struct synth_input input = { .holes = hole, .nr_holes = 1, .entries = entries };
	struct synth_result result = { 0 };
	struct fpl_err err;

	input.nr_entries = entries ? find_entries(hole, entries) : 0;
	if (input.nr_entries && !synth_analyse(&input, budget, &result, &err))
		for (size_t i = 0; i < result.nr_rows; i++)
			add_row(&result.rows[i], ret);
	synth_result_fini(&result);
}

/* The heap of @hotspot in which its stubs are. */
static const struct fpl_region *find_heap(const struct hotspot *hotspot)
{
	for (uint32_t i = 0; hotspot->has_names && i < hotspot->nr_heaps; i++) {
		const struct fpl_region *heap = &hotspot->heaps[i];

		if (heap->call_stub_ra >= heap->start && heap->call_stub_ra < heap->end)
			return heap;
	}
	return NULL;
}

void stubs_find(struct jit_memory *memory, struct hotspot *ret)
{
	const struct fpl_region *heap = find_heap(ret);
	uint64_t block = heap ? heap->start : 0;
	struct hotspot_code code;
	struct budget budget;

	budget_init(&budget, "stubs of HotSpot", &limits);
	while (heap && hotspot_stubs_next(memory, ret, heap, &block, &code)) {
		struct synth_hole hole = { .start = code.begin, .size = code.end - code.begin };
		AUTO_FREE uint8_t *bytes = hole.size <= STUBS_BYTES_MAX ? malloc(hole.size) : NULL;

		hole.bytes = bytes;
		if (bytes && jit_read(memory, code.begin, bytes, hole.size))
			add_stubs(&hole, &budget, ret);
		/* those of the compilers come last: named so since JDK 21 */
		ret->has_all_stubs |= strstr(code.kind, "(2)") || strstr(code.kind, "ompiler");
	}
}
