/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wanted.h"

#include "base/cleanup.h"
#include "recording/merge.h"
#include "recording/must_add.h"
#include "recording/recount.h"

static void cleanup_filter(struct filter **filter)
{
	filter_destroy(*filter);
}

int wanted_keep(const struct filter_options *options, const struct recording *recording,
		struct recording *kept, struct profile *profile, const struct recording **ret,
		struct fpl_err *err)
{
	CLEANUP(cleanup_filter) struct filter *filter = NULL;
	struct merge_result result = { 0 };
	int error = filter_create(options, &filter, err);

	*ret = recording;
	if (error || filter_is_empty(filter))
		return error;
	must_recording_init(kept);
	error = filter_begin(filter, recording, "--focus", err);
	if (!error)
		error = recording_merge(kept, recording, filter_of(filter), &result);
	if (!error && result.refused)
		recording_recount(kept, true);
	profile->books.filtered += result.refused;
	*ret = kept;
	return error;
}
