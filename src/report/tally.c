/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/keys.h"
#include "report/tally.h"

#include <inttypes.h>
#include <stdio.h>

#include "naming/names.h"
#include "report/code_tally.h"
#include "report/no_room.h"

static void count_frames(const struct profile_stack *stack, struct tally *tally)
{
	bool seen[FPL_ORIGIN_COUNT] = { false };

	for (size_t i = 0; i < stack->nr_user; i++) {
		unsigned origin = frame_origin(stack->frames[i]);

		if (frame_is_gap(stack->frames[i]))
			continue;
		tally->frames_by_origin[origin] += stack->count;
		if (!seen[origin])
			tally->samples_by_origin[origin] += stack->count;
		seen[origin] = true;
	}
	tally->frames += stack->count * (stack->nr_user - (stack->elided ? 1u : 0u));
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

		ret->weight_ns += stack->weight_ns;
		if (stack->flags & FPL_SAMPLE_KTHREAD)
			continue;
		ret->user_samples += stack->count;
		if (!profile->user)
			continue;
		if (stack->stop < FPL_STOP_COUNT)
			ret->stops[stack->stop] += stack->count;
		count_frames(stack, ret);
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

/* Adds numbers until one cannot be added. */
struct adder {
	struct recording *to;
	int err;
};

static void add(struct adder *adder, const char *key, uint64_t value)
{
	if (!adder->err)
		adder->err = recording_add_number(adder->to, key, value);
}

static void add_of(struct adder *adder, const char *group, const char *key, uint64_t value)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s.%s", group, key);
	add(adder, whole, value);
}

static void add_note_of(struct adder *adder, const char *group, const char *key, const char *note)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s.%s", group, key);
	if (!adder->err)
		adder->err = recording_set_note(adder->to, whole, note);
}

static void add_books(struct adder *adder, const struct profile *profile)
{
	const struct profile_books *books = &profile->books;

	add(adder, "expected", books->expected);
	add(adder, "missed", books->missed);
	add(adder, "fired", books->fired);
	add(adder, "shown", profile_shown(profile));
	add(adder, "idle", books->idle);
	add(adder, "filtered", books->filtered);
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		add_of(adder, "lost", lost_key((enum fpl_lost)i), books->lost[i]);
}

