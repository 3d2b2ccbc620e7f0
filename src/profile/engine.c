/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/engine.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "profile/engine_state.h"
#include "profile/rss_rows.h"
#include "profile/thread_times.h"

#define TABLE_MEMORY_DEFAULT (128ull << 20)
#define STACK_MEMORY_DEFAULT (4ull << 20)
#define STACK_MEMORY_LEAST   (64ull << 10)
#define RING_MEMORY_DEFAULT  (4ull << 20)
#define PROCESSES_DEFAULT    16384u
/*
 * Mappings a process has on average, and how many there is room for at least: 32 bytes each. Twice
 * what one process may have: a new version of its mappings stands beside the old one for a while.
 */
#define MAPPINGS_PER_TASK 32u
#define MAPPINGS_LEAST	  65536u
#define MAPPINGS_MOST	  (1u << 22)

/*
 * A record may become visible a little after its time was taken: on another CPU, between the two. 2
 * ms is far above the delay of an interrupted writer, and below any noticeable one.
 */
#define HORIZON_NS (2 * NS_PER_MS)
/*
 * Shortest time between two drains: bounds the wake-ups in a storm of short programs. For rare
 * samples it may be longer, as long as few of them fall into it: until a new mapping's record is
 * read, each sample in it sends a snapshot, which costs more than a wake-up. At most, a side-band
 * buffer must hold what one task can map meanwhile (2,500 mappings, of 5 us each).
 */
#define DRAIN_PAUSE_NS	    (2 * NS_PER_MS)
#define DRAIN_PAUSE_MOST_NS (8 * NS_PER_MS)
/* The same between windows, when no sample waits for a mapping. */
#define DRAIN_PAUSE_NO_WINDOW_NS (50 * NS_PER_MS)
/* Records of one drain from which on the next is not put off. */
#define DRAIN_MANY 256u
/* Longest time between two drains. 10,000 stacks, a quarter of the ring, wake the reader before. */
#define DRAIN_PERIOD_MS	   250
#define LISTEN_PERIOD_MS   50	/* with a listener */
#define ASK_AGAIN_MS	   4	/* between two questions what a process has registered */
#define SLEEPERS_WAIT_MS   2000 /* for a table, while many copies of stacks wait for one */
#define CHECK_PERIOD_NS	   (500 * NS_PER_MS)
#define COUNT_PERIOD_NS	   (2000 * NS_PER_MS) /* counting costs about 1 ms */
#define MAKERS_TIMEOUT_MS  1000	 /* for what makes code in processes that run already */
#define LOOK_TIMEOUT_MS	   3000	 /* for the tables of targets before the one look at their stacks */
#define TABLES_TIMEOUT_MS  10000 /* for those still being compiled when the run ends */
#define LOOKUPS_TIMEOUT_MS 10000 /* for what is still being looked up then */
#define EXITING_WAIT_MS	   500u	 /* for threads that are exiting then */

static int check_sources(const struct engine_options *o, struct fpl_err *err)
{
	size_t nr_clocks = 0;

	if (o->nr_sources < 1 || o->nr_sources > FPL_SOURCES_MAX)
		return fpl_fail(err, -EINVAL, "-e: %zu events: wanted 1 to %u", o->nr_sources,
				FPL_SOURCES_MAX);
	for (size_t i = 0; i < o->nr_sources; i++) {
		const struct source_spec *spec = &o->sources[i];

		nr_clocks += spec->class == SOURCE_CLOCK;
		if (!spec->name[0])
			return fpl_fail(err, -EINVAL, "-e: no event");
		if (nr_clocks > 1)
			return fpl_fail(err, -EINVAL, "-e %s: a second clock", spec->name);
		if (spec->class != SOURCE_CLOCK && spec->period > UINT32_MAX)
			return fpl_fail(err, -EINVAL, "%s: -c is above %u", spec->name, UINT32_MAX);
	}
	return 0;
}

