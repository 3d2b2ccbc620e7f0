/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "judge/places.h"
#include "judge/tracees.h"
#include "profile/command.h"

enum {
	STOP_MS = 1000,	    /* for a thread that runs to stop */
	EXEC_MS = 10000,    /* for a command to be executed */
	BREAK_MS = 20,	    /* time for a thread to reach a place, before others are tried */
	PAUSE_MOST_MS = 16, /* between two bursts */
	SLEEP_MS = 20,	    /* pause before the next look for a running thread */
	RANDOM_EVERY = 4,   /* bursts: one of this many begins anywhere, even if there are places */
};

struct live {
	const struct judge_options *options; /* borrowed */
	struct judge_bounds bounds;
	struct code *code;	 /* borrowed */
	struct judge_run *run;	 /* borrowed */
	struct command *command; /* borrowed; NULL: none */
	struct tracees tracees;
	struct stepper *stepper; /* owned */
	struct places places;
	bool *placed; /* owned [nr_placed]: by object: its places are listed, or it has none */
	size_t nr_placed;
	uint64_t random;
	bool no_breakpoints; /* the machine has none */
	int error;
	struct fpl_err *err; /* borrowed */
};

static bool is_over(struct live *live, enum judge_end *ret)
{
	if (live->tracees.ended)
		*ret = JUDGE_END_TARGET;
	else if (*live->options->stop)
		*ret = JUDGE_END_USER;
	else if (stepper_counted(live->stepper) >= live->bounds.steps)
		*ret = JUDGE_END_STEPS;
	else if (clock_monotonic_ns() >= live->bounds.end_ns)
		*ret = JUDGE_END_TIME;
	else
		return false;
	return true;
}

static int burst(struct live *live, pid_t tid)
{
	enum burst_end end;

	live->run->bursts++;
	return stepper_burst(live->stepper, tid, &end, live->err);
}

/* Stop the thread wherever it is. False: it did not stop. */
static bool stop_thread(struct live *live, pid_t tid)
{
	int number;

	if (!tracees_interrupt(&live->tracees, tid))
		return false;
	switch (tracees_wait(&live->tracees, tid, STOP_MS, &number)) {
	case TRACEE_GONE:
	case TRACEE_NOTHING:
		return false;
	case TRACEE_GROUP_STOP:
		tracees_go(&live->tracees, tid, TRACEE_LISTEN, 0);
		return false;
	case TRACEE_SIGNALLED: /* comes again: it is asked to stop, still */
		tracees_go(&live->tracees, tid, TRACEE_RUN, number);
		return false;
	case TRACEE_STOPPED:
	case TRACEE_STEPPED:
	case TRACEE_BREAKPOINT:
	case TRACEE_HANDLER:
	case TRACEE_OTHER_IMAGE:
	default:
		return true;
	}
}

static int note_object(struct live *live, uint32_t object)
{
	size_t before = live->nr_placed;

	if (array_reserve(&live->placed, sizeof(*live->placed), &live->nr_placed,
			  (size_t)object + 1))
		return -ENOMEM;
	memset(live->placed + before, 0, (live->nr_placed - before) * sizeof(*live->placed));
	return 0;
}

/* Add the places in new files that were asked for, or hit. */
static int find_places(struct live *live)
{
	uint64_t start, end, bias;
	uint32_t object;
	int error = 0;

	for (size_t i = 0; !error && code_mapping(live->code, i, &start, &end, &object, &bias);
	     i++) {
		error = note_object(live, object);
		if (error || !object || live->placed[object] ||
		    (!live->bounds.object && !code_has_met(live->code, object)))
			continue;
		live->placed[object] = true;
		if (!stepper_wants(live->stepper, object))
			continue;

		const struct table *table = code_table(live->code, object);

		if (table && table->stats.synth_bytes)
			error = places_add(&live->places, object, table);
	}
	return error;
}

