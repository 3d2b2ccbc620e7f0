/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about addresses in files, put to workers: the debug file is found for each, unless the
 * answer is known from before. For one thread. All that comes from a worker has been checked to
 * hold together; whether it is true only the file knows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/name_store.h"
#include "obj/identity.h"
#include "parse/desk.h"
#include "symbolize/symbol_place.h"

/* Workers of as many owners keep files at once, where questions go on. */
#define ASKER_DESKS 4u

struct asker_options {
	struct parser *parser;	  /* borrowed: its workers read the files */
	struct disk_cache *cache; /* borrowed; keeps names, once it is open; NULL: nothing does */
	bool mangled;		  /* names are as files have them */
	/* Questions come again and again about the same files: workers keep them (desk_keep()). */
	bool is_live;
};

struct asker_desk {
	struct desk *desk;  /* owned; NULL: none yet */
	struct trust trust; /* whose files it had last */
	uint64_t last_use;
};

struct asker {
	struct asker_options options;
	struct asker_desk desks[ASKER_DESKS]; /* the first one alone where it is not live */
	uint64_t nr_uses;
	struct name_store names; /* what was answered; its counts are for reading */
};

/* Errors: -ENOMEM. asker_fini() is safe then. */
FPL_MUST_CHECK int asker_init(struct asker *ret, const struct asker_options *options,
			      struct fpl_err *err);
/* Writes names that are new to the cache, too. Safe on a zeroed struct. */
void asker_fini(struct asker *asker);
/* Write names that are new to the cache, and say at debug level what it was good for. */
void asker_keep(struct asker *asker);

/*
 * Each asks about the file @met, that its process sees as @path, as it was then. Errors, with a
 * message that names the file: -ESTALE it was written to since; those of reading it; -EOWNERDEAD it
 * was the end of who read it; -ENOMEM.
 */

/* Name the code at each of @vaddrs [@nr], ascending. */
FPL_MUST_CHECK int asker_names(struct asker *asker, const char *path, const struct met_file *met,
			       const uint64_t *vaddrs, size_t nr, struct symbol_places *ret,
			       struct fpl_err *err);
/* What is inlined at each of @vaddrs [@nr], ascending, and where that is written. For names that
 * were just asked: the file is not checked again. -ENOENT: it has no debugging information. */
FPL_MUST_CHECK int asker_lines(struct asker *asker, const char *path, const struct met_file *met,
			       const uint64_t *vaddrs, size_t nr, struct symbol_chains *ret,
			       struct fpl_err *err);
/* SYMBOL_FRAME_* of each of @vaddrs [@nr], ascending, into @ret [@nr]. */
FPL_MUST_CHECK int asker_frames(struct asker *asker, const char *path, const struct met_file *met,
				const uint64_t *vaddrs, size_t nr, uint8_t *ret,
				struct fpl_err *err);
