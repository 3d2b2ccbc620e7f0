/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profile/source_kinds.h"
#include "profile/source_record.h"
#include "profile/source_rss.h"
#include "profile/source_tracepoint.h"
#include "proc/tracefs.h"
#include "source/event_format.h"

#define CATEGORY "kmem"
#define NAME	 "rss_stat"

/* Source.own. */
struct rss {
	struct fpl_source event;
	int fd;	     /* owned: the perf event that has the kernel call the program; -1 */
	int link;    /* owned: BPF link; -1: none */
	int prog_fd; /* borrowed */
};

/* Roots of the stacks, by enum fpl_rss_kind. */
static const char *const kinds[FPL_RSS_KINDS] = {
	[FPL_RSS_FILE] = "file-backed",
	[FPL_RSS_ANON] = "anonymous",
	[FPL_RSS_SWAP] = "swapped out",
	[FPL_RSS_SHARED] = "shared memory",
};

/* Has the kernel's record the fields that the program reads, where it reads them? */
static bool is_known_format(const struct event_format *format)
{
	static const struct {
		const char *name;
		size_t off, size;
	} wanted[] = {
#define FIELD(name, member)                              \
	{ name, offsetof(struct fpl_rss_record, member), \
	  sizeof(((struct fpl_rss_record *)0)->member) }
		FIELD("mm_id", mm_id),
		FIELD("curr", is_own),
		FIELD("member", kind),
		FIELD("size", size),
#undef FIELD
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct event_field *field =
			event_format_find(format, wanted[i].name, strlen(wanted[i].name));

		if (!field || field->field.off != wanted[i].off ||
		    field->field.size != wanted[i].size)
			return false;
	}
	return true;
}

int source_rss_find(uint64_t *ret_id, struct fpl_err *err)
{
	CLEANUP(event_format_fini) struct event_format format = { 0 };
	AUTO_FREE char *text = NULL;
	AUTO_FD int tracefs = -1;
	int code = tracefs_open(&tracefs, err);

	if (!code)
		code = tracefs_event_id(tracefs, CATEGORY, NAME, ret_id, err);
	if (!code)
		code = tracefs_format(tracefs, CATEGORY, NAME, &text, err);
	if (!code)
		code = event_format_parse(text, CATEGORY, &format, err);
	if (code)
		return code == -EACCES || code == -ENOMEM ? code : -EOPNOTSUPP;
	return is_known_format(&format)
		       ? 0
		       : fpl_fail(err, -EOPNOTSUPP,
				  CATEGORY ":" NAME ": the record has other fields here");
}

/* The kind of memory is the key of a sample. */
static void ask(struct fpl_source *event)
{
	event->every = 1;
	event->key = (struct fpl_field){
		.off = offsetof(struct fpl_rss_record, kind),
		.size = sizeof(uint32_t),
		.kind = FPL_FIELD_NAMED,
	};
	for (size_t i = 0; i < FPL_RSS_KINDS; i++)
		snprintf(event->texts[i], sizeof(event->texts[i]), "%s", kinds[i]);
}

static int rss_open(struct source *source, const struct engine_options *options,
		    struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct rss *rss = calloc(1, sizeof(*rss));
	uint64_t id = 0;
	int code;

	source->own = rss;
	if (!rss)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", spec->name);
	rss->fd = rss->link = -1;
	code = source_record_check_cpus(spec, options, err);
	if (!code)
		code = source_rss_find(&id, err);
	if (!code)
		code = source_tracepoint_event(id, source->cpus.cpus[0], spec->name, &rss->fd, err);
	if (code)
		return code;
	ask(&rss->event);
	source->sampler = SAMPLER_RSS;
	source->event = &rss->event;
	source_record_describe(source, spec, &rss->event);
	snprintf(source->what.unit, sizeof(source->what.unit), "bytes");
	return 0;
}

static void rss_close(struct source *source)
{
	struct rss *rss = source->own;

	if (!rss)
		return;
	cleanup_fd(&rss->link);
	cleanup_fd(&rss->fd);
	free(rss);
}

static int rss_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct rss *rss = source->own;

	rss->prog_fd = prog_fd;
	rss->link = bpf_link_create(prog_fd, rss->fd, BPF_PERF_EVENT, NULL);
	return rss->link < 0 ? fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", source->what.name,
					strerror(errno))
			     : 0;
}

static uint64_t rss_counted(const struct source *source, uint64_t fired)
{
	const struct rss *rss = source->own;

	return source_record_counted(rss->prog_fd, 1, fired);
}

const struct source_ops source_rss_ops = {
	.open = rss_open,
	.attach = rss_attach,
	.counted = rss_counted,
	.close = rss_close,
};
