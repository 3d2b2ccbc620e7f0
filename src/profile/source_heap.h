/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations as a source: probes at the functions of the allocators that the targets use. */
#pragma once

#include "profile/profile.h"
#include "profile/source.h"

/* Fill in calls, frees, bpf_ns of @ret as the kernel counted them, if @source is of allocations. */
void source_heap_costs(const struct source *source, struct profile_heap *ret);
