/* SPDX-License-Identifier: Apache-2.0 */
/* Every verdict of every check, from a made-up machine. */
#include "cmocka_all.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "doctor/checkup.h"
#include "doctor/known_bugs.h"
#include "doctor/process_report.h"

#define CAP(name) (1ull << CAP_##name)

struct scene {
	struct host host;
	struct probes probes;
	struct trial trial;
};

/* Root on a machine where all is well. */
static struct scene healthy(void)
{
	struct scene s = {
		.host = {
			.release = "6.12.40",
			.version = "#1 SMP PREEMPT_DYNAMIC",
			.has_caps = true,
			.caps = ~0ull,
			.user_ns = HOST_NS_INITIAL,
			.pid_ns = HOST_NS_INITIAL,
			.btf = { .bytes = 5 << 20, .plausible = true },
			.tracefs = "/sys/kernel/tracing",
			.has_debug_files = true,
			.memlock = 8 << 20,
			.nofile_hard = 1 << 20,
			.self_path = "/usr/bin/fpless",
		},
		.probes.waits = BLOCKED_WAY_TRACEPOINT,
		.probes.object = { .version = 1, .wanted_version = 1, .nr_programs = 5 },
		.trial = { .event = "cpu-cycles", .hz = 199, .nr_samples = 49, .nr_complete = 49 },
	};
	static const int64_t values[HOST_SYSCTL_COUNT] = {
		[HOST_SYSCTL_PARANOID] = 2,	 [HOST_SYSCTL_MAX_SAMPLE_RATE] = 100000,
		[HOST_SYSCTL_MAX_STACK] = 127,	 [HOST_SYSCTL_PERF_MLOCK_KB] = 516,
		[HOST_SYSCTL_KPTR_RESTRICT] = 1, [HOST_SYSCTL_UNPRIVILEGED_BPF] = 2,
		[HOST_SYSCTL_PTRACE_SCOPE] = 0,	 [HOST_SYSCTL_JIT_ENABLE] = 1,
		[HOST_SYSCTL_JIT_HARDEN] = 0,
	};

	memcpy(s.host.sysctls, values, sizeof(values));
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		s.probes.features.present[i] = 1;
	return s;
}

/* Changes to it, one per case. */
#define CHANGE(name, ...)                        \
	static void name(struct scene *s)        \
	{                                        \
		struct host *host = &s->host;    \
		int64_t *sysctl = host->sysctls; \
                                                 \
		(void)sysctl;                    \
		(void)s;                         \
		__VA_ARGS__;                     \
	}

