/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known names of one file, and their form as the bytes of a file of the cache on disk.
 * Pure: knows no file. A name is known of a range of addresses, so a function that was met once is
 * known everywhere. A version of fpless reads its own entries alone, so the format needs no
 * compatibility; all that is read is hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/name_search.h"
#include "parse/name_key.h"
#include "symbolize/symbol_place.h"

#define NAME_ENTRY_RANGES_MAX (1u << 17)
#define NAME_ENTRY_TEXT_MAX   (16u << 20) /* bytes */
#define NAME_ENTRY_NO_TEXT    UINT32_MAX

struct name_range {
	uint64_t start, end;
	uint64_t origin; /* symbol_place.start */
	uint32_t text;	 /* where the name begins in the text; NAME_ENTRY_NO_TEXT: no name */
	uint32_t _pad;
};

struct name_entry {
	struct name_search search;
	bool has_no_lines;	   /* there is no debugging information */
	struct name_range *ranges; /* owned [nr], ascending, none over another */
	size_t nr;
	char *text; /* owned [text_size], the last a NUL; NULL where it is empty */
	size_t text_size;
};

/* Safe on a zeroed struct, which is an entry that knows nothing. */
void name_entry_fini(struct name_entry *entry);

/* Bytes of memory. */
size_t name_entry_bytes(const struct name_entry *entry);

/* The range that holds @vaddr, or NULL. Cost: O(log n). */
const struct name_range *name_entry_find(const struct name_entry *entry, uint64_t vaddr);

/* The name in @range; NULL: the code there has none. */
const char *name_entry_text(const struct name_entry *entry, const struct name_range *range);

/*
 * Add the answers @places for @vaddrs [@nr], ascending. What is known stays: a range that would lie
 * over another is cut. Beyond NAME_ENTRY_RANGES_MAX or NAME_ENTRY_TEXT_MAX the entry begins anew
 * with these, as far as they fit. Errors: -ENOMEM: it is as it was. Cost: O(known + added).
 */
FPL_MUST_CHECK int name_entry_add(struct name_entry *entry, const uint64_t *vaddrs,
				  const struct symbol_place *places, size_t nr);

/* The bytes of @entry under @key: [*ret_size], the caller frees them. Errors: -ENOMEM. */
FPL_MUST_CHECK int name_entry_write(const struct name_entry *entry, const struct name_key *key,
				    uint8_t **ret, size_t *ret_size);

#define NAME_ENTRY_BYTES_MAX                                                   \
	(4096u + NAME_ENTRY_RANGES_MAX * (uint64_t)sizeof(struct name_range) + \
	 NAME_ENTRY_TEXT_MAX) /* of any entry */

/*
 * Read the entry of @key from @bytes [@size]; *ret is the caller's to end, also after an error.
 *
 * Errors: -ESTALE it was made by another version, which is no fault; -EBADMSG it is torn, damaged,
 * of another key, or does not hold together (message says which); -ENOMEM.
 */
FPL_MUST_CHECK int name_entry_read(const struct name_key *key, const uint8_t *bytes, size_t size,
				   struct name_entry *ret, struct fpl_err *err);
