/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/arch_x86_64.h"

enum { WORD = 8, SAVED_MIN = FPL_SAVED_SAME + 1, SAVED_MAX = FPL_SAVED_UNDEF - 1 };
enum { HASH_MIN = 1024, SLOTS_MIN = 256 };

static bool fits_s32(int64_t value)
{
	return value == (int32_t)value;
}

static bool fits_s16(int64_t value)
{
	return value == (int16_t)value;
}

/* Pack the CFA; a CFA too large for the slot becomes an expression to the walker. */
static void pack_cfa(const struct cfi_row *row, struct fpl_rule *rule)
{
	if (!fits_s32(row->cfa_off) || !fits_s16(row->cfa_off2)) {
		rule->cfa = FPL_CFA_EXPR;
		return;
	}
	rule->cfa = row->cfa;
	rule->regs = (uint8_t)(row->cfa_reg | row->cfa_reg2 << 4);
	rule->cfa_off = (int32_t)row->cfa_off;
	rule->off2 = (int16_t)row->cfa_off2;
}

/* Pack the place of saved register @i into its byte of the slot; false if it does not fit. */
static bool pack_saved(const struct cfi_reg *reg, unsigned i, struct fpl_rule *rule)
{
	int32_t words = reg->off / WORD;

	switch (reg->kind) {
	case CFI_SAME:
		rule->saved[i] = FPL_SAVED_SAME;
		return true;
	case CFI_UNDEF:
		rule->saved[i] = FPL_SAVED_UNDEF;
		return true;
	case CFI_AT_CFA:
	case CFI_AT_REG:
		break;
	default:
		return false;
	}
	if (reg->off % WORD || words < SAVED_MIN || words > SAVED_MAX)
		return false;
	if (reg->kind == CFI_AT_REG) {
		if (rule->cfa == FPL_CFA_EXPR || reg->reg != (rule->regs & 15))
			return false;
		rule->from_reg |= (uint8_t)(1u << i);
	}
	rule->saved[i] = (int8_t)words;
	return true;
}

static void add_ext(struct compact_rule *ret, unsigned *nr, unsigned dst, const struct cfi_reg *reg)
{
	static const uint8_t kinds[] = {
		[CFI_SAME] = FPL_EXT_SAME,	 [CFI_UNDEF] = FPL_EXT_UNDEF,
		[CFI_AT_CFA] = FPL_EXT_AT_CFA,	 [CFI_AT_REG] = FPL_EXT_AT_REG,
		[CFI_VAL_CFA] = FPL_EXT_VAL_CFA, [CFI_VAL_REG] = FPL_EXT_VAL_REG,
		[CFI_VAL_PC] = FPL_EXT_VAL_PC,	 [CFI_EXPR] = FPL_EXT_EXPR,
	};
	struct fpl_ext ext = { .dst = (uint8_t)dst, .kind = kinds[reg->kind] };

	ext.off = reg->off;
	ext.base = reg->reg;
	ret->ext[(*nr)++] = ext;
}

/* Pack the return address: nothing to write if it is at the ABI's place. */
static void pack_ra(const struct cfi_row *row, struct compact_rule *ret, unsigned *nr)
{
	const struct cfi_reg *ra = &row->reg[CFI_RA];
	struct fpl_rule *rule = &ret->rule;

	if (ra->kind == CFI_UNDEF)
		rule->flags |= FPL_RULE_END;
	else if (ra->kind == CFI_VAL_REG && ra->off == 0 && rule->cfa == FPL_CFA_REG) {
		rule->flags |= FPL_RULE_RA_REG;
		rule->regs |= (uint8_t)(ra->reg << 4);
	} else if (ra->kind != CFI_AT_CFA || ra->off != ARCH_RA_OFF) {
		add_ext(ret, nr, CFI_RA, ra);
	}
}

/* Is the register's rule the one that the walker assumes anyway? */
static bool is_default(unsigned reg, const struct cfi_reg *rule)
{
	if (reg == ARCH_SP && rule->kind == CFI_VAL_CFA && rule->off == 0)
		return true;
	return rule->kind == CFI_SAME || (rule->kind == CFI_UNDEF && reg != ARCH_SP);
}

