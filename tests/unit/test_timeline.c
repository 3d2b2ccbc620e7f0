/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/comm_filter.h"
#include "profile/timeline.h"

/* A stack of one frame, known as @id; counted by the kernel side unless @count. */
#define WEIGHT 5000000000ull /* a wait of five seconds has no room in 32 bits */

static void add_stack(struct stack_store *store, uint32_t id, const char *comm, uint64_t frame,
		      uint32_t count, struct fpl_sample *ret)
{
	*ret = (struct fpl_sample){
		.header = { .time_ns = 1000 + id },
		.weight = WEIGHT,
		.id = id,
		.count = count,
		.tgid = 5,
		.tid = 6,
		.cpu = 1,
		.nr_user = 1,
	};
	memcpy(ret->comm, comm, strlen(comm));
	assert_int_equal(stack_store_add(store, ret, &frame, NULL), 0);
}

static struct fpl_event record_of(uint32_t id, uint64_t time_ns, uint32_t cpu)
{
	return (struct fpl_event){
		.header = { .type = FPL_RECORD_EVENT, .time_ns = time_ns },
		.id = id,
		.weight = WEIGHT,
		.tid = 7,
		.cpu = cpu,
	};
}

static void record(struct timeline *timeline, uint32_t id, uint64_t time_ns, uint32_t cpu)
{
	const struct fpl_event event = record_of(id, time_ns, cpu);

	timeline_record(timeline, &event);
}

/* Take the rest of @timeline and @store, as the end of a run does. */
static void finish(struct timeline *timeline, struct stack_store *store, struct profile *ret)
{
	AUTO_FREE uint32_t *places = NULL;

	*ret = (struct profile){ .has_events = true };
	assert_int_equal(stack_store_places(store, &places), 0);
	assert_int_equal(stack_store_take(store, &ret->stacks, &ret->nr_stacks), 0);
	timeline_take(timeline, &ret->events, &ret->nr_events);
	profile_move_events(ret, places);
	timeline_fini(timeline);
	stack_store_destroy(store);
}

static void check_events(const struct profile *profile, const struct profile_event *expected,
			 const uint64_t *frames, size_t nr)
{
	assert_int_equal(profile->nr_events, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct profile_event *event = &profile->events[i];

		assert_int_equal(event->time_ns, expected[i].time_ns);
		assert_int_equal(event->tid, expected[i].tid);
		assert_int_equal(event->cpu, expected[i].cpu);
		assert_int_equal(event->weight, WEIGHT);
		assert_true(event->stack < profile->nr_stacks);
		assert_int_equal(profile->stacks[event->stack].frames[0], frames[i]);
	}
}

static void events_meet_their_stacks_in_order_of_time(void **state)
{
	static const struct profile_event expected[] = {
		{ .time_ns = 0, .tid = 7, .cpu = 0 },  { .time_ns = 3, .tid = 6, .cpu = 1 },
		{ .time_ns = 40, .tid = 7, .cpu = 0 }, { .time_ns = 40, .tid = 7, .cpu = 2 },
		{ .time_ns = 50, .tid = 7, .cpu = 0 },
	};
	static const uint64_t frames[] = { 0x10, 0x30, 0x20, 0x20, 0x10 };
	struct timeline timeline;
	struct stack_store *store;
	struct profile profile;
	struct fpl_sample sample;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	timeline_init(&timeline, store, 1 << 20, NULL, NULL);
	timeline.start_ns = 1000;
	add_stack(store, 9, "gone", 0x90, 0, &sample); /* never counted: has no place in the end */
	add_stack(store, 1, "perl", 0x10, 0, &sample);
	record(&timeline, 1, 1050, 0);
	record(&timeline, 1, 990, 0); /* before the clock was read */
	record(&timeline, 2, 1040, 2);
	timeline_retry(&timeline); /* the stack is not there yet */
	record(&timeline, 2, 1040, 0);
	record(&timeline, 77, 1045, 0); /* nor will it ever be */
	assert_int_equal(timeline.nr_waiting, 3);
	add_stack(store, 2, "perl", 0x20, 0, &sample);
	timeline_retry(&timeline);
	assert_int_equal(timeline.nr_waiting, 1);
	add_stack(store, 3, "perl", 0x30, 1, &sample);
	timeline_sample(&timeline, &sample, stack_store_last(store));
	assert_int_equal(stack_store_count(store, 1, 2, 20, 0), 0);
	assert_int_equal(stack_store_count(store, 2, 2, 20, 0), 0);
	finish(&timeline, store, &profile);
	assert_int_equal(profile.nr_stacks, 3);
	check_events(&profile, expected, frames, ARRAY_SIZE(expected));
	profile_fini(&profile);
}

