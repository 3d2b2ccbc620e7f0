/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/kernel_side.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "fpless.skel.h"
#include "proc/advice.h"
#include "proc/host.h"
#include "profile/bpf_log.h"
#include "profile/chunk_maker.h"
#include "profile/features.h"
#include "profile/kernel_room.h"
#include "profile/kernel_types.h"
#include "profile/samplers.h"
#include "profile/source.h"
#include "profile/tables.h"
#include "profile/thread_times.h"
#include "profile/cpu_visit.h"

#define RING_BYTES_LEAST (256u << 10) /* a few snapshots */

/* Errors with a meaning of their own for the caller of engine_run. */
static int cannot_run(int code)
{
	return code == -ESRCH || code == -ENOENT || code == -EINVAL || code == -EIO ? -EOPNOTSUPP
										    : code;
}

static int check_btf(const struct host *host, struct fpl_err *err)
{
	struct advice advice;

	if (!advice_btf(host, &advice))
		return 0;
	return fpl_fail(err, -EOPNOTSUPP, "%s: %s", advice.why, advice.fix);
}

/* Frames the kernel's own frame-pointer walk can have. */
static uint32_t fp_depth(const struct host *host)
{
	int64_t max = host->sysctls[HOST_SYSCTL_MAX_STACK];

	return max < 0 || max > FPL_FP_DEPTH_MAX ? FPL_FP_DEPTH_MAX : (uint32_t)max;
}

uint32_t kernel_side_fp_depth(const struct kernel_side *kernel)
{
	return kernel->skel->rodata->config.fp_depth;
}

/* As many as the memory for stacks has room for; a power of two. */
static uint32_t nr_stack_groups(const struct engine_options *options)
{
	uint32_t nr = 1;

	while (nr < 1u << 23 && 2ull * nr * sizeof(struct fpl_stack_group) <= options->stack_memory)
		nr *= 2;
	return nr;
}

/* A power of two, as the kernel wants it. */
static uint32_t ring_bytes(const struct engine_options *options)
{
	uint32_t bytes = RING_BYTES_LEAST;

	while (bytes < 1u << 30 && 2ull * bytes <= options->ring_memory)
		bytes *= 2;
	return bytes;
}

/* Flags for the labels that separate stacks, and for the filters. */
static uint32_t filter_flags(const struct engine_options *options)
{
	uint32_t flags = 0;

	if (options->by & PROFILE_BY_TID)
		flags |= FPL_CONFIG_BY_TID;
	if (options->by & PROFILE_BY_CPU)
		flags |= FPL_CONFIG_BY_CPU;
	if (options->by & PROFILE_BY_CGROUP)
		flags |= FPL_CONFIG_BY_CGROUP;
	if (options->cgroup)
		flags |= FPL_CONFIG_CGROUP;
	if (options->comm)
		flags |= FPL_CONFIG_COMM;
	return flags;
}

/* Flags for waits, and for what they are told apart by. */
static uint32_t wait_flags(const struct engine_options *options)
{
	uint32_t flags = 0;

	if (options->blocks.all_at_end)
		flags |= FPL_CONFIG_STACKS;
	if (options->blocks.user_wakees)
		flags |= FPL_CONFIG_USER_WAKEES;
	if (engine_is_pairs(options))
		flags |= FPL_CONFIG_PAIRS;
	if (options->blocks.at_locks)
		flags |= FPL_CONFIG_LOCKS;
	if (options->blocks.by_call)
		flags |= FPL_CONFIG_CALLS;
	if (engine_has_thread_sums(options))
		flags |= FPL_CONFIG_THREAD_SUMS;
	return flags;
}

/* While no program runs. */
static void seed(struct fpless_bpf *skel)
{
	void *seeds = skel->bss->stack_seed;

	if (getrandom(seeds, sizeof(skel->bss->stack_seed), GRND_NONBLOCK) < 0)
		skel->bss->stack_seed[0] ^=
			clock_monotonic_ns(); /* early at boot: better than nothing */
}

/* Do samples differ in weight? Where objects are counted, the sum has no place in struct fpl_stack.
 */
