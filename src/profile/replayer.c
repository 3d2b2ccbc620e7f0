/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/replayer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/code_reader.h"
#include "profile/record.h"
#include "profile/table_use.h"

struct waiting {
	struct waiting *next;
	struct snapshot *snapshot; /* owned reference */
	struct mapset *set;	   /* owned reference: as it was at the sample's time */
	uint32_t blocker;	   /* id of the object whose table is missing, whole or in part */
	uint32_t nr_published;	   /* that one's: when it is another, it is time to look again */
	size_t charge;		   /* of waiting_bytes */
	uint64_t owner;		   /* whose charge that is */
};

void replayer_init(struct replayer *replayer, const struct replayer_config *config)
{
	*replayer = (struct replayer){ .config = *config };
	replayer->last = &replayer->first;
}

static void waiting_free(struct waiting *waiting)
{
	mapset_put(waiting->set);
	snapshot_put(waiting->snapshot);
	free(waiting);
}

void replayer_fini(struct replayer *replayer)
{
	for (struct waiting *w = replayer->first, *next; w; w = next) {
		next = w->next;
		waiting_free(w);
	}
	replayer->first = NULL;
	replayer->last = &replayer->first;
	replayer->waiting_bytes = 0;
}

struct code_source {
	uint32_t pid;
	const struct mapset *set;
	const struct catalog *catalog;
	struct sleeper_memory *memory; /* of a thread that sleeps */
};

/*
 * replay_input.read_code: from the file, which is what is mapped there; code that was made at run
 * time, and that of a file which may not answer, from the process, if it is still there.
 */
static int read_code(void *arg, uint64_t addr, void *dst, size_t size)
{
	const struct code_source *source = arg;
	const struct fpl_mapping *map = mapset_find(source->set, addr);
	const struct object *object = map ? catalog_at(source->catalog, map->object) : NULL;

	/* data about code made at run time is in no executable mapping */
	if (!object || object->is_remote)
		return code_reader_read((pid_t)source->pid, addr, dst, size);
	return elf_file_read_vaddr(object->elf, addr - map->bias, dst, size, NULL);
}

/* replay_input.read_memory */
static int read_memory(void *arg, uint64_t addr, void *dst, size_t size)
{
	const struct code_source *source = arg;

	return sleeper_memory_read(source->memory, addr, dst, size);
}

/* A stack whose script frames are walked. */
struct sleeper {
	struct replayer *replayer;
	const struct replay_input *input;
	struct intake *intake;
	uint64_t gen;
};

/* Note what the name of a script function is made of, unless the thread has run meanwhile. */
static void add_code(void *arg, uint32_t rule, uint64_t code, uint64_t place)
{
	const struct sleeper *sleeper = arg;
	struct fpl_script_code record;
	size_t size = replay_script_code(sleeper->input, rule, code, place, &record);

	record.gen = sleeper->gen;
	if (size && sleeper_memory_holds(&sleeper->replayer->memory))
		scripts_add_code(sleeper->replayer->config.scripts, sleeper->intake->codes, &record,
				 size);
}

/* May the stack of the thread have frames of an interpreter? */
static bool has_interpreter(const struct replayer *replayer, const struct mapset *set)
{
	for (size_t i = 0; set && i < set->nr; i++) {
		uint32_t slot = set->mappings[i].slot;

		if (slot < replayer->config.nr_objects && replayer->config.objects[slot].script)
			return true;
	}
	return false;
}

/* Is there room for the reads of one more thread of @owner in the visit of @visit_ns? */
static bool may_read(struct replayer *replayer, uint64_t visit_ns, uint64_t owner)
{
	uint64_t max = replayer->config.reads_max;

	if (replayer->visit_ns != visit_ns) {
		replayer->reads = (struct share_book){ 0 };
		replayer->nr_reads = 0;
	}
	replayer->visit_ns = visit_ns;
	return replayer->nr_reads + SLEEPER_READS_MAX <= max &&
	       share_allows(&replayer->reads, owner, SLEEPER_READS_MAX, max);
}

/*
 * Walk @input with the script frames of its thread, which has slept since @record was made, from
 * its memory. Returns false where that is not so, where no interpreter is mapped, or its owner's
 * share of reads is used up: the result is not to be used.
 */
