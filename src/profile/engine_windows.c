/* SPDX-License-Identifier: Apache-2.0 */
/* A run is cut into windows (decision 0032): for engine*.c alone. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/engine_state.h"
#include "profile/thread_times.h"
#include "profile/usage.h"

/* How long a window that has ended waits for what its samples need. */
#define LATE_NS (1000 * NS_PER_MS)
/* And a cut for threads that are exiting: others add their times to the next window. */
#define EXITING_WAIT_MS 20u
/* The same for the files that say what its code is, which may take long to open. */
#define CODE_LATE_NS (2000 * NS_PER_MS)
/* The tracker says of a process now and then that it has such code. */
#define CODE_BEFORE_NS (2000 * NS_PER_MS)

static bool is_cut(const struct engine *engine)
{
	return engine->options->window_ms > 0;
}

/* The one of the two that is not at hand. */
static struct run_window *other_window(struct engine *engine)
{
	return engine->window == engine->windows ? engine->windows + 1 : engine->windows;
}

/* Are all sources clocks, whose programs run in interrupts? */
static bool has_clocks_alone(const struct engine *engine)
{
	for (size_t i = 0; i < engine->nr_sources; i++)
		if (!profile_source_is_clock(&engine->sources[i].what))
			return false;
	return true;
}

/* Do programs of all sources run with interrupts or preemption off? The kernel's events have it so,
 * and the scheduler. */
static bool has_no_preemption(const struct engine *engine)
{
	for (size_t i = 0; i < engine->nr_sources; i++) {
		enum sampler sampler = engine->sources[i].sampler;

		if (sampler != SAMPLER_PERF && sampler != SAMPLER_WAKING &&
		    !sampler_is_of_switches(sampler))
			return false;
	}
	return true;
}

/*
 * Let no program run. Switching a clock's event off waits for its CPU, some 10 us; no other source
 * can be waited for like that. Between windows those stay on: what fires then is counted.
 */
static void stop_samplers(struct engine *engine, bool pauses)
{
	bool is_off = has_clocks_alone(engine);

	for (size_t i = 0; (is_off || pauses) && i < engine->nr_sources; i++)
		source_disable(&engine->sources[i]);
	if (is_off)
		kernel_side_shut_gate(&engine->kernel);
	else
		kernel_side_close_gate(&engine->kernel, has_no_preemption(engine));
}

int engine_begin_window(struct engine *engine, struct run_window *before, struct fpl_err *err)
{
	struct run_window *window = engine->window;
	uint64_t unix_ns = clock_ns(CLOCK_REALTIME);
	int code;

	run_window_begin(window, before, clock_monotonic_ns(), unix_ns);
	window->cpu_ns = before ? usage_cpu_ns() + engine->overhead.helpers.cpu_ns : 0;
	window->away_ns = engine->away_ns;
	window->nr_hz_changes = engine->overhead.throttle.nr_changes;
	if (before)
		window->at_start = before->at_end;
	engine->next_turn_ns = window->start_ns + engine->options->window_ms * NS_PER_MS;
	engine->is_paused = false;
	if (engine->script_reader)
		script_reader_watch(engine->script_reader, window->codes);
	code = kernel_side_open_gate(&engine->kernel, err);
	for (size_t i = 0; !code && i < engine->nr_sources; i++)
		code = source_enable(&engine->sources[i], err);
	return code;
}

/* Make room for the copies of stacks of threads that sleep: what fits is walked after the cut. */
static void take_sleepers(void *ctx)
{
	struct engine *engine = ctx;

	if (!kernel_side_drain(&engine->kernel, clock_monotonic_ns()))
		engine_drain(engine, true);
}

/* While no program runs. */
static int take_counts(struct engine *engine, struct run_window *window, struct fpl_err *err)
{
	int code =
		reading_take(&engine->kernel, engine->sources, engine->nr_sources, &window->at_end);

	if (!code && engine->options->blocks.at_locks)
		code = lock_sums_take(&window->locks, &engine->kernel);
	if (!code && engine_has_thread_sums(engine->options))
		code = thread_sums_take(&window->threads, &engine->kernel);
	if (code)
		return fpl_fail(err, code == -ENOMEM ? code : -EOPNOTSUPP,
				"BPF maps cannot be read: %s", strerror(-code));
	kernel_side_take_stacks(&engine->kernel, run_window_count, window);
	return 0;
}

