/* SPDX-License-Identifier: Apache-2.0 */
#include "report/script_tally.h"

#include <inttypes.h>

#include "recording/must_add.h"
#include "view/share.h"

static const struct {
	const char *key, *text;
} ends[] = {
#define X(name, key, text) [FPL_SCRIPT_END_##name] = { #key, text },
	FPL_SCRIPT_END_LIST(X)
#undef X
};

static const struct {
	const char *key, *text;
} unnamed[] = {
#define X(name, key, text) [SCRIPT_UNNAMED_##name] = { #key, text },
	SCRIPT_UNNAMED_LIST(X)
#undef X
};

static void count_stack(struct script_codes *codes, const struct profile_stack *stack,
			struct script_tally *tally)
{
	for (size_t i = 0; i < stack->nr_user; i++) {
		struct script_frame frame;

		if (!fpl_frame_is_script(stack->frames[i]))
			continue;
		if (script_codes_find(codes, stack->frames[i], &frame)) {
			tally->named += stack->count;
			continue;
		}
		tally->unnamed += stack->count;
		tally->why[frame.why] += stack->count;
	}
}

void script_tally_count(const struct profile *profile, struct script_tally *ret)
{
	*ret = (struct script_tally){ 0 };
	if (!profile->script_codes)
		return;
	script_codes_stats(profile->script_codes, &ret->stats);
	for (size_t i = 0; profile->user && ret->stats.chains && i < profile->nr_stacks; i++)
		count_stack(profile->script_codes, &profile->stacks[i], ret);
}

void script_tally_add(struct recording *to, const struct profile *profile)
{
	struct script_tally tally;

	script_tally_count(profile, &tally);
	if (!tally.stats.chains)
		return;
	must_add_number(to, "script_frames.named", tally.named);
	must_add_number(to, "script_frames.unnamed", tally.unnamed);
	for (unsigned i = 0; i < SCRIPT_UNNAMED_COUNT; i++) {
		char key[64];

		snprintf(key, sizeof(key), "script_unnamed.%s", unnamed[i].key);
		must_add_number(to, key, tally.why[i]);
	}
	must_add_number(to, "script_chains.all", tally.stats.chains);
	must_add_number(to, "script_chains.differ", tally.stats.differ);
	for (unsigned i = 0; i < FPL_SCRIPT_END_COUNT; i++) {
		char key[64];

		snprintf(key, sizeof(key), "script_end.%s", ends[i].key);
		must_add_number(to, key, tally.stats.ends[i]);
	}
	must_add_number(to, "script_codes.all", tally.stats.codes);
	must_add_number(to, "script_codes.unnamed", tally.stats.unnamed_codes);
	must_add_number(to, "script_codes.refused", tally.stats.refused_codes);
	must_add_number(to, "script_codes.no_room", tally.stats.no_room);
}

void script_tally_write(FILE *to, const struct profile *profile, uint64_t frames)
{
	struct script_tally tally;
	uint64_t all;

	script_tally_count(profile, &tally);
	all = tally.named + tally.unnamed;
	if (!tally.stats.chains)
		return;
	fprintf(to,
		"  scripts      %.2f %% of the frames are functions of scripts, %.2f %% of them "
		"with a name\n",
		share_whole_percent(all, frames), share_whole_percent(tally.named, all));
	for (unsigned i = 0; i < SCRIPT_UNNAMED_COUNT; i++)
		if (i != SCRIPT_UNNAMED_UNKNOWN && tally.why[i])
			fprintf(to,
				"               %" PRIu64 " of %" PRIu64
				" functions of scripts have no name: %s (%s)\n",
				tally.why[i], all, unnamed[i].key, unnamed[i].text);
	for (unsigned i = 0; i < FPL_SCRIPT_END_COUNT; i++)
		if (i != FPL_SCRIPT_END_OUTERMOST && tally.stats.ends[i])
			fprintf(to,
				"               %" PRIu64 " of %" PRIu64
				" native frames of interpreters: %s (%s)\n",
				tally.stats.ends[i], tally.stats.chains, ends[i].key, ends[i].text);
}
