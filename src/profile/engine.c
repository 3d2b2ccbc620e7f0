/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/engine.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/advice.h"
#include "proc/pidfd.h"
#include "profile/books.h"
#include "profile/collect.h"
#include "profile/command.h"
#include "profile/compiler.h"
#include "profile/events.h"
#include "profile/features.h"
#include "profile/kernel_side.h"
#include "profile/usage.h"

#define TABLE_MEMORY_DEFAULT (128ull << 20)
#define STACK_MEMORY_DEFAULT (4ull << 20)
#define STACK_STORE_MIN	     (64ull << 20)
#define NS_PER_MS	     1000000ull

/*
 * A record may become visible a little after its time was taken: on another CPU, between the two.
 * 2 ms is far above what an interrupted writer needs, and below what anybody notices.
 */
#define HORIZON_NS (2 * NS_PER_MS)
/* Pause after each drain: bounds the wake-ups in a storm of short programs. */
#define DRAIN_PAUSE_MS 2
/* Longest time between two drains: 1/4 of the ring is 10,000 stacks. */
#define DRAIN_PERIOD_MS	  100
#define CHECK_PERIOD_NS	  (250 * NS_PER_MS)
#define TABLES_TIMEOUT_MS 10000 /* for those still being compiled when the run ends */

enum watch { WATCH_SIGNAL, WATCH_COMMAND, WATCH_PID, WATCH_DATA };

struct engine {
	struct engine_options given;	      /* with the defaults filled in */
	const struct engine_options *options; /* the same, for reading */
	struct command command;
	struct events events;
	struct kernel_side kernel;
	struct sideband *sideband;
	struct catalog *catalog;
	struct stack_store *store;
	struct tables tables;
	struct publisher publisher;
	struct tracker tracker;
	struct replayer replayer;
	struct collect collect;
	struct walk_file *walk_file;
	bool has_tables, has_publisher, has_tracker;

	int epoll_fd, signal_fd;
	int *pid_fds; /* owned [nr_pids] */
	size_t nr_pids_alive;
	bool stop;

	uint64_t began_ns, enabled_ns, disabled_ns, start_unix_ns;
	uint64_t next_check_ns;
	uint64_t rss_peak_bytes;
};

static int check_options(const struct engine_options *o, struct fpl_err *err)
{
	if (o->hz < 1 || o->hz > 100000)
		return fpl_fail(err, -EINVAL, "-F %llu: wanted 1 to 100000",
				(unsigned long long)o->hz);
	if (o->max_depth < 1 || o->max_depth > FPL_DEPTH_MAX)
		return fpl_fail(err, -EINVAL, "--max-depth %u: wanted 1 to %u", o->max_depth,
				FPL_DEPTH_MAX);
	if (o->snapshot_bytes > FPL_SNAPSHOT_MAX)
		return fpl_fail(err, -EINVAL, "--snapshot %u: at most %u", o->snapshot_bytes,
				FPL_SNAPSHOT_MAX);
	if (o->compare && o->unwind == ENGINE_UNWIND_FP)
		return fpl_fail(err, -EINVAL,
				"--unwind fp: compare walks by frame pointers anyway,"
				" wanted auto or cfi");
	if (o->target == ENGINE_TARGET_PIDS && !o->nr_pids)
		return fpl_fail(err, -EINVAL, "-p: no pid");
	if (o->target == ENGINE_TARGET_COMMAND && (!o->command || !o->command[0]))
		return fpl_fail(err, -EINVAL, "--: no command");
	return 0;
}

/* Two descriptors per object: as many as the system lets us have. Refused is no error. */
static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)!setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/*
 * A long line of snapshots must not form while this thread, or those that compile tables, wait for
 * a CPU. The command was started before and keeps its own. Refused: so be it.
 */
static void raise_priority(void)
{
	(void)!setpriority(PRIO_PROCESS, 0, -10); /* this thread and those it makes from now on */
}

