/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for the walker: one object with a table made of given rows, mappings, and memory
 * in pieces, of which anything between is not resident. Includes bpf/walk.h with an env of its own.
 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/arch_x86_64.h"
#include "bpf/shared_region.h"
#include "bpf/shared_script.h"

#define WORLD_ID    7u		      /* object id */
#define WORLD_SLOT  1u		      /* in objects */
#define WORLD_BIAS  0x550000000000ull /* of the object's mappings */
#define WORLD_ENTRY 0xf000u	      /* e_entry: no row covers it */
#define WORLD_TEXT  0x10000u	      /* bytes of text, from vaddr 0 */

/* Offsets in the image. */
#define WORLD_RULES 0x10000u
#define WORLD_DIR   0x100u
#define WORLD_PAGE  0x1000u

struct world_memory {
	uint64_t addr;
	uint64_t size;
	const void *bytes; /* borrowed */
};

struct env {
	uint8_t *chunk; /* owned: FPL_CHUNK_SIZE bytes, the image of the object */
	uint32_t nr_rows, nr_slots;
	struct fpl_object objects[4];
	struct fpl_mapping mappings[8];
	uint32_t nr_mappings;
	const struct fpl_mapping *many; /* borrowed, in their place: [nr_mappings]; NULL: none */
	struct world_memory memory[8];
	uint32_t nr_memory;
	uint32_t nr_reads; /* of memory, failed ones included */
	uint32_t chunk_missing;

	/* return probes: where functions under one return to (0: nowhere), and the pending calls */
	uint64_t trampoline;
	struct world_call {
		uint64_t slot, ra;
	} calls[4], returned;
	uint32_t nr_calls;
	uint64_t kernel_slot, kernel_regs[ARCH_PT_GENERAL];
	uint32_t nr_trampoline_asked;
	struct fpl_script_rule script_rules[2]; /* 1: of the object, if it says so */
	struct fpl_region region;		/* of slot 1 */
	uint64_t moved_from, moved_to;		/* an instruction, and where it is executed */
};

static inline int env_read(struct env *env, void *dst, uint32_t size, uint64_t addr)
{
	env->nr_reads++;
	for (uint32_t i = 0; i < env->nr_memory; i++) {
		const struct world_memory *memory = &env->memory[i];
		uint64_t off = addr - memory->addr;

		if (off <= memory->size && size <= memory->size - off) {
			memcpy(dst, (const uint8_t *)memory->bytes + off, size);
			return 0;
		}
	}
	return -1;
}

static inline int env_read_stack(struct env *env, void *dst, uint32_t size, uint64_t addr)
{
	return env_read(env, dst, size, addr);
}

/* Tests move it. */
static uint64_t world_now_ns;

static inline uint64_t env_now_ns(void)
{
	return world_now_ns;
}

static inline int env_read_code(struct env *env, void *dst, uint32_t size, uint64_t addr)
{
	return env_read(env, dst, size, addr);
}

static inline const struct fpl_mapping *env_mapping(struct env *env, uint32_t idx)
{
	return idx < env->nr_mappings ? &(env->many ? env->many : env->mappings)[idx] : NULL;
}

static inline const struct fpl_object *env_object(struct env *env, uint32_t slot)
{
	return slot < 4 ? &env->objects[slot] : NULL;
}

static inline const uint8_t *env_chunk(struct env *env, uint32_t chunk_no)
{
	return chunk_no == 0 && !env->chunk_missing ? env->chunk : NULL;
}

static inline struct fpl_script_rule *env_script_rule(struct env *env, uint32_t idx)
{
	return idx == 1 ? &env->script_rules[1] : NULL;
}

static inline const struct fpl_region *env_region(struct env *env, uint32_t idx)
{
	return idx == 1 ? &env->region : NULL;
}

static inline uint64_t env_trampoline(struct env *env)
{
	env->nr_trampoline_asked++;
	return env->trampoline;
}

static inline __u64 env_returned_address(struct env *env, __u64 slot)
{
	return slot == env->returned.slot ? env->returned.ra : 0;
}

