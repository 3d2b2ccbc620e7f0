/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/lookups.h"
#include "profile/record.h"
#include "profile/scan.h"

#define PID_BITS (1u << 22) /* PID_MAX_LIMIT of 64-bit kernels */

enum event_kind {
	EVENT_SIDEBAND,
	EVENT_LIFE,
	EVENT_SNAPSHOT, /* replayed */
	EVENT_STACK,	/* with raw frames: resolved against the mappings of its time */
	EVENT_WALK,	/* recorded */
};

struct event {
	uint64_t time_ns;
	uint32_t seq;
	enum event_kind kind;
	size_t bytes; /* of collect->bytes */
	struct tracker_try try;
	union {
		struct {
			struct sideband_record record; /* path NULL */
			struct tracked_map map;
		} sideband;
		struct fpl_life life;
		struct fpl_sample *sample; /* owned */
		struct snapshot *snapshot; /* owned reference */
	};
};

int collect_init(struct collect *collect, const struct collect_config *config)
{
	*collect = (struct collect){
		.tracker = config->tracker,
		.replayer = config->replayer,
		.intakes = config->intakes,
		.scripts = config->scripts,
		.walk_file = config->walk_file,
		.heap_live = config->heap_live,
		.rss_book = config->rss_book,
		.comm_filter = config->comm_filter,
		.cgroup_names = config->cgroup_names,
		.is_followed = config->is_followed,
		.ctx = config->ctx,
		.bytes_max = config->bytes_max,
	};
	/* 512 KiB of which only the pages of pids in use are ever touched */
	collect->told = calloc(PID_BITS / 64, sizeof(*collect->told));
	collect->strange = calloc(PID_BITS / 64, sizeof(*collect->strange));
	collect->held = calloc(PID_BITS / 64, sizeof(*collect->held));
	return collect->told && collect->strange && collect->held ? 0 : -ENOMEM;
}

static void tell(struct collect *collect, uint32_t pid)
{
	collect->told[pid % PID_BITS / 64] |= 1ull << pid % 64;
}

static bool was_told(const struct collect *collect, uint32_t pid)
{
	return collect->told[pid % PID_BITS / 64] >> pid % 64 & 1;
}

/* Is the process followed? The kernel side is asked once about each that is not. */
static bool is_followed(struct collect *collect, uint32_t pid)
{
	uint64_t *strange = &collect->strange[pid % PID_BITS / 64];
	uint64_t bit = 1ull << pid % 64;

	if (was_told(collect, pid))
		return true;
	if (*strange & bit)
		return false;
	if (collect->is_followed(collect->ctx, pid))
		return true;
	*strange |= bit;
	return false;
}

/*
 * Is @record of a process that is followed? A target's child is a target; its fork is also reported
 * by a life record. On a busy machine most records are of processes that are no targets, and of
 * their children.
 */
static bool is_wanted(struct collect *collect, const struct sideband_record *record)
{
	uint64_t *strange = &collect->strange[record->pid % PID_BITS / 64];
	uint64_t bit = 1ull << record->pid % 64;

	if (!collect->is_followed || record->type == SIDEBAND_LOST)
		return true;
	/* a number may be another process's by now */
	if (record->type == SIDEBAND_FORK && is_followed(collect, record->parent))
		*strange &= ~bit;
	else if (record->type == SIDEBAND_FORK)
		*strange |= bit;
	return is_followed(collect, record->pid);
}

void collect_fini(struct collect *collect)
{
	for (size_t i = 0; i < collect->nr; i++) {
		struct event *event = &collect->events[i];

		if (event->kind == EVENT_SIDEBAND)
			(void)!tracker_settle(&event->sideband.map, true);
		else if (event->kind == EVENT_SNAPSHOT)
			snapshot_put(event->snapshot);
		else if (event->kind > EVENT_SNAPSHOT)
			free(event->sample);
	}
	snapshots_fini(&collect->snapshots);
	free(collect->events);
	free(collect->told);
	free(collect->strange);
	free(collect->held);
	*collect = (struct collect){ 0 };
}

