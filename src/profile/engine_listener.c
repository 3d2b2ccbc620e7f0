/* SPDX-License-Identifier: Apache-2.0 */
/* Tell the listener of samples during the run. */
#include <stdlib.h>

#include "base/clock.h"
#include "profile/engine_state.h"

/* The wall clock has been set, or the machine has slept: beyond what reading two clocks takes. */
#define CLOCK_STEP_NS (10 * (int64_t)NS_PER_MS)

/* Follow the wall clock where it leaves the other. */
static void follow_clock(struct engine *engine)
{
	int64_t unix_ns = (int64_t)(clock_ns(CLOCK_REALTIME) -
				    (clock_monotonic_ns() - engine->timeline.start_ns));
	int64_t step = unix_ns - engine->listen_unix_ns;

	if (step > CLOCK_STEP_NS || step < -CLOCK_STEP_NS)
		engine->listen_unix_ns = unix_ns;
}

/* A listener that gets a frame knows its object. */
static void tell_objects(struct engine *engine)
{
	const struct engine_listener *listener = engine->options->listener;

	while (listener->object && engine->told_id != catalog_last_id(engine->catalog)) {
		engine->told_id = engine->told_id % FPL_FRAME_OBJECT_MAX + 1;

		struct object *object = catalog_at(engine->catalog, engine->told_id);
		struct profile_object described;

		/* it may have been told before all ids were given once */
		if (!object || object->is_told)
			continue;
		object->is_told = true;
		/* without memory its frames have no names there */
		if (catalog_describe(object, &described))
			continue;

		struct met_file file = object_file(object);

		described.file = &file;
		listener->object(listener->ctx, &described);
		described.file = NULL;
		profile_object_fini(&described);
	}
}

void engine_listen_sample(void *ctx, const struct profile_event *event)
{
	struct engine *engine = ctx;
	const struct engine_listener *listener = engine->options->listener;
	struct profile_stack stack;

	stack_store_look(engine->store, event->stack, &stack);
	/* a name the kernel side did not know yet: the sample goes when the books are closed */
	if (engine->comm_filter && !comm_filter_wants(engine->comm_filter, stack.comm))
		return;
	tell_objects(engine);
	stack.count = 1;
	stack.weight_ns = event->weight_ns;
	stack.tid = event->tid;
	stack.cpu = event->cpu;
	listener->sample(listener->ctx, (uint64_t)engine->listen_unix_ns + event->time_ns, &stack);
}

void engine_listen_pause(struct engine *engine)
{
	const struct engine_listener *listener = engine->options->listener;

	if (!listener)
		return;
	if (listener->pause)
		listener->pause(listener->ctx);
	if (listener->sample)
		follow_clock(engine);
}

/* Room for @nr stacks. */
static bool make_room(struct engine_looks *looks, size_t nr)
{
	return !vector_reserve(&looks->places, nr) && !vector_reserve(&looks->counts, nr);
}

/* Tells the listener every stack of the store, for which there is room, but for those of tasks
 * whose name is not wanted. */
static void tell_stacks(struct engine *engine)
{
	const struct engine_listener *listener = engine->options->listener;
	struct engine_looks *looks = &engine->looks;
	uint32_t nr = stack_store_nr(engine->store);
	struct profile_stack stack;

	while (looks->places.nr < nr) {
		uint32_t *place = &looks->places.list[looks->places.nr];

		stack_store_look(engine->store, (uint32_t)looks->places.nr++, &stack);
		*place = STACK_STORE_NONE;
		if (engine->comm_filter && !comm_filter_wants(engine->comm_filter, stack.comm))
			continue;
		*place = (uint32_t)looks->counts.nr++;
		listener->stack(listener->ctx, &stack);
	}
}

bool engine_listen_before(void *ctx)
{
	struct engine *engine = ctx;
	const struct engine_listener *listener = engine->options->listener;

	if (!listener || !listener->object)
		return true;
	if (listener->stack && !make_room(&engine->looks, stack_store_nr(engine->store)))
		return false;
	tell_objects(engine);
	if (listener->stack)
		tell_stacks(engine);
	return true;
}

