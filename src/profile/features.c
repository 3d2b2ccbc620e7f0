/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "proc/advice.h"
#include "profile/bpf_log.h"

static const struct {
	const char *text, *since;
} features[] = {
#define X(name, text, since) [FEATURE_##name] = { text, since },
	FEATURE_LIST(X)
#undef X
};

const char *feature_text(enum feature feature)
{
	return features[feature].text;
}

const char *feature_since(enum feature feature)
{
	return features[feature].since;
}

/* Load "return 0" as a program of @type; returns 0 or a negative errno. */
static int load_smallest(enum bpf_prog_type type, struct bpf_prog_load_opts *opts)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	AUTO_FD int fd = bpf_prog_load(type, "fpl_probe", "GPL", insns, ARRAY_SIZE(insns), opts);

	return fd < 0 ? fd : 0;
}

/* The tracepoints of bpf/process.h, with what the programs get of them. */
static int probe_tp_btf(void)
{
	static const char *const points[] = { "sched_process_exec", "sched_process_fork",
					      "sched_process_exit", "sched_process_free" };

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		int id = libbpf_find_vmlinux_btf_id(points[i], BPF_TRACE_RAW_TP);
		LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);

		if (id <= 0)
			return id == -ENOMEM ? id : 0;
		opts.attach_btf_id = (__u32)id;

		int code = load_smallest(BPF_PROG_TYPE_TRACING, &opts);

		if (code)
			return code == -EINVAL ? 0 : code;
	}
	return 1;
}

void features_probe(struct features *ret)
{
	bpf_log_init();
	ret->bpf = load_smallest(BPF_PROG_TYPE_PERF_EVENT, NULL);
	if (ret->bpf && ret->bpf != -EINVAL) {
		for (size_t i = 0; i < FEATURE_COUNT; i++)
			ret->present[i] = ret->bpf;
		return;
	}
	ret->present[FEATURE_PERF_EVENT] = !ret->bpf;
	/* libbpf takes every failure but an unknown helper for a yes: hence the program first */
	ret->present[FEATURE_LOOP] =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL);
	ret->present[FEATURE_TASK_PT_REGS] =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL);
	ret->present[FEATURE_READ_KERNEL] =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_probe_read_kernel, NULL);
	ret->present[FEATURE_RINGBUF] = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);
	ret->present[FEATURE_TP_BTF] = probe_tp_btf();
}

/* Lockdown takes the helper from kernels that have it. */
static int fail_read_kernel(struct fpl_err *err)
{
	struct host host;
	struct advice advice;

	host_read("", &host);
	if (host.lockdown != HOST_LOCKDOWN_CONFIDENTIALITY)
		return feature_fail(err, FEATURE_READ_KERNEL);
	advice_lockdown(&advice);
	return fpl_fail(err, -EOPNOTSUPP, "%s: %s", advice.why, advice.fix);
}

int feature_fail(struct fpl_err *err, enum feature feature)
{
	return fpl_fail(err, -EOPNOTSUPP, "the kernel has no %s: Linux %s or later is needed",
			feature_text(feature), feature_since(feature));
}

int features_explain(struct fpl_err *err, int code)
{
	struct features found;

	if (!code || advice_is_refusal(code) || code == -ENOMEM)
		return code;
	features_probe(&found);
	for (unsigned int i = 0; i < FEATURE_COUNT; i++) {
		if (found.present[i])
			continue;
		return i == FEATURE_READ_KERNEL ? fail_read_kernel(err)
						: feature_fail(err, (enum feature)i);
	}
	return code;
}