static bool has_squares(const struct source *sources, size_t nr)
{
	bool differs = false;

	for (size_t i = 0; i < nr; i++) {
		const struct source *source = &sources[i];

		if (source->sampler == SAMPLER_ALLOC || source->sampler == SAMPLER_RSS)
			return false;
		differs |= sampler_is_of_switches(source->sampler) ||
			   source->sampler == SAMPLER_WAKING ||
			   (source->event && source->event->weight.kind != FPL_FIELD_NONE);
	}
	return differs;
}

static void configure(struct fpless_bpf *skel, const struct engine_options *options,
		      const struct host *host, const struct source *sources, size_t nr_sources)
{
	struct fpl_config config = {
		.max_depth = options->max_depth,
		.root_depth = options->root_depth,
		.snapshot_bytes = options->unwind == ENGINE_UNWIND_FP ? 0 : options->snapshot_bytes,
		.record_every = options->record_path ? options->record_every : 0,
		.wakeup_bytes = ring_bytes(options) / 4,
		.nr_stack_groups = nr_stack_groups(options),
		.fp_depth = fp_depth(host),
		.nr_sources = engine_is_joint(options) ? 1 : (uint32_t)nr_sources,
		.block_min_ns = options->blocks.min_ns,
		.block_max_ns = options->blocks.max_ns,
		.block_states = options->blocks.states,
		.nr_links = engine_nr_links(options),
	};

	seed(skel);
	config.unwind = options->unwind == ENGINE_UNWIND_FP    ? FPL_UNWIND_FP
			: options->unwind == ENGINE_UNWIND_CFI ? FPL_UNWIND_CFI
							       : FPL_UNWIND_AUTO;
	if (options->target == ENGINE_TARGET_ALL)
		config.flags |= FPL_CONFIG_ALL;
	if (options->idle)
		config.flags |= FPL_CONFIG_IDLE;
	if (options->user || !options->kernel)
		config.flags |= FPL_CONFIG_USER;
	if (options->kernel || !options->user)
		config.flags |= FPL_CONFIG_KERNEL;
	if (options->exclude_user)
		config.flags |= FPL_CONFIG_NO_USER_MODE;
	if (options->exclude_kernel)
		config.flags |= FPL_CONFIG_NO_KERNEL_MODE;
	if (options->compare)
		config.flags |= FPL_CONFIG_COMPARE;
	config.flags |= engine_has_regions(options) ? FPL_CONFIG_REGIONS : 0;
	if (options->nr_tids)
		config.flags |= FPL_CONFIG_THREADS;
	if (options->timeline_memory || (options->listener && options->listener->sample))
		config.flags |= FPL_CONFIG_TIMELINE;
	config.flags |= options->has_uid ? FPL_CONFIG_UID : 0;
	config.uid = options->uid;
	if (host->pid_ns == HOST_NS_OTHER)
		config.pid_ns = host->pid_ns_inum;
	config.flags |= filter_flags(options) | wait_flags(options);
	for (size_t i = 0; i < nr_sources; i++) {
		if (sources[i].sampler != SAMPLER_WAKING)
			continue;
		config.flags |= FPL_CONFIG_WAKERS;
		config.preempt_off = (uint64_t)sources[i].preempt_off;
	}
	config.flags |= has_squares(sources, nr_sources) ? FPL_CONFIG_SQUARES : 0;
	memcpy((void *)(uintptr_t)&skel->rodata->config, &config, sizeof(config));
	/* the period of an event with a record is counted by the program, not by the kernel */
	for (size_t i = 0; i < nr_sources; i++)
		skel->bss->source_weights[i] = sources[i].period;
	skel->bss->block_ns = options->blocks.period_ns;
}

/* Size the filters' maps; maps of filters that were not requested are not made. */
static int size_filters(struct fpless_bpf *skel, const struct engine_options *options)
{
	uint32_t nr_threads = options->nr_tids ? (uint32_t)options->nr_tids : 1;
	/* with a command, all that descends from it; else those that are named */
	uint32_t nr_targets =
		options->target == ENGINE_TARGET_COMMAND
			? options->max_processes
			: bpf_map__max_entries(skel->maps.targets) + (uint32_t)options->nr_pids;
	int code = bpf_map__set_max_entries(skel->maps.targets, nr_targets);

	code |= bpf_map__set_max_entries(skel->maps.threads, nr_threads);
	code |= bpf_map__set_autocreate(skel->maps.threads, options->nr_tids > 0);
	code |= bpf_map__set_autocreate(skel->maps.comms, options->comm);
	return code;
}

