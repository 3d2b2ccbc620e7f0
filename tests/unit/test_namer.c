/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the namer asks a played worker, how often, and what it remembers. */
#include "tests/support/worker_double.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "naming/namer.h"

/* A namer, and a file that it may ask about. */
struct scene {
	struct namer *namer;
	struct met_file file;
	char path[32];
};

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct namer_options options = { .lines = true, .inlined = true };

	*state = scene;
	doubled.rounds = doubled.addresses = 0;
	doubled.has_lines = false;
	doubled.code = 0;
	if (!scene || namer_create(&options, &scene->namer, NULL))
		return -1;
	snprintf(scene->path, sizeof(scene->path), "/tmp/test_namer.XXXXXX");
	scene->file.fd = mkstemp(scene->path);
	return scene->file.fd < 0 || write(scene->file.fd, "x", 1) != 1 ||
	       met_file_read(scene->file.fd, &scene->file) ||
	       namer_add_object(scene->namer, 1, scene->path, &scene->file, NULL);
}

static int end(void **state)
{
	struct scene *scene = *state;

	namer_destroy(scene->namer);
	close(scene->file.fd);
	unlink(scene->path);
	free(scene);
	return 0;
}

/* @name NULL: no name. */
static const char *check(struct namer *namer, uint64_t vaddr, const char *name)
{
	struct symbol symbol = { .start = 77 };

	namer_user(namer, 1, vaddr, &symbol);
	if (!symbol.name != !name || (name && strcmp(symbol.name, name) != 0))
		fail_msg("%#lx: got %s", (unsigned long)vaddr, symbol.name);
	assert_true(symbol.start == (name ? vaddr : SYMBOL_NO_START));
	return symbol.name;
}

static void ids_out_of_range_are_refused(void **state)
{
	struct scene *scene = *state;
	struct fpl_err err = { 0 };

	assert_int_equal(namer_add_object(scene->namer, 0, "zero", &scene->file, &err), -EINVAL);
	assert_int_equal(namer_add_object(scene->namer, UINT32_MAX, "far", &scene->file, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "far: object id 4294967295 is out of range");
}

static void addresses_are_named_a_round_at_a_time(void **state)
{
	static const struct {
		uint64_t vaddrs[4];
		size_t rounds, addresses; /* asked by then */
	} steps[] = {
		{ { 0x30, 0x10, 0x30, 0x20 }, 1, 3 },  { { 0x10, 0x20, 0x30, 0x10 }, 1, 3 },
		{ { 0x25, 0x10, 0x05, 0x40 }, 2, 6 },  { { 0x05, 0x25, 0x40, 0x30 }, 2, 6 },
		{ { 0x06, 0x26, 0x41, 0x29 }, 3, 10 },
	};
	struct scene *scene = *state;
	const char *kept = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (size_t k = 0; k < 4; k++)
			namer_expect(scene->namer, 1, steps[i].vaddrs[k]);
		for (size_t k = 0; k < 4; k++) {
			const char *got;
			char name[16];

			snprintf(name, sizeof(name), "f%llx",
				 (unsigned long long)steps[i].vaddrs[k]);
			got = check(scene->namer, steps[i].vaddrs[k], name);
			kept = kept ? kept : got;
			if (steps[i].vaddrs[k] == 0x30)
				assert_ptr_equal(got, kept); /* it is handed out again */
		}
		assert_int_equal(doubled.rounds, steps[i].rounds);
		assert_int_equal(doubled.addresses, steps[i].addresses);
		assert_int_equal(namer_nr_named(scene->namer), doubled.addresses);
	}
	assert_string_equal(kept, "f30"); /* what was handed out stays */
	check(scene->namer, 0x99, "f99"); /* what was not said costs a round of its own */
	assert_int_equal(doubled.rounds, 4);
}

/* The worker played here refuses what does not ascend. */
static void many_addresses_are_asked_in_order(void **state)
{
	enum { NR = 5000 };
	struct scene *scene = *state;
	char name[32];

	for (uint64_t i = 0; i < NR; i++)
		namer_expect(scene->namer, 1, i * 0x9e3779b97f4a7c15u >> 20);
	for (uint64_t i = 0; i < NR; i++) {
		uint64_t vaddr = i * 0x9e3779b97f4a7c15u >> 20;

		snprintf(name, sizeof(name), "f%llx", (unsigned long long)vaddr);
		check(scene->namer, vaddr, name);
	}
	assert_int_equal(doubled.rounds, 1);
	assert_int_equal(doubled.addresses, NR);
}

