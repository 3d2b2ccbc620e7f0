/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run_report.h"
#include "view/keys.h"
#include "view/share.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "report/code_tally.h"
#include "report/event_tally.h"
#include "report/map_levels.h"
#include "report/no_room.h"
#include "report/report_lines.h"
#include "report/tally.h"

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static const char *lost_key_at(unsigned idx)
{
	return lost_key((enum fpl_lost)idx);
}

/* Nothing if no code was made at run time. */
static void write_run_time_code(FILE *to, const struct profile *profile, const struct tally *tally)
{
	struct code_tally code;

	code_tally_count(profile, &code);
	if (!code.frames)
		return;
	fprintf(to, "  run time     %.2f %% of the frames are %s, ",
		share_whole_percent(code.frames, tally->frames),
		profile->fp_only ? "in no file: code made at run time, or no code at all"
				 : "code made at run time");
	if (code.named)
		fprintf(to,
			"%.2f %% of them with a name (%" PRIu64 " files, %" PRIu64 " functions)\n",
			share_whole_percent(code.named, code.frames), code.files.files,
			code.files.functions);
	else
		fputs("without a name: languages.md says how to get one\n", to);
	if (code.uncertain)
		fprintf(to,
			"               %" PRIu64 " samples in code that was replaced have the "
			"name of what was there first\n",
			code.uncertain);
}

/* Stacks without frames in the middle, and stacks whose walk to the root took too long. */
static void write_deep(FILE *to, const struct profile *profile, const struct tally *tally)
{
	const struct profile_deep *deep = &profile->deep;
	uint64_t hz = profile->hz_end ? profile->hz_end : profile->hz;
	uint64_t fits = deep->refused ? hz * deep->walked / (deep->walked + deep->refused) : 0;

	if (tally->elided_samples)
		fprintf(to,
			"  deep         %" PRIu64
			" user stacks without frames in the middle, at most %" PRIu64
			" of them: --max-depth says how many are kept\n",
			tally->elided_samples, tally->elided_most);
	if (deep->refused)
		fprintf(to,
			"               %" PRIu64
			" were cut at their root: walking them takes more than a tenth of a CPU; "
			"-F %" PRIu64 " fits\n",
			deep->refused, fits ? fits : 1);
	if (deep->cut)
		fprintf(to,
			"               %" PRIu64
			" were cut at their root: walking one took more than a millisecond\n",
			deep->cut);
}

static void write_user_stacks(FILE *to, const struct profile *profile, const struct tally *tally)
{
	uint64_t judged = tally_judged(tally);

	if (!profile->user) {
		fputs("  user stacks  not asked for\n", to);
		return;
	}
	if (judged)
		fprintf(to, "  complete     %.2f %% (%" PRIu64 " of %" PRIu64 " user stacks)\n",
			share_whole_percent(tally->complete, judged), tally->complete, judged);
	else
		fputs("  complete     no user stacks\n", to);
	stops_write(to, tally->stops);
	fprintf(to, "  frames       %.1f per user stack",
		ratio(tally->frames, tally->user_samples));
	for (unsigned i = 0; i < FPL_ORIGIN_COUNT; i++)
		if (tally->frames_by_origin[i])
			fprintf(to, ", %s %.2f %%", origin_key((enum fpl_origin)i),
				share_whole_percent(tally->frames_by_origin[i], tally->frames));
	putc('\n', to);
	write_deep(to, profile, tally);
	marked_write(to, tally->samples_by_origin, tally->user_samples);
	write_run_time_code(to, profile, tally);
	if (profile->books.uretprobe_samples)
		fprintf(to,
			"  uretprobes   %" PRIu64
			" user stacks under return probes of other tools: "
			"their return addresses are the kernel's\n",
			profile->books.uretprobe_samples);
}

/*
 * Only runs that passed the filter: a run for another process is not the cost of a sample. Frames
 * walked in userspace cost the program nothing: they do not share its time.
 */
static void write_costs(FILE *to, const struct profile *profile, const struct tally *tally,
			uint64_t shown)
{
	const struct profile_books *books = &profile->books;
	const struct profile_tables *tables = &profile->tables;
	uint64_t walked = tally->frames - tally->frames_by_origin[FPL_ORIGIN_CFI_USER];

	if (shown + tally->lost) {
		fprintf(to, "  BPF          %.0f ns per sample",
			ratio(books->sample_ns, shown + tally->lost));
		if (walked)
			fprintf(to, ", %.0f ns per frame", ratio(books->sample_ns, walked));
		putc('\n', to);
	}
	fprintf(to,
		"  tables       %" PRIu64 " objects, %" PRIu64
		" rows, %.1f MiB (%.1f MiB allocated)",
		tables->objects, tables->rows, (double)tables->bytes / (1 << 20),
		(double)tables->allocated_bytes / (1 << 20));
	/* tables that are made cost more than anything else here, once */
	if (tables->cache_hits)
		fprintf(to, "; %" PRIu64 " read from disk", tables->cache_hits);
	if (tables->cache_misses)
		fprintf(to, "%s %" PRIu64 " made and kept", tables->cache_hits ? "," : ";",
			tables->cache_misses);
	putc('\n', to);
}

