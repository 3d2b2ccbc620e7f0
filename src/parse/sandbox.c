/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OVERFLOW_UID 65534u /* for a user namespace in which SANDBOX_UID has no meaning */

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#endif

/* Sanitizers reserve terabytes of addresses and call what no parser needs. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

/* Reading what is open, talking to whoever made us, memory, time: for everyone. */
static const int shared_calls[] = {
	SYS_read,	   SYS_pread64,		SYS_recvfrom, SYS_recvmsg,
	SYS_sendto,	   SYS_sendmsg,		SYS_close,    SYS_munmap,
	SYS_mremap,	   SYS_madvise,		SYS_brk,      SYS_futex,
	SYS_clock_gettime, SYS_getrandom,	SYS_sysinfo,  SYS_rt_sigprocmask,
	SYS_rt_sigreturn,  SYS_restart_syscall, SYS_exit,     SYS_exit_group,
	SYS_ppoll,
#ifdef SYS_poll
	SYS_poll,
#endif
};

/* Making workers, shutting them in, ending them. */
static const int spawner_calls[] = {
	SYS_clone,
	SYS_clone3,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_rseq,
	SYS_gettid,
	SYS_getpid,
	SYS_wait4,
	SYS_kill,
	SYS_dup3,
	SYS_prctl,
	SYS_seccomp,
	SYS_prlimit64,
	SYS_setrlimit,
	SYS_close_range,
	SYS_setpriority,
	SYS_clock_nanosleep,
#ifdef SYS_dup2
	SYS_dup2,
#endif
};

/* A reader needs these beyond that, for its outputs, which are open, its children's ends, a place
 * in memory for what a pipe holds. No call here takes a path, but for the stat of what is open. */
static const int reader_calls[] = {
	SYS_write,	SYS_writev,	  SYS_pwrite64,	    SYS_lseek,	SYS_fstat,
	SYS_fcntl,	SYS_ftruncate,	  SYS_memfd_create, SYS_wait4,	SYS_clock_nanosleep,
	SYS_newfstatat, SYS_clock_getres, SYS_getpid,	    SYS_gettid, SYS_rt_sigaction,
	SYS_getrusage,	SYS_sched_yield,  SYS_shutdown,	    SYS_statx,
};

/* Finding files, beside opening them for reading, and whether they are one's own. */
static const int finder_calls[] = {
	SYS_readlinkat, SYS_faccessat, SYS_getdents64, SYS_fstatfs, SYS_geteuid,
#ifdef SYS_readlink
	SYS_readlink,	SYS_access,
#endif
};

/* A run needs these beyond all of the above, for the kernel's programs and events, threads, its
 * clock and files, and to begin a spawner anew, which gets the filter, too. */
static const int run_calls[] = {
	SYS_bpf,
	SYS_perf_event_open,
	SYS_membarrier,
	SYS_pidfd_open,
	SYS_open_by_handle_at,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
	SYS_pselect6,
	SYS_pipe2,
	SYS_dup,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_times,
	SYS_sched_getaffinity,
	SYS_sched_setaffinity,
	SYS_getcpu,
	SYS_uname,
	SYS_getuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getppid,
	SYS_getpriority,
	SYS_tgkill,
	SYS_sigaltstack,
	SYS_rt_sigtimedwait,
	SYS_waitid,
	SYS_mmap,
	SYS_mprotect,
	SYS_openat,
	SYS_openat2,
	SYS_faccessat2,
	SYS_statfs,
	SYS_getcwd,
	SYS_readv,
	SYS_pwritev,
	SYS_fallocate,
	SYS_fsync,
	SYS_fchmod,
	SYS_linkat,
	SYS_unlinkat,
	SYS_mkdirat,
	SYS_renameat,
	SYS_renameat2,
	SYS_utimensat,
	SYS_umask,
	SYS_execve,
	SYS_setsid,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_capget,
	SYS_capset,
	SYS_setgroups,
	SYS_setresuid,
	SYS_setresgid,
#ifdef __x86_64__
	SYS_arch_prctl,
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_epoll_wait,
	SYS_select,
	SYS_pipe,
	SYS_getdents,
	SYS_time,
	SYS_fork,
	SYS_vfork,
	SYS_link,
	SYS_unlink,
	SYS_mkdir,
	SYS_rmdir,
	SYS_rename,
	SYS_utimes,
	SYS_getrlimit,
#endif
};

