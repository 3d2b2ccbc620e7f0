/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on functions of the test itself, and sums of what the programs have counted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fpless_bpf;

/* A probe on @function of this program, at its entry or its return; a descriptor, or -1 where the
 * kernel has none. */
int uprobe_rig_open(const void *function, bool at_return);

/* A link. */
int uprobe_rig_attach(int program, int event, uint64_t cookie);

struct uprobe_sums {
	uint64_t count, weight, objects;
};

/* The entries of `stacks`. */
struct uprobe_sums uprobe_rig_stacks(const struct fpless_bpf *skel);

/* ring_buffer_sample_fn: adds records that count themselves to the struct uprobe_sums @ctx. */
int uprobe_rig_add_record(void *ctx, void *data, size_t size);
