/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/disk_cache.h"
#include "base/log.h"
#include "proc/advice.h"
#include "profile/engine_state.h"
#include "profile/features.h"
#include "profile/table_use.h"
#include "profile/run_rights.h"

#define STACK_STORE_MIN (64ull << 20)
#define FILES_WANTED	(KERNEL_SIDE_NR_OBJECTS + 8192) /* others: maps, images, outputs */

/* A descriptor per object: for all of them where we have the right, else as many as the system
 * lets us have. Refused is no error. */
static void raise_limits(void)
{
	const struct rlimit enough = { FILES_WANTED, FILES_WANTED };
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_max < FILES_WANTED && setrlimit(RLIMIT_NOFILE, &enough) == 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)!setrlimit(RLIMIT_NOFILE, &limit);
}

#define FILES_AT_FIRST 4096u /* descriptors for which there is room from the start: 32 KiB */

/*
 * A table of descriptors that threads share grows by waiting until no CPU reads the old one: some
 * milliseconds in which the ring is not read. So it grows while there are no threads. Refused is no
 * error.
 */
static void make_room_for_files(int any_fd)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	fd = fcntl(any_fd, F_DUPFD_CLOEXEC,
		   limit.rlim_cur < FILES_AT_FIRST ? (int)limit.rlim_cur - 1
						   : (int)FILES_AT_FIRST - 1);
	cleanup_fd(&fd);
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
	if (fd >= 0 && epoll_ctl(what < WATCH_ALERTS ? engine->alerts_fd : engine->epoll_fd,
				 EPOLL_CTL_ADD, fd, &event) < 0)
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
	sigprocmask(SIG_BLOCK, &set, &engine->signals);
	sigdelset(&set, SIGCHLD);
	engine->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	engine->alerts_fd = epoll_create1(EPOLL_CLOEXEC);
	if (engine->signal_fd < 0 || engine->epoll_fd < 0 || engine->alerts_fd < 0)
		return fpl_fail(err, -errno, "signalfd, epoll: %s", strerror(errno));

	int code = watch(engine, engine->alerts_fd, WATCH_ALERTS, err);

	return code ? code : watch(engine, engine->signal_fd, WATCH_SIGNAL, err);
}

/* So that the run ends when the last target has gone. */
static int watch_targets(struct engine *engine, struct fpl_err *err)
{
	const struct targets *targets = &engine->target;
	int code = 0;

	for (size_t i = 0; !code && i < targets->nr_processes; i++)
		code = watch(engine, targets->processes[i].fd, WATCH_PID, err);
	return code;
}

static int watch_data(struct engine *engine, struct fpl_err *err)
{
	int code = watch(engine, kernel_side_ring_fd(&engine->kernel), WATCH_DATA, err);

	if (!code)
		code = watch(engine, compiler_fd(engine->tables.compiler), WATCH_DATA, err);
	if (!code)
		code = watch(engine, lookups_fd(engine->lookups), WATCH_ANSWERS, err);
	for (size_t i = 0; !code && i < engine->sources[0].cpus.nr; i++) {
		code = watch(engine, sideband_fd(engine->sideband, i, SIDEBAND_FD_ALARM),
			     WATCH_DATA, err);
		if (!code)
			code = watch(engine, sideband_fd(engine->sideband, i, SIDEBAND_FD_RECORDS),
				     WATCH_DATA, err);
	}
	if (!code && engine->options->listener)
		code = watch(engine, engine->options->listener->stop_fd, WATCH_LISTENER, err);
	if (!code && engine->command.pid)
		code = watch(engine, engine->command.pid_fd, WATCH_COMMAND, err);
	return code;
}

/* Open the cache of earlier runs. If that fails, the run goes on without it. */
static void open_cache(struct engine *engine)
{
	struct disk_cache *cache = engine->options->cache;
	struct fpl_err err = { 0 };

	if (!cache)
		return;
	disk_cache_try_open(cache, "tables and names");
	if (engine->options->unwind != ENGINE_UNWIND_FP && disk_cache_is_open(cache) &&
	    table_writer_create(cache, &engine->writer, &err))
		fpl_log(FPL_LOG_WARN, "%s: tables are not kept", err.msg);
}

