/* SPDX-License-Identifier: Apache-2.0 */
/* A stream whose bytes become a gzip file: for writers that know nothing of that. */
#pragma once

#include <stdio.h>

#include "base/err.h"

struct gzip_stream;

/*
 * Pack what is written to *@ret_from into @to, which is at its beginning and stays open. The stream
 * takes no seeks. Cost: 3 MiB.
 */
struct gzip_stream *gzip_stream_open(FILE *to, FILE **ret_from);

/* Write the rest, close and free it. Returns 0 or -errno of a write to the file. */
FPL_MUST_CHECK int gzip_stream_close(struct gzip_stream *stream);
