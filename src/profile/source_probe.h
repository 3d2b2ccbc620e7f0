/* SPDX-License-Identifier: Apache-2.0 */
/* Probes in the kernel for other sources. */
#pragma once

/*
 * An event that has a function of the kernel call a program at its entry, on every CPU; @cpu: one
 * that is online. Returns its descriptor, which the caller owns. Errors: -ENOENT there is no such
 * function, or this kernel has no such probes; others of perf_event_open.
 */
int source_probe_open_function(const char *name, int cpu);
