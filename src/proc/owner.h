/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a resource is charged to that all share (profile/share.h): a user, by its uid; or a cgroup
 * of version 2, for programs that run as root or as our own user. So a container, or a build, that
 * runs as root is told from the rest of root's.
 *
 * A cgroup counts by the first two parts of its path ("/system.slice/docker-1.scope"), below
 * kubepods by three, which end with the pod: what is made below is part of it. Parts ".." do not
 * count. The root of the hierarchy, and the cgroup in which fpless itself runs, are no owners:
 * their programs are charged to the user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* The process had gone before it was asked, or the book of owners is full. */
#define OWNER_UNKNOWN UINT64_MAX

/* Cgroups that are told apart in the life of this process; all others are one owner. */
#define OWNER_CGROUPS_MAX 1000u
/* Room for a path of three parts, "/" before each, and NUL; longer ones are cut. */
#define OWNER_PATH_SIZE 769u
/* Room for what owner_text() writes, if every byte is escaped. */
#define OWNER_TEXT_SIZE (4 * OWNER_PATH_SIZE + 16)

/* Uids have 32 bits; a cgroup has its number in the order in which they were met. */
static inline bool owner_is_cgroup(uint64_t owner)
{
	return owner >> 32 == 1;
}

/* Is there a limit to what @owner may use? Not for root and our own user: they could end the run
 * anyway. */
static inline bool owner_is_limited(uint64_t owner)
{
	return owner && owner != geteuid();
}

/*
 * Find the cgroup in @text, of /proc/PID/cgroup: the first parts of its path. Returns false if the
 * text names no cgroup of version 2.
 */
bool owner_parse_cgroup(const char *text, char ret[OWNER_PATH_SIZE]);

/* The owner of programs that run as @uid, which is not limited, in the cgroup that
 * owner_parse_cgroup() has found. */
uint64_t owner_of_cgroup(const char *path, uint64_t uid);

/*
 * The owner of process @pid: its effective user or, where there is no limit to that one, its
 * cgroup. OWNER_UNKNOWN: it has gone. Any thread may ask. Cost: 1 us, with the cgroup 7 us. Older
 * kernels read the cgroup under a lock that others may hold: if the thread slept for it, for more
 * than a millisecond, the user is the answer for a hundred times as long.
 */
uint64_t owner_of_process(pid_t pid);

/*
 * The owner of process @pid, which the kernel has just said is of effective user @euid and in the
 * cgroup with id @cgroup (0: not known). Any thread may ask. Cost: nothing, except for a cgroup
 * that was not met of late: owner_of_process() and one stat(2) more.
 */
uint64_t owner_of_exec(pid_t pid, uint32_t euid, uint64_t cgroup);

/*
 * Whom a file of user @uid is charged to, which process @pid has mapped: the user or, where there
 * is no limit to that one, the cgroup of the process. @owner: of the process, if it is known, else
 * OWNER_UNKNOWN.
 */
uint64_t owner_of_file(uid_t uid, pid_t pid, uint64_t owner);

/* The path of a cgroup, for as long as this process lives; NULL: @owner is a user. */
const char *owner_cgroup(uint64_t owner);

/* Write "user 1000" or "cgroup /a/b", escaped for a terminal. Returns @to. */
const char *owner_text(uint64_t owner, char to[OWNER_TEXT_SIZE]);