/* While fpless did not run, the kernel side kept only as much as the ring has room for. */
static void write_away(FILE *to, const struct profile *profile)
{
	uint64_t lost = profile->books.lost[FPL_LOST_RING_FULL];

	if (!profile->away_ns)
		return;
	fprintf(to,
		"  away         fpless was stopped, or had no CPU, for %.1f s: %" PRIu64
		" samples of this run are lost because the ring was full",
		(double)profile->away_ns / 1e9, lost);
	fputs(lost ? "; more --ring-memory\n" : "\n", to);
}

/* The cost of the run itself: every run of the program counts, also for other processes. */
static void write_own_cost(FILE *to, const struct profile *profile, const struct tally *tally)
{
	uint64_t bpf_ns = profile->books.bpf_ns;
	uint64_t own_ns = bpf_ns + profile->user_cpu_ms * 1000000;
	double capacity_ns = (double)profile->duration_ns * profile->nr_cpus;

	fprintf(to, "  own cost     BPF %.1f ms, fpless %" PRIu64 " ms of CPU",
		(double)bpf_ns / 1e6, profile->user_cpu_ms);
	if (tally->weight_ns && capacity_ns > 0)
		fprintf(to, ": %.2f %% of the %.1f s profiled, %.2f %% of %u CPUs",
			100 * ratio(own_ns, tally->weight_ns), (double)tally->weight_ns / 1e9,
			100 * (double)own_ns / capacity_ns, profile->nr_cpus);
	fprintf(to, "\n  own memory   %.1f MiB at most, maps %.1f MiB; started in %" PRIu64 " ms\n",
		(double)profile->rss_peak_bytes / (1 << 20),
		(double)profile->maps_bytes / (1 << 20), profile->startup_ms);
	if (profile->hz_changes)
		fprintf(to,
			"  frequency    %" PRIu64 " Hz wanted, %" PRIu64
			" at the end: changed %" PRIu64
			" times (--max-overhead %g): weigh samples by weight_ns\n",
			profile->hz, profile->hz_end, profile->hz_changes, profile->max_overhead);
}

/* A warning named each of them when its table was made. */
static void write_refusals(FILE *to, const struct profile_tables *tables)
{
	if (tables->synth_refused)
		fprintf(to,
			"  no rows      for the code without CFI of %" PRIu64
			" %s: making them would "
			"cost more than it may\n",
			tables->synth_refused, tables->synth_refused == 1 ? "object" : "objects");
}

/* Tables that had no room, and the memory that all tables need. */
static void write_evictions(FILE *to, const struct profile_tables *tables)
{
	if (!tables->evicted && !tables->refused)
		return;
	fprintf(to,
		"  table room   %" PRIu64 " tables gave way to others, %" PRIu64
		" had none at the end; all together %.1f MiB: more --table-memory\n",
		tables->evicted, tables->refused,
		(double)(tables->bytes + tables->refused_bytes) / (1 << 20));
}

static void write_books(FILE *to, const struct profile *profile, const struct tally *tally,
			uint64_t shown)
{
	const struct profile_books *books = &profile->books;
	uint64_t right = shown + books->idle + books->filtered + tally->lost;

	fprintf(to,
		"  books        fired %" PRIu64 " = shown %" PRIu64 " + idle %" PRIu64
		" + filtered %" PRIu64 " + lost %" PRIu64,
		books->fired, shown, books->idle, books->filtered, tally->lost);
	if (books->fired == right)
		fputs(": closed\n", to);
	else
		fprintf(to, ": DO NOT CLOSE, off by %" PRId64 ": please report this\n",
			(int64_t)(books->fired - right));
	fprintf(to,
		"  expected     %" PRIu64 " samples by the clock, %" PRIu64 " missed (%.2f %%)\n",
		books->expected, books->missed,
		share_whole_percent(books->missed, books->expected));
}

void run_report_write(FILE *to, const struct profile *profile, uint64_t shown)
{
	struct tally tally;

	tally_count(profile, &tally);
	fprintf(to, "fpless: %" PRIu64 " samples in %.1f s: %s at %" PRIu64 " Hz on %u CPUs\n",
		shown, (double)profile->duration_ns / 1e9, profile->event, profile->hz,
		profile->nr_cpus);
	write_user_stacks(to, profile, &tally);
	fputs("  lost         ", to);
	counts_write(to, profile->books.lost, FPL_LOST_COUNT, lost_key_at);
	write_away(to, profile);
	write_costs(to, profile, &tally, shown);
	write_own_cost(to, profile, &tally);
	write_evictions(to, &profile->tables);
	no_room_write(to, profile);
	write_refusals(to, &profile->tables);
	event_tally_write(to, profile, fpl_log_enabled(FPL_LOG_DEBUG));
	map_levels_write(to, profile, fpl_log_enabled(FPL_LOG_DEBUG));
	if (fpl_log_enabled(FPL_LOG_DEBUG))
		fprintf(to, "  ring reader  away %.1f ms at the longest\n",
			(double)profile->drain_gap_max_ns / 1e6);
	write_books(to, profile, &tally, shown);
}
