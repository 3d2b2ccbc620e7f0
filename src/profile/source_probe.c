/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/vector.h"
#include "parse/parser.h"
#include "proc/advice.h"
#include "proc/host.h"
#include "profile/probe_places.h"
#include "profile/source_kinds.h"
#include "profile/source_probe.h"
#include "profile/source_record.h"
#include "source/probe_fields.h"

/* A breakpoint's cost; that of a return is one more. Measured with a program that does nothing. */
#define HIT_NS	      600u
#define RETURN_HIT_NS 900u

#define DEVICES "/sys/bus/event_source/devices/"

/* The kernel takes away one breakpoint at a time, and each time waits until no CPU can be about to
 * handle it. */
#define CLOSE_MS    120u
#define PLACES_MANY 20u /* worth a line */

/* Events of a run; beyond them a place has one for all processes, not one for each. */
#define EVENTS_MAX 1024u

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

/* The kernel's own description of such events. */
struct device {
	uint32_t type;
	unsigned int return_bit, counter_shift; /* in config; counter_shift 0: it takes none */
};

/* Read a file of the device @name: what stands behind @before, which is a number. Errors: -ENOENT
 * there is no such file. */
static int read_number(const char *name, const char *file, const char *before, unsigned int *ret)
{
	char path[128], text[64];
	ssize_t nr;

	snprintf(path, sizeof(path), DEVICES "%s/%s", name, file);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	nr = fd < 0 ? -1 : io_read(fd, text, sizeof(text) - 1);
	if (nr < 0)
		return -ENOENT;
	text[nr] = '\0';
	if (strncmp(text, before, strlen(before)) != 0 ||
	    sscanf(text + strlen(before), "%u", ret) != 1)
		return -ENOENT;
	return 0;
}

static int read_device(enum probe_kind kind, struct device *ret, struct fpl_err *err)
{
	bool is_kernel = probe_is_of_kernel(kind);
	const char *name = is_kernel ? "kprobe" : "uprobe";
	int code = read_number(name, "type", "", &ret->type);

	if (!code && probe_is_return(kind))
		code = read_number(name, "format/retprobe", "config:", &ret->return_bit);
	if (code)
		return fpl_fail(err, -EOPNOTSUPP, "%s: this kernel has none (no " DEVICES "%s)",
				probe_kind_text(kind), name);
	if (is_kernel || read_number(name, "format/ref_ctr_offset", "config:", &ret->counter_shift))
		ret->counter_shift = 0;
	return 0;
}

/* @pid: set it in this process only; -1: in all, when @cpu is any. Errors: of perf_event_open. */
static int open_event(const struct device *device, const struct probe *probe,
		      const struct probe_site *site, pid_t pid, int cpu)
{
	char path[32];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = device->type,
		.config = (probe_is_return(probe->word.kind) ? 1ull << device->return_bit : 0) |
			  (site->ref_ctr_off << device->counter_shift),
		.sample_period = 1,
	};
	int fd;

	if (probe_is_of_kernel(probe->word.kind)) {
		attr.kprobe_func = (uint64_t)(uintptr_t)probe->word.name;
		attr.probe_offset = probe->word.off;
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", probe->file.fd);
		attr.uprobe_path = (uint64_t)(uintptr_t)path;
		attr.probe_offset = site->off;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? cpu : -1, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The kernel wants more for probes than for other events. */
static int fail_rights(const char *name, struct fpl_err *err)
{
	struct host host;

	host_read("", &host);
	if (host_has_cap(&host, CAP_SYS_ADMIN))
		return advice_fail_events(err, -EACCES, "perf_event_open");
	return fpl_fail(
		err, -EACCES,
		"%s: probes need CAP_SYS_ADMIN, which is given up once they are set: run as root",
		name);
}

/* Say why the kernel takes no event at the site. */
static int fail_event(const struct probe *probe, const struct probe_site *site, const char *name,
		      int code, struct fpl_err *err)
{
	if (advice_is_refusal(code))
		return fail_rights(name, err);
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
	struct probe probe = { .word = { .kind = PROBE_KPROBE } };
	struct probe_site site = { .kind = PROBE_SITE_CODE };
	struct device device = { .type = 0 };

	snprintf(probe.word.name, sizeof(probe.word.name), "%s", name);
	if (read_device(PROBE_KPROBE, &device, NULL))
		return -ENOENT;
	return open_event(&device, &probe, &site, -1, cpu);
}

static int open_place(struct source *source, const struct device *device,
		      const struct probe_site *site, pid_t pid, const char *name,
		      struct fpl_err *err)
{
	struct probe *probe = source->own;
	struct place place = { .fd = open_event(device, probe, site, pid, source->cpus.cpus[0]),
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

/*
 * Does the process have its memory by its main thread, which may have ended before others? The
 * kernel goes by that thread.
 */
static bool has_main_thread(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);

	AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	char target[8];

	return fd >= 0 && readlinkat(fd, "", target, sizeof(target)) > 0;
}

/* Can the probe be set in the processes of -p alone, so that no other pays for it? */
static bool is_of_processes(const struct engine_options *options, const struct probe *probe,
			    size_t nr_sites)
{
	if (probe_is_of_kernel(probe->word.kind) || options->target != ENGINE_TARGET_PIDS ||
	    !options->nr_pids || options->nr_pids > EVENTS_MAX / nr_sites)
		return false;
	for (size_t i = 0; i < options->nr_pids; i++)
		if (!has_main_thread(options->pids[i]))
			return false;
	return true;
}

static int open_site(struct source *source, const struct device *device,
		     const struct engine_options *options, const struct probe_sites *sites,
		     size_t idx, struct fpl_err *err)
{
	const struct probe_site *site = &sites->list[idx];
	const char *name = source_asked(source, options)->name;
	int code = 0;

	if (site->ref_ctr_off && (!device->counter_shift || site->ref_ctr_off > UINT32_MAX))
		return fpl_fail(
			err, -EOPNOTSUPP,
			"%s: its code runs while a counter in the program is not 0 (a semaphore), which this kernel cannot count",
			name);
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
	struct device device = { .type = 0 };
	int code = read_device(probe->word.kind, &device, err);

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
		source->what.hit_ns = probe_is_return(probe->word.kind) ? RETURN_HIT_NS : HIT_NS;
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