/* Hand over the profile of @window, or lose it by name. @profile has what names its code. */
static void hand_over(struct engine *engine, struct run_window *window, struct profile *profile)
{
	struct fpl_err err = { 0 };

	if (!engine_result(engine, window, profile, &err)) {
		listening_window(&engine->listening, profile);
		return;
	}
	fpl_log(FPL_LOG_ERROR, "window %llu is lost: %s", (unsigned long long)window->number,
		err.msg);
	profile_fini(profile);
}

/* Close the books of the window that has ended; what its samples still wait for does not come. */
static void close_window(struct engine *engine)
{
	struct run_window *window = engine->closing;
	struct profile profile = { 0 };

	if (!window)
		return;
	collect_settle(&engine->collect, engine->intakes.since_ns);
	replayer_settle(&engine->replayer, engine->intakes.since_ns);
	if (window->intake.timeline)
		timeline_retry(window->intake.timeline);
	engine->closing = NULL;
	engine->intakes.before = NULL;
	profile.code_orders = tracker_take_codes(&engine->tracker, window->number);
	hand_over(engine, window, &profile);
}

/* Is it known which files say what the code is that the samples of @window are in? They are asked
 * for first. */
static bool is_code_known(struct engine *engine, struct run_window *window, uint64_t now)
{
	uint64_t since_ns =
		window->start_ns > CODE_BEFORE_NS ? window->start_ns - CODE_BEFORE_NS : 0;

	if (!engine->lookups || now >= engine->intakes.since_ns + CODE_LATE_NS)
		return true;
	if (!window->has_asked_code && lookups_codes(engine->lookups, window->number, since_ns))
		return true;
	window->has_asked_code = true;
	return tracker_has_codes(&engine->tracker, window->number);
}

void engine_review_windows(struct engine *engine, bool drained, uint64_t now)
{
	uint64_t since_ns = engine->intakes.since_ns;

	if (!engine->closing)
		return;
	if (now < since_ns + LATE_NS &&
	    (!drained || collect_has_samples(&engine->collect, since_ns) ||
	     replayer_has_samples(&engine->replayer, since_ns)))
		return;
	if (is_code_known(engine, engine->closing, now))
		close_window(engine);
}

/* End the window that is sampled. With @pauses no other one begins at once. */
static int cut(struct engine *engine, bool pauses, struct fpl_err *err)
{
	const struct thread_times_end end_of_times = {
		.pause = take_sleepers,
		.ctx = engine,
		.wait_ms = EXITING_WAIT_MS,
	};
	struct run_window *ended = engine->window, *next = other_window(engine);
	int code;

	/* it has been late for as long as a window takes, and its place is needed */
	close_window(engine);
	ended->end_ns = clock_monotonic_ns();
	stop_samplers(engine, pauses);
	code = kernel_side_close_times(&engine->kernel, &end_of_times, err);
	if (!code)
		code = take_counts(engine, ended, err);
	if (code)
		return code;
	engine->intakes.since_ns = clock_monotonic_ns();
	engine->intakes.before = &ended->intake;
	engine->intakes.now = &next->intake;
	engine->closing = ended;
	engine->window = next;
	engine->is_paused = pauses;
	engine->next_turn_ns = ended->start_ns + engine->options->every_ms * NS_PER_MS;
	if (pauses)
		return 0;
	code = engine_begin_window(engine, ended, err);
	next->gap_ns = clock_monotonic_ns() - ended->end_ns;
	return code;
}

int engine_turn_window(struct engine *engine, uint64_t now, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;

	if (!is_cut(engine) || now < engine->next_turn_ns)
		return 0;
	if (!engine->is_paused)
		return cut(engine, o->every_ms > o->window_ms, err);
	overhead_look(&engine->overhead, now, HELPERS_AGE_NS);
	return engine_begin_window(engine, other_window(engine), err);
}

int engine_end_windows(struct engine *engine, struct profile *ret, struct fpl_err *err)
{
	struct run_window *window = engine->window;
	struct profile profile = { 0 };
	int code;

	close_window(engine);
	if (engine->is_paused || (is_cut(engine) && !engine->enabled_ns))
		return 0;
	window->end_ns = engine->disabled_ns;
	code = take_counts(engine, window, err);
	if (code || !is_cut(engine))
		return code ? code : engine_result(engine, window, ret, err);
	/* the files of its code were read when the run had ended */
	profile.code_names = TAKE_PTR(engine->code_names);
	hand_over(engine, window, &profile);
	return 0;
}