static int make_windows(struct engine *engine)
{
	const struct engine_options *o = engine->options;
	uint64_t store_bytes = STACK_STORE_MIN + 8 * o->stack_memory;
	bool has_listener = o->listener && o->listener->sample;
	int code = 0;

	for (size_t i = 0; !code && i < engine_nr_windows(o); i++)
		code = run_window_init(&engine->windows[i], store_bytes, o->by, o->timeline_memory,
				       has_listener || o->timeline_memory,
				       has_listener ? listening_sample : NULL, &engine->listening);
	engine->window = engine->windows;
	engine->intakes = (struct intakes){ .now = &engine->window->intake };
	return code;
}

static int make_jvm_codes(struct engine *engine)
{
	const struct engine_options *o = engine->options;
	size_t max_bytes = o->jit_memory ? o->jit_memory : CODE_NAMES_MEMORY_DEFAULT;
	int code;

	if (!engine_has_regions(o))
		return 0;
	code = jvm_codes_create(max_bytes, o->window_ms, &engine->jvm_codes);
	if (!code && o->listener && o->listener->jvm_codes)
		o->listener->jvm_codes(o->listener->ctx, engine->jvm_codes);
	return code;
}

/* Are rows made from code, too? */
static bool has_synth(const struct engine_options *o)
{
	return o->synth && o->unwind != ENGINE_UNWIND_CFI;
}

/* Open what the reading of processes needs, and what is on its own: nothing here needs the maps of
 * the kernel side. */
static int open_parts(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	int code = catalog_create(KERNEL_SIDE_NR_OBJECTS, o->parser, &engine->catalog, err);

	if (code)
		return code;
	if (o->unwind != ENGINE_UNWIND_FP)
		finder_make_tables(catalog_finder(engine->catalog), has_synth(o));
	/* who names them keeps one */
	if (o->listener && o->listener->object)
		finder_expect_copies(catalog_finder(engine->catalog), 1);
	if (make_jvm_codes(engine) ||
	    code_names_create(o->jit_memory, o->parser, &engine->code_names) ||
	    tracker_init(&engine->tracker, engine->catalog, engine->code_names) ||
	    make_windows(engine))
		return fpl_fail(err, -ENOMEM, "processes, stacks: out of memory");
	if (engine->jvm_codes)
		code_names_keep_jvms(engine->code_names, engine->jvm_codes);
	if (o->window_ms) {
		code_names_keep_files(engine->code_names);
		catalog_limit_ids(engine->catalog, CATALOG_IDS_FEW);
	}
	/* the side-band is open: a cgroup that is made from here on is told */
	return o->by & PROFILE_BY_CGROUP ? cgroup_names_create(&engine->cgroup_names, err) : 0;
}

struct use_look {
	struct engine *engine;
	uint64_t look;
};

static void note_use(const struct fpl_stack *stack, void *ctx)
{
	const struct use_look *use = ctx;
	struct stack_news news;

	if (!stack_store_news(use->engine->window->store, stack->id, stack->count, &news) &&
	    news.count)
		table_use_note(use->engine->catalog, news.user, news.nr_user, news.stop, news.count,
			       use->look);
}

/* tables_config.look_at_use */
static void look_at_use(void *engine, uint64_t look)
{
	struct use_look use = { .engine = engine, .look = look };

	kernel_side_stacks(&use.engine->kernel, note_use, &use);
}

/* The frame-pointer walk of compare has no script frames, so the other one has none either. */
static int make_scripts(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	int code = 0;

	if (!o->script.mode || o->compare || o->unwind == ENGINE_UNWIND_FP)
		return 0;
	code = scripts_create(engine->kernel.script_rules, &o->script, &engine->scripts);
	for (size_t i = 0; !code && i < engine_nr_windows(o); i++) {
		struct run_window *window = &engine->windows[i];

		code = engine_make_script_codes(o, &window->codes);
		window->intake.codes = window->codes;
	}
	if (!code && o->script.is_lazy)
		code = script_reader_begin(&engine->script_reader);
	if (code)
		return fpl_fail(err, code, "script frames: out of memory");
	if (o->listener && o->listener->script_codes)
		o->listener->script_codes(o->listener->ctx, engine->window->codes);
	return 0;
}