static void add_stacks(struct adder *adder, const struct tally *tally)
{
	add(adder, "user_samples", tally->user_samples);
	add(adder, "complete", tally->complete);
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		add_of(adder, "stop", stop_key((enum fpl_stop)i), tally->stops[i]);
	add(adder, "frames", tally->frames);
	add(adder, "elided.samples", tally->elided_samples);
	add(adder, "elided.most", tally->elided_most);
	for (size_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		add_of(adder, "frames_by_origin", origin_key((enum fpl_origin)i),
		       tally->frames_by_origin[i]);
	for (size_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		add_of(adder, "samples_by_origin", origin_key((enum fpl_origin)i),
		       tally->samples_by_origin[i]);
}

static void add_tables(struct adder *adder, const struct profile_tables *tables)
{
	add(adder, "tables.objects", tables->objects);
	add(adder, "tables.rows", tables->rows);
	add(adder, "tables.rules", tables->rules);
	add(adder, "tables.bytes", tables->bytes);
	add(adder, "tables.allocated_bytes", tables->allocated_bytes);
	add(adder, "tables.cache_hits", tables->cache_hits);
	add(adder, "tables.cache_misses", tables->cache_misses);
	add(adder, "tables.cache_bytes", tables->cache_bytes);
	add(adder, "tables.evicted", tables->evicted);
	add(adder, "tables.refused", tables->refused);
	add(adder, "tables.refused_bytes", tables->refused_bytes);
	add(adder, "tables.synth_refused", tables->synth_refused);
}

static void add_refused(struct adder *adder, const char *group,
			const uint64_t refused[PROFILE_LIMIT_COUNT])
{
	for (size_t i = 0; i < PROFILE_LIMIT_COUNT; i++)
		add_of(adder, group, no_room_key((enum profile_limit)i), refused[i]);
}

static void add_no_room_of_cgroups(struct adder *adder, const struct profile *profile)
{
	size_t nr = 0;
	char group[64];

	for (size_t i = 0; i < profile->nr_owners; i++) {
		const struct profile_owner *owner = &profile->owners[i];

		if (!owner->cgroup)
			continue;
		if (!nr)
			add(adder, "no_room.by_cgroup[]", 0);
		snprintf(group, sizeof(group), "no_room.by_cgroup[].%zu", nr++);
		add_note_of(adder, group, "cgroup", owner->cgroup);
		add_refused(adder, group, owner->refused);
	}
}

static void add_no_room(struct adder *adder, const struct profile *profile)
{
	char group[64];

	add_refused(adder, "no_room", profile->refused);
	for (size_t i = 0; i < profile->nr_owners; i++) {
		const struct profile_owner *owner = &profile->owners[i];

		if (owner->owner == OWNER_UNKNOWN || owner->cgroup)
			continue;
		snprintf(group, sizeof(group), "no_room.by_user.%" PRIu64, owner->owner);
		add_refused(adder, group, owner->refused);
	}
	add_no_room_of_cgroups(adder, profile);
}

static void add_maps(struct adder *adder, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_maps; i++) {
		const struct profile_map *map = &profile->maps[i];
		char group[sizeof("maps.") + sizeof(map->name)];

		snprintf(group, sizeof(group), "maps.%s", map->name);
		add_of(adder, group, "entries", map->entries);
		add_of(adder, group, "max", map->max);
		add_of(adder, group, "bytes", map->bytes);
		add_of(adder, group, "refused", map->refused);
	}
}

/* Numbers of single samples: the timeline, and the stream. */
static void add_events(struct adder *adder, const struct profile *profile)
{
	add(adder, "timeline.events", profile->nr_events);
	add(adder, "timeline.missing", profile->timeline.missing);
	add(adder, "timeline.ring_full", profile->timeline.ring_full);
	add(adder, "timeline.memory_full", profile->timeline.memory_full);
	add(adder, "stream.printed", profile->stream.printed);
	add(adder, "stream.unprinted", profile->stream.unprinted);
}

static void add_run_time_code(struct adder *adder, const struct profile *profile)
{
	struct code_tally tally;

	code_tally_count(profile, &tally);
	add(adder, "run_time_code.frames", tally.frames);
	add(adder, "run_time_code.named", tally.named);
	add(adder, "run_time_code.uncertain", tally.uncertain);
	add(adder, "run_time_code.files", tally.files.files);
	add(adder, "run_time_code.refused", tally.files.refused);
	add(adder, "run_time_code.functions", tally.files.functions);
	add(adder, "run_time_code.bytes", tally.files.bytes);
}

int tally_add_numbers(struct recording *recording, const struct profile *profile)
{
	struct adder adder = { .to = recording };
	struct tally tally;

	tally_count(profile, &tally);
	add_books(&adder, profile);
	add_stacks(&adder, &tally);
	add(&adder, "uretprobe_samples", profile->books.uretprobe_samples);
	add(&adder, "bpf_ns", profile->books.bpf_ns);
	add(&adder, "bpf_runs", profile->books.bpf_runs);
	add(&adder, "sample_ns", profile->books.sample_ns);
	add(&adder, "weight_ns", tally.weight_ns);
	add(&adder, "hz_end", profile->hz_end);
	add(&adder, "hz_changes", profile->hz_changes);
	add(&adder, "deep.walked", profile->deep.walked);
	add(&adder, "deep.refused", profile->deep.refused);
	add(&adder, "deep.cut", profile->deep.cut);
	add(&adder, "deep.ns", profile->deep.ns);
	add_tables(&adder, &profile->tables);
	add_no_room(&adder, profile);
	add(&adder, "maps_bytes", profile->maps_bytes);
	add_maps(&adder, profile);
	add(&adder, "rss_peak_bytes", profile->rss_peak_bytes);
	add(&adder, "user_cpu_ms", profile->user_cpu_ms);
	add(&adder, "startup_ms", profile->startup_ms);
	add(&adder, "drain_gap_max_ms", profile->drain_gap_max_ns / 1000000);
	add(&adder, "away_ms", profile->away_ns / 1000000);
	add_events(&adder, profile);
	add_run_time_code(&adder, profile);
	return adder.err;
}
