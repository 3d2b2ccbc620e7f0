/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns which address: from FDEs in any order, overlapping or not, to disjoint pieces. */
#pragma once

#include "unwind/cfi_file.h"

/*
 * Set file->order[first, last) to the FDEs [first, last) of @file, ascending by start; of those
 * with the same start the first in the section comes last. Errors: -ENOMEM, -EFBIG. Cost: linear.
 */
FPL_MUST_CHECK int pieces_sort_fdes(struct cfi_file *file, size_t first, size_t last,
				    struct fpl_err *err);

/*
 * Cut the sorted FDEs [first, last) of @file into pieces: of the FDEs over an address the one with
 * the highest start owns it, of those with the same start the first in the section. What @file's
 * pieces hold already stays; the rest is added, and order restored. Errors: -ENOMEM, -EFBIG.
 */
FPL_MUST_CHECK int pieces_add_fdes(struct cfi_file *file, size_t first, size_t last,
				   struct fpl_err *err);

/* Add @pieces [nr], ascending and disjoint, where @file's pieces leave room. */
FPL_MUST_CHECK int pieces_add(struct cfi_file *file, const struct cfi_piece *pieces, size_t nr,
			      struct fpl_err *err);
