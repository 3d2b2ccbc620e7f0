/* SPDX-License-Identifier: Apache-2.0 */
#include "report/tally.h"

#include <inttypes.h>
#include <stdio.h>

#include "naming/names.h"
#include "recording/keys.h"
#include "recording/must_add.h"
#include "report/code_tally.h"
#include "report/script_tally.h"
#include "report/thread_tally.h"
#include "report/no_room.h"

/* A command line is kept up to what a heading has room for; all arguments are in argv. */
enum { COMMAND_BYTES = 1024 };

/* Count the user frames of @stack by their origin. @seen [FPL_ORIGIN_COUNT]: origins that the
 * samples had before. */
static void count_origins(const struct profile_stack *stack, uint64_t count, bool *seen,
			  struct tally *tally)
{
	for (size_t i = 0; i < stack->nr_user; i++) {
		unsigned origin = frame_origin(stack->frames[i]);

		if (frame_is_gap(stack->frames[i]))
			continue;
		tally->frames_by_origin[origin] += count;
		if (!seen[origin])
			tally->samples_by_origin[origin] += count;
		seen[origin] = true;
	}
	tally->frames += count * (stack->nr_user - (stack->elided ? 1u : 0u));
}

/* Those of its wakers stand above its own. */
static void count_frames(const struct profile *profile, const struct profile_stack *stack,
			 struct tally *tally)
{
	bool seen[FPL_ORIGIN_COUNT] = { false };

	count_origins(stack, stack->count, seen, tally);
	for (size_t i = 0; i < profile->nr_links; i++) {
		const struct profile_stack *waker =
			profile_waker(profile, profile_link(profile, stack, i));

		if (waker)
			count_origins(waker, stack->count, seen, tally);
	}
	if (!stack->elided)
		return;
	tally->elided_samples += stack->count;
	if (stack->elided > tally->elided_most)
		tally->elided_most = stack->elided;
}

void tally_count(const struct profile *profile, struct tally *ret)
{
	*ret = (struct tally){ 0 };
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		ret->weight += stack->weight;
		if (stack->flags & FPL_SAMPLE_KTHREAD)
			continue;
		ret->user_samples += stack->count;
		if (!profile->user)
			continue;
		if (stack->stop < FPL_STOP_COUNT)
			ret->stops[stack->stop] += stack->count;
		count_frames(profile, stack, ret);
	}
	ret->complete = ret->stops[FPL_STOP_OUTERMOST];
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		ret->lost += profile->books.lost[i];
}

uint64_t tally_judged(const struct tally *tally)
{
	return tally->user_samples - tally->stops[FPL_STOP_EXITING] -
	       tally->stops[FPL_STOP_EXECING];
}

bool tally_books_close(const struct profile *profile, const struct tally *tally, uint64_t shown)
{
	const struct profile_books *books = &profile->books;

	return books->fired == shown + books->idle + books->filtered + tally->lost;
}

static void add_of(struct recording *to, const char *group, const char *key, uint64_t value)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s.%s", group, key);
	must_add_number(to, whole, value);
}

static void add_note_of(struct recording *to, const char *group, const char *key, const char *note)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s.%s", group, key);
	must_set_note(to, whole, note);
}

static void add_window(struct recording *to, const struct profile_window *window)
{
	if (!window->is_one)
		return;
	must_add_number(to, "window.number", window->number);
	must_add_number(to, "window.start_monotonic_ns", window->start_ns);
	must_add_number(to, "window.gap_ns", window->gap_ns);
	must_add_number(to, "window.ahead_ns", window->ahead_ns);
}

static void add_books(struct recording *to, const struct profile *profile)
{
	const struct profile_books *books = &profile->books;

	if (profile_clock(profile) || profile->is_wall)
		must_add_number(to, "expected", books->expected);
	if (profile_counts_events(profile) && !profile->is_wall)
		must_add_number(to, "counted", books->counted);
	must_add_number(to, "missed", books->missed);
	must_add_number(to, "fired", books->fired);
	must_add_number(to, "shown", profile_shown(profile));
	must_add_number(to, "idle", books->idle);
	must_add_number(to, "filtered", books->filtered);
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		add_of(to, "lost", lost_key((enum fpl_lost)i), books->lost[i]);
}

