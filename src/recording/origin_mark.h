/* SPDX-License-Identifier: Apache-2.0 */
/* How a user frame was found, as a mark behind its name: "f_[fp]", what --origin asks for. */
#pragma once

#include <stdint.h>

/* @origin: enum fpl_origin or RECORDING_NO_ORIGIN. "" where there is nothing to say. */
const char *origin_mark(uint8_t origin);

/* Cut the mark off @name, and write what it says to *ret_origin. A name that has none, or is
 * nothing else, is left as it is, and *ret_origin, too. */
void origin_mark_cut(char *name, uint8_t *ret_origin);
