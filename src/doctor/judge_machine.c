/* SPDX-License-Identifier: Apache-2.0 */
/* Events, limits, names, and the trial. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>

#include "bpf/shared.h"
#include "doctor/judge.h"
#include "proc/advice.h"

#define HZ_DEFAULT 99

/* Two per file mapped executable; a desktop maps about 1,000. */
#define FILES_WANTED 2048

/* Locked memory of the side-band per CPU: 64 pages and one (proc/sideband.c). */
#define SIDEBAND_KB 260

/* Limit of a run's maps by default: tables, and 16 MiB for the rest. */
#define MAPS_BYTES (144ull << 20)

static void judge_event(const struct patient *patient, struct check *check)
{
	const struct probes *probes = patient->probes;
	struct advice advice;

	if (probes->cycles == 0) {
		check_ok(check, "cpu-cycles, of the hardware");
	} else if (probes->clock == 0) {
		check_fact(check, "no hardware counter (cpu-cycles: %s): cpu-clock is sampled",
			   strerror(-probes->cycles));
		check_warn(
			check,
			"kernel code that runs with interrupts off is attributed to the point where they are enabled again");
		check_fix(
			check,
			"none on this machine; a virtual one may be given a PMU (KVM: -cpu host,pmu=on)");
	} else if (advice_is_refusal(probes->clock)) {
		advice_events(patient->host, &advice);
		check_fact(check, "perf_event_open: %s: %s", strerror(-probes->clock), advice.why);
		check_fail(check, "nothing can be sampled");
		check_fix(check, "%s", advice.fix);
	} else {
		check_fact(check, "perf_event_open: %s", strerror(-probes->clock));
		check_fail(check, "no event to sample by");
		check_fix(check, "a kernel built with CONFIG_PERF_EVENTS=y");
	}
}

static void judge_rate(const struct patient *patient, struct check *check)
{
	int64_t rate = patient->host->sysctls[HOST_SYSCTL_MAX_SAMPLE_RATE];

	if (rate == HOST_UNKNOWN) {
		check_ok(check, "kernel.perf_event_max_sample_rate is unknown");
	} else if (rate >= HZ_DEFAULT) {
		check_ok(check, "up to %" PRId64 " Hz", rate);
	} else {
		check_fact(check, "kernel.perf_event_max_sample_rate is %" PRId64, rate);
		check_warn(check, "the default of %d Hz is refused; the limit is -F %" PRId64 "",
			   HZ_DEFAULT, rate);
		check_fix(check, "sudo sysctl kernel.perf_event_max_sample_rate=100000");
	}
}

static void judge_max_stack(const struct patient *patient, struct check *check)
{
	int64_t depth = patient->host->sysctls[HOST_SYSCTL_MAX_STACK];

	if (depth == HOST_UNKNOWN || depth >= FPL_KERNEL_DEPTH_MAX) {
		check_ok(check, "kernel.perf_event_max_stack allows %u frames",
			 FPL_KERNEL_DEPTH_MAX);
		return;
	}
	check_fact(check, "kernel.perf_event_max_stack is %" PRId64, depth);
	check_warn(check,
		   "kernel stacks, and the frame-pointer stacks of compare, end after %" PRId64
		   " frames",
		   depth);
	check_fix(check, "sudo sysctl kernel.perf_event_max_stack=%u", FPL_KERNEL_DEPTH_MAX);
}

static void judge_kallsyms(const struct patient *patient, struct check *check)
{
	int64_t level = patient->host->sysctls[HOST_SYSCTL_KPTR_RESTRICT];

	if (patient->host->kallsyms == HOST_KALLSYMS_VISIBLE) {
		check_ok(check, "/proc/kallsyms shows addresses");
		return;
	}
	check_fact(check, "/proc/kallsyms %s",
		   patient->host->kallsyms == HOST_KALLSYMS_HIDDEN
			   ? "hides its addresses from this process"
			   : "cannot be read");
	check_warn(check,
		   "kernel frames stay unnamed, unless the kernel names them for a BPF program");
	if (patient->host->kallsyms != HOST_KALLSYMS_HIDDEN)
		check_fix(check, "a kernel built with CONFIG_KALLSYMS=y");
	else if (level >= 2)
		check_fix(check, "sudo sysctl kernel.kptr_restrict=1");
	else
		check_fix(check, "run as root, or with CAP_SYSLOG");
}

static void judge_ptrace_scope(const struct patient *patient, struct check *check)
{
	int64_t scope = patient->host->sysctls[HOST_SYSCTL_PTRACE_SCOPE];

	if (scope == HOST_UNKNOWN || scope == 0) {
		check_ok(check, "kernel.yama.ptrace_scope is %s", scope ? "not there" : "0");
	} else if (scope < 3 && host_has_cap(patient->host, CAP_SYS_PTRACE)) {
		check_ok(check,
			 "kernel.yama.ptrace_scope is %" PRId64
			 ": without effect under CAP_SYS_PTRACE",
			 scope);
	} else {
		check_fact(check, "kernel.yama.ptrace_scope is %" PRId64, scope);
		check_warn(
			check,
			"code made at run time cannot be read: frame-pointer steps through it cannot be checked in userspace, such stacks end there");
		check_fix(
			check,
			scope == 3
				? "it can be lowered only by a reboot: remove it from /etc/sysctl.d"
				: "sudo sysctl kernel.yama.ptrace_scope=0, or run as root");
	}
}

