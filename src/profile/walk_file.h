/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks written down to be judged by another unwinder: what the kernel walked, from which registers
 * and stack, and in which mappings. For tests; not a recording format.
 *
 * The file is the 8 bytes of WALK_FILE_MAGIC, then records, each beginning with struct
 * fpl_record_header (time_ns 0 in the first two), sizes multiples of 8:
 *
 *   WALK_FILE_OBJECT  struct walk_file_object, path; once per object, before any mapset with it
 *   WALK_FILE_MAPSET  struct walk_file_mapset, struct fpl_mapping[nr]; once per (tgid, gen,
 *                     version), before any walk in it
 *   FPL_RECORD_WALK   as it came through the ring: struct fpl_sample, user frames, kernel frames,
 *                     fp frames, struct fpl_regs, stack bytes
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/catalog.h"

#define WALK_FILE_MAGIC "fplwalk1"

enum walk_file_record {
	WALK_FILE_OBJECT = 0x100,
	WALK_FILE_MAPSET,
};

struct walk_file_object {
	struct fpl_record_header header;
	uint32_t id;
	uint32_t path_size; /* of the path that follows, NUL and padding included */
};

struct walk_file_mapset {
	struct fpl_record_header header;
	uint64_t gen;
	uint32_t tgid, version;
	uint32_t nr; /* mappings that follow */
	uint32_t _pad;
};

struct walk_file;

/* Errors: -EIO with the reason. */
FPL_MUST_CHECK int walk_file_create(const char *path, struct walk_file **ret, struct fpl_err *err);

/* Add a walk with the mapset it was walked in. A failed write shows at the end. */
void walk_file_add(struct walk_file *file, const struct fpl_sample *walk,
		   const struct fpl_mapping *mappings, uint32_t nr_mappings,
		   const struct catalog *catalog);

/* Close; NULL is fine. Errors: -EIO the file is not whole. */
int walk_file_close(struct walk_file *file, struct fpl_err *err);
