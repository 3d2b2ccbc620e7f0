/* SPDX-License-Identifier: Apache-2.0 */
#include "report/summary.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/text.h"
#include "recording/sample_type.h"
#include "report/problems.h"
#include "view/share.h"

void summary_write_number(FILE *to, uint64_t number)
{
	if (number >= 1000) {
		summary_write_number(to, number / 1000);
		fprintf(to, ",%03" PRIu64, number % 1000);
	} else {
		fprintf(to, "%" PRIu64, number);
	}
}

/* @part of @whole, never as 100 % if it is less. */
static void write_share(FILE *to, uint64_t part, uint64_t whole)
{
	double value = share_percent(part, whole);

	if (part == whole)
		fputs("100 %", to);
	else
		fprintf(to, "%.1f %%", value > 99.9 ? 99.9 : value);
}

void summary_write_complete(FILE *to, uint64_t complete, uint64_t judged, bool shares)
{
	fputs(", ", to);
	if (shares)
		write_share(to, complete, judged);
	else
		fprintf(to, "%" PRIu64 " of %" PRIu64, complete, judged);
	fputs(" complete", to);
}

void summary_write_lost(FILE *to, uint64_t lost)
{
	fputs(", ", to);
	if (lost)
		summary_write_number(to, lost);
	else
		fputs("none", to);
	fputs(" lost", to);
}

/* Is there enough of it for shares? */
static bool shares(const struct profile *profile, const struct tally *tally)
{
	return profile_source_is_clock(&profile->source)
		       ? tally->weight >= SUMMARY_SHARE_NS
		       : profile_shown(profile) >= SUMMARY_SHARE_EVENTS;
}

static void write_samples(FILE *to, const struct summary *summary, const struct tally *tally)
{
	const struct profile *profile = summary->profile;
	uint64_t judged = tally_judged(tally);

	fputs("fpless: ", to);
	if (profile->has_no_samples) {
		fprintf(to, "the times of %" PRIu64 " threads in %.1f s\n",
			(uint64_t)profile->times.threads, (double)profile->duration_ns / 1e9);
		return;
	}
	summary_write_number(to, summary->shown);
	fputs(summary->shown == 1 ? " sample" : " samples", to);
	if (!profile_source_is_clock(&profile->source))
		fprintf(to, " of %s%s", profile->source.name,
			sample_type_after(profile->source.name));
	fprintf(to, " in %.1f s", (double)profile->duration_ns / 1e9);
	if (profile->user && judged)
		summary_write_complete(to, tally->complete, judged, shares(profile, tally));
	else
		fputs(profile->user ? ", no user stacks" : ", kernel stacks alone", to);
	summary_write_lost(to, tally->lost);
	putc('\n', to);
}

void summary_write_outputs(FILE *to, const char *const *outputs, size_t nr)
{
	char path[512];

	for (size_t i = 0; i < nr; i++) {
		text_escape(path, sizeof(path), outputs[i], "");
		fprintf(to, "%s%s", i ? ", " : "  wrote        ", path);
	}
	if (nr)
		putc('\n', to);
}

static void write_cost(FILE *to, const struct profile *profile)
{
	uint64_t own_ns = profile->books.bpf_ns + profile->user_cpu_ms * NS_PER_MS;
	uint64_t capacity_ns = profile->duration_ns * profile->nr_cpus;
	double percent = share_percent(own_ns, capacity_ns);

	fputs("  cost         ", to);
	if (capacity_ns >= SUMMARY_SHARE_NS)
		fprintf(to, "%s%.1f %% of the machine: ", percent < 0.1 ? "less than " : "",
			percent < 0.1 ? 0.1 : percent);
	fprintf(to, "%.0f ms of CPU, %.0f MiB\n", (double)own_ns / 1e6,
		(double)profile->rss_peak_bytes / (1 << 20));
}

/* Write the sums of the threads' time. */
static void write_times(FILE *to, const struct profile *profile)
{
	const __u64 *ns = profile->times.ns;

	if (!profile->times.threads)
		return;
	if (profile->is_wall)
		fprintf(to,
			"  threads      on CPU %.1f s, runnable %.1f s, blocked %.1f s, unseen %.1f s\n",
			(double)ns[FPL_TIME_ON_CPU] / 1e9, (double)ns[FPL_TIME_RUNNABLE] / 1e9,
			(double)ns[FPL_TIME_BLOCKED] / 1e9, (double)ns[FPL_TIME_UNSEEN] / 1e9);
	else
		fprintf(to,
			"  threads      blocked %.1f s, runnable %.1f s, on a CPU %.1f s, unseen %.1f s\n",
			(double)ns[FPL_TIME_BLOCKED] / 1e9, (double)ns[FPL_TIME_RUNNABLE] / 1e9,
			(double)ns[FPL_TIME_ON_CPU] / 1e9, (double)ns[FPL_TIME_UNSEEN] / 1e9);
	if (profile->times.throttled_ns)
		fprintf(to,
			"  throttled    %.1f s of the runnable time: a cgroup had used up its CPU time (cpu.max)\n",
			(double)profile->times.throttled_ns / 1e9);
	if (profile->times.frozen_ns)
		fprintf(to, "  frozen       %.1f s of the runnable time: a cgroup was frozen\n",
			(double)profile->times.frozen_ns / 1e9);
	if (profile->times.blocked.unended_ns)
		fprintf(to,
			"  asleep       %.1f s of that in waits that have not ended, without a stack\n",
			(double)profile->times.blocked.unended_ns / 1e9);
}

bool summary_tells(const struct summary_unnamed *unnamed)
{
	return unnamed->path && share_percent(unnamed->samples, unnamed->of) >= WORTH_A_LINE;
}

void summary_write_unnamed(FILE *to, const struct summary_unnamed *unnamed)
{
	char name[256];

	if (!summary_tells(unnamed))
		return;
	text_escape(name, sizeof(name), text_path_name(unnamed->path), "");
	fprintf(to, "  names        %.0f %% of leaves have no name, most of them in %s",
		share_percent(unnamed->samples, unnamed->of), name);
	if (unnamed->hint && *unnamed->hint)
		fprintf(to, ": %s", unnamed->hint);
	putc('\n', to);
}

void summary_write(FILE *to, const struct summary *summary, const struct tally *tally)
{
	write_samples(to, summary, tally);
	summary_write_outputs(to, summary->outputs, summary->nr_outputs);
	write_cost(to, summary->profile);
	write_times(to, summary->profile);
	if (shares(summary->profile, tally))
		summary_write_unnamed(to, &summary->unnamed);
}
