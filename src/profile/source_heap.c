/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source_heap.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profile/heap_places.h"
#include "profile/probe_event.h"
#include "profile/probe_set.h"
#include "profile/source_kinds.h"
#include "profile/source_record.h"
#include "proc/advice.h"

/* A program that the kernel calls at a place. */
enum role { ROLE_ENTRY, ROLE_RETURN, ROLE_FREE, ROLE_TOLD, ROLE_COUNT };

/* Source.own. */
struct heap {
	struct fpl_source event;
	struct heap_places places;
	struct probe_set set;
	struct fpl_told tolds[FPL_TOLDS_MAX]; /* [nr_tolds] */
	uint32_t nr_tolds;
	int stats_fd; /* owned: while it is open the kernel counts runs of programs; -1: it does not
		       */
	int prog_fd, alloc_fd, free_fd; /* borrowed */
};

/* @pid: as in struct probe. */
static int add_probe(struct source *source, const struct heap_place *place, enum role role,
		     pid_t pid, struct fpl_err *err)
{
	struct heap *heap = source->own;
	const struct probe_file *file = &heap->places.files.list[place->file];
	const uint64_t told = place->tells ? heap->nr_tolds - 1 : 0;
	const struct probe probe = {
		.place = {
			.kind = role == ROLE_RETURN ? PROBE_URETPROBE : PROBE_UPROBE,
			.file_fd = file->fd,
			.off = place->off,
			.ref_ctr_off = place->ref_ctr_off,
		},
		.pid = pid,
		.program = role,
		.cookie = source->number | (uint64_t)place->kind << 8 | told << 16,
	};
	int code = probe_set_add(&heap->set, &probe, source->cpus.cpus[0]);

	if (advice_is_refusal(code))
		return probe_event_fail_rights("heap", err);
	if (code == -ENOMEM)
		return fpl_fail(err, code, "heap: out of memory");
	if (code)
		return fpl_fail(err, code == -EMFILE || code == -ENFILE ? -EMFILE : -EOPNOTSUPP,
				"%s: the kernel lets no probe be set at 0x%llx: %s", file->path,
				(unsigned long long)place->off, strerror(-code));
	return 0;
}

static int add_probes(struct source *source, const struct heap_place *place, pid_t pid,
		      struct fpl_err *err)
{
	struct heap *heap = source->own;
	int code = probe_set_check_counter(&heap->set, place->ref_ctr_off,
					   heap->places.files.list[place->file].path, err);

	if (code)
		return code;
	if (place->frees || place->tells)
		return add_probe(source, place, place->frees ? ROLE_FREE : ROLE_TOLD, pid, err);
	code = add_probe(source, place, ROLE_ENTRY, pid, err);
	return code ? code : add_probe(source, place, ROLE_RETURN, pid, err);
}

static int open_places(struct source *source, const struct engine_options *options,
		       struct fpl_err *err)
{
	struct heap *heap = source->own;
	const struct heap_places *places = &heap->places;
	int code = probe_set_init(&heap->set, PROBE_URETPROBE, err);
	bool is_of_processes;

	if (!code)
		code = heap_places_find(options, source_asked(source, options)->allocator,
					&heap->places, err);
	if (code)
		return code;
	is_of_processes = probe_event_is_of_processes(options, 2 * places->list.nr);
	for (size_t i = 0; !code && i < places->list.nr; i++) {
		const struct heap_place *place = &places->list.list[i];

		if (place->tells)
			heap->tolds[heap->nr_tolds++] = place->told;
		if (!is_of_processes)
			code = add_probes(source, place, -1, err);
		for (size_t k = 0; !code && is_of_processes && k < options->nr_pids; k++)
			code = add_probes(source, place, options->pids[k], err);
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
	source->is_multi = heap->set.is_multi;
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
	probe_set_fini(&heap->set);
	heap_places_fini(&heap->places);
	if (heap->stats_fd >= 0)
		close(heap->stats_fd);
	free(heap);
}

static int heap_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct heap *heap = source->own;
	const int prog_fds[ROLE_COUNT] = {
		[ROLE_ENTRY] = source->alloc_fd,
		[ROLE_RETURN] = prog_fd,
		[ROLE_FREE] = source->free_fd,
		[ROLE_TOLD] = prog_fd,
	};

	heap->prog_fd = prog_fd;
	heap->alloc_fd = source->alloc_fd;
	heap->free_fd = source->free_fd;
	return probe_set_attach(&heap->set, prog_fds, source->what.name, err);
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
	ret->nr_tellers = heap->places.nr_tellers;
}

const struct source_ops source_heap_ops = {
	.open = heap_open,
	.attach = heap_attach,
	.counted = heap_counted,
	.close = heap_close,
};
