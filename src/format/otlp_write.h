/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a request to export profiles by OTLP over HTTP: src/format/otlp.proto. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "recording/recording.h"

#define OTLP_ID_BYTES 16u

struct otlp_attribute {
	const char *name, *value; /* borrowed; other bytes than UTF-8 are escaped */
};

struct otlp_options {
	const struct otlp_attribute *attributes; /* of the resource, borrowed [nr_attributes] */
	size_t nr_attributes;
	uint8_t id[OTLP_ID_BYTES]; /* of the profile */
};

/*
 * Write @recording, of one source, to @to, gzipped: its weights or, where it has none, its counts.
 * No labels, no addresses; code without a name is called as everywhere else. *ret_bytes: its size
 * when it is unpacked. Errors: those of a write. Cost: O(frames + stacks x depth).
 */
FPL_MUST_CHECK int otlp_write(FILE *to, const struct recording *recording,
			      const struct otlp_options *options, uint64_t *ret_bytes,
			      struct fpl_err *err);
