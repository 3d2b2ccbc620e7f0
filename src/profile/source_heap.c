/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source_heap.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "profile/heap_places.h"
#include "profile/probe_event.h"
#include "profile/source_kinds.h"
#include "profile/source_record.h"
#include "proc/advice.h"

/* A program that the kernel calls at a place. */
enum role { ROLE_ENTRY, ROLE_RETURN, ROLE_FREE, ROLE_TOLD };

struct event {
	int fd;	  /* owned: the perf event */
	int link; /* owned: BPF link; -1: none */
	enum role role;
	enum fpl_alloc kind;
	uint32_t told; /* of kind FPL_ALLOC_TOLD: which of heap.tolds */
};

/* Source.own. */
struct heap {
	struct fpl_source event;
	VECTOR(struct event) events;
	struct fpl_told tolds[FPL_TOLDS_MAX]; /* [nr_tolds] */
	uint32_t nr_tolds;
	size_t nr_tellers; /* as in heap_places */
	int stats_fd; /* owned: while it is open the kernel counts runs of programs; -1: it does not
		       */
	int prog_fd, alloc_fd, free_fd; /* borrowed */
};

/* @pid: as for probe_event_open(). */
static int add_event(struct source *source, const struct probe_device *device,
		     const struct probe_file *file, const struct heap_place *place, enum role role,
		     pid_t pid, struct fpl_err *err)
{
	struct heap *heap = source->own;
	const struct probe_place where = {
		.kind = role == ROLE_RETURN ? PROBE_URETPROBE : PROBE_UPROBE,
		.file_fd = file->fd,
		.off = place->off,
		.ref_ctr_off = place->ref_ctr_off,
	};
	struct event event = {
		.fd = probe_event_open(device, &where, pid, source->cpus.cpus[0]),
		.link = -1,
		.role = role,
		.kind = place->kind,
		.told = place->tells ? heap->nr_tolds - 1 : 0,
	};

	/* the process has gone: the run ends by that */
	if (event.fd == -ESRCH && pid >= 0)
		return 0;
	if (advice_is_refusal(event.fd))
		return probe_event_fail_rights("heap", err);
	if (event.fd < 0)
		return fpl_fail(err,
				event.fd == -EMFILE || event.fd == -ENFILE ? -EMFILE : -EOPNOTSUPP,
				"%s: the kernel lets no probe be set at 0x%llx: %s", file->path,
				(unsigned long long)place->off, strerror(-event.fd));
	if (vector_push(&heap->events, event)) {
		close(event.fd);
		return fpl_fail(err, -ENOMEM, "heap: out of memory");
	}
	return 0;
}

static int add_events(struct source *source, const struct probe_device *device,
		      const struct probe_file *file, const struct heap_place *place, pid_t pid,
		      struct fpl_err *err)
{
	int code = probe_event_check_counter(device, place->ref_ctr_off, file->path, err);

	if (code)
		return code;
	if (place->frees || place->tells)
		return add_event(source, device, file, place, place->frees ? ROLE_FREE : ROLE_TOLD,
				 pid, err);
	code = add_event(source, device, file, place, ROLE_ENTRY, pid, err);
	return code ? code : add_event(source, device, file, place, ROLE_RETURN, pid, err);
}

static int open_places(struct source *source, const struct engine_options *options,
		       struct fpl_err *err)
{
	CLEANUP(heap_places_fini) struct heap_places places = { 0 };
	struct probe_device device = { .type = 0 };
	struct heap *heap = source->own;
	int code = probe_device_read(PROBE_URETPROBE, &device, err);
	bool is_of_processes;

	if (!code)
		code = heap_places_find(options, source_asked(source, options)->allocator, &places,
					err);
	if (code)
		return code;
	heap->nr_tellers = places.nr_tellers;
	is_of_processes = probe_event_is_of_processes(options, 2 * places.list.nr);
	for (size_t i = 0; !code && i < places.list.nr; i++) {
		const struct heap_place *place = &places.list.list[i];
		const struct probe_file *file = &places.files.list[place->file];

		if (place->tells)
			heap->tolds[heap->nr_tolds++] = place->told;
		if (!is_of_processes)
			code = add_events(source, &device, file, place, -1, err);
		for (size_t k = 0; !code && is_of_processes && k < options->nr_pids; k++)
			code = add_events(source, &device, file, place, options->pids[k], err);
	}
	return code;
}