/* Calls of a run to devices: to its events, and to a terminal whether it is one, how wide, and in
 * whose foreground. */
static const uint32_t run_ioctls[] = {
	PERF_EVENT_IOC_ENABLE,
	PERF_EVENT_IOC_DISABLE,
	PERF_EVENT_IOC_PERIOD,
	PERF_EVENT_IOC_SET_BPF,
	PERF_EVENT_IOC_SET_OUTPUT,
	TCGETS,
	TCSETS,
	TCSETSW,
	TCSETSF,
	TCFLSH,
	TIOCGWINSZ,
	TIOCGPGRP,
};

/* A program that reads one file and prints text needs nothing of these. */
static const int program_refusals[] = {
	SYS_socket,	 SYS_io_uring_setup,   SYS_syslog,
	SYS_ptrace,	 SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_pidfd_getfd, SYS_perf_event_open,  SYS_bpf,
	SYS_userfaultfd, SYS_add_key,	       SYS_request_key,
	SYS_keyctl,	 SYS_unshare,	       SYS_setns,
	SYS_mount,	 SYS_umount2,	       SYS_open_tree,
	SYS_move_mount,	 SYS_fsopen,
};

#define FILTER_MAX 512
#define X32_CALLS  0x40000000u

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short nr;
	uint32_t refusal; /* of what is not allowed */
};

static void filter_add(struct filter *filter, struct sock_filter instruction)
{
	if (filter->nr < FILTER_MAX)
		filter->code[filter->nr++] = instruction;
}

static void filter_load(struct filter *filter, size_t field_off)
{
	filter_add(filter,
		   (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)field_off));
}

static void filter_return(struct filter *filter, uint32_t what)
{
	filter_add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* Unless what was loaded is @value skip the next @nr instructions. */
static void filter_skip_unless(struct filter *filter, uint32_t value, uint8_t nr)
{
	filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, nr));
}

static void filter_allow(struct filter *filter, const int *calls, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		filter_skip_unless(filter, (uint32_t)calls[i], 1);
		filter_return(filter, SECCOMP_RET_ALLOW);
	}
}

/* The low half of argument @idx; flags of mmap fit in it. */
static size_t arg_off(size_t idx)
{
	return offsetof(struct seccomp_data, args) + idx * sizeof(uint64_t);
}

/* Allow @call where no bit of @mask is set in argument @idx, or, with @equals, where it is @mask.
 */
static void filter_allow_where(struct filter *filter, int call, size_t idx, uint32_t mask,
			       bool equals)
{
	filter_skip_unless(filter, (uint32_t)call, 4);
	filter_load(filter, arg_off(idx));
	filter_add(filter,
		   (struct sock_filter)BPF_JUMP(BPF_JMP | (equals ? BPF_JEQ : BPF_JSET) | BPF_K,
						mask, equals ? 0 : 1, equals ? 1 : 0));
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter_return(filter, filter->refusal);
}

/* Memory that is executable is refused; so is, with @anonymous, a mapping of a file. */
static void filter_allow_memory(struct filter *filter, int call, bool anonymous)
{
	filter_skip_unless(filter, (uint32_t)call, anonymous ? 7 : 4);
	filter_load(filter, arg_off(2));
	filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC,
							anonymous ? 4 : 1, 0));
	if (anonymous) {
		filter_load(filter, arg_off(3));
		filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
								MAP_ANONYMOUS, 0, 2));
		filter_return(filter, SECCOMP_RET_ALLOW);
		filter_return(filter, filter->refusal);
		filter_return(filter, filter->refusal);
		return;
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter_return(filter, filter->refusal);
}

