/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table_check.h"

#include <errno.h>
#include <stdbool.h>

#define CHUNK_MASK (FPL_CHUNK_SIZE - 1)

static const uint8_t *image_at(const struct table *table, uint32_t off)
{
	return table->chunks[off >> FPL_CHUNK_LOG2] + (off & CHUNK_MASK);
}

/* Do the @size bytes at @off lie in the image? */
static bool is_inside(const struct table *table, uint64_t off, uint64_t size)
{
	return off <= table->image_bytes && size <= table->image_bytes - off;
}

static bool crosses_chunk(uint64_t off, uint64_t size)
{
	return (off & CHUNK_MASK) + size > FPL_CHUNK_SIZE;
}

static bool is_extended(const struct fpl_ext *exts)
{
	if (exts[0].count == 0 || exts[0].count > FPL_EXT_MAX)
		return false;
	for (uint32_t i = 0; i < exts[0].count; i++) {
		if (exts[i].dst > FPL_NR_REGS || exts[i].kind > FPL_EXT_EXPR ||
		    exts[i].base >= FPL_NR_REGS)
			return false;
	}
	return true;
}

/*
 * Slots of extended rules are checked as rules, too: a walk by any of their bytes is safe, and only
 * the rows say which slot is which.
 */
static int check_rules(const struct table *table, uint32_t *ret_nr, struct fpl_err *err)
{
	const uint32_t size = sizeof(struct fpl_rule), reach = FPL_RULE_REACH - size;
	uint64_t bytes = table->image_bytes - (uint64_t)table->rules_off;

	if (table->rules_off % size || !is_inside(table, table->rules_off, size + reach) ||
	    crosses_chunk(table->rules_off, bytes))
		return fpl_fail(err, -EINVAL, "table: its rules lie outside");

	uint32_t nr = (uint32_t)(bytes - reach) / size;

	if (nr > FPL_RULES_MAX)
		return fpl_fail(err, -EINVAL, "table: too many rules");
	if (((const struct fpl_rule *)(const void *)image_at(table, table->rules_off))->cfa !=
	    FPL_CFA_NONE)
		return fpl_fail(err, -EINVAL, "table: rule 0 is not empty");
	*ret_nr = nr;
	return 0;
}

/* The target of a row. */
static bool is_rule(const struct table *table, uint32_t slot, uint32_t nr_rules)
{
	const struct fpl_rule *rules =
		(const struct fpl_rule *)(const void *)image_at(table, table->rules_off);

	if (slot >= nr_rules || rules[slot].cfa >= FPL_CFA_COUNT)
		return false;
	return !(rules[slot].flags & FPL_RULE_EXT) ||
	       is_extended((const struct fpl_ext *)(const void *)&rules[slot + 1]);
}

/* Are the spans of a page ascending rows? *ret_nr: their number. */
static bool are_spans(const uint16_t *first, uint32_t *ret_nr)
{
	uint32_t nr = first[FPL_NR_SPANS];

	if (first[0] != 0 || first[FPL_NR_SPANS + 1] != 0)
		return false;
	if (nr == 0) /* modulo 2^16 */
		nr = 1u << 16;
	for (uint32_t span = 0; span < FPL_NR_SPANS; span++) {
		uint32_t next = span + 1 < FPL_NR_SPANS ? first[span + 1] : nr;

		if (first[span] > next || next > nr)
			return false;
	}
	*ret_nr = nr;
	return true;
}

static bool are_narrow_rows(const struct table *table, const uint16_t *dict, uint32_t nr_dict,
			    uint32_t nr_rows, uint32_t nr_rules)
{
	const uint16_t *rows = dict + nr_dict;
	uint32_t highest = 0;

	for (uint32_t i = 0; i < nr_dict; i++) {
		if (!is_rule(table, dict[i], nr_rules))
			return false;
	}
	for (uint32_t i = 0; i < nr_rows; i++) {
		uint32_t id = rows[i] >> 8;

		highest = id > highest ? id : highest;
	}
	return highest < nr_dict;
}

static bool are_wide_rows(const struct table *table, const uint32_t *rows, uint32_t nr_rows,
			  uint32_t nr_rules)
{
	for (uint32_t i = 0; i < nr_rows; i++) {
		if (!is_rule(table, rows[i] >> 16, nr_rules))
			return false;
	}
	return true;
}

/*
 * @highest: end of the pages checked so far. Pages lie in the order of the directory, except that
 * equal ones of one row are shared: so a directory cannot make the same large page be checked over
 * and over.
 */
static bool is_page(const struct table *table, const struct fpl_page *page, uint32_t nr_rules,
		    uint64_t *highest)
{
	uint32_t nr_rows, dict_bytes = page->nr_dict * (uint32_t)sizeof(uint16_t);
	uint64_t size = FPL_PAGE_FIRST_BYTES;

	if (page->off % 8 || page->nr_dict > 256 || !is_inside(table, page->off, size) ||
	    crosses_chunk(page->off, size))
		return false;

	const uint8_t *bytes = image_at(table, page->off);

	if (!are_spans((const uint16_t *)(const void *)bytes, &nr_rows))
		return false;
	size += dict_bytes + (uint64_t)nr_rows * (page->nr_dict ? 2 : 4);
	if (!is_inside(table, page->off, size) || crosses_chunk(page->off, size))
		return false;
	if (page->off < *highest && nr_rows > 1)
		return false;
	if (page->off + size > *highest)
		*highest = page->off + size;
	bytes += FPL_PAGE_FIRST_BYTES;
	return page->nr_dict ? are_narrow_rows(table, (const uint16_t *)(const void *)bytes,
					       page->nr_dict, nr_rows, nr_rules)
			     : are_wide_rows(table, (const uint32_t *)(const void *)bytes, nr_rows,
					     nr_rules);
}

int table_check(const struct table *table, struct fpl_err *err)
{
	uint64_t dir_bytes = (uint64_t)table->nr_pages * sizeof(struct fpl_page);
	uint64_t highest = 0;
	uint32_t nr_rules = 0;

	if (table->nr_chunks << FPL_CHUNK_LOG2 < table->image_bytes)
		return fpl_fail(err, -EINVAL, "table: shorter than it says");
	if (table->first_vaddr & ((1u << FPL_PAGE_LOG2) - 1))
		return fpl_fail(err, -EINVAL, "table: begins inside a page");
	if (table->dir_off % sizeof(struct fpl_page) ||
	    !is_inside(table, table->dir_off, dir_bytes) ||
	    crosses_chunk(table->dir_off, dir_bytes))
		return fpl_fail(err, -EINVAL, "table: its directory lies outside");

	int code = check_rules(table, &nr_rules, err);

	for (uint32_t i = 0; !code && i < table->nr_pages; i++) {
		const struct fpl_page *page = (const struct fpl_page *)(const void *)image_at(
			table, table->dir_off + i * (uint32_t)sizeof(*page));

		if (page->off && !is_page(table, page, nr_rules, &highest))
			code = fpl_fail(err, -EINVAL, "table: page %u is malformed", i);
	}
	return code;
}
