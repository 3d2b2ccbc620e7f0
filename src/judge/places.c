/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/places.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

enum { X86_RSP = 7, WORD = 8 };

#define PAGE_MASK ((1u << FPL_PAGE_LOG2) - 1)

void places_fini(struct places *places)
{
	free(places->list);
	free(places->hits);
	*places = (struct places){ .nr = 0 };
}

static bool is_made(const struct fpl_rule *rule)
{
	return rule->cfa != FPL_CFA_NONE && (rule->flags & FPL_RULE_SYNTH);
}

/* Does the row hold at the first instruction of a function? CFA = rsp + 8, nothing saved. */
static bool is_entry_row(const struct fpl_rule *rule)
{
	if (!is_made(rule) || rule->cfa != FPL_CFA_REG || (rule->regs & 15) != X86_RSP ||
	    rule->cfa_off != WORD || (rule->flags & FPL_RULE_EXT))
		return false;
	for (size_t i = 0; i < FPL_NR_SAVED; i++)
		if (rule->saved[i] != FPL_SAVED_SAME)
			return false;
	return true;
}

static int add(struct places *places, uint32_t object, uint64_t vaddr)
{
	int code;

	if (places->nr == PLACES_MAX)
		return 0;
	code = array_reserve(&places->list, sizeof(*places->list), &places->room, places->nr + 1);
	if (!code)
		places->list[places->nr++] = (struct place){ object, vaddr };
	return code;
}

/* xorshift64* (Vigna, 2016): to mix, not to surprise. */
static uint64_t next_random(struct places *places)
{
	uint64_t x = places->seed ? places->seed : 0x9e3779b97f4a7c15ull;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	places->seed = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* Neighbours are called together: in a random order each choice is of the whole file. */
static void mix(struct places *places, size_t first)
{
	for (size_t i = places->nr; i > first + 1; i--) {
		size_t other = first + next_random(places) % (i - first);
		struct place place = places->list[i - 1];

		places->list[i - 1] = places->list[other];
		places->list[other] = place;
	}
}

int places_add(struct places *places, uint32_t object, const struct table *table)
{
	uint64_t vaddr = table->first_vaddr, start, end;
	uint64_t last = vaddr + ((uint64_t)table->nr_pages << FPL_PAGE_LOG2);
	size_t first = places->nr;
	bool was_made = false;
	int code = 0;

	while (!code && vaddr < last) {
		const struct fpl_rule *rule = table_find_reach(table, vaddr, &start, &end);

		if (!was_made && is_entry_row(rule))
			code = add(places, object, vaddr);
		was_made = is_made(rule);
		/* a page without a row answers for one address alone */
		if (rule->cfa == FPL_CFA_NONE && end == vaddr + 1 && !(vaddr & PAGE_MASK))
			end = vaddr + PAGE_MASK + 1;
		vaddr = end > vaddr ? end : vaddr + 1;
	}
	mix(places, first);
	return code;
}

static bool is_among(const uint32_t *list, size_t nr, uint32_t idx)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == idx)
			return true;
	return false;
}

size_t places_choose(struct places *places, uint32_t *ret, size_t nr)
{
	size_t chosen = 0;

	if (nr > 1 && places->nr_hits)
		ret[chosen++] = places->hits[next_random(places) % places->nr_hits];
	for (size_t i = 0; i < places->nr && chosen < nr; i++) {
		uint32_t idx = (uint32_t)(places->next++ % places->nr);

		if (!is_among(ret, chosen, idx))
			ret[chosen++] = idx;
	}
	return chosen;
}

void places_hit(struct places *places, uint32_t idx)
{
	if (is_among(places->hits, places->nr_hits, idx) ||
	    array_reserve(&places->hits, sizeof(*places->hits), &places->room_hits,
			  places->nr_hits + 1))
		return;
	places->hits[places->nr_hits++] = idx;
}
