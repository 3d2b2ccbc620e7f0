/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/advice.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

FPL_PRINTF(2, 3) static void why(struct advice *advice, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(advice->why, sizeof(advice->why), fmt, args);
	va_end(args);
}

FPL_PRINTF(2, 3) static void fix(struct advice *advice, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(advice->fix, sizeof(advice->fix), fmt, args);
	va_end(args);
}

bool advice_is_refusal(int code)
{
	return code == -EPERM || code == -EACCES;
}

/* Rights that count only inside a container, and filters on system calls. */
static bool explains(const struct host *host, const char *call, bool has_rights, struct advice *ret)
{
	if (host->user_ns == HOST_NS_OTHER) {
		why(ret, "this is a user namespace, whose capabilities do not count for %s", call);
		fix(ret,
		    "run as root outside of it (podman and docker: rootful, --privileged --pid=host)");
		return true;
	}
	if (!has_rights)
		return false;
	if (host->seccomp == 2) {
		why(ret, "a seccomp filter, as in containers, refuses %s", call);
		fix(ret,
		    "run outside, or start the container with --security-opt seccomp=unconfined --pid=host");
	} else {
		why(ret, "the rights suffice, so a security module of the kernel refuses %s", call);
		fix(ret, "sudo dmesg | grep -iE 'denied|avc' shows which rule");
	}
	return true;
}

/* Levels above 2 are Debian's and Ubuntu's; what they demand differs between kernels. */
static void paranoid(const struct host *host, struct advice *ret)
{
	int64_t level = host->sysctls[HOST_SYSCTL_PARANOID];

	if (host_has_cap(host, CAP_SYS_ADMIN))
		why(ret, "kernel.perf_event_paranoid is %d, and this kernel refuses even root then",
		    (int)level);
	else if (host_has_cap(host, CAP_PERFMON))
		why(ret,
		    "kernel.perf_event_paranoid is %d: this kernel demands CAP_SYS_ADMIN then, CAP_PERFMON is not enough",
		    (int)level);
	else
		why(ret,
		    "neither CAP_PERFMON nor CAP_SYS_ADMIN, and kernel.perf_event_paranoid is %d, where some kernels (Debian's, Ubuntu's) demand CAP_SYS_ADMIN",
		    (int)level);
	if (host_has_cap(host, CAP_SYS_ADMIN) || host_has_cap(host, CAP_PERFMON))
		fix(ret, "sudo sysctl kernel.perf_event_paranoid=2%s",
		    host_has_cap(host, CAP_SYS_ADMIN) ? "" : ", or run as root");
	else
		fix(ret, "run as root");
}

void advice_events(const struct host *host, struct advice *ret)
{
	bool may = host_has_cap(host, CAP_PERFMON) || host_has_cap(host, CAP_SYS_ADMIN);
	int64_t level = host->sysctls[HOST_SYSCTL_PARANOID];

	if (host->user_ns != HOST_NS_OTHER && level != HOST_UNKNOWN && level > 2) {
		paranoid(host, ret);
		return;
	}
	if (explains(host, "perf_event_open", may, ret))
		return;
	why(ret, "no CAP_PERFMON");
	fix(ret, "run as root, or with CAP_PERFMON and the other capabilities of fpless doctor");
}

void advice_bpf(const struct host *host, struct advice *ret)
{
	bool admin = host_has_cap(host, CAP_SYS_ADMIN);
	bool bpf = admin || host_has_cap(host, CAP_BPF);
	bool perfmon = admin || host_has_cap(host, CAP_PERFMON);

	if (explains(host, "bpf", bpf && perfmon, ret))
		return;
	why(ret, "no %s%s%s", bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and no ",
	    perfmon ? "" : "CAP_PERFMON");
	fix(ret,
	    "run as root, or with CAP_BPF, CAP_PERFMON and the other capabilities of fpless doctor");
}

bool advice_btf(const struct host *host, struct advice *ret)
{
	const struct host_btf *btf = &host->btf;

	if (!btf->error && btf->plausible)
		return false;
	if (btf->error)
		why(ret, "/sys/kernel/btf/vmlinux: %s", strerror(-btf->error));
	else
		why(ret, "/sys/kernel/btf/vmlinux: %" PRIu64 " bytes, not BTF", btf->bytes);
	if (btf->error == -ENOENT)
		fix(ret,
		    "a kernel built with CONFIG_DEBUG_INFO_BTF=y, as Debian's are, and /sys mounted: sudo mount -t sysfs sysfs /sys");
	else if (btf->error)
		fix(ret, "sudo chmod a+r /sys/kernel/btf/vmlinux");
	else
		fix(ret, "see what is mounted over it: grep btf /proc/mounts");
	return true;
}

bool advice_jit(const struct host *host, struct advice *ret)
{
	if (host->sysctls[HOST_SYSCTL_JIT_ENABLE] != 0)
		return false;
	why(ret,
	    "net.core.bpf_jit_enable is 0: the kernel refuses programs with callbacks that it does not compile");
	fix(ret, "sudo sysctl net.core.bpf_jit_enable=1");
	return true;
}

void advice_lockdown(struct advice *ret)
{
	why(ret, "kernel lockdown (confidentiality) forbids BPF programs to read kernel memory");
	fix(ret, "boot without lockdown=confidentiality, or with lockdown=integrity");
}

bool advice_namespaces(const struct host *host, struct advice *ret)
{
	if (!host->foreign_proc)
		return false;
	why(ret, "/proc belongs to another PID namespace: its numbers are not the ones used here");
	fix(ret,
	    "use one with a /proc of its own (unshare --pid --fork --mount-proc), or start the container with --pid=host");
	return true;
}

static int fail_with(struct fpl_err *err, int code, const char *what,
		     void (*advise)(const struct host *host, struct advice *ret))
{
	struct host host;
	struct advice advice;

	host_read("", &host);
	advise(&host, &advice);
	return fpl_fail(err, code, "%s: %s: %s: %s", what, strerror(-code), advice.why, advice.fix);
}

int advice_fail_events(struct fpl_err *err, int code, const char *what)
{
	return fail_with(err, code, what, advice_events);
}

int advice_fail_bpf(struct fpl_err *err, int code, const char *what)
{
	return fail_with(err, code, what, advice_bpf);
}

void advice_process(const struct host *host, struct advice *ret)
{
	if (host_has_cap(host, CAP_SYS_PTRACE)) {
		why(ret, "CAP_SYS_PTRACE is held, so a security module of the kernel refuses");
		fix(ret, "sudo dmesg | grep -iE 'denied|avc' shows which rule");
	} else {
		why(ret, "it belongs to another user, or has more rights");
		fix(ret, "run as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
	}
}

int advice_fail_process(struct fpl_err *err, int code, pid_t pid)
{
	char what[32];

	snprintf(what, sizeof(what), "pid %d", (int)pid);
	return fail_with(err, code, what, advice_process);
}
