/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of what a stack or a sample ends in: in JSON, labels and text, as in the X-lists of
 * bpf/shared.h. */
#pragma once

#include "bpf/shared.h"

/* "unknown" of a number that is none. */
const char *stop_key(enum fpl_stop stop);
const char *lost_key(enum fpl_lost lost);
const char *origin_key(enum fpl_origin origin);
