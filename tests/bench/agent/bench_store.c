/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: bench_store FOLDER NR FILE...
 * Puts NR windows into a new store, 10 s apart, the last one now: the recordings FILE in turn, with
 * the windows' times in place of their own. Prints what insertion and tending took, in CPU time,
 * and the size of the store.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "format/read.h"
#include "recording/must_add.h"
#include "store/store.h"

#define EVERY_NS (10 * NS_PER_S)

/* CPU time of each call. */
struct times {
	uint64_t *list; /* owned [nr] */
	size_t nr;
};

static _Noreturn void fail(const struct fpl_err *err)
{
	fpl_log(FPL_LOG_ERROR, "%s", err->msg);
	exit(1);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double ms_of(const struct times *times, size_t percent)
{
	size_t place = times->nr * percent / 100;

	return (double)times->list[place < times->nr ? place : times->nr - 1] / NS_PER_MS;
}

static void print_times(const char *what, struct times *times)
{
	qsort(times->list, times->nr, sizeof(*times->list), compare);
	printf("%s: %zu calls, median %.2f ms, p99 %.2f ms, %.1f ms at most\n", what, times->nr,
	       ms_of(times, 50), ms_of(times, 99), ms_of(times, 100));
}

static void read_file(const char *path, struct recording *ret)
{
	const struct read_options options = { .memory = 1ull << 30 };
	struct fpl_err err = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must_recording_init(ret);
	if (fd < 0 || recording_read(path, fd, &options, ret, &err))
		fail(&err);
	close(fd);
}

/* Put in, and tend until nothing is left to do. Each call's time is noted. */
static void put(struct store *store, const struct recording *recording, struct times *insertions,
		struct times *steps)
{
	uint64_t now_ns = recording->start_unix_ns + EVERY_NS;
	uint64_t began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct fpl_err err = { 0 };
	int more = 1;

	if (store_insert(store, recording, "", &err))
		fail(&err);
	insertions->list[insertions->nr++] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
	for (size_t i = 0; more == 1 && i < 4; i++) {
		began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		more = store_tend(store, now_ns, &err);
		if (more < 0)
			fail(&err);
		steps->list[steps->nr++] = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
	}
}

int main(int argc, char **argv)
{
	const struct store_limits limits = { .roll_after_ns = { 86400 * NS_PER_S,
								3 * 86400 * NS_PER_S } };
	size_t nr = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	size_t nr_files = (size_t)argc - 3;
	struct times insertions = { 0 }, steps = { 0 };
	struct recording *recordings;
	struct store *store = NULL;
	struct fpl_err err = { 0 };
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), bytes;

	if (!nr) {
		fputs("usage: bench_store FOLDER NR FILE...\n", stderr);
		return 1;
	}
	recordings = must_calloc(nr_files, sizeof(*recordings));
	for (size_t i = 0; i < nr_files; i++)
		read_file(argv[3 + i], &recordings[i]);
	insertions.list = must_calloc(nr, sizeof(*insertions.list));
	steps.list = must_calloc(4 * nr, sizeof(*steps.list));
	if (store_open_to_write(argv[1], &limits, &store, &err))
		fail(&err);
	for (size_t i = 0; i < nr; i++) {
		struct recording *recording = &recordings[i % nr_files];

		recording->start_unix_ns = now_ns - (nr - i) * EVERY_NS;
		put(store, recording, &insertions, &steps);
	}
	store_close(store);
	if (store_open_to_read(argv[1], &store, &err))
		fail(&err);
	bytes = store_bytes(store);
	store_close(store);
	print_times("insertion", &insertions);
	print_times("step of tending", &steps);
	printf("store: %.1f MB of %zu windows\n", (double)bytes / 1e6, nr);
	free(insertions.list);
	free(steps.list);
	for (size_t i = 0; i < nr_files; i++)
		recording_fini(&recordings[i]);
	free(recordings);
	return 0;
}
