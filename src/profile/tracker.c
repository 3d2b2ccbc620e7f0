/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tracker.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vector.h"
#include "proc/code_place.h"
#include "proc/owner.h"
#include "proc/thread.h"
#include "profile/code_names.h"
#include "profile/lookups.h"
#include "profile/scan.h"

/* Between two reports of frames in no object; the code names look again less often. */
#define RAW_PAUSE_NS (100 * NS_PER_MS)

static void retire_run(void *ctx, const struct run *run)
{
	struct tracker *tracker = ctx;

	if (tracker->publisher)
		publisher_retire(tracker->publisher, run);
}

int tracker_init(struct tracker *tracker, struct catalog *catalog, struct code_names *code_names)
{
	*tracker = (struct tracker){ .catalog = catalog, .code_names = code_names };
	return processes_init(&tracker->processes, retire_run, tracker);
}

void tracker_fini(struct tracker *tracker)
{
	code_orders_destroy(tracker->codes);
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

void tracker_told(struct tracker *tracker, const struct fpl_life *life)
{
	if (life->header.type == FPL_RECORD_EXEC)
		tracker->execs[life->tgid % TRACKER_EXECS] =
			(struct told_exec){ .time_ns = life->header.time_ns,
					    .cgroup = life->cgroup,
					    .pid = life->tgid,
					    .euid = life->euid };
}

/*
 * Whose turn it takes to look at a file that process @pid mapped at @time_ns. What the exec itself
 * has mapped is its image's, whose owner the kernel side told with it. Later the process may have
 * another, so it is asked anew: what is kept may be the owner of the image before, since the exec
 * may still wait for an answer.
 */
static uint64_t owner_of(const struct tracker *tracker, uint32_t pid, uint64_t time_ns)
{
	const struct told_exec *exec = &tracker->execs[pid % TRACKER_EXECS];
	uint64_t owner = exec->pid == pid && exec->time_ns >= time_ns
				 ? owner_of_exec((pid_t)pid, exec->euid, exec->cgroup)
				 : owner_of_process((pid_t)pid);
	struct process *process =
		owner == OWNER_UNKNOWN ? processes_find(&tracker->processes, pid) : NULL;

	return process ? process_owner(process) : owner;
}

/* Begins to look up the file behind @ret, which was mapped at @time_ns. */
static void ask_file(struct tracker *tracker, const struct file_hint *hint, uint64_t time_ns,
		     struct tracked_map *ret)
{
	uint64_t owner = owner_of(tracker, (uint32_t)hint->pid, time_ns);

	if (lookups_file(tracker->lookups, hint, ret->vdso, owner, &ret->lookup))
		fpl_log(FPL_LOG_WARN, "%s: out of memory: its frames stay addresses", hint->path);
	ret->has_owner = true;
	ret->owner = owner;
}

/* The object behind a new mapping; NULL, and ret->lookup: it is being looked up. */
static struct object *find_object(struct tracker *tracker, const struct file_hint *hint,
				  uint64_t time_ns, struct tracked_map *ret)
{
	struct object *object = NULL;
	bool vdso = ret->vdso;

	if (!tracker->lookups)
		return vdso ? catalog_vdso(tracker->catalog)
			    : catalog_object(tracker->catalog, hint);
	if (vdso && tracker->has_vdso)
		return tracker->vdso;
	if (!vdso)
		object = catalog_known(tracker->catalog, hint, tracker->drained_ns);
	if (!object)
		ask_file(tracker, hint, time_ns, ret);
	return object;
}

void tracker_resolve(struct tracker *tracker, const struct sideband_record *record,
		     struct tracked_map *ret)
{
	AUTO_FREE char *name = unmarked(record->path);
	bool vdso = strcmp(record->path, "[vdso]") == 0;
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
		.owner = OWNER_UNKNOWN,
	};
	struct object *object = NULL;

	*ret = (struct tracked_map){ .vdso = vdso, .file_off = vdso ? 0 : record->file_off };
	if (vdso || (scan_is_file(record->path) && !code_place_is_dump(record->path)))
		object = find_object(tracker, &hint, record->time_ns, ret);
	scan_describe(object, hint.start, hint.end, ret->file_off, &ret->mapping);
	if (scan_is_shared(record->path))
		ret->mapping.flags |= FPL_MAPPING_SHARED;
}

