/* SPDX-License-Identifier: Apache-2.0 */
/* Telling somebody of each sample while the run goes on. */
#include <stdlib.h>
#include <time.h>

#include "profile/engine_state.h"

/* The wall clock has been set, or the machine has slept: beyond what reading two clocks takes. */
#define CLOCK_STEP_NS (10 * (int64_t)NS_PER_MS)

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* Follow the wall clock where it leaves the other. */
static void follow_clock(struct engine *engine)
{
	int64_t unix_ns = clock_ns(CLOCK_REALTIME) -
			  (clock_ns(CLOCK_MONOTONIC) - (int64_t)engine->timeline.start_ns);
	int64_t step = unix_ns - engine->listen_unix_ns;

	if (step > CLOCK_STEP_NS || step < -CLOCK_STEP_NS)
		engine->listen_unix_ns = unix_ns;
}

/* Whoever is told of a frame knows the object. */
static void tell_objects(struct engine *engine)
{
	const struct engine_listener *listener = engine->options->listener;

	while (engine->nr_told < catalog_nr(engine->catalog)) {
		const struct object *object = catalog_at(engine->catalog, ++engine->nr_told);
		struct profile_object described;

		/* without memory its frames have no names there */
		if (catalog_describe(object, &described))
			continue;
		listener->object(listener->ctx, &described, object->elf->fd);
		free(described.path);
		free(described.build_id);
	}
}

/* timeline_fn */
static void tell_sample(void *ctx, const struct profile_event *event)
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

void engine_listen(struct engine *engine)
{
	if (!engine->options->listener)
		return;
	engine->timeline.listener = tell_sample;
	engine->timeline.ctx = engine;
}

void engine_listen_pause(struct engine *engine)
{
	const struct engine_listener *listener = engine->options->listener;

	if (!listener)
		return;
	listener->pause(listener->ctx);
	follow_clock(engine);
}
