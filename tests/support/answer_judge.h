/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of every answer of a worker that was let pass, whatever the worker sent. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "parse/answer.h"
#include "tests/support/require.h"

/* Sums of the fields of @elf are safe. */
static inline void judge_elf(const struct elf_file *elf)
{
	uint64_t bias;

	(void)!elf_file_bias(elf, 0x1000, 0, &bias);
	elf_file_load_at(elf, elf->entry, 1);
}

static inline void judge_link(const struct debug_link *link)
{
	REQUIRE(strlen(link->name) < sizeof(link->name));
	REQUIRE(!strchr(link->name, '/'));
}

/* @table answers every lookup with a rule of its own. */
static inline void judge_table(const struct table *table)
{
	for (uint64_t at = 0; at < (uint64_t)table->nr_pages << FPL_PAGE_LOG2 && at < 1 << 22;
	     at += 251) {
		const uint8_t *rule = (const void *)table_find(table, table->first_vaddr + at);
		bool inside = false;

		REQUIRE(rule != NULL);
		for (size_t i = 0; i < table->nr_chunks; i++)
			inside |= rule >= table->chunks[i] &&
				  rule + FPL_RULE_REACH <=
					  table->chunks[i] + table_chunk_bytes(table, i);
		REQUIRE(inside);
	}
}

static inline void judge_names(const struct symbol_places *places, const uint64_t *vaddrs,
			       size_t nr)
{
	size_t total = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct symbol_place *place = &places->places[i];

		total += place->name ? strlen(place->name) : 0;
		REQUIRE(!place->name || place->start <= vaddrs[i]);
		REQUIRE(place->same.start == place->same.end ||
			(place->same.start <= vaddrs[i] && vaddrs[i] < place->same.end));
	}
	REQUIRE(total <= nr * (size_t)PARSE_TEXT_MAX);
}

static inline void judge_lines(const struct symbol_chains *chains, size_t nr)
{
	size_t total = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct symbol_line *lines = chains->lines + chains->chains[i].first;

		REQUIRE(chains->chains[i].nr <= SYMBOL_LINES_MAX);
		for (uint32_t k = 0; k < chains->chains[i].nr; k++)
			total += (lines[k].name ? strlen(lines[k].name) : 0) +
				 (lines[k].file ? strlen(lines[k].file) : 0);
	}
	REQUIRE(total <= nr * (size_t)SYMBOL_LINES_MAX * 2 * PARSE_TEXT_MAX);
}

/* All texts of @sites end, and offsets are such that the kernel takes. */
static inline void judge_probes(const struct probe_sites *sites)
{
	size_t total = 0;

	for (size_t i = 0; i < sites->nr; i++) {
		const struct probe_site *site = &sites->list[i];

		REQUIRE(site->kind < PROBE_SITE_KIND_COUNT);
		REQUIRE((int64_t)site->off >= 0 && (int64_t)site->ref_ctr_off >= 0);
		total += strlen(sites->text + site->provider) + strlen(sites->text + site->name) +
			 strlen(sites->text + site->args);
	}
	REQUIRE(total <= 3 * sites->nr * (size_t)PROBE_TEXT_MAX);
}

/* @listing, of the function at @vaddr, is in order, and its texts end. */
static inline void judge_listing(const struct listing *listing, uint64_t vaddr)
{
	uint64_t at = listing->range.start;
	size_t total = 0;

	REQUIRE(listing->range.start <= vaddr && vaddr < listing->range.end);
	for (size_t i = 0; i < listing->nr; i++) {
		const struct listing_insn *insn = &listing->insns[i];

		REQUIRE(insn->vaddr == at && insn->size && insn->size <= LISTING_INSN_MAX);
		REQUIRE(insn->kind < LISTING_KIND_COUNT);
		at += insn->size;
		REQUIRE(at <= listing->range.end && at > insn->vaddr);
		total += strlen(insn->text) + (insn->target_name ? strlen(insn->target_name) : 0);
	}
	REQUIRE(listing->is_cut == (at < listing->range.end));
	REQUIRE(total <= listing->nr * (size_t)2 * PARSE_TEXT_MAX);
}

static inline void judge_frames(const uint8_t *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		REQUIRE(frames[i] < 8);
}

static inline void judge_examination(const struct examination *found)
{
	REQUIRE(strlen(found->build_id) < sizeof(found->build_id));
	REQUIRE(strlen(found->problem) < sizeof(found->problem));
	REQUIRE(found->coverage.nr_largest <= COVERAGE_LARGEST);
	for (size_t i = 0; i < found->coverage.nr_largest; i++)
		REQUIRE(strlen(found->coverage.largest[i].name) < COVERAGE_NAME_MAX);
}

static inline void judge_code(const struct code_table *table, const struct code_file_result *result)
{
	char remark[256];

	REQUIRE(code_table_bytes(table) <= table->max_bytes);
	code_file_remark(result, "fuzz", remark, sizeof(remark));
	for (size_t i = 0; i < table->nr_segments; i++) {
		uint64_t addr = table->segments[i].end - 1;
		struct code_match match;

		for (uint64_t time = 0; time < 4; time++) {
			if (!code_table_find(table, addr, time, &match))
				continue;
			REQUIRE(match.start <= addr);
			REQUIRE(strlen(match.name) <= CODE_NAME_MAX);
		}
	}
}
