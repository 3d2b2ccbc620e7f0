/* SPDX-License-Identifier: Apache-2.0 */
/* The user that a run started by root switches to: it owns only root's cache. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Made by the package. */
#define RUN_USER_NAME "_fpless"
/* The uid without the package: one that no user has, since systemd's table has no such range.
 * Workers have the next. */
#define RUN_USER_UID 2147483645u

struct run_user {
	uid_t uid;
	gid_t gid;
};

/*
 * Find that user: RUN_USER_NAME of /etc/passwd, else RUN_USER_UID. False if the caller keeps its
 * identity, which is then *ret: it is not root, lacks CAP_SETUID and CAP_SETGID, or is in a user
 * namespace without such a user. Cost: one reading of /etc/passwd, /proc/self/uid_map and gid_map.
 * To be called while the process has one thread.
 */
bool run_user_find(struct run_user *ret);

/*
 * Become that user for good. The permitted capabilities stay, without any effective ones. To be
 * called while the process has one thread. Returns 0 or a negative errno: then the process keeps
 * its identity, but its supplementary groups may be gone.
 */
int run_user_become(const struct run_user *user);