static void what_is_forgotten_is_asked_anew(void **state)
{
	struct scene *scene = *state;

	check(scene->namer, 0x10, "f10");
	namer_forget_names(scene->namer);
	assert_int_equal(namer_nr_named(scene->namer), 0);
	check(scene->namer, 0x10, "f10");
	assert_int_equal(doubled.rounds, 2);
	namer_remove_object(scene->namer, 1);
	assert_false(namer_has_file(scene->namer, 1));
	check(scene->namer, 0x10, NULL);
	assert_int_equal(doubled.rounds, 2);
}

static void a_file_that_was_written_to_has_no_names_from_then_on(void **state)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct scene *scene = *state;

	assert_int_equal(futimens(scene->file.fd, long_ago), 0);
	assert_int_equal(met_file_read(scene->file.fd, &scene->file), 0);
	assert_int_equal(namer_add_object(scene->namer, 1, scene->path, &scene->file, NULL), 0);
	/* who removes or links it changes nothing of what is in it */
	unlink(scene->path);
	check(scene->namer, 0x10, "f10");
	assert_int_equal(pwrite(scene->file.fd, "y", 1, 0), 1);
	check(scene->namer, 0x20, NULL);
	assert_int_equal(doubled.rounds, 1);
	namer_remove_object(scene->namer, 1);
	assert_int_equal(namer_add_object(scene->namer, 1, scene->path, &scene->file, NULL), 0);
	check(scene->namer, 0x10, NULL);
	assert_int_equal(doubled.rounds, 1);
}

static void a_file_that_has_lost_its_name_is_of_the_trust_it_was_met_with(void **state)
{
	struct scene *scene = *state;
	struct trust unnamed;

	unlink(scene->path);
	assert_int_equal(trust_read(scene->file.fd, &unnamed), 0);
	assert_memory_not_equal(&scene->file.trust, &unnamed, sizeof(unnamed));
	check(scene->namer, 0x10, "f10");
	assert_memory_equal(&doubled.trust, &scene->file.trust, sizeof(unnamed));
}

static void an_answer_that_failed_is_not_asked_for_again(void **state)
{
	struct scene *scene = *state;

	doubled.code = -EINVAL;
	namer_expect(scene->namer, 1, 0x20);
	check(scene->namer, 0x20, NULL);
	doubled.code = 0;
	namer_expect(scene->namer, 1, 0x30);
	check(scene->namer, 0x30, NULL);
	assert_int_equal(doubled.rounds, 0);
}

static void lines_are_as_they_were_wanted(void **state)
{
	static const struct {
		bool lines, inlined;
		size_t nr;
		const char *names[2];
		uint32_t line[2];
	} cases[] = {
		{ true, true, 2, { "in10", "f10" }, { 7, 17 } },
		{ false, true, 2, { "in10", "f10" }, { 0, 0 } },
		{ true, false, 1, { "f10" }, { 7 } },
		{ false, false, 0, { NULL }, { 0 } },
	};
	struct scene *scene = *state;

	doubled.has_lines = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct namer_options options = { .lines = cases[i].lines,
						       .inlined = cases[i].inlined };
		struct symbol_line got[SYMBOL_LINES_MAX];
		struct namer *namer;

		doubled.descriptions = 0;
		assert_int_equal(namer_create(&options, &namer, NULL), 0);
		assert_int_equal(namer_add_object(namer, 1, scene->path, &scene->file, NULL), 0);
		assert_int_equal(namer_lines(namer, 1, 0x10, got), cases[i].nr);
		for (size_t k = 0; k < cases[i].nr; k++) {
			assert_string_equal(got[k].name, cases[i].names[k]);
			assert_int_equal(got[k].line, cases[i].line[k]);
		}
		namer_destroy(namer);
		assert_int_equal(doubled.descriptions, 1); /* for names and for lines */
	}
}

static void a_file_without_debugging_information_is_not_asked_for_lines(void **state)
{
	const struct namer_options options = { .lines = true, .inlined = true };
	struct scene *scene = *state;
	struct symbol_line got[SYMBOL_LINES_MAX];
	struct namer *namer;

	doubled.line_rounds = 0;
	assert_int_equal(namer_create(&options, &namer, NULL), 0);
	assert_int_equal(namer_add_object(namer, 1, scene->path, &scene->file, NULL), 0);
	check(namer, 0x10, "f10");
	assert_int_equal(namer_lines(namer, 1, 0x10, got), 0);
	namer_destroy(namer);
	assert_int_equal(doubled.line_rounds, 0);
}

static void headers_that_a_file_was_met_with_are_not_read_again(void **state)
{
	const struct namer_options options = { .lines = true, .inlined = true };
	struct scene *scene = *state;
	struct met_file file = scene->file;
	struct symbol_line got[SYMBOL_LINES_MAX];
	struct namer *namer;

	doubled.descriptions = doubled.line_rounds = 0;
	file.plain = (struct plain_headers){ .machine = EM_X86_64, .build_id_size = 20 };
	assert_int_equal(namer_create(&options, &namer, NULL), 0);
	assert_int_equal(namer_add_object(namer, 1, scene->path, &file, NULL), 0);
	check(namer, 0x10, "f10");
	assert_int_equal(namer_lines(namer, 1, 0x10, got), 0);
	namer_destroy(namer);
	assert_int_equal(doubled.descriptions, 0);
	assert_int_equal(doubled.line_rounds, 0);
	assert_int_equal(doubled.rounds, 1);
}

