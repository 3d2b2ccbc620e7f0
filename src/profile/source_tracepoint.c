/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/advice.h"
#include "proc/tracefs.h"
#include "profile/source_kinds.h"
#include "profile/source_record.h"
#include "profile/source_tracepoint.h"
#include "source/event_format.h"

/* Source.own. */
struct tracepoint {
	struct fpl_source event;
	int fd;	     /* the perf event that has the kernel call the program, on every CPU; -1 */
	int link;    /* BPF link, -1: none */
	int prog_fd; /* borrowed */
	char category[SOURCE_NAME_MAX], name[SOURCE_NAME_MAX];
};

/* Compile what is asked of the record. */
static int ask(struct tracepoint *point, const struct source_spec *spec, const char *key,
	       int tracefs, struct fpl_err *err)
{
	CLEANUP(event_format_fini) struct event_format format = { 0 };
	AUTO_FREE char *text = NULL;
	int code;

	if (!spec->filter && !spec->weight && !key)
		return 0;
	code = tracefs_format(tracefs, point->category, point->name, &text, err);
	if (!code)
		code = event_format_parse(text, point->category, &format, err);
	if (code)
		return code == -EINVAL ? fpl_fail_in(err, -EOPNOTSUPP, "%s", spec->name) : code;
	return source_record_ask(spec, key, &format, &point->event, err);
}

int source_tracepoint_event(uint64_t id, int cpu, const char *name, int *ret_fd,
			    struct fpl_err *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && advice_is_refusal(-errno))
		return advice_fail_events(err, -EACCES, "perf_event_open");
	if (fd < 0)
		return fpl_fail(err, -EOPNOTSUPP, "%s: perf_event_open: %s", name, strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int tracepoint_open(struct source *source, const struct engine_options *options,
			   struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct tracepoint *point = calloc(1, sizeof(*point));
	AUTO_FD int tracefs = -1;
	uint64_t id;
	int code;

	source->own = point;
	if (!point)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", spec->name);
	point->fd = point->link = -1;
	code = source_record_check_cpus(spec, options, err);
	if (code)
		return code;
	snprintf(point->category, sizeof(point->category), "%.*s", (int)strcspn(spec->name, ":"),
		 spec->name);
	snprintf(point->name, sizeof(point->name), "%s", strchr(spec->name, ':') + 1);
	code = tracefs_open(&tracefs, err);
	if (!code)
		code = tracefs_event_id(tracefs, point->category, point->name, &id, err);
	if (code == -ENOENT)
		return fpl_fail(err, -EINVAL, "-e %s: no such tracepoint: fpless events names all",
				spec->name);
	if (!code)
		code = ask(point, spec, options->key, tracefs, err);
	if (code)
		return code;
	point->event.every = spec->period ? (uint32_t)spec->period : 1;
	code = source_tracepoint_event(id, source->cpus.cpus[0], spec->name, &point->fd, err);
	if (code)
		return code;
	source->sampler = SAMPLER_TRACEPOINT;
	source->event = &point->event;
	source_record_describe(source, spec, &point->event);
	return 0;
}

static void tracepoint_close(struct source *source)
{
	struct tracepoint *point = source->own;

	if (!point)
		return;
	cleanup_fd(&point->link);
	cleanup_fd(&point->fd);
	free(point);
}

static int tracepoint_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct tracepoint *point = source->own;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = source->number);

	point->prog_fd = prog_fd;
	point->link = bpf_link_create(prog_fd, point->fd, BPF_PERF_EVENT, &opts);
	return point->link < 0 ? fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", source->what.name,
					  strerror(errno))
			       : 0;
}

static uint64_t tracepoint_counted(const struct source *source, uint64_t fired)
{
	const struct tracepoint *point = source->own;

	return source_record_counted(point->prog_fd, point->event.every, fired);
}

const struct source_ops source_tracepoint_ops = {
	.open = tracepoint_open,
	.attach = tracepoint_attach,
	.counted = tracepoint_counted,
	.close = tracepoint_close,
};