static int make_tables(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;

	return tables_init(&engine->tables,
			   &(struct tables_config){
				   .max_bytes = o->table_memory,
				   .parser = o->parser,
				   .cache = o->cache,
				   .writer = engine->writer,
				   .synth = has_synth(o),
				   .catalog = engine->catalog,
				   .slots = engine->kernel.objects,
				   .scripts = engine->scripts,
				   .make_chunk = kernel_side_make_chunk,
				   .make_ctx = &engine->kernel,
				   .mark_mapped = tracker_mark_mapped,
				   .mark_ctx = &engine->tracker,
				   .look_at_use = look_at_use,
				   .use_ctx = engine,
			   },
			   err);
}

static int make_publisher(struct engine *engine)
{
	regions_init(&engine->regions, engine->kernel.regions);
	/* frames are compared by their pcs */
	engine->regions.has_pcs = engine->options->compare;
	return publisher_init(&engine->publisher, &(struct publisher_config){
							  .entries = engine->kernel.mappings,
							  .nr_entries = engine->kernel.nr_mappings,
							  .nr_mapsets = engine->kernel.nr_mapsets,
							  .catalog = engine->catalog,
							  .processes = &engine->tracker.processes,
							  .ops = &kernel_side_publisher_ops,
							  .ctx = &engine->kernel,
						  });
}

/* Pages that are read of threads that sleep: some 40 us each. Where a run goes on, the ring has to
 * be read meanwhile. */
#define READS_ALONE  (1u << 19)
#define READS_BESIDE (1u << 14)

static void make_replayer(struct engine *engine)
{
	const struct engine_options *o = engine->options;
	bool is_cfi = o->unwind == ENGINE_UNWIND_CFI;
	/* what is read of the ring is kept: more room there needs more here */
	size_t waiting = 4 * o->ring_memory;

	replayer_init(&engine->replayer,
		      &(struct replayer_config){
			      .tracker = &engine->tracker,
			      .objects = engine->kernel.objects,
			      .nr_objects = engine->kernel.nr_objects,
			      .regions = engine->kernel.regions,
			      .pool = &engine->tables.pool,
			      .intakes = &engine->intakes,
			      .scripts = engine->scripts,
			      .max_depth = o->max_depth,
			      .root_depth = o->root_depth,
			      .unwind = is_cfi ? FPL_UNWIND_CFI : FPL_UNWIND_AUTO,
			      .waiting_max = waiting > REPLAYER_WAITING_MIN ? waiting
									    : REPLAYER_WAITING_MIN,
			      .reads_max = o->blocks.all_at_end ? READS_ALONE : READS_BESIDE,
		      });
}

static int make_collect(struct engine *engine)
{
	const struct engine_options *o = engine->options;
	size_t kept = 2 * o->ring_memory; /* as above */
	bool heap = o->sources[0].class == SOURCE_HEAP;

	engine->rss_book.is_named = engine_names_process;
	engine->rss_book.ctx = engine;
	return collect_init(
		&engine->collect,
		&(struct collect_config){
			.tracker = &engine->tracker,
			.replayer = &engine->replayer,
			.intakes = &engine->intakes,
			.scripts = engine->scripts,
			.walk_file = engine->walk_file,
			.heap_live = heap ? &engine->heap_live : NULL,
			.rss_book = engine_is_rss(o) ? &engine->rss_book : NULL,
			.comm_filter = engine->comm_filter,
			.cgroup_names = engine->cgroup_names,
			.is_followed =
				o->target == ENGINE_TARGET_ALL ? NULL : kernel_side_is_target,
			.ctx = &engine->kernel,
			.bytes_max = kept > COLLECT_BYTES_MIN ? kept : COLLECT_BYTES_MIN,
		});
}

static void make_retirement(struct engine *engine)
{
	engine->retirement.config = (struct retirement_config){
		.catalog = engine->catalog,
		.tables = &engine->tables,
		.replayer = &engine->replayer,
		.collect = &engine->collect,
		.tracker = &engine->tracker,
		.intakes = &engine->intakes,
		/* what compare judges by is read at the end, and variables are; windows are handed
		 * over soon */
		.namer = engine->options->compare || engine->options->window_ms ||
					 engine->options->blocks.at_locks
				 ? NULL
				 : engine->options->namer,
		.before = listening_before,
		.after = listening_after,
		.ctx = &engine->listening,
	};
}

/* The period of waits that may be stretched: fewer samples spare nothing where each wait is walked.
 */
static uint64_t overhead_period(const struct engine *engine)
{
	return sources_have(engine->sources, engine->nr_sources, SAMPLER_SWITCH_OUT)
		       ? 0
		       : engine_wait_period(engine->options);
}

