/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a source where the kernel calls its programs. Those in programs are set by one link
 * for all places of a file where the kernel has such links (profile/uprobe_multi.h), else, as in
 * the kernel, by a perf event each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vector.h"
#include "profile/probe_event.h"

/* A place, and what is to run there. */
struct probe {
	struct probe_place place; /* its file_fd stays open until probe_set_attach() */
	pid_t pid;		  /* in this process; -1: in all */
	uint32_t program;	  /* index in the array of probe_set_attach() */
	uint64_t cookie;	  /* of the link, for the program */
	int event;		  /* owned: perf event; -1: none */
};

struct probe_set {
	VECTOR(struct probe) probes;
	VECTOR(int) links; /* owned: BPF links */
	struct probe_device device;
	bool is_multi; /* no perf events: its programs are loaded for links to many places */
};

/* Prepare for places of @kind, and of the same without a return. Errors: as probe_device_read. */
FPL_MUST_CHECK int probe_set_init(struct probe_set *set, enum probe_kind kind, struct fpl_err *err);

/* All 0: nothing happens. */
void probe_set_fini(struct probe_set *set);

/* As probe_event_check_counter(), for how the places of the set are set. */
FPL_MUST_CHECK int probe_set_check_counter(const struct probe_set *set, uint64_t ref_ctr_off,
					   const char *name, struct fpl_err *err);

/*
 * Add @probe, whose event is filled in. @cpu: any that is online. A process that has gone is no
 * error: the run ends by that. Errors: those of perf_event_open(2), -ENOMEM.
 */
FPL_MUST_CHECK int probe_set_add(struct probe_set *set, const struct probe *probe, int cpu);

/*
 * Have the kernel call @prog_fds[probe.program] at each place. Errors: -EOPNOTSUPP with a line that
 * says where the kernel lets none be set; -ENOMEM. @name: of the source.
 */
FPL_MUST_CHECK int probe_set_attach(struct probe_set *set, const int *prog_fds, const char *name,
				    struct fpl_err *err);

/* Perf events: the kernel takes their breakpoints away one at a time, and waits each time. */
size_t probe_set_nr_events(const struct probe_set *set);
