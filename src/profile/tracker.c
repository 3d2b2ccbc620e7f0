/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tracker.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/proc_maps.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

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

/* Describes the mapping [start, end) of @object at @file_off; anonymous if that makes no sense. */
static void describe(const struct object *object, uint64_t start, uint64_t end, uint64_t file_off,
		     struct fpl_mapping *ret)
{
	uint64_t bias;

	*ret = (struct fpl_mapping){ .start = start, .end = end, .flags = FPL_MAPPING_ANON };
	if (!object || elf_file_bias(object->elf, start, file_off, &bias))
		return;
	/* a frame has room for 40 bits: a mapping of other addresses is not this object's code */
	if (end - bias > FPL_FRAME_VADDR_MASK || start - bias > end - bias)
		return;
	ret->bias = bias;
	ret->object = object->id;
	ret->slot = object->slot;
	ret->flags = 0;
}

static bool is_file_path(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

void tracker_resolve(struct tracker *tracker, const struct sideband_record *record,
		     struct tracked_map *ret)
{
	struct object *object = NULL;

	ret->vdso = strcmp(record->path, "[vdso]") == 0;
	if (ret->vdso) {
		object = catalog_vdso(tracker->catalog);
	} else if (is_file_path(record->path)) {
		struct file_hint hint = {
			.pid = (pid_t)record->pid,
			.start = record->start,
			.end = record->start + record->size,
			.path = record->path,
			.build_id = record->build_id_size ? record->build_id : NULL,
			.build_id_size = record->build_id_size,
			.dev_major = record->dev_major,
			.dev_minor = record->dev_minor,
			.inode = record->inode,
		};

		object = catalog_object(tracker->catalog, &hint);
	}
	describe(object, record->start, record->start + record->size,
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
		if (process->wanted)
			tracker_want(tracker, map->mapping.object);
		break;
	case SIDEBAND_EXEC:
		process = processes_get(&tracker->processes, record->pid);
		if (process && process_exec(process))
			process->complete = false;
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
	/* gen is 0 if the side-band told of the exec, as it does before the mappings */
	if (process->gen && process->gen != life->gen) {
		if (process_exec(process))
			return;
		process->complete = false;
	}
	process->gen = life->gen;
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
		processes_remove(&tracker->processes, life->tgid);
		break;
	default:
		break;
	}
}

struct scan {
	struct tracker *tracker;
	uint32_t pid;
	uint64_t entry, interp_base; /* AT_ENTRY, AT_BASE */
	uint32_t main_object, interp_object;
	struct mapset *set; /* owned */
};

/* proc_maps_fn */
static int scan_map(const struct proc_map *map, void *ctx)
{
	struct scan *scan = ctx;
	struct object *object = NULL;
	struct fpl_mapping mapping;
	bool vdso = strcmp(map->path, "[vdso]") == 0;

	if (!map->executable)
		return 0;
	if (vdso) {
		object = catalog_vdso(scan->tracker->catalog);
	} else if (map->inode && is_file_path(map->path)) {
		struct file_hint hint = {
			.pid = (pid_t)scan->pid,
			.start = map->start,
			.end = map->end,
			.path = map->path,
			.dev_major = map->dev_major,
			.dev_minor = map->dev_minor,
			.inode = map->inode,
		};

		object = catalog_object(scan->tracker->catalog, &hint);
	}
	describe(object, map->start, map->end, vdso ? 0 : map->file_off, &mapping);
	if (mapping.object && scan->entry >= map->start && scan->entry < map->end)
		scan->main_object = mapping.object;
	/* the interpreter's first PT_LOAD is at vaddr 0, so its base is its bias */
	if (mapping.object && scan->interp_base && mapping.bias == scan->interp_base)
		scan->interp_object = mapping.object;

	int code = mapset_add(&scan->set, &mapping);

	return code == -E2BIG ? 0 : code;
}

/* AT_ENTRY and AT_BASE of /proc/PID/auxv, 0 where they cannot be had. */
static void read_auxv(struct scan *scan)
{
	char path[64];
	Elf64_auxv_t aux[64];

	snprintf(path, sizeof(path), "/proc/%u/auxv", scan->pid);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, aux, sizeof(aux));

	for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(aux[0]); i++) {
		if (aux[i].a_type == AT_ENTRY)
			scan->entry = aux[i].a_un.a_val;
		else if (aux[i].a_type == AT_BASE)
			scan->interp_base = aux[i].a_un.a_val;
	}
}

static void flag_main_and_interp(struct scan *scan)
{
	for (uint32_t i = 0; i < scan->set->nr; i++) {
		struct fpl_mapping *map = &scan->set->mappings[i];

		if (map->object && map->object == scan->main_object)
			map->flags |= FPL_MAPPING_MAIN;
		if (map->object && map->object == scan->interp_object)
			map->flags |= FPL_MAPPING_INTERP;
	}
}