static int size_maps(struct fpless_bpf *skel, const struct engine_options *options,
		     struct kernel_side *kernel)
{
	int code = 0;

	code |= bpf_map__set_max_entries(skel->maps.objects, KERNEL_SIDE_NR_OBJECTS);
	code |= bpf_map__set_max_entries(skel->maps.mappings, options->max_mappings);
	code |= bpf_map__set_max_entries(skel->maps.ring, ring_bytes(options));
	code |= bpf_map__set_max_entries(skel->maps.procs, options->max_processes);
	code |= bpf_map__set_max_entries(skel->maps.mapsets, options->max_processes);
	code |= bpf_map__set_max_entries(skel->maps.stacks, nr_stack_groups(options));
	if (kernel->chunk_maker)
		code |= bpf_map__reuse_fd(skel->maps.chunks, chunk_maker_fd(kernel->chunk_maker));
	if (options->heap.max_live)
		code |= bpf_map__set_max_entries(skel->maps.live, options->heap.max_live);
	code |= bpf_map__set_autocreate(skel->maps.locks, options->blocks.at_locks);
	code |= bpf_map__set_autocreate(skel->maps.thread_sums, engine_has_thread_sums(options));
	code |= size_filters(skel, options);
	code |= bpf_map__set_autocreate(skel->maps.leaving, skel->rodata->config.pid_ns != 0);
	kernel->nr_objects = KERNEL_SIDE_NR_OBJECTS;
	kernel->nr_mappings = options->max_mappings;
	kernel->nr_mapsets = bpf_map__max_entries(skel->maps.mapsets);
	kernel->nr_stack_groups = bpf_map__max_entries(skel->maps.stacks);
	return code;
}

static int load_failed(int code, struct fpl_err *err)
{
	/* the verifier says EACCES, too: where the smallest program loads no right is missing */
	if (advice_is_refusal(code) && features_may_load())
		return advice_fail_bpf(err, -EPERM, "BPF");
	if (code == -ENOMEM)
		return fpl_fail(err, code, "BPF: no memory for the maps: lower --stack-memory");
	return fpl_fail(err, advice_is_refusal(code) ? -EOPNOTSUPP : cannot_run(code),
			"BPF: the kernel refuses the program: %s: -v shows why", strerror(-code));
}

static int map_array(const struct bpf_map *map, void **ret, struct fpl_err *err)
{
	size_t size = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return fpl_fail(err, cannot_run(-errno), "BPF map %s: mmap: %s", bpf_map__name(map),
				strerror(errno));
	*ret = p;
	return 0;
}

/*
 * Has the object's types found in what is cut out of the kernel's by @types, or, where that is
 * NULL, in all of the kernel's. *@ret: the kernel's answer.
 */
static int load_with(struct kernel_side *kernel, const struct engine_options *options,
		     const struct host *host, const struct source *sources, size_t nr_sources,
		     struct kernel_types *types, int *ret, struct fpl_err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types ? types->path : NULL);

	kernel->skel = fpless_bpf__open_opts(&opts);
	if (!kernel->skel)
		return fpl_fail(err, cannot_run(-errno), "BPF object: %s", strerror(errno));
	if (kernel->skel->rodata->shared_version != FPL_SHARED_VERSION)
		return fpl_fail(err, -EOPNOTSUPP, "BPF object of version %u, wanted %u: rebuild",
				kernel->skel->rodata->shared_version, FPL_SHARED_VERSION);
	configure(kernel->skel, options, host, sources, nr_sources);
	*ret = samplers_choose(kernel->skel, sources, nr_sources);
	if (!*ret)
		*ret = size_maps(kernel->skel, options, kernel);
	if (!*ret && kernel_room_check(kernel->skel->obj, options, err))
		return *ret = -ENOMEM;
	if (!*ret && types)
		*ret = kernel_types_fill(types, bpf_object__btf(kernel->skel->obj), err);
	if (!*ret)
		*ret = fpless_bpf__load(kernel->skel);
	return *ret ? load_failed(*ret, err) : 0;
}

