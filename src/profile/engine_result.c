/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/disk_cache.h"
#include "base/log.h"
#include "profile/books.h"
#include "profile/engine_state.h"
#include "profile/refusals.h"
#include "profile/rss_rows.h"
#include "profile/source_heap.h"
#include "profile/source_record.h"
#include "profile/usage.h"
#include "profile/wait_links.h"

/* Add the use of the maps that only userspace knows. */
static void fill_maps(const struct engine *engine, const struct run_window *window,
		      const struct fpl_counters *counters, struct profile *profile)
{
	const struct {
		const char *name;
		uint64_t entries, refused;
	} known[] = {
		{ "objects", catalog_nr_live(engine->catalog),
		  finder_nr_beyond(catalog_finder(engine->catalog)) },
		{ "mappings", engine->publisher.peak, engine->publisher.nr_refused },
		{ "stacks", window->counts.nr, window->intake.nr_uncounted },
		{ "chunks", engine->tables.pool.nr_made, engine->tables.nr_refused },
		{ "locks", window->locks.nr, window->locks.beyond.nr },
	};

	profile->nr_maps = kernel_side_maps(&engine->kernel, counters, profile->maps,
					    ARRAY_SIZE(profile->maps));
	for (size_t i = 0; i < profile->nr_maps; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(known); j++) {
			if (strcmp(profile->maps[i].name, known[j].name) != 0)
				continue;
			profile->maps[i].entries = known[j].entries;
			profile->maps[i].refused = known[j].refused;
		}
	}
}

/* The stacks with the counts they have in the end, and the samples of each. */
static int take_stacks(const struct engine *engine, struct run_window *window,
		       const struct fpl_counters *counters, struct profile *profile)
{
	AUTO_FREE uint32_t *places = NULL;

	if (engine->options->timeline_memory && stack_store_places(window->store, &places))
		return -ENOMEM;
	if (engine_nr_links(engine->options) && wait_links_resolve(window->store))
		return -ENOMEM;
	if (stack_store_take(window->store, &profile->stacks, &profile->nr_stacks))
		return -ENOMEM;
	if (!places)
		return 0;
	timeline_take(&window->timeline, &profile->events, &profile->nr_events);
	profile_move_events(profile, places);
	profile->has_events = true;
	profile->timeline.ring_full = counters->events_lost;
	profile->timeline.memory_full = window->timeline.nr_beyond;
	return 0;
}

bool engine_names_process(void *ctx, uint32_t pid)
{
	const struct engine *engine = ctx;

	for (size_t i = 0; i < engine->target.nr_processes; i++)
		if ((uint32_t)engine->target.processes[i].pid == pid)
			return true;
	return pid == engine->command_pid;
}

struct live_count {
	struct engine *engine;
	struct heap_live_question question;
	struct profile_heap *heap;
};

static void count_live(const struct fpl_live *entry, void *ctx)
{
	const struct live_count *count = ctx;

	heap_live_count(&count->engine->heap_live, &count->question, entry,
			count->engine->window->store, count->heap);
}

/* Allocations: what was not freed joins its stacks. */
static int count_heap(struct engine *engine, const struct fpl_counters *counters,
		      struct profile_heap *ret)
{
	uint64_t older_ns = engine->options->heap.older_ns;
	const struct source *source = &engine->sources[0];
	struct live_count count = {
		.engine = engine,
		.question = {
			.before_ns = !older_ns ? UINT64_MAX
				     : older_ns < engine->disabled_ns
					     ? engine->disabled_ns - older_ns
					     : 0,
			.is_named = engine_names_process,
			.ctx = engine,
		},
		.heap = ret,
	};

	if (source->sampler != SAMPLER_ALLOC)
		return 0;
	ret->is_on = true;
	ret->stride = source->event->stride;
	ret->full = counters->full[FPL_FULL_LIVE];
	ret->max = kernel_side_live_max(&engine->kernel);
	source_heap_costs(source, ret);
	heap_live_begin(&engine->heap_live);
	return kernel_side_live(&engine->kernel, count_live, &count);
}

/* Stacks of allocations weigh what is to be shown of them. */
static void weigh_heap(const struct engine_heap *shown, struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		struct profile_stack *stack = &profile->stacks[i];
		const struct profile_heap_sums *heap = &stack->heap;

		profile->heap.sums.alloc_objects += heap->alloc_objects;
		profile->heap.sums.alloc_space += heap->alloc_space;
		profile->heap.sums.inuse_objects += heap->inuse_objects;
		profile->heap.sums.inuse_space += heap->inuse_space;
		if (shown->shows_all) {
			stack->weight =
				shown->shows_objects ? heap->alloc_objects : heap->alloc_space;
			stack->squares = 0; /* the kernel side adds up objects in their place */
		} else {
			stack->weight =
				shown->shows_objects ? heap->inuse_objects : heap->inuse_space;
			stack->squares = shown->shows_objects ? heap->inuse_objects_squares
							      : heap->inuse_space_squares;
		}
	}
}