static int watch(struct engine *engine, int fd, enum watch what, struct fpl_err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)what << 32 };

	event.data.u64 |= (uint32_t)fd;
	if (fd >= 0 && epoll_ctl(engine->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return fpl_fail(err, -errno, "epoll: %s", strerror(errno));
	return 0;
}

static int block_signals(struct engine *engine, struct fpl_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD); /* the command's end comes through its pidfd */
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGCHLD);
	engine->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (engine->signal_fd < 0 || engine->epoll_fd < 0)
		return fpl_fail(err, -errno, "signalfd, epoll: %s", strerror(errno));
	return watch(engine, engine->signal_fd, WATCH_SIGNAL, err);
}

/* A pidfd per target, so that the run ends when the last of them has gone. */
static int watch_pids(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;

	engine->pid_fds = malloc(o->nr_pids * sizeof(int));
	if (!engine->pid_fds)
		return fpl_fail(err, -ENOMEM, "-p: out of memory");
	for (size_t i = 0; i < o->nr_pids; i++) {
		engine->pid_fds[i] = -1;
		/* said when it is clear that it is not the only one */
		if (pidfd_of(o->pids[i], &engine->pid_fds[i], err))
			continue;

		int code = watch(engine, engine->pid_fds[i], WATCH_PID, err);

		if (code)
			return code;
		engine->nr_pids_alive++;
	}
	if (!engine->nr_pids_alive)
		return o->nr_pids == 1
			       ? -ESRCH
			       : fpl_fail_in(err, -ESRCH, "-p: none of %zu processes", o->nr_pids);
	if (engine->nr_pids_alive < o->nr_pids && err)
		fpl_log(FPL_LOG_WARN, "%s: the run goes on without %s", err->msg,
			o->nr_pids - engine->nr_pids_alive == 1 ? "it" : "it and others");
	return 0;
}

static int watch_data(struct engine *engine, struct fpl_err *err)
{
	int code = watch(engine, kernel_side_ring_fd(&engine->kernel), WATCH_DATA, err);

	if (!code)
		code = watch(engine, compiler_fd(engine->tables.compiler), WATCH_DATA, err);
	for (size_t i = 0; !code && i < engine->events.nr; i++)
		code = watch(engine, sideband_fd(engine->sideband, i), WATCH_DATA, err);
	if (!code && engine->command.pid)
		code = watch(engine, engine->command.pid_fd, WATCH_COMMAND, err);
	return code;
}

/* catalog_pause_fn */
static void drain_ring(void *kernel)
{
	kernel_side_drain(kernel);
}

/* What is known of processes, objects and stacks: parts that need nothing of the kernel side. */
static int open_parts(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	uint64_t store_bytes = STACK_STORE_MIN + 8 * o->stack_memory;
	int code = catalog_create(KERNEL_SIDE_NR_OBJECTS, o->symbolizer, &engine->catalog, err);

	if (!code)
		code = tables_init(&engine->tables, o->table_memory, kernel_side_make_chunk,
				   &engine->kernel, err);
	if (code)
		return code;
	engine->has_tables = true;
	engine->tables.catalog = engine->catalog;
	engine->tables.mark_mapped = tracker_mark_mapped;
	engine->tables.ctx = &engine->tracker;

	if (tracker_init(&engine->tracker) || stack_store_create(store_bytes, &engine->store))
		return fpl_fail(err, -ENOMEM, "stacks: out of memory");
	engine->has_tracker = true;
	engine->tracker.catalog = engine->catalog;
	return 0;
}

