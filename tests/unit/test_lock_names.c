/* SPDX-License-Identifier: Apache-2.0 */
/* Names of locks, of a played worker's variables, and their exact sums. */
#include "tests/support/worker_double.h"

#include <sys/stat.h>

#include "naming/lock_names.h"

#define NR_STACKS 9

static const struct {
	const char *what;
	uint32_t pid;
	uint64_t addr, place;
	uint32_t memory;
	const char *text;
} locks[NR_STACKS] = {
#define PLACE(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
	{ "a variable", 1, 0x55001000, PLACE(1, 0x1000), 0, "v1000" },
	{ "the same of another process", 2, 0x77001000, PLACE(1, 0x1000), 0, "v1000" },
	{ "a part of one", 1, 0x55001128, PLACE(1, 0x1128), 0, "v1100+0x28" },
	{ "no variable there", 1, 0x55008010, PLACE(1, 0x8010), 0, "[libx.so+0x8010]" },
	{ "behind the object", 1, 0x55009000, PLACE(1, 0x9000), FPL_LOCK_HEAP,
	  "[heap 0x55009000]" },
	{ "in no object", 1, 0x7f0000001000, 0, FPL_LOCK_ANON, "[anon 0x7f0000001000]" },
	{ "on a stack", 1, 0x7ffc00001000, 0, FPL_LOCK_STACK, "[stack 0x7ffc00001000]" },
	{ "an object that is not known", 1, 0x66001000, PLACE(9, 0x1000), 0, "[anon 0x66001000]" },
	{ "more than one", 1, FPL_LOCK_SEVERAL, 0, 0, "[several]" },
};

struct scene {
	struct profile_stack stacks[NR_STACKS + 1];
	uint64_t keys[NR_STACKS + 1][FPL_KEY_MAX];
	struct profile_object object;
	struct profile profile;
	struct met_file file;
	char path[32];
	struct names names;
	struct lock_names locks;
};

static void add_stack(struct scene *scene, size_t idx, uint32_t pid, uint64_t addr, uint64_t place,
		      uint32_t memory)
{
	uint64_t *key = scene->keys[idx];

	key[FPL_WAIT_ADDR] = addr;
	key[FPL_WAIT_PLACE] = place;
	key[FPL_WAIT_MEMORY] = memory;
	scene->stacks[idx] = (struct profile_stack){
		.pid = pid,
		.flags = FPL_SAMPLE_BLOCKED,
		.nr_key = FPL_KEY_MAX,
		.frames = key,
	};
}

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	if (!scene ||
	    namer_create(&(struct namer_options){ .lines = false }, &scene->names.namer, NULL))
		return -1;
	for (size_t i = 0; i < NR_STACKS; i++)
		add_stack(scene, i, locks[i].pid, locks[i].addr, locks[i].place, locks[i].memory);
	/* its place was not known yet */
	add_stack(scene, NR_STACKS, locks[0].pid, locks[0].addr, 0, 0);
	snprintf(scene->path, sizeof(scene->path), "/tmp/test_locks.XXXXXX");
	scene->file.fd = mkstemp(scene->path);
	scene->object.path = "/usr/lib/libx.so";
	scene->profile = (struct profile){
		.stacks = scene->stacks,
		.nr_stacks = NR_STACKS + 1,
		.objects = &scene->object,
		.nr_objects = 1,
		.is_locks = true,
	};
	scene->names.profile = &scene->profile;
	if (scene->file.fd < 0 || met_file_read(scene->file.fd, &scene->file) ||
	    namer_add_object(scene->names.namer, 1, scene->path, &scene->file, NULL))
		return -1;
	return lock_names_make(&scene->names, &scene->locks);
}

static int end(void **state)
{
	struct scene *scene = *state;

	lock_names_fini(&scene->locks);
	namer_destroy(scene->names.namer);
	close(scene->file.fd);
	unlink(scene->path);
	free(scene);
	return 0;
}