size_t collect_nr_pending(const struct collect *collect)
{
	return collect->nr - collect->nr_waiting;
}

/* Room for one more event, filled with what all have; NULL without memory. */
static struct event *push(struct collect *collect, enum event_kind kind, uint64_t time_ns)
{
	if (array_reserve(&collect->events, sizeof(*collect->events), &collect->capacity,
			  collect->nr + 1))
		return NULL;

	struct event *event = &collect->events[collect->nr++];

	event->time_ns = time_ns;
	event->seq = collect->seq++;
	event->kind = kind;
	event->bytes = 0;
	event->try = (struct tracker_try){ 0 };
	return event;
}

/* Keeps a copy of the record for its turn. */
static int push_sample(struct collect *collect, enum event_kind kind, const void *data, size_t size)
{
	struct fpl_sample *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);

	struct event *event = push(collect, kind, copy->header.time_ns);

	if (!event) {
		free(copy);
		return -ENOMEM;
	}
	event->sample = copy;
	event->bytes = copy->header.size;
	collect->bytes += event->bytes;
	return 0;
}

/* The intake of the time at which @sample was taken. */
static struct intake *intake_for(const struct collect *collect, const struct fpl_sample *sample)
{
	return intake_of(collect->intakes, sample->header.time_ns);
}

static void store_stack(struct collect *collect, const struct fpl_sample *sample)
{
	struct intake *intake = intake_for(collect, sample);
	const uint64_t *user = record_user(sample);
	struct fpl_sample woven = *sample;

	if (sample->nr_script && intake->codes)
		user = scripts_weave(collect->scripts, intake->codes, sample, user,
				     record_script(sample), &woven.nr_user);
	if (stack_store_add(intake->store, &woven, user, record_rest(sample)))
		intake_lose(intake, sample);
	else if (intake->timeline && sample->count)
		timeline_sample(intake->timeline, sample, stack_store_last(intake->store));
}

static void take_stack(struct collect *collect, const struct fpl_sample *sample, size_t size)
{
	if (!record_holds_frames(sample, size)) {
		collect->nr_malformed++;
		return;
	}
	intake_for(collect, sample)->nr_uncounted += sample->count;
	if (!(sample->flags & FPL_SAMPLE_RAW) || push_sample(collect, EVENT_STACK, sample, size))
		store_stack(collect, sample);
}

/* @wanted: by its name. Others may have bytes of its stack. */
static void take_snapshot(struct collect *collect, const struct fpl_sample *sample, size_t size,
			  bool wanted)
{
	struct snapshot *snapshot = NULL;
	int code = snapshots_take(&collect->snapshots, sample, size, &snapshot);
	struct event *event = NULL;

	if (!code && wanted)
		event = push(collect, EVENT_SNAPSHOT, sample->header.time_ns);
	if (event) {
		event->snapshot = snapshot;
		event->bytes = size;
		collect->bytes += size;
		return;
	}
	if (code == -EINVAL)
		collect->nr_malformed++;
	else if (wanted)
		intake_lose(intake_for(collect, sample), sample);
	snapshot_put(snapshot);
}

static void take_event(struct collect *collect, const struct fpl_event *event)
{
	struct timeline *timeline = intake_of(collect->intakes, event->header.time_ns)->timeline;

	if (timeline)
		timeline_record(timeline, event);
}

static void take_code(struct collect *collect, const struct fpl_script_code *code, size_t size)
{
	struct intake *intake = intake_of(collect->intakes, code->header.time_ns);

	if (intake->codes)
		scripts_add_code(collect->scripts, intake->codes, code, size);
}

