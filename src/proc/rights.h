/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities a run needs: the cost of each missing one, and giving up all others once the
 * perf events are open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "proc/host.h"

struct right {
	int cap;	  /* CAP_* */
	int also;	  /* a capability that includes it; -1: none */
	const char *name; /* "CAP_..." */
	const char *also_name;
	const char *cost; /* what a run without it is like */
};

/* The six, in the order of their weight. */
#define NR_RIGHTS 6u
extern const struct right rights[NR_RIGHTS];

/* The one of @cap, which is among them. */
const struct right *right_of(int cap);

/* Is it held, by itself or as a part of another? */
bool right_is_held(const struct host *host, const struct right *right);

/*
 * Log a line for each missing capability that the run can do without, with its cost. @reads_others:
 * it reads processes of other users.
 */
void rights_tell(const struct host *host, bool reads_others);

/*
 * Will rights_drop() give up rights that a helper (base/privileged_helper.h) needs: to write into
 * folders of root and of other users, and to end their processes? As rights_drop().
 */
bool rights_need_helper(void);

/*
 * For good, and before any other thread is made: keep the six of those permitted (with
 * CAP_SYS_ADMIN or CAP_DAC_OVERRIDE where only those were given), never gain any by executing a
 * program (no_new_privs, and as root securebits and an empty bounding set), and as root become
 * another user (base/run_user.h). Open descriptors stay open. Errors: those of capset(2).
 */
FPL_MUST_CHECK int rights_drop(struct fpl_err *err);

/* The same, keeping none. */
FPL_MUST_CHECK int rights_drop_all(struct fpl_err *err);

/* The same for a helper: keep only the rights to write into any folder and to end any process. */
FPL_MUST_CHECK int rights_drop_to_helper(void);
