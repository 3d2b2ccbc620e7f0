/* SPDX-License-Identifier: Apache-2.0 */
#include "report/time_books.h"

#include <inttypes.h>

/* The weight of the stacks in the state whose flag is @flag; 0: on a CPU. */
static uint64_t shown_ns(const struct profile *profile, uint8_t flag)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++)
		if (flag ? profile->stacks[i].flags & flag
			 : !(profile->stacks[i].flags & FPL_SAMPLE_STATE))
			sum += profile->stacks[i].weight;
	return sum;
}

/* @ns: of the state in all; @name is padded. */
static void write_state(FILE *to, const char *name, uint64_t ns, const struct fpl_wait_sums *waits,
			uint64_t shown)
{
	uint64_t sampled = waits->sampled_ns, first = waits->first_carry_ns;
	uint64_t unwanted = waits->unwanted_ns, carried = waits->carried_ns;
	uint64_t unended = waits->unended_ns, unborn = waits->unborn_ns, nr = waits->nr;
	uint64_t left = ns + first, right = sampled + unwanted + carried + unended + unborn;

	/* shown is no part of the sums of the kernel side: what is sampled is shown or lost */
	fprintf(to,
		"  %s %" PRIu64 " ns + begun with %" PRIu64 " = shown %" PRIu64 " + lost %" PRIu64
		" + unwanted %" PRIu64 " + carried %" PRIu64 " + not ended %" PRIu64
		" + not begun %" PRIu64,
		name, ns, first, shown, sampled > shown ? sampled - shown : 0, unwanted, carried,
		unended, unborn);
	if (left == right && shown <= sampled)
		fprintf(to, ", in %" PRIu64 " waits: closed\n", nr);
	else
		fprintf(to, ": DO NOT CLOSE, off by %" PRId64 ": please report this\n",
			(int64_t)(left - right));
}

void time_books_write(FILE *to, const struct profile *profile)
{
	const struct fpl_times *times = &profile->times;

	if (!times->threads || !profile->has_states)
		return;
	if (profile->is_wall)
		fprintf(to, "  on a CPU     %" PRIu64 " ns by switches, %" PRIu64 " by the clock\n",
			(uint64_t)times->ns[FPL_TIME_ON_CPU], shown_ns(profile, 0));
	write_state(to, "blocked     ", times->ns[FPL_TIME_BLOCKED], &times->blocked,
		    shown_ns(profile, FPL_SAMPLE_BLOCKED));
	write_state(to, "runnable    ", times->ns[FPL_TIME_RUNNABLE], &times->runnable,
		    shown_ns(profile, FPL_SAMPLE_RUNNABLE));
}