static void take_life(struct collect *collect, const struct fpl_life *life)
{
	struct event *event = push(collect, EVENT_LIFE, life->header.time_ns);

	tell(collect, life->tgid);
	tracker_told(collect->tracker, life);
	if (collect->heap_live)
		heap_live_note(collect->heap_live, life);
	if (collect->rss_book && life->header.type == FPL_RECORD_EXIT)
		rss_book_end(collect->rss_book, life->tgid);
	if (event)
		event->life = *life;
	else
		collect->tracker->rescan_all = true;
}

/* Does the record begin with a struct fpl_sample? */
static bool is_sample(const struct fpl_record_header *header)
{
	return header->type <= FPL_RECORD_SNAPSHOT || header->type == FPL_RECORD_WALK;
}

/* Minimum size of a record of this type; of an unknown type, that of a sample. */
static size_t least_size(const struct fpl_record_header *header)
{
	if (header->type == FPL_RECORD_EVENT)
		return sizeof(struct fpl_event);
	if (header->type == FPL_RECORD_RSS)
		return sizeof(struct fpl_rss);
	if (header->type == FPL_RECORD_SCRIPT_CODE)
		return sizeof(struct fpl_script_code) - FPL_SCRIPT_LINES_BYTES;
	return header->type >= FPL_RECORD_EXEC && header->type <= FPL_RECORD_EXIT
		       ? sizeof(struct fpl_life)
		       : sizeof(struct fpl_sample);
}

/*
 * Is that all there is to do about the record: a sample of a task whose name is not wanted? A stack
 * that will be counted later is kept: the profile is filtered again when all counts are in.
 */
static bool is_filtered(struct collect *collect, const struct fpl_record_header *header,
			size_t size)
{
	const struct fpl_sample *sample = (const struct fpl_sample *)header;

	if (!collect->comm_filter || !is_sample(header) || !record_holds_frames(sample, size) ||
	    comm_filter_wants(collect->comm_filter, sample->comm, sample->flags,
			      record_rest(sample) + sample->nr_kernel + sample->nr_fp,
			      sample->nr_key))
		return false;
	intake_for(collect, sample)->nr_filtered += sample->count;
	return sample->count || header->type == FPL_RECORD_WALK;
}

/* While the cgroup exists. */
static void see_cgroup(struct collect *collect, const struct fpl_sample *sample)
{
	if (collect->cgroup_names)
		cgroup_names_see(collect->cgroup_names, sample->cgroup);
}

int collect_ring_record(void *ctx, void *data, size_t size)
{
	struct collect *collect = ctx;
	const struct fpl_record_header *header = data;

	if (size < sizeof(*header) || size < least_size(header)) {
		collect->nr_malformed++;
		return 0;
	}
	if (is_filtered(collect, data, size)) {
		if (header->type == FPL_RECORD_SNAPSHOT)
			take_snapshot(collect, data, size, false);
		return 0;
	}
	switch (header->type) {
	case FPL_RECORD_STACK:
		see_cgroup(collect, data);
		take_stack(collect, data, size);
		break;
	case FPL_RECORD_SNAPSHOT:
		see_cgroup(collect, data);
		take_snapshot(collect, data, size, true);
		break;
	case FPL_RECORD_EXEC:
	case FPL_RECORD_FORK:
	case FPL_RECORD_EXIT:
		take_life(collect, data);
		break;
	case FPL_RECORD_EVENT:
		take_event(collect, data);
		break;
	case FPL_RECORD_SCRIPT_CODE:
		take_code(collect, data, size);
		break;
	case FPL_RECORD_RSS:
		if (collect->rss_book)
			rss_book_note(collect->rss_book, data);
		break;
	case FPL_RECORD_WALK:
		if (collect->walk_file && record_holds_walk(data, size))
			push_sample(collect, EVENT_WALK, data, size);
		break;
	default:
		collect->nr_malformed++;
	}
	return collect->bytes > collect->bytes_max ? -EBUSY : 0;
}

