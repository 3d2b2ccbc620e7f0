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
#include "parse/parser.h"
#include "proc/advice.h"
#include "profile/probe_event.h"
#include "profile/probe_places.h"
#include "profile/probe_set.h"
#include "profile/source_kinds.h"
#include "profile/source_probe.h"
#include "profile/source_record.h"
#include "source/probe_fields.h"

/* The kernel takes away one breakpoint at a time, and each time waits until no CPU can be about to
 * handle it. */
#define CLOSE_MS    120u
#define PLACES_MANY 20u /* worth a line */

/* Source.own. */
struct probed {
	struct fpl_source event;
	struct probe_word word;
	struct probe_file file; /* fd -1: none */
	struct probe_set set;	/* its places, in one process or in all */
	int prog_fd;		/* borrowed */
};

/* Say why the kernel takes no event at the site. */
static int fail_event(const struct probed *probe, const struct probe_site *site, const char *name,
		      int code, struct fpl_err *err)
{
	if (code == -ENOMEM)
		return fpl_fail(err, code, "%s: out of memory", name);
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

static int open_place(struct source *source, const struct probe_site *site, pid_t pid,
		      const char *name, struct fpl_err *err)
{
	struct probed *probe = source->own;
	const struct probe place = {
		.place = {
			.kind = probe->word.kind,
			.file_fd = probe->file.fd,
			.function = probe->word.name,
			.off = probe_is_of_kernel(probe->word.kind) ? probe->word.off : site->off,
			.ref_ctr_off = site->ref_ctr_off,
		},
		.pid = pid,
		.cookie = source->number,
	};
	int code = probe_set_add(&probe->set, &place, source->cpus.cpus[0]);

	return code ? fail_event(probe, site, name, code, err) : 0;
}

/* Can the probe be set in the processes of -p alone, so that no other pays for it? */
static bool is_of_processes(const struct engine_options *options, const struct probed *probe,
			    size_t nr_sites)
{
	return !probe_is_of_kernel(probe->word.kind) &&
	       probe_event_is_of_processes(options, nr_sites);
}

static int open_site(struct source *source, const struct engine_options *options,
		     const struct probe_sites *sites, size_t idx, struct fpl_err *err)
{
	const struct probed *probe = source->own;
	const struct probe_site *site = &sites->list[idx];
	const char *name = source_asked(source, options)->name;
	int code = probe_set_check_counter(&probe->set, site->ref_ctr_off, name, err);

	if (code)
		return code;
	if (!is_of_processes(options, probe, sites->nr))
		return open_place(source, site, -1, name, err);
	for (size_t i = 0; !code && i < options->nr_pids; i++)
		code = open_place(source, site, options->pids[i], name, err);
	return code;
}

/* The fields of the event at a site. */
static int read_fields(const struct probed *probe, const struct probe_sites *sites,
		       const struct probe_site *site, struct event_format *ret, struct fpl_err *err)
{
	return probe->word.kind == PROBE_USDT
		       ? probe_fields_of_usdt(sites->text + site->args, ret, err)
		       : probe_fields_of_function(probe->word.kind, ret);
}

/* Compile what is asked of the registers: it is one answer for all places, so their arguments that
 * are asked for must lie in the same registers. */
static int ask(struct probed *probe, const struct source_spec *spec, const char *key,
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
static int find_sites(struct probed *probe, const struct source_spec *spec,
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
	struct probed *probe = source->own;
	int code = probe_set_init(&probe->set, probe->word.kind, err);

	if (!code)
		code = find_sites(probe, spec, options, &sites, err);
	if (!code)
		code = ask(probe, spec, options->key, &sites, err);
	for (size_t i = 0; !code && i < sites.nr; i++)
		code = open_site(source, options, &sites, i, err);
	if (!code && probe_set_nr_events(&probe->set) >= PLACES_MANY)
		fpl_log(FPL_LOG_WARN,
			"%s: %zu breakpoints: at the end the kernel takes about %zu s to take them away",
			spec->name, probe_set_nr_events(&probe->set),
			probe_set_nr_events(&probe->set) * CLOSE_MS / 1000);
	return code;
}

static int probe_open(struct source *source, const struct engine_options *options,
		      struct fpl_err *err)
{
	const struct source_spec *spec = source_asked(source, options);
	struct probed *probe = calloc(1, sizeof(*probe));
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
	source->is_multi = probe->set.is_multi;
	source->event = &probe->event;
	source_record_describe(source, spec, &probe->event);
	if (source->sampler == SAMPLER_UPROBE)
		source->what.hit_ns =
			probe_is_return(probe->word.kind) ? PROBE_RETURN_HIT_NS : PROBE_HIT_NS;
	return 0;
}

static void probe_close(struct source *source)
{
	struct probed *probe = source->own;

	if (!probe)
		return;
	probe_set_fini(&probe->set);
	cleanup_fd(&probe->file.fd);
	free(probe);
}

static int probe_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	struct probed *probe = source->own;

	probe->prog_fd = prog_fd;
	return probe_set_attach(&probe->set, &prog_fd, source->what.name, err);
}

static uint64_t probe_counted(const struct source *source, uint64_t fired)
{
	const struct probed *probe = source->own;

	return source_record_counted(probe->prog_fd, probe->event.every, fired);
}

const struct source_ops source_probe_ops = {
	.open = probe_open,
	.attach = probe_attach,
	.counted = probe_counted,
	.close = probe_close,
};