static void describe(struct source *source, const struct engine_options *options)
{
	const struct source_spec *spec = source_asked(source, options);
	const struct engine_heap *asked = &options->heap;
	struct profile_source *what = &source->what;

	memcpy(what->name, spec->name, sizeof(what->name));
	snprintf(what->type, sizeof(what->type), "%s_%s", asked->shows_all ? "alloc" : "inuse",
		 asked->shows_objects ? "objects" : "space");
	snprintf(what->unit, sizeof(what->unit), "%s", asked->shows_objects ? "count" : "bytes");
	what->period = source->period = asked->shows_objects ? 1 : spec->period;
	source->nr_sampled = source->cpus.nr;
}

static int heap_open(struct source *source, const struct engine_options *options,
		     struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct heap *heap = calloc(1, sizeof(*heap));
	int code;

	source->own = heap;
	if (!heap)
		return fpl_fail(err, -ENOMEM, "heap: out of memory");
	heap->stats_fd = heap->prog_fd = heap->alloc_fd = heap->free_fd = -1;
	heap->event.every = 1;
	heap->event.stride = spec->period;
	code = source_record_check_cpus(spec, options, err);
	if (!code)
		code = open_places(source, options, err);
	if (code)
		return code;
	heap->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	source->sampler = SAMPLER_ALLOC;
	source->event = &heap->event;
	source->tolds = heap->tolds;
	source->nr_tolds = heap->nr_tolds;
	describe(source, options);
	return 0;
}

static void heap_close(struct source *source)
{
	struct heap *heap = source->own;

	if (!heap)
		return;
	for (size_t i = 0; i < heap->events.nr; i++) {
		cleanup_fd(&heap->events.list[i].link);
		cleanup_fd(&heap->events.list[i].fd);
	}
	vector_fini(&heap->events);
	if (heap->stats_fd >= 0)
		close(heap->stats_fd);
	free(heap);
}

static int heap_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct heap *heap = source->own;

	heap->prog_fd = prog_fd;
	heap->alloc_fd = source->alloc_fd;
	heap->free_fd = source->free_fd;
	for (size_t i = 0; i < heap->events.nr; i++) {
		struct event *event = &heap->events.list[i];
		const uint64_t cookie =
			source->number | (uint64_t)event->kind << 8 | (uint64_t)event->told << 16;
		LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);

		event->link = bpf_link_create(event->role == ROLE_ENTRY	 ? heap->alloc_fd
					      : event->role == ROLE_FREE ? heap->free_fd
									 : heap->prog_fd,
					      event->fd, BPF_PERF_EVENT, &opts);
		if (event->link < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", source->what.name,
					strerror(errno));
	}
	return 0;
}

static uint64_t heap_counted(const struct source *source, uint64_t fired)
{
	const struct heap *heap = source->own;

	return source_record_counted(heap->prog_fd, 1, fired);
}

/* Runs of a program, and the time they took; 0 where nothing is known. */
static uint64_t runs_of(int prog_fd, uint64_t *ns)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (prog_fd < 0 || bpf_obj_get_info_by_fd(prog_fd, &info, &size))
		return 0;
	*ns += info.run_time_ns;
	return info.run_cnt;
}

void source_heap_costs(const struct source *source, struct profile_heap *ret)
{
	const struct heap *heap = source->own;

	if (source->sampler != SAMPLER_ALLOC)
		return;
	ret->calls = runs_of(heap->alloc_fd, &ret->bpf_ns);
	ret->returns = runs_of(heap->prog_fd, &ret->bpf_ns);
	ret->frees = runs_of(heap->free_fd, &ret->bpf_ns);
	ret->nr_tellers = heap->nr_tellers;
}

const struct source_ops source_heap_ops = {
	.open = heap_open,
	.attach = heap_attach,
	.counted = heap_counted,
	.close = heap_close,
};
