/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/run_time.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "profile/catalog.h"
#include "profile/code_maker.h"
#include "profile/object.h"
#include "profile/scripts.h"

_Static_assert(MADE_PIECES_MAX >= HOTSPOT_HEAPS_MAX + HOTSPOT_STUBS_MAX, "a JVM has room for all");
_Static_assert(PROCESS_REGIONS_MAX > MADE_PIECES_MAX, "a process has room for those and sljit's");

/* A JVM that begins is asked again after this, and each time after half as much more: it is known a
 * third of its age late at most. */
#define PAUSE_MIN_NS (4 * NS_PER_MS)
#define PAUSE_MAX_NS NS_PER_S

/* A JVM whose compilers have not begun is asked again after so much more. */
#define PAUSE_STUBS_NS (64 * NS_PER_MS)

/* Code is registered so late at most after it was mapped: until then it is looked for without a
 * sample in it. */
#define LATE_MAX_NS (100 * NS_PER_MS)

/* The rule by which all code that @process makes has script frames; 0: none. */
static uint32_t script_rule(const struct run_times *times, const struct process *process)
{
	const struct mapset *set = process->mapset;
	uint32_t object, rule = 0;

	while (times->scripts && (rule = scripts_next_native(times->scripts, rule, &object))) {
		for (uint32_t i = 0; i < set->nr; i++) {
			if (set->mappings[i].object == object)
				return rule;
		}
	}
	return 0;
}

static void place_script_region(const struct run_times *times, struct process *process,
				uint32_t rule)
{
	const struct fpl_region region = { .kind = FPL_REGION_SCRIPT,
					   .end = FPL_REGION_END_MAX,
					   .script_rule = rule };
	uint64_t ref;

	if (regions_add(times->regions, &region, &ref)) {
		fpl_log(FPL_LOG_DEBUG, "pid %u: no room for its code made at run time",
			process->pid);
		return;
	}
	(void)!process_add_region(process, 0, FPL_REGION_END_MAX, ref);
	process_place_regions(process);
}

/* A process has these. */
struct makers {
	bool has[CODE_MAKER_COUNT];
	uint64_t bases[CODE_MAKER_COUNT]; /* where each is loaded */
	bool has_code;			  /* there is executable memory without an object, */
	bool has_shared;		  /* and some that processes may share */
	struct fpl_rule luajit;		  /* of the code that this makes, where it is known */
	uint8_t cpython_reg;		  /* of the script frame in that of CPython */
};

static void find_makers(const struct run_times *times, const struct mapset *set, struct makers *ret)
{
	*ret = (struct makers){ .has_code = false };
	for (uint32_t i = 0; i < set->nr; i++) {
		const struct fpl_mapping *map = &set->mappings[i];
		const struct object *object = catalog_at(times->catalog, map->object);

		ret->has_code |= (map->flags & FPL_MAPPING_ANON) != 0;
		ret->has_shared |= (map->flags & FPL_MAPPING_SHARED) != 0;
		if (object && object->made_rule.cfa)
			ret->luajit = object->made_rule;
		if (object && object->maker == CODE_MAKER_CPYTHON)
			ret->cpython_reg = object->made_reg;
		if (object && !ret->has[object->maker]) {
			ret->has[object->maker] = true;
			ret->bases[object->maker] = map->bias;
		}
	}
}

/* Has @process regions that are no other process's? */
static bool has_own_regions(const struct run_times *times, const struct process *process)
{
	return process->nr_regions && process->regions[0].ref != times->regions->sljit_ref;
}

static void place_sljit_region(const struct run_times *times, struct process *process)
{
	uint64_t ref;

	if (regions_sljit(times->regions, &ref))
		return; /* said by those who want more than one */
	(void)!process_add_region(process, 0, FPL_REGION_END_MAX, ref);
	process_place_regions(process);
}

