/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of both closing reports, the one about a run and the one about recordings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/shared.h"

/* Write "  stops        outermost 12, no_cfi 3": user stacks by stop. */
void stops_write(FILE *to, const uint64_t stops[FPL_STOP_COUNT]);

/* Advice against @lost, static. @is_clock: -F says how many samples there are; else -c. */
const char *lost_advice(enum fpl_lost lost, bool is_clock);

/* Write a line for each reason for which samples were lost, with its fix. @is_clock: as above. */
void losses_write(FILE *to, const uint64_t lost[FPL_LOST_COUNT], bool is_clock);

/*
 * Write how many of @user_samples have frames that are not known from CFI, or nothing if no sample
 * has. @samples: by origin, the samples with at least one such frame.
 */
void marked_write(FILE *to, const uint64_t samples[FPL_ORIGIN_COUNT], uint64_t user_samples);

/* Write "key N, key N" for the entries that are not 0, or "none", and the end of the line. */
void counts_write(FILE *to, const uint64_t *counts, size_t nr, const char *(*key)(unsigned idx));
