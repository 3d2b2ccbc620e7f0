/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a store as hostile bytes. Judged: whatever it holds is an error with a message, or a
 * recording that can be written, whose samples are those of the windows that lists have.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/recording_text.h"
#include "base/cleanup.h"
#include "base/memory_limit.h"
#include "store/store.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz_store.XXXXXX", path[64];

static void remove_all(void)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char name[96];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		unlink(name);
	}
	rmdir(folder);
}

static void write_store(const uint8_t *data, size_t size)
{
	int fd;

	if (!path[0]) {
		REQUIRE(mkdtemp(folder));
		snprintf(path, sizeof(path), "%s/" STORE_FILE, folder);
		atexit(remove_all);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static int add_samples(void *ctx, const struct store_window *window)
{
	uint64_t *samples = ctx;

	REQUIRE(window->t0 <= window->t1 && window->complete <= window->judged &&
		window->judged <= window->samples);
	*samples += window->samples;
	return 0;
}

static int note_found(void *ctx, const struct store_found *found)
{
	(void)ctx;
	REQUIRE(found->self <= found->total && found->total <= found->wanted);
	return 0;
}

static void read_all(struct store *store)
{
	static const struct store_range all = { 0, INT64_MAX, NULL, NULL, NULL };
	const struct store_range some = { 0, INT64_MAX, "a", ".", "cpu" };
	const struct format_options options = { .annotate = true };
	CLEANUP(recording_fini) struct recording whole = { 0 }, part = { 0 };
	struct fpl_err err = { 0 };
	uint64_t samples = 0;
	size_t nr;
	int listed = store_list(store, &all, add_samples, &samples, &err), code;

	REQUIRE(!recording_init(&whole) && !recording_init(&part));
	code = store_read(store, &all, &whole, &nr, &err);
	REQUIRE(!code || err.msg[0]);
	if (!code && !listed) {
		REQUIRE(recording_shown(&whole) == samples);
		free(recording_as(&whole, "folded", &options));
		REQUIRE(!store_read(store, &some, &part, &nr, &err));
		REQUIRE(recording_shown(&part) <= samples);
	}
	code = store_find(store, &all, "m", note_found, NULL, &err);
	REQUIRE(!code || err.msg[0]);
	code = store_check(store, &err);
	REQUIRE(!code || err.msg[0]);
}

/* As an agent that goes on with it does. */
static void go_on(void)
{
	const struct store_limits limits = { .bytes = 1 << 20,
					     .keep_ns = 1,
					     .roll_after_ns = { 1, 1 } };
	struct store *store = NULL;
	struct fpl_err err = { 0 };
	int code = store_open_to_write(folder, &limits, &store, &err);

	REQUIRE(!code || err.msg[0]);
	for (size_t i = 0; !code && i < 20; i++) {
		code = store_tend(store, UINT64_C(1800000000000000000), &err);
		REQUIRE(code >= 0 || err.msg[0]);
		if (code <= 0)
			break;
		code = 0;
	}
	store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store *store = NULL;
	struct fpl_err err = { 0 };
	int code;

	write_store(data, size);
	code = store_open_to_read(folder, &store, &err);
	REQUIRE(!code || err.msg[0]);
	if (!code)
		read_all(store);
	store_close(store);
	go_on();
	return 0;
}
