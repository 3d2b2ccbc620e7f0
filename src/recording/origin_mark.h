/* SPDX-License-Identifier: Apache-2.0 */
/* Cut marks of --origin ("f_[fp]") off the names of frames. */
#pragma once

#include <stdint.h>

/* Cut the mark off @name, and write its origin to *ret_origin. A name without a mark, and one that
 * is a mark alone, stay as they are, and so does *ret_origin. */
void origin_mark_cut(char *name, uint8_t *ret_origin);
