/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a window as bytes: how often each stack was met, and the books. Pure: rows are
 * ids here, and whether they are there is for others to say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"

enum {
	WINDOW_BYTES_MAX = 64 << 20, /* unpacked */
	WINDOW_ENTRIES_MAX = 8 << 20,
};

/* A stack: the leaf's node leads to the root. */
struct window_entry {
	uint64_t count, weight;
	uint32_t series, node; /* rows; node 0: a stack without frames */
	uint32_t elided;
	uint8_t stop; /* enum fpl_stop or RECORDING_NO_STOP */
	bool no_user;
};

/* A number of the books. */
struct window_number {
	uint32_t key; /* row of its text */
	uint64_t value;
};

struct window_data {
	VECTOR(struct window_entry) entries;
	VECTOR(struct window_number) numbers;
};

void window_data_fini(struct window_data *data);

/* Bring entries in order, and let equals be one. Errors: -EOVERFLOW a sum is beyond 64 bits. */
FPL_MUST_CHECK int window_data_settle(struct window_data *data);

/*
 * Settled @data as bytes to *ret [*ret_size], to be freed: zstd with a checksum. @head goes with
 * them: a digest of what stands beside them. Errors: -E2BIG beyond WINDOW_BYTES_MAX.
 */
FPL_MUST_CHECK int window_data_pack(const struct window_data *data, uint64_t head, uint8_t **ret,
				    size_t *ret_size);

/* The bytes @packed [@size], hostile, as *ret, which is zero at first. Errors: -EBADMSG damaged, or
 * not with @head. */
FPL_MUST_CHECK int window_data_unpack(const uint8_t *packed, size_t size, uint64_t head,
				      struct window_data *ret);
