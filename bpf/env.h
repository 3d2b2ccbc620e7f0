/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the walker (bpf/walk.h) is given in the kernel: user memory and the maps. */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/maps.h"
#include "bpf/shared.h"

const volatile struct fpl_config config SEC(".rodata") = { .max_depth = 1 };

struct env;

static __always_inline int env_read_stack(struct env *env, void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr) != 0;
}

static __always_inline int env_read_code(struct env *env, void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr) != 0;
}

static __always_inline long env_loop(__u32 nr, long (*body)(__u32 idx, void *ctx), void *ctx)
{
	return bpf_loop(nr, body, ctx, 0);
}

static __always_inline const struct fpl_mapping *env_mapping(struct env *env, __u32 idx)
{
	return bpf_map_lookup_elem(&mappings, &idx);
}

static __always_inline const struct fpl_object *env_object(struct env *env, __u32 slot)
{
	return bpf_map_lookup_elem(&objects, &slot);
}

static __always_inline const __u8 *env_chunk(struct env *env, __u32 chunk_no)
{
	__u32 first = 0;
	void *inner = bpf_map_lookup_elem(&chunks, &chunk_no);
	struct fpl_chunk *chunk;

	if (!inner)
		return 0;
	chunk = bpf_map_lookup_elem(inner, &first);
	return chunk ? chunk->bytes : 0;
}
