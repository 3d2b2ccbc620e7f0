/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel: its features, its BTF, its JIT, its known bugs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "doctor/judge.h"
#include "doctor/known_bugs.h"
#include "proc/advice.h"

static void judge_release(const struct patient *patient, struct check *check)
{
	if (!patient->host->release[0]) {
		check_fact(check, "unknown");
		check_warn(check, "/proc is not mounted: no process can be read");
		check_fix(check, "sudo mount -t proc proc /proc");
		return;
	}
	check_ok(check, "Linux %s", patient->host->release);
}

static void judge_bugs(const struct patient *patient, struct check *check)
{
	const struct known_bug *bug = known_bugs_find(patient->host);

	if (!bug) {
		check_ok(check, "this version has none of the %zu listed in fpless-doctor(1)",
			 known_bugs_count());
		return;
	}
	check_fact(check, "Linux %s may lack %s (\"%s\")", patient->host->release, bug->commit,
		   bug->title);
	check_warn(check, "%s", bug->effect);
	check_fix(check, "%s", bug->fix);
}

static void judge_btf(const struct patient *patient, struct check *check)
{
	struct advice advice;

	if (!advice_btf(patient->host, &advice)) {
		check_ok(check, "/sys/kernel/btf/vmlinux, %" PRIu64 " KiB",
			 patient->host->btf.bytes >> 10);
		return;
	}
	check_fact(check, "%s", advice.why);
	check_fail(check, "the programs cannot be adapted to this kernel");
	check_fix(check, "%s", advice.fix);
}

static void judge_feature(const struct patient *patient, enum feature feature, struct check *check)
{
	int present = patient->probes->features.present[feature];

	if (present > 0) {
		check_ok(check, "there");
		return;
	}
	if (present == 0) {
		check_fact(check, "missing");
		check_fail(check, "the programs cannot be loaded");
		check_fix(check, "boot Linux %s or later; tested from 6.1 on, Debian 12's",
			  feature_since(feature));
		if (feature == FEATURE_READ_KERNEL &&
		    patient->host->lockdown == HOST_LOCKDOWN_CONFIDENTIALITY)
			check_fix(check, "see lockdown");
		return;
	}
	check_warn(check, "cannot be told");
	check_fix(check, "sudo %s doctor", patient->host->self_path);
	if (advice_is_refusal(present)) {
		check_fact(check, "unknown without CAP_BPF and CAP_PERFMON");
	} else {
		check_fact(check, "unknown: %s", strerror(-present));
	}
}

#define X(name, text, since)                                                                 \
	static void judge_feature_##name(const struct patient *patient, struct check *check) \
	{                                                                                    \
		judge_feature(patient, FEATURE_##name, check);                               \
	}
FEATURE_LIST(X)
#undef X

static void judge_waits(const struct patient *patient, struct check *check)
{
	const struct probes *probes = patient->probes;

	if (probes->waits == BLOCKED_WAY_TRACEPOINT) {
		check_ok(check, "their ends are told by the tracepoint sched_exit_tp");
	} else if (probes->waits == BLOCKED_WAY_KPROBE) {
		check_ok(
			check,
			"their ends are told by a kprobe on finish_task_switch: each switch of a thread costs more than by the tracepoint of Linux 6.16");
	} else if (probes->features.bpf) {
		check_fact(check, "unknown without CAP_BPF and CAP_PERFMON");
		check_warn(check, "cannot be told");
		check_fix(check, "sudo %s doctor", patient->host->self_path);
	} else {
		check_fact(
			check,
			"neither the tracepoint sched_exit_tp nor kprobes on finish_task_switch: each wait is walked when it begins, sampled or not");
		check_warn(
			check,
			"fpless offcpu and wall cost a walk for each switch, as with --exact; fpless locks and offcpu --wakers are refused");
		check_fix(check, "boot Linux 6.16 or later, or a kernel with CONFIG_KPROBES");
	}
}

static void judge_jit(const struct patient *patient, struct check *check)
{
	int64_t level = patient->host->sysctls[HOST_SYSCTL_JIT_ENABLE];
	struct advice advice;

	if (level == HOST_UNKNOWN) {
		check_ok(
			check,
			"net.core.bpf_jit_enable is not visible in this network namespace, or the kernel has no JIT");
	} else if (advice_jit(patient->host, &advice)) {
		check_fact(check, "%s", advice.why);
		check_fail(check, "the programs cannot be loaded");
		check_fix(check, "%s", advice.fix);
	} else if (level == 2) {
		check_fact(check, "net.core.bpf_jit_enable is 2");
		check_warn(check, "each program is dumped into the kernel log when it is loaded");
		check_fix(check, "sudo sysctl net.core.bpf_jit_enable=1");
	} else {
		check_ok(check, "net.core.bpf_jit_enable is %" PRId64, level);
	}
}

static void judge_jit_harden(const struct patient *patient, struct check *check)
{
	int64_t level = patient->host->sysctls[HOST_SYSCTL_JIT_HARDEN];

	if (level == HOST_UNKNOWN) {
		check_ok(check, "net.core.bpf_jit_harden: only root can read it");
	} else if (level >= 2) {
		check_fact(check, "net.core.bpf_jit_harden is %" PRId64, level);
		check_warn(check,
			   "every constant in the programs is blinded: a sample takes longer");
		check_fix(check, "sudo sysctl net.core.bpf_jit_harden=1");
	} else {
		check_ok(check, "net.core.bpf_jit_harden is %" PRId64 "%s", level,
			 level ? ": not for programs loaded with CAP_BPF" : "");
	}
}

static void judge_lockdown(const struct patient *patient, struct check *check)
{
	bool reads = patient->probes->features.present[FEATURE_READ_KERNEL] > 0;

	if (patient->host->lockdown == HOST_LOCKDOWN_NONE) {
		check_ok(check, "none");
	} else if (patient->host->lockdown == HOST_LOCKDOWN_INTEGRITY) {
		check_ok(check, "integrity: fpless needs nothing that it forbids");
	} else if (reads) {
		check_ok(check, "confidentiality, but programs may read kernel memory");
	} else {
		struct advice advice;

		advice_lockdown(&advice);
		check_fact(check, "confidentiality");
		check_fail(check, "%s", advice.why);
		check_fix(check, "%s", advice.fix);
	}
}

const struct judge judges_kernel[] = {
	{ "kernel", judge_release },
	{ "kernel bugs", judge_bugs },
	{ "BTF", judge_btf },
#define X(name, text, since) { text, judge_feature_##name },
	FEATURE_LIST(X)
#undef X
		{ "waits", judge_waits },
	{ "BPF JIT", judge_jit },
	{ "BPF JIT hardening", judge_jit_harden },
	{ "lockdown", judge_lockdown },
	{ NULL, NULL },
};