CHANGE(nothing, (void)host)
CHANGE(no_proc, host->release[0] = '\0'; host->version[0] = '\0')
CHANGE(old_debian, snprintf(host->release, 65, "6.1.0-9-amd64");
       snprintf(host->version, 65, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)"))
CHANGE(no_btf, host->btf = (struct host_btf){ .error = -ENOENT })
CHANGE(closed_btf, host->btf = (struct host_btf){ .error = -EACCES })
CHANGE(bad_btf, host->btf.plausible = false)
CHANGE(no_loop, s->probes.features.present[FEATURE_LOOP] = 0)
CHANGE(no_pt_regs, s->probes.features.present[FEATURE_TASK_PT_REGS] = 0)
CHANGE(no_ringbuf, s->probes.features.present[FEATURE_RINGBUF] = 0)
CHANGE(no_perf_bpf, s->probes.features.present[FEATURE_PERF_EVENT] = 0)
CHANGE(no_read_kernel, s->probes.features.present[FEATURE_READ_KERNEL] = 0)
CHANGE(waits_by_kprobe, s->probes.waits = BLOCKED_WAY_KPROBE)
CHANGE(no_waits, s->probes.waits = BLOCKED_WAY_NONE)
CHANGE(waits_untold, s->probes.waits = BLOCKED_WAY_NONE; s->probes.features.bpf = -EPERM)
CHANGE(loop_untold, s->probes.features.present[FEATURE_LOOP] = -EPERM)
CHANGE(loop_odd, s->probes.features.present[FEATURE_LOOP] = -ENOMEM)
CHANGE(jit_off, sysctl[HOST_SYSCTL_JIT_ENABLE] = 0)
CHANGE(jit_dump, sysctl[HOST_SYSCTL_JIT_ENABLE] = 2)
CHANGE(jit_unknown, sysctl[HOST_SYSCTL_JIT_ENABLE] = HOST_UNKNOWN)
CHANGE(harden_1, sysctl[HOST_SYSCTL_JIT_HARDEN] = 1)
CHANGE(harden_2, sysctl[HOST_SYSCTL_JIT_HARDEN] = 2)
CHANGE(harden_unknown, sysctl[HOST_SYSCTL_JIT_HARDEN] = HOST_UNKNOWN)
CHANGE(integrity, host->lockdown = HOST_LOCKDOWN_INTEGRITY)
CHANGE(confidential, host->lockdown = HOST_LOCKDOWN_CONFIDENTIALITY;
       s->probes.features.present[FEATURE_READ_KERNEL] = 0)
CHANGE(confidential_open, host->lockdown = HOST_LOCKDOWN_CONFIDENTIALITY)
CHANGE(user_ns, host->user_ns = HOST_NS_OTHER)
CHANGE(user_ns_unknown, host->user_ns = HOST_NS_UNKNOWN)
CHANGE(pid_ns, host->pid_ns = HOST_NS_OTHER)
CHANGE(pid_ns_unknown, host->pid_ns = HOST_NS_UNKNOWN)
CHANGE(foreign_proc, host->foreign_proc = true)
CHANGE(seccomp_passes, host->seccomp = 2)
CHANGE(seccomp_bpf, host->seccomp = 2; s->probes.features.bpf = -EPERM)
CHANGE(seccomp_events, host->seccomp = 2; s->probes.clock = -EACCES)
CHANGE(paranoid_3_root, sysctl[HOST_SYSCTL_PARANOID] = 3)
CHANGE(paranoid_4_root, sysctl[HOST_SYSCTL_PARANOID] = 4; s->probes.clock = -EACCES)
CHANGE(paranoid_3_perfmon, sysctl[HOST_SYSCTL_PARANOID] = 3; s->probes.clock = -EACCES;
       host->caps = CAP(BPF) | CAP(PERFMON))
CHANGE(paranoid_3_mainline, sysctl[HOST_SYSCTL_PARANOID] = 3; host->caps = CAP(BPF) | CAP(PERFMON))
CHANGE(paranoid_3_nobody, sysctl[HOST_SYSCTL_PARANOID] = 3; s->probes.clock = -EACCES;
       host->caps = 0)
CHANGE(paranoid_2_nobody, s->probes.clock = -EACCES; s->probes.cycles = -EACCES; host->caps = 0)
CHANGE(paranoid_unknown, sysctl[HOST_SYSCTL_PARANOID] = HOST_UNKNOWN)
CHANGE(unprivileged_unknown, sysctl[HOST_SYSCTL_UNPRIVILEGED_BPF] = HOST_UNKNOWN)
CHANGE(nobody, host->caps = 0)
CHANGE(admin_only, host->caps = CAP(SYS_ADMIN))
CHANGE(override, host->caps = CAP(DAC_OVERRIDE))
CHANGE(nobody_hidden, host->caps = 0; host->kallsyms = HOST_KALLSYMS_HIDDEN)
CHANGE(nice_by_limit, host->caps = 0; host->nice_max = 30)
CHANGE(nice_limit_low, host->caps = 0; host->nice_max = 29)
CHANGE(no_pmu, s->probes.cycles = -ENOENT)
CHANGE(no_events, s->probes.cycles = s->probes.clock = -ENOSYS)
CHANGE(rate_98, sysctl[HOST_SYSCTL_MAX_SAMPLE_RATE] = 98)
CHANGE(rate_99, sysctl[HOST_SYSCTL_MAX_SAMPLE_RATE] = 99)
CHANGE(rate_unknown, sysctl[HOST_SYSCTL_MAX_SAMPLE_RATE] = HOST_UNKNOWN)
CHANGE(stack_126, sysctl[HOST_SYSCTL_MAX_STACK] = 126)
CHANGE(stack_unknown, sysctl[HOST_SYSCTL_MAX_STACK] = HOST_UNKNOWN)
CHANGE(kallsyms_hidden, host->kallsyms = HOST_KALLSYMS_HIDDEN)
CHANGE(kptr_2, host->kallsyms = HOST_KALLSYMS_HIDDEN; sysctl[HOST_SYSCTL_KPTR_RESTRICT] = 2)
CHANGE(no_kallsyms, host->kallsyms = HOST_KALLSYMS_UNREADABLE)
CHANGE(scope_unknown, sysctl[HOST_SYSCTL_PTRACE_SCOPE] = HOST_UNKNOWN)
CHANGE(scope_1_root, sysctl[HOST_SYSCTL_PTRACE_SCOPE] = 1)
CHANGE(scope_1_nobody, sysctl[HOST_SYSCTL_PTRACE_SCOPE] = 1; host->caps = 0)
CHANGE(scope_3, sysctl[HOST_SYSCTL_PTRACE_SCOPE] = 3)
CHANGE(mlock_64_root, sysctl[HOST_SYSCTL_PERF_MLOCK_KB] = 64)
CHANGE(mlock_64, sysctl[HOST_SYSCTL_PERF_MLOCK_KB] = 64; host->caps = 0)
CHANGE(mlock_unlimited, sysctl[HOST_SYSCTL_PERF_MLOCK_KB] = 64; host->caps = 0;
       host->memlock = UINT64_MAX)
CHANGE(old_maps, s->probes.features.present[FEATURE_TASK_PT_REGS] = 0; host->caps = 0;
       host->memlock_hard = 64 << 10)
CHANGE(old_maps_root, s->probes.features.present[FEATURE_TASK_PT_REGS] = 0;
       host->memlock_hard = 64 << 10)
CHANGE(few_files, host->nofile_hard = 1024)
CHANGE(no_tracefs, host->tracefs[0] = '\0')
CHANGE(no_debug_files, host->has_debug_files = false)
CHANGE(debuginfod, host->has_debug_files = false; host->debuginfod[0] = 'x')
CHANGE(old_object, s->probes.object.version = 0)
CHANGE(bad_object, s->probes.object.error = -EINVAL)
CHANGE(trial_fails, s->trial = (struct trial){ .code = -EPERM, .said = "BPF: no" })
CHANGE(trial_empty, s->trial.nr_samples = 0)

static const struct {
	void (*change)(struct scene *s);
	const char *subject;
	enum check_verdict verdict;
	const char *word; /* in fact, cost or fix */
} cases[] = {
	{ nothing, "kernel", CHECK_OK, "Linux 6.12.40" },
	{ no_proc, "kernel", CHECK_WARN, "mount -t proc" },
	{ nothing, "kernel bugs", CHECK_OK, "this version has none of the 3" },
	{ no_proc, "kernel bugs", CHECK_OK, "" },
	{ old_debian, "kernel bugs", CHECK_WARN, "d319f344561d" },
	{ nothing, "BTF", CHECK_OK, "5120 KiB" },
	{ no_btf, "BTF", CHECK_FAIL, "CONFIG_DEBUG_INFO_BTF" },
	{ closed_btf, "BTF", CHECK_FAIL, "chmod" },
	{ bad_btf, "BTF", CHECK_FAIL, "not BTF" },
	{ nothing, "bpf_loop", CHECK_OK, "there" },
	{ no_loop, "bpf_loop", CHECK_FAIL, "Linux 5.17" },
	{ no_pt_regs, "bpf_task_pt_regs", CHECK_FAIL, "Linux 5.15" },
	{ no_ringbuf, "BPF ring buffer", CHECK_FAIL, "Linux 5.8" },
	{ no_read_kernel, "bpf_probe_read_kernel", CHECK_FAIL, "Linux 5.5" },
	{ no_perf_bpf, "perf_event programs", CHECK_FAIL, "Linux 4.9" },
	{ nothing, "waits", CHECK_OK, "sched_exit_tp" },
	{ waits_by_kprobe, "waits", CHECK_OK, "a kprobe on finish_task_switch" },
	{ no_waits, "waits", CHECK_WARN, "Linux 6.16" },
	{ waits_untold, "waits", CHECK_WARN, "unknown without CAP_BPF" },
	{ loop_untold, "bpf_loop", CHECK_WARN, "unknown without CAP_BPF" },
	{ loop_odd, "bpf_loop", CHECK_WARN, "Cannot allocate memory" },
	{ nothing, "BPF JIT", CHECK_OK, "is 1" },
	{ jit_off, "BPF JIT", CHECK_FAIL, "sudo sysctl net.core.bpf_jit_enable=1" },
	{ jit_dump, "BPF JIT", CHECK_WARN, "sudo sysctl net.core.bpf_jit_enable=1" },
	{ jit_unknown, "BPF JIT", CHECK_OK, "not visible" },
	{ nothing, "BPF JIT hardening", CHECK_OK, "is 0" },
	{ harden_1, "BPF JIT hardening", CHECK_OK, "not for programs loaded with CAP_BPF" },
	{ harden_2, "BPF JIT hardening", CHECK_WARN, "sudo sysctl net.core.bpf_jit_harden=1" },
	{ harden_unknown, "BPF JIT hardening", CHECK_OK, "only root can read it" },
	{ nothing, "lockdown", CHECK_OK, "none" },
	{ integrity, "lockdown", CHECK_OK, "integrity" },
	{ confidential, "lockdown", CHECK_FAIL, "lockdown=integrity" },
	{ confidential, "bpf_probe_read_kernel", CHECK_FAIL, "see lockdown" },
	{ confidential_open, "lockdown", CHECK_OK, "but programs may read" },
	{ nothing, "user namespace", CHECK_OK, "initial" },
	{ user_ns, "user namespace", CHECK_FAIL, "--privileged" },
	{ user_ns_unknown, "user namespace", CHECK_OK, "unknown" },
	{ nothing, "PID namespace", CHECK_OK, "initial" },
	{ pid_ns, "PID namespace", CHECK_OK, "only its processes" },
	{ pid_ns_unknown, "PID namespace", CHECK_OK, "unknown" },
	{ foreign_proc, "PID namespace", CHECK_FAIL, "/proc" },
	{ nothing, "seccomp", CHECK_OK, "no filter" },
	{ seccomp_passes, "seccomp", CHECK_OK, "pass" },
	{ seccomp_bpf, "seccomp", CHECK_WARN, "seccomp=unconfined" },
	{ seccomp_events, "seccomp", CHECK_WARN, "seccomp=unconfined" },
	{ nothing, "perf_event_paranoid", CHECK_OK, "2: events open" },
	{ paranoid_3_root, "perf_event_paranoid", CHECK_OK, "3: events open" },
	{ paranoid_3_mainline, "perf_event_paranoid", CHECK_OK, "3: events open" },
	{ paranoid_4_root, "perf_event_paranoid", CHECK_FAIL, "refuses even root" },
	{ paranoid_3_perfmon, "perf_event_paranoid", CHECK_FAIL, "demands CAP_SYS_ADMIN" },
	{ paranoid_3_nobody, "perf_event_paranoid", CHECK_WARN, "some kernels" },
	{ paranoid_2_nobody, "perf_event_paranoid", CHECK_OK, "CAP_PERFMON decides" },
	{ paranoid_unknown, "perf_event_paranoid", CHECK_WARN, "unknown: /proc/sys is missing" },
	{ nothing, "unprivileged_bpf", CHECK_OK, "2" },
	{ unprivileged_unknown, "unprivileged_bpf", CHECK_OK, "unknown" },
	{ nothing, "CAP_BPF", CHECK_OK, "held" },
	{ admin_only, "CAP_BPF", CHECK_OK, "included in CAP_SYS_ADMIN" },
	{ nobody, "CAP_BPF", CHECK_FAIL, "=ep /usr/bin/fpless" },
	{ user_ns, "CAP_BPF", CHECK_FAIL, "not held" },
	{ nothing, "CAP_PERFMON", CHECK_OK, "held" },
	{ admin_only, "CAP_PERFMON", CHECK_OK, "included in CAP_SYS_ADMIN" },
	{ nobody, "CAP_PERFMON", CHECK_FAIL, "setcap" },
	{ nothing, "CAP_SYS_ADMIN", CHECK_OK, "held" },
	{ nobody, "CAP_SYS_ADMIN", CHECK_OK, "not needed" },
	{ paranoid_3_perfmon, "CAP_SYS_ADMIN", CHECK_FAIL, "kernel.perf_event_paranoid=2" },
	{ nothing, "CAP_SYS_PTRACE", CHECK_OK, "held" },
	{ admin_only, "CAP_SYS_PTRACE", CHECK_WARN, "other users" },
	{ nothing, "CAP_DAC_READ_SEARCH", CHECK_OK, "held" },
	{ override, "CAP_DAC_READ_SEARCH", CHECK_OK, "included in CAP_DAC_OVERRIDE" },
	{ nobody, "CAP_DAC_READ_SEARCH", CHECK_WARN, "setcap" },
	{ nothing, "CAP_CHECKPOINT_RESTORE", CHECK_OK, "held" },
	{ admin_only, "CAP_CHECKPOINT_RESTORE", CHECK_OK, "included in CAP_SYS_ADMIN" },
	{ nobody, "CAP_CHECKPOINT_RESTORE", CHECK_WARN, "map_files" },
	{ nothing, "CAP_SYSLOG", CHECK_OK, "held" },
	{ nobody, "CAP_SYSLOG", CHECK_OK, "not needed" },
	{ nobody_hidden, "CAP_SYSLOG", CHECK_WARN, "no names" },
	{ nothing, "CAP_SYS_NICE", CHECK_OK, "held" },
	{ nice_by_limit, "CAP_SYS_NICE", CHECK_OK, "not needed" },
	{ nice_limit_low, "CAP_SYS_NICE", CHECK_WARN, "setcap" },
	{ nothing, "event", CHECK_OK, "cpu-cycles" },
	{ no_pmu, "event", CHECK_WARN, "cpu-clock" },
	{ paranoid_2_nobody, "event", CHECK_FAIL, "no CAP_PERFMON" },
	{ no_events, "event", CHECK_FAIL, "CONFIG_PERF_EVENTS" },
	{ nothing, "sample rate", CHECK_OK, "100000" },
	{ rate_98, "sample rate", CHECK_WARN, "-F 98" },
	{ rate_99, "sample rate", CHECK_OK, "99" },
	{ rate_unknown, "sample rate", CHECK_OK, "unknown" },
	{ nothing, "stack depth", CHECK_OK, "127" },
	{ stack_126, "stack depth", CHECK_WARN, "sudo sysctl kernel.perf_event_max_stack=127" },
	{ stack_unknown, "stack depth", CHECK_OK, "127" },
	{ nothing, "kernel symbols", CHECK_OK, "shows" },
	{ kallsyms_hidden, "kernel symbols", CHECK_WARN, "CAP_SYSLOG" },
	{ kptr_2, "kernel symbols", CHECK_WARN, "sudo sysctl kernel.kptr_restrict=1" },
	{ no_kallsyms, "kernel symbols", CHECK_WARN, "CONFIG_KALLSYMS" },
	{ nothing, "ptrace scope", CHECK_OK, "is 0" },
	{ scope_unknown, "ptrace scope", CHECK_OK, "not there" },
	{ scope_1_root, "ptrace scope", CHECK_OK, "without effect" },
	{ scope_1_nobody, "ptrace scope", CHECK_WARN, "ptrace_scope=0" },
	{ scope_3, "ptrace scope", CHECK_WARN, "reboot" },
	{ nothing, "locked memory", CHECK_OK, "affects neither" },
	{ mlock_64_root, "locked memory", CHECK_OK, "affects neither" },
	{ mlock_unlimited, "locked memory", CHECK_OK, "affects neither" },
	{ old_maps, "locked memory", CHECK_WARN, "64 KiB" },
	{ old_maps_root, "locked memory", CHECK_OK, "affects neither" },
	{ mlock_64, "locked memory", CHECK_WARN, "perf_event_mlock_kb=516" },
	{ nothing, "open files", CHECK_OK, "" },
	{ few_files, "open files", CHECK_WARN, "ulimit -n" },
	{ nothing, "tracefs", CHECK_OK, "/sys/kernel/tracing" },
	{ no_tracefs, "tracefs", CHECK_OK, "not needed" },
	{ nothing, "debug files", CHECK_OK, "has some" },
	{ no_debug_files, "debug files", CHECK_WARN, "fpless doctor FILE" },
	{ debuginfod, "debug files", CHECK_WARN, "asks no server" },
	{ nothing, "BPF object", CHECK_OK, "5 programs" },
	{ old_object, "BPF object", CHECK_FAIL, "version 0, wanted 1" },
	{ bad_object, "BPF object", CHECK_FAIL, "Invalid argument" },
	{ nothing, "trial", CHECK_OK, "49 samples" },
	{ trial_fails, "trial", CHECK_FAIL, "BPF: no" },
	{ trial_empty, "trial", CHECK_WARN, "no sample" },
};

static void every_check_has_its_verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene = healthy();
		const struct check *check = NULL;
		struct checkup checkup;
		char all[3 * CHECK_TEXT_MAX + 4];

		cases[i].change(&scene);
		checkup_judge(&scene.host, &scene.probes, &scene.trial, &checkup);
		for (size_t c = 0; c < checkup.nr; c++) {
			if (strcmp(checkup.checks[c].subject, cases[i].subject) == 0)
				check = &checkup.checks[c];
		}
		if (!check)
			fail_msg("case %zu: no check %s", i, cases[i].subject);
		snprintf(all, sizeof(all), "%s|%s|%s", check->fact, check->cost, check->fix);
		if (check->verdict != cases[i].verdict || !strstr(all, cases[i].word))
			fail_msg("case %zu: %s: %s: %s", i, check->subject,
				 check_verdict_text(check->verdict), all);
		assert_true(check->fact[0]);
		if ((check->verdict == CHECK_OK) != (!check->cost[0] && !check->fix[0]))
			fail_msg("case %zu: %s: cost and fix go with warn and fail", i, all);
	}
}