bool sandbox_has_filter(void)
{
	return !SANDBOX_SANITIZED;
}

static int install(struct filter *filter, struct fpl_err *err)
{
	const struct sock_fprog program = { .len = filter->nr, .filter = filter->code };

	if (!sandbox_has_filter())
		return 0;
	if (filter->nr == FILTER_MAX)
		return fpl_fail(err, -E2BIG, "seccomp filter: too long");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return fpl_fail(err, -errno, "seccomp: %s", strerror(errno));
	return 0;
}

static void filter_check_arch(struct filter *filter)
{
	filter_load(filter, offsetof(struct seccomp_data, arch));
	filter_add(filter,
		   (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0));
	filter_return(filter, SECCOMP_RET_KILL_PROCESS);
}

static void filter_begin(struct filter *filter, uint32_t refusal)
{
	*filter = (struct filter){ .refusal = refusal };
	filter_check_arch(filter);
	filter_load(filter, offsetof(struct seccomp_data, nr));
	filter_allow(filter, shared_calls, ARRAY_SIZE(shared_calls));
}

/* Memory, and nothing else. */
static int filter_end(struct filter *filter, struct fpl_err *err)
{
	filter_allow_memory(filter, SYS_mmap, true);
	filter_load(filter, offsetof(struct seccomp_data, nr));
	filter_allow_memory(filter, SYS_mprotect, false);
	filter_return(filter, filter->refusal);
	return install(filter, err);
}

static int filter_calls(bool spawner, struct fpl_err *err)
{
	struct filter filter;

	filter_begin(&filter, SECCOMP_RET_KILL_PROCESS);
	if (spawner)
		filter_allow(&filter, spawner_calls, ARRAY_SIZE(spawner_calls));
	return filter_end(&filter, err);
}

/* No more than @value, nor than the limit there is: that may not be raised. */
static int limit(enum __rlimit_resource what, rlim_t value, struct fpl_err *err)
{
	struct rlimit both;

	if (getrlimit(what, &both) < 0)
		return fpl_fail(err, -errno, "resource limit %d: %s", (int)what, strerror(errno));
	if (both.rlim_max > value)
		both.rlim_max = value;
	both.rlim_cur = both.rlim_max;
	if (setrlimit(what, &both) < 0)
		return fpl_fail(err, -errno, "resource limit %d: %s", (int)what, strerror(errno));
	return 0;
}

/* Become a user that no other process has; a process that may not stays who it is. */
static void change_user(void)
{
	static const uid_t uids[] = { SANDBOX_UID, OVERFLOW_UID };

	if (setgroups(0, NULL) < 0 && errno == EPERM)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
		if (setresgid(uids[i], uids[i], uids[i]) == 0 &&
		    setresuid(uids[i], uids[i], uids[i]) == 0)
			return;
	}
}

static int drop_capabilities(struct fpl_err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capset, &header, none) < 0)
		return fpl_fail(err, -errno, "capset: %s", strerror(errno));
	return 0;
}

/* Needs a right; without it the limit there is must do. */
static void raise_fds(void)
{
	const struct rlimit enough = { SANDBOX_FDS, SANDBOX_FDS };
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < SANDBOX_FDS)
		(void)!setrlimit(RLIMIT_NOFILE, &enough);
}