bool tracker_settle(struct tracked_map *map, bool is_last)
{
	struct lookup *lookup = map->lookup;

	if (!lookup)
		return true;
	if (!lookup->is_done && !is_last)
		return false;
	if (lookup->is_done) {
		scan_describe(lookup->file.object, map->mapping.start, map->mapping.end,
			      map->file_off, &map->mapping);
		lookup_free(lookup);
	}
	map->lookup = NULL;
	return true;
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
	run_time_ask(&tracker->run_times, process);
	processes_note(&tracker->processes, process);
}

static void take_scan(struct tracker *tracker, struct process *process, const struct scan *scan)
{
	process->main_object = scan->main_object;
	process->interp_object = scan->interp_object;
	process_scanned(process, scan->set, scan->time_ns);
	if (process->wanted)
		want_process(tracker, process);
}

/* Reads the mappings of @process from /proc; @tid: a thread to ask where the leader has ended. */
static int read_process(struct tracker *tracker, struct process *process, uint32_t tid,
			struct scan_cache *cache, struct fpl_err *err)
{
	struct scan scan;
	int code = scan_process(tracker->catalog, process->pid, tid, cache, &scan, err);

	tracker->nr_scans++;
	if (!code)
		take_scan(tracker, process, &scan);
	return code;
}

/* Begins to look up what @process has mapped while it runs image @gen. */
static bool ask_process(struct tracker *tracker, struct process *process, uint32_t tid,
			uint64_t gen)
{
	if (lookups_process(tracker->lookups, process->pid, tid, gen, process_owner(process)))
		return false;
	tracker->nr_scans++;
	tracker->nr_waiting += !process->nr_lookups++;
	return true;
}

static bool has_retired(const struct sighting *sighting)
{
	for (size_t i = 0; i < sighting->maps.nr; i++) {
		const struct object *object = sighting->maps.list[i].object;

		if (object && object->is_retired)
			return true;
	}
	return false;
}

/* The sighting counts only if the image still runs that ran before. */
static void take_process(struct tracker *tracker, struct lookup *lookup)
{
	struct process *process = processes_find(&tracker->processes, lookup->process.pid);
	uint64_t gen = lookup->process.gen;
	bool counts = process && !lookup->process.code &&
		      (!gen || tracker->kernel_gen(tracker->ctx, process->pid) == gen);
	struct scan scan;

	if (!process || !process->nr_lookups)
		return;
	tracker->nr_waiting -= !--process->nr_lookups;
	if (counts && has_retired(&lookup->process.sighting)) {
		/* it was found before the finder heard that it is to be forgotten */
		(void)ask_process(tracker, process, lookup->process.tid, gen);
		return;
	}
	if (counts && !scan_take(&lookup->process.sighting, tracker->catalog, &scan))
		take_scan(tracker, process, &scan);
	processes_note(&tracker->processes, process);
}

static void take_file(struct tracker *tracker, struct lookup *lookup)
{
	struct object *object = lookup->file.object;
	const struct process *process =
		processes_find(&tracker->processes, (uint32_t)lookup->file.hint.pid);

	if (object && object->is_retired) {
		lookups_again(tracker->lookups, lookup);
		return;
	}
	object = lookup->file.object = catalog_admit(tracker->catalog, object);
	if (lookup->file.vdso) {
		tracker->has_vdso = true;
		tracker->vdso = object;
	}
	if (!object || !process || !process->wanted)
		return;
	if (lookup->file.table && tracker->tables)
		tables_want_made(tracker->tables, object, TAKE_PTR(lookup->file.table));
	else
		tracker_want(tracker, object->id);
}