static int load(struct kernel_side *kernel, const struct engine_options *options,
		const struct host *host, const struct source *sources, size_t nr_sources,
		struct fpl_err *err)
{
	struct kernel_types types;
	struct fpl_err why = { 0 };
	int answer = 0;
	int code = kernel_types_init(&types, &why);

	if (!code) {
		code = load_with(kernel, options, host, sources, nr_sources, &types, &answer, &why);
		kernel_types_fini(&types);
	}
	if (advice_is_refusal(answer) || answer == -ENOMEM) {
		*err = why; /* which no types would change */
		return code;
	}
	/* whatever is odd about them, what libbpf makes of all types may do */
	if (code) {
		fpl_log(FPL_LOG_DEBUG, "%s: reading all of the kernel's types", why.msg);
		fpless_bpf__destroy(kernel->skel);
		code = load_with(kernel, options, host, sources, nr_sources, NULL, &answer, err);
	}
	if (code)
		return code;
	code = map_array(kernel->skel->maps.objects, (void **)&kernel->objects, err);
	if (!code)
		code = map_array(kernel->skel->maps.script_rules, (void **)&kernel->script_rules,
				 err);
	if (!code)
		code = map_array(kernel->skel->maps.regions, (void **)&kernel->regions, err);
	if (!code)
		code = map_array(kernel->skel->maps.mappings, (void **)&kernel->mappings, err);
	return code ? code : map_array(kernel->skel->maps.stacks, (void **)&kernel->stacks, err);
}

/* Tell the program what to do with the record of source number @source. */
static int describe_event(struct kernel_side *kernel, uint32_t source,
			  const struct fpl_source *event, struct fpl_err *err)
{
	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.sources), &source, event, BPF_ANY))
		return fpl_fail(err, cannot_run(-errno), "BPF map sources: %s", strerror(errno));
	kernel->every[source] = event->every;
	return 0;
}

/* Tell the programs where a probe that tells of allocations has its arguments. */
static int describe_tolds(struct kernel_side *kernel, const struct source *source,
			  struct fpl_err *err)
{
	int map = bpf_map__fd(kernel->skel->maps.tolds);

	for (uint32_t i = 0; i < source->nr_tolds; i++)
		if (bpf_map_update_elem(map, &i, &source->tolds[i], BPF_ANY))
			return fpl_fail(err, cannot_run(-errno), "BPF map tolds: %s",
					strerror(errno));
	return 0;
}

/* All that are loaded but the samplers: those are for the sources. */
static int attach_life(struct kernel_side *kernel, struct fpl_err *err)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, kernel->skel->obj)
	{
		if (samplers_has(kernel->skel, program) || !bpf_program__autoload(program))
			continue;

		struct bpf_link *link = bpf_program__attach(program);

		if (!link)
			return fpl_fail(err, cannot_run(-errno), "BPF program %s: attach: %s",
					bpf_program__name(program), strerror(errno));
		if (kernel->nr_links == KERNEL_SIDE_LINKS_MAX) {
			bpf_link__destroy(link);
			return fpl_fail(err, -EOPNOTSUPP, "BPF object: too many programs");
		}
		kernel->links[kernel->nr_links++] = link;
	}
	return 0;
}

/* ring_buffer_sample_fn */
static int take_record(void *ctx, void *data, size_t size)
{
	struct kernel_side *kernel = ctx;

	kernel->ring_bytes += size + BPF_RINGBUF_HDR_SZ;
	return kernel->record(kernel->record_ctx, data, size);
}

int kernel_side_open(const struct engine_options *options, const struct host *host,
		     const struct source *sources, size_t nr_sources,
		     int (*record)(void *ctx, void *data, size_t size), void *ctx,
		     struct kernel_side *ret, struct fpl_err *err)
{
	struct kernel_side kernel = { 0 };
	uint64_t nr_chunks = options->table_memory >> FPL_CHUNK_LOG2;
	struct fpl_err no_chunks = { 0 };

