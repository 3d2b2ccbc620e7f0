/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/listening.h"

#include "base/clock.h"
#include "profile/tables.h"

/* The wall clock has been set, or the machine has slept: beyond what reading two clocks takes. */
#define CLOCK_STEP_NS (10 * (int64_t)NS_PER_MS)

/* Follow the wall clock where it leaves the other. */
static void follow_clock(struct listening *listening)
{
	int64_t unix_ns =
		(int64_t)(clock_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - listening->start_ns));
	int64_t step = unix_ns - listening->unix_ns;

	if (step > CLOCK_STEP_NS || step < -CLOCK_STEP_NS)
		listening->unix_ns = unix_ns;
}

/* A listener that gets a frame knows its object. */
static void tell_objects(struct listening *listening)
{
	const struct engine_listener *listener = listening->config.listener;

	while (listener->object &&
	       listening->told_id != catalog_last_id(listening->config.catalog)) {
		listening->told_id =
			listening->told_id % catalog_nr_ids(listening->config.catalog) + 1;

		struct object *object = catalog_at(listening->config.catalog, listening->told_id);
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

/* By the name of its task. */
static bool is_wanted(const struct listening *listening, const struct profile_stack *stack)
{
	struct comm_filter *filter = listening->config.comm_filter;

	return !filter || comm_filter_wants(filter, stack->comm);
}

void listening_sample(void *ctx, const struct profile_event *event)
{
	struct listening *listening = ctx;
	const struct engine_listener *listener = listening->config.listener;
	struct profile_stack stack;

	stack_store_look(listening->config.store, event->stack, &stack);
	/* a name the kernel side did not know yet: the sample goes when the books are closed */
	if (!is_wanted(listening, &stack))
		return;
	tell_objects(listening);
	stack.count = 1;
	stack.weight = event->weight;
	stack.tid = event->tid;
	stack.cpu = event->cpu;
	listener->sample(listener->ctx, (uint64_t)listening->unix_ns + event->time_ns, &stack);
}

void listening_window(struct listening *listening, struct profile *profile)
{
	const struct engine_listener *listener = listening->config.listener;

	tell_objects(listening);
	listener->window(listener->ctx, profile);
}

void listening_pause(struct listening *listening)
{
	const struct engine_listener *listener = listening->config.listener;

	if (!listener)
		return;
	if (listener->pause)
		listener->pause(listener->ctx);
	if (listener->sample)
		follow_clock(listening);
}

/* Room for @nr stacks. */
static bool make_room(struct listening *listening, size_t nr)
{
	return !vector_reserve(&listening->places, nr) && !vector_reserve(&listening->counts, nr);
}

/* Tells the listener every stack of the store, for which there is room, but for those of tasks
 * whose name is not wanted. */
static void tell_stacks(struct listening *listening)
{
	const struct engine_listener *listener = listening->config.listener;
	uint32_t nr = stack_store_nr(listening->config.store);
	struct profile_stack stack;

	while (listening->places.nr < nr) {
		uint32_t *place = &listening->places.list[listening->places.nr];

		stack_store_look(listening->config.store, (uint32_t)listening->places.nr++, &stack);
		*place = STACK_STORE_NONE;
		if (!is_wanted(listening, &stack))
			continue;
		*place = (uint32_t)listening->counts.nr++;
		listener->stack(listener->ctx, &stack);
	}
}

bool listening_before(void *ctx)
{
	struct listening *listening = ctx;
	const struct engine_listener *listener = listening->config.listener;

	if (!listener || !listener->object)
		return true;
	if (listener->stack && !make_room(listening, stack_store_nr(listening->config.store)))
		return false;
	tell_objects(listening);
	if (listener->stack)
		tell_stacks(listening);
	return true;
}

void listening_after(void *ctx, const struct object *object)
{
	const struct engine_listener *listener = ((struct listening *)ctx)->config.listener;

	if (listener && listener->retired && object->is_told)
		listener->retired(listener->ctx, object->id);
}

/* Add the kernel side's count of a stack; one whose frames have not arrived is left for later. */
static void add_count(const struct fpl_stack *stack, void *ctx)
{
	struct listening *listening = ctx;
	uint32_t number = stack_store_find(listening->config.store, stack->id);

	if (number == STACK_STORE_NONE)
		listening->nr_frameless += stack->count;
	else if (listening->places.list[number] == STACK_STORE_NONE)
		listening->nr_unwanted += stack->count;
	else
		listening->counts.list[listening->places.list[number]] +=
			listening->config.listener->weighs ? stack->weight : stack->count;
}

/* Count anew what is in the store, and what the kernel side holds beside it. */
static void count_stacks(struct listening *listening)
{
	listening->nr_frameless = listening->nr_unwanted = 0;
	for (uint32_t i = 0; i < listening->places.nr; i++) {
		uint64_t count = stack_store_samples(listening->config.store, i);

		if (listening->places.list[i] == STACK_STORE_NONE)
			listening->nr_unwanted += count;
		else
			listening->counts.list[listening->places.list[i]] =
				listening->config.listener->weighs
					? stack_store_weight(listening->config.store, i)
					: count;
	}
	kernel_side_stacks(listening->config.kernel, add_count, listening);
}

static void look(struct listening *listening, uint64_t until_ns, bool last)
{
	const struct listening_config *config = &listening->config;
	const struct engine_listener *listener = config->listener;
	struct fpl_counters counters;

	/* what cannot be read now can be at the next look */
	if (!make_room(listening, stack_store_nr(config->store)) ||
	    kernel_side_counters(config->kernel, &counters))
		return;
	tell_objects(listening);
	tell_stacks(listening);
	count_stacks(listening);

	struct engine_look told = {
		.unix_ns = clock_ns(CLOCK_REALTIME),
		.sampled_ns = until_ns - listening->enabled_ns,
		.counts = listening->counts.list,
		.nr_stacks = (uint32_t)listening->counts.nr,
		.fired = counters.fired,
		.idle = counters.idle,
		.filtered =
			counters.filtered + config->intake->nr_filtered + listening->nr_unwanted,
		.lost = config->intake->nr_user_memory,
		.last = last,
	};

	tables_count(config->catalog, &told.nr_tables_made, &told.nr_tables);

	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		told.lost += counters.lost[i];
	if (last) /* their frames do not come any more */
		told.lost += listening->nr_frameless;
	listener->look(listener->ctx, &told);
}

void listening_fini(struct listening *listening)
{
	vector_fini(&listening->places);
	vector_fini(&listening->counts);
}

static uint64_t period_ns(const struct engine_listener *listener)
{
	return *listener->look_ms * NS_PER_MS;
}

void listening_begin(struct listening *listening, uint64_t enabled_ns, uint64_t start_ns,
		     uint64_t unix_ns)
{
	const struct engine_listener *listener = listening->config.listener;

	listening->enabled_ns = enabled_ns;
	listening->start_ns = start_ns;
	listening->unix_ns = (int64_t)unix_ns;
	listening->next_look_ns = UINT64_MAX;
	if (listener && listener->look)
		listening->next_look_ns = enabled_ns + period_ns(listener);
}

bool listening_is_over(struct listening *listening, uint64_t now)
{
	const struct engine_listener *listener = listening->config.listener;

	if (!listener || !listener->look || !listening->enabled_ns)
		return false;
	/* the period may have been made shorter since */
	if (listening->next_look_ns > now + period_ns(listener))
		listening->next_look_ns = now + period_ns(listener);
	if (now < listening->next_look_ns)
		return false;
	if (listener->looks && listening->nr_looks + 1 == listener->looks)
		return true;
	listening->nr_looks++;
	look(listening, now, false);
	/* what is late does not come twice as soon then */
	listening->next_look_ns += period_ns(listener);
	if (listening->next_look_ns <= now)
		listening->next_look_ns = now + period_ns(listener);
	return false;
}

void listening_tables(struct listening *listening, uint64_t now)
{
	const struct engine_listener *listener = listening->config.listener;
	size_t nr_made, nr;

	if (!listener || !listener->tables || now < listening->next_look_ns)
		return;
	tables_count(listening->config.catalog, &nr_made, &nr);
	listener->tables(listener->ctx, nr_made, nr);
	listening->next_look_ns = now + period_ns(listener);
}

void listening_last(struct listening *listening, uint64_t disabled_ns)
{
	const struct engine_listener *listener = listening->config.listener;

	if (listener && listener->look && listening->enabled_ns)
		look(listening, disabled_ns, true);
}
