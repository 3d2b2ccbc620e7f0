/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the chunks of the table pool, each a BPF array of 1 MiB that is mapped into this process,
 * in a thread of its own and one more than was asked for: the kernel waits for an RCU grace period
 * (10 to 20 ms) whenever a map is put into an array of maps (kernel/bpf/syscall.c,
 * maybe_wait_bpf_programs), and a table that is there should not wait for that.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct chunk_maker;

/*
 * Makes the array of maps, with room for @nr_chunks > 0, and begins with the first two: before the
 * programs are loaded, so that they are there when the first table is. Errors: those of bpf(2),
 * -ENOMEM, -EAGAIN.
 */
FPL_MUST_CHECK int chunk_maker_create(uint32_t nr_chunks, struct chunk_maker **ret,
				      struct fpl_err *err);

/* The array of maps: for bpf_map__reuse_fd(). */
int chunk_maker_fd(const struct chunk_maker *maker);

/* Unmaps all; the kernel keeps what the array of maps holds. NULL is allowed. */
void chunk_maker_destroy(struct chunk_maker *maker);

/*
 * *ret: chunk @number < nr_chunks, mapped until chunk_maker_destroy(). Waits where it, or one of a
 * lower number, is still to be made. Errors: those of bpf(2) and mmap(2); it may be tried again.
 */
FPL_MUST_CHECK int chunk_maker_get(struct chunk_maker *maker, uint32_t number, void **ret,
				   struct fpl_err *err);

/* Kernel memory of the chunks, the one made ahead included. */
uint64_t chunk_maker_bytes(struct chunk_maker *maker);
