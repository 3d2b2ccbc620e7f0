/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/rule_eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unwind/register_names.h"

/* DWARF numbers of the registers struct fpl_rule has a place for, in its order. */
static const uint8_t saved_reg[FPL_NR_SAVED] = { 3, 6, 12, 13, 14, 15 };

enum { SP = 7 };

static bool rule_cfa(const struct fpl_rule *rule, const struct machine *machine, uint64_t *ret)
{
	const uint64_t *reg = machine->reg;
	unsigned int second = rule->regs >> 4;
	uint64_t base = reg[rule->regs & 15] + (uint64_t)(int64_t)rule->cfa_off;

	switch (rule->cfa) {
	case FPL_CFA_REG:
		*ret = base;
		return true;
	case FPL_CFA_INDEX:
		base += 8 * reg[second];
		__attribute__((__fallthrough__));
	case FPL_CFA_DEREF:
		*ret = machine_read(machine, base, 8) + (uint64_t)(int64_t)rule->off2;
		return true;
	case FPL_CFA_PLT:
		*ret = base + ((machine->pc & 15) >= second ? 8 : 0);
		return true;
	default:
		return false;
	}
}

static struct caller_value known(uint64_t value)
{
	return (struct caller_value){ .kind = CALLER_VALUE, .value = value };
}

static struct caller_value ext_value(const struct fpl_ext *ext, const struct machine *machine,
				     uint64_t cfa, uint64_t same)
{
	uint64_t off = (uint64_t)(int64_t)ext->off;
	uint64_t base = machine->reg[ext->base & 15];

	switch (ext->kind) {
	case FPL_EXT_UNDEF:
		return (struct caller_value){ .kind = CALLER_UNDEF };
	case FPL_EXT_SAME:
		return known(same);
	case FPL_EXT_AT_CFA:
		return known(machine_read(machine, cfa + off, 8));
	case FPL_EXT_AT_REG:
		return known(machine_read(machine, base + off, 8));
	case FPL_EXT_VAL_CFA:
		return known(cfa + off);
	case FPL_EXT_VAL_REG:
		return known(base + off);
	case FPL_EXT_VAL_PC:
		return known(machine->pc + off);
	default:
		return (struct caller_value){ .kind = CALLER_EXPR };
	}
}

static void apply_saved(const struct fpl_rule *rule, const struct machine *machine,
			struct caller *caller)
{
	uint64_t base_reg = machine->reg[rule->regs & 15];

	for (size_t i = 0; i < FPL_NR_SAVED; i++) {
		struct caller_value *value = &caller->reg[saved_reg[i]];
		uint64_t base = (rule->from_reg >> i) & 1 ? base_reg : caller->cfa;
		int64_t words = rule->saved[i];

		if (words == FPL_SAVED_SAME)
			*value = known(machine->reg[saved_reg[i]]);
		else if (words == FPL_SAVED_UNDEF)
			value->kind = CALLER_UNDEF;
		else
			*value = known(machine_read(machine, base + (uint64_t)(words * 8), 8));
	}
}

static void apply_ext(const struct fpl_rule *rule, const struct machine *machine,
		      struct caller *caller)
{
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);
	size_t nr = ext->count <= FPL_EXT_MAX ? ext->count : 0;

	for (size_t i = 0; i < nr; i++) {
		uint8_t dst = ext[i].dst;
		uint64_t same = dst == MACHINE_RA ? machine->pc : 0;

		if (dst > MACHINE_RA)
			continue;
		if (dst != MACHINE_RA)
			same = dst == SP ? caller->cfa : machine->reg[dst];
		caller->reg[dst] = ext_value(&ext[i], machine, caller->cfa, same);
	}
}

void rule_eval(const struct fpl_rule *rule, const struct machine *machine, struct caller *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->signal = (rule->flags & FPL_RULE_SIGNAL) != 0;
	if (rule->cfa == FPL_CFA_NONE) {
		ret->status = CALLER_NONE;
		return;
	}
	if (!rule_cfa(rule, machine, &ret->cfa)) {
		ret->status = CALLER_GIVEN_UP;
		return;
	}
	ret->status = CALLER_FOUND;
	ret->reg[SP] = known(ret->cfa);
	if (rule->flags & FPL_RULE_RA_REG)
		ret->reg[MACHINE_RA] = known(machine->reg[rule->regs >> 4]);
	else
		ret->reg[MACHINE_RA] = known(machine_read(machine, ret->cfa - 8, 8));
	apply_saved(rule, machine, ret);
	if (rule->flags & FPL_RULE_EXT)
		apply_ext(rule, machine, ret);
	if (rule->flags & FPL_RULE_END)
		ret->reg[MACHINE_RA].kind = CALLER_UNDEF;
}