static inline __u64 env_kernel_reg(struct env *env, __u64 slot, uint32_t idx)
{
	return slot == env->kernel_slot && idx < ARCH_PT_GENERAL ? env->kernel_regs[idx] : 0;
}

static inline __u64 env_program_pc(struct env *env, __u64 pc)
{
	uint64_t off = pc - env->moved_to;

	return off < 16 ? env->moved_from + off : 0;
}

/* *@at is one more than the place of the call found last. */
static inline __u64 env_return_address(struct env *env, __u64 slot, __u64 *at)
{
	for (uint32_t i = 0; i < env->nr_calls; i++) {
		uint32_t idx = (uint32_t)(*at + i) % env->nr_calls;

		if (env->calls[idx].slot == slot) {
			*at = idx + 1;
			return env->calls[idx].ra;
		}
	}
	return 0;
}

static inline long env_loop(uint32_t nr, long (*body)(uint32_t idx, void *ctx), void *ctx)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (body(i, ctx))
			return i + 1;
	}
	return nr;
}

#include "bpf/walk.h"

/* Add a row: from @vaddr on @rule is in force, with @nr_ext extended rules behind it. In order. */
static inline void world_row(struct env *world, uint32_t vaddr, const struct fpl_rule *rule,
			     const struct fpl_ext *ext, uint32_t nr_ext)
{
	uint16_t *first = (uint16_t *)(world->chunk + WORLD_PAGE);
	uint32_t *rows = (uint32_t *)(world->chunk + WORLD_PAGE + FPL_PAGE_FIRST_BYTES);
	uint8_t *slot = world->chunk + WORLD_RULES + world->nr_slots * sizeof(*rule);

	memcpy(slot, rule, sizeof(*rule));
	if (nr_ext)
		memcpy(slot + sizeof(*rule), ext, nr_ext * sizeof(*ext));
	rows[world->nr_rows++] = (vaddr & 255) | world->nr_slots << 16;
	for (uint32_t span = (vaddr >> 8) + 1; span <= FPL_NR_SPANS; span++)
		first[span] = (uint16_t)world->nr_rows;
	world->nr_slots += 1 + (nr_ext + 1) / 2;
}

static inline void world_memory(struct env *world, uint64_t addr, const void *bytes, uint64_t size)
{
	assert(world->nr_memory < 8);
	world->memory[world->nr_memory++] = (struct world_memory){ addr, size, bytes };
}

/* Sorted by address, the order of calls. */
static inline void world_mapping(struct env *world, uint64_t start, uint64_t end, uint32_t slot,
				 uint16_t flags)
{
	assert(world->nr_mappings < 8);
	world->mappings[world->nr_mappings++] = (struct fpl_mapping){
		.start = start,
		.end = end,
		.bias = slot ? WORLD_BIAS : 0,
		.object = slot ? WORLD_ID : 0,
		.slot = (uint16_t)slot,
		.flags = flags,
	};
}

/* A world with the object mapped at WORLD_BIAS, without a row yet: `no CFI` from vaddr 0 on. */
static inline void world_init(struct env *world)
{
	static const struct fpl_rule none = { .cfa = FPL_CFA_NONE };

	memset(world, 0, sizeof(*world));
	world->chunk = calloc(1, FPL_CHUNK_SIZE);
	assert(world->chunk);
	*(struct fpl_page *)(world->chunk + WORLD_DIR) = (struct fpl_page){ .off = WORLD_PAGE };
	world_row(world, 0, &none, NULL, 0);
	world->objects[WORLD_SLOT] = (struct fpl_object){
		.object = WORLD_ID,
		.images = { { .state = FPL_TABLE_READY,
			      .rules_off = WORLD_RULES,
			      .dir_off = WORLD_DIR } },
		.nr_pages = 1,
		.entry_vaddr = WORLD_ENTRY,
	};
	world_mapping(world, WORLD_BIAS, WORLD_BIAS + WORLD_TEXT, WORLD_SLOT, FPL_MAPPING_MAIN);
}

static inline void world_fini(struct env *world)
{
	free(world->chunk);
	world->chunk = NULL;
}