void compact_pack(const struct cfi_row *row, struct compact_rule *ret)
{
	unsigned nr = 0;

	*ret = (struct compact_rule){ .nr_slots = 1 };
	if (row->cfa == FPL_CFA_NONE) {
		ret->rule.flags = FPL_RULE_JUDGED;
		return;
	}
	pack_cfa(row, &ret->rule);
	if (row->signal)
		ret->rule.flags |= FPL_RULE_SIGNAL;
	if (row->other_stack)
		ret->rule.flags |= FPL_RULE_SWITCH;
	if (row->source == CFI_SOURCE_SYNTH)
		ret->rule.flags |= FPL_RULE_SYNTH;
	pack_ra(row, ret, &nr);
	for (unsigned i = 0; i < FPL_NR_SAVED; i++) {
		const struct cfi_reg *reg = &row->reg[arch_saved_regs[i]];

		if (!pack_saved(reg, i, &ret->rule)) {
			ret->rule.saved[i] = FPL_SAVED_UNDEF;
			add_ext(ret, &nr, arch_saved_regs[i], reg);
		}
	}
	for (unsigned reg = 0; reg < FPL_NR_REGS; reg++)
		if (!(ARCH_CALLEE_SAVED >> reg & 1) && !is_default(reg, &row->reg[reg]))
			add_ext(ret, &nr, reg, &row->reg[reg]);
	if (nr == 0)
		return;
	ret->rule.flags |= FPL_RULE_EXT;
	ret->ext[0].count = (uint8_t)nr;
	ret->nr_slots = 1 + (nr + 1) / 2;
}

int rule_set_init(struct rule_set *set, const char *name, struct fpl_err *err)
{
	*set = (struct rule_set){
		.slots = calloc(SLOTS_MIN, sizeof(*set->slots)),
		.nr_slots = 1,
		.cap_slots = SLOTS_MIN,
		.hash = calloc(HASH_MIN, sizeof(*set->hash)),
		.nr_hash = HASH_MIN,
		.name = name,
	};
	if (!set->slots || !set->hash)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	return 0;
}

void rule_set_fini(struct rule_set *set)
{
	free(set->slots);
	free(set->hash);
}

static size_t rule_hash(const struct fpl_rule *rule, unsigned nr_slots)
{
	uint64_t words[2];
	uint64_t hash = 0;

	for (unsigned i = 0; i < nr_slots; i++) {
		memcpy(words, &rule[i], sizeof(words));
		hash = (hash ^ words[0]) * 0x9e3779b97f4a7c15ull;
		hash = (hash ^ hash >> 32 ^ words[1]) * 0xc2b2ae3d27d4eb4full;
	}
	return (size_t)(hash >> 32);
}

static unsigned rule_nr_slots(const struct fpl_rule *rule)
{
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

	return rule->flags & FPL_RULE_EXT ? 1 + (ext->count + 1u) / 2 : 1;
}

static int hash_grow(struct rule_set *set, struct fpl_err *err)
{
	size_t nr_hash = 2 * set->nr_hash;
	uint16_t *hash = calloc(nr_hash, sizeof(*hash));

	if (!hash)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", set->name);
	for (size_t i = 0; i < set->nr_hash; i++) {
		uint16_t slot = set->hash[i];

		if (!slot)
			continue;

		const struct fpl_rule *rule = &set->slots[slot];
		size_t at = rule_hash(rule, rule_nr_slots(rule)) & (nr_hash - 1);

		while (hash[at])
			at = (at + 1) & (nr_hash - 1);
		hash[at] = slot;
	}
	free(set->hash);
	set->hash = hash;
	set->nr_hash = nr_hash;
	return 0;
}

/* Make room for the rule and its reach. */
static int slots_grow(struct rule_set *set, unsigned nr_slots, struct fpl_err *err)
{
	if (set->nr_slots + nr_slots > FPL_RULES_MAX)
		return fpl_fail(err, -EFBIG, "%s: its rules need more than %u slots", set->name,
				FPL_RULES_MAX);
	if (set->nr_slots + nr_slots <= set->cap_slots)
		return 0;

	struct fpl_rule *slots = reallocarray(set->slots, 2 * set->cap_slots, sizeof(*slots));

	if (!slots)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", set->name);
	set->slots = slots;
	set->cap_slots *= 2;
	return 0;
}

int rule_set_add(struct rule_set *set, const struct fpl_rule *rule, unsigned nr_slots,
		 struct fpl_err *err)
{
	size_t at = rule_hash(rule, nr_slots) & (set->nr_hash - 1);
	size_t size = nr_slots * sizeof(*rule);
	int code;

	for (; set->hash[at]; at = (at + 1) & (set->nr_hash - 1)) {
		const struct fpl_rule *known = &set->slots[set->hash[at]];

		/* Compare rules of the same length only, so that nothing behind one is read; flag
		 * and count are compared, too. */
		if (rule_nr_slots(known) == nr_slots && memcmp(known, rule, size) == 0)
			return set->hash[at];
	}
	code = slots_grow(set, nr_slots, err);
	if (code)
		return code;
	memcpy(&set->slots[set->nr_slots], rule, size);
	set->hash[at] = (uint16_t)set->nr_slots;
	set->nr_slots += nr_slots;
	set->nr_rules++;
	set->nr_ext += nr_slots > 1;
	if (2 * set->nr_rules >= set->nr_hash) {
		code = hash_grow(set, err);
		if (code)
			return code;
	}
	return (int)(set->nr_slots - nr_slots);
}
