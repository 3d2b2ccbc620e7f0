/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a writer for a profile or a recording, as a string. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <stdio.h>

#include "format/formats.h"
#include "report/finished.h"

/* @profile with the names that @namer gives; the caller ends it with recording_fini. */
static inline void record_profile(const struct profile *profile, struct namer *namer,
				  struct recording *ret)
{
	struct names names;

	names_init(&names, profile, namer, &(struct names_options){ .by_function = true });
	assert_int_equal(recording_init(ret), 0);
	finished_make(&names, ret);
	names_fini(&names);
}

/* Write @recording by @write, which must show @shown; the caller frees the result. */
static inline char *written(format_write_fn *write, const struct recording *recording,
			    const struct format_options *options, uint64_t shown)
{
	struct fpl_err err = { 0 };
	uint64_t got = 0;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (write(to, recording, options, &got, &err))
		fail_msg("%s", err.msg);
	fclose(to);
	assert_int_equal(got, shown);
	return text;
}

/* The same of a profile. */
static inline char *written_profile(format_write_fn *write, const struct profile *profile,
				    struct namer *namer, const struct format_options *options,
				    uint64_t shown)
{
	struct recording recording;
	char *text;

	record_profile(profile, namer, &recording);
	text = written(write, &recording, options, shown);
	recording_fini(&recording);
	return text;
}
