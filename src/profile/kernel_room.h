/* SPDX-License-Identifier: Apache-2.0 */
/* Does the memory cgroup have room for the maps? Beyond its limit the kernel kills without a word.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "profile/engine.h"

struct bpf_object;

/* What the kernel takes for the maps of @object, which are sized and not made yet: about. */
uint64_t kernel_room_maps_bytes(const struct bpf_object *object);

/*
 * Hold what the maps and fpless itself need against the limit of the cgroup. Where tables as large
 * as --table-memory would not fit, that is a warning. Errors: -ENOMEM there is no room to begin
 * with; says how much is needed, allowed, and what lowers it.
 */
FPL_MUST_CHECK int kernel_room_check(const struct bpf_object *object,
				     const struct engine_options *options, struct fpl_err *err);
