/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/rights.h"

#include <errno.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/run_user.h"

/* The headers of the library may be older than the kernel: capabilities(7). */
const struct right rights[NR_RIGHTS] = {
	{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", "CAP_SYS_ADMIN", "no BPF program can be loaded" },
	{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", "CAP_SYS_ADMIN",
	  "no program for perf events can be loaded, and no event of all tasks opened" },
	{ CAP_SYS_PTRACE, -1, "CAP_SYS_PTRACE", "",
	  "other users' processes cannot be read: their stacks are truncated and unnamed" },
	{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH", "CAP_DAC_OVERRIDE",
	  "programs and /proc files not readable by all users cannot be read: their stacks are truncated and unnamed" },
	{ CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE", "CAP_SYS_ADMIN",
	  "/proc/PID/map_files cannot be read: code of files that were deleted or replaced has no table and no names" },
	{ CAP_SYSLOG, -1, "CAP_SYSLOG", "",
	  "kernel functions have no names, unless the kernel names them for a BPF program" },
};

const struct right *right_of(int cap)
{
	size_t i = 0;

	while (i < NR_RIGHTS - 1 && rights[i].cap != cap)
		i++;
	return &rights[i];
}

bool right_is_held(const struct host *host, const struct right *right)
{
	return host_has_cap(host, right->cap) ||
	       (right->also >= 0 && host_has_cap(host, right->also));
}

/* Is the lack of this right worth a line? Without CAP_BPF or CAP_PERFMON the run ends, and the lack
 * of CAP_SYSLOG is reported when a kernel function's name has no other source: both with a message
 * of their own. */
static bool matters(const struct right *right, bool reads_others)
{
	switch (right->cap) {
	case CAP_SYS_PTRACE:
	case CAP_DAC_READ_SEARCH:
		return reads_others;
	case CAP_CHECKPOINT_RESTORE:
		return true;
	default:
		return false;
	}
}

void rights_tell(const struct host *host, bool reads_others)
{
	for (size_t i = 0; i < NR_RIGHTS; i++) {
		const struct right *right = &rights[i];

		if (!right_is_held(host, right) && matters(right, reads_others))
			fpl_log(FPL_LOG_WARN, "no %s: %s", right->name, right->cost);
	}
}

static void cleanup_cap(cap_t *caps)
{
	if (*caps)
		cap_free(*caps);
}

static bool has(cap_t caps, cap_value_t cap, cap_flag_t set)
{
	cap_flag_value_t value = CAP_CLEAR;

	return !cap_get_flag(caps, cap, set, &value) && value == CAP_SET;
}

bool rights_need_helper(void)
{
	CLEANUP(cleanup_cap) cap_t caps = cap_get_proc();
	struct run_user user;

	return run_user_find(&user) || (caps && (has(caps, CAP_DAC_OVERRIDE, CAP_EFFECTIVE) ||
						 has(caps, CAP_KILL, CAP_EFFECTIVE)));
}

/*
 * A program executed later would get the rights that the bounding set leaves to uid 0. Each of
 * these steps needs a right of its own or may be known to an older kernel only; no_new_privs alone
 * is enough to gain nothing.
 */
static void close_ways_back(cap_t caps)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	cap_reset_ambient();
	if (!has(caps, CAP_SETPCAP, CAP_EFFECTIVE))
		return;
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		cap_drop_bound(cap);
	cap_set_secbits(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
}

/* Permitted and effective become the @nr of @keep; nothing is inheritable. */
static int keep_only(const cap_value_t *keep, size_t nr)
{
	CLEANUP(cleanup_cap) cap_t caps = cap_init();

	if (!caps || (nr && (cap_set_flag(caps, CAP_PERMITTED, (int)nr, keep, CAP_SET) ||
			     cap_set_flag(caps, CAP_EFFECTIVE, (int)nr, keep, CAP_SET))))
		return -errno;
	return cap_set_proc(caps) ? -errno : 0;
}

static int drop_to(cap_t caps, const cap_value_t *keep, size_t nr)
{
	close_ways_back(caps);
	return keep_only(keep, nr);
}

/* Choose the capabilities of @caps that a run keeps. Returns their number. */
static size_t choose(cap_t caps, cap_value_t ret[NR_RIGHTS])
{
	size_t nr = 0;

	for (size_t i = 0; i < NR_RIGHTS; i++) {
		if (has(caps, rights[i].cap, CAP_PERMITTED))
			ret[nr++] = rights[i].cap;
		else if (rights[i].also >= 0 && has(caps, rights[i].also, CAP_PERMITTED))
			ret[nr++] = rights[i].also;
	}
	return nr;
}

/* A run that cannot switch to another user goes on as root, with the same capabilities. */
static void leave_root(void)
{
	struct run_user user;
	int code = run_user_find(&user) ? run_user_become(&user) : 0;

	if (code)
		fpl_log(FPL_LOG_WARN, "user %u: %s: the run goes on as root", user.uid,
			strerror(-code));
}

int rights_drop(struct fpl_err *err)
{
	CLEANUP(cleanup_cap) cap_t caps = cap_get_proc();
	cap_value_t keep[NR_RIGHTS];

	if (!caps)
		return fpl_fail(err, -errno, "capabilities: %s", strerror(errno));

	size_t nr = choose(caps, keep);

	close_ways_back(caps);
	leave_root();

	int code = keep_only(keep, nr);

	return code ? fpl_fail(err, code, "capabilities: %s", strerror(-code)) : 0;
}

int rights_drop_all(struct fpl_err *err)
{
	CLEANUP(cleanup_cap) cap_t caps = cap_get_proc();
	int code = caps ? drop_to(caps, NULL, 0) : -errno;

	return code ? fpl_fail(err, code, "capabilities: %s", strerror(-code)) : 0;
}

int rights_drop_to_helper(void)
{
	/* write into others' folders, replace their files, use others' descriptors and end their
	 * processes */
	static const cap_value_t wanted[] = { CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_DAC_READ_SEARCH,
					      CAP_KILL };
	CLEANUP(cleanup_cap) cap_t caps = cap_get_proc();
	cap_value_t keep[ARRAY_SIZE(wanted)];
	size_t nr = 0;

	for (size_t i = 0; caps && i < ARRAY_SIZE(wanted); i++) {
		if (has(caps, wanted[i], CAP_PERMITTED))
			keep[nr++] = wanted[i];
	}
	return caps ? drop_to(caps, keep, nr) : -errno;
}