static void cfa_text(const struct fpl_rule *rule, FILE *out)
{
	const char *first = register_name(rule->regs & 15u);
	const char *second = register_name(rule->regs >> 4);

	switch (rule->cfa) {
	case FPL_CFA_NONE:
		fputs("none", out);
		break;
	case FPL_CFA_REG:
		fprintf(out, "cfa=%s%+" PRId32, first, rule->cfa_off);
		break;
	case FPL_CFA_DEREF:
		fprintf(out, "cfa=*(%s%+" PRId32 ")%+d", first, rule->cfa_off, rule->off2);
		break;
	case FPL_CFA_INDEX:
		fprintf(out, "cfa=*(%s%+" PRId32 "+8*%s)%+d", first, rule->cfa_off, second,
			rule->off2);
		break;
	case FPL_CFA_PLT:
		fprintf(out, "cfa=plt:%u", rule->regs >> 4);
		break;
	default:
		fputs("cfa=expr", out);
		break;
	}
}

static void ext_text(const struct fpl_ext *ext, FILE *out)
{
	const char *base = register_name(ext->base);

	fprintf(out, " %s=", register_name(ext->dst));
	switch (ext->kind) {
	case FPL_EXT_UNDEF:
		fputs(ext->dst == MACHINE_RA ? "end" : "u", out);
		break;
	case FPL_EXT_SAME:
		fputs("s", out);
		break;
	case FPL_EXT_AT_CFA:
		fprintf(out, "c%+" PRId32, ext->off);
		break;
	case FPL_EXT_AT_REG:
		fprintf(out, "*(%s%+" PRId32 ")", base, ext->off);
		break;
	case FPL_EXT_VAL_CFA:
		fprintf(out, "v:c%+" PRId32, ext->off);
		break;
	case FPL_EXT_VAL_REG:
		fprintf(out, "v:%s%+" PRId32, base, ext->off);
		break;
	case FPL_EXT_VAL_PC:
		fprintf(out, "v:pc%+" PRId32, ext->off);
		break;
	default:
		fputs("expr", out);
		break;
	}
}

/* Does an extended rule describe @reg? It wins. */
static bool is_extended(const struct fpl_rule *rule, uint8_t reg)
{
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

	for (size_t i = 0; (rule->flags & FPL_RULE_EXT) && i < ext->count && i < FPL_EXT_MAX; i++)
		if (ext[i].dst == reg)
			return true;
	return false;
}

static void saved_text(const struct fpl_rule *rule, FILE *out)
{
	for (size_t i = 0; i < FPL_NR_SAVED; i++) {
		int words = rule->saved[i];

		if (words == FPL_SAVED_SAME || is_extended(rule, saved_reg[i]))
			continue;
		fprintf(out, " %s=", register_name(saved_reg[i]));
		if (words == FPL_SAVED_UNDEF)
			fputs("u", out);
		else if ((rule->from_reg >> i) & 1)
			fprintf(out, "*(%s%+d)", register_name(rule->regs & 15u), words * 8);
		else
			fprintf(out, "c%+d", words * 8);
	}
}

void rule_text(const struct fpl_rule *rule, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	if (out == NULL) {
		snprintf(text, size, "?");
		return;
	}
	cfa_text(rule, out);
	if (rule->cfa == FPL_CFA_NONE) {
		fclose(out);
		return;
	}
	if (rule->flags & FPL_RULE_END)
		fputs(" ra=end", out);
	if (rule->flags & FPL_RULE_RA_REG)
		fprintf(out, " ra=v:%s", register_name(rule->regs >> 4));
	saved_text(rule, out);
	if (rule->flags & FPL_RULE_EXT) {
		const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

		for (size_t i = 0; i < ext->count && i < FPL_EXT_MAX; i++)
			ext_text(&ext[i], out);
	}
	if (rule->flags & FPL_RULE_SIGNAL)
		fputs(" signal", out);
	fclose(out); /* a text that does not fit is cut */
	text[size - 1] = '\0';
}
