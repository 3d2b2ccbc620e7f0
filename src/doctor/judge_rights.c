/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of this process: namespaces, filters, sysctls of permission, capabilities. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>

#include "doctor/judge.h"
#include "proc/advice.h"
#include "proc/rights.h"

/* A nice value of -10, as RLIMIT_NICE counts: setrlimit(2). */
#define NICE_WANTED 30

static void judge_user_ns(const struct patient *patient, struct check *check)
{
	switch (patient->host->user_ns) {
	case HOST_NS_INITIAL:
		check_ok(check, "the initial one");
		break;
	case HOST_NS_OTHER:
		check_fact(check, "not the initial one");
		check_fail(check,
			   "capabilities held here do not count for bpf and perf_event_open");
		check_fix(
			check,
			"run as root outside of it (podman and docker: rootful, --privileged --pid=host)");
		break;
	default:
		check_ok(check, "unknown: the kernel may have none");
	}
}

static void judge_pid_ns(const struct patient *patient, struct check *check)
{
	struct advice advice;

	if (advice_namespaces(patient->host, &advice)) {
		check_fact(check, "not that of /proc");
		check_fail(check, "%s", advice.why);
		check_fix(check, "%s", advice.fix);
	} else {
		check_ok(check, "%s",
			 patient->host->pid_ns == HOST_NS_INITIAL ? "the initial one"
			 : patient->host->pid_ns == HOST_NS_OTHER
				 ? "a container's: only its processes are visible"
				 : "unknown: the kernel may have none");
	}
}

static bool is_refused(const struct probes *probes)
{
	return advice_is_refusal(probes->clock) || advice_is_refusal(probes->features.bpf);
}

static void judge_seccomp(const struct patient *patient, struct check *check)
{
	if (patient->host->seccomp != 2) {
		check_ok(check, "no filter on system calls");
	} else if (!is_refused(patient->probes)) {
		check_ok(check, "a filter, which lets bpf and perf_event_open pass");
	} else {
		check_fact(check, "a filter on system calls");
		check_warn(check, "it may refuse bpf or perf_event_open");
		check_fix(
			check,
			"run outside of the container, or start it with --security-opt seccomp=unconfined");
	}
}

static void judge_paranoid(const struct patient *patient, struct check *check)
{
	int64_t level = patient->host->sysctls[HOST_SYSCTL_PARANOID];
	struct advice advice;

	if (level == HOST_UNKNOWN) {
		check_fact(check, "unknown");
		check_warn(check,
			   "unknown: /proc/sys is missing, or the kernel has no perf events");
		check_fix(check, "sudo mount -t proc proc /proc");
		return;
	}
	if (patient->probes->clock == 0) {
		check_ok(check, "%" PRId64 ": events open", level);
		return;
	}
	if (level <= 2 || !advice_is_refusal(patient->probes->clock)) {
		check_ok(check, "%" PRId64 ": CAP_PERFMON decides", level);
		return;
	}
	advice_events(patient->host, &advice);
	check_fact(check, "%s", advice.why);
	if (host_has_cap(patient->host, CAP_PERFMON) || host_has_cap(patient->host, CAP_SYS_ADMIN))
		check_fail(check, "no event can be opened");
	else
		check_warn(check, "it is unknown whether CAP_PERFMON would suffice");
	check_fix(check, "%s", advice.fix);
}

static void judge_unprivileged(const struct patient *patient, struct check *check)
{
	int64_t level = patient->host->sysctls[HOST_SYSCTL_UNPRIVILEGED_BPF];

	if (level == HOST_UNKNOWN)
		check_ok(check, "unknown, but irrelevant: fpless needs CAP_BPF anyway");
	else
		check_ok(check, "%" PRId64 ", but irrelevant: fpless needs CAP_BPF anyway", level);
}

static void fix_rights(const struct patient *patient, struct check *check)
{
	check_fix(
		check,
		"run as root, or: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,cap_syslog,cap_sys_nice=ep %s",
		patient->host->self_path);
}

/*
 * Is the right held, or included in one that is? If not, write the missing right and how to get it.
 */
