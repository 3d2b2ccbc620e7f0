/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a store get names later. */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "../support/store_folder.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/must_add.h"

#define S  UINT64_C(1000000000)
#define T0 (UINT64_C(1790000000) * S)

enum { NR = 600 }; /* functions: more than one step has */

/* Code at @start of an object; build_id "": it is not known. */
static uint32_t frame(struct recording *recording, const char *object_path, const char *build_id,
		      uint64_t start, uint8_t kind)
{
	const struct recording_object object = { .path = must_add_text(recording, object_path),
						 .build_id = must_add_text(recording, build_id) };
	const struct recording_frame key = { .object = must_add_object(recording, &object),
					     .address = start + 3,
					     .start = start,
					     .exact = true,
					     .kind = kind,
					     .origin = FPL_ORIGIN_CFI };

	return must_add_frame(recording, &key, NULL);
}

static void put_stack(struct recording *recording, uint32_t frame_id, bool kernel)
{
	const struct recording_stack key = {
		.count = 1, .nr_user = !kernel, .nr_kernel = kernel, .stop = FPL_STOP_OUTERMOST
	};

	must_add_stack(recording, &key, &frame_id);
}

/* A window at @t0 of functions [@begin, @end) of a file, and of code that no file may name. */
static void put(struct store *store, uint64_t begin, uint64_t end, uint64_t t0)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	struct fpl_err err = { 0 };

	must_recording_init(&recording);
	recording.event = must_add_text(&recording, "cpu-clock");
	recording.start_unix_ns = t0;
	recording.duration_ns = S;
	for (uint64_t i = begin; i < end; i++)
		put_stack(&recording, frame(&recording, "/bin/x", "ab", 0x100 * i, RECORDING_USER),
			  false);
	put_stack(&recording, frame(&recording, "/bin/y", "", 0x100, RECORDING_USER), false);
	put_stack(&recording,
		  frame(&recording, "/bin/x", "ab", RECORDING_NO_ADDRESS - 3, RECORDING_KERNEL),
		  true);
	if (store_insert(store, &recording, "", &err))
		fail_msg("%s", err.msg);
}

struct seen {
	struct store_name names[NR];
	char texts[NR][32];
	size_t nr;
};

static void take(void *ctx, const struct store_unnamed *function)
{
	struct seen *seen = ctx;

	assert_true(seen->nr < NR);
	assert_string_equal(function->path, "/bin/x");
	assert_string_equal(function->build_id, "ab");
	assert_int_equal(function->start % 0x100, 0);
	snprintf(seen->texts[seen->nr], sizeof(seen->texts[0]), "f%llu",
		 (unsigned long long)(function->start / 0x100));
	seen->names[seen->nr] = (struct store_name){
		.id = function->id, .name = seen->texts[seen->nr], .file = "x.c", .line = 7
	};
	seen->nr++;
}

static size_t nr_unnamed(struct store *store, uint64_t from_ns, uint64_t to_ns, struct seen *ret)
{
	const struct store_range range = { .from_ns = from_ns, .to_ns = to_ns };
	struct fpl_err err = { 0 };

	*ret = (struct seen){ 0 };
	if (store_unnamed(store, &range, take, ret, &err))
		fail_msg("%s", err.msg);
	return ret->nr;
}

/* Each function of the file is called as it was said; code that no file names has no name. */
static void assert_named(struct store *store, size_t want)
{
	CLEANUP(recording_fini) struct recording got = { 0 };
	struct fpl_err err = { 0 };
	size_t nr, nr_named = 0;

	must_recording_init(&got);
	assert_int_equal(store_read(store, &all, &got, &nr, &err), 0);
	for (size_t i = 0; i < got.nr_stacks; i++) {
		const struct recording_frame *at = recording_frame_at(&got, &got.stacks[i], 0);
		const struct recording_function *function = recording_function_of(&got, at);
		char name[32];

		if (!function)
			continue;
		nr_named++;
		snprintf(name, sizeof(name), "f%llu", (unsigned long long)(at->start / 0x100));
		assert_string_equal(recording_string(&got, function->name), name);
		assert_string_equal(recording_string(&got, function->file), "x.c");
		assert_int_equal(function->start_line, 7);
	}
	assert_int_equal(nr_named, want);
}

static void names_are_given_later(void **state)
{
	static struct seen seen;
	struct store *store = open_store(&unlimited);
	struct fpl_err err = { 0 };

	(void)state;
	put(store, 1, 101, T0);
	put(store, 51, NR, T0 + 10 * S);
	assert_int_equal(nr_unnamed(store, T0 + 11 * S, INT64_MAX, &seen), 0);
	assert_int_equal(nr_unnamed(store, T0, T0 + 1, &seen), 100);
	assert_int_equal(nr_unnamed(store, 0, INT64_MAX, &seen), NR - 1);
	assert_named(store, 0);
	/* ten stay without */
	assert_int_equal(store_name(store, seen.names, seen.nr - 10, &err), 0);
	assert_int_equal(store_check(store, &err), 0);
	assert_named(store, NR - 11);
	assert_int_equal(nr_unnamed(store, 0, INT64_MAX, &seen), 10);
	store_close(store);

	/* another writer goes on with it */
	store = open_store(&unlimited);
	assert_named(store, NR - 11);
	put(store, 1, NR, T0 + 20 * S);
	assert_int_equal(store_name(store, NULL, 0, &err), 0);
	assert_int_equal(store_check(store, &err), 0);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_given_later, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
