/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine and this process's rights in it, as far as files tell: kernel, sysctls, capabilities,
 * namespaces, limits. Read below a root of the caller's choice, so that tests can supply a made-up
 * machine. Facts only; the judgements are in proc/advice.h and doctor/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* X(name, path below /proc/sys) */
#define HOST_SYSCTL_LIST(X)                                     \
	X(PARANOID, "kernel/perf_event_paranoid")               \
	X(MAX_SAMPLE_RATE, "kernel/perf_event_max_sample_rate") \
	X(MAX_STACK, "kernel/perf_event_max_stack")             \
	X(PERF_MLOCK_KB, "kernel/perf_event_mlock_kb")          \
	X(KPTR_RESTRICT, "kernel/kptr_restrict")                \
	X(UNPRIVILEGED_BPF, "kernel/unprivileged_bpf_disabled") \
	X(PTRACE_SCOPE, "kernel/yama/ptrace_scope")             \
	X(JIT_ENABLE, "net/core/bpf_jit_enable")                \
	X(JIT_HARDEN, "net/core/bpf_jit_harden")

#define X(name, path) HOST_SYSCTL_##name,
enum host_sysctl { HOST_SYSCTL_LIST(X) HOST_SYSCTL_COUNT };
#undef X

#define HOST_UNKNOWN INT64_MIN /* a number that could not be read */

/* Is this process in the namespace the machine booted with? */
enum host_ns { HOST_NS_UNKNOWN, HOST_NS_INITIAL, HOST_NS_OTHER };

/* /sys/kernel/security/lockdown; kernel_lockdown(7) */
enum host_lockdown { HOST_LOCKDOWN_NONE, HOST_LOCKDOWN_INTEGRITY, HOST_LOCKDOWN_CONFIDENTIALITY };

/* Visibility of /proc/kallsyms for this process. */
enum host_kallsyms { HOST_KALLSYMS_VISIBLE, HOST_KALLSYMS_HIDDEN, HOST_KALLSYMS_UNREADABLE };

/* Why a path may not be read. */
struct host_btf {
	int error;	/* 0, or negative errno of opening or reading it */
	uint64_t bytes; /* its size */
	bool plausible; /* begins with a header of BTF whose sections lie inside the file */
};

#define HOST_TEXT_MAX 256u

struct host {
	char release[65], version[65]; /* as uname -r and -v; "" unknown */
	int64_t sysctls[HOST_SYSCTL_COUNT];
	bool has_caps;
	uint64_t caps; /* effective: bit CAP_* */
	int64_t euid;
	int seccomp; /* 0 none, 1 strict, 2 filters; -1 unknown */
	enum host_ns user_ns, pid_ns;
	uint32_t pid_ns_inum; /* inode number of that namespace; 0 unknown */
	bool foreign_proc;    /* /proc belongs to another PID namespace: its numbers are not ours */
	struct host_btf btf;
	enum host_lockdown lockdown;
	char tracefs[HOST_TEXT_MAX]; /* where it is mounted; "": nowhere */
	enum host_kallsyms kallsyms;
	bool has_debug_files;		/* anything in /usr/lib/debug/.build-id */
	char debuginfod[HOST_TEXT_MAX]; /* $DEBUGINFOD_URLS, cut if need be */
	char os_id[65], os_like[65],
		os_codename[65]; /* ID, ID_LIKE and VERSION_CODENAME of os-release; "" unknown */
	uint64_t memlock, memlock_hard, nofile_hard, nice_max; /* limits; UINT64_MAX: none */
	bool nohz_full;					       /* CPUs without a tick */
	char self_path[HOST_TEXT_MAX]; /* of this program, for commands to type; "fpless" unknown */
};

/*
 * Read everything below @root ("" for this machine; must outlive the call only). Never fails:
 * unreadable facts are unknown. Cost: about 20 small files.
 */
void host_read(const char *root, struct host *ret);

/* Is @cap (CAP_*) effective for this process in the initial user namespace? */
bool host_has_cap(const struct host *host, int cap);