static int check_window(const struct engine_options *o, struct fpl_err *err)
{
	if (!o->window_ms)
		return 0;
	if (o->every_ms < o->window_ms)
		return fpl_fail(err, -EINVAL, "--window: one begins before another ends");
	for (size_t i = 0; i < o->nr_sources; i++)
		if (o->sources[i].class == SOURCE_HEAP || o->sources[i].class == SOURCE_RSS)
			return fpl_fail(err, -EINVAL,
					"--window: not with %s: what is measured goes on from one "
					"window to the next",
					o->sources[i].name);
	if (o->compare || o->blocks.all_at_end || o->record_path || !o->listener ||
	    !o->listener->window)
		return fpl_fail(err, -EINVAL, "--window: not with this");
	return 0;
}

static int check_options(const struct engine_options *o, struct fpl_err *err)
{
	bool has_clock = engine_clock(o) != NULL;
	int code = check_sources(o, err);

	if (!code)
		code = check_window(o, err);
	if (code)
		return code;
	if (has_clock && (o->hz < 1 || o->hz > ENGINE_HZ_MAX))
		return fpl_fail(err, -EINVAL, "-F %llu: wanted 1 to %u", (unsigned long long)o->hz,
				ENGINE_HZ_MAX);
	if (o->max_depth < 1 || o->max_depth > FPL_DEPTH_MAX)
		return fpl_fail(err, -EINVAL, "--max-depth %u: wanted 1 to %u", o->max_depth,
				FPL_DEPTH_MAX);
	if (o->root_depth >= o->max_depth)
		return fpl_fail(err, -EINVAL, "%u of %u frames at the root: wanted fewer",
				o->root_depth, o->max_depth);
	if (o->snapshot_bytes > FPL_SNAPSHOT_MAX)
		return fpl_fail(err, -EINVAL, "--snapshot %u: at most %u", o->snapshot_bytes,
				FPL_SNAPSHOT_MAX);
	if (!has_clock && !engine_wait_period(o) && o->max_overhead > 0)
		return fpl_fail(err, -EINVAL, "--max-overhead: is for a clock, or for waits");
	if (!(o->max_overhead >= 0 && o->max_overhead <= 100))
		return fpl_fail(err, -EINVAL, "--max-overhead %g: wanted 0 to 100",
				o->max_overhead);
	if (o->compare && o->unwind == ENGINE_UNWIND_FP)
		return fpl_fail(err, -EINVAL,
				"--unwind fp: compare walks by frame pointers anyway,"
				" wanted auto or cfi");
	if (!o->parser)
		return fpl_fail(err, -EINVAL, "no parser to read the files of targets");
	if (o->target == ENGINE_TARGET_PIDS && !o->nr_pids && !o->nr_tids)
		return fpl_fail(err, -EINVAL, "-p: no pid");
	if (o->target == ENGINE_TARGET_COMMAND && (!o->command || !o->command[0]))
		return fpl_fail(err, -EINVAL, "--: no command");
	return 0;
}

/* Now and then: own memory and overhead, whether the kernel side lost life records, and threads. */
static void check(struct engine *engine, uint64_t now)
{
	struct fpl_counters counters;

	overhead_look(&engine->overhead, now, engine->disabled_ns ? 0 : UINT64_MAX);
	if (!kernel_side_counters(&engine->kernel, &counters)) {
		if (counters.life_lost != engine->tracker.nr_lives_lost) {
			engine->tracker.nr_lives_lost = counters.life_lost;
			engine->tracker.rescan_all = true;
		}
		if (engine->enabled_ns && !engine->disabled_ns && !engine->is_paused)
			overhead_check(&engine->overhead, &counters, now);
	}
	if (targets_threads_gone(&engine->target, &engine->kernel))
		engine->stop = true;
	tables_review(&engine->tables);
	if (now >= engine->next_count_ns && !engine->is_paused) {
		kernel_side_count(&engine->kernel);
		engine->next_count_ns = now + COUNT_PERIOD_NS;
	}
	engine->next_check_ns = now + CHECK_PERIOD_NS;
}

/* A new cgroup is nothing of a process: it has no place in the order of time. */
static void take_sideband_record(const struct sideband_record *record, void *ctx)
{
	struct engine *engine = ctx;

	if (record->type != SIDEBAND_CGROUP)
		collect_sideband_record(record, &engine->collect);
	else if (engine->cgroup_names)
		cgroup_names_add(engine->cgroup_names, record->cgroup, record->path);
}

