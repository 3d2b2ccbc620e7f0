/* SPDX-License-Identifier: Apache-2.0 */
#include "report/problems.h"

#include <inttypes.h>

#include "report/event_tally.h"
#include "report/map_levels.h"
#include "report/no_room.h"
#include "view/share.h"

/* Stacks without frames in the middle, and stacks whose walk to the root took too long. */
static void write_deep(FILE *to, const struct profile *profile, const struct tally *tally, bool all)
{
	const struct profile_deep *deep = &profile->deep;
	const struct profile_source *clock = profile->nr_sources ? NULL : profile_clock(profile);
	uint64_t hz = clock && !profile->hz_end ? clock->hz : clock ? profile->hz_end : 0;
	uint64_t fits = deep->refused ? hz * deep->walked / (deep->walked + deep->refused) : 0;

	if (all ? tally->elided_samples
		: share_percent(tally->elided_samples, tally->user_samples) >= WORTH_A_LINE)
		fprintf(to,
			"  deep         %" PRIu64
			" user stacks without frames in the middle, at most %" PRIu64
			" of them: --max-depth says how many are kept\n",
			tally->elided_samples, tally->elided_most);
	if (deep->refused)
		fprintf(to,
			"               %" PRIu64
			" were cut at their root: walking them takes more than a tenth of a CPU; ",
			deep->refused);
	if (deep->refused && hz)
		fprintf(to, "-F %" PRIu64 " fits\n", fits ? fits : 1);
	else if (deep->refused)
		fputs("a larger -c fits\n", to);
	if (deep->cut)
		fprintf(to,
			"               %" PRIu64
			" were cut at their root: walking one took more than a millisecond\n",
			deep->cut);
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

static void write_frequency(FILE *to, const struct profile *profile)
{
	if (profile->wait_period_end_ns != profile->wait_period_ns)
		fprintf(to,
			"  short waits  one sample for each %.4g ms wanted, for each %.4g ms at the end (--max-overhead %g): weights tell\n",
			(double)profile->wait_period_ns / 1e6,
			(double)profile->wait_period_end_ns / 1e6, profile->max_overhead);
	if (profile->hz_changes && profile_clock(profile))
		fprintf(to,
			"  frequency    %" PRIu64 " Hz wanted, %" PRIu64
			" at the end: changed %" PRIu64
			" times (--max-overhead %g): weigh samples by weight_ns\n",
			profile_clock(profile)->hz, profile->hz_end, profile->hz_changes,
			profile->max_overhead);
}

/* A clock that misses a tick changes no share. Missed events make counts wrong. */
static void write_missed(FILE *to, const struct profile *profile)
{
	const struct profile_books *books = &profile->books;

	if (profile->nr_sources && books->missed)
		fprintf(to,
			"  missed       %" PRIu64 " of %" PRIu64
			" samples (%.2f %%): due by the clock and by the kernel's counts, which ran no "
			"program for them\n",
			books->missed, books->expected + books->counted,
			share_whole_percent(books->missed, books->expected + books->counted));
	else if (books->counted && books->missed)
		fprintf(to,
			"  missed       %" PRIu64 " of %" PRIu64
			" samples (%.2f %%): the kernel counted their %s, and ran no program for "
			"them\n",
			books->missed, books->counted,
			share_whole_percent(books->missed, books->counted), profile->source.name);
}

/* The kernel side reads no page that is not resident. */
static void write_unread(FILE *to, const struct profile *profile)
{
	uint64_t nr = profile->books.texts_unread;

	if (nr && *profile->key)
		fprintf(to,
			"  unread       the text of %" PRIu64
			" %s was not in memory yet: they passed no --filter, and have the label "
			"[unread]\n",
			nr, profile->source.name);
	else if (nr)
		fprintf(to,
			"  unread       the text of %" PRIu64
			" %s was not in memory yet: they passed no --filter\n",
			nr, profile->source.name);
}

/* A breakpoint stops every process that comes by. */
static void write_hits(FILE *to, const struct profile *profile, bool all)
{
	const struct profile_books *books = &profile->books;
	uint64_t hit_ns = profile->source.hit_ns;

	if (!hit_ns || !books->filtered ||
	    (!all && share_percent(books->filtered, books->fired) < WORTH_A_LINE))
		return;
	fprintf(to,
		"  filtered     %" PRIu64 " of %" PRIu64
		" hits were of other processes, or passed no filter: about %.1f ms of their time\n",
		books->filtered, books->fired, (double)books->filtered * (double)hit_ns / 1e6);
}

void problems_write(FILE *to, const struct profile *profile, const struct tally *tally, bool all)
{
	if (profile->user)
		write_deep(to, profile, tally, all);
	write_away(to, profile);
	write_frequency(to, profile);
	write_missed(to, profile);
	write_unread(to, profile);
	write_hits(to, profile, all);
	write_evictions(to, &profile->tables);
	no_room_write(to, profile);
	write_refusals(to, &profile->tables);
	event_tally_write(to, profile, all);
	map_levels_write(to, profile, all);
}
