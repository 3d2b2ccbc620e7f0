/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the fates of profiles since fpless push began. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* X(name, key) */
#define PUSH_FATE_LIST(X)                                                                     \
	X(SENT, "sent")		  /* the target has taken it */                               \
	X(TOO_OLD, "too_old")	  /* older than the target takes */                           \
	X(REFUSED, "refused")	  /* the target has said that it never will */                \
	X(UNCERTAIN, "uncertain") /* the target may have it; it adds up what is sent twice */ \
	X(LEFT_OUT, "left_out")	  /* it cannot be a profile, or is too large */

#define X(name, key) PUSH_##name,
enum push_fate { PUSH_FATE_LIST(X) PUSH_FATE_COUNT };
#undef X

struct push_sums {
	uint64_t profiles[PUSH_FATE_COUNT], samples[PUSH_FATE_COUNT];
	uint64_t windows;	 /* dealt with */
	uint64_t failures;	 /* requests that were not answered as they should be */
	uint64_t bytes;		 /* of bodies, each time they were sent */
	uint64_t last_window_ns; /* when the last of them ended, since 1970; 0: none */
	uint64_t last_sent_ns;	 /* when the target last took something; 0: never */
};

/* "3 windows, 12 profiles sent ...": a line without its end. */
void push_sums_write_status(FILE *to, const struct push_sums *sums);

/* Write all as text of Prometheus to the file @path, which is replaced. Errors: those of
 * output_file_open() and output_file_commit(). */
FPL_MUST_CHECK int push_sums_replace_metrics(const char *path, const struct push_sums *sums,
					     const char *target, struct fpl_err *err);