/* Gives the memory of the compiler back, unless it is needed again at once. */
static void trim(struct engine *engine, uint64_t now)
{
	if (compiler_nr_open(engine->tables.compiler))
		return;
	check(engine, now); /* how much it was */
	malloc_trim(0);
	engine->has_compiled = false;
	engine->next_trim_ns = now + CHECK_PERIOD_NS;
}

/* engine_drain() at @now. */
static bool drain(struct engine *engine, bool all, uint64_t now)
{
	/* the ring first: its life records say whose side-band records matter */
	bool drained = kernel_side_drain(&engine->kernel, now);

	engine->tracker.drained_ns = now;
	if (lookups_nr_open(engine->lookups) < LOOKUPS_MAX)
		engine->collect.nr_malformed +=
			sideband_drain(engine->sideband, take_sideband_record, engine);
	tracker_take_answers(&engine->tracker);
	collect_apply(&engine->collect, all ? UINT64_MAX : now - HORIZON_NS);
	if (tables_collect(&engine->tables)) {
		replayer_retry(&engine->replayer);
		engine->has_compiled = true;
	}
	if (engine->has_compiled && now >= engine->next_trim_ns)
		trim(engine, now);
	tracker_flush(&engine->tracker);
	retirement_review(&engine->retirement, now);
	engine_review_windows(engine, drained, now);
	listening_pause(&engine->listening);
	if (now >= engine->next_check_ns)
		check(engine, now);
	return drained;
}

bool engine_drain(struct engine *engine, bool all)
{
	return drain(engine, all, clock_monotonic_ns());
}

static int enable(struct engine *engine, struct fpl_err *err)
{
	int code = engine_begin_window(engine, NULL, err);

	for (size_t i = 0;
	     !code && engine_is_rss(engine->options) && i < engine->target.nr_processes; i++)
		code = rss_rows_start(&engine->rss_book, engine->target.processes[i].pid, err);
	engine->enabled_ns = clock_monotonic_ns();
	listening_begin(&engine->listening, engine->enabled_ns, engine->window->start_ns,
			engine->window->start_unix_ns);
	overhead_begin(&engine->overhead, engine->enabled_ns);
	if (!code && engine->options->began)
		engine->options->began(engine->options->began_ctx);
	return code;
}

/* Milliseconds until @when_ns, rounded up, at most @max. */
static int ms_until(uint64_t when_ns, uint64_t now, int max)
{
	if (when_ns <= now)
		return 0;

	uint64_t ms = (when_ns - now + NS_PER_MS - 1) / NS_PER_MS;

	return ms < (uint64_t)max ? (int)ms : max;
}

static void on_alert(struct engine *engine, const struct epoll_event *event)
{
	int fd = (int)(uint32_t)event->data.u64;

	switch ((enum watch)(event->data.u64 >> 32)) {
	case WATCH_SIGNAL:
		engine->stop = engine->is_interrupted = true;
		break;
	case WATCH_COMMAND:
	case WATCH_LISTENER:
		engine->stop = true;
		break;
	case WATCH_PID:
		epoll_ctl(engine->alerts_fd, EPOLL_CTL_DEL, fd, NULL);
		if (targets_process_ended(&engine->target))
			engine->stop = true;
		break;
	case WATCH_ANSWERS: /* the tables of new objects are compiled while the loop sleeps */
		tracker_take_answers(&engine->tracker);
		break;
	case WATCH_ALERTS:
	case WATCH_DATA:
		break;
	}
}

static void take_alerts(struct engine *engine)
{
	struct epoll_event events[16];
	int nr = epoll_wait(engine->alerts_fd, events, ARRAY_SIZE(events), 0);

	for (int i = 0; i < nr; i++)
		on_alert(engine, &events[i]);
}

