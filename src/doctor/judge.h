/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the judges of checkup.h. Inside this folder only. */
#pragma once

#include "doctor/checkup.h"

struct patient {
	const struct host *host;
	const struct probes *probes;
	const struct trial *trial;
};

/* Fills everything but the subject. */
typedef void (*judge_fn)(const struct patient *patient, struct check *check);

struct judge {
	const char *subject;
	judge_fn judge;
};

/* Verdicts; each also formats one of the texts. */
FPL_PRINTF(2, 3) void check_ok(struct check *check, const char *fact, ...);
FPL_PRINTF(2, 3) void check_fact(struct check *check, const char *fact, ...);
FPL_PRINTF(2, 3) void check_warn(struct check *check, const char *cost, ...);
FPL_PRINTF(2, 3) void check_fail(struct check *check, const char *cost, ...);
FPL_PRINTF(2, 3) void check_fix(struct check *check, const char *fix, ...);

/* Lists, ended by a judge without subject: the kernel, then rights, then the rest. */
extern const struct judge judges_kernel[], judges_rights[], judges_machine[];