/* Take @region in as that of @process in [@start, @end). Returns whether there is room. */
static bool take_region(const struct run_times *times, struct process *process, uint64_t start,
			uint64_t end, const struct fpl_region *region)
{
	uint64_t ref;

	if (regions_add(times->regions, region, &ref)) {
		fpl_log(times->regions->nr_refused > 1 ? FPL_LOG_DEBUG : FPL_LOG_WARN,
			"pid %u: no room for its code made at run time: its stacks end there",
			process->pid);
		return false;
	}
	if (!process_add_region(process, start, end, ref))
		return true;
	regions_remove(times->regions, ref);
	return false;
}

/* All code that @process makes is in @region. */
static void place_region(const struct run_times *times, struct process *process,
			 const struct fpl_region *region)
{
	run_time_forget(times, process);
	process->maker = take_region(times, process, region->start, region->end, region)
				 ? PROCESS_MAKER_KNOWN
				 : PROCESS_MAKER_REFUSED;
	process_place_regions(process);
}

/* Does a process have a run time that is known by its name, but for those of PCRE2 and LuaJIT? */
static bool has_known(const struct makers *makers)
{
	return makers->has[CODE_MAKER_JVM] || makers->has[CODE_MAKER_QEMU] ||
	       makers->has[CODE_MAKER_GUILE] || makers->has[CODE_MAKER_PHP] ||
	       makers->has[CODE_MAKER_BEAM];
}

/* Place the region that the table of an object says how to walk. */
static void place_said_region(const struct run_times *times, struct process *process,
			      const struct makers *makers)
{
	struct fpl_region region = { .end = FPL_REGION_END_MAX };

	if (makers->luajit.cfa) { /* what is not LuaJIT's is sljit's */
		region.kind = FPL_REGION_LUAJIT;
		region.rule = makers->luajit;
	} else if (makers->has[CODE_MAKER_CPYTHON]) {
		region.kind = FPL_REGION_FOLLOW;
		region.frame_reg = makers->cpython_reg;
	} else {
		return;
	}
	place_region(times, process, &region);
}

/* Add @process's mappings that have @flags to @asked: neighbours, which regions divide, as one. */
static void add_bounds(const struct process *process, uint16_t flags, struct made_question *asked)
{
	const struct mapset *set = process->mapset;
	uint64_t *bounds = asked->bounds;

	for (uint32_t i = 0; i < set->nr; i++) {
		const struct fpl_mapping *map = &set->mappings[i];

		if (!(map->flags & flags))
			continue;
		if (asked->nr && bounds[2 * asked->nr - 1] == map->start)
			asked->nr--;
		else if (asked->nr < MADE_RANGES_MAX)
			bounds[2 * asked->nr] = map->start;
		else
			return;
		bounds[2 * asked->nr++ + 1] = map->end;
	}
}

/* Ask @asked of the mappings of @process that have @flags. */
static void ask_made(const struct run_times *times, struct process *process, uint16_t flags,
		     struct made_question *asked)
{
	add_bounds(process, flags, asked);
	if (asked->nr && !lookups_made(times->lookups, process->pid, process->gen, asked,
				       process_owner(process)))
		process->maker = PROCESS_MAKER_ASKED;
}

/* Ask where @process has code that runs in the frame of its entry, or on stacks of its own: in
 * mappings that have @flags. @base: as in struct made_question. */
static void ask_known(const struct run_times *times, struct process *process, uint16_t flags,
		      uint64_t base)
{
	struct made_question asked = { .base = base };

	ask_made(times, process, flags, &asked);
}

/* Find the addresses that the objects of @process are loaded at. */
static size_t find_bases(const struct process *process, uint64_t ret[MADE_BASES_MAX])
{
	const struct mapset *set = process->mapset;
	size_t nr = 0;

	for (uint32_t i = 0; i < set->nr && nr < MADE_BASES_MAX; i++) {
		const struct fpl_mapping *map = &set->mappings[i];

		if (map->object && map->bias && (!nr || ret[nr - 1] != map->bias))
			ret[nr++] = map->bias;
	}
	return nr;
}