/* The same parts meet the maps of the kernel side, and each other. */
static int connect_parts(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;

	engine->tables.slots = engine->kernel.objects;
	if (publisher_init(&engine->publisher, engine->kernel.mappings, engine->kernel.nr_mappings,
			   engine->kernel.nr_mapsets))
		return fpl_fail(err, -ENOMEM, "mappings: out of memory");
	engine->has_publisher = true;
	engine->publisher.catalog = engine->catalog;
	engine->publisher.processes = &engine->tracker.processes;
	engine->publisher.ops = &kernel_side_publisher_ops;
	engine->publisher.ctx = &engine->kernel;

	engine->tracker.publisher = &engine->publisher;
	/* from here on tables are compiled; before, it would have slowed the loading down */
	if (o->unwind != ENGINE_UNWIND_FP)
		tracker_begin_tables(&engine->tracker, &engine->tables);
	engine->tracker.kernel_gen = kernel_side_gen;
	engine->tracker.ctx = &engine->kernel;

	engine->replayer.tracker = &engine->tracker;
	engine->replayer.objects = engine->kernel.objects;
	engine->replayer.nr_objects = engine->kernel.nr_objects;
	engine->replayer.pool = &engine->tables.pool;
	engine->replayer.store = engine->store;
	engine->replayer.max_depth = o->max_depth;
	engine->replayer.unwind = o->unwind == ENGINE_UNWIND_CFI ? FPL_UNWIND_CFI : FPL_UNWIND_AUTO;

	engine->collect.tracker = &engine->tracker;
	engine->collect.replayer = &engine->replayer;
	engine->collect.store = engine->store;
	engine->collect.walk_file = engine->walk_file;
	if (o->target != ENGINE_TARGET_ALL) {
		engine->collect.is_followed = kernel_side_is_target;
		engine->collect.ctx = &engine->kernel;
	}
	catalog_on_pause(engine->catalog, drain_ring, &engine->kernel);
	return 0;
}

static int set_targets(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	int code = 0;

	if (o->target == ENGINE_TARGET_COMMAND)
		return kernel_side_target(&engine->kernel, (uint32_t)engine->command.pid,
					  FPL_TARGET_INHERIT | FPL_TARGET_ON_EXEC, err);
	for (size_t i = 0; !code && o->target == ENGINE_TARGET_PIDS && i < o->nr_pids; i++) {
		if (engine->pid_fds[i] < 0)
			continue;
		code = kernel_side_target(&engine->kernel, (uint32_t)o->pids[i], FPL_TARGET_ACTIVE,
					  err);
	}
	return code;
}

/* Who runs already, and with what. The side-band is open: what changes from here on is seen. */
static void read_processes(struct engine *engine)
{
	const struct engine_options *o = engine->options;

	if (o->target == ENGINE_TARGET_ALL)
		tracker_adopt_all(&engine->tracker);
	for (size_t i = 0; o->target == ENGINE_TARGET_PIDS && i < o->nr_pids; i++) {
		if (engine->pid_fds[i] >= 0 &&
		    tracker_adopt(&engine->tracker, (uint32_t)o->pids[i], true, NULL))
			fpl_log(FPL_LOG_DEBUG, "pid %d: its mappings cannot be read yet",
				(int)o->pids[i]);
	}
}

struct loading {
	struct engine *engine;
	struct fpl_err err;
	int code;
};

static void *load_kernel_side(void *ctx)
{
	struct loading *loading = ctx;
	struct engine *engine = loading->engine;

	loading->code =
		kernel_side_open(engine->options, engine->events.period_ns, collect_ring_record,
				 &engine->collect, &engine->kernel, &loading->err);
	return NULL;
}

/*
 * Load the kernel side while /proc is read: the verifier takes 150 ms, and a machine full of
 * processes as long, and no sample is to be taken before both are done.
 */
static int load_and_read(struct engine *engine, struct fpl_err *err)
{
	struct loading loading = { .engine = engine };
	pthread_t thread;
	bool has_thread = pthread_create(&thread, NULL, load_kernel_side, &loading) == 0;

	if (!has_thread)
		load_kernel_side(&loading);
	read_processes(engine);
	if (has_thread)
		pthread_join(thread, NULL);
	if (loading.code && err)
		*err = loading.err;
	return loading.code;
}

/* The numbers of processes must mean the same here, in /proc and in the kernel. */
static int check_namespaces(struct fpl_err *err)
{
	struct host host;
	struct advice advice;

	host_read("", &host);
	if (!advice_namespaces(&host, &advice))
		return 0;
	return fpl_fail(err, -EOPNOTSUPP, "%s: %s", advice.why, advice.fix);
}