static void events_beyond_their_memory_are_counted(void **state)
{
	struct timeline timeline;
	struct stack_store *store;
	struct profile profile;
	struct fpl_sample sample;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	timeline_init(&timeline, store, 3000 * sizeof(struct profile_event) + 1, NULL, NULL);
	add_stack(store, 1, "perl", 0x10, 0, &sample);
	for (uint64_t i = 0; i < 3010; i++)
		record(&timeline, 1, i, 0);
	assert_int_equal(timeline.nr_beyond, 10);
	assert_int_equal(stack_store_count(store, 1, 3010, 3010 * WEIGHT, 0), 0);
	finish(&timeline, store, &profile);
	assert_int_equal(profile.nr_events, 3000);
	assert_int_equal(profile_shown(&profile) - profile.nr_events, 10);
	profile_fini(&profile);
}

static void events_of_names_that_are_not_wanted_go(void **state)
{
	static const struct profile_event expected[] = { { .time_ns = 1, .tid = 7, .cpu = 0 },
							 { .time_ns = 3, .tid = 7, .cpu = 0 } };
	static const uint64_t frames[] = { 0x20, 0x40 };
	struct timeline timeline;
	struct stack_store *store;
	struct comm_filter *filter;
	struct profile profile;
	struct fpl_sample sample;

	(void)state;
	assert_int_equal(comm_filter_create("^perl$", false, &filter, NULL), 0);
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	timeline_init(&timeline, store, 1 << 20, NULL, NULL);
	for (uint32_t id = 1; id <= 4; id++) {
		add_stack(store, id, id % 2 ? "sh" : "perl", 0x10 * id, 0, &sample);
		record(&timeline, id, id - 1, 0);
		assert_int_equal(stack_store_count(store, id, 1, WEIGHT, 0), 0);
	}
	finish(&timeline, store, &profile);
	assert_int_equal(profile.nr_events, 4);
	assert_int_equal(comm_filter_apply(filter, &profile), 2);
	check_events(&profile, expected, frames, ARRAY_SIZE(expected));
	profile_fini(&profile);
	comm_filter_destroy(filter);
}

struct told {
	size_t nr;
	struct profile_event last;
};

static void note(void *ctx, const struct profile_event *event)
{
	struct told *told = ctx;

	told->nr++;
	told->last = *event;
}

static void a_listener_hears_of_each_sample_once_though_none_is_kept(void **state)
{
	struct timeline timeline;
	struct stack_store *store;
	struct fpl_sample sample;
	struct told told = { 0 };
	struct profile_stack stack;

	(void)state;
	assert_int_equal(stack_store_create(1 << 20, &store), 0);
	timeline_init(&timeline, store, 0, note, &told);
	record(&timeline, 1, 5, 3);
	assert_int_equal(told.nr, 0);
	add_stack(store, 1, "perl", 0x10, 0, &sample);
	timeline_retry(&timeline);
	timeline_retry(&timeline);
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.last.cpu, 3);
	stack_store_look(store, told.last.stack, &stack);
	assert_int_equal(stack.frames[0], 0x10);
	assert_string_equal(stack.comm, "perl");
	assert_int_equal(timeline.nr, 0);
	assert_int_equal(timeline.nr_beyond, 0);
	timeline_fini(&timeline);
	stack_store_destroy(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_meet_their_stacks_in_order_of_time),
		cmocka_unit_test(events_beyond_their_memory_are_counted),
		cmocka_unit_test(events_of_names_that_are_not_wanted_go),
		cmocka_unit_test(a_listener_hears_of_each_sample_once_though_none_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