static bool walk_sleeper(struct replayer *replayer, const struct fpl_sample *record,
			 const struct mapset *set, uint64_t owner, struct replay_input *input)
{
	struct sleeper sleeper = { .replayer = replayer,
				   .input = input,
				   .intake = intake_of(replayer->config.intakes,
						       record->header.time_ns),
				   .gen = record->gen };
	struct sleeper_memory *memory = &replayer->memory;
	uint32_t arrivals = record_hole(record)->arrivals;

	if (!arrivals || record->nr_user || !sleeper.intake->codes ||
	    !has_interpreter(replayer, set))
		return false;
	if (!may_read(replayer, record->header.time_ns, owner))
		return false;
	sleeper_memory_begin(memory, (pid_t)record->tgid, (pid_t)record->tid, arrivals);
	input->read_memory = read_memory;
	input->script_rules = scripts_settled(replayer->config.scripts);
	replay_walk(input, &replayer->result);
	scripts_each_new_code(sleeper.intake->codes, record->gen,
			      (const uint64_t *)replayer->result.script, replayer->result.nr_script,
			      add_code, &sleeper);
	share_take(&replayer->reads, owner, memory->nr_reads);
	replayer->nr_reads += memory->nr_reads;
	input->read_memory = NULL;
	input->script_rules = NULL;
	return sleeper_memory_holds(memory);
}

/* @owner: of the process. */
static void walk(struct replayer *replayer, const struct snapshot *snapshot,
		 const struct mapset *set, uint64_t owner)
{
	struct fpl_sample *record = snapshot->sample;
	const struct fpl_regs *regs = record_regs(record);
	struct code_source source = { .pid = record->tgid,
				      .set = set,
				      .catalog = replayer->config.tracker->catalog,
				      .memory = &replayer->memory };
	struct replay_input input = {
		.mappings = set ? set->mappings : NULL,
		.nr_mappings = set ? set->nr : 0,
		.objects = replayer->config.objects,
		.nr_objects = replayer->config.nr_objects,
		.regions = replayer->config.regions,
		.chunks = (const uint8_t *const *)replayer->config.pool->chunks,
		.nr_chunks = replayer->config.pool->nr_chunks,
		.frames = (const __u64 *)record_user(record),
		.nr_frames = record->nr_user,
		.elided = record->elided,
		.regs = regs,
		.hole = *record_hole(record),
		.islands = record_islands(record),
		.stack = record_stack(record),
		.shared = snapshot_shared(snapshot),
		.shared_off = record_shared(record)->off,
		.shared_size = record_shared(record)->size,
		.read_code = set ? read_code : NULL,
		.arg = &source,
		.max_depth = replayer->config.max_depth,
		.root_depth = replayer->config.root_depth,
		.unwind = replayer->config.unwind,
		.origin = FPL_ORIGIN_CFI_USER,
	};

	/* what the kernel side had no mapping for, in both walks */
	if (set)
		record_resolve(record, set);
	replayer->has_memory = walk_sleeper(replayer, record, set, owner, &input);
	if (!replayer->has_memory)
		replay_walk(&input, &replayer->result);
}

static void store_result(struct replayer *replayer, const struct fpl_sample *record)
{
	struct intake *intake = intake_of(replayer->config.intakes, record->header.time_ns);
	const uint64_t *user = (const uint64_t *)replayer->result.frames;
	struct fpl_sample sample = *record;

	sample.nr_user = (uint16_t)replayer->result.nr_frames;
	sample.elided = replayer->result.elided;
	sample.stop = replayer->result.stop;
	sample.flags |= replayer->result.flags;
	if (replayer->config.tracker->tables)
		table_use_note(replayer->config.tracker->catalog, user, sample.nr_user, sample.stop,
			       sample.count, replayer->config.tracker->tables->look);
	sample.nr_script = replayer->result.nr_script;
	if (intake->codes && sample.nr_script)
		user = scripts_weave(replayer->config.scripts, intake->codes, &sample, user,
				     (const uint64_t *)replayer->result.script, &sample.nr_user);
	else if (intake->codes)
		scripts_note_none(replayer->config.scripts, intake->codes, user, sample.nr_user,
				  replayer->has_memory ? FPL_SCRIPT_END_UNKNOWN
						       : FPL_SCRIPT_END_LATE);
	if (stack_store_add(intake->store, &sample, user, record_rest(record)))
		intake_lose(intake, &sample);
	else if (intake->timeline && sample.count)
		timeline_sample(intake->timeline, &sample, stack_store_last(intake->store));
}