void collect_sideband_record(const struct sideband_record *record, void *ctx)
{
	struct collect *collect = ctx;

	if (!is_wanted(collect, record))
		return;
	if (record->type == SIDEBAND_MAP && scan_is_of_kernel(record->path))
		return;

	struct tracked_map map = { 0 };

	if (record->type == SIDEBAND_MAP) {
		tracker_resolve(collect->tracker, record, &map);
		/* all that is followed is a target: what it maps will be walked soon */
		if (collect->is_followed)
			tracker_want(collect->tracker, map.mapping.object);
	}

	struct event *event = push(collect, EVENT_SIDEBAND, record->time_ns);

	if (!event) {
		(void)!tracker_settle(&map, true);
		collect->tracker->rescan_all = true;
		return;
	}
	event->sideband.record = *record;
	event->sideband.record.path = NULL;
	event->sideband.map = map;
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	/* modulo 2^32: no two events of one sort are that far apart */
	return (int32_t)(x->seq - y->seq) < 0 ? -1 : 1;
}

/* Names what raw frames of @sample lie in, as far as that is known. */
static void resolve_raw(struct collect *collect, struct fpl_sample *sample, struct tracker_try *try)
{
	struct process *process = tracker_sample(collect->tracker, sample, try);

	if (!try->waits && process && record_resolve(sample, process->mapset))
		tracker_raw(collect->tracker, process, sample->gen, record_user(sample),
			    sample->nr_user);
}

static void record_walk(struct collect *collect, const struct fpl_sample *sample)
{
	const struct tracker *tracker = collect->tracker;
	const struct process *process = processes_find(&tracker->processes, sample->tgid);

	/* the run holds exactly what the walk saw, unless it was replaced meanwhile */
	if (process && process->run && process->gen == sample->gen &&
	    process->version == sample->version)
		walk_file_add(collect->walk_file, sample,
			      tracker->publisher->config.entries + process->run->first,
			      process->run->nr, tracker->catalog);
}

/* Returns false where the event has to wait. */
static bool apply(struct collect *collect, struct event *event)
{
	event->try.waits = false;
	event->try.is_last = collect->is_last;
	switch (event->kind) {
	case EVENT_SIDEBAND:
		if (!tracker_settle(&event->sideband.map, collect->is_last))
			return false;
		tracker_sideband(collect->tracker, &event->sideband.record, &event->sideband.map);
		break;
	case EVENT_LIFE:
		tracker_life(collect->tracker, &event->life);
		break;
	case EVENT_SNAPSHOT:
		replayer_add(collect->replayer, event->snapshot, &event->try);
		break;
	case EVENT_STACK:
		resolve_raw(collect, event->sample, &event->try);
		if (event->try.waits)
			break;
		store_stack(collect, event->sample);
		free(event->sample);
		break;
	case EVENT_WALK:
		record_walk(collect, event->sample);
		free(event->sample);
		break;
	}
	return !event->try.waits;
}

/* The event's process; 0: none. A fork gives the child, and *ret_parent. */
static uint32_t pid_of(const struct event *event, uint32_t *ret_parent)
{
	*ret_parent = 0;
	switch (event->kind) {
	case EVENT_SIDEBAND:
		if (event->sideband.record.type == SIDEBAND_FORK)
			*ret_parent = event->sideband.record.parent;
		return event->sideband.record.pid;
	case EVENT_LIFE:
		if (event->life.header.type == FPL_RECORD_FORK)
			*ret_parent = event->life.parent;
		return event->life.tgid;
	case EVENT_SNAPSHOT:
		return event->snapshot->sample->tgid;
	case EVENT_STACK:
	case EVENT_WALK:
		return event->sample->tgid;
	}
	return 0;
}

static uint64_t *held_word(const struct collect *collect, uint32_t pid)
{
	return &collect->held[pid % PID_BITS / 64];
}

static bool is_held(const struct collect *collect, uint32_t pid)
{
	return pid && ((*held_word(collect, pid) >> pid % 64 & 1) ||
		       tracker_is_waiting(collect->tracker, pid));
}