/* How long nothing has to be done before @until, unless something comes. */
static int idle_ms(const struct engine *engine, uint64_t until)
{
	const struct engine_listener *listener = engine->options->listener;
	int most = listener && listener->sample ? LISTEN_PERIOD_MS : DRAIN_PERIOD_MS;

	/* what is pending becomes old enough in the pause */
	return collect_nr_pending(&engine->collect) ? 0
						    : ms_until(until, clock_monotonic_ns(), most);
}

/* How long the next drain is put off after one that brought @nr_records. */
static uint64_t drain_pause_ns(const struct engine *engine, uint32_t nr_records)
{
	const struct source *source = &engine->sources[0];
	size_t nr_cpus = source->cpus.nr;
	uint64_t pause_ns = engine->nr_sources == 1 && profile_source_is_clock(&source->what)
				    ? source->period / (nr_cpus ? nr_cpus : 1)
				    : 0; /* unknown: events may come in bursts */

	if (engine->is_paused)
		return DRAIN_PAUSE_NO_WINDOW_NS;
	if (pause_ns < DRAIN_PAUSE_NS || nr_records >= DRAIN_MANY)
		pause_ns = DRAIN_PAUSE_NS;
	/* only records of unprofiled processes woke us */
	if (!nr_records)
		pause_ns *= 2;
	return pause_ns < DRAIN_PAUSE_MOST_NS ? pause_ns : DRAIN_PAUSE_MOST_NS;
}

/*
 * Sleep until @when_ns, whatever data comes. Alerts are taken meanwhile, also those of a loop that
 * never sleeps; one may end the run.
 */
static void sleep_until(struct engine *engine, uint64_t when_ns)
{
	struct pollfd alerts = { .fd = engine->alerts_fd, .events = POLLIN };
	uint64_t now;
	int nr;

	do {
		now = clock_monotonic_ns();

		const struct timespec left = {
			.tv_nsec = (long)(when_ns > now ? when_ns - now : 0),
		};

		nr = ppoll(&alerts, 1, &left, NULL);
		if (nr > 0)
			take_alerts(engine);
	} while (nr && now < when_ns && !engine->stop);
}

/* When what was drained makes it worth to look again, and whether more is likely to come first. */
struct next_drain {
	uint64_t time_ns; /* 0: there is more to do already */
	bool is_busy;
};

/* Let mappings and lives wake this thread from now on. Returns whether nothing came before. */
static bool arm(struct engine *engine)
{
	bool drained = kernel_side_arm(&engine->kernel, clock_monotonic_ns());

	return sideband_arm(engine->sideband) && drained;
}

/*
 * Sleep until data or an alert comes, for @ms at most; 0: not at all. Returns whether only time has
 * passed.
 */
static bool sleep_for_data(struct engine *engine, int ms)
{
	struct epoll_event event;
	bool is_quiet = ms && !epoll_wait(engine->epoll_fd, &event, 1, ms);

	kernel_side_disarm(&engine->kernel);
	sideband_disarm(engine->sideband);
	return is_quiet;
}

/*
 * Wait for records until @until, at most. Handle them at once, unless that was done a moment ago;
 * for records in quick succession, one sleep serves them all, and neither is epoll asked, nor does
 * a record wake this thread.
 */
static void await(struct engine *engine, const struct next_drain *next, uint64_t until)
{
	uint64_t pause_until = next->time_ns < until ? next->time_ns : until;

	if (!next->is_busy) {
		int ms = next->time_ns && arm(engine) ? idle_ms(engine, until) : 0;

		if (ms > ASK_AGAIN_MS && tracker_asks_again(&engine->tracker))
			ms = ASK_AGAIN_MS;
		if (sleep_for_data(engine, ms))
			return;
	}
	sleep_until(engine, pause_until);
}

/* The CPU time of this thread is read this often: reading it costs more than other clocks do. */
#define CPU_TIME_PERIOD_NS (50 * NS_PER_MS)

/* When a round of the loop began, and what this thread had of a CPU a moment before. */
struct round {
	uint64_t time_ns;
	uint64_t read_ns, cpu_ns; /* when it was read, and the answer */
};