static void make_onlookers(struct engine *engine)
{
	engine->listening.config = (struct listening_config){
		.listener = engine->options->listener,
		.catalog = engine->catalog,
		.store = engine->windows[0].store,
		.kernel = &engine->kernel,
		.intake = &engine->windows[0].intake,
		.comm_filter = engine->comm_filter,
	};
	engine->overhead.config = (struct overhead_config){
		.sources = engine->sources,
		.nr_sources = engine->nr_sources,
		.kernel = &engine->kernel,
		.limit = engine->options->max_overhead,
		.block_ns = overhead_period(engine),
		.max_hz = engine->options->max_hz,
		.command = engine->command.pid,
	};
}

/* Make the parts that meet the maps of the kernel side, from the lowest. */
static int make_parts(struct engine *engine, struct fpl_err *err)
{
	bool has_tables = engine->options->unwind != ENGINE_UNWIND_FP;
	int code = make_scripts(engine, err);

	if (!code)
		code = make_tables(engine, err);

	if (code)
		return code;
	if (make_publisher(engine) || make_collect(engine))
		return fpl_fail(err, -ENOMEM, "mappings, records: out of memory");
	make_replayer(engine);
	make_retirement(engine);
	make_onlookers(engine);
	if (engine->comm_filter)
		comm_filter_tell(engine->comm_filter, kernel_side_comm, &engine->kernel);
	/* from here on the finder and the code names are another thread's */
	code = lookups_begin(catalog_finder(engine->catalog), engine->code_names, &engine->lookups,
			     err);
	/* and tables are compiled; before, it would have slowed the loading down */
	if (!code)
		tracker_begin(&engine->tracker,
			      &(struct tracker_links){
				      .tables = has_tables ? &engine->tables : NULL,
				      .publisher = &engine->publisher,
				      .lookups = engine->lookups,
				      .regions = engine_has_regions(engine->options)
							 ? &engine->regions
							 : NULL,
				      .scripts = engine->scripts,
				      .kernel_gen = kernel_side_gen,
				      .ctx = &engine->kernel,
			      });
	return code;
}

static int set_targets(struct engine *engine, struct fpl_err *err)
{
	int code = targets_publish(&engine->target, &engine->kernel, err);

	if (code || engine->options->target != ENGINE_TARGET_COMMAND)
		return code;
	return kernel_side_target(&engine->kernel, (uint32_t)engine->command.pid,
				  FPL_TARGET_INHERIT | FPL_TARGET_ON_EXEC, err);
}

/*
 * Read the processes that run already, and their mappings. The side-band is open, so later changes
 * are seen.
 */
static void read_processes(struct engine *engine)
{
	if (engine->options->target == ENGINE_TARGET_ALL)
		tracker_adopt_all(&engine->tracker);
	targets_adopt(&engine->target, &engine->tracker);
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

	/* records are taken later, when there is who takes them */
	loading->code = kernel_side_open(engine->options, &engine->host, engine->sources,
					 engine->nr_sources, collect_ring_record, &engine->collect,
					 &engine->kernel, &loading->err);
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
static int check_namespaces(const struct host *host, struct fpl_err *err)
{
	struct advice advice;

	if (!advice_namespaces(host, &advice))
		return 0;
	return fpl_fail(err, -EOPNOTSUPP, "%s: %s", advice.why, advice.fix);
}

const struct source_spec *engine_clock(const struct engine_options *options)
{
	for (size_t i = 0; i < options->nr_sources; i++)
		if (options->sources[i].class == SOURCE_CLOCK)
			return &options->sources[i];
	return NULL;
}

/* Does an event have the field that stacks are to be told apart by? */
static int check_key(const struct engine *engine, struct fpl_err *err)
{
	const char *key = engine->options->key;
	bool has_key = !key || engine->options->blocks.by_call;

	for (size_t i = 0; i < engine->nr_sources; i++) {
		const struct fpl_source *event = engine->sources[i].event;

		has_key |= event && event->key.kind != FPL_FIELD_NONE;
	}
	return has_key ? 0
		       : fpl_fail(err, -EINVAL,
				  "--by %s: no event has such a number or text: fpless events "
				  "--fields lists them",
				  key);
}

static int open_sources(struct engine *engine, struct fpl_err *err)
{
	for (size_t i = 0; i < engine->options->nr_sources; i++) {
		int code = source_open(engine->options, (uint32_t)i, &engine->sources[i], err);

		if (code)
			return code;
		engine->nr_sources++;
	}
	return check_key(engine, err);
}

static int attach_sources(struct engine *engine, struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < engine->nr_sources; i++) {
		struct source *source = &engine->sources[i];

		source->alloc_fd = kernel_side_alloc_fd(&engine->kernel);
		source->free_fd = kernel_side_free_fd(&engine->kernel);
		code = source_attach(source,
				     kernel_side_sampler_fd(&engine->kernel, source->sampler), err);
	}
	return code;
}

