/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>

#include "recording/recording.h"

static struct recording recording;

static int set_up(void **state)
{
	(void)state;
	return recording_init(&recording);
}

static int tear_down(void **state)
{
	(void)state;
	recording_fini(&recording);
	return 0;
}

static uint32_t text(const char *what)
{
	uint32_t id;

	assert_int_equal(recording_add_text(&recording, what, &id), 0);
	return id;
}

static uint32_t function(const char *name)
{
	uint32_t id;

	assert_int_equal(recording_add_function(&recording,
						&(struct recording_function){ .name = text(name) },
						&id),
			 0);
	return id;
}

static uint32_t frame(uint64_t address, const char *name, const char *inlined)
{
	struct recording_line lines[2];
	struct recording_frame key = { .address = address, .start = RECORDING_NO_ADDRESS };
	uint32_t id;

	if (inlined)
		lines[key.nr_lines++] =
			(struct recording_line){ .function = function(inlined), .line = 3 };
	if (name)
		lines[key.nr_lines++] = (struct recording_line){ .function = function(name) };
	assert_int_equal(recording_add_frame(&recording, &key, lines, &id), 0);
	return id;
}

static uint32_t add(const struct recording_stack *key, const uint32_t *frames)
{
	uint32_t id;

	assert_int_equal(recording_add_stack(&recording, key, frames, &id), 0);
	return id;
}

static void empty_name_has_index_0(void **state)
{
	(void)state;
	assert_int_equal(text(""), 0);
	assert_int_equal(text(NULL), 0);
	assert_int_equal(function(""), 0);
	assert_string_equal(recording_string(&recording, recording.functions[0].name), "");
	assert_int_equal(recording.nr_objects, 1);
	assert_int_equal(recording_shown(&recording), 0);
}

static void frames_are_one_where_all_of_them_is_equal(void **state)
{
	(void)state;
	uint32_t main_frame = frame(0x10, "main", NULL);

	assert_int_equal(frame(0x10, "main", NULL), main_frame);
	assert_int_not_equal(frame(0x10, "other", NULL), main_frame);
	assert_int_not_equal(frame(0x11, "main", NULL), main_frame);
	assert_int_not_equal(frame(0x10, NULL, NULL), main_frame);

	uint32_t inlined = frame(0x10, "main", "helper");

	assert_int_not_equal(inlined, main_frame);
	assert_int_equal(frame(0x10, "main", "helper"), inlined);
	assert_string_equal(
		recording_string(
			&recording,
			recording_function_of(&recording, &recording.frames[inlined])->name),
		"main");
	assert_null(recording_function_of(&recording, &recording.frames[frame(1, NULL, NULL)]));
}

static void stacks_add_up_where_nothing_tells_them_apart(void **state)
{
	(void)state;
	uint32_t frames[] = { frame(1, "leaf", NULL), frame(2, "main", NULL) };
	uint32_t swapped[] = { frames[1], frames[0] };
	struct recording_stack key = {
		.count = 3, .weight = 30, .nr_user = 2, .comm = text("a"), .pid = 7
	};
	uint32_t first = add(&key, frames);

	key.count = 4;
	assert_int_equal(add(&key, frames), first);
	assert_int_equal(recording.stacks[first].count, 7);
	assert_int_equal(recording.stacks[first].weight, 60);
	assert_int_not_equal(add(&key, swapped), first);

	const struct recording_stack others[] = {
		{ .nr_user = 2, .comm = key.comm, .pid = 8 },
		{ .nr_user = 2, .comm = key.comm, .pid = 7, .task = 1 },
		{ .nr_user = 2, .comm = key.comm, .pid = 7, .stop = 1 },
		{ .nr_user = 2, .comm = key.comm, .pid = 7, .has = RECORDING_HAS_CPU },
		{ .nr_user = 2, .comm = key.comm, .pid = 7, .no_user = true },
		{ .nr_user = 2, .comm = text("b"), .pid = 7 },
		{ .nr_user = 1, .nr_kernel = 1, .comm = key.comm, .pid = 7 },
		{ .nr_user = 1, .nr_fp = 1, .comm = key.comm, .pid = 7 },
		{ .nr_user = 1, .comm = key.comm, .pid = 7 },
		{ .comm = key.comm, .pid = 7 },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(add(&others[i], frames), first + 2 + i);
	assert_ptr_equal(recording_frame_at(&recording, &recording.stacks[first], 1),
			 &recording.frames[frames[1]]);
	assert_int_equal(recording_shown(&recording), 11);
}

static void thousands_are_found_again(void **state)
{
	(void)state;
	enum { NR = 20000 };

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < NR; i++) {
			uint32_t id = frame(i * 16, "f", i % 3 ? NULL : "inlined");

			assert_int_equal(id, i);
			assert_int_equal(
				add(&(struct recording_stack){ .count = 1, .nr_user = 1 }, &id), i);
		}
	assert_int_equal(recording.nr_frames, NR);
	assert_int_equal(recording_shown(&recording), 2 * NR);
}