/* As the run tells of stacks: frames of object 1 at @vaddrs. */
static void tell(const struct engine_namer *hooks, uint64_t first, uint64_t second)
{
	const uint64_t frames[] = { 1ull << FPL_FRAME_OBJECT_SHIFT | FPL_FRAME_EXACT | first,
				    1ull << FPL_FRAME_OBJECT_SHIFT | (second + 1),
				    FPL_FRAME_RAW | 0x7000 };

	hooks->expect(hooks->ctx, frames, ARRAY_SIZE(frames));
}

static void what_stacks_say_of_an_object_is_named_before_it_goes(void **state)
{
	const struct namer_options options = { .lines = false };
	struct scene *scene = *state;
	struct profile_object object = { .id = 1, .path = scene->path, .file = &scene->file };
	const struct engine_namer *hooks;
	struct namer *namer;
	bool was_asked = false;

	assert_int_equal(namer_create(&options, &namer, NULL), 0);
	hooks = namer_hooks(namer);
	tell(hooks, 0x20, 0x10);
	while (!hooks->settle(hooks->ctx, &object))
		was_asked = true;
	assert_true(was_asked);
	/* what comes meanwhile is asked before it goes */
	tell(hooks, 0x20, 0x30);
	while (!hooks->settle(hooks->ctx, &object))
		continue;
	assert_int_equal(doubled.rounds, 2);
	assert_int_equal(doubled.addresses, 3);
	hooks->end(hooks->ctx);
	assert_false(namer_has_file(namer, 1)); /* its descriptor may be another's now */
	check(namer, 0x10, "f10");
	check(namer, 0x20, "f20");
	check(namer, 0x30, "f30");
	namer_expect(namer, 1, 0x40);
	check(namer, 0x40, NULL);
	assert_int_equal(doubled.rounds, 2);
	namer_destroy(namer);
}

static void an_object_whose_file_cannot_be_read_goes_without_names(void **state)
{
	struct scene *scene = *state;
	struct profile_object object = { .id = 1, .path = scene->path, .file = &scene->file };
	const struct engine_namer *hooks = namer_hooks(scene->namer);

	doubled.code = -EINVAL;
	tell(hooks, 0x10, 0x20);
	while (!hooks->settle(hooks->ctx, &object))
		continue;
	tell(hooks, 0x10, 0x30);
	assert_true(hooks->settle(hooks->ctx, &object));
	hooks->end(hooks->ctx);
	check(scene->namer, 0x10, NULL);
}

static void what_a_run_that_ends_has_not_named_is_named_with_the_rest(void **state)
{
	struct scene *scene = *state;
	const struct profile profile = {
		.objects = &(struct profile_object){ .id = 1,
						     .path = scene->path,
						     .file = &scene->file },
		.nr_objects = 1,
	};
	const struct engine_namer *hooks = namer_hooks(scene->namer);

	tell(hooks, 0x10, 0x20);
	(void)hooks->settle(hooks->ctx, profile.objects);
	hooks->end(hooks->ctx);
	assert_int_equal(namer_add_profile(scene->namer, &profile, NULL), 0);
	check(scene->namer, 0x10, "f10");
	check(scene->namer, 0x20, "f20");
	assert_true(namer_has_file(scene->namer, 1));
}

#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SCENE(ids_out_of_range_are_refused),
		WITH_SCENE(addresses_are_named_a_round_at_a_time),
		WITH_SCENE(many_addresses_are_asked_in_order),
		WITH_SCENE(what_is_forgotten_is_asked_anew),
		WITH_SCENE(a_file_that_was_written_to_has_no_names_from_then_on),
		WITH_SCENE(a_file_that_has_lost_its_name_is_of_the_trust_it_was_met_with),
		WITH_SCENE(an_answer_that_failed_is_not_asked_for_again),
		WITH_SCENE(lines_are_as_they_were_wanted),
		WITH_SCENE(a_file_without_debugging_information_is_not_asked_for_lines),
		WITH_SCENE(headers_that_a_file_was_met_with_are_not_read_again),
		WITH_SCENE(what_stacks_say_of_an_object_is_named_before_it_goes),
		WITH_SCENE(an_object_whose_file_cannot_be_read_goes_without_names),
		WITH_SCENE(what_a_run_that_ends_has_not_named_is_named_with_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
