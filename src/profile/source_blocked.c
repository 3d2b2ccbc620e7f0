/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source_blocked.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/features.h"
#include "profile/source_kinds.h"
#include "profile/source_probe.h"
#include "profile/source_record.h"

/* At the end of a switch, in the thread that goes on: since 6.16. */
#define TRACEPOINT "sched_exit_tp"

/* The function there, as compilers name it. */
static const char *const functions[] = { "finish_task_switch.isra.0", "finish_task_switch" };

/* Source.own. */
struct blocked {
	enum blocked_way way;
	int event; /* owned: the probe in the kernel; -1: another way */
	int link;  /* owned: BPF link; -1: none */
};

/* Returns the event, which is the caller's, or a negative errno. */
static int open_function(int cpu)
{
	int code = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(functions) && code < 0; i++)
		code = source_probe_open_function(functions[i], cpu);
	return code;
}

enum blocked_way source_blocked_way(void)
{
	AUTO_FD int event = -1;

	if (features_has_tracepoint(TRACEPOINT))
		return BLOCKED_WAY_TRACEPOINT;
	event = open_function(0);
	return event < 0 ? BLOCKED_WAY_SWITCH_OUT : BLOCKED_WAY_KPROBE;
}

static int open_probe(struct blocked *blocked, int cpu, struct fpl_err *err)
{
	int code = open_function(cpu);

	if (code < 0)
		return fpl_fail(err, -EOPNOTSUPP, "blocked time: no kprobe on %s: %s", functions[1],
				strerror(-code));
	blocked->event = code;
	return 0;
}

static void choose_way(struct blocked *blocked, const struct engine_options *options)
{
	blocked->way = options->blocks.way ? options->blocks.way : source_blocked_way();
	if (blocked->way == BLOCKED_WAY_SWITCH_OUT && !options->blocks.all_at_end)
		fpl_log(FPL_LOG_WARN,
			"this kernel has neither the tracepoint " TRACEPOINT
			" (Linux 6.16) nor kprobes on %s: each wait is walked when it begins, sampled or not",
			functions[1]);
}

static enum sampler sampler_of(enum blocked_way way)
{
	return way == BLOCKED_WAY_TRACEPOINT ? SAMPLER_SWITCH
	       : way == BLOCKED_WAY_KPROBE   ? SAMPLER_SWITCH_KPROBE
	       : way == BLOCKED_WAY_TIMES    ? SAMPLER_NO_SWITCH
					     : SAMPLER_SWITCH_OUT;
}

static int blocked_open(struct source *source, const struct engine_options *options,
			struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct blocked *blocked = calloc(1, sizeof(*blocked));
	int code;

	source->own = blocked;
	if (!blocked)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", spec->name);
	blocked->event = blocked->link = -1;
	choose_way(blocked, options);
	code = source_record_check_cpus(spec, options, err);
	if (!code && blocked->way == BLOCKED_WAY_KPROBE)
		code = open_probe(blocked, source->cpus.cpus[0], err);
	if (code)
		return code;
	source->sampler = sampler_of(blocked->way);
	source_record_describe_waits(source, spec);
	return 0;
}

static int blocked_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct blocked *blocked = source->own;

	if (blocked->way == BLOCKED_WAY_TIMES)
		return 0;
	if (blocked->way == BLOCKED_WAY_KPROBE)
		blocked->link = bpf_link_create(prog_fd, blocked->event, BPF_PERF_EVENT, NULL);
	else /* a program of sched_switch knows its tracepoint */
		blocked->link = bpf_raw_tracepoint_open(
			blocked->way == BLOCKED_WAY_TRACEPOINT ? TRACEPOINT : NULL, prog_fd);
	return blocked->link < 0 ? fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", source->what.name,
					    strerror(errno))
				 : 0;
}

static void blocked_close(struct source *source)
{
	struct blocked *blocked = source->own;

	if (!blocked)
		return;
	cleanup_fd(&blocked->link);
	cleanup_fd(&blocked->event);
	free(blocked);
}

const struct source_ops source_blocked_ops = {
	.open = blocked_open,
	.attach = blocked_attach,
	.close = blocked_close,
};