	bpf_log_init();

	int code = check_btf(host, err);

	if (code)
		return code;
	kernel.nr_chunks = nr_chunks ? (uint32_t)nr_chunks : 1;
	/* where rights are lacking, loading says it better */
	code = chunk_maker_create(kernel.nr_chunks, &kernel.chunk_maker, &no_chunks);
	if (code == -ENOMEM || code == -EAGAIN)
		return fpl_fail(err, code, "%s", no_chunks.msg);
	code = samplers_prepare(sources, nr_sources, err);
	if (!code)
		code = load(&kernel, options, host, sources, nr_sources, err);
	if (!code && !kernel.chunk_maker)
		code = fpl_fail(err, cannot_run(no_chunks.code), "%s", no_chunks.msg);
	for (uint32_t i = 0; !code && i < nr_sources; i++) {
		if (sources[i].event)
			code = describe_event(&kernel, i, sources[i].event, err);
		if (!code)
			code = describe_tolds(&kernel, &sources[i], err);
	}
	if (!code)
		code = attach_life(&kernel, err);
	if (!code) {
		kernel.record = record;
		kernel.record_ctx = ctx;
		kernel.ring = ring_buffer__new(bpf_map__fd(kernel.skel->maps.ring), take_record,
					       ret, NULL);
		if (!kernel.ring)
			code = fpl_fail(err, cannot_run(-errno), "BPF ring buffer: %s",
					strerror(errno));
	}
	if (code) {
		kernel_side_close(&kernel);
		return code;
	}
	*ret = kernel;
	return 0;
}

void kernel_side_close(struct kernel_side *kernel)
{
	for (size_t i = 0; i < kernel->nr_links; i++)
		bpf_link__destroy(kernel->links[i]);
	ring_buffer__free(kernel->ring);
	chunk_maker_destroy(kernel->chunk_maker);
	if (kernel->objects)
		munmap(kernel->objects, kernel->nr_objects * sizeof(*kernel->objects));
	if (kernel->script_rules)
		munmap(kernel->script_rules, FPL_SCRIPT_RULES_MAX * sizeof(*kernel->script_rules));
	if (kernel->regions)
		munmap(kernel->regions, FPL_REGIONS_MAX * sizeof(*kernel->regions));
	if (kernel->mappings)
		munmap(kernel->mappings, kernel->nr_mappings * sizeof(*kernel->mappings));
	if (kernel->stacks)
		munmap(kernel->stacks, kernel->nr_stack_groups * sizeof(*kernel->stacks));
	fpless_bpf__destroy(kernel->skel);
	*kernel = (struct kernel_side){ 0 };
}

int kernel_side_object(struct kernel_side_object *ret)
{
	struct fpless_bpf *skel;
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_log_init();
	skel = fpless_bpf__open();
	if (!skel)
		return -errno;
	*ret = (struct kernel_side_object){ .version = skel->rodata->shared_version };
	bpf_object__for_each_program(program, skel->obj) ret->nr_programs++;
	bpf_object__for_each_map(map, skel->obj) ret->nr_maps++;
	fpless_bpf__destroy(skel);
	return 0;
}

bool kernel_side_has_squares(const struct kernel_side *kernel)
{
	return kernel->skel->rodata->config.flags & FPL_CONFIG_SQUARES;
}

int kernel_side_sampler_fd(const struct kernel_side *kernel, enum sampler sampler)
{
	return samplers_fd(kernel->skel, sampler);
}

int kernel_side_alloc_fd(const struct kernel_side *kernel)
{
	return samplers_alloc_fd(kernel->skel);
}

int kernel_side_free_fd(const struct kernel_side *kernel)
{
	return samplers_free_fd(kernel->skel);
}

void kernel_side_set_weight(struct kernel_side *kernel, uint32_t source, uint64_t weight)
{
	__atomic_store_n(&kernel->skel->bss->source_weights[source % FPL_SOURCES_MAX], weight,
			 __ATOMIC_SEQ_CST);
}