/* Samples that a clock would have taken in the gap before @window. */
static uint64_t nr_in_gap(const struct engine *engine, const struct run_window *window)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < engine->nr_sources; i++) {
		const struct source *source = &engine->sources[i];

		if (profile_source_is_clock(&source->what))
			nr += window->gap_ns * source->nr_sampled / source->period;
	}
	return nr;
}

/* Samples that fired, and those that were due. */
static void fill_books(const struct engine *engine, const struct run_window *window,
		       const struct reading *counted, struct profile *profile)
{
	const struct fpl_counters *counters = &counted->counters;
	struct source_due due = counted->due;
	uint64_t entered = counters->entered;

	/* a clock was off in the gap */
	if (profile_clock(profile) && engine->nr_sources == 1)
		due.expected += nr_in_gap(engine, window);
	if (engine->nr_sources == 1)
		entered = engine->sources[0].event ? counters->fired : 0;

	struct source_sums sums = sources_sum(&due, counters->fired, entered);

	profile->books.expected = sums.expected;
	/* what links lead to is no sample */
	profile->books.counted =
		engine_is_joint(engine->options) || engine_nr_links(engine->options) ? 0
										     : sums.counted;
	profile->books.missed = sums.missed;
	profile->books.bpf_runs = counted->bpf_runs ? counted->bpf_runs : counters->fired;
	profile->deep = (struct profile_deep){
		.walked = counters->deep_walked,
		.refused = counters->deep_refused,
		.cut = counters->deep_cut,
		.ns = counters->deep_ns,
	};
}

/* Are pairs sampled, of which the stack of who waits is kept (bpf/kept.h)? Its sample has a link to
 * it beside those of the kernel side's configuration. */
static bool has_kept_pairs(const struct engine *engine)
{
	return engine_is_pairs(engine->options) &&
	       sources_have(engine->sources, engine->nr_sources, SAMPLER_SWITCH_OUT);
}

/* Is a sample's first link its own stack? */
static bool has_own_links(const struct engine *engine)
{
	return !engine_is_pairs(engine->options) || has_kept_pairs(engine);
}

static int close_books(struct engine *engine, struct run_window *window, struct profile *profile,
		       struct fpl_err *err)
{
	const struct reading counted = reading_since(&window->at_end, &window->at_start);
	const struct fpl_counters *counters = &counted.counters;
	const struct intake *intake = &window->intake;
	struct books_join join = { .store = window->store,
				   .has_squares = kernel_side_has_squares(&engine->kernel) };
	CLEANUP(rss_rows_fini) struct rss_rows rss = { .store = window->store };
	int code;

	kernel_side_count(&engine->kernel);
	for (size_t i = 0; i < window->counts.nr; i++)
		books_count(&window->counts.list[i], &join);
	books_close(counters, intake->nr_user_memory + window->nr_uncopied, join.nr_without_frames,
		    intake->stack_dropped, &profile->books);
	fill_books(engine, window, &counted, profile);
	profile->times = counted.times;
	profile->nr_times_left = window->at_end.times.begun - window->at_end.times.threads;
	code = count_heap(engine, counters, &profile->heap);
	if (code)
		return fpl_fail(err, code == -ENOMEM ? code : -EOPNOTSUPP, "BPF map live: %s",
				strerror(-code));
	if (rss_rows_count(&rss, &engine->rss_book) ||
	    take_stacks(engine, window, counters, profile) ||
	    (engine_is_rss(engine->options) && rss_rows_add(&rss, &engine->rss_book, profile)))
		return fpl_fail(err, -ENOMEM, "stacks: out of memory");
	if (profile->heap.is_on)
		weigh_heap(&engine->options->heap, profile);

	if (engine_nr_links(engine->options) && wait_links_take(profile, has_own_links(engine)))
		return fpl_fail(err, -ENOMEM, "stacks: out of memory");
	profile->books.filtered += intake->nr_filtered;
	if (engine->comm_filter)
		profile->books.filtered += comm_filter_apply(engine->comm_filter, profile);
	if (profile->has_events)
		profile->timeline.missing = profile_shown(profile) - profile->nr_events;
	fill_maps(engine, window, counters, profile);

	int64_t gap = books_gap(&profile->books, profile_shown(profile));

