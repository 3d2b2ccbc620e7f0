/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/source_kinds.h"
#include "profile/source_record.h"

/* Source.own. */
struct waker {
	struct fpl_source event; /* its key is the name of who was woken up */
	int link;		 /* owned: BPF link; -1: none */
};

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

/* Find the variable @name of CPUs. Returns its distance from the start of them; -1: not told. */
static int64_t find_variable(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *var = &btf_var_secinfos(section)[i];
		const struct btf_type *type = btf__type_by_id(btf, var->type);

		if (type && !strcmp(btf__name_by_offset(btf, type->name_off), name))
			return var->offset;
	}
	return -1;
}

/* The byte of @member in the struct @name; -1: it has none. */
static int64_t find_member(const struct btf *btf, const char *name, const char *member)
{
	int32_t id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t depth = 0; type && depth < 2; depth++) {
		const struct btf_type *inner = NULL;

		for (uint32_t i = 0; i < btf_vlen(type); i++) {
			const struct btf_member *at = &btf_members(type)[i];
			const char *found = btf__name_by_offset(btf, at->name_off);

			if (!strcmp(found, member))
				return btf_member_bit_offset(type, i) / 8;
			if (!*found && !at->offset) /* a union without a name, at the start */
				inner = btf__type_by_id(btf, at->type);
		}
		while (inner && depth == 0 && btf_is_union(inner) && btf_vlen(inner) &&
		       !*btf__name_by_offset(btf, btf_members(inner)[0].name_off))
			inner = btf__type_by_id(btf, btf_members(inner)[0].type);
		type = inner;
	}
	return -1;
}

/* From a CPU's struct rq to its preempt_count: a variable of its own, but for 6.2 to 6.14, which
 * have it in a struct. */
static int find_preempt_count(int64_t *ret, struct fpl_err *err)
{
	CLEANUP(free_btf) struct btf *btf = btf__load_vmlinux_btf();
	int64_t queue, count, member = 0;

	if (!btf)
		return fpl_fail(err, errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP,
				"/sys/kernel/btf/vmlinux: %s", strerror(errno));
	queue = find_variable(btf, "runqueues");
	count = find_variable(btf, "__preempt_count");
	if (count < 0) {
		count = find_variable(btf, "pcpu_hot");
		member = find_member(btf, "pcpu_hot", "preempt_count");
	}
	if (queue < 0 || count < 0 || member < 0)
		return fpl_fail(err, -EOPNOTSUPP,
				"wakeups: this kernel does not tell where its preempt_count is: an "
				"interrupt would be taken for the thread that it interrupted");
	*ret = count + member - queue;
	return 0;
}

static int waker_open(struct source *source, const struct engine_options *options,
		      struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct waker *waker = calloc(1, sizeof(*waker));
	int code;

	source->own = waker;
	if (!waker)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", spec->name);
	waker->link = -1;
	waker->event.key.kind = FPL_FIELD_TEXT;
	code = source_record_check_cpus(spec, options, err);
	if (!code)
		code = find_preempt_count(&source->preempt_off, err);
	if (code)
		return code;
	source->sampler = SAMPLER_WAKING;
	source->event = &waker->event;
	source_record_describe_waits(source, spec);
	return 0;
}

static int waker_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct waker *waker = source->own;

	waker->link = bpf_raw_tracepoint_open(NULL, prog_fd);
	return waker->link < 0 ? fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", source->what.name,
					  strerror(errno))
			       : 0;
}

static void waker_close(struct source *source)
{
	struct waker *waker = source->own;

	if (!waker)
		return;
	cleanup_fd(&waker->link);
	free(waker);
}

const struct source_ops source_waker_ops = {
	.open = waker_open,
	.attach = waker_attach,
	.close = waker_close,
};