/* Open the kernel's parts: events, side-band, programs. A failure is explained by a missing
 * feature. */
static int open_kernel(struct engine *engine, struct fpl_err *err)
{
	int code = open_sources(engine, err);

	if (!code) {
		code = sideband_open(engine->sources[0].cpus.cpus, engine->sources[0].cpus.nr,
				     engine->options->by & PROFILE_BY_CGROUP, &engine->sideband,
				     err);
		if (code == -EINVAL) /* a field of the attributes that is not known yet */
			code = -EOPNOTSUPP;
	}
	if (!code)
		code = run_rights_settle(engine->options, &engine->host, err);
	if (!code)
		code = open_parts(engine, err);
	if (!code)
		code = load_and_read(engine, err);
	return features_explain(err, code);
}

int engine_open(struct engine *engine, struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	int code;

	host_read("", &engine->host);
	code = check_namespaces(&engine->host, err);
	if (!code)
		code = block_signals(engine, err);

	if (!code && o->command)
		code = command_start(o->command, o->command_stdout_to_stderr,
				     o->command_off_terminal, o->command_environment,
				     &engine->signals, &engine->command, err);
	engine->command_pid = (uint32_t)engine->command.pid;
	engine->command.advice = ": --keep-running lets it go on";
	if (!code && engine->command.pid && o->helper)
		code = command_delegate(&engine->command, o->helper, err);
	raise_limits();
	make_room_for_files(engine->epoll_fd);
	if (!code && o->comm)
		code = comm_filter_create(o->comm, engine_is_of_wakees(o), &engine->comm_filter,
					  err);
	if (!code)
		code = targets_open(o, &engine->target, err);
	if (!code)
		code = watch_targets(engine, err);
	raise_priority();
	open_cache(engine);
	if (!code && o->record_path)
		code = walk_file_create(o->record_path, &engine->walk_file, err);
	if (!code)
		code = open_kernel(engine, err);
	if (!code)
		code = make_parts(engine, err);
	if (!code)
		code = attach_sources(engine, err);
	if (!code)
		code = set_targets(engine, err);
	return code ? code : watch_data(engine, err);
}

void engine_close(struct engine *engine)
{
	for (size_t i = 0; i < engine->nr_sources; i++)
		source_disable(&engine->sources[i]);
	command_end(&engine->command);
	for (size_t i = 0; i < engine->nr_sources; i++)
		source_close(&engine->sources[i]);
	collect_fini(&engine->collect);
	heap_live_fini(&engine->heap_live);
	rss_book_fini(&engine->rss_book);
	lookups_end(engine->lookups);
	replayer_fini(&engine->replayer);
	listening_fini(&engine->listening);
	tracker_fini(&engine->tracker);
	publisher_fini(&engine->publisher);
	tables_fini(&engine->tables);
	if (engine->options->namer)
		engine->options->namer->end(engine->options->namer->ctx);
	table_writer_destroy(engine->writer);
	catalog_destroy(engine->catalog);
	for (size_t i = 0; i < ARRAY_SIZE(engine->windows); i++)
		run_window_fini(&engine->windows[i]);
	code_names_destroy(engine->code_names);
	jvm_codes_put(engine->jvm_codes);
	script_reader_finish(engine->script_reader);
	scripts_destroy(engine->scripts);
	kernel_side_close(&engine->kernel);
	sideband_close(engine->sideband);
	walk_file_close(engine->walk_file, NULL);
	targets_close(&engine->target);
	comm_filter_destroy(engine->comm_filter);
	cgroup_names_destroy(engine->cgroup_names);
	cleanup_fd(&engine->signal_fd);
	cleanup_fd(&engine->alerts_fd);
	cleanup_fd(&engine->epoll_fd);
}