/* Applies @event, unless it, or what comes before it of the same process, has to wait. */
static bool apply_in_turn(struct collect *collect, struct event *event)
{
	uint32_t parent, pid = pid_of(event, &parent);
	bool held = !collect->is_last && (is_held(collect, pid) || is_held(collect, parent));

	if (!held && apply(collect, event))
		return true;
	*held_word(collect, pid) |= 1ull << pid % 64;
	return false;
}

/* Have those that wait tried again, since what they wait for may have come. */
static void retry_waiting(struct collect *collect)
{
	for (size_t i = 0; i < collect->nr_waiting; i++) {
		uint32_t parent;

		*held_word(collect, pid_of(&collect->events[i], &parent)) = 0;
	}
	collect->nr_waiting = 0;
	collect->nr_answers = collect->tracker->nr_answers;
}

static bool is_sorted(const struct event *events, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		if (by_time(&events[i - 1], &events[i]) > 0)
			return false;
	}
	return true;
}

static void retry_timeline(const struct intake *intake)
{
	if (intake && intake->timeline)
		timeline_retry(intake->timeline);
}

/* Those that wait stand first, and are looked at only when an answer has come. */
void collect_apply(struct collect *collect, uint64_t horizon_ns)
{
	size_t nr_due, nr_kept;

	if (!collect->nr)
		return;
	if (collect->is_last || collect->nr_answers != collect->tracker->nr_answers)
		retry_waiting(collect);
	nr_due = nr_kept = collect->nr_waiting;
	if (!is_sorted(collect->events + nr_due, collect->nr - nr_due))
		qsort(collect->events + nr_due, collect->nr - nr_due, sizeof(*collect->events),
		      by_time);
	for (; nr_due < collect->nr && collect->events[nr_due].time_ns <= horizon_ns; nr_due++) {
		struct event *event = &collect->events[nr_due];

		if (apply_in_turn(collect, event))
			collect->bytes -= event->bytes;
		else
			collect->events[nr_kept++] = *event;
	}
	retry_timeline(collect->intakes->now);
	retry_timeline(collect->intakes->before);
	collect->nr_waiting = nr_kept;
	collect->nr -= nr_due - nr_kept;
	memmove(collect->events + nr_kept, collect->events + nr_due,
		(collect->nr - nr_kept) * sizeof(*collect->events));
}

static bool is_sample_before(const struct event *event, uint64_t before_ns)
{
	return (event->kind == EVENT_SNAPSHOT || event->kind == EVENT_STACK) &&
	       event->time_ns < before_ns;
}

bool collect_has_samples(const struct collect *collect, uint64_t before_ns)
{
	for (size_t i = 0; i < collect->nr; i++)
		if (is_sample_before(&collect->events[i], before_ns))
			return true;
	return false;
}

void collect_settle(struct collect *collect, uint64_t before_ns)
{
	bool was_last = collect->is_last;
	size_t nr_kept = 0;

	if (!collect_has_samples(collect, before_ns))
		return;
	/* others may have waited for those that go */
	retry_waiting(collect);
	collect->is_last = true;
	for (size_t i = 0; i < collect->nr; i++) {
		struct event *event = &collect->events[i];

		if (is_sample_before(event, before_ns) && apply(collect, event))
			collect->bytes -= event->bytes;
		else
			collect->events[nr_kept++] = *event;
	}
	collect->is_last = was_last;
	collect->nr = nr_kept;
}

void collect_mark_mapped(const struct collect *collect, uint64_t round)
{
	for (size_t i = 0; i < collect->nr; i++) {
		const struct event *event = &collect->events[i];
		const struct fpl_mapping *mapping = &event->sideband.map.mapping;
		struct object *object = NULL;

		if (event->kind == EVENT_SIDEBAND && event->sideband.map.lookup &&
		    event->sideband.map.lookup->is_done)
			object = event->sideband.map.lookup->file.object;
		else if (event->kind == EVENT_SIDEBAND)
			object = catalog_at(collect->tracker->catalog, mapping->object);
		if (object)
			object->round = round;
	}
}
