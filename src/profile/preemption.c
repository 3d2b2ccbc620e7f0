/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/preemption.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/shared.h"

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

/* Do this kernel's programs of probes run on a stack of the CPU? It then has this member. */
static bool has_cpu_stacks(const struct btf *btf)
{
	int32_t id = btf__find_by_name_kind(btf, "bpf_prog_aux", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	if (!type)
		return true; /* not told: the careful answer */
	for (uint32_t i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off),
			    "priv_stack_ptr"))
			return true;
	return false;
}

int preemption_find(struct preemption *ret, struct fpl_err *err)
{
	CLEANUP(free_btf) struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return fpl_fail(err, errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP,
				"/sys/kernel/btf/vmlinux: %s", strerror(errno));
	*ret = (struct preemption){ 0 };
	if (!has_cpu_stacks(btf))
		return 0;
	ret->off_id = btf__find_by_name_kind(btf, "bpf_preempt_disable", BTF_KIND_FUNC);
	ret->on_id = btf__find_by_name_kind(btf, "bpf_preempt_enable", BTF_KIND_FUNC);
	if (ret->off_id <= 0 || ret->on_id <= 0)
		return fpl_fail(
			err, -EOPNOTSUPP,
			"probes of programs: the kernel has no bpf_preempt_disable: without "
			"it they could crash this kernel");
	return 0;
}

uint32_t preemption_nr_slots(const struct preemption *preemption)
{
	return preemption->off_id ? 2 : 3;
}

/* Libbpf has no place for it in an object. */
static struct preemption found;

static struct bpf_insn call_of(int32_t id)
{
	return (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
				  .src_reg = BPF_PSEUDO_KFUNC_CALL,
				  .imm = id };
}

/* Replace the marks among @insns by calls. Returns how many there were. */
static int put_calls(struct bpf_insn *insns, size_t nr)
{
	int nr_marks = 0;

	for (size_t i = 0; i + 1 < nr; i++) {
		uint64_t value = (uint32_t)insns[i].imm | (uint64_t)insns[i + 1].imm << 32;
		bool is_off = value == FPL_PREEMPTION_OFF;

		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW) || insns[i].src_reg ||
		    (!is_off && value != FPL_PREEMPTION_ON))
			continue;
		insns[i] = call_of(is_off ? found.off_id : found.on_id);
		insns[++i] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
		nr_marks++;
	}
	return nr_marks;
}

/* libbpf_prog_prepare_load_fn_t */
static int prepare(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	size_t nr = bpf_program__insn_cnt(program);
	AUTO_FREE struct bpf_insn *insns = calloc(nr, sizeof(*insns));

	(void)opts;
	(void)cookie;
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(program), nr * sizeof(*insns));
	/* one way in, and one or more out */
	if (put_calls(insns, nr) < 2)
		return -EINVAL;
	return bpf_program__set_insns(program, insns, nr);
}

int preemption_prepare(const struct preemption *preemption, struct fpl_err *err)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare);
	static int handler;

	found = *preemption;
	if (!preemption->off_id || handler > 0)
		return 0;
	handler = libbpf_register_prog_handler("uprobe", BPF_PROG_TYPE_KPROBE, 0, &opts);
	return handler < 0 ? fpl_fail(err, handler, "libbpf: %s", strerror(-handler)) : 0;
}
