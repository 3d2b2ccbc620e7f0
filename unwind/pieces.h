/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of each address: turn FDEs in any order, overlapping or not, into disjoint pieces. */
#pragma once

#include "unwind/cfi_file.h"

/*
 * Set file->order[first, last) to the FDEs [first, last) of @file, ascending by start; of those
 * with the same start the first in the section comes last. Errors: -ENOMEM, -EFBIG. Cost: linear.
 */
FPL_MUST_CHECK int pieces_sort_fdes(struct cfi_file *file, size_t first, size_t last,
				    struct fpl_err *err);

/*
 * Cut the sorted FDEs [first, last) of @file into pieces. The FDE with the highest start owns an
 * address; among equal starts the first in the section does. Pieces that @file has already stay;
 * new ones fill the gaps, in order. Errors: -ENOMEM, -EFBIG.
 */
FPL_MUST_CHECK int pieces_add_fdes(struct cfi_file *file, size_t first, size_t last,
				   struct fpl_err *err);

/* Add @pieces [nr], ascending and disjoint, in the gaps of @file's pieces. */
FPL_MUST_CHECK int pieces_add(struct cfi_file *file, const struct cfi_piece *pieces, size_t nr,
			      struct fpl_err *err);

/* Make room for @nr more rows in file->synth_rows. Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int pieces_room_for_rows(struct cfi_file *file, size_t nr, struct fpl_err *err);

/*
 * Add file->synth_rows from @first on in the gaps between pieces. They may lie in any order, and
 * overlap. Errors: -ENOMEM, -EFBIG.
 */
FPL_MUST_CHECK int pieces_place_rows(struct cfi_file *file, size_t first, struct fpl_err *err);

/* Add the rows @rows [nr], made for code without CFI, in the gaps of the file. In any order.
 * Errors: -ENOMEM, -EFBIG. */
FPL_MUST_CHECK int pieces_add_rows(struct cfi_file *file, const struct cfi_row *rows, size_t nr,
				   struct fpl_err *err);
