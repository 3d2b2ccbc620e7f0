/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of weeks in one file, as windows of time: a database of SQLite. Texts, functions and
 * the tree of calls are there once for all windows; a window has the numbers of its leaves, and
 * its books (decision 0036). One process writes a store; others may read it meanwhile.
 *
 * A window keeps of a recording: each stack as its functions, by name, file, object and
 * origin, with what is inlined; counts, weights, stops; the name of the task, its cgroup, state
 * and key. Not kept: pids, threads, CPUs, addresses and lines within functions, each sample's
 * time, the walk by frame pointers.
 *
 * Every byte of the file is hostile. Errors of all functions, but where others are said, with the
 * file's name: -EBADMSG it is damaged; -EBUSY; -EACCES; -EIO.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/recording.h"

#define STORE_FILE   "fpless.db"
#define STORE_SCHEMA 1

struct store;

struct store_limits {
	uint64_t bytes;	  /* of the file; 0: no limit */
	uint64_t reserve; /* bytes to leave free on the disk: below that the file grows no more */
	uint64_t keep_ns; /* older windows go; 0: none does */
	/* Windows that ended so long ago become one with those of the same STORE_ROLL_NS; 0: never.
	 */
	uint64_t roll_after_ns[2];
};

#define STORE_ROLL_NS                                                   \
	{                                                               \
		UINT64_C(300) * 1000000000, UINT64_C(3600) * 1000000000 \
	}

/* A window, as lists have it. */
struct store_window {
	uint64_t id;
	uint64_t level;	   /* 0: as it was put in; 1, 2: several became one */
	uint64_t t0, t1;   /* it began and ended, ns since 1970 */
	uint64_t busy_ns;  /* sampled of that */
	uint64_t run;	   /* its row */
	uint64_t samples;  /* shown */
	uint64_t weight;   /* the sum of all stacks'; of several sources it may mean nothing */
	uint64_t judged;   /* samples with a user part */
	uint64_t complete; /* those of them whose stack is whole */
	uint64_t lost;	   /* in all ways */
};

/* Windows that began in [from_ns, to_ns), and of their samples those that are wanted. */
struct store_range {
	uint64_t from_ns, to_ns;
	const char *comm, *cgroup; /* POSIX extended regular expressions; NULL: all */
	const char *source;	   /* a word of sources_word_means(); NULL: all */
};

/*
 * Open the store in @folder to write it; it is made, with its last folder, where it is missing.
 * Errors also: -EBUSY another process writes it; -EPROTO another program or a newer one made it,
 * which is said; those of mkdir(2) and open(2).
 */
FPL_MUST_CHECK int store_open_to_write(const char *folder, const struct store_limits *limits,
				       struct store **ret, struct fpl_err *err);

/*
 * The same to read it, as it is now. A folder that may not be written will do: while the store is
 * written, or where its writer has ended well.
 */
FPL_MUST_CHECK int store_open_to_read(const char *folder, struct store **ret, struct fpl_err *err);

/* NULL is allowed. */
void store_close(struct store *store);

/* Bytes of the file and its log; 0 where it is not to be found. */
uint64_t store_bytes(const struct store *store);

/* The file, for messages. */
const char *store_path(const struct store *store);

/*
 * Put @recording in, in one transaction, as the window that it is by its start and duration.
 * @labels: "k=v,k=v" of the machine or run; may be "". Errors also, nothing is put in then:
 * -EINVAL a store cannot hold it (allocations, no time); -ENOSPC; -E2BIG; -EOVERFLOW.
 * Cost: O(frames of its stacks).
 */
FPL_MUST_CHECK int store_insert(struct store *store, const struct recording *recording,
				const char *labels, struct fpl_err *err);

/*
 * Do a part of what there is to do as of @now_ns: old windows go, those beyond the limit of size
 * too, oldest first, windows become one, rows that nothing refers to go, room is given back. Each
 * part is a short transaction. Returns 1 where more is left to do, 0 where not, or an error.
 */
FPL_MUST_CHECK int store_tend(struct store *store, uint64_t now_ns, struct fpl_err *err);

/*
 * Hand the windows that begin in @range, by their beginnings, to @each; another answer than 0 ends
 * that, and is returned. Where not all samples are wanted, a window has the sums of those that are
 * (but for lost, which is of all), and one without any is left out. Errors also: -EINVAL a bad
 * regular expression. Cost: O(windows); where not all are wanted as store_read().
 */
FPL_MUST_CHECK int store_list(struct store *store, const struct store_range *range,
			      int (*each)(void *ctx, const struct store_window *window), void *ctx,
			      struct fpl_err *err);

/*
 * All windows of @range as one recording, added to *ret, one of recording_init(): its counts,
 * weights, stops and books are their sums. *ret_nr: how many they are. Errors also: -EINVAL a bad
 * regular expression; -EDOM they do not count the same; -EOVERFLOW.
 */
FPL_MUST_CHECK int store_read(struct store *store, const struct store_range *range,
			      struct recording *ret, size_t *ret_nr, struct fpl_err *err);

/* A window in which a function was met, in samples. */
struct store_found {
	struct store_window window;
	uint64_t wanted;      /* of the series that the range wants */
	uint64_t self, total; /* it was the leaf; it was on the stack */
};

/* As store_list(), of the windows with samples of functions whose name matches @function, a POSIX
 * extended regular expression. Errors also: -EINVAL. Cost: O(rows + bytes of the windows). */
FPL_MUST_CHECK int store_find(struct store *store, const struct store_range *range,
			      const char *function,
			      int (*each)(void *ctx, const struct store_found *found), void *ctx,
			      struct fpl_err *err);

/* A function without a name, in a file with a build-id. Texts are the store's, until it is changed.
 */
struct store_unnamed {
	uint32_t id; /* of the function */
	const char *path, *build_id;
	uint64_t start; /* its first address in the file, or one within it, as the file has them */
};

/* Hand the functions of windows that begin in @range that a file may name to @each. */
FPL_MUST_CHECK int store_unnamed(struct store *store, const struct store_range *range,
				 void (*each)(void *ctx, const struct store_unnamed *function),
				 void *ctx, struct fpl_err *err);

/* A name for the function @id, of store_unnamed(). */
struct store_name {
	uint32_t id;
	const char *name, *file; /* file "": not known */
	uint32_t line;		 /* where it begins there; 0: not known */
};

/*
 * Give functions their names, in every window that has them; store_open_to_write() has opened the
 * store. In short transactions: those before an error stay. Errors also: -ENOSPC; -E2BIG.
 */
FPL_MUST_CHECK int store_name(struct store *store, const struct store_name *names, size_t nr,
			      struct fpl_err *err);

/* Look at all of it: SQLite's own check, every row and every window. Cost: O(bytes). */
FPL_MUST_CHECK int store_check(struct store *store, struct fpl_err *err);
