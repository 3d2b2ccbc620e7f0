/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tracker.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "proc/code_place.h"
#include "proc/thread.h"
#include "profile/code_names.h"
#include "profile/scan.h"

static void retire_run(void *ctx, const struct run *run)
{
	struct tracker *tracker = ctx;

	if (tracker->publisher)
		publisher_retire(tracker->publisher, run);
}

int tracker_init(struct tracker *tracker)
{
	*tracker = (struct tracker){ 0 };
	return processes_init(&tracker->processes, retire_run, tracker);
}

void tracker_fini(struct tracker *tracker)
{
	tracker->publisher = NULL;
	processes_fini(&tracker->processes);
}

/* The kernel marks the name of a file that has none any more, as that of memfd_create(2) always is.
 * Returns the name without the mark, to be freed, or NULL where there is no mark. */
static char *unmarked(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), mark_length = sizeof(mark) - 1;

	if (length <= mark_length || strcmp(path + length - mark_length, mark) != 0)
		return NULL;
	return strndup(path, length - mark_length);
}

void tracker_resolve(struct tracker *tracker, const struct sideband_record *record,
		     struct tracked_map *ret)
{
	AUTO_FREE char *name = unmarked(record->path);
	struct object *object = NULL;

	ret->vdso = strcmp(record->path, "[vdso]") == 0;
	if (ret->vdso) {
		object = catalog_vdso(tracker->catalog);
	} else if (scan_is_file(record->path) && !code_place_is_dump(record->path)) {
		struct file_hint hint = {
			.pid = (pid_t)record->pid,
			.start = record->start,
			.end = record->start + record->size,
			.path = name ? name : record->path,
			.build_id = record->build_id_size ? record->build_id : NULL,
			.build_id_size = record->build_id_size,
			.dev_major = record->dev_major,
			.dev_minor = record->dev_minor,
			.inode = record->inode,
		};

		object = catalog_object(tracker->catalog, &hint);
	}
	scan_describe(object, record->start, record->start + record->size,
		      ret->vdso ? 0 : record->file_off, &ret->mapping);
}

void tracker_want(struct tracker *tracker, uint32_t id)
{
	struct object *object = catalog_at(tracker->catalog, id);

	if (object && tracker->tables)
		tables_want(tracker->tables, object);
}

/* @process is worth tables: those of all it has mapped. */
static void want_process(struct tracker *tracker, struct process *process)
{
	process->wanted = true;
	for (uint32_t i = 0; i < process->mapset->nr; i++)
		tracker_want(tracker, process->mapset->mappings[i].object);
	processes_note(&tracker->processes, process);
}

/* Reads the mappings of @process from /proc; @tid: a thread to ask where the leader has ended. */
static int read_process(struct tracker *tracker, struct process *process, uint32_t tid,
			struct scan_cache *cache, struct fpl_err *err)
{
	struct scan scan;
	int code = scan_process(tracker->catalog, process->pid, tid, cache, &scan, err);

	tracker->nr_scans++;
	if (code)
		return code;
	process->main_object = scan.main_object;
	process->interp_object = scan.interp_object;
	process_scanned(process, scan.set, scan.time_ns);
	if (process->wanted)
		want_process(tracker, process);
	return 0;
}

static int adopt(struct tracker *tracker, uint32_t pid, bool wanted, struct scan_cache *cache,
		 struct fpl_err *err)
{
	struct process *process = processes_get(&tracker->processes, pid);

	if (!process)
		return fpl_fail(err, -ENOMEM, "pid %u: out of memory", pid);
	process->wanted = process->wanted || wanted;

	int code = read_process(tracker, process, pid, cache, err);

	if (code && !process->wanted)
		processes_remove(&tracker->processes, pid);
	return code;
}

/* A process that has just been made by fork; what had the pid before is gone. */
static struct process *begin_child(struct tracker *tracker, uint32_t pid, uint32_t parent_pid)
{
	processes_remove(&tracker->processes, pid);

	struct process *parent = processes_find(&tracker->processes, parent_pid);
	struct process *child = processes_get(&tracker->processes, pid);

	if (child && parent) {
		process_fork(child, parent);
		if (parent->wanted)
			want_process(tracker, child);
	}
	return child;
}