static void take_jvm(struct tracker *tracker, const struct lookup *lookup)
{
	struct process *process = processes_find(&tracker->processes, lookup->jvm.pid);

	run_time_take(&tracker->run_times, process, lookup);
	if (process)
		processes_note(&tracker->processes, process);
}

static void tell_code_names(struct tracker *tracker, const struct code_event *event)
{
	if (tracker->code_names && tracker->lookups)
		lookups_code(tracker->lookups, event);
	else if (tracker->code_names)
		code_names_tell(tracker->code_names, event);
}

static void take_made(struct tracker *tracker, const struct lookup *lookup)
{
	struct process *process = processes_find(&tracker->processes, lookup->made.pid);

	run_time_take_made(&tracker->run_times, process, lookup);
	if (!process)
		return;
	processes_note(&tracker->processes, process);
	if (!process->registers || lookup->made.code || !process->gen)
		return;
	process->has_raw = true;
	tell_code_names(tracker, &(struct code_event){ .kind = CODE_LISTED,
						       .pid = process->pid,
						       .gen = process->gen,
						       .parent_gen = process->parent_gen,
						       .start_ns = process->start_ns,
						       .names_base = process->names_base,
						       .time_ns = process->asked_made_ns });
}

static void take_codes(struct tracker *tracker, struct lookup *lookup)
{
	code_orders_destroy(tracker->codes);
	tracker->codes = TAKE_PTR(lookup->codes.orders);
	tracker->codes_after = lookup->codes.number + 1;
}

bool tracker_has_codes(const struct tracker *tracker, uint64_t number)
{
	return tracker->codes_after == number + 1;
}

struct code_orders *tracker_take_codes(struct tracker *tracker, uint64_t number)
{
	return tracker_has_codes(tracker, number) ? TAKE_PTR(tracker->codes) : NULL;
}

void tracker_take_answers(struct tracker *tracker)
{
	struct lookup *lookup;

	while (tracker->lookups && (lookup = lookups_take(tracker->lookups))) {
		tracker->nr_answers++;
		if (lookup->kind == LOOKUP_FILE) {
			take_file(tracker, lookup); /* the event that waits for it frees it */
			continue;
		}
		if (lookup->kind == LOOKUP_PROCESS)
			take_process(tracker, lookup);
		else if (lookup->kind == LOOKUP_JVM)
			take_jvm(tracker, lookup);
		else if (lookup->kind == LOOKUP_MADE)
			take_made(tracker, lookup);
		else if (lookup->kind == LOOKUP_CODES)
			take_codes(tracker, lookup);
		else if (lookup->kind == LOOKUP_FORGET)
			catalog_free(tracker->catalog, lookup->forget.objects, lookup->forget.nr);
		lookup_free(lookup);
	}
}

