/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vector.h"
#include "parse/parser.h"
#include "proc/advice.h"
#include "profile/probe_event.h"
#include "profile/probe_places.h"
#include "profile/source_kinds.h"
#include "profile/source_probe.h"
#include "profile/source_record.h"
#include "source/probe_fields.h"

/* The kernel takes away one breakpoint at a time, and each time waits until no CPU can be about to
 * handle it. */
#define CLOSE_MS    120u
#define PLACES_MANY 20u /* worth a line */

/* A place of the probe, in one process or in all. */
struct place {
	int fd;	  /* owned: the perf event that has the kernel call the program, on every CPU */
	int link; /* owned: BPF link; -1: none */
};

/* Source.own. */
struct probe {
	struct fpl_source event;
	struct probe_word word;
	struct probe_file file; /* fd -1: none */
	VECTOR(struct place) places;
	int prog_fd; /* borrowed */
};

/* Say why the kernel takes no event at the site. */
static int fail_event(const struct probe *probe, const struct probe_site *site, const char *name,
		      int code, struct fpl_err *err)
{
	if (advice_is_refusal(code))
		return probe_event_fail_rights(name, err);
	if (probe_is_of_kernel(probe->word.kind) && (code == -ENOENT || code == -EINVAL))
		return fpl_fail(err, -EINVAL,
				"-e %s: the kernel has no such function, or lets none be set there",
				name);
	if (!probe_is_of_kernel(probe->word.kind) && (code == -EINVAL || code == -EILSEQ))
		return fpl_fail(err, -EINVAL,
				"-e %s: the kernel lets no probe be set at 0x%" PRIx64 " of %s: %s",
				name, site->vaddr, probe->file.path, strerror(-code));
	return fpl_fail(err, code == -EMFILE || code == -ENFILE ? -EMFILE : -EOPNOTSUPP,
			"%s: perf_event_open: %s", name, strerror(-code));
}

int source_probe_open_function(const char *name, int cpu)
{
	const struct probe_place place = { .kind = PROBE_KPROBE, .file_fd = -1, .function = name };
	struct probe_device device = { .type = 0 };

	if (probe_device_read(PROBE_KPROBE, &device, NULL))
		return -ENOENT;
	return probe_event_open(&device, &place, -1, cpu);
}

static int open_place(struct source *source, const struct probe_device *device,
		      const struct probe_site *site, pid_t pid, const char *name,
		      struct fpl_err *err)
{
	struct probe *probe = source->own;
	const struct probe_place where = {
		.kind = probe->word.kind,
		.file_fd = probe->file.fd,
		.function = probe->word.name,
		.off = probe_is_of_kernel(probe->word.kind) ? probe->word.off : site->off,
		.ref_ctr_off = site->ref_ctr_off,
	};
	struct place place = { .fd = probe_event_open(device, &where, pid, source->cpus.cpus[0]),
			       .link = -1 };

	/* the process has gone: the run ends by that */
	if (place.fd == -ESRCH && pid >= 0)
		return 0;
	if (place.fd < 0)
		return fail_event(probe, site, name, place.fd, err);
	if (vector_push(&probe->places, place)) {
		close(place.fd);
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	}
	return 0;
}

/* Can the probe be set in the processes of -p alone, so that no other pays for it? */
static bool is_of_processes(const struct engine_options *options, const struct probe *probe,
			    size_t nr_sites)
{
	return !probe_is_of_kernel(probe->word.kind) &&
	       probe_event_is_of_processes(options, nr_sites);
}

static int open_site(struct source *source, const struct probe_device *device,
		     const struct engine_options *options, const struct probe_sites *sites,
		     size_t idx, struct fpl_err *err)
{
	const struct probe_site *site = &sites->list[idx];
	const char *name = source_asked(source, options)->name;
	int code = probe_event_check_counter(device, site->ref_ctr_off, name, err);

	if (code)
		return code;
	if (!is_of_processes(options, source->own, sites->nr))
		return open_place(source, device, site, -1, name, err);
	for (size_t i = 0; !code && i < options->nr_pids; i++)
		code = open_place(source, device, site, options->pids[i], name, err);
	return code;
}

/* The fields of the event at a site. */
static int read_fields(const struct probe *probe, const struct probe_sites *sites,
		       const struct probe_site *site, struct event_format *ret, struct fpl_err *err)
{
	return probe->word.kind == PROBE_USDT
		       ? probe_fields_of_usdt(sites->text + site->args, ret, err)
		       : probe_fields_of_function(probe->word.kind, ret);
}

/* Compile what is asked of the registers: it is one answer for all places, so their arguments that
 * are asked for must lie in the same registers. */
