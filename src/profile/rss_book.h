/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holders of resident memory: the changes of bpf/rss.h in their order. Memory that a process
 * gets joins the stack that was sampled then, and what it gives back is taken off its oldest stacks
 * with memory of that kind. Each record says how large the memory was before, so that what was
 * missed is in the book, too, without a stack. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id_table.h"
#include "base/vector.h"
#include "bpf/shared.h"

/* Pieces of all memory that are kept: 16 bytes each. What comes then has no stack. */
#define RSS_PIECES_MAX (1u << 22)

/* Memory that came at one stack, the oldest first. */
struct rss_piece {
	uint64_t bytes;
	uint32_t id; /* as in struct fpl_rss; 0: of no stack */
};

/* One kind of a process's memory. */
struct rss_space {
	VECTOR(struct rss_piece) pieces;
	size_t first;	/* the pieces before it were given back */
	uint64_t bytes; /* sum of the others */
	uint32_t mm_id, kind;
	uint32_t tgid; /* its process's; 0: not known yet, or it has gone */
	bool is_over;  /* the process has ended: nothing changes any more */
};

/* The memory of a process before the run. */
struct rss_start {
	uint32_t tgid;
	uint64_t bytes[FPL_RSS_KINDS];
	char comm[FPL_COMM_SIZE];
};

/* All 0: empty. */
struct rss_book {
	VECTOR(struct rss_space) spaces;
	struct id_table by_memory; /* those that are not over, by mm_id and kind */
	VECTOR(uint32_t) unused;   /* spaces of processes that have gone */
	VECTOR(struct rss_start) starts;
	size_t nr_pieces;
	/* Was the process named by the user? What it has when it ends counts; that of others does
	 * not. */
	bool (*is_named)(void *ctx, uint32_t pid);
	void *ctx;
};

void rss_book_fini(struct rss_book *book);

/* Note what a process has that changes are to come of. Errors: -ENOMEM. */
FPL_MUST_CHECK int rss_book_start(struct rss_book *book, const struct rss_start *start);

/* Take in a change. Without memory for it the book stays behind; the next change makes that good,
 * without a stack. */
void rss_book_note(struct rss_book *book, const struct fpl_rss *change);

/* The process has ended: what it had goes with it, unless the user named it. */
void rss_book_end(struct rss_book *book, uint32_t tgid);

/* Call @fn for each piece that is resident, and for what processes had before of whose memory no
 * change came: @id 0. The processes are those that were sampled. */
typedef void rss_piece_fn(uint32_t tgid, uint32_t id, uint64_t bytes, void *ctx);
void rss_book_for_each(const struct rss_book *book, rss_piece_fn *fn, void *ctx);

/* The name that @tgid had before the run; NULL: not known. */
const char *rss_book_comm(const struct rss_book *book, uint32_t tgid);