void tracker_sideband(struct tracker *tracker, const struct sideband_record *record,
		      const struct tracked_map *map)
{
	struct process *process;

	switch (record->type) {
	case SIDEBAND_MAP:
		process = processes_get(&tracker->processes, record->pid);
		if (!process || process_map(process, &map->mapping, map->vdso, record->time_ns))
			break;
		processes_note(&tracker->processes, process);
		if (process->wanted)
			tracker_want(tracker, map->mapping.object);
		break;
	case SIDEBAND_EXEC:
		process = processes_get(&tracker->processes, record->pid);
		if (process && process_exec(process))
			process->complete = false;
		if (process) {
			process->exec_pending = true;
			processes_note(&tracker->processes, process);
		}
		break;
	case SIDEBAND_FORK:
		begin_child(tracker, record->pid, record->parent);
		break;
	case SIDEBAND_EXIT:
		process = processes_find(&tracker->processes, record->pid);
		/* of a wanted process the kernel side tells when its last thread has gone */
		if (process && record->pid == record->tid && !process->wanted)
			processes_remove(&tracker->processes, record->pid);
		break;
	case SIDEBAND_CGROUP: /* of no process */
		break;
	case SIDEBAND_LOST:
		tracker->nr_lost += record->nr_lost;
		tracker->rescan_all = true;
		break;
	}
}

static void apply_exec(struct tracker *tracker, const struct fpl_life *life)
{
	struct process *process = processes_get(&tracker->processes, life->tgid);

	if (!process)
		return;
	/* the side-band tells of an exec before the mappings, the kernel side after them */
	if (!process->exec_pending) {
		if (process_exec(process))
			return;
		process->complete = false;
	} else if (process->gen && process->gen != life->gen) {
		process->past_gen = process->gen; /* of a sample taken in between */
	}
	process->exec_pending = false;
	process->gen = life->gen;
	if (tracker->code_names)
		code_names_exec(tracker->code_names, life->tgid, life->gen, life->header.time_ns);
	process->start_ns = life->start_ns;
	process->dirty = true;
	want_process(tracker, process);
}

static void apply_fork(struct tracker *tracker, const struct fpl_life *life)
{
	struct process *child = processes_find(&tracker->processes, life->tgid);

	if (!child || child->gen)
		child = begin_child(tracker, life->tgid, life->parent);
	if (!child)
		return;
	child->gen = life->gen;
	child->start_ns = life->start_ns;
	want_process(tracker, child);
}

void tracker_life(struct tracker *tracker, const struct fpl_life *life)
{
	switch (life->header.type) {
	case FPL_RECORD_EXEC:
		apply_exec(tracker, life);
		break;
	case FPL_RECORD_FORK:
		apply_fork(tracker, life);
		break;
	case FPL_RECORD_EXIT:
		if (tracker->code_names)
			code_names_exit(tracker->code_names, life->tgid);
		processes_remove(&tracker->processes, life->tgid);
		break;
	default:
		break;
	}
}

void tracker_raw(struct tracker *tracker, const struct process *process)
{
	if (process && tracker->code_names)
		code_names_meet(tracker->code_names, process);
}

/* Fills a gap for the image @gen: a scan counts only if that image still runs after it. */
static bool scan_image(struct tracker *tracker, struct process *process, uint64_t gen, uint32_t tid)
{
	struct mapset *before = mapset_get(process->mapset);
	bool was_complete = process->complete;
	bool valid = tracker->kernel_gen(tracker->ctx, process->pid) == gen &&
		     !read_process(tracker, process, tid, NULL, NULL) &&
		     tracker->kernel_gen(tracker->ctx, process->pid) == gen;

	if (!valid && process->mapset != before) {
		mapset_put(process->mapset);
		process->mapset = mapset_get(before);
		process->complete = was_complete;
		process->scanned_ns = 0;
	}
	mapset_put(before);
	return valid;
}

struct process *tracker_sample(struct tracker *tracker, const struct fpl_sample *sample)
{
	struct process *process = processes_get(&tracker->processes, sample->tgid);

	if (!process)
		return NULL;
	if (!process_gen(process, sample->gen)) {
		/* an exec or fork was missed if the kernel side agrees with the sample */
		if (sample->gen == process->past_gen ||
		    tracker->kernel_gen(tracker->ctx, sample->tgid) != sample->gen ||
		    process_exec(process))
			return NULL;
		process->complete = false;
		process->in_exec = false;
		process->gen = sample->gen;
	}
	process->start_ns = sample->start_ns;
	if (!process->wanted)
		want_process(tracker, process);
	processes_note(&tracker->processes, process);
	if (!process->complete && !scan_image(tracker, process, sample->gen, sample->tid))
		return process->mapset->nr ? process : NULL;
	return process;
}