/* Address of @place in the process; 0: not mapped. */
static uint64_t address_of(const struct live *live, const struct place *place)
{
	uint64_t start, end, bias;
	uint32_t object;

	for (size_t i = 0; code_mapping(live->code, i, &start, &end, &object, &bias); i++)
		if (object == place->object && place->vaddr + bias - start < end - start)
			return place->vaddr + bias;
	return 0;
}

/* Choose places and set the stopped thread's breakpoints there. */
static size_t set_places(struct live *live, pid_t tid, uint32_t *ret_idx, uint64_t *ret_addr)
{
	uint32_t chosen[TRACEE_BREAKPOINTS];
	size_t nr_chosen = places_choose(&live->places, chosen, TRACEE_BREAKPOINTS), nr = 0;

	for (size_t i = 0; i < nr_chosen; i++) {
		ret_idx[nr] = chosen[i];
		ret_addr[nr] = address_of(live, &live->places.list[chosen[i]]);
		nr += ret_addr[nr] != 0;
	}
	if (nr && !tracees_break_at(&live->tracees, tid, ret_addr, nr)) {
		live->no_breakpoints = true;
		return 0;
	}
	return nr;
}

static void note_place(struct live *live, pid_t tid, const uint32_t *idx, const uint64_t *addr,
		       size_t nr)
{
	struct registers now;
	bool compat;

	if (!tracee_registers(tid, &now, &compat))
		return;
	live->run->breakpoints_met++;
	for (size_t i = 0; i < nr; i++)
		if (addr[i] == now.pc)
			places_hit(&live->places, idx[i]);
}

/* Let the stopped thread run until it reaches one of some places. *ret: it is stopped at one. */
static bool wait_at_places(struct live *live, pid_t tid)
{
	uint32_t idx[TRACEE_BREAKPOINTS];
	uint64_t addr[TRACEE_BREAKPOINTS];
	size_t nr = set_places(live, tid, idx, addr);
	uint64_t end_ns = clock_monotonic_ns() + BREAK_MS * NS_PER_MS;
	int number = 0;
	bool met = false;

	if (!nr) /* it is stopped in spite of that */
		return true;
	for (bool waits = true; waits;) {
		if (!tracees_go(&live->tracees, tid, TRACEE_RUN, number))
			return false;
		number = 0;
		switch (tracees_wait(&live->tracees, tid, BREAK_MS, &number)) {
		case TRACEE_BREAKPOINT:
			note_place(live, tid, idx, addr, nr);
			met = true;
			waits = false;
			break;
		case TRACEE_GONE:
			return false;
		case TRACEE_NOTHING:
			if (!stop_thread(live, tid))
				return false;
			waits = false;
			break;
		case TRACEE_GROUP_STOP:
			tracees_break_at(&live->tracees, tid, NULL, 0);
			tracees_go(&live->tracees, tid, TRACEE_LISTEN, 0);
			return false;
		case TRACEE_STOPPED:
		case TRACEE_STEPPED:
		case TRACEE_HANDLER:
		case TRACEE_SIGNALLED:
		case TRACEE_OTHER_IMAGE:
		default:
			/* a thread that makes threads stops for each of them */
			waits = clock_monotonic_ns() < end_ns;
			break;
		}
	}
	tracees_break_at(&live->tracees, tid, NULL, 0);
	if (!met)
		tracees_go(&live->tracees, tid, TRACEE_RUN, number);
	return met;
}

static unsigned int random_below(struct live *live, unsigned int bound)
{
	live->random = live->random * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(live->random >> 33) % bound;
}