static void all_is_well_on_a_healthy_machine(void **state)
{
	struct scene scene = healthy();
	struct checkup checkup;

	(void)state;
	checkup_judge(&scene.host, &scene.probes, &scene.trial, &checkup);
	for (size_t i = 0; i < checkup.nr; i++)
		assert_int_equal(checkup.checks[i].verdict, CHECK_OK);
	assert_true(checkup.can_run);
	assert_string_equal(checkup.summary, "fpless can run here");
}

static void the_trial_has_the_last_word(void **state)
{
	struct scene scene = healthy();
	struct checkup checkup;

	(void)state;
	scene.host.sysctls[HOST_SYSCTL_JIT_ENABLE] = 0;
	checkup_judge(&scene.host, &scene.probes, &scene.trial, &checkup);
	assert_true(checkup.can_run);
	assert_non_null(strstr(checkup.summary, "1 line above says"));
	trial_fails(&scene);
	checkup_judge(&scene.host, &scene.probes, &scene.trial, &checkup);
	assert_false(checkup.can_run);
	assert_string_equal(checkup.summary, "fpless cannot run here: BPF: no");
}

static void known_bugs_are_found_by_branch(void **state)
{
	static const struct {
		const char *release, *version, *commit; /* NULL: none */
	} kernels[] = {
		{ "6.1.35", "#1 SMP", "d319f344561d" },
		{ "6.1.36", "#1 SMP", NULL },
		{ "5.17.9", "#1 SMP", NULL },
		{ "5.18", "#1 SMP", "d319f344561d" },
		{ "6.3.9-arch1-1", "#1 SMP", "d319f344561d" },
		{ "6.3.10", "#1 SMP", NULL },
		{ "6.1.112", "#1 SMP", NULL },
		{ "6.1.113", "#1 SMP", "b583ef82b671" },
		{ "6.1.130", "#1 SMP", "b583ef82b671" },
		{ "6.1.131", "#1 SMP", NULL },
		{ "6.6.58-talos", "#1 SMP", "b583ef82b671" },
		{ "6.6.83", "#1 SMP", NULL },
		{ "6.12.18", "#1 SMP", "b583ef82b671" },
		{ "6.12.19", "#1 SMP", NULL },
		{ "6.1.114-rt", "#1 SMP PREEMPT_RT", "8b62645b09f8" },
		{ "6.1.115-rt", "#1 SMP PREEMPT_RT", "b583ef82b671" },
		{ "6.6.84", "#1 SMP PREEMPT_RT", NULL },
		{ "6.8.0", "#1 SMP PREEMPT_RT", "8b62645b09f8" },
		{ "6.8.0", "#1 SMP", NULL },
		{ "6.1.0-50-amd64", "#1 SMP Debian 6.1.176-1 (2026-07-01)", NULL },
		{ "6.1.0-9-amd64", "#1 SMP Debian 6.1.27-1 (2023-05-08)", "d319f344561d" },
		{ "7.3.4", "#1 SMP", NULL },
		{ "odd", "#1 SMP", NULL },
		{ "", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		struct host host = { .has_caps = false };

		snprintf(host.release, sizeof(host.release), "%s", kernels[i].release);
		snprintf(host.version, sizeof(host.version), "%s", kernels[i].version);

		const struct known_bug *bug = known_bugs_find(&host);
		const char *want = kernels[i].commit;

		if (!bug != !want || (bug && strcmp(bug->commit, want) != 0))
			fail_msg("%s %s: %s", kernels[i].release, kernels[i].version,
				 bug ? bug->commit : "none");
	}
}

/* Obstacles for a profile of a process. */
static void processes_have_their_remarks(void **state)
{
	const struct host root = { .has_caps = true, .caps = ~0ull };
	const struct host nobody = { .has_caps = true, .self_path = "fpless" };
	struct object_report objects[] = { { .path = "/bin/a" }, { .path = "/bin/b" } };
	struct refused_object refused[] = { { .path = "/bin/c" } };
	const struct process_report plain = { .objects = objects, .nr = 2 };
	const struct process_report odd = {
		.is_32bit = true,
		.nr_jit = 2,
		.jit_bytes = 8192,
		.names_code = true,
		.nr_deleted = 2,
		.nr_deleted_refused = 1,
		.refused = refused,
		.nr_refused = 1,
		.other_mnt_ns = true,
	};
	static const enum check_verdict as_nobody[] = { CHECK_FAIL, CHECK_WARN, CHECK_WARN,
							CHECK_WARN, CHECK_OK,	CHECK_FAIL };
	struct check remarks[PROCESS_REMARKS_MAX];
	size_t nr = process_remarks(&plain, &root, remarks);

	(void)state;
	assert_int_equal(nr, ARRAY_SIZE(as_nobody));
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(remarks[i].verdict, CHECK_OK);
	nr = process_remarks(&odd, &nobody, remarks);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(remarks[i].verdict, as_nobody[i]);
	assert_non_null(strstr(remarks[1].fact, "8 KiB of code in 2 mappings"));
	assert_non_null(strstr(remarks[1].cost, "names are from the perf map"));
	nr = process_remarks(&(struct process_report){ .nr_deleted = 2 }, &root, remarks);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(remarks[i].verdict, CHECK_OK);
	assert_non_null(strstr(remarks[2].fact, "2 deleted"));
	refused[0].path = "/usr/bin/perl"; /* its name is enough */
	nr = process_remarks(&odd, &root, remarks);
	assert_int_equal(nr, ARRAY_SIZE(as_nobody) + 1);
	assert_string_equal(remarks[nr - 1].subject, "language");
}

static void functions_of_scripts_are_shown_where_the_interpreter_is_known(void **state)
{
	struct object_report objects[] = { { .path = "/usr/bin/python3.12" },
					   { .path = "/lib/x" } };
	struct refused_object refused[] = { { .path = "/usr/bin/perl" } };
	const struct process_report report = { .objects = objects,
					       .nr = ARRAY_SIZE(objects),
					       .refused = refused,
					       .nr_refused = ARRAY_SIZE(refused) };
	struct check remarks[PROCESS_REMARKS_MAX];
	size_t nr;

	(void)state;
	for (int is_known = 0; is_known < 2; is_known++) {
		objects[0].found.has_script_frames = is_known;
		nr = process_remarks(&report, &(struct host){ .has_caps = true, .caps = ~0ull },
				     remarks);
		assert_int_equal(remarks[nr - 2].verdict, is_known ? CHECK_OK : CHECK_WARN);
		assert_int_equal(!strstr(remarks[nr - 2].fact, "stacks show its functions"),
				 !is_known);
		assert_null(strstr(remarks[nr - 1].fact, "stacks show its functions"));
	}
}

/* Judge the languages of files. Returns their number. */
static size_t judge_languages(const char *const *paths, bool is_named, struct check *ret)
{
	struct language list[LANGUAGES_MAX];
	size_t nr = 0;

	for (size_t i = 0; paths[i]; i++)
		languages_add(list, &nr, paths[i]);
	for (size_t i = 0; i < nr; i++) {
		ret[i] = (struct check){ .subject = "language" };
		language_judge(&list[i], 42, is_named, false, &ret[i]);
	}
	return nr;
}

static void a_language_is_known_by_its_files(void **state)
{
	static const struct {
		const char *paths[3];
		const char *fact; /* NULL: no language */
		const char *fix;  /* "": no fix */
	} known[] = {
		{ { "/usr/bin/pyth" }, NULL, "" },
		{ { "/usr/bin/nodes" }, NULL, "" },
		{ { "/usr/lib/phpstorm/libx.so" }, NULL, "" },
		{ { "/usr/bin/python3.11" }, "Python 3.11: ", "" },
		{ { "/usr/bin/python3.11" }, "Python 3.12 and later can", "" },
		{ { "/usr/bin/python3.12" }, "Python 3.12", "-X perf" },
		{ { "/usr/bin/python3", "/lib/libpython3.13.so.1.0" }, "Python 3.13", "-X perf" },
		{ { "/usr/bin/python3" }, "Python", "(Python 3.12 or later)" },
		{ { "/usr/bin/python2" }, "Python 2: ", "" },
		{ { "/usr/bin/node" }, "node", "--perf-basic-prof" },
		{ { "/lib/libnode.so.108" }, "node", "--perf-basic-prof" },
		{ { "/opt/node-v20.1.0-linux-x64/bin/node" }, "node 20.1", "--perf-basic-prof" },
		{ { "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so" },
		  "Java 17",
		  "jcmd 42 Compiler.perfmap" },
		{ { "/usr/lib/jvm/java-1.8.0-openjdk/jre/lib/libjvm.so" },
		  "Java 17 and later",
		  "" },
		{ { "/opt/jdk-21.0.2/lib/server/libjvm.so" }, "Java 21", "jcmd 42 " },
		{ { "/opt/java/openjdk/lib/server/libjvm.so" }, "Java", "(Java 17 or later)" },
		{ { "/x/Microsoft.NETCore.App/8.0.1/libcoreclr.so" }, ".NET 8", "DOTNET_Perf" },
		{ { "/x/Microsoft.NETCore.App/3.1.2/libcoreclr.so" }, ".NET 3.1", "COMPlus_Perf" },
		{ { "/usr/lib/erlang/erts-13.1.5/bin/beam.smp" }, "Erlang, erts 13.1", "+JPperf" },
		{ { "/usr/lib/erlang/erts-11.2/bin/beam.smp" }, "Erlang, erts 11.2: ", "" },
		{ { "/usr/bin/ruby3.1", "/lib/libruby-3.1.so.3.1.2" }, "Ruby 3.1: ", "" },
		{ { "/root/.rbenv/versions/3.3.0/bin/ruby" }, "Ruby 3.3", "--yjit-perf" },
		{ { "/usr/bin/php8.2" }, "PHP 8.2", "opcache.jit_debug=16" },
		{ { "/usr/sbin/php-fpm7.4" }, "PHP 7.4: ", "" },
		{ { "/usr/bin/perl", "/lib/libperl.so.5.36.0" }, "Perl 5.36: ", "" },
	};
	struct check checks[LANGUAGES_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const char *path = known[i].paths[0];
		size_t nr = judge_languages(known[i].paths, false, checks);

		if (nr != (known[i].fact ? 1 : 0))
			fail_msg("%s: %zu languages", path, nr);
		if (!nr)
			continue;
		if (!strstr(checks[0].fact, known[i].fact))
			fail_msg("%s: %s", path, checks[0].fact);
		if (!strstr(checks[0].fix, known[i].fix) || !checks[0].fix[0] != !known[i].fix[0])
			fail_msg("%s: fix: %s", path, checks[0].fix);
		assert_int_equal(checks[0].verdict, known[i].fix[0] ? CHECK_WARN : CHECK_OK);
		judge_languages(known[i].paths, true, checks);
		assert_int_equal(checks[0].verdict, CHECK_OK);
	}
}

static void languages_of_one_process_are_bounded(void **state)
{
	static const char *const paths[] = { "/a/node",	      "/a/perl", "/a/lua5.4", "/a/beam.smp",
					     "/a/python3.12", "/b/node", NULL };
	struct check checks[LANGUAGES_MAX];

	(void)state;
	assert_int_equal(judge_languages(paths, false, checks), LANGUAGES_MAX);
	assert_string_equal(checks[0].fact, "node");
	assert_non_null(strstr(checks[3].fact, "Erlang"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_language_is_known_by_its_files),
		cmocka_unit_test(languages_of_one_process_are_bounded),
		cmocka_unit_test(every_check_has_its_verdicts),
		cmocka_unit_test(all_is_well_on_a_healthy_machine),
		cmocka_unit_test(the_trial_has_the_last_word),
		cmocka_unit_test(known_bugs_are_found_by_branch),
		cmocka_unit_test(processes_have_their_remarks),
		cmocka_unit_test(functions_of_scripts_are_shown_where_the_interpreter_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
