/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that both closing reports have, that of a run and that of recordings. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "bpf/shared.h"

/* "  stops        outermost 12, no_cfi 3": how many user stacks ended why. */
void stops_write(FILE *to, const uint64_t stops[FPL_STOP_COUNT]);

/*
 * How many of @user_samples have frames that are not known from CFI; nothing where there are none.
 * @samples: by origin, those with at least one frame of it.
 */
void marked_write(FILE *to, const uint64_t samples[FPL_ORIGIN_COUNT], uint64_t user_samples);

/* "key N, key N" of the entries that are not 0, or "none", and the end of the line. */
void counts_write(FILE *to, const uint64_t *counts, size_t nr, const char *(*key)(unsigned idx));
