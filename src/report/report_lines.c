/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_lines.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "recording/keys.h"
#include "view/share.h"

void counts_write(FILE *to, const uint64_t *counts, size_t nr, const char *(*key)(unsigned idx))
{
	const char *separator = "";

	for (unsigned i = 0; i < nr; i++) {
		if (!counts[i])
			continue;
		fprintf(to, "%s%s %" PRIu64, separator, key(i), counts[i]);
		separator = ", ";
	}
	fputs(*separator ? "\n" : "none\n", to);
}

static const char *stop_key_at(unsigned idx)
{
	return stop_key((enum fpl_stop)idx);
}

void stops_write(FILE *to, const uint64_t stops[FPL_STOP_COUNT])
{
	fputs("  stops        ", to);
	counts_write(to, stops, FPL_STOP_COUNT, stop_key_at);
}

const char *lost_advice(enum fpl_lost lost, bool is_clock)
{
	static const char *const advice[FPL_LOST_COUNT] = {
		[FPL_LOST_RING_FULL] = "a lower -F, or more --ring-memory",
		[FPL_LOST_STACK_MAP_FULL] = "more --stack-memory",
		[FPL_LOST_OBJECT_MAP_FULL] = "profile fewer processes: -p or a command",
		[FPL_LOST_SNAPSHOT_FULL] = "a smaller --snapshot",
		[FPL_LOST_SCRATCH] = "please report this",
		[FPL_LOST_USER_MEMORY] = "more memory, or a shorter run",
		[FPL_LOST_NO_FRAMES] = "please report this",
	};

	if (lost == FPL_LOST_RING_FULL && !is_clock)
		return "a larger -c, or more --ring-memory";
	return advice[lost];
}

void losses_write(FILE *to, const uint64_t lost[FPL_LOST_COUNT], bool is_clock)
{
	for (unsigned i = 0; i < FPL_LOST_COUNT; i++) {
		if (lost[i])
			fprintf(to, "  lost         %s %" PRIu64 ": %s\n",
				lost_key((enum fpl_lost)i), lost[i],
				lost_advice((enum fpl_lost)i, is_clock));
	}
}

void marked_write(FILE *to, const uint64_t samples[FPL_ORIGIN_COUNT], uint64_t user_samples)
{
	static const struct {
		enum fpl_origin origin;
		const char *by;
	} marked[] = {
		{ FPL_ORIGIN_SYNTH, "rows made from code (synth)" },
		{ FPL_ORIGIN_FP, "frame pointers (fp)" },
	};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(marked); i++) {
		if (!samples[marked[i].origin])
			continue;
		fprintf(to, "%s by %s in %.2f %%%s", any ? "," : "  marked       frames",
			marked[i].by, share_whole_percent(samples[marked[i].origin], user_samples),
			any ? "" : " of the user stacks");
		any = true;
	}
	if (any)
		putc('\n', to);
}