void kernel_side_set_block_ns(struct kernel_side *kernel, uint64_t ns)
{
	__atomic_store_n(&kernel->skel->bss->block_ns, ns, __ATOMIC_SEQ_CST);
}

uint64_t kernel_side_block_ns(const struct kernel_side *kernel)
{
	return __atomic_load_n(&kernel->skel->bss->block_ns, __ATOMIC_SEQ_CST);
}

int kernel_side_open_gate(struct kernel_side *kernel, struct fpl_err *err)
{
	__atomic_store_n(&kernel->skel->bss->gate, 1, __ATOMIC_SEQ_CST);
	return thread_times_begin(kernel->skel, err);
}

void kernel_side_shut_gate(struct kernel_side *kernel)
{
	__atomic_store_n(&kernel->skel->bss->gate, 0, __ATOMIC_SEQ_CST);
}

void kernel_side_close_gate(struct kernel_side *kernel, bool no_preemption)
{
	if (!kernel->skel || !kernel->skel->bss->gate)
		return;
	thread_times_stop(kernel->skel);
	kernel_side_shut_gate(kernel);
	if (!no_preemption || !cpu_visit_all())
		tables_grace();
}

int kernel_side_close_times(struct kernel_side *kernel, const struct thread_times_end *end,
			    struct fpl_err *err)
{
	return thread_times_close(kernel->skel, end, &kernel->nr_times_left, err);
}

struct fpl_times kernel_side_times(const struct kernel_side *kernel)
{
	return thread_times_sums(kernel->skel);
}

int kernel_side_target(struct kernel_side *kernel, uint32_t pid, uint32_t flags,
		       struct fpl_err *err)
{
	struct fpl_target target = { .flags = flags };

	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.targets), &pid, &target, BPF_ANY))
		return fpl_fail(err, cannot_run(-errno), "pid %u: BPF map targets: %s", pid,
				strerror(errno));
	return 0;
}

int kernel_side_thread(struct kernel_side *kernel, uint32_t tid, struct fpl_err *err)
{
	struct fpl_target thread = { 0 };

	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.threads), &tid, &thread, BPF_ANY))
		return fpl_fail(err, cannot_run(-errno), "thread %u: BPF map threads: %s", tid,
				strerror(errno));
	return 0;
}

int kernel_side_cgroup(struct kernel_side *kernel, int fd, struct fpl_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return fpl_fail(err, cannot_run(-errno), "--cgroup: %s", strerror(errno));
	kernel->skel->bss->wanted_cgroup = st.st_ino; /* its id, since 5.5 */
	return 0;
}

void kernel_side_comm(void *ctx, const struct fpl_comm *comm, uint32_t verdict)
{
	const struct kernel_side *kernel = ctx;

	(void)!bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.comms), comm, &verdict, BPF_ANY);
}

bool kernel_side_thread_lives(const struct kernel_side *kernel, uint32_t tid)
{
	struct fpl_target thread;

	return !bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.threads), &tid, &thread) &&
	       !(thread.flags & FPL_TARGET_GONE);
}

int kernel_side_ring_fd(const struct kernel_side *kernel)
{
	return ring_buffer__epoll_fd(kernel->ring);
}

bool kernel_side_arm(struct kernel_side *kernel, uint64_t now)
{
	__atomic_store_n(&kernel->skel->bss->reader_sleeps, 1, __ATOMIC_SEQ_CST);
	return kernel_side_drain(kernel, now);
}

void kernel_side_disarm(struct kernel_side *kernel)
{
	__atomic_store_n(&kernel->skel->bss->reader_sleeps, 0, __ATOMIC_RELAXED);
}

bool kernel_side_is_target(void *ctx, uint32_t pid)
{
	const struct kernel_side *kernel = ctx;
	struct fpl_target target;

	return !bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.targets), &pid, &target);
}

bool kernel_side_drain(struct kernel_side *kernel, uint64_t now)
{
	if (kernel->awake_ns && now - kernel->awake_ns > kernel->gap_max_ns)
		kernel->gap_max_ns = now - kernel->awake_ns;
	kernel->ring_bytes = 0;

	bool drained = ring_buffer__consume(kernel->ring) != -EBUSY;

	if (kernel->ring_bytes > kernel->ring_peak_bytes)
		kernel->ring_peak_bytes = kernel->ring_bytes;
	kernel_side_woken(kernel, clock_monotonic_ns());
	return drained;
}