bool tracker_is_waiting(const struct tracker *tracker, uint32_t pid)
{
	const struct process *process =
		tracker->nr_waiting ? processes_find(&tracker->processes, pid) : NULL;

	return process && process->nr_lookups;
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

/* A process that was made by fork at @time_ns; what had the pid before is gone. */
static struct process *begin_child(struct tracker *tracker, uint32_t pid, uint32_t parent_pid,
				   uint64_t time_ns)
{
	processes_remove(&tracker->processes, pid);

	struct process *parent = processes_find(&tracker->processes, parent_pid);
	struct process *child = processes_get(&tracker->processes, pid);

	if (child && parent) {
		process_fork(child, parent, time_ns);
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
		if (process && map->has_owner)
			process_tell_owner(process, map->owner);
		if (!process)
			break;
		/* a region that ends here must not become the mapping's */
		run_time_mapped(&tracker->run_times, process, &map->mapping);
		if (process_map(process, &map->mapping, map->vdso, record->time_ns))
			break;
		processes_note(&tracker->processes, process);
		if (process->wanted) {
			tracker_want(tracker, map->mapping.object);
			run_time_ask(&tracker->run_times, process);
		}
		break;
	case SIDEBAND_EXEC:
		process = processes_get(&tracker->processes, record->pid);
		if (process)
			run_time_forget(&tracker->run_times, process);
		if (process && process_exec(process))
			process->complete = false;
		if (process) {
			process->exec_pending = true;
			processes_note(&tracker->processes, process);
		}
		break;
	case SIDEBAND_FORK:
		begin_child(tracker, record->pid, record->parent, record->time_ns);
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
		run_time_forget(&tracker->run_times, process);
		if (process_exec(process))
			return;
		process->complete = false;
	} else if (process->gen && process->gen != life->gen) {
		process->past_gen = process->gen; /* of a sample taken in between */
	}
	process->exec_pending = false;
	process->gen = life->gen;
	if (process->has_raw)
		tell_code_names(tracker, &(struct code_event){ .kind = CODE_EXEC,
							       .pid = life->tgid,
							       .gen = life->gen,
							       .time_ns = life->header.time_ns });
	process->start_ns = life->start_ns;
	process->dirty = true;
	want_process(tracker, process);
}

static void apply_fork(struct tracker *tracker, const struct fpl_life *life)
{
	struct process *child = processes_find(&tracker->processes, life->tgid);

	if (!child || child->gen)
		child = begin_child(tracker, life->tgid, life->parent, life->header.time_ns);
	if (!child)
		return;
	child->gen = life->gen;
	child->start_ns = life->start_ns;
	want_process(tracker, child);
}

static void apply_exit(struct tracker *tracker, uint32_t pid)
{
	struct process *process = processes_find(&tracker->processes, pid);

	if (process && process->has_raw)
		tell_code_names(tracker, &(struct code_event){ .kind = CODE_EXIT, .pid = pid });
	if (process)
		run_time_forget(&tracker->run_times, process);
	processes_remove(&tracker->processes, pid);
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
		apply_exit(tracker, life->tgid);
		break;
	default:
		break;
	}
}

void tracker_raw(struct tracker *tracker, struct process *process, uint64_t gen,
		 const uint64_t *frames, size_t nr)
{
	uint64_t now = clock_monotonic_ns();

	if (process) {
		run_time_ask(&tracker->run_times, process);
		if (process->dirty)
			processes_note(&tracker->processes, process);
		if (process->names_base && tracker->code_names)
			code_names_meet(tracker->code_names, gen, frames, nr);
	}
	if (!process || !process->gen || now < process->next_raw_ns)
		return;
	process->next_raw_ns = now + RAW_PAUSE_NS;
	process->has_raw = true;
	tell_code_names(tracker, &(struct code_event){ .kind = CODE_MET,
						       .pid = process->pid,
						       .gen = process->gen,
						       .parent_gen = process->parent_gen,
						       .start_ns = process->start_ns,
						       .names_base = process->names_base });
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

/* Fills a gap, or begins to. Returns whether it is filled. */
static bool fill_gap(struct tracker *tracker, struct process *process,
		     const struct fpl_sample *sample, struct tracker_try *try)
{
	if (!tracker->lookups)
		return scan_image(tracker, process, sample->gen, sample->tid);
	if (try->has_scanned || try->is_last ||
	    tracker->kernel_gen(tracker->ctx, process->pid) != sample->gen)
		return false;
	try->has_scanned = true;
	try->waits = ask_process(tracker, process, sample->tid, sample->gen);
	return false;
}

struct process *tracker_sample(struct tracker *tracker, const struct fpl_sample *sample,
			       struct tracker_try *try)
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
	if (!process->complete && !fill_gap(tracker, process, sample, try))
		return process->mapset->nr ? process : NULL;
	return process;
}