/* What the kernel has to give: events, side-band, programs. Where it fails, a missing feature is
 * why. */
static int open_kernel(struct engine *engine, struct fpl_err *err)
{
	int code = events_open(engine->options, &engine->events, err);

	if (!code) {
		code = sideband_open(engine->events.cpus, engine->events.nr, &engine->sideband,
				     err);
		if (code == -EINVAL) /* a field of the attributes that is not known yet */
			code = -EOPNOTSUPP;
	}
	if (!code)
		code = open_parts(engine, err);
	if (!code)
		code = load_and_read(engine, err);
	return features_explain(err, code);
}

static int engine_open(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	int code = check_namespaces(err);

	if (!code)
		code = block_signals(engine, err);

	if (!code && o->target == ENGINE_TARGET_COMMAND)
		code = command_start(o->command, o->command_stdout_to_stderr, &engine->command,
				     err);
	if (!code && o->target == ENGINE_TARGET_PIDS)
		code = watch_pids(engine, err);
	raise_limits();
	raise_priority();
	if (!code && o->record_path)
		code = walk_file_create(o->record_path, &engine->walk_file, err);
	if (!code)
		code = open_kernel(engine, err);
	if (!code)
		code = connect_parts(engine, err);
	if (!code)
		code = events_attach(&engine->events, kernel_side_sampler_fd(&engine->kernel), err);
	if (!code)
		code = set_targets(engine, err);
	return code ? code : watch_data(engine, err);
}

static void engine_close(struct engine *engine)
{
	events_disable(&engine->events);
	command_end(&engine->command);
	events_close(&engine->events);
	collect_fini(&engine->collect);
	replayer_fini(&engine->replayer);
	if (engine->has_tracker)
		tracker_fini(&engine->tracker);
	if (engine->has_publisher)
		publisher_fini(&engine->publisher);
	if (engine->has_tables)
		tables_fini(&engine->tables);
	catalog_destroy(engine->catalog);
	stack_store_destroy(engine->store);
	kernel_side_close(&engine->kernel);
	sideband_close(engine->sideband);
	walk_file_close(engine->walk_file, NULL);
	for (size_t i = 0; engine->pid_fds && i < engine->options->nr_pids; i++)
		cleanup_fd(&engine->pid_fds[i]);
	free(engine->pid_fds);
	cleanup_fd(&engine->signal_fd);
	cleanup_fd(&engine->epoll_fd);
}

/* Now and then: own memory, and whether the kernel side lost life records. */
static void check(struct engine *engine, uint64_t now)
{
	struct fpl_counters counters;
	uint64_t rss = usage_rss_anon_bytes();

	if (rss > engine->rss_peak_bytes)
		engine->rss_peak_bytes = rss;
	if (!kernel_side_counters(&engine->kernel, &counters) &&
	    counters.life_lost != engine->tracker.nr_lives_lost) {
		engine->tracker.nr_lives_lost = counters.life_lost;
		engine->tracker.rescan_all = true;
	}
	engine->next_check_ns = now + CHECK_PERIOD_NS;
}

/*
 * Gather what there is, apply what is old enough, publish what follows from it. Returns false if
 * the ring holds more.
 */
static bool drain(struct engine *engine, bool all)
{
	uint64_t now = usage_monotonic_ns();

	/* the ring first: its life records say whose side-band records matter */
	bool drained = kernel_side_drain(&engine->kernel);

	engine->collect.nr_malformed +=
		sideband_drain(engine->sideband, collect_sideband_record, &engine->collect);
	collect_apply(&engine->collect, all ? UINT64_MAX : now - HORIZON_NS);
	if (tables_collect(&engine->tables)) {
		replayer_retry(&engine->replayer);
		if (!compiler_nr_open(engine->tables.compiler)) {
			check(engine, now); /* before the memory of the compiler goes back */
			malloc_trim(0);
		}
	}
	tracker_flush(&engine->tracker);
	if (now >= engine->next_check_ns)
		check(engine, now);
	return drained;
}