void kernel_side_woken(struct kernel_side *kernel, uint64_t now)
{
	kernel->awake_ns = now;
}

int kernel_side_make_chunk(void *ctx, uint32_t number, void **ret, struct fpl_err *err)
{
	struct kernel_side *kernel = ctx;

	return chunk_maker_get(kernel->chunk_maker, number, ret, err);
}

uint64_t kernel_side_gen(void *ctx, uint32_t pid)
{
	const struct kernel_side *kernel = ctx;
	struct fpl_proc proc;

	if (bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.procs), &pid, &proc))
		return 0;
	return proc.gen;
}

/* Invalidate the CPUs' memory of processes for runs of the program that begin after this. */
static void forget_recents(const struct kernel_side *kernel)
{
	__atomic_add_fetch(&kernel->skel->bss->epoch, 1, __ATOMIC_SEQ_CST);
}

static int mapset_update(void *ctx, uint32_t pid, const struct fpl_mapset *value)
{
	const struct kernel_side *kernel = ctx;

	int code =
		bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.mapsets), &pid, value, BPF_ANY);

	forget_recents(kernel);
	return code;
}

static void mapset_remove(void *ctx, uint32_t pid)
{
	const struct kernel_side *kernel = ctx;

	bpf_map_delete_elem(bpf_map__fd(kernel->skel->maps.mapsets), &pid);
}

static int mapset_read_all(void *ctx, uint32_t *pids, struct fpl_mapset *values, uint32_t max)
{
	const struct kernel_side *kernel = ctx;
	uint32_t count = max, batch;

	/* max holds the whole map, so one batch does; -ENOENT says that it was the last */
	int code = bpf_map_lookup_batch(bpf_map__fd(kernel->skel->maps.mapsets), NULL, &batch, pids,
					values, &count, NULL);

	return code && code != -ENOENT ? code : (int)count;
}

static void grace(void *ctx)
{
	/* or a run of mappings could be read through them after it was freed */
	forget_recents(ctx);
	tables_grace();
}

const struct publisher_ops kernel_side_publisher_ops = {
	.update = mapset_update,
	.read_all = mapset_read_all,
	.remove = mapset_remove,
	.grace = grace,
};

int kernel_side_counters(const struct kernel_side *kernel, struct fpl_counters *ret)
{
	return samplers_counters(kernel->skel, kernel->every, ret);
}

uint64_t kernel_side_run_cnt(const struct kernel_side *kernel)
{
	return samplers_run_cnt(kernel->skel);
}

void kernel_side_stacks(const struct kernel_side *kernel,
			void (*fn)(const struct fpl_stack *stack, void *ctx), void *ctx)
{
	for (uint32_t i = 0; i < kernel->nr_stack_groups; i++) {
		for (uint32_t k = 0; k < FPL_STACKS_IN_GROUP; k++) {
			const volatile struct fpl_stack *place = &kernel->stacks[i].stacks[k];

			if (!place->id || place->id == FPL_STACK_CLAIMED)
				continue;

			/* a copy: it may be counted meanwhile */
			struct fpl_stack stack = *place;

			fn(&stack, ctx);
		}
	}
}

void kernel_side_take_stacks(struct kernel_side *kernel,
			     void (*fn)(const struct fpl_stack *stack, void *ctx), void *ctx)
{
	struct fpl_stack *places = kernel->stacks->stacks;

	for (size_t i = 0; i < (size_t)kernel->nr_stack_groups * FPL_STACKS_IN_GROUP; i++) {
		if (!places[i].id)
			continue;
		if (places[i].id != FPL_STACK_CLAIMED)
			fn(&places[i], ctx);
		places[i] = (struct fpl_stack){ 0 };
	}
	kernel->skel->bss->last_stack_id = 0;
	seed(kernel->skel);
}

uint32_t kernel_side_live_max(const struct kernel_side *kernel)
{
	return bpf_map__max_entries(kernel->skel->maps.live);
}