/* Before 5.11 maps counted against the limit, which libbpf raises if it may. */
static bool limits_maps(const struct patient *patient)
{
	return patient->probes->features.present[FEATURE_TASK_PT_REGS] == 0 &&
	       patient->host->memlock_hard < MAPS_BYTES &&
	       !host_has_cap(patient->host, CAP_SYS_RESOURCE);
}

static void judge_memlock(const struct patient *patient, struct check *check)
{
	int64_t kb = patient->host->sysctls[HOST_SYSCTL_PERF_MLOCK_KB];
	uint64_t limit = patient->host->memlock;

	if (limits_maps(patient)) {
		check_fact(check, "%" PRIu64 " KiB (ulimit -Hl)",
			   patient->host->memlock_hard >> 10);
		check_warn(check, "this old kernel counts BPF maps against it: they do not fit");
		check_fix(check, "run as root");
	} else if (kb == HOST_UNKNOWN || kb >= SIDEBAND_KB || limit == UINT64_MAX ||
		   host_has_cap(patient->host, CAP_IPC_LOCK)) {
		check_ok(check, "the limit affects neither BPF maps nor the buffers of events");
	} else {
		check_fact(check, "kernel.perf_event_mlock_kb is %" PRId64, kb);
		check_warn(
			check,
			"the buffers for new mappings are smaller than %d KiB per CPU: /proc is read again more often when many programs start",
			SIDEBAND_KB);
		check_fix(check, "sudo sysctl kernel.perf_event_mlock_kb=516");
	}
}

static void judge_files(const struct patient *patient, struct check *check)
{
	uint64_t limit = patient->host->nofile_hard;

	if (limit >= FILES_WANTED) {
		check_ok(check, "the limit is high enough");
		return;
	}
	check_fact(check, "%" PRIu64 " (ulimit -Hn)", limit);
	check_warn(check, "two are needed per mapped file: code of further files stays unnamed");
	check_fix(check, "as root: ulimit -n 65536");
}

static void judge_tracefs(const struct patient *patient, struct check *check)
{
	if (patient->host->tracefs[0])
		check_ok(check, "%s", patient->host->tracefs);
	else
		check_ok(check, "not mounted, and not needed: cpu-clock and cpu-cycles do without");
}

static void judge_debug_files(const struct patient *patient, struct check *check)
{
	const struct host *host = patient->host;

	if (host->has_debug_files) {
		check_ok(check,
			 "/usr/lib/debug/.build-id has some; fpless doctor FILE examines one file");
		return;
	}
	check_fact(check, "none in /usr/lib/debug/.build-id%s",
		   host->debuginfod[0] ? " ($DEBUGINFOD_URLS is set, but fpless asks no server)"
				       : "");
	check_warn(check, "functions that a stripped file does not export have no names");
	check_fix(check, "%s doctor FILE names the package of each", host->self_path);
}

static void judge_object(const struct patient *patient, struct check *check)
{
	const struct probed_object *object = &patient->probes->object;

	if (!object->error && object->version == object->wanted_version) {
		check_ok(check, "%u programs, %u maps, version %u", object->nr_programs,
			 object->nr_maps, object->version);
		return;
	}
	if (object->error)
		check_fact(check, "%s", strerror(-object->error));
	else
		check_fact(check, "version %u, wanted %u", object->version, object->wanted_version);
	check_fail(check, "the parts of this build are of different versions");
	check_fix(check, "cmake --build --preset release --clean-first");
}

static void judge_trial(const struct patient *patient, struct check *check)
{
	const struct trial *trial = patient->trial;

	if (trial->code) {
		check_fact(check, "%s", trial->said);
		check_fail(check, "no run is possible");
		check_fix(check, "see the lines above that say fail");
	} else if (trial->nr_samples == 0) {
		check_fact(
			check,
			"programs loaded and %s events opened, but no sample of a busy thread arrived",
			trial->event);
		check_warn(check, "runs may stay empty");
		check_fix(check, "try again while the machine has less to do");
	} else {
		check_ok(check,
			 "%" PRIu64 " samples of itself by %s at %" PRIu64 " Hz, %" PRIu64
			 " with complete stacks; sampling began after %" PRIu64 " ms",
			 trial->nr_samples, trial->event, trial->hz, trial->nr_complete,
			 trial->startup_ms);
	}
}

const struct judge judges_machine[] = {
	{ "event", judge_event },
	{ "sample rate", judge_rate },
	{ "stack depth", judge_max_stack },
	{ "kernel symbols", judge_kallsyms },
	{ "ptrace scope", judge_ptrace_scope },
	{ "locked memory", judge_memlock },
	{ "open files", judge_files },
	{ "tracefs", judge_tracefs },
	{ "debug files", judge_debug_files },
	{ "BPF object", judge_object },
	{ "trial", judge_trial },
	{ NULL, NULL },
};
