/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/probe_set.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profile/uprobe_multi.h"

int probe_set_init(struct probe_set *set, enum probe_kind kind, struct fpl_err *err)
{
	set->is_multi = !probe_is_of_kernel(kind) && uprobe_multi_works();
	return set->is_multi ? 0 : probe_device_read(kind, &set->device, err);
}

void probe_set_fini(struct probe_set *set)
{
	/* first what calls the programs */
	for (size_t i = 0; i < set->links.nr; i++)
		close(set->links.list[i]);
	for (size_t i = 0; i < set->probes.nr; i++)
		cleanup_fd(&set->probes.list[i].event);
	vector_fini(&set->links);
	vector_fini(&set->probes);
}

int probe_set_check_counter(const struct probe_set *set, uint64_t ref_ctr_off, const char *name,
			    struct fpl_err *err)
{
	return set->is_multi ? 0 : probe_event_check_counter(&set->device, ref_ctr_off, name, err);
}

int probe_set_add(struct probe_set *set, const struct probe *probe, int cpu)
{
	struct probe added = *probe;
	int code = 0;

	added.event = -1;
	if (!set->is_multi) {
		code = probe_event_open(&set->device, &probe->place, probe->pid, cpu);
		if (code == -ESRCH && probe->pid >= 0)
			return 0;
		if (code < 0)
			return code;
		added.event = code;
		code = 0;
	}
	if (vector_push(&set->probes, added)) {
		cleanup_fd(&added.event);
		code = -ENOMEM;
	}
	return code;
}

static int add_link(struct probe_set *set, int link, const char *name, struct fpl_err *err)
{
	if (!vector_push(&set->links, link))
		return 0;
	close(link);
	return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
}

static int attach_events(struct probe_set *set, const int *prog_fds, const char *name,
			 struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < set->probes.nr; i++) {
		const struct probe *probe = &set->probes.list[i];
		LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = probe->cookie);
		int link = bpf_link_create(prog_fds[probe->program], probe->event, BPF_PERF_EVENT,
					   &opts);

		code = link < 0
			       ? fpl_fail(err, -EOPNOTSUPP, "%s: attach: %s", name, strerror(errno))
			       : add_link(set, link, name, err);
	}
	return code;
}

/* Can one link have both? */
static bool is_of_link(const struct probe *one, const struct probe *other)
{
	return one->place.file_fd == other->place.file_fd && one->pid == other->pid &&
	       one->program == other->program &&
	       probe_is_return(one->place.kind) == probe_is_return(other->place.kind);
}

/* Room for what a link is told, for all probes of a set. */
struct link_room {
	uint64_t *offs, *ref_ctr_offs, *cookies; /* borrowed [nr] */
};

/* Link the probe @first and all behind it that can have the same link. */
static int attach_link(struct probe_set *set, size_t first, const struct link_room *room,
		       bool *is_done, const int *prog_fds, const char *name, struct fpl_err *err)
{
	const struct probe *head = &set->probes.list[first];
	struct uprobe_multi places = {
		.file_fd = head->place.file_fd,
		.offs = room->offs,
		.ref_ctr_offs = room->ref_ctr_offs,
		.cookies = room->cookies,
		.is_return = probe_is_return(head->place.kind),
		.pid = head->pid,
	};
	int link;

	for (size_t i = first; i < set->probes.nr; i++) {
		const struct probe *probe = &set->probes.list[i];

		if (!is_of_link(head, probe))
			continue;
		is_done[i] = true;
		room->offs[places.nr] = probe->place.off;
		room->ref_ctr_offs[places.nr] = probe->place.ref_ctr_off;
		room->cookies[places.nr++] = probe->cookie;
	}
	link = uprobe_multi_link(prog_fds[head->program], &places);
	if (link == -ESRCH && head->pid >= 0)
		return 0;
	if (link < 0)
		return fpl_fail(err, -EOPNOTSUPP,
				"%s: the kernel lets no probe be set at byte 0x%" PRIx64
				" of the file, or at one of %zu other places: %s",
				name, head->place.off, places.nr - 1, strerror(-link));
	return add_link(set, link, name, err);
}

static int attach_links(struct probe_set *set, const int *prog_fds, const char *name,
			struct fpl_err *err)
{
	size_t nr = set->probes.nr;
	AUTO_FREE uint64_t *words = calloc(3 * nr + 1, sizeof(*words));
	AUTO_FREE bool *is_done = calloc(nr + 1, sizeof(*is_done));
	const struct link_room room = { words, words + nr, words + 2 * nr };
	int code = 0;

	if (!words || !is_done)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	for (size_t i = 0; !code && i < nr; i++)
		if (!is_done[i])
			code = attach_link(set, i, &room, is_done, prog_fds, name, err);
	return code;
}

int probe_set_attach(struct probe_set *set, const int *prog_fds, const char *name,
		     struct fpl_err *err)
{
	return set->is_multi ? attach_links(set, prog_fds, name, err)
			     : attach_events(set, prog_fds, name, err);
}

size_t probe_set_nr_events(const struct probe_set *set)
{
	return set->is_multi ? 0 : set->probes.nr;
}