	lock_sums_give(&window->locks, profile);
	thread_sums_give(&window->threads, profile);
	if (gap)
		fpl_log(FPL_LOG_ERROR,
			"the books do not close by %lld samples: this is a bug of fpless",
			(long long)gap);
	if (engine->collect.nr_malformed)
		fpl_log(FPL_LOG_WARN, "%llu malformed records",
			(unsigned long long)engine->collect.nr_malformed);
	return 0;
}

static void take_cache(struct engine *engine, struct profile_tables *ret)
{
	struct disk_cache *cache = engine->options->cache;
	struct disk_cache_stats stats;

	disk_cache_stats(cache, DISK_CACHE_TABLES, &stats);
	ret->cache_hits = stats.hits;
	ret->cache_misses = stats.misses;
	ret->cache_bytes = stats.bytes;
	if (disk_cache_is_open(cache))
		fpl_log(FPL_LOG_DEBUG,
			"%s: %llu tables read, %llu compiled; it holds %.1f of %.1f MiB",
			disk_cache_path(cache), (unsigned long long)stats.hits,
			(unsigned long long)stats.misses, (double)stats.bytes / (1 << 20),
			(double)disk_cache_max_bytes(cache) / (1 << 20));
}

static int take_refusals(const struct engine *engine, struct profile *profile)
{
	const struct share_book *books[PROFILE_LIMIT_COUNT] = {
		[PROFILE_LIMIT_TABLES] = &engine->tables.given_up,
		[PROFILE_LIMIT_MAPPINGS] = &engine->publisher.refused,
		[PROFILE_LIMIT_SNAPSHOTS] = &engine->replayer.refused,
	};

	for (enum profile_limit i = 0; i < PROFILE_LIMIT_COUNT; i++) {
		if (!books[i])
			books[i] = finder_refused(catalog_finder(engine->catalog), i);
	}
	return refusals_sum(books, profile);
}

static void take_sources(const struct engine *engine, struct profile *profile)
{
	const struct source *clock = engine->overhead.clock;
	struct profile_source list[FPL_SOURCES_MAX];

	for (size_t i = 0; i < engine->nr_sources; i++) {
		const struct source *source = &engine->sources[i];

		list[i] = source->what;
		if (source->nr_sampled > profile->nr_cpus)
			profile->nr_cpus = (uint32_t)source->nr_sampled;
	}
	profile->is_wall = engine_is_wall(engine->options);
	profile->is_locks = engine->options->blocks.at_locks;
	profile->has_no_samples = engine->options->blocks.way == BLOCKED_WAY_TIMES;
	profile->nr_links = engine_nr_links(engine->options) + has_kept_pairs(engine);
	if (profile->is_locks)
		snprintf(list[0].name, sizeof(list[0].name), "locks");
	if (profile->is_wall) {
		list[0] = list[1]; /* both weigh ns, and the stacks tell the state */
		source_record_weigh_wall(&list[0]);
		snprintf(list[0].name, sizeof(list[0].name), "wall");
	}
	profile_set_sources(profile, list,
			    engine_is_joint(engine->options) ? 1 : engine->nr_sources);
	if (clock && !profile->is_wall)
		profile->hz_end = engine->overhead.throttle.nr_changes ? NS_PER_S / clock->period
								       : clock->what.hz;
}

/* Do samples tell what the thread did? */
static bool has_states(const struct engine *engine)
{
	bool found = false;

	for (size_t i = 0; i < engine->nr_sources; i++)
		found |= engine->options->sources[i].class == SOURCE_BLOCKED;
	return found && !engine->options->blocks.all_at_end;
}

void engine_describe(const struct engine *engine, struct profile *profile)
{
	const struct engine_options *o = engine->options;
	struct utsname uts;

	take_sources(engine, profile);
	profile->has_states = has_states(engine);
	profile->max_overhead = o->max_overhead;
	profile->argv = o->argv;
	profile->command = o->target == ENGINE_TARGET_COMMAND ? o->command : NULL;
	profile->user = o->user || !o->kernel;
	profile->kernel = o->kernel || !o->user;
	profile->by = o->by;
	if (o->key)
		snprintf(profile->key, sizeof(profile->key), "%s", o->key);
	profile->cfi_only = o->unwind == ENGINE_UNWIND_CFI;
	profile->fp_only = o->unwind == ENGINE_UNWIND_FP;
	profile->no_synth = !o->synth;
	profile->fp_max = o->compare ? kernel_side_fp_depth(&engine->kernel) : 0;
	profile->command_status = -1;
	if (uname(&uts) == 0)
		memcpy(profile->kernel_release, uts.release, sizeof(profile->kernel_release));
}