static void events_are_put_in_the_order_of_time(void **state)
{
	(void)state;
	static const struct recording_event events[] = {
		{ .time_ns = 5, .tid = 1 },	      { .time_ns = 1, .cpu = 1 },
		{ .time_ns = 1, .cpu = 0 },	      { .time_ns = 3 },
		{ .time_ns = 1, .cpu = 0, .tid = 9 },
	};

	recording_sort_events(&recording);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(recording_add_event(&recording, &events[i]), 0);
	recording_sort_events(&recording);
	for (size_t i = 1; i < recording.nr_events; i++)
		assert_true(recording.events[i - 1].time_ns <= recording.events[i].time_ns);
	assert_int_equal(recording.events[0].tid, 0);
	assert_int_equal(recording.events[1].tid, 9);
	assert_int_equal(recording.events[2].cpu, 1);
}

static void numbers_add_up_by_their_key(void **state)
{
	(void)state;
	assert_int_equal(recording_add_number(&recording, "lost.ring_full", 2), 0);
	assert_int_equal(recording_add_number(&recording, "fired", 1), 0);
	assert_int_equal(recording_add_number(&recording, "lost.ring_full", 3), 0);
	assert_int_equal(recording_number(&recording, "lost.ring_full"), 5);
	assert_int_equal(recording_number(&recording, "fired"), 1);
	assert_int_equal(recording_number(&recording, "shown"), 0);
	assert_int_equal(recording.nr_numbers, 2);
}

static void notes_stand_among_the_numbers(void **state)
{
	(void)state;
	assert_int_equal(recording_add_number(&recording, "fired", 1), 0);
	assert_int_equal(recording_set_note(&recording, "why", "no cfi"), 0);
	assert_int_equal(recording_set_note(&recording, "why", "depth"), 0);
	assert_int_equal(recording.nr_numbers, 2);
	assert_string_equal(recording_string(&recording, recording.numbers[1].note), "depth");
	assert_int_equal(recording.numbers[0].note, 0);
}

static void memory_grows_with_the_contents(void **state)
{
	(void)state;
	size_t before = recording_bytes(&recording);
	char name[1001];

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%01000u", i);
		frame(i, name, NULL);
	}
	assert_true(recording_bytes(&recording) > before + 1000 * 1001);
	before = recording_bytes(&recording);
	frame(0, name, NULL);
	frame(1, name, NULL);
	assert_true(recording_bytes(&recording) < before + 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(empty_name_has_index_0, set_up, tear_down),
		cmocka_unit_test_setup_teardown(frames_are_one_where_all_of_them_is_equal, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(stacks_add_up_where_nothing_tells_them_apart,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(thousands_are_found_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(events_are_put_in_the_order_of_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(numbers_add_up_by_their_key, set_up, tear_down),
		cmocka_unit_test_setup_teardown(notes_stand_among_the_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_grows_with_the_contents, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