static bool is_held(const struct patient *patient, int cap, struct check *check)
{
	const struct right *right = right_of(cap);

	if (right_is_held(patient->host, right)) {
		check_ok(check, host_has_cap(patient->host, cap) ? "held" : "included in %s",
			 right->also_name);
		return true;
	}
	check_fact(check, "not held");
	fix_rights(patient, check);
	return false;
}

static void judge_bpf(const struct patient *patient, struct check *check)
{
	if (!is_held(patient, CAP_BPF, check))
		check_fail(check, "%s", right_of(CAP_BPF)->cost);
}

static void judge_perfmon(const struct patient *patient, struct check *check)
{
	if (!is_held(patient, CAP_PERFMON, check))
		check_fail(check, "%s", right_of(CAP_PERFMON)->cost);
}

static void judge_admin(const struct patient *patient, struct check *check)
{
	int64_t level = patient->host->sysctls[HOST_SYSCTL_PARANOID];
	struct advice advice;

	if (host_has_cap(patient->host, CAP_SYS_ADMIN)) {
		check_ok(check, "held");
		return;
	}
	check_fact(check, "not held");
	if (advice_is_refusal(patient->probes->clock) && level > 2 &&
	    host_has_cap(patient->host, CAP_PERFMON)) {
		advice_events(patient->host, &advice);
		check_fail(check,
			   "events cannot be opened at kernel.perf_event_paranoid %" PRId64
			   " on this kernel",
			   level);
		check_fix(check, "%s", advice.fix);
	} else {
		check_ok(check, "not held, and not needed");
	}
}

static void judge_ptrace(const struct patient *patient, struct check *check)
{
	if (!is_held(patient, CAP_SYS_PTRACE, check))
		check_warn(check, "%s", right_of(CAP_SYS_PTRACE)->cost);
}

static void judge_dac(const struct patient *patient, struct check *check)
{
	if (!is_held(patient, CAP_DAC_READ_SEARCH, check))
		check_warn(check, "%s", right_of(CAP_DAC_READ_SEARCH)->cost);
}

static void judge_restore(const struct patient *patient, struct check *check)
{
	if (!is_held(patient, CAP_CHECKPOINT_RESTORE, check))
		check_warn(check, "%s", right_of(CAP_CHECKPOINT_RESTORE)->cost);
}

static void judge_syslog(const struct patient *patient, struct check *check)
{
	if (!host_has_cap(patient->host, CAP_SYSLOG) &&
	    patient->host->kallsyms == HOST_KALLSYMS_VISIBLE)
		check_ok(check, "not held, and not needed: kernel symbols are visible");
	else if (!is_held(patient, CAP_SYSLOG, check))
		check_warn(check, "%s", right_of(CAP_SYSLOG)->cost);
}

static void judge_nice(const struct patient *patient, struct check *check)
{
	if (host_has_cap(patient->host, CAP_SYS_NICE)) {
		check_ok(check, "held");
	} else if (patient->host->nice_max >= NICE_WANTED) {
		check_ok(check, "not held, and not needed: ulimit -e allows nice -10");
	} else {
		check_fact(check, "not held");
		check_warn(
			check,
			"on an overloaded machine unwind tables are ready later: more samples are walked from copies of their stack");
		fix_rights(patient, check);
	}
}

const struct judge judges_rights[] = {
	{ "user namespace", judge_user_ns },
	{ "PID namespace", judge_pid_ns },
	{ "seccomp", judge_seccomp },
	{ "perf_event_paranoid", judge_paranoid },
	{ "unprivileged_bpf", judge_unprivileged },
	{ "CAP_BPF", judge_bpf },
	{ "CAP_PERFMON", judge_perfmon },
	{ "CAP_SYS_ADMIN", judge_admin },
	{ "CAP_SYS_PTRACE", judge_ptrace },
	{ "CAP_DAC_READ_SEARCH", judge_dac },
	{ "CAP_CHECKPOINT_RESTORE", judge_restore },
	{ "CAP_SYSLOG", judge_syslog },
	{ "CAP_SYS_NICE", judge_nice },
	{ NULL, NULL },
};
