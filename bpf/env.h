/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walker's (bpf/walk.h) access to the world in the kernel: user memory and the maps. */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/maps.h"
#include "bpf/shared.h"
#include "bpf/uprobe.h"

const volatile struct fpl_config config SEC(".rodata") = { .max_depth = 1 };

struct env;

#define CLEAR_MAX 256u

/* Clear @size bytes at @to; @size is a constant, at most CLEAR_MAX. One instruction for the
 * verifier, not one a word. */
static __always_inline void env_clear(void *to, __u32 size)
{
	static const __u8 zeros[CLEAR_MAX];

	bpf_probe_read_kernel(to, size, zeros);
}

/* A random number below @limit, which is not 0. */
static __always_inline __u64 random_below(__u64 limit)
{
	return ((__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32()) % limit;
}

static __always_inline int env_read_stack(struct env *env, void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr) != 0;
}

static __always_inline int env_read_code(struct env *env, void *dst, __u32 size, __u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr) != 0;
}

static __always_inline __u64 env_trampoline(struct env *env)
{
	return uprobes_page();
}

static __always_inline __u64 env_return_address(struct env *env, __u64 slot, __u64 *at)
{
	return uretprobe_find(slot, at);
}

static __always_inline __u64 env_returned_address(struct env *env, __u64 slot)
{
	return uretprobe_served(slot);
}

/* Only programs of slot 0 interrupt kernel code. */
static __always_inline __u64 env_kernel_reg(struct env *env, __u64 slot, __u32 idx)
{
	__u32 key = bpf_get_smp_processor_id() * config.nr_slots;
	struct fpl_scratch *s = bpf_map_lookup_elem(&scratch, &key);

	if (!s || s->pt_regs[ARCH_PT_RSP] != slot || idx >= ARCH_PT_GENERAL ||
	    s->kernel_regs[idx] == s->pt_regs[ARCH_PT_RIP])
		return 0;
	return s->kernel_regs[idx];
}

static __always_inline __u64 env_program_pc(struct env *env, __u64 pc)
{
	return uprobe_program_pc(pc);
}

static __always_inline __u64 env_now_ns(void)
{
	return bpf_ktime_get_ns();
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

static __always_inline const struct fpl_region *env_region(struct env *env, __u32 idx)
{
	return config.flags & FPL_CONFIG_REGIONS ? bpf_map_lookup_elem(&regions, &idx) : 0;
}

static __always_inline struct fpl_script_rule *env_script_rule(struct env *env, __u32 idx)
{
	return bpf_map_lookup_elem(&script_rules, &idx);
}
