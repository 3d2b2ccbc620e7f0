/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/leave_root.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/run_user.h"
#include "proc/rights.h"

/*
 * May @user do it? A folder on the way may be another user's alone, one above the working
 * directory, too: a store is opened by its whole path.
 */
static bool may_go_on(const struct run_user *user, const char *store, const struct leave_root *what)
{
	AUTO_FREE char *path = NULL;
	bool may;

	if (setgroups(0, NULL) || setegid(user->gid) || seteuid(user->uid))
		return false;
	path = realpath(store, NULL);
	may = path ? !euidaccess(path, R_OK) : errno != EACCES;
	may = may && !euidaccess(what->program, X_OK);
	may = may && (!what->folder || !euidaccess(what->folder, W_OK | X_OK));
	return !seteuid(0) && !setegid(0) && may;
}

int leave_root(const struct leave_root *what, struct fpl_err *err)
{
	AUTO_FREE char *store = NULL;
	struct run_user user;
	struct stat st;
	int code;

	if (asprintf(&store, "%s/fpless.db", what->store) < 0) {
		store = NULL;
		return fpl_fail(err, -ENOMEM, "%s: out of memory", what->verb);
	}
	if (run_user_find(&user)) {
		if (!stat(store, &st) || !stat(what->store, &st))
			user.gid = st.st_gid;
		code = may_go_on(&user, store, what) ? run_user_become(&user) : -EACCES;
		if (code)
			fpl_log(FPL_LOG_WARN,
				"%s: %s: not to be read by user %u%s%s: it goes on as root, without capabilities",
				what->verb, store, user.uid,
				what->folder ? ", or not to be written: " : "",
				what->folder ? what->folder : "");
	}
	return rights_drop_all(err);
}