/* A run hands over at its end: objects with their files, and names that it has read. */
static int take_names(struct engine *engine, struct profile *profile, struct fpl_err *err)
{
	profile->nr_objects = catalog_nr(engine->catalog);
	if (catalog_export(engine->catalog, &profile->objects)) {
		profile->nr_objects = 0;
		return fpl_fail(err, -ENOMEM, "objects: out of memory");
	}
	profile->code_names = TAKE_PTR(engine->code_names);
	if (engine->scripts)
		scripts_say(engine->scripts);
	script_codes_name(profile->script_codes, engine->options->parser);
	if (engine->cgroup_names &&
	    cgroup_names_take(engine->cgroup_names, &profile->cgroups, &profile->nr_cgroups))
		return fpl_fail(err, -ENOMEM, "cgroups: out of memory");
	table_writer_flush(engine->writer);
	return 0;
}

/* Objects and code of a window are told on the way: what is left is in the run's own memory. */
static int copy_names(struct engine *engine, struct profile *profile, struct fpl_err *err)
{
	if (engine->cgroup_names &&
	    cgroup_names_copy(engine->cgroup_names, &profile->cgroups, &profile->nr_cgroups))
		return fpl_fail(err, -ENOMEM, "cgroups: out of memory");
	return 0;
}

/* Bytes of code objects that are kept; each window has them anew. */
#define CODES_MAX	 (64u << 20)
#define CODES_WINDOW_MAX (16u << 20)

int engine_make_script_codes(const struct engine_options *options, struct script_codes **ret)
{
	const struct engine_listener *listener = options->listener;
	bool is_live = listener && (listener->sample || listener->stack);

	return script_codes_create(options->window_ms ? CODES_WINDOW_MAX : CODES_MAX, is_live, ret);
}

/* Hand over the codes of the window; where another window may follow, it gets new ones. */
static int take_script_codes(struct engine *engine, struct run_window *window,
			     struct profile *profile)
{
	struct script_codes *next = NULL;

	if (!window->codes)
		return 0;
	if (engine->options->window_ms && engine_make_script_codes(engine->options, &next))
		return -ENOMEM;
	profile->script_codes = window->codes;
	window->codes = window->intake.codes = next;
	return 0;
}

/* Fill in the costs, and how full everything is. */
static void take_costs(struct engine *engine, const struct run_window *window,
		       struct profile *profile)
{
	uint64_t cpu_ns;

	overhead_look(&engine->overhead, clock_monotonic_ns(), HELPERS_AGE_NS);
	cpu_ns = usage_cpu_ns() + engine->overhead.helpers.cpu_ns;
	profile->hz_changes = engine->overhead.throttle.nr_changes - window->nr_hz_changes;
	profile->wait_period_ns = engine_wait_period(engine->options);
	profile->wait_period_end_ns =
		profile->wait_period_ns ? kernel_side_block_ns(&engine->kernel) : 0;
	tables_stats(&engine->tables, &profile->tables);
	take_cache(engine, &profile->tables);
	profile->drain_gap_max_ns = engine->kernel.gap_max_ns;
	engine->kernel.gap_max_ns = 0;
	profile->away_ns = engine->away_ns - window->away_ns;
	profile->maps_bytes = kernel_side_maps_bytes(&engine->kernel);
	profile->rss_peak_bytes = engine->overhead.rss_peak_bytes;
	profile->user_cpu_ms = (cpu_ns - window->cpu_ns) / NS_PER_MS;
}

int engine_result(struct engine *engine, struct run_window *window, struct profile *profile,
		  struct fpl_err *err)
{
	const struct engine_options *o = engine->options;
	int code;

	engine_describe(engine, profile);
	profile->jvm_codes = jvm_codes_get(engine->jvm_codes);
	if (take_script_codes(engine, window, profile))
		return fpl_fail(err, -ENOMEM, "script frames: out of memory");
	profile->start_unix_ns = window->start_unix_ns;
	/* a run may end before its first sample */
	if (engine->enabled_ns)
		profile->duration_ns = window->end_ns - window->start_ns;
	if (!window->number && engine->enabled_ns)
		profile->startup_ms =
			(engine->enabled_ns - engine->began_ns) / NS_PER_MS - o->delay_ms;
	if (o->window_ms)
		profile->window = (struct profile_window){
			.is_one = true,
			.number = window->number,
			.start_ns = window->start_ns,
			.ahead_ns = window->ahead_ns,
			.gap_ns = window->gap_ns,
		};
	code = close_books(engine, window, profile, err);
	if (!code)
		code = o->window_ms ? copy_names(engine, profile, err)
				    : take_names(engine, profile, err);
	if (code)
		return code;
	if (take_refusals(engine, profile))
		return fpl_fail(err, -ENOMEM, "users: out of memory");
	take_costs(engine, window, profile);
	return 0;
}
