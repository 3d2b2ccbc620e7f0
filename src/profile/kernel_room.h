/* SPDX-License-Identifier: Apache-2.0 */
/* Does the memory cgroup have room for the maps? Beyond its limit the kernel kills without a word.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "profile/engine.h"

struct bpf_object;

/* Approximate kernel memory for the maps of @object, which are sized and not made yet. */
uint64_t kernel_room_maps_bytes(const struct bpf_object *object);

/*
 * Compare the needs of the maps and of fpless itself with the cgroup's limit. If tables as large as
 * --table-memory would not fit, warn. Errors: -ENOMEM too little room to begin with; the message
 * has the memory needed, the limit, and options that lower the need.
 */
FPL_MUST_CHECK int kernel_room_check(const struct bpf_object *object,
				     const struct engine_options *options, struct fpl_err *err);