static int ask(struct probe *probe, const struct source_spec *spec, const char *key,
	       const struct probe_sites *sites, struct fpl_err *err)
{
	for (size_t i = 0; i < sites->nr && (spec->filter || spec->weight || key); i++) {
		CLEANUP(event_format_fini) struct event_format format = { 0 };
		struct fpl_source event = { .every = probe->event.every };
		int code = read_fields(probe, sites, &sites->list[i], &format, err);

		if (!code)
			code = source_record_ask(spec, key, &format, &event, err);
		if (code)
			return code;
		if (i && memcmp(&event, &probe->event, sizeof(event)) != 0)
			return fpl_fail(
				err, -EINVAL,
				"%s: %s: the probe is at %zu places, where these arguments lie in different registers: fpless events --fields %s",
				spec->filter   ? "--filter"
				: spec->weight ? "--weight"
					       : "--by",
				spec->name, sites->nr, probe->file.path);
		probe->event = event;
	}
	return 0;
}

/* Find the places in the program's file. The kernel looks a function of its own up itself. */
static int find_sites(struct probe *probe, const struct source_spec *spec,
		      const struct engine_options *options, struct probe_sites *ret,
		      struct fpl_err *err)
{
	int code;

	if (probe_is_of_kernel(probe->word.kind)) {
		code = probe_sites_add(ret, &(struct probe_site){ .kind = PROBE_SITE_CODE }, "",
				       probe->word.name, "");
		return code ? fpl_fail(err, code, "%s: out of memory", spec->name) : 0;
	}
	code = probe_file_open(parser_opener(options->parser), probe->word.file, options->pids,
			       options->nr_pids, &probe->file, err);
	if (!code)
		code = probe_places_find(options->parser, &probe->file, &probe->word, ret, err);
	return code ? fpl_fail_in(err, code, "-e %s", spec->name) : 0;
}

static int open_sites(struct source *source, const struct engine_options *options,
		      struct fpl_err *err)
{
	CLEANUP(probe_sites_fini) struct probe_sites sites = { .nr = 0 };
	const struct source_spec *spec = source_asked(source, options);
	struct probe *probe = source->own;
	struct probe_device device = { .type = 0 };
	int code = probe_device_read(probe->word.kind, &device, err);

	if (!code)
		code = find_sites(probe, spec, options, &sites, err);
	if (!code)
		code = ask(probe, spec, options->key, &sites, err);
	for (size_t i = 0; !code && i < sites.nr; i++)
		code = open_site(source, &device, options, &sites, i, err);
	if (!code && probe->places.nr >= PLACES_MANY)
		fpl_log(FPL_LOG_WARN,
			"%s: %zu breakpoints: at the end the kernel takes about %zu s to take them away",
			spec->name, probe->places.nr, probe->places.nr * CLOSE_MS / 1000);
	return code;
}

static int probe_open(struct source *source, const struct engine_options *options,
		      struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct probe *probe = calloc(1, sizeof(*probe));
	int code;

	source->own = probe;
	if (!probe)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", spec->name);
	probe->file.fd = -1;
	probe->event.every = spec->period ? (uint32_t)spec->period : 1;
	code = source_record_check_cpus(spec, options, err);
	if (!code)
		code = probe_word_parse(spec->probe, &probe->word, err);
	if (!code)
		code = open_sites(source, options, err);
	if (code)
		return code;
	source->sampler = probe_is_of_kernel(probe->word.kind) ? SAMPLER_KPROBE : SAMPLER_UPROBE;
	source->event = &probe->event;
	source_record_describe(source, spec, &probe->event);
	if (source->sampler == SAMPLER_UPROBE)
		source->what.hit_ns =
			probe_is_return(probe->word.kind) ? PROBE_RETURN_HIT_NS : PROBE_HIT_NS;
	return 0;
}

static void probe_close(struct source *source)
{
	struct probe *probe = source->own;

	if (!probe)
		return;
	for (size_t i = 0; i < probe->places.nr; i++) {
		cleanup_fd(&probe->places.list[i].link);
		cleanup_fd(&probe->places.list[i].fd);
	}
	vector_fini(&probe->places);
	cleanup_fd(&probe->file.fd);
	free(probe);
}

static int probe_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = source->number);
	struct probe *probe = source->own;

	probe->prog_fd = prog_fd;
	for (size_t i = 0; i < probe->places.nr; i++) {
		struct place *place = &probe->places.list[i];

		place->link = bpf_link_create(prog_fd, place->fd, BPF_PERF_EVENT, &opts);
		if (place->link < 0)
			return fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", source->what.name,
					strerror(errno));
	}
	return 0;
}

static uint64_t probe_counted(const struct source *source, uint64_t fired)
{
	const struct probe *probe = source->own;

	return source_record_counted(probe->prog_fd, probe->event.every, fired);
}

const struct source_ops source_probe_ops = {
	.open = probe_open,
	.attach = probe_attach,
	.counted = probe_counted,
	.close = probe_close,
};
