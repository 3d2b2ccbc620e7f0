/* SPDX-License-Identifier: Apache-2.0 */
/* A symbolizer's source: each question about an object is a request to a worker, debug file
 * included, unless the answer is known from before. */
#pragma once

#include "base/err.h"
#include "parse/desk.h"
#include "parse/name_store.h"
#include "symbolize/symbol_source.h"

/* Workers of as many owners keep files at once, where questions go on. */
#define SYMBOLS_DESKS 4u

struct symbols {
	struct desk *desk; /* owned */
	/* with symbols_live(): the other desks, and whose files each one has */
	struct {
		struct desk *desk; /* owned; the first one is the one above */
		struct trust trust;
		uint64_t last_use;
	} live[SYMBOLS_DESKS];
	uint64_t nr_uses;
	struct parser *parser; /* borrowed */
	bool is_live, mangled;
	struct trust trust; /* of the files that are asked about, where has_trust */
	bool has_trust;
	struct name_store names;     /* what was answered; its counts are for reading */
	struct symbol_source source; /* to be lent to the symbolizer; ctx is this struct */
};

/* @parser: borrowed. @cache: borrowed; keeps names, once it is open; NULL: nothing does. *ret must
 * not move. Errors: -ENOMEM. */
FPL_MUST_CHECK int symbols_init(struct symbols *ret, struct parser *parser,
				struct disk_cache *cache, struct fpl_err *err);
/* From here on names are as the files have them. */
void symbols_mangled(struct symbols *symbols);
/* From here on questions come again and again about the same files: workers keep them
 * (desk_keep()).
 */
void symbols_live(struct symbols *symbols);
/* Write names that are new to the cache, and say at debug level what it was good for. */
void symbols_keep(struct symbols *symbols);
/* Does that, too. Safe on a zeroed struct. */
void symbols_fini(struct symbols *symbols);
