/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the program of uprobes is kept from being interrupted by another task's (bpf/slot.h says
 * why): the kernel's two functions that switch preemption off and on are called where it has marks
 * for them. A build cannot name those functions: libbpf would read all of the kernel's types then
 * in every run, with uprobes or without.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct preemption {
	int32_t off_id, on_id; /* types of the kernel's functions; 0: it claims slots instead */
};

/*
 * Find out which way this kernel needs. Errors: -EOPNOTSUPP: its programs have a stack for each
 * CPU, and it lacks the functions; or its types cannot be read; -ENOMEM. Cost: reads all of the
 * kernel's types, 50 to 100 ms.
 */
FPL_MUST_CHECK int preemption_find(struct preemption *ret, struct fpl_err *err);

/* Slots of a CPU in a run with uprobes: fpl_config.nr_slots. */
uint32_t preemption_nr_slots(const struct preemption *preemption);

/* Let objects opened from here on have the calls, where preemption_find() found functions. */
FPL_MUST_CHECK int preemption_prepare(const struct preemption *preemption, struct fpl_err *err);