static int round_of(struct live *live, uint64_t nr)
{
	pid_t tid = tracees_running(&live->tracees);
	int error;

	if (!tid) {
		tracees_idle(&live->tracees, SLEEP_MS);
		return 0;
	}
	error = find_places(live);
	if (error)
		return fpl_fail(live->err, error, "out of memory");
	if (!stop_thread(live, tid))
		return 0;
	if (live->places.nr && !live->no_breakpoints && nr % RANDOM_EVERY != 0 &&
	    !wait_at_places(live, tid))
		return 0;
	error = burst(live, tid);
	if (!error)
		tracees_idle(&live->tracees, 1 + random_below(live, PAUSE_MOST_MS));
	return error;
}

/* Start the command and stop it at its first instruction. */
static int begin_command(struct live *live)
{
	int number, error = command_release(live->command, -1, live->err);

	if (error)
		return error;
	if (tracees_wait(&live->tracees, live->run->pid, EXEC_MS, &number) != TRACEE_OTHER_IMAGE)
		return 0;
	return burst(live, live->run->pid);
}

static int work(struct live *live)
{
	int error = tracees_attach(&live->tracees, live->run->pid, live->options->stop, live->err);

	if (!error)
		error = stepper_create(&live->tracees, live->code, &live->run->findings,
				       &live->bounds, &live->stepper, live->err);
	if (!error && live->command)
		error = begin_command(live);
	for (uint64_t nr = 0; !error && !is_over(live, &live->run->end); nr++) {
		tracees_settle(&live->tracees);
		error = round_of(live, nr);
	}
	return error;
}

/* A separate thread: when it ends, the kernel releases the threads still attached. */
static void *work_main(void *ctx)
{
	struct live *live = ctx;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM); /* the tick of tracees.c */
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	live->error = work(live);
	tracees_leave(&live->tracees);
	return NULL;
}

static int run_thread(struct live *live)
{
	sigset_t set, before;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, &before);

	int error = pthread_create(&thread, NULL, work_main, live);

	if (error)
		live->error = fpl_fail(live->err, -error, "thread: %s", strerror(error));
	else
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return live->error;
}

static void take_counts(struct live *live)
{
	const struct shadow *shadow;

	if (!live->stepper)
		return;
	live->run->counted = stepper_counted(live->stepper);
	shadow = stepper_shadow(live->stepper);
	live->run->frames_entered = shadow->entered;
	memcpy(live->run->frames_ended, shadow->ended, sizeof(shadow->ended));
}

static void end_parts(struct live *live)
{
	take_counts(live);
	live->run->nr_threads = live->tracees.most;
	stepper_destroy(live->stepper);
	places_fini(&live->places);
	free(live->placed);
}

int judge_process(const struct judge_options *options, struct code *code, struct judge_run *ret,
		  struct fpl_err *err)
{
	struct command command = { .pid = 0 };
	uint64_t start_ns = clock_monotonic_ns();
	struct live live = {
		.options = options,
		.bounds = options->bounds,
		.code = code,
		.run = ret,
		.random = start_ns,
		.places.seed = start_ns,
		.err = err,
	};
	int error = 0;

	*ret = (struct judge_run){ .pid = options->pid };
	live.bounds.end_ns =
		options->duration_ms ? start_ns + options->duration_ms * NS_PER_MS : UINT64_MAX;
	if (options->command) {
		sigset_t none;

		sigemptyset(&none);
		error = command_start(options->command, true, false, NULL, &none, &command, err);
		live.command = &command;
		ret->pid = command.pid;
	}
	if (!error)
		error = run_thread(&live);
	if (command.pid && live.tracees.ended)
		command_ended(&command, live.tracees.status);
	else
		command_end(&command);
	end_parts(&live);
	ret->elapsed_ms = (clock_monotonic_ns() - start_ns) / NS_PER_MS;
	return error;
}

void judge_run_fini(struct judge_run *run)
{
	findings_fini(&run->findings);
}

const char *judge_end_text(enum judge_end end)
{
	static const char *const texts[] = {
#define X(name, text) text,
		JUDGE_END_LIST(X)
#undef X
	};

	return end < JUDGE_END_COUNT ? texts[end] : "?";
}