static void add_stacks(struct recording *to, const struct tally *tally)
{
	must_add_number(to, "user_samples", tally->user_samples);
	must_add_number(to, "complete", tally->complete);
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		add_of(to, "stop", stop_key((enum fpl_stop)i), tally->stops[i]);
	must_add_number(to, "frames", tally->frames);
	must_add_number(to, "elided.samples", tally->elided_samples);
	must_add_number(to, "elided.most", tally->elided_most);
	for (size_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		add_of(to, "frames_by_origin", origin_key((enum fpl_origin)i),
		       tally->frames_by_origin[i]);
	for (size_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		add_of(to, "samples_by_origin", origin_key((enum fpl_origin)i),
		       tally->samples_by_origin[i]);
}

static void add_tables(struct recording *to, const struct profile_tables *tables)
{
	must_add_number(to, "tables.objects", tables->objects);
	must_add_number(to, "tables.rows", tables->rows);
	must_add_number(to, "tables.rules", tables->rules);
	must_add_number(to, "tables.bytes", tables->bytes);
	must_add_number(to, "tables.allocated_bytes", tables->allocated_bytes);
	must_add_number(to, "tables.cache_hits", tables->cache_hits);
	must_add_number(to, "tables.cache_misses", tables->cache_misses);
	must_add_number(to, "tables.cache_bytes", tables->cache_bytes);
	must_add_number(to, "tables.evicted", tables->evicted);
	must_add_number(to, "tables.refused", tables->refused);
	must_add_number(to, "tables.refused_bytes", tables->refused_bytes);
	must_add_number(to, "tables.synth_refused", tables->synth_refused);
}

static void add_refused(struct recording *to, const char *group,
			const uint64_t refused[PROFILE_LIMIT_COUNT])
{
	for (size_t i = 0; i < PROFILE_LIMIT_COUNT; i++)
		add_of(to, group, no_room_key((enum profile_limit)i), refused[i]);
}

static void add_no_room_of_cgroups(struct recording *to, const struct profile *profile)
{
	size_t nr = 0;
	char group[64];

	for (size_t i = 0; i < profile->nr_owners; i++) {
		const struct profile_owner *owner = &profile->owners[i];

		if (!owner->cgroup)
			continue;
		if (!nr)
			must_add_number(to, "no_room.by_cgroup[]", 0);
		snprintf(group, sizeof(group), "no_room.by_cgroup[].%zu", nr++);
		add_note_of(to, group, "cgroup", owner->cgroup);
		add_refused(to, group, owner->refused);
	}
}

static void add_no_room(struct recording *to, const struct profile *profile)
{
	char group[64];

	add_refused(to, "no_room", profile->refused);
	for (size_t i = 0; i < profile->nr_owners; i++) {
		const struct profile_owner *owner = &profile->owners[i];

		if (owner->owner == OWNER_UNKNOWN || owner->cgroup)
			continue;
		snprintf(group, sizeof(group), "no_room.by_user.%" PRIu64, owner->owner);
		add_refused(to, group, owner->refused);
	}
	add_no_room_of_cgroups(to, profile);
}

static void add_maps(struct recording *to, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_maps; i++) {
		const struct profile_map *map = &profile->maps[i];
		char group[sizeof("maps.") + sizeof(map->name)];

		snprintf(group, sizeof(group), "maps.%s", map->name);
		add_of(to, group, "entries", map->entries);
		add_of(to, group, "max", map->max);
		add_of(to, group, "bytes", map->bytes);
		add_of(to, group, "refused", map->refused);
	}
}

/* Numbers of single samples: the timeline, and the stream. */
static void add_events(struct recording *to, const struct profile *profile)
{
	must_add_number(to, "timeline.events", profile->nr_events);
	must_add_number(to, "timeline.missing", profile->timeline.missing);
	must_add_number(to, "timeline.ring_full", profile->timeline.ring_full);
	must_add_number(to, "timeline.memory_full", profile->timeline.memory_full);
	must_add_number(to, "stream.printed", profile->stream.printed);
	must_add_number(to, "stream.unprinted", profile->stream.unprinted);
}

static void add_run_time_code(struct recording *to, const struct profile *profile)
{
	struct code_tally tally;

	code_tally_count(profile, &tally);
	must_add_number(to, "run_time_code.frames", tally.frames);
	must_add_number(to, "run_time_code.named", tally.named);
	must_add_number(to, "run_time_code.uncertain", tally.uncertain);
	must_add_number(to, "run_time_code.files", tally.files.files);
	must_add_number(to, "run_time_code.refused", tally.files.refused);
	must_add_number(to, "run_time_code.functions", tally.files.functions);
	must_add_number(to, "run_time_code.bytes", tally.files.bytes);
}

/* The words of the command with blanks between them; of very long ones the beginning. */
static void add_command(struct recording *to, const struct profile *profile)
{
	char text[COMMAND_BYTES] = "";
	size_t length = 0;

	if (!profile->command)
		return;
	for (char **arg = profile->command; *arg && length < sizeof(text) - 1; arg++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   length ? " " : "", *arg);
	if (*text)
		must_set_note(to, "command", text);
}

static void add_wait(struct recording *to, const char *prefix, const char *name, uint64_t ns)
{
	char key[64];

	snprintf(key, sizeof(key), "times.%s%s", prefix, name);
	must_add_number(to, key, ns);
}

/* The sums of the waits of one state, whose keys begin with @prefix. */
static void add_waits(struct recording *to, const char *prefix, const struct fpl_wait_sums *waits)
{
	add_wait(to, prefix, "sampled", waits->sampled_ns);
	add_wait(to, prefix, "unwanted", waits->unwanted_ns);
	add_wait(to, prefix, "carried", waits->carried_ns);
	add_wait(to, prefix, "first_carry", waits->first_carry_ns);
}

/* The books of the threads' time, in ns. */
static void add_times(const struct profile *profile, struct recording *to)
{
	const struct fpl_times *times = &profile->times;

	must_add_number(to, "times.on_cpu", times->ns[FPL_TIME_ON_CPU]);
	must_add_number(to, "times.runnable", times->ns[FPL_TIME_RUNNABLE]);
	must_add_number(to, "times.blocked", times->ns[FPL_TIME_BLOCKED]);
	must_add_number(to, "times.unseen", times->ns[FPL_TIME_UNSEEN]);
	add_waits(to, "", &times->blocked);
	must_add_number(to, "times.asleep", times->blocked.unended_ns);
	must_add_number(to, "times.blocks", times->blocked.nr);
	add_waits(to, "runnable_", &times->runnable);
	must_add_number(to, "times.runnable_unended", times->runnable.unended_ns);
	must_add_number(to, "times.runnable_unborn", times->runnable.unborn_ns);
	must_add_number(to, "times.runnable_waits", times->runnable.nr);
	must_add_number(to, "times.throttled", times->throttled_ns);
	must_add_number(to, "times.frozen", times->frozen_ns);
	if (profile->wait_period_ns)
		must_add_number(to, "times.period", profile->wait_period_end_ns);
	must_add_number(to, "times.threads", times->threads);
	must_add_number(to, "times.threads_without", times->threads_without);
	must_add_number(to, "times.threads_left", profile->nr_times_left);
}

void tally_add_numbers(struct recording *to, const struct profile *profile)
{
	struct tally tally;

	tally_count(profile, &tally);
	add_window(to, &profile->window);
	add_books(to, profile);
	add_stacks(to, &tally);
	must_add_number(to, "uretprobe_samples", profile->books.uretprobe_samples);
	must_add_number(to, "bpf_ns", profile->books.bpf_ns);
	must_add_number(to, "bpf_runs", profile->books.bpf_runs);
	must_add_number(to, "sample_ns", profile->books.sample_ns);
	must_add_number(to, weight_key(to), tally.weight);
	must_add_number(to, "hz_end", profile->hz_end);
	must_add_number(to, "hz_changes", profile->hz_changes);
	must_add_number(to, "deep.walked", profile->deep.walked);
	must_add_number(to, "deep.refused", profile->deep.refused);
	must_add_number(to, "deep.cut", profile->deep.cut);
	must_add_number(to, "deep.ns", profile->deep.ns);
	if (profile->times.threads)
		add_times(profile, to);
	thread_tally_add(to, profile);
	add_tables(to, &profile->tables);
	add_no_room(to, profile);
	must_add_number(to, "maps_bytes", profile->maps_bytes);
	add_maps(to, profile);
	must_add_number(to, "rss_peak_bytes", profile->rss_peak_bytes);
	must_add_number(to, "user_cpu_ms", profile->user_cpu_ms);
	must_add_number(to, "startup_ms", profile->startup_ms);
	must_add_number(to, "drain_gap_max_ms", profile->drain_gap_max_ns / 1000000);
	must_add_number(to, "away_ms", profile->away_ns / 1000000);
	add_events(to, profile);
	add_run_time_code(to, profile);
	script_tally_add(to, profile);
	add_command(to, profile);
}
