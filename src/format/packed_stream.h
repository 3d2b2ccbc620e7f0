/* SPDX-License-Identifier: Apache-2.0 */
/* A stream whose bytes become a packed file: for writers that know nothing of that. */
#pragma once

#include <stdio.h>

#include "base/err.h"

enum packing {
	PACKING_NONE,
	PACKING_GZIP, /* members of gzip_members.h: .gz */
	PACKING_ZSTD, /* one frame, with a window of 16 MiB: .zst */
};

struct packed_stream;

/*
 * Pack what is written to *@ret_from into @to, which is at its beginning and stays open; not
 * PACKING_NONE. @zstd_level is that of PACKING_ZSTD, 1 to 6; 0: 3. The stream takes no seeks. Cost:
 * 3 MiB; of PACKING_ZSTD 30 MiB.
 */
struct packed_stream *packed_stream_open(FILE *to, enum packing packing, int zstd_level,
					 FILE **ret_from);

/* Write the rest, close and free it. Returns 0 or -errno of a write to the file. */
FPL_MUST_CHECK int packed_stream_close(struct packed_stream *stream);