void engine_listen_after(void *ctx, const struct object *object)
{
	const struct engine_listener *listener = ((struct engine *)ctx)->options->listener;

	if (listener && listener->retired && object->is_told)
		listener->retired(listener->ctx, object->id);
}

/* Add the kernel side's count of a stack; one whose frames have not arrived is left for later. */
static void add_count(const struct fpl_stack *stack, void *ctx)
{
	struct engine *engine = ctx;
	uint32_t number = stack_store_find(engine->store, stack->id);

	if (number == STACK_STORE_NONE)
		engine->looks.nr_frameless += stack->count;
	else if (engine->looks.places.list[number] == STACK_STORE_NONE)
		engine->looks.nr_unwanted += stack->count;
	else
		engine->looks.counts.list[engine->looks.places.list[number]] += stack->count;
}

/* Count anew what is in the store, and what the kernel side holds beside it. */
static void count_stacks(struct engine *engine)
{
	struct engine_looks *looks = &engine->looks;

	looks->nr_frameless = looks->nr_unwanted = 0;
	for (uint32_t i = 0; i < looks->places.nr; i++) {
		uint64_t count = stack_store_samples(engine->store, i);

		if (looks->places.list[i] == STACK_STORE_NONE)
			looks->nr_unwanted += count;
		else
			looks->counts.list[looks->places.list[i]] = count;
	}
	kernel_side_stacks(&engine->kernel, add_count, engine);
}

static void look(struct engine *engine, bool last)
{
	const struct engine_listener *listener = engine->options->listener;
	struct engine_looks *looks = &engine->looks;
	struct fpl_counters counters;
	uint64_t until_ns = last ? engine->disabled_ns : clock_monotonic_ns();

	/* what cannot be read now can be at the next look */
	if (!make_room(looks, stack_store_nr(engine->store)) ||
	    kernel_side_counters(&engine->kernel, &counters))
		return;
	tell_objects(engine);
	tell_stacks(engine);
	count_stacks(engine);

	struct engine_look told = {
		.unix_ns = clock_ns(CLOCK_REALTIME),
		.sampled_ns = until_ns - engine->enabled_ns,
		.counts = looks->counts.list,
		.nr_stacks = (uint32_t)looks->counts.nr,
		.fired = counters.fired,
		.idle = counters.idle,
		.filtered = counters.filtered + engine->collect.nr_filtered + looks->nr_unwanted,
		.lost = engine->collect.nr_user_memory + engine->replayer.nr_user_memory,
		.last = last,
	};

	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		told.lost += counters.lost[i];
	if (last) /* their frames do not come any more */
		told.lost += looks->nr_frameless;
	listener->look(listener->ctx, &told);
}

static uint64_t period_ns(const struct engine_listener *listener)
{
	return *listener->look_ms * NS_PER_MS;
}

void engine_look_begin(struct engine *engine, uint64_t now)
{
	const struct engine_listener *listener = engine->options->listener;

	engine->looks.next_ns = UINT64_MAX;
	if (listener && listener->look)
		engine->looks.next_ns = now + period_ns(listener);
}

bool engine_look_due(struct engine *engine, uint64_t now)
{
	const struct engine_listener *listener = engine->options->listener;
	struct engine_looks *looks = &engine->looks;

	if (!listener || !listener->look || !engine->enabled_ns)
		return false;
	/* the period may have been made shorter since */
	if (looks->next_ns > now + period_ns(listener))
		looks->next_ns = now + period_ns(listener);
	if (now < looks->next_ns)
		return false;
	if (listener->looks && looks->nr + 1 == listener->looks)
		return true;
	looks->nr++;
	look(engine, false);
	/* what is late does not come twice as soon then */
	looks->next_ns += period_ns(listener);
	if (looks->next_ns <= now)
		looks->next_ns = now + period_ns(listener);
	return false;
}

void engine_look_last(struct engine *engine)
{
	const struct engine_listener *listener = engine->options->listener;

	if (listener && listener->look && engine->enabled_ns)
		look(engine, true);
}
