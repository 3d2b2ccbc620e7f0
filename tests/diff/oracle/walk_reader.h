/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a walk file (src/profile/walk_file.h): walks one by one, each with the mapset it was taken
 * in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"

struct walk_mapset {
	uint64_t gen;
	uint32_t tgid, version;
	uint32_t nr;
	const struct fpl_mapping *mappings; /* borrowed from the file [nr], ascending */
};

struct walk {
	const struct fpl_sample *sample;
	const uint64_t *user; /* [sample->nr_user], leaf first */
	const uint64_t *fp;   /* [sample->nr_fp], likewise, by the kernel's frame-pointer walk */
	const struct fpl_regs *regs;
	const uint8_t *stack; /* [regs->stack_size] */
	const struct walk_mapset *mapset;
};

struct walk_reader {
	uint8_t *bytes; /* owned: the whole file */
	size_t size, off;
	const char *
		*paths; /* owned [nr_paths]; borrowed strings; by object id, NULL where unknown */
	size_t nr_paths;
	struct walk_mapset **mapsets; /* owned [nr_mapsets], each owned */
	size_t nr_mapsets;
	size_t nr_homeless; /* walks skipped for want of their mapset */
};

/* Errors: errors of open(2) and read(2); -EINVAL no walk file; -ENOMEM. */
FPL_MUST_CHECK int walk_reader_open(const char *path, struct walk_reader *ret, struct fpl_err *err);
void walk_reader_close(struct walk_reader *reader);

/*
 * Read the next walk. Returns 1, 0 at the end, -EINVAL for a malformed file, -ENOMEM. Pointers in
 * @ret live as long as the reader.
 */
int walk_reader_next(struct walk_reader *reader, struct walk *ret, struct fpl_err *err);

/* The path of object @id, or NULL. */
const char *walk_reader_path(const struct walk_reader *reader, uint32_t id);
