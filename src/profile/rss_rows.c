/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/rss_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/proc_files.h"

#define NOT_ATTRIBUTED "[not attributed]"
#define UNKNOWN_COMM   "[unknown]"

/* The number behind @name in the text of /proc/PID/status, which has KiB, in bytes; 0: not there.
 */
static uint64_t bytes_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

int rss_rows_start(struct rss_book *book, pid_t pid, struct fpl_err *err)
{
	struct rss_start start = { .tgid = (uint32_t)pid };
	char text[PROC_FILES_READ + 1];
	ssize_t len = proc_file_read(pid, "status", 0, text, sizeof(text) - 1, NS_PER_S);

	if (len == -ENOENT || len == -ESRCH)
		return 0; /* it has gone */
	if (len < 0)
		return fpl_fail(err, -EIO, "/proc/%d/status: %s", (int)pid, strerror((int)-len));
	text[len] = '\0';
	start.bytes[FPL_RSS_FILE] = bytes_of(text, "\nRssFile:");
	start.bytes[FPL_RSS_ANON] = bytes_of(text, "\nRssAnon:");
	start.bytes[FPL_RSS_SHARED] = bytes_of(text, "\nRssShmem:");
	len = proc_file_read(pid, "comm", 0, start.comm, sizeof(start.comm) - 1, NS_PER_S);
	if (len > 0)
		start.comm[strcspn(start.comm, "\n")] = '\0';
	return rss_book_start(book, &start)
		       ? fpl_fail(err, -ENOMEM, "resident memory: out of memory")
		       : 0;
}

void rss_rows_fini(struct rss_rows *rows)
{
	vector_fini(&rows->list);
}

/* Pieces of a process come one behind the other, so that the last row is most likely theirs. */
static void add_to_row(struct rss_rows *rows, uint32_t tgid, uint64_t bytes)
{
	for (size_t i = rows->list.nr; i--;) {
		if (rows->list.list[i].tgid != tgid)
			continue;
		rows->list.list[i].bytes += bytes;
		return;
	}
	if (vector_push(&rows->list, (struct rss_row){ .tgid = tgid, .bytes = bytes }))
		rows->is_short = true;
}

/* rss_piece_fn */
static void count_piece(uint32_t tgid, uint32_t id, uint64_t bytes, void *ctx)
{
	struct rss_rows *rows = ctx;
	uint32_t stack = id ? stack_store_find(rows->store, id) : STACK_STORE_NONE;

	if (stack == STACK_STORE_NONE)
		add_to_row(rows, tgid, bytes);
	else
		stack_store_live(rows->store, stack, bytes, 0);
}

int rss_rows_count(struct rss_rows *rows, const struct rss_book *book)
{
	rss_book_for_each(book, count_piece, rows);
	return rows->is_short ? -ENOMEM : 0;
}

/* A stack of the process, whose name and start its row has, too; NULL: none was sampled. */
static const struct profile_stack *stack_of(const struct profile *profile, size_t nr, uint32_t tgid)
{
	for (size_t i = 0; i < nr; i++)
		if (profile->stacks[i].pid == tgid)
			return &profile->stacks[i];
	return NULL;
}

/* The row as a stack without frames. */
static int make_stack(const struct rss_row *row, const struct profile_stack *like,
		      const struct rss_book *book, struct profile_stack *ret)
{
	const char *comm = like ? like->comm : rss_book_comm(book, row->tgid);

	*ret = (struct profile_stack){
		.count = 1,
		.weight = row->bytes,
		.start_ns = like ? like->start_ns : 0,
		.pid = row->tgid,
		.flags = FPL_SAMPLE_KTHREAD, /* there is no user stack */
		.nr_key = FPL_KEY_MAX,
		.frames = calloc(FPL_KEY_MAX, sizeof(uint64_t)),
	};
	if (!ret->frames)
		return -ENOMEM;
	memcpy(ret->frames, NOT_ATTRIBUTED, sizeof(NOT_ATTRIBUTED));
	snprintf(ret->comm, sizeof(ret->comm), "%s", comm && *comm ? comm : UNKNOWN_COMM);
	return 0;
}

int rss_rows_add(const struct rss_rows *rows, const struct rss_book *book, struct profile *profile)
{
	size_t nr = profile->nr_stacks, room = nr;

	for (size_t i = 0; i < nr; i++) {
		profile->stacks[i].weight = profile->stacks[i].heap.inuse_space;
		profile->stacks[i].squares = profile->stacks[i].heap.inuse_space_squares;
		profile->stacks[i].heap = (struct profile_heap_sums){ 0 };
	}
	if (array_reserve(&profile->stacks, sizeof(*profile->stacks), &room, nr + rows->list.nr))
		return -ENOMEM;
	for (size_t i = 0; i < rows->list.nr; i++) {
		const struct rss_row *row = &rows->list.list[i];
		struct profile_stack *to = &profile->stacks[profile->nr_stacks];

		if (make_stack(row, stack_of(profile, nr, row->tgid), book, to))
			return -ENOMEM;
		profile->nr_stacks++;
		profile->books.fired++;
	}
	return 0;
}
