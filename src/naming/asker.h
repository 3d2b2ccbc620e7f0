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
#include "parse/client.h"
#include "symbolize/symbol_place.h"

/* Workers of as many owners keep files at once, where questions go on. */
#define ASKER_CLIENTS 4u

struct asker_options {
	struct parser *parser;	  /* borrowed: its workers read the files */
	struct disk_cache *cache; /* borrowed; keeps names, once it is open; NULL: nothing does */
	bool mangled;		  /* names are as files have them */
	/* Questions come again and again about the same files: workers keep them (client_keep()).
	 */
	bool is_live;
};

struct asker_client {
	struct parse_client *client; /* owned; NULL: none yet */
	struct trust trust;	     /* whose files it had last */
	uint64_t last_use;
};

struct asker {
	struct asker_options options;
	struct asker_client clients[ASKER_CLIENTS]; /* the first one alone where it is not live */
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

/* One reading of a file, for names of addresses and what is inlined there. */
struct name_question {
	const char *path;     /* borrowed */
	struct met_file file; /* its descriptor is borrowed */
	uint64_t *vaddrs;     /* owned [nr], ascending */
	uint32_t *places;     /* owned [nr]: who asks knows of what (naming/place_book.h) */
	size_t nr;
	bool lines; /* what is inlined is wanted, too */
};

struct name_answer {
	int code; /* 0, or why there are no names; err says it, too */
	struct fpl_err err;
	struct symbol_places places; /* owned; valid where code is 0 */
	bool has_no_lines;	     /* it has no debugging information, or none that can be read */
};

void name_question_fini(struct name_question *question);

/* Name the code at each address. A file that fails over what is inlined keeps its names, which is
 * said. */
void asker_ask(struct asker *asker, const struct name_question *question, struct name_answer *ret);

/*
 * Ask about the file @met, that its process sees as @path, as it was then. Errors, with a
 * message that names the file, of the question above likewise: -ESTALE it was written to since;
 * those of reading it; -EOWNERDEAD it was the end of who read it; -ENOMEM.
 *
 * SYMBOL_FRAME_* of each of @vaddrs [@nr], ascending, into @ret [@nr].
 */
FPL_MUST_CHECK int asker_frames(struct asker *asker, const char *path, const struct met_file *met,
				const uint64_t *vaddrs, size_t nr, uint8_t *ret,
				struct fpl_err *err);
/* Name the variables at @vaddrs [@nr], ascending, as client_data(); the caller ends *ret by
 * symbol_places_fini(). */
FPL_MUST_CHECK int asker_data(struct asker *asker, const char *path, const struct met_file *met,
			      const uint64_t *vaddrs, size_t nr, struct symbol_places *ret,
			      struct fpl_err *err);