bool tracker_rescan(struct tracker *tracker, struct process *process, uint32_t tid,
		    struct tracker_try *try)
{
	if (try->has_rescanned || try->is_last || !process_may_scan(process, clock_monotonic_ns()))
		return false;
	if (tracker->lookups) {
		try->has_rescanned = true;
		try->waits = ask_process(tracker, process, tid, process->gen);
		return false;
	}

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

struct pid_list {
	VECTOR(uint32_t) pids;
};

/* Lists the numbers of all processes, as far as there is memory. */
static void list_pids(struct pid_list *ret)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end;
		unsigned long pid = strtoul(entry->d_name, &end, 10);

		if (*end || !pid || pid > INT32_MAX)
			continue;
		if (vector_push(&ret->pids, (uint32_t)pid))
			break;
	}
	if (dir)
		closedir(dir);
}

void tracker_adopt_all(struct tracker *tracker)
{
	struct pid_list list = { 0 };
	struct scan_cache *cache = scan_cache_create();

	list_pids(&list);
	/* from the youngest, which may be the first to go */
	for (size_t i = list.pids.nr; i-- > 0;) {
		uint32_t pid = list.pids.list[i];
		const struct process *known = processes_find(&tracker->processes, pid);

		bool has_memory;
		char state;

		if (known && known->complete)
			continue;
		/* half of all processes are the kernel's; one that is on a CPU, or waits for one,
		 * will be sampled first */
		state = process_glance((pid_t)pid, &has_memory);
		/* what cannot be read is gone, or is no business of ours */
		if (has_memory)
			(void)!adopt(tracker, pid, state == 'R', cache, NULL);
	}
	vector_fini(&list.pids);
	scan_cache_destroy(cache);
}

static void want_one(struct process *process, void *ctx)
{
	if (process->wanted)
		want_process(ctx, process);
}

void tracker_begin(struct tracker *tracker, const struct tracker_links *links)
{
	tracker->tables = links->tables;
	tracker->publisher = links->publisher;
	tracker->lookups = links->lookups;
	tracker->run_times = (struct run_times){ .catalog = tracker->catalog,
						 .lookups = links->lookups,
						 .regions = links->regions,
						 .scripts = links->scripts };
	tracker->kernel_gen = links->kernel_gen;
	tracker->ctx = links->ctx;
	processes_each(&tracker->processes, want_one, tracker);
}

void tracker_end_lookups(struct tracker *tracker)
{
	tracker->lookups = NULL;
	tracker->run_times.lookups = NULL;
}

static void rescan_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	process->complete = false;
	if (process->wanted && tracker->lookups)
		(void)ask_process(tracker, process, process->pid, process->gen);
	else if (process->wanted)
		(void)!read_process(tracker, process, process->pid, NULL, NULL);
}

/* Mark processes whose tables were refused, or are gone, or tell how made code is walked. */
static void touch_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	if (process->wanted)
		run_time_ask(&tracker->run_times, process);
	process->dirty = true;
	processes_note(&tracker->processes, process);
}

static void flush_one(struct process *process, void *ctx)
{
	struct tracker *tracker = ctx;

	process_settles(process, tracker->flushed_ns);
	if (process->asks_again && process->maker == PROCESS_MAKER_UNKNOWN)
		run_time_ask(&tracker->run_times, process);
	if (process->dirty)
		process_place_regions(process);
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
	if (tracker->tables && tracker->tables->changed) {
		processes_each(&tracker->processes, touch_one, tracker);
		tracker->tables->changed = false;
	}
	if (!tracker->processes.changed)
		return; /* as after many rounds */
	tracker->flushed_ns = clock_monotonic_ns();
	processes_each_changed(&tracker->processes, flush_one, tracker);
}

bool tracker_asks_again(const struct tracker *tracker)
{
	for (const struct process *p = tracker->processes.changed; p; p = p->next_changed)
		if (p->asks_again)
			return true;
	return false;
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
