/* SPDX-License-Identifier: Apache-2.0 */
#include "report/event_tally.h"

#include <inttypes.h>

static void write_timeline(FILE *to, const struct profile *profile)
{
	const struct profile_timeline *timeline = &profile->timeline;

	fprintf(to, "  timeline     %zu samples with their time", profile->nr_events);
	if (timeline->missing)
		fprintf(to, ", %" PRIu64 " without", timeline->missing);
	if (timeline->missing && timeline->ring_full)
		fputs(": more --ring-memory", to);
	if (timeline->missing && timeline->memory_full)
		fprintf(to, "%s more --timeline-memory", timeline->ring_full ? "," : ":");
	putc('\n', to);
}

static void write_stream(FILE *to, const struct profile *profile)
{
	fprintf(to, "  stream       %" PRIu64 " samples printed", profile->stream.printed);
	if (profile->stream.unprinted)
		fprintf(to,
			", %" PRIu64 " not: naming or the reader did not keep up, or the reader "
			"had enough",
			profile->stream.unprinted);
	putc('\n', to);
}

void event_tally_write(FILE *to, const struct profile *profile, bool all)
{
	if (profile->has_events && (all || profile->timeline.missing))
		write_timeline(to, profile);
	if (profile->stream.was_on && (all || profile->stream.unprinted))
		write_stream(to, profile);
}