int sandbox_enter_spawner(struct fpl_err *err)
{
	int code;

	raise_fds();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fpl_fail(err, -errno, "no new privileges: %s", strerror(errno));
	/* without CAP_SETPCAP they stay in the bounding set, out of reach all the same */
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	change_user();
	code = drop_capabilities(err);
	if (!code && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		code = fpl_fail(err, -errno, "not traceable: %s", strerror(errno));
	if (!code)
		code = limit(RLIMIT_CORE, 0, err);
	if (!code)
		code = limit(RLIMIT_FSIZE, 0, err);
	if (!code)
		code = limit(RLIMIT_NOFILE, SANDBOX_FDS, err);
	return code ? code : filter_calls(true, err);
}

int sandbox_enter_worker(struct fpl_err *err)
{
	int code = limit(RLIMIT_NPROC, 0, err);

	if (!code && sandbox_has_filter())
		code = limit(RLIMIT_AS, SANDBOX_MEMORY_BYTES, err);
	if (!code)
		code = limit(RLIMIT_CPU, SANDBOX_CPU_S, err);
	return code ? code : filter_calls(false, err);
}

int sandbox_enter_reader(bool finds_files, struct fpl_err *err)
{
	struct filter filter;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fpl_fail(err, -errno, "no new privileges: %s", strerror(errno));
	/* refused, not killed: what is written so far is to be put in its place by the helper */
	filter_begin(&filter, SECCOMP_RET_ERRNO | EPERM);
	filter_allow(&filter, reader_calls, ARRAY_SIZE(reader_calls));
	/* is stdout a terminal? */
	filter_allow_where(&filter, SYS_ioctl, 1, TCGETS, true);
	filter_load(&filter, offsetof(struct seccomp_data, nr));
	if (finds_files) {
		filter_allow(&filter, finder_calls, ARRAY_SIZE(finder_calls));
		filter_allow_where(&filter, SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, false);
		filter_load(&filter, offsetof(struct seccomp_data, nr));
		filter_allow_where(&filter, SYS_socketpair, 0, AF_UNIX, true);
		filter_load(&filter, offsetof(struct seccomp_data, nr));
	}
	return filter_end(&filter, err);
}

int sandbox_enter_run(struct fpl_err *err)
{
	struct filter filter;

	/* ENOSYS: a library that tries a newer call goes on with an older one */
	filter_begin(&filter, SECCOMP_RET_ERRNO | ENOSYS);
	filter_allow(&filter, reader_calls, ARRAY_SIZE(reader_calls));
	filter_allow(&filter, finder_calls, ARRAY_SIZE(finder_calls));
	filter_allow(&filter, spawner_calls, ARRAY_SIZE(spawner_calls));
	filter_allow(&filter, run_calls, ARRAY_SIZE(run_calls));
	filter_allow_where(&filter, SYS_socketpair, 0, AF_UNIX, true);
	filter_load(&filter, offsetof(struct seccomp_data, nr));
	filter_skip_unless(&filter, SYS_ioctl, 1 + 2 * ARRAY_SIZE(run_ioctls));
	filter_load(&filter, arg_off(1));
	for (size_t i = 0; i < ARRAY_SIZE(run_ioctls); i++) {
		filter_skip_unless(&filter, run_ioctls[i], 1);
		filter_return(&filter, SECCOMP_RET_ALLOW);
	}
	filter_return(&filter, filter.refusal);
	return install(&filter, err);
}

static int filter_program(struct fpl_err *err)
{
	struct filter filter = { .refusal = SECCOMP_RET_ERRNO | EPERM };

	filter_check_arch(&filter);
	filter_load(&filter, offsetof(struct seccomp_data, nr));
	/* x32 has the same calls under numbers of its own */
	filter_add(&filter,
		   (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1));
	filter_return(&filter, filter.refusal);
	for (size_t i = 0; i < ARRAY_SIZE(program_refusals); i++) {
		filter_skip_unless(&filter, (uint32_t)program_refusals[i], 1);
		filter_return(&filter, filter.refusal);
	}
	filter_return(&filter, SECCOMP_RET_ALLOW);
	return install(&filter, err);
}

int sandbox_enter_program(uint64_t file_bytes, struct fpl_err *err)
{
	int code = limit(RLIMIT_CORE, 0, err);

	if (!code && sandbox_has_filter())
		code = limit(RLIMIT_AS, SANDBOX_MEMORY_BYTES + file_bytes, err);
	if (!code)
		code = limit(RLIMIT_CPU, SANDBOX_CPU_S, err);
	if (!code)
		code = limit(RLIMIT_FSIZE, SANDBOX_WRITTEN_BYTES, err);
	if (code)
		return code;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fpl_fail(err, -errno, "no new privileges: %s", strerror(errno));
	return filter_program(err);
}