/* Reads the mappings of @process from /proc; @tid: a thread to ask where the leader has ended. */
static int scan_process(struct tracker *tracker, struct process *process, uint32_t tid,
			struct fpl_err *err)
{
	struct scan scan = { .tracker = tracker, .pid = process->pid, .set = mapset_create() };
	uint64_t time_ns = now_ns();

	if (!scan.set)
		return fpl_fail(err, -ENOMEM, "pid %u: out of memory", process->pid);
	read_auxv(&scan);

	int code = proc_maps_read((pid_t)process->pid, scan_map, &scan, err);

	if (code == -ENODATA && tid != process->pid) {
		scan.pid = tid;
		read_auxv(&scan);
		code = proc_maps_read((pid_t)tid, scan_map, &scan, err);
	}
	tracker->nr_scans++;
	if (code) {
		mapset_put(scan.set);
		return code;
	}
	flag_main_and_interp(&scan);
	process->main_object = scan.main_object;
	process->interp_object = scan.interp_object;
	process_scanned(process, scan.set, time_ns);
	if (process->wanted)
		want_process(tracker, process);
	return 0;
}

/* Fills a gap for the image @gen: a scan counts only if that image still runs after it. */
static bool scan_image(struct tracker *tracker, struct process *process, uint64_t gen, uint32_t tid)
{
	struct mapset *before = mapset_get(process->mapset);
	bool was_complete = process->complete;
	bool valid = tracker->kernel_gen(tracker->ctx, process->pid) == gen &&
		     !scan_process(tracker, process, tid, NULL) &&
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
	if (!process->complete && !scan_image(tracker, process, sample->gen, sample->tid))
		return process->mapset->nr ? process : NULL;
	return process;
}

bool tracker_rescan(struct tracker *tracker, struct process *process, uint32_t tid)
{
	if (!process_may_scan(process, now_ns()))
		return false;

	bool was_dirty = process->dirty;

	process->dirty = false;

	bool changed = scan_image(tracker, process, process->gen, tid) && process->dirty;

	process->dirty = was_dirty || changed;
	return changed;
}

int tracker_adopt(struct tracker *tracker, uint32_t pid, bool wanted, struct fpl_err *err)
{
	struct process *process = processes_get(&tracker->processes, pid);

	if (!process)
		return fpl_fail(err, -ENOMEM, "pid %u: out of memory", pid);
	process->wanted = process->wanted || wanted;

	int code = scan_process(tracker, process, pid, err);

	if (code && !wanted)
		processes_remove(&tracker->processes, pid);
	return code;
}

void tracker_adopt_all(struct tracker *tracker)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);
		const struct process *known;

		if (*end || !pid || pid > INT32_MAX)
			continue;
		known = processes_find(&tracker->processes, (uint32_t)pid);
		/* what cannot be read is gone, or is no business of ours */
		if (!known || !known->complete)
			(void)!tracker_adopt(tracker, (uint32_t)pid, false, NULL);
	}
	if (dir)
		closedir(dir);
}

static void rescan_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	if (!process->wanted || scan_process(tracker, process, process->pid, NULL))
		process->complete = false;
}

static void flush_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	if ((tracker->tables && tracker->tables->changed) ||
	    process_settles(process, tracker->flushed_ns))
		process->dirty = true;
	if (process->wanted)
		publisher_publish(tracker->publisher, process);
}

void tracker_flush(struct tracker *tracker)
{
	if (tracker->rescan_all) {
		fpl_log(FPL_LOG_WARN, "side-band: %llu records lost so far: reading /proc again",
			(unsigned long long)tracker->nr_lost);
		tracker->rescan_all = false;
		processes_each(&tracker->processes, rescan_one, tracker);
	}
	tracker->flushed_ns = now_ns();
	processes_each(&tracker->processes, flush_one, tracker);
	if (tracker->tables)
		tracker->tables->changed = false;
}

struct mark {
	struct tracker *tracker;
	uint64_t round;
};

static void mark_one(struct process *process, void *ctx)
{
	struct mark *mark = ctx;

	for (uint32_t i = 0; i < process->mapset->nr; i++) {
		struct object *object =
			catalog_at(mark->tracker->catalog, process->mapset->mappings[i].object);

		if (object)
			object->round = mark->round;
	}
}

void tracker_mark_mapped(void *ctx, uint64_t round)
{
	struct mark mark = { .tracker = ctx, .round = round };

	processes_each(&mark.tracker->processes, mark_one, &mark);
}