/* The object whose missing table, or rows, ended the walk, asked for if need be; NULL: nothing to
 * wait for. */
static struct object *blocker_of(struct replayer *replayer)
{
	const struct replay_result *result = &replayer->result;
	bool lacks = result->stop == FPL_STOP_NO_TABLE || result->open == WALK_OPEN_LATE;

	if (!lacks || !result->nr_frames)
		return NULL;

	uint64_t frame = result->frames[result->nr_frames - 1];
	uint32_t id = (frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX;
	struct object *object =
		frame & FPL_FRAME_RAW ? NULL : catalog_at(replayer->config.tracker->catalog, id);

	if (object)
		tables_need(replayer->config.tracker->tables, object, frame & FPL_FRAME_VADDR_MASK);
	return object && table_state_is_awaited(&object->table) ? object : NULL;
}

/* Whom a snapshot is charged to: the owner of its process or, if that has gone, of its file. */
static uint64_t owner_of(struct process *process, const struct object *blocker)
{
	uint64_t owner = process_owner(process);

	return owner != OWNER_UNKNOWN ? owner : blocker->owner;
}

/* May so many bytes more wait? Says once for each reason that they may not. */
static bool has_room(struct replayer *replayer, uint64_t owner, size_t charge)
{
	size_t max = replayer->config.waiting_max;

	if (!share_allows(&replayer->waiting_of, owner, charge, max)) {
		char text[OWNER_TEXT_SIZE];

		if (replayer->nr_beyond_share++ == 0)
			fpl_log(FPL_LOG_WARN,
				"snapshots: %.1f MiB of %s wait for tables, half of what may: the "
				"others of that owner are burst: more --ring-memory",
				(double)share_of(max) / (1 << 20), owner_text(owner, text));
		return false;
	}
	if (replayer->waiting_bytes + charge <= max)
		return true;
	if (replayer->nr_overflows++ == 0)
		fpl_log(FPL_LOG_WARN,
			"snapshots: more than %zu MiB wait for tables: the others are "
			"burst: more --ring-memory",
			max >> 20);
	return false;
}

/* Puts the snapshot in the queue; on failure nothing was taken over. */
static int wait_for(struct replayer *replayer, struct snapshot *snapshot, struct process *process,
		    const struct object *blocker)
{
	struct mapset *set = process->mapset;
	size_t charge = snapshot_bytes(snapshot) + sizeof(struct waiting);

	/* what it shares is kept for it; mostly with the one before it, too */
	if (snapshot->last && snapshot->last != replayer->last_shared)
		charge += snapshot_bytes(snapshot->last);
	/* each version of a process's mappings that is kept for its snapshots costs memory, too */
	if (set != replayer->last_set)
		charge += set->nr * sizeof(*set->mappings);

	uint64_t owner = owner_of(process, blocker);

	if (!has_room(replayer, owner, charge)) {
		share_take(&replayer->refused, owner, 1);
		return -ENOSPC;
	}

	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return -ENOMEM;
	waiting->snapshot = snapshot;
	waiting->set = mapset_get(set);
	waiting->blocker = blocker->id;
	waiting->nr_published = blocker->table.nr_published;
	waiting->charge = charge;
	waiting->owner = owner;
	replayer->last_set = set;
	replayer->last_shared = snapshot->last;
	*replayer->last = waiting;
	replayer->last = &waiting->next;
	replayer->waiting_bytes += charge;
	share_take(&replayer->waiting_of, owner, charge);
	return 0;
}

void replayer_add(struct replayer *replayer, struct snapshot *snapshot, struct tracker_try *try)
{
	struct fpl_sample *record = snapshot->sample;
	struct process *process = tracker_sample(replayer->config.tracker, record, try);
	uint64_t owner =
		process && record_hole(record)->arrivals ? process_owner(process) : OWNER_UNKNOWN;

	if (try->waits)
		return;
	walk(replayer, snapshot, process ? process->mapset : NULL, owner);
	if (process &&
	    (replayer->result.stop == FPL_STOP_NO_MAPPING ||
	     replayer->result.stop == FPL_STOP_BAD_RA) &&
	    tracker_rescan(replayer->config.tracker, process, record->tid, try))
		walk(replayer, snapshot, process->mapset, owner);
	if (try->waits)
		return;

	/* in execve, between the new memory and the new registers: the old pc is in no mapping */
	if (process && process->exec_pending && replayer->result.stop == FPL_STOP_NO_MAPPING &&
	    replayer->result.nr_frames <= 1) {
		replayer->result.stop = FPL_STOP_EXECING;
		replayer->result.nr_frames = 0;
	}

	if (replayer->result.flags & FPL_SAMPLE_RAW)
		tracker_raw(replayer->config.tracker, process, record->gen,
			    (const uint64_t *)replayer->result.frames, replayer->result.nr_frames);

	struct object *blocker = process ? blocker_of(replayer) : NULL;

	if (blocker && !wait_for(replayer, snapshot, process, blocker))
		return;
	if (blocker && blocker->table.phase == TABLE_PARTIAL && !blocker->table.is_late) {
		tables_wait_no_more(replayer->config.tracker->tables, blocker);
		walk(replayer, snapshot, process->mapset, owner);
	}
	if (blocker && replayer->result.stop == FPL_STOP_NO_TABLE)
		replayer->result.stop = FPL_STOP_BURST;
	store_result(replayer, record);
	snapshot_put(snapshot);
}

/* The result at hand is that of the one at @link. */
static void take_out(struct replayer *replayer, struct waiting **link)
{
	struct waiting *waiting = *link;

	store_result(replayer, waiting->snapshot->sample);
	*link = waiting->next;
	replayer->waiting_bytes -= waiting->charge;
	share_give_back(&replayer->waiting_of, waiting->owner, waiting->charge);
	waiting_free(waiting);
}

void replayer_retry(struct replayer *replayer)
{
	struct waiting **link = &replayer->first;

	while (*link) {
		struct waiting *waiting = *link;
		const struct object *blocker =
			catalog_at(replayer->config.tracker->catalog, waiting->blocker);

		if (blocker && table_state_is_awaited(&blocker->table) &&
		    blocker->table.nr_published == waiting->nr_published) {
			link = &waiting->next;
			continue;
		}
		walk(replayer, waiting->snapshot, waiting->set, waiting->owner);
		blocker = blocker_of(replayer);
		if (blocker) {
			waiting->blocker = blocker->id;
			waiting->nr_published = blocker->table.nr_published;
			link = &waiting->next;
			continue;
		}
		take_out(replayer, link);
	}
	replayer->last = link;
}

static bool was_before(const struct waiting *waiting, uint64_t before_ns)
{
	return waiting->snapshot->sample->header.time_ns < before_ns;
}

bool replayer_has_samples(const struct replayer *replayer, uint64_t before_ns)
{
	for (const struct waiting *w = replayer->first; w; w = w->next)
		if (was_before(w, before_ns))
			return true;
	return false;
}

void replayer_settle(struct replayer *replayer, uint64_t before_ns)
{
	struct waiting **link = &replayer->first;

	while (*link) {
		struct waiting *waiting = *link;

		if (!was_before(waiting, before_ns)) {
			link = &waiting->next;
			continue;
		}
		walk(replayer, waiting->snapshot, waiting->set, waiting->owner);
		take_out(replayer, link);
	}
	replayer->last = link;
}

void replayer_mark_mapped(struct replayer *replayer, uint64_t round)
{
	for (struct waiting *w = replayer->first; w; w = w->next)
		tracker_mark_mapset(replayer->config.tracker, w->set, round);
}

void replayer_finish(struct replayer *replayer)
{
	for (struct waiting *w = replayer->first; w; w = w->next) {
		walk(replayer, w->snapshot, w->set, w->owner);
		store_result(replayer, w->snapshot->sample);
	}
	replayer_fini(replayer);
}