/*
 * Ask what code @process has registered for debuggers, if code was mapped since the last question,
 * or that is some time ago; of one that is not known to register any, if it has other objects than
 * at the last question.
 */
static void ask_registered(const struct run_times *times, struct process *process)
{
	struct made_question asked = { .nr_bases = 1, .bases = { process->names_base } };
	bool is_new = !process->registers || process->made_ns != process->asked_made_ns;
	uint64_t now = clock_monotonic_ns();

	if (!process->registers)
		asked.nr_bases = find_bases(process, asked.bases);
	if (!process->registers && asked.nr_bases == process->nr_no_list) {
		process->asks_again = false;
		return;
	}
	if (now < (is_new ? process->rest_ns : process->next_ask_ns)) {
		process->asks_again |= is_new;
		return;
	}
	ask_made(times, process, FPL_MAPPING_ANON, &asked);
	if (process->maker != PROCESS_MAKER_ASKED)
		return;
	if (is_new)
		process->ask_pause_ns = 0;
	process->asked_made_ns = process->made_ns;
	process->asked_ns = now;
}

/* Is all code that a process makes, unless it says of some how that is walked, made by sljit? */
static bool is_sljit(const struct makers *makers)
{
	return (makers->has[CODE_MAKER_PCRE2] || makers->has[CODE_MAKER_PHP]) &&
	       !makers->has[CODE_MAKER_JVM] && !makers->has[CODE_MAKER_QEMU] &&
	       !makers->has[CODE_MAKER_GUILE] && !makers->has[CODE_MAKER_BEAM];
}

/* May the code of PHP in @process have the regions of its parent, until this one is described? */
static bool has_those_of_parent(const struct process *process, const struct makers *makers)
{
	return makers->has[CODE_MAKER_PHP] && makers->has_shared && process->parent_gen &&
	       process->maker != PROCESS_MAKER_REFUSED;
}

void run_time_ask(const struct run_times *times, struct process *process)
{
	struct makers makers;
	uint64_t now = 0;
	uint32_t rule;

	if (!times->regions)
		return;
	if (!has_own_regions(times, process)) {
		rule = script_rule(times, process);
		if (rule) {
			run_time_forget(times, process);
			place_script_region(times, process, rule);
		}
	}
	find_makers(times, process->mapset, &makers);
	/* what others make may have regions of a parent process, until this one is described */
	if (makers.has_code && !process->nr_regions && is_sljit(&makers) &&
	    !has_those_of_parent(process, &makers))
		place_sljit_region(times, process);
	/* a question whether other code is registered need not be answered first */
	if ((process->maker == PROCESS_MAKER_UNKNOWN || process->maker == PROCESS_MAKER_ASKED) &&
	    !has_known(&makers) && !has_own_regions(times, process))
		place_said_region(times, process, &makers);
	if (!times->lookups || process->maker != PROCESS_MAKER_UNKNOWN)
		return;
	if (!has_known(&makers)) {
		if (makers.has_code && (process->registers || !has_own_regions(times, process)))
			ask_registered(times, process);
		return;
	}
	if (process->next_ask_ns) {
		now = clock_monotonic_ns();
		if (now < process->next_ask_ns)
			return;
	}
	if (!makers.has[CODE_MAKER_JVM]) {
		if (makers.has[CODE_MAKER_QEMU] || makers.has[CODE_MAKER_GUILE])
			ask_known(times, process, FPL_MAPPING_ANON, 0);
		else if (makers.has_code && makers.bases[CODE_MAKER_BEAM])
			ask_known(times, process, FPL_MAPPING_ANON, makers.bases[CODE_MAKER_BEAM]);
		else if (makers.has_shared && makers.bases[CODE_MAKER_PHP])
			ask_known(times, process, FPL_MAPPING_SHARED, makers.bases[CODE_MAKER_PHP]);
		return;
	}
	if (!lookups_jvm(times->lookups, process->pid, process->gen, makers.bases[CODE_MAKER_JVM],
			 process_owner(process)))
		process->maker = PROCESS_MAKER_ASKED;
}

