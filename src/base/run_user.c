/* SPDX-License-Identifier: Apache-2.0 */
#include "base/run_user.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Not getpwnam(3): modules that ask servers would be loaded into this process. */
static void find_made(struct run_user *ret)
{
	FILE *file = fopen("/etc/passwd", "re");

	for (const struct passwd *entry; file && (entry = fgetpwent(file));)
		if (!strcmp(entry->pw_name, RUN_USER_NAME) && entry->pw_uid)
			*ret = (struct run_user){ entry->pw_uid, entry->pw_gid };
	if (file)
		(void)fclose(file);
}

/* Does the user namespace have the number @id? @path: user_namespaces(7). */
static bool is_mapped(const char *path, uint32_t id)
{
	FILE *file = fopen(path, "re");
	uint32_t from, to, nr;
	bool found = false;

	while (file && !found &&
	       fscanf(file, "%" SCNu32 " %" SCNu32 " %" SCNu32, &from, &to, &nr) == 3)
		found = id - from < nr;
	if (file)
		(void)fclose(file);
	return found;
}

static bool may_become(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t user = CAP_CLEAR, group = CAP_CLEAR;

	if (caps) {
		cap_get_flag(caps, CAP_SETUID, CAP_EFFECTIVE, &user);
		cap_get_flag(caps, CAP_SETGID, CAP_EFFECTIVE, &group);
		cap_free(caps);
	}
	return user == CAP_SET && group == CAP_SET;
}

bool run_user_find(struct run_user *ret)
{
	*ret = (struct run_user){ geteuid(), getegid() };
	if (ret->uid || !may_become())
		return false;

	struct run_user user = { RUN_USER_UID, RUN_USER_UID };

	find_made(&user);
	if (!is_mapped("/proc/self/uid_map", user.uid) ||
	    !is_mapped("/proc/self/gid_map", user.gid))
		return false;
	*ret = user;
	return true;
}

int run_user_become(const struct run_user *user)
{
	/* refused where securebits are locked, which keep capabilities by themselves */
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (setgroups(0, NULL) < 0)
		return -errno;

	gid_t gid, effective, saved;

	if (getresgid(&gid, &effective, &saved) < 0 ||
	    setresgid(user->gid, user->gid, user->gid) < 0)
		return -errno;
	if (setresuid(user->uid, user->uid, user->uid) == 0)
		return 0;

	int code = -errno;

	return setresgid(gid, effective, saved) < 0 ? -errno : code;
}
