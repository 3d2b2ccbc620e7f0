/* SPDX-License-Identifier: Apache-2.0 */
/* The perf events that have the kernel call a program at a place in programs, or in itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "profile/engine.h"
#include "source/probe_word.h"

/* A breakpoint's cost; that of a return is one more. Measured with a program that does nothing. */
#define PROBE_HIT_NS	    600u
#define PROBE_RETURN_HIT_NS 900u

/* Places of a run's source; beyond them a place has one event for all processes, not one for each.
 */
#define PROBE_EVENTS_MAX 1024u

/* The kernel's own description of such events. */
struct probe_device {
	uint32_t type;
	unsigned int return_bit, counter_shift; /* in config; counter_shift 0: it takes none */
};

/* Errors: -EOPNOTSUPP this kernel has no such events. */
FPL_MUST_CHECK int probe_device_read(enum probe_kind kind, struct probe_device *ret,
				     struct fpl_err *err);

struct probe_place {
	enum probe_kind kind;
	int file_fd;	      /* borrowed: of a program */
	const char *function; /* of the kernel */
	uint64_t off;	      /* in either */
	uint64_t ref_ctr_off; /* as in struct probe_site */
};

/*
 * Returns the event's descriptor. @pid: in this process only; -1: in all, when @cpu is any. Errors:
 * those of perf_event_open(2).
 */
FPL_MUST_CHECK int probe_event_open(const struct probe_device *device,
				    const struct probe_place *place, pid_t pid, int cpu);

/* Can the kernel count in the program who listens at the probe, as it asks for (ref_ctr_off)?
 * Errors: -EOPNOTSUPP. @name: of the source. */
FPL_MUST_CHECK int probe_event_check_counter(const struct probe_device *device,
					     uint64_t ref_ctr_off, const char *name,
					     struct fpl_err *err);

/* Say that the right to set a probe is missing; @name: of the source. Returns the error. */
int probe_event_fail_rights(const char *name, struct fpl_err *err);

/* Can @nr places in programs be probed in the processes of -p alone, so that no other pays? */
bool probe_event_is_of_processes(const struct engine_options *options, size_t nr);