static void locks_are_named_by_variable_object_or_memory(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(doubled.data_rounds, 1); /* for all of them */
	assert_int_equal(scene->locks.nr, NR_STACKS);
	for (size_t i = 0; i < NR_STACKS; i++) {
		const char *text = lock_names_find(&scene->locks, locks[i].pid, locks[i].addr);

		if (!text || strcmp(text, locks[i].text) != 0)
			fail_msg("%s: %s", locks[i].what, text ? text : "nothing");
	}
	assert_null(lock_names_find(&scene->locks, 3, locks[0].addr));
	assert_null(lock_names_find(&scene->locks, 1, 0x55001001));
}

static uint64_t number(const struct recording *recording, const char *key)
{
	return recording_number(recording, key);
}

static void locks_of_one_name_have_one_sum(void **state)
{
	struct scene *scene = *state;
	struct profile_lock sums[] = {
		{ .pid = 1, .addr = 0x55001000, .ns = 100, .nr = 2 },
		{ .pid = 1, .addr = 0x55001128, .ns = 150, .nr = 1 },
		{ .pid = 1, .addr = 0x66600000, .ns = 7, .nr = 3 }, /* no stack has it */
		{ .pid = 2, .addr = 0x77001000, .ns = 60, .nr = 5 },
	};
	CLEANUP(recording_fini) struct recording recording = { 0 };

	scene->profile.locks = sums;
	scene->profile.nr_locks = ARRAY_SIZE(sums);
	scene->profile.locks_beyond = (struct fpl_lock){ .ns = 1000, .nr = 10 };
	assert_int_equal(recording_init(&recording), 0);
	assert_int_equal(lock_names_add_numbers(&scene->locks, &scene->profile, &recording), 0);
	assert_string_equal(recording_note(&recording, "locks[].0.lock"), "v1000");
	assert_int_equal(number(&recording, "locks[].0.wait_ns"), 160);
	assert_int_equal(number(&recording, "locks[].0.waits"), 7);
	assert_string_equal(recording_note(&recording, "locks[].1.lock"), "v1100+0x28");
	assert_int_equal(number(&recording, "locks[].1.wait_ns"), 150);
	assert_null(recording_note(&recording, "locks[].2.lock"));
	assert_int_equal(number(&recording, "locks_others.wait_ns"), 1007);
	assert_int_equal(number(&recording, "locks_others.waits"), 13);
}

static void locks_beyond_those_that_are_listed_are_summed(void **state)
{
	enum { NR = 300 };
	struct profile_lock sums[NR];
	struct lock_name names[NR] = { 0 };
	const struct lock_names all = { .list = names, .nr = NR };
	const struct profile profile = { .locks = sums, .nr_locks = NR };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	char texts[NR][8];
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < NR; i++) {
		snprintf(texts[i], sizeof(texts[i]), "l%u", i);
		names[i] = (struct lock_name){ .pid = 1, .addr = i + 8, .text = texts[i] };
		sums[i] = (struct profile_lock){ .pid = 1, .addr = i + 8, .ns = i + 1, .nr = 1 };
		sum += i + 1;
	}
	assert_int_equal(recording_init(&recording), 0);
	assert_int_equal(lock_names_add_numbers(&all, &profile, &recording), 0);
	assert_string_equal(recording_note(&recording, "locks[].0.lock"), "l299");
	assert_int_equal(number(&recording, "locks[].255.wait_ns"), 45);
	assert_null(recording_note(&recording, "locks[].256.lock"));
	assert_int_equal(number(&recording, "locks_others.wait_ns"), 44 * 45 / 2);
	for (unsigned int i = 0; i < 256; i++) {
		char key[32];

		snprintf(key, sizeof(key), "locks[].%u.wait_ns", i);
		sum -= number(&recording, key);
	}
	assert_int_equal(sum, 44 * 45 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(locks_are_named_by_variable_object_or_memory, begin,
						end),
		cmocka_unit_test_setup_teardown(locks_of_one_name_have_one_sum, begin, end),
		cmocka_unit_test(locks_beyond_those_that_are_listed_are_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
