/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run_report.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "recording/keys.h"
#include "report/code_tally.h"
#include "report/problems.h"
#include "report/report_lines.h"
#include "report/script_tally.h"
#include "report/tally.h"
#include "report/time_books.h"
#include "report/unnamed_code.h"
#include "view/share.h"

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
	marked_write(to, tally->samples_by_origin, tally->user_samples);
	write_run_time_code(to, profile, tally);
	script_tally_write(to, profile, tally->frames);
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

/* The cost of the run itself: every run of the program counts, also for other processes. */
static void write_own_cost(FILE *to, const struct profile *profile, const struct tally *tally)
{
	uint64_t bpf_ns = profile->books.bpf_ns;
	uint64_t own_ns = bpf_ns + profile->user_cpu_ms * 1000000;
	double capacity_ns = (double)profile->duration_ns * profile->nr_cpus;

	fprintf(to, "  own cost     BPF %.1f ms, fpless %" PRIu64 " ms of CPU",
		(double)bpf_ns / 1e6, profile->user_cpu_ms);
	if (tally->weight && capacity_ns > 0)
		fputs(": ", to);
	if (tally->weight && capacity_ns > 0 && profile_source_is_clock(&profile->source))
		fprintf(to, "%.2f %% of the %.1f s profiled, ", 100 * ratio(own_ns, tally->weight),
			(double)tally->weight / 1e9);
	if (tally->weight && capacity_ns > 0)
		fprintf(to, "%.2f %% of %u CPUs", 100 * (double)own_ns / capacity_ns,
			profile->nr_cpus);
	fprintf(to, "\n  own memory   %.1f MiB at most, maps %.1f MiB; started in %" PRIu64 " ms\n",
		(double)profile->rss_peak_bytes / (1 << 20),
		(double)profile->maps_bytes / (1 << 20), profile->startup_ms);
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
	if (profile->nr_sources)
		fprintf(to,
			"  expected     %" PRIu64 " samples by the clock, %" PRIu64
			" by the kernel's counts, %" PRIu64 " missed (%.2f %%)\n",
			books->expected, books->counted, books->missed,
			share_whole_percent(books->missed, books->expected + books->counted));
	else if (profile_source_is_clock(&profile->source) || profile->is_wall)
		fprintf(to,
			"  expected     %" PRIu64 " samples by the clock, %" PRIu64
			" missed (%.2f %%)\n",
			books->expected, books->missed,
			share_whole_percent(books->missed, books->expected));
	else
		fprintf(to,
			"  counted      %" PRIu64 " samples due by the kernel's count, %" PRIu64
			" missed (%.2f %%)\n",
			books->counted, books->missed,
			share_whole_percent(books->missed, books->counted));
}

static void write_problems(FILE *to, const struct summary *summary, const struct hints *hints,
			   const struct tally *tally)
{
	const struct profile *profile = summary->profile;
	const struct profile_books *books = &profile->books;

	losses_write(to, books->lost, profile_source_is_clock(&profile->source));
	if (share_percent(hints->samples, hints->judged) >= WORTH_A_LINE)
		hints_write_most(to, hints);
	if (profile->user)
		unnamed_code_write(to, profile, tally);
	problems_write(to, profile, tally, false);
	if (!tally_books_close(profile, tally, summary->shown))
		write_books(to, profile, tally, summary->shown);
}

static void write_source(FILE *to, const struct profile_source *source)
{
	fputs(source->name, to);
	if (profile_source_is_clock(source))
		fprintf(to, " at %" PRIu64 " Hz", source->hz);
	else if (source->period > 1)
		fprintf(to, ", one in %" PRIu64, source->period);
}

/* Each of several sources has a line, with what is shown of it. */
static void write_sampled(FILE *to, const struct profile *profile)
{
	uint64_t shown[FPL_SOURCES_MAX] = { 0 };

	fputs("  sampled      ", to);
	if (!profile->nr_sources)
		write_source(to, &profile->source);
	for (size_t i = 0; i < profile->nr_stacks; i++)
		shown[profile->stacks[i].source] += profile->stacks[i].count;
	for (size_t i = 0; i < profile->nr_sources; i++) {
		fputs(i ? "               " : "", to);
		write_source(to, &profile->sources[i]);
		fprintf(to, ": %" PRIu64 " samples%s", shown[i],
			i + 1 < profile->nr_sources ? "\n" : "");
	}
	fprintf(to, " on %u CPUs\n", profile->nr_cpus);
}

void run_report_write(FILE *to, const struct summary *summary, const struct hints *hints,
		      bool details)
{
	const struct profile *profile = summary->profile;
	struct tally tally;

	tally_count(profile, &tally);
	summary_write(to, summary, &tally);
	if (!details) {
		write_problems(to, summary, hints, &tally);
		return;
	}
	write_sampled(to, profile);
	write_user_stacks(to, profile, &tally);
	fputs("  lost         ", to);
	counts_write(to, profile->books.lost, FPL_LOST_COUNT, lost_key_at);
	write_costs(to, profile, &tally, summary->shown);
	write_own_cost(to, profile, &tally);
	problems_write(to, profile, &tally, true);
	fprintf(to, "  ring reader  away %.1f ms at the longest\n",
		(double)profile->drain_gap_max_ns / 1e6);
	write_books(to, profile, &tally, summary->shown);
	time_books_write(to, profile);
	hints_write(to, hints);
}