bool tracker_rescan(struct tracker *tracker, struct process *process, uint32_t tid)
{
	if (!process_may_scan(process, clock_monotonic_ns()))
		return false;

	bool was_dirty = process->dirty;

	process->dirty = false;

	bool changed = scan_image(tracker, process, process->gen, tid) && process->dirty;

	process->dirty = was_dirty || changed;
	processes_note(&tracker->processes, process);
	return changed;
}

int tracker_adopt(struct tracker *tracker, uint32_t pid, bool wanted, struct fpl_err *err)
{
	return adopt(tracker, pid, wanted, NULL, err);
}

/* The numbers of all processes; NULL without memory or /proc. The caller frees them. */
static uint32_t *list_pids(size_t *ret_nr)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	uint32_t *pids = NULL;
	size_t nr = 0, capacity = 0;

	while (dir && (entry = readdir(dir))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);

		if (*end || !pid || pid > INT32_MAX)
			continue;
		if (nr == capacity) {
			capacity = capacity ? 2 * capacity : 256;

			uint32_t *bigger = realloc(pids, capacity * sizeof(*pids));

			if (!bigger)
				break;
			pids = bigger;
		}
		pids[nr++] = (uint32_t)pid;
	}
	if (dir)
		closedir(dir);
	*ret_nr = nr;
	return pids;
}

void tracker_adopt_all(struct tracker *tracker)
{
	size_t nr = 0;
	AUTO_FREE uint32_t *pids = list_pids(&nr);
	struct scan_cache *cache = scan_cache_create();

	/* from the youngest, which may be the first to go */
	for (size_t i = nr; i-- > 0;) {
		const struct process *known = processes_find(&tracker->processes, pids[i]);

		bool has_memory;
		char state;

		if (known && known->complete)
			continue;
		/* half of all processes are the kernel's; one that is on a CPU, or waits for one,
		 * will be sampled first */
		state = process_glance((pid_t)pids[i], &has_memory);
		/* what cannot be read is gone, or is no business of ours */
		if (has_memory)
			(void)!adopt(tracker, pids[i], state == 'R', cache, NULL);
	}
	scan_cache_destroy(cache);
}

static void want_one(struct process *process, void *ctx)
{
	if (process->wanted)
		want_process(ctx, process);
}

void tracker_begin_tables(struct tracker *tracker, struct tables *tables)
{
	tracker->tables = tables;
	processes_each(&tracker->processes, want_one, tracker);
}

static void rescan_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	if (!process->wanted || read_process(tracker, process, process->pid, NULL, NULL))
		process->complete = false;
}

/* Where tables were refused, or are no longer. */
static void touch_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	process->dirty = true;
	processes_note(&tracker->processes, process);
}

static void flush_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	process_settles(process, tracker->flushed_ns);
	publisher_publish(tracker->publisher, process);
}

void tracker_flush(struct tracker *tracker)
{
	if (tracker->rescan_all) {
		fpl_log(FPL_LOG_WARN,
			"records of processes were lost (%llu of the side-band, %llu of their "
			"lives so far): reading /proc again",
			(unsigned long long)tracker->nr_lost,
			(unsigned long long)tracker->nr_lives_lost);
		tracker->rescan_all = false;
		processes_each(&tracker->processes, rescan_one, tracker);
	}
	tracker->flushed_ns = clock_monotonic_ns();
	if (tracker->tables && tracker->tables->changed) {
		processes_each(&tracker->processes, touch_one, tracker);
		tracker->tables->changed = false;
	}
	processes_each_changed(&tracker->processes, flush_one, tracker);
}

struct mark {
	struct tracker *tracker;
	uint64_t round;
};

void tracker_mark_mapset(const struct tracker *tracker, const struct mapset *set, uint64_t round)
{
	for (uint32_t i = 0; i < set->nr; i++) {
		struct object *object = catalog_at(tracker->catalog, set->mappings[i].object);

		if (object)
			object->round = round;
	}
}

static void mark_one(struct process *process, void *ctx)
{
	struct mark *mark = ctx;

	tracker_mark_mapset(mark->tracker, process->mapset, mark->round);
}

void tracker_mark_mapped(void *ctx, uint64_t round)
{
	struct mark mark = { .tracker = ctx, .round = round };

	processes_each(&mark.tracker->processes, mark_one, &mark);
}
