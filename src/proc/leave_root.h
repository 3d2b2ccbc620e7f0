/* SPDX-License-Identifier: Apache-2.0 */
/* Programs beside a store: as root they become the user that has nothing. */
#pragma once

#include "base/err.h"

/* Tasks that such a program still has. All is borrowed. */
struct leave_root {
	const char *verb;    /* for messages */
	const char *store;   /* folder of the store that it reads */
	const char *program; /* what it executes */
	const char *folder;  /* what it writes to; NULL: nothing */
};

/*
 * As root become the run's user, in the group that may read the store. Everything that needs more
 * is open by now. Where that user could not go on, the process stays root, and says so. All
 * capabilities go in any case, for good. Errors: those of rights_drop_all().
 */
FPL_MUST_CHECK int leave_root(const struct leave_root *what, struct fpl_err *err);