static void try_again_later(struct process *process)
{
	uint64_t last = process->ask_pause_ns, pause = last ? last + last / 2 : PAUSE_MIN_NS;

	process->maker = PROCESS_MAKER_UNKNOWN;
	process->ask_pause_ns = pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS;
	process->next_ask_ns = clock_monotonic_ns() + process->ask_pause_ns;
}

/* Take note of the answer @code. Returns whether the run time is described: else @what is walked by
 * frame pointers, for now if it may be asked again. */
static bool is_described(struct process *process, int code, const struct fpl_err *err,
			 const char *what)
{
	if (code == -EAGAIN || code == -EFAULT || code == -ENOENT) {
		/* what is being loaded reads like nothing at first */
		fpl_log(FPL_LOG_DEBUG, "%s", err->msg);
		try_again_later(process);
		return false;
	}
	if (code)
		fpl_log(FPL_LOG_WARN, "%s: %s are walked by frame pointers", err->msg, what);
	process->maker = code ? PROCESS_MAKER_REFUSED : PROCESS_MAKER_KNOWN;
	return !code;
}

/* The regions of @process are those of @made. A function that was there before keeps its own, so
 * that no walk misses it. */
static void replace_regions(const struct run_times *times, struct process *process,
			    const struct made_code *made, bool is_sljit_too)
{
	struct process_region old[PROCESS_REGIONS_MAX];
	uint32_t nr_old = process->nr_regions;

	if (nr_old)
		memcpy(old, process->regions, nr_old * sizeof(*old));
	process->nr_regions = 0;
	for (uint32_t i = 0; i < made->nr; i++) {
		const struct made_piece *piece = &made->pieces[i];

		if (!take_region(times, process, piece->start, piece->end, &piece->region))
			break;
	}
	if (is_sljit_too)
		place_sljit_region(times, process);
	for (uint32_t i = 0; i < nr_old; i++)
		regions_remove(times->regions, old[i].ref);
	process_place_regions(process);
}

static void add_piece(struct made_code *made, const struct fpl_region *region)
{
	made->pieces[made->nr++] = (struct made_piece){ region->start, region->end, *region };
}

/* The regions of @process are its code heaps, and within them stubs that have rows. */
static void take_jvm(const struct run_times *times, struct process *process,
		     const struct hotspot *hotspot)
{
	struct made_code made = { .nr = 0 };

	for (uint32_t i = 0; i < hotspot->nr_stubs; i++)
		add_piece(&made, &hotspot->stubs[i]);
	for (uint32_t i = 0; i < hotspot->nr_heaps; i++)
		add_piece(&made, &hotspot->heaps[i]);
	replace_regions(times, process, &made, false);
	fpl_log(FPL_LOG_DEBUG, "pid %u: HotSpot %s: %u code heaps, %u rows of stubs", process->pid,
		hotspot->version, hotspot->nr_heaps, hotspot->nr_stubs);
}

void run_time_take(const struct run_times *times, struct process *process,
		   const struct lookup *lookup)
{
	if (!process || process->maker != PROCESS_MAKER_ASKED ||
	    (lookup->jvm.gen && process->gen != lookup->jvm.gen))
		return;
	if (!is_described(process, lookup->jvm.code, &lookup->jvm.err, "Java stacks"))
		return;
	process->names_base = lookup->jvm.base;
	take_jvm(times, process, lookup->jvm.found);
	/* compilers write more of them when they begin */
	if (!lookup->jvm.found->has_all_stubs && process->ask_pause_ns < PAUSE_MAX_NS) {
		if (process->ask_pause_ns < PAUSE_STUBS_NS)
			process->ask_pause_ns = PAUSE_STUBS_NS;
		try_again_later(process);
	}
}