static void round_begin(struct round *round, uint64_t now)
{
	round->time_ns = now;
	if (now < round->read_ns + CPU_TIME_PERIOD_NS)
		return;
	round->read_ns = now;
	round->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Was the round, which ends @now, longer than the longest wait, without running on a CPU? Then the
 * ring was not read meanwhile.
 */
static void round_end(struct engine *engine, const struct round *round, uint64_t now)
{
	uint64_t took_ns = now - round->time_ns, worked_ns;

	if (took_ns < AWAY_MIN_MS * NS_PER_MS)
		return;
	worked_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - round->cpu_ns;
	if (took_ns >= worked_ns + AWAY_MIN_MS * NS_PER_MS)
		engine->away_ns += took_ns - worked_ns;
}

/* When there is something to do besides, at @end at the latest. */
static uint64_t next_stop_ns(const struct engine *engine, uint64_t end)
{
	if (engine->listening.next_look_ns < end)
		end = engine->listening.next_look_ns;
	if (engine->options->window_ms && engine->next_turn_ns < end)
		end = engine->next_turn_ns;
	return end;
}

/* Until the time is over, a signal comes or the targets have gone. */
static int loop(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	uint64_t enable_at = clock_monotonic_ns() + o->delay_ms * NS_PER_MS;
	struct next_drain next = { 0 };
	struct round round = { 0 };

	for (uint64_t now = clock_monotonic_ns(); !engine->stop;) {
		uint64_t end = UINT64_MAX;
		uint32_t seq = engine->collect.seq;
		bool was_paused = engine->is_paused;

		round_begin(&round, now);
		if (!engine->enabled_ns && now >= enable_at) {
			int code = enable(engine, err);

			if (code)
				return code;
		}
		if (engine->enabled_ns && o->duration_ms)
			end = engine->enabled_ns + o->duration_ms * NS_PER_MS;
		if (now >= end || listening_is_over(&engine->listening, now))
			break;
		if (engine->enabled_ns) {
			int code = engine_turn_window(engine, now, err);

			if (code)
				return code;
			end = next_stop_ns(engine, end);
		}
		/* the first samples of a window meet what is new */
		if (was_paused && !engine->is_paused)
			next = (struct next_drain){ 0 };
		await(engine, &next, engine->enabled_ns ? end : enable_at);
		now = clock_monotonic_ns();
		kernel_side_woken(&engine->kernel, now);

		bool drained = drain(engine, false, now);
		uint32_t nr_records = engine->collect.seq - seq;

		now = clock_monotonic_ns();
		next = (struct next_drain){ 0 };
		if (drained)
			next = (struct next_drain){
				now + drain_pause_ns(engine, nr_records),
				nr_records > 0,
			};
		round_end(engine, &round, now);
	}
	return 0;
}

/* Applies all that came, also what has to be looked up first; the rest then goes without. */
static void finish_lookups(struct engine *engine)
{
	uint64_t until = clock_monotonic_ns() + LOOKUPS_TIMEOUT_MS * NS_PER_MS;
	struct pollfd wait = { .fd = lookups_fd(engine->lookups), .events = POLLIN };
	size_t nr_open;

	while (!engine_drain(engine, true))
		;
	while ((nr_open = lookups_nr_open(engine->lookups))) {
		int timeout = ms_until(until, clock_monotonic_ns(), LOOKUPS_TIMEOUT_MS);

		if (!timeout || poll(&wait, 1, timeout) <= 0)
			break;
		engine_drain(engine, true);
	}
	if (nr_open)
		fpl_log(FPL_LOG_WARN,
			"%zu files and processes did not answer: their frames stay addresses",
			nr_open);
	engine->collect.is_last = true;
	engine_drain(engine, true);
	lookups_end(engine->lookups);
	engine->lookups = NULL;
	tracker_end_lookups(&engine->tracker);
}

/* Takes in the samples of threads that still sleep: some at a time, since a copy of the stack comes
 * with each. */
static void take_sleepers(void *ctx)
{
	struct engine *engine = ctx;
	struct pollfd wait = { .fd = compiler_fd(engine->tables.compiler), .events = POLLIN };

	engine_drain(engine, true);
	while (engine->replayer.waiting_bytes > REPLAYER_WAITING_MIN / 2 &&
	       compiler_nr_open(engine->tables.compiler) && poll(&wait, 1, SLEEPERS_WAIT_MS) > 0)
		if (tables_collect(&engine->tables))
			replayer_retry(&engine->replayer);
}

/* Applies all that came, and waits for the tables the last snapshots need. */
static void finish(struct engine *engine)
{
	uint64_t until;

	finish_lookups(engine);
	until = clock_monotonic_ns() + TABLES_TIMEOUT_MS * NS_PER_MS;
	while (engine->replayer.first && compiler_nr_open(engine->tables.compiler)) {
		struct pollfd wait = { .fd = compiler_fd(engine->tables.compiler),
				       .events = POLLIN };
		uint64_t now = clock_monotonic_ns();
		int timeout = ms_until(until, now, TABLES_TIMEOUT_MS);

		listening_tables(&engine->listening, now);
		if (!timeout || poll(&wait, 1, timeout) <= 0)
			break;
		if (tables_collect(&engine->tables))
			replayer_retry(&engine->replayer);
	}
	replayer_finish(&engine->replayer);
	if (engine->window->intake.timeline)
		timeline_retry(engine->window->intake.timeline);
	listening_pause(&engine->listening);
	listening_last(&engine->listening, engine->disabled_ns);
	check(engine, clock_monotonic_ns());
}

/* Take answers as long as @is_open, for @timeout_ms at most; @all as for engine_drain. */
static void await_answers(struct engine *engine, bool (*is_open)(const struct engine *engine),
			  int timeout_ms, bool all)
{
	uint64_t until = clock_monotonic_ns() + (unsigned)timeout_ms * NS_PER_MS;
	struct pollfd wait[] = {
		{ .fd = lookups_fd(engine->lookups), .events = POLLIN },
		{ .fd = compiler_fd(engine->tables.compiler), .events = POLLIN },
		{ .fd = engine->signal_fd, .events = POLLIN },
	};

	while (is_open(engine)) {
		int timeout = ms_until(until, clock_monotonic_ns(), timeout_ms);

		if (!timeout || poll(wait, ARRAY_SIZE(wait), timeout) <= 0 || wait[2].revents)
			break;
		engine_drain(engine, all);
	}
}

/*
 * Is it not known yet how code that targets make is walked? Their first samples would end there.
 * The files of a process tell who makes code, and are looked up first. LuaJIT's table tells how its
 * code is walked; a sample that waits for any table is walked later, without the memory by which a
 * trace is walked.
 */
static bool awaits_makers(const struct engine *engine)
{
	if ((engine->options->target == ENGINE_TARGET_PIDS && lookups_nr_open(engine->lookups)) ||
	    lookups_awaits_makers(engine->lookups))
		return true;
	for (size_t i = 0;
	     compiler_nr_open(engine->tables.compiler) && i < catalog_nr_live(engine->catalog); i++)
		if (catalog_live(engine->catalog, i)->maker == CODE_MAKER_LUAJIT)
			return true;
	return false;
}

/* Before the one look at the stacks of processes: are tables of what they have mapped not made yet?
 * With them each stack is walked at once, before its thread may run, and with its memory. */
static bool awaits_tables(const struct engine *engine)
{
	return engine->scripts && engine->options->user &&
	       engine->options->target == ENGINE_TARGET_PIDS &&
	       (lookups_nr_open(engine->lookups) || compiler_nr_open(engine->tables.compiler));
}

static int run(struct engine *engine, struct profile *ret, struct fpl_err *err)
{
	struct profile profile = { 0 };
	int code = engine_open(engine, err), status;

	/* with a delay the command runs before the first sample, else not an instruction does */
	if (!code && !engine->options->delay_ms) {
		await_answers(engine, awaits_makers, MAKERS_TIMEOUT_MS, false);
		code = enable(engine, err);
	}
	if (!code && engine->command.pid)
		code = command_release(&engine->command, engine->signal_fd, err);
	for (size_t i = 0; !code && i < engine->nr_sources; i++)
		if (engine->sources[i].is_second_best)
			fpl_log(FPL_LOG_DEBUG, "no cpu-cycles counter on this machine: sampling %s",
				engine->sources[i].what.name);
	if (!code)
		code = loop(engine, err);
	if (!code && engine->options->blocks.all_at_end)
		await_answers(engine, awaits_tables, LOOK_TIMEOUT_MS, true);
	for (size_t i = 0; i < engine->nr_sources; i++)
		source_disable(&engine->sources[i]);
	engine->disabled_ns = clock_monotonic_ns();
	kernel_side_close_gate(&engine->kernel, false);
	if (!code)
		code = kernel_side_close_times(&engine->kernel,
					       &(struct thread_times_end){
						       .pause = take_sleepers,
						       .ctx = engine,
						       .wait_ms = EXITING_WAIT_MS,
						       .is_last = true,
					       },
					       err);
	if (code)
		return code;
	finish(engine);
	/* while they are there */
	jvm_codes_hold(engine->jvm_codes, engine->options->parser);
	jvm_codes_release(engine->jvm_codes);
	script_reader_finish(TAKE_PTR(engine->script_reader));
	status = engine->options->keep_command ? command_leave(&engine->command)
					       : command_end(&engine->command);
	/* what the command wrote of its code last, too */
	code_names_finish(engine->code_names);
	engine_describe(engine, &profile);
	code = engine_end_windows(engine, &profile, err);
	if (!code) {
		code = walk_file_close(engine->walk_file, err);
		engine->walk_file = NULL;
	}
	if (code) {
		profile_fini(&profile);
		return code;
	}
	/* a signal is most likely the terminal's, for both */
	profile.command_status = engine->is_interrupted ? -1 : status;
	*ret = profile;
	return 0;
}

/*
 * Memory for the stacks of a run. A window of a clock alone has no more stacks than ticks: there is
 * room for 16 times as many, so that a group of eight places is hardly ever full though each tick
 * has a stack of its own. An agent on a few CPUs needs a quarter of what a run without end may.
 */
static uint64_t stack_memory(const struct engine_options *o)
{
	uint64_t bytes = STACK_MEMORY_LEAST, nr_ticks, hz = o->hz > o->max_hz ? o->hz : o->max_hz;

	if (!o->window_ms || o->nr_sources != 1 || o->sources[0].class != SOURCE_CLOCK)
		return STACK_MEMORY_DEFAULT;
	nr_ticks = hz * o->window_ms / 1000 * (uint64_t)get_nprocs_conf();
	while (bytes < STACK_MEMORY_DEFAULT && bytes < 16 * nr_ticks * sizeof(struct fpl_stack))
		bytes *= 2;
	return bytes;
}

/* Fill in sizes not given by options, by the size of the machine. */
static void fill_in_sizes(struct engine_options *o)
{
	struct sysinfo info;

	if (!o->table_memory)
		o->table_memory = TABLE_MEMORY_DEFAULT;
	if (!o->stack_memory)
		o->stack_memory = stack_memory(o);
	if (!o->ring_memory)
		o->ring_memory = RING_MEMORY_DEFAULT;
	if (!o->max_processes)
		o->max_processes = PROCESSES_DEFAULT;
	if (o->max_mappings || sysinfo(&info))
		return;
	o->max_mappings = MAPPINGS_LEAST;
	while (o->max_mappings < MAPPINGS_MOST &&
	       o->max_mappings < (uint64_t)info.procs * MAPPINGS_PER_TASK)
		o->max_mappings *= 2;
}

int engine_run(const struct engine_options *options, struct profile *ret, struct fpl_err *err)
{
	int code = check_options(options, err);

	if (code)
		return code;

	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return fpl_fail(err, -ENOMEM, "out of memory");
	engine->given = *options;
	fill_in_sizes(&engine->given);
	engine->options = &engine->given;
	engine->began_ns = options->started_ns ? options->started_ns : clock_monotonic_ns();
	engine->signal_fd = engine->epoll_fd = engine->alerts_fd = engine->target.cgroup_fd = -1;
	engine->command = (struct command){ .go_fd = -1, .fail_fd = -1, .pid_fd = -1 };
	code = run(engine, ret, err);
	engine_close(engine);
	free(engine);
	return code;
}
