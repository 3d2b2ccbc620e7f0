/* SPDX-License-Identifier: Apache-2.0 */
/* The user a run goes on as that root has started: one who owns nothing but root's cache. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Made by the package. */
#define RUN_USER_NAME "_fpless"
/* Used without the package: nobody's, since systemd's table has no such range. Workers have the
 * next. */
#define RUN_USER_UID 2147483645u

struct run_user {
	uid_t uid;
	gid_t gid;
};

/*
 * Finds that user: RUN_USER_NAME of /etc/passwd, else RUN_USER_UID. False where the caller stays
 * who he is, and *ret is he: he is not root, has no CAP_SETUID and CAP_SETGID, or is in a user
 * namespace without such a user. Cost: one reading of /etc/passwd, /proc/self/uid_map and gid_map.
 * To be called while the process has one thread.
 */
bool run_user_find(struct run_user *ret);

/*
 * Become that user for good. The permitted capabilities stay, none is effective then. To be called
 * while the process has one thread. Returns 0 or a negative errno: then the process is who it was,
 * but for its supplementary groups, which may be gone.
 */
int run_user_become(const struct run_user *user);
