/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

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

/* Load "return 0" as a program of @type; returns its descriptor or a negative errno. */
static int load_smallest(enum bpf_prog_type type)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(type, "fpl_probe", "GPL", insns, ARRAY_SIZE(insns), NULL);
}

/*
 * Call the helper @id with whatever the registers hold: the verifier refuses that, but names the
 * helper where that is what it refuses. The words are those of 5.10 to 6.12, and of 7.x.
 */
static int probe_helper(enum bpf_func_id id)
{
	static const char *const words[] = { "invalid func ", "unknown func ",
					     "cannot use helper" };
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = (__s32)id },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char log[4096] = "";
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .log_buf = log, .log_size = sizeof(log),
		    .log_level = 1);
	AUTO_FD int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "fpl_probe", "GPL", insns,
				       ARRAY_SIZE(insns), &opts);

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(words); i++) {
		if (strstr(log, words[i]))
			return 0;
	}
	return 1;
}

int features_may_load(void)
{
	bpf_log_init();

	AUTO_FD int fd = load_smallest(BPF_PROG_TYPE_PERF_EVENT);

	return fd < 0 ? fd : 0;
}

bool features_has_tracepoint(const char *name)
{
	AUTO_FD int program = load_smallest(BPF_PROG_TYPE_RAW_TRACEPOINT);
	AUTO_FD int link = program < 0 ? -1 : bpf_raw_tracepoint_open(name, program);

	return link >= 0;
}

void features_probe(struct features *ret)
{
	ret->bpf = features_may_load();
	if (ret->bpf && ret->bpf != -EINVAL) {
		for (size_t i = 0; i < FEATURE_COUNT; i++)
			ret->present[i] = ret->bpf;
		return;
	}
	ret->present[FEATURE_PERF_EVENT] = !ret->bpf;
	/* every failure but an unknown helper counts as a yes: hence the program first */
	ret->present[FEATURE_LOOP] = probe_helper(BPF_FUNC_loop);
	ret->present[FEATURE_TASK_PT_REGS] = probe_helper(BPF_FUNC_task_pt_regs);
	ret->present[FEATURE_READ_KERNEL] = probe_helper(BPF_FUNC_probe_read_kernel);
	ret->present[FEATURE_RINGBUF] = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);
}

/* All features are there, or are taken by the machine's set-up: a reason that is known, or @code.
 */
static int fail_setup(struct fpl_err *err, const struct host *host, int code)
{
	struct advice advice;

	if (!advice_btf(host, &advice) && !advice_jit(host, &advice))
		return code;
	return fpl_fail(err, -EOPNOTSUPP, "%s: %s", advice.why, advice.fix);
}

/* Lockdown takes the helper from kernels that have it. */
static int fail_read_kernel(struct fpl_err *err, const struct host *host)
{
	struct advice advice;

	if (host->lockdown != HOST_LOCKDOWN_CONFIDENTIALITY)
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
	struct host host;

	if (!code || advice_is_refusal(code) || code == -ENOMEM || code == -ESRCH)
		return code;
	host_read("", &host);
	if (host.btf.error || !host.btf.plausible)
		return fail_setup(err, &host, code);
	features_probe(&found);
	for (unsigned int i = 0; i < FEATURE_COUNT; i++) {
		if (found.present[i])
			continue;
		return i == FEATURE_READ_KERNEL ? fail_read_kernel(err, &host)
						: feature_fail(err, (enum feature)i);
	}
	return fail_setup(err, &host, code);
}
