/* SPDX-License-Identifier: Apache-2.0 */
#include "output/tally.h"

#include "output/code_tally.h"
#include "output/map_levels.h"
#include "output/names.h"

const char *tally_stop_key(enum fpl_stop stop)
{
	static const char *const keys[FPL_STOP_COUNT] = {
#define X(name, key, text) [FPL_STOP_##name] = #key,
		FPL_STOP_LIST(X)
#undef X
	};

	return (unsigned)stop < FPL_STOP_COUNT ? keys[stop] : "unknown";
}

const char *tally_lost_key(enum fpl_lost lost)
{
	static const char *const keys[FPL_LOST_COUNT] = {
#define X(name, key, text) [FPL_LOST_##name] = #key,
		FPL_LOST_LIST(X)
#undef X
	};

	return (unsigned)lost < FPL_LOST_COUNT ? keys[lost] : "unknown";
}

const char *tally_origin_key(enum fpl_origin origin)
{
	static const char *const keys[FPL_ORIGIN_COUNT] = {
#define X(name, key, suffix) [FPL_ORIGIN_##name] = #key,
		FPL_ORIGIN_LIST(X)
#undef X
	};

	return (unsigned)origin < FPL_ORIGIN_COUNT ? keys[origin] : "unknown";
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
		for (size_t j = 0; j < stack->nr_user; j++)
			ret->frames_by_origin[frame_origin(stack->frames[j])] += stack->count;
		ret->frames += stack->count * stack->nr_user;
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

double tally_percent(uint64_t part, uint64_t whole)
{
	double value = whole ? 100 * (double)part / (double)whole : 0;

	return part < whole && value > 99.99 ? 99.99 : value;
}

static void write_books(struct json *json, const struct profile *profile, uint64_t shown)
{
	const struct profile_books *books = &profile->books;

	json_number(json, "expected", books->expected);
	json_number(json, "missed", books->missed);
	json_number(json, "fired", books->fired);
	json_number(json, "shown", shown);
	json_number(json, "idle", books->idle);
	json_number(json, "filtered", books->filtered);
	json_open(json, "lost", '{');
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		json_number(json, tally_lost_key((enum fpl_lost)i), books->lost[i]);
	json_close(json, '}');
}

static void write_stacks(struct json *json, const struct tally *tally)
{
	json_number(json, "user_samples", tally->user_samples);
	json_number(json, "complete", tally->complete);
	json_open(json, "stop", '{');
	for (size_t i = 0; i < FPL_STOP_COUNT; i++)
		json_number(json, tally_stop_key((enum fpl_stop)i), tally->stops[i]);
	json_close(json, '}');
	json_number(json, "frames", tally->frames);
	json_open(json, "frames_by_origin", '{');
	for (size_t i = 0; i < FPL_ORIGIN_COUNT; i++)
		json_number(json, tally_origin_key((enum fpl_origin)i), tally->frames_by_origin[i]);
	json_close(json, '}');
}

void tally_write_json(struct json *json, const struct profile *profile, uint64_t shown)
{
	const struct profile_tables *tables = &profile->tables;
	struct tally tally;

	tally_count(profile, &tally);
	json_number(json, "format", 1);
	json_string(json, "event", profile->event);
	json_number(json, "hz", profile->hz);
	json_number(json, "period_ns", profile->period_ns);
	json_number(json, "duration_ms", profile->duration_ns / 1000000);
	json_number(json, "cpus", profile->nr_cpus);
	write_books(json, profile, shown);
	write_stacks(json, &tally);
	json_number(json, "bpf_ns", profile->books.bpf_ns);
	json_number(json, "bpf_runs", profile->books.bpf_runs);
	json_number(json, "sample_ns", profile->books.sample_ns);
	json_number(json, "weight_ns", tally.weight_ns);
	json_number(json, "hz_end", profile->hz_end);
	json_number(json, "hz_changes", profile->hz_changes);
	json_open(json, "tables", '{');
	json_number(json, "objects", tables->objects);
	json_number(json, "rows", tables->rows);
	json_number(json, "rules", tables->rules);
	json_number(json, "bytes", tables->bytes);
	json_number(json, "allocated_bytes", tables->allocated_bytes);
	json_number(json, "cache_hits", tables->cache_hits);
	json_number(json, "cache_misses", tables->cache_misses);
	json_number(json, "cache_bytes", tables->cache_bytes);
	json_number(json, "evicted", tables->evicted);
	json_number(json, "refused", tables->refused);
	json_number(json, "refused_bytes", tables->refused_bytes);
	json_close(json, '}');
	json_number(json, "maps_bytes", profile->maps_bytes);
	map_levels_write_json(json, profile);
	json_number(json, "rss_peak_bytes", profile->rss_peak_bytes);
	json_number(json, "user_cpu_ms", profile->user_cpu_ms);
	json_number(json, "startup_ms", profile->startup_ms);
	json_number(json, "drain_gap_max_ms", profile->drain_gap_max_ns / 1000000);
	code_tally_write_json(json, profile);
}
