/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Find the rule in force at a vaddr of an object: the one reader of the table image (bpf/shared.h),
 * in the kernel and in userspace. The includer defines, before including this,
 *
 *   const __u8 *env_chunk(struct env *env, __u32 chunk_no);
 *
 * which returns the FPL_CHUNK_SIZE bytes of a chunk of the pool, or NULL.
 *
 * Every offset is masked or compared to stay inside its chunk, so a wrong image gives a wrong rule
 * and nothing else; that is also what the verifier wants to see. The search has no branch that
 * depends on a row: with one, the verifier would follow every outcome of every step.
 */
#pragma once

#include "bpf/shared.h"

#define LOOKUP_INLINE static inline __attribute__((__always_inline__))

/* Keep the compiler from moving a bound away from its use, or from making it a branch. */
#define LOOKUP_OPAQUE(var) __asm__ volatile("" : "+r"(var))

LOOKUP_INLINE __u32 lookup_u8(const __u8 *chunk, __u64 off)
{
	off &= FPL_CHUNK_SIZE - 1;
	LOOKUP_OPAQUE(off);
	return chunk[off];
}

LOOKUP_INLINE __u32 lookup_u16(const __u8 *chunk, __u64 off)
{
	off &= FPL_CHUNK_SIZE - 2;
	LOOKUP_OPAQUE(off);
	return *(const __u16 *)(chunk + off);
}

/*
 * Number of rows among the @nr rows at @off that begin at or below @key: the largest sum of
 * descending powers of two, from @step down, that does not exceed @nr and whose last row is not
 * above @key.
 */
LOOKUP_INLINE __u64 lookup_rows(const __u8 *chunk, __u64 off, __u32 row_log2, __u64 nr, __u64 key,
				__u64 step)
{
	__u64 pos = 0;

#pragma GCC unroll 16
	for (; step; step >>= 1) {
		__u64 last = pos + step - 1;
		/* Negative if the row is above the key, or is not one of the @nr. */
		__s64 above = (__s64)(key - lookup_u8(chunk, off + (last << row_log2)));
		__s64 beyond = (__s64)(nr - 1 - last);

		LOOKUP_OPAQUE(above);
		LOOKUP_OPAQUE(beyond);
		pos += step & ~(__u64)((above | beyond) >> 63);
	}
	return pos;
}

/* Vaddrs [start, end) around the one that was looked up, with the same rule. */
struct lookup_reach {
	__u64 start;
	__u64 end;
};

/*
 * The rule's slot for the pc at @low (its low FPL_PAGE_LOG2 bits) of the page at @off, and how far
 * the row reaches in its span, from the page's beginning.
 */
LOOKUP_INLINE __u32 lookup_in_page(const __u8 *chunk, __u64 off, __u32 nr_dict, __u64 low,
				   struct lookup_reach *reach)
{
	__u64 span = low >> FPL_SPAN_LOG2;
	__u64 key = low & ((1u << FPL_SPAN_LOG2) - 1);
	__u64 first = lookup_u16(chunk, off + 2 * span);
	/* Modulo 2^16: the last entry of a page with a row on each of its bytes reads 0. */
	__u64 nr = (lookup_u16(chunk, off + 2 * span + 2) - first) & 0xffff;
	__u32 row_log2 = nr_dict ? 1 : 2;
	__u64 dict = off + FPL_PAGE_FIRST_BYTES;
	__u64 rows = dict + 2 * (__u64)nr_dict;
	__u64 row;

	rows += first << row_log2;
	if (nr < 8)
		row = lookup_rows(chunk, rows, row_log2, nr, key, 4);
	else
		row = lookup_rows(chunk, rows, row_log2, nr, key, 256);
	rows += row << row_log2;
	reach->start = span << FPL_SPAN_LOG2;
	reach->end = reach->start + (1u << FPL_SPAN_LOG2);
	if (row < nr)
		reach->end = reach->start + lookup_u8(chunk, rows);
	rows -= 1ull << row_log2; /* the last that is not above */
	if (row)
		reach->start += lookup_u8(chunk, rows);
	if (!nr_dict)
		return lookup_u16(chunk, rows + 2);
	return lookup_u16(chunk, dict + 2 * (__u64)lookup_u8(chunk, rows + 1));
}

/*
 * The image of @object in force at this moment. A caller that reads it once keeps using one image.
 */
LOOKUP_INLINE const struct fpl_image *table_image(const struct fpl_object *object)
{
	__u32 current = *(const volatile __u32 *)&object->current & 1;

	LOOKUP_OPAQUE(current);
	return &object->images[current];
}

/*
 * Find the rule in force at @vaddr, a lookup_pc, in @image of @object's table. @reach: a range
 * around it with that rule, not necessarily the largest.
 *
 * Returns the rule, or slot 0 (FPL_CFA_NONE) if nothing covers @vaddr; FPL_RULE_REACH bytes from
 * the rule on are readable, extended rules included. NULL: a chunk is missing, or the image is
 * malformed. Cost: five cache lines, a search over the rows of 256 bytes of code.
 */
LOOKUP_INLINE const struct fpl_rule *table_lookup(struct env *env, const struct fpl_object *object,
						  const struct fpl_image *image, __u64 vaddr,
						  struct lookup_reach *reach)
{
	__u64 page_idx = (vaddr - object->first_vaddr) >> FPL_PAGE_LOG2;
	__u32 base = image->base;
	__u32 slot = 0;
	const __u8 *chunk;
	__u32 at;
	__u64 off;

	reach->start = vaddr;
	reach->end = vaddr + 1;
	if (page_idx < object->nr_pages) {
		const struct fpl_page *page;

		at = base + image->dir_off + (__u32)page_idx * (__u32)sizeof(*page);
		chunk = env_chunk(env, at >> FPL_CHUNK_LOG2);
		if (!chunk)
			return 0;
		off = at & (FPL_CHUNK_SIZE - sizeof(*page));
		LOOKUP_OPAQUE(off);
		page = (const struct fpl_page *)(chunk + off);
		__u32 nr_dict = page->nr_dict;

		if (page->off) {
			at = base + page->off;
			chunk = env_chunk(env, at >> FPL_CHUNK_LOG2);
			if (!chunk)
				return 0;

			__u64 low = vaddr & ((1u << FPL_PAGE_LOG2) - 1);

			slot = lookup_in_page(chunk, at & (FPL_CHUNK_SIZE - 1), nr_dict, low,
					      reach);
			reach->start += vaddr - low;
			reach->end += vaddr - low;
		}
	}
	at = base + image->rules_off + slot * (__u32)sizeof(struct fpl_rule);
	chunk = env_chunk(env, at >> FPL_CHUNK_LOG2);
	if (!chunk)
		return 0;
	off = at & (FPL_CHUNK_SIZE - sizeof(struct fpl_rule));
	LOOKUP_OPAQUE(off);
	if (off > FPL_CHUNK_SIZE - FPL_RULE_REACH)
		return 0;
	return (const struct fpl_rule *)(chunk + off);
}