static int enable(struct engine *engine, struct fpl_err *err)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	engine->start_unix_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;

	int code = events_enable(&engine->events, err);

	engine->enabled_ns = usage_monotonic_ns();
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

static void on_event(struct engine *engine, const struct epoll_event *event)
{
	int fd = (int)(uint32_t)event->data.u64;

	switch ((enum watch)(event->data.u64 >> 32)) {
	case WATCH_SIGNAL:
	case WATCH_COMMAND:
		engine->stop = true;
		break;
	case WATCH_PID:
		epoll_ctl(engine->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		if (--engine->nr_pids_alive == 0)
			engine->stop = true;
		break;
	case WATCH_DATA:
		break;
	}
}

/* Until the time is over, a signal comes or the targets have gone. */
static int loop(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	uint64_t enable_at = usage_monotonic_ns() + o->delay_ms * NS_PER_MS;

	while (!engine->stop) {
		uint64_t now = usage_monotonic_ns();
		struct epoll_event events[16];

		if (!engine->enabled_ns && now >= enable_at) {
			int code = enable(engine, err);

			if (code)
				return code;
		}

		uint64_t end = engine->enabled_ns && o->duration_ms
				       ? engine->enabled_ns + o->duration_ms * NS_PER_MS
				       : UINT64_MAX;

		if (now >= end)
			break;

		int timeout = ms_until(end, now, DRAIN_PERIOD_MS);

		if (!engine->enabled_ns)
			timeout = ms_until(enable_at, now, timeout);
		if (collect_nr_pending(&engine->collect) && timeout > 2 * DRAIN_PAUSE_MS)
			timeout = 2 * DRAIN_PAUSE_MS;

		int nr = epoll_wait(engine->epoll_fd, events, ARRAY_SIZE(events), timeout);

		for (int i = 0; i < nr; i++)
			on_event(engine, &events[i]);
		if (drain(engine, false))
			poll(NULL, 0, DRAIN_PAUSE_MS);
	}
	return 0;
}

/* Applies all that came, and waits for the tables the last snapshots need. */
static void finish(struct engine *engine)
{
	uint64_t until = usage_monotonic_ns() + TABLES_TIMEOUT_MS * NS_PER_MS;

	while (!drain(engine, true))
		;
	while (engine->replayer.first && compiler_nr_open(engine->tables.compiler)) {
		struct pollfd wait = { .fd = compiler_fd(engine->tables.compiler),
				       .events = POLLIN };
		int timeout = ms_until(until, usage_monotonic_ns(), TABLES_TIMEOUT_MS);

		if (!timeout || poll(&wait, 1, timeout) <= 0)
			break;
		if (tables_collect(&engine->tables))
			replayer_retry(&engine->replayer);
	}
	replayer_finish(&engine->replayer);
	check(engine, usage_monotonic_ns());
}

static int close_books(struct engine *engine, struct profile *profile, struct fpl_err *err)
{
	struct books_join join = { .store = engine->store };
	struct fpl_counters counters;
	int code = kernel_side_counters(&engine->kernel, &counters);

	if (!code)
		code = kernel_side_stacks(&engine->kernel, books_count, &join);
	if (code)
		return fpl_fail(err, code == -ENOMEM ? code : -EOPNOTSUPP,
				"BPF maps cannot be read: %s", strerror(-code));
	books_close(&counters, engine->collect.nr_user_memory + engine->replayer.nr_user_memory,
		    join.nr_without_frames, engine->collect.stack_dropped, &profile->books);
	profile->books.expected = events_expected(&engine->events);
	if (profile->books.expected > profile->books.fired)
		profile->books.missed = profile->books.expected - profile->books.fired;
	profile->books.bpf_runs = kernel_side_run_cnt(&engine->kernel);
	if (!profile->books.bpf_runs)
		profile->books.bpf_runs = counters.fired;
	if (stack_store_take(engine->store, &profile->stacks, &profile->nr_stacks))
		return fpl_fail(err, -ENOMEM, "stacks: out of memory");

	int64_t gap = books_gap(&profile->books, profile_shown(profile));

	if (gap)
		fpl_log(FPL_LOG_ERROR,
			"the books do not close by %lld samples: this is a bug of fpless",
			(long long)gap);
	if (engine->collect.nr_malformed)
		fpl_log(FPL_LOG_WARN, "%llu malformed records",
			(unsigned long long)engine->collect.nr_malformed);
	return 0;
}

static int fill_profile(struct engine *engine, struct profile *profile, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	struct utsname uts;

	profile->event = engine->events.name;
	profile->hz = o->hz;
	profile->period_ns = engine->events.period_ns;
	profile->argv = o->argv;
	profile->user = o->user || !o->kernel;
	profile->kernel = o->kernel || !o->user;
	profile->fp_max = o->compare ? kernel_side_fp_depth(&engine->kernel) : 0;
	profile->start_unix_ns = engine->start_unix_ns;
	if (engine->enabled_ns) {
		profile->duration_ns = engine->disabled_ns - engine->enabled_ns;
		profile->startup_ms =
			(engine->enabled_ns - engine->began_ns) / NS_PER_MS - o->delay_ms;
	}
	profile->nr_cpus = (uint32_t)engine->events.nr;
	if (uname(&uts) == 0)
		memcpy(profile->kernel_release, uts.release, sizeof(profile->kernel_release));

	int code = close_books(engine, profile, err);

	if (code)
		return code;
	profile->nr_objects = catalog_nr(engine->catalog);
	if (catalog_export(engine->catalog, &profile->objects)) {
		profile->nr_objects = 0;
		return fpl_fail(err, -ENOMEM, "objects: out of memory");
	}
	tables_stats(&engine->tables, &profile->tables);
	profile->maps_bytes = kernel_side_maps_bytes(&engine->kernel);
	profile->rss_peak_bytes = engine->rss_peak_bytes;
	profile->user_cpu_ms = usage_cpu_ms();
	return 0;
}

static int run(struct engine *engine, struct profile *ret, struct fpl_err *err)
{
	struct profile profile = { 0 };
	int code = engine_open(engine, err);

	/* with a delay the command runs before the first sample, else not an instruction does */
	if (!code && !engine->options->delay_ms)
		code = enable(engine, err);
	if (!code && engine->command.pid)
		code = command_release(&engine->command, err);
	if (!code && engine->events.is_second_best)
		fpl_log(FPL_LOG_INFO, "no cpu-cycles counter on this machine: sampling %s",
			engine->events.name);
	if (!code)
		code = loop(engine, err);
	events_disable(&engine->events);
	engine->disabled_ns = usage_monotonic_ns();
	if (code)
		return code;
	finish(engine);
	command_end(&engine->command);
	code = fill_profile(engine, &profile, err);
	if (!code) {
		code = walk_file_close(engine->walk_file, err);
		engine->walk_file = NULL;
	}
	if (code) {
		profile_fini(&profile);
		return code;
	}
	*ret = profile;
	return 0;
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
	if (!engine->given.table_memory)
		engine->given.table_memory = TABLE_MEMORY_DEFAULT;
	if (!engine->given.stack_memory)
		engine->given.stack_memory = STACK_MEMORY_DEFAULT;
	engine->options = &engine->given;
	engine->began_ns = options->started_ns ? options->started_ns : usage_monotonic_ns();
	engine->signal_fd = engine->epoll_fd = -1;
	engine->command = (struct command){ .go_fd = -1, .fail_fd = -1, .pid_fd = -1 };
	replayer_init(&engine->replayer);
	code = collect_init(&engine->collect) ? fpl_fail(err, -ENOMEM, "out of memory")
					      : run(engine, ret, err);
	engine_close(engine);
	free(engine);
	return code;
}