/* How long @process rests after an answer: a question takes half of the time at most. */
static void rest(struct process *process)
{
	uint64_t now = clock_monotonic_ns(), pause = now - process->asked_ns;

	if (pause < PAUSE_MIN_NS)
		pause = PAUSE_MIN_NS;
	process->rest_ns = now + pause;
	/* what was mapped is registered a moment later */
	if (pause < 4 * process->ask_pause_ns)
		pause = 4 * process->ask_pause_ns;
	process->ask_pause_ns = pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS;
	process->next_ask_ns = now + process->ask_pause_ns;
	process->asks_again = process->registers && process->ask_pause_ns <= LATE_MAX_NS;
	process->maker = PROCESS_MAKER_UNKNOWN;
}

static void take_registered(const struct run_times *times, struct process *process,
			    const struct lookup *lookup)
{
	const struct made_code *made = lookup->made.found;
	struct makers makers;

	process->registers |= !lookup->made.code;
	rest(process);
	if (lookup->made.code) {
		fpl_log(FPL_LOG_DEBUG, "%s", lookup->made.err.msg);
		if (lookup->made.code == -ENOENT && !process->registers)
			process->nr_no_list = (uint32_t)lookup->made.asked->nr_bases;
		else if (lookup->made.code != -EFAULT)
			process->maker = PROCESS_MAKER_REFUSED;
		return;
	}
	process->names_base = made->base;
	find_makers(times, process->mapset, &makers);
	replace_regions(times, process, made, is_sljit(&makers));
	fpl_log(FPL_LOG_DEBUG, "pid %u: %u functions registered for debuggers", process->pid,
		made->nr);
}

void run_time_mapped(const struct run_times *times, struct process *process,
		     const struct fpl_mapping *map)
{
	uint32_t nr = 0;

	if (!process->registers || !(map->flags & FPL_MAPPING_ANON))
		return;
	for (uint32_t i = 0; i < process->nr_regions; i++) {
		const struct process_region region = process->regions[i];

		if (region.ref == times->regions->sljit_ref || region.start >= map->end ||
		    region.end <= map->start)
			process->regions[nr++] = region;
		else
			regions_remove(times->regions, region.ref);
	}
	process->nr_regions = nr;
}

void run_time_take_made(const struct run_times *times, struct process *process,
			const struct lookup *lookup)
{
	struct made_code made = *lookup->made.found;
	struct makers makers;

	if (!process || process->maker != PROCESS_MAKER_ASKED ||
	    (lookup->made.gen && process->gen != lookup->made.gen))
		return;
	if (lookup->made.asked->nr_bases) {
		take_registered(times, process, lookup);
		return;
	}
	if (!is_described(process, lookup->made.code, &lookup->made.err,
			  "stacks of code made at run time"))
		return;
	find_makers(times, process->mapset, &makers);
	/* all its memory with code was entered through the one trampoline, and more will be */
	if (makers.has[CODE_MAKER_GUILE]) {
		made.pieces[0].region.start = made.pieces[0].start = 0;
		made.pieces[0].region.end = made.pieces[0].end = FPL_REGION_END_MAX;
	}
	for (uint32_t i = 0; i < made.nr; i++) {
		if (made.pieces[i].region.kind == FPL_REGION_BEAM)
			process->names_base = makers.bases[CODE_MAKER_BEAM];
		else
			fpl_log(FPL_LOG_DEBUG, "pid %u: code in frames of %d bytes", process->pid,
				made.pieces[i].region.rule.cfa_off);
	}
	replace_regions(times, process, &made, is_sljit(&makers));
}

void run_time_forget(const struct run_times *times, struct process *process)
{
	for (uint32_t i = 0; times->regions && i < process->nr_regions; i++)
		regions_remove(times->regions, process->regions[i].ref);
	process->nr_regions = 0;
}
