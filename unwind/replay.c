// SPDX-License-Identifier: Apache-2.0
#include "unwind/replay.h"

#include <string.h>

/* Frames of code in regions that a walk is helped with: data about each is read from a process. */
#define REPLAY_REGIONS_MAX 128u

struct env {
	const struct replay_input *input;
	uint32_t nr_regions; /* asked for */
};

/* The page of the copy that holds the byte at @off. */
static uint64_t stack_page(const struct fpl_regs *regs, uint64_t off)
{
	return (regs->stack_addr % FPL_STACK_PAGE + off) / FPL_STACK_PAGE;
}

/* Copy [off, off + size) of the stack; only [first, end) of it is at @from. */
static void copy_part(uint8_t *dst, uint64_t off, uint32_t size, const uint8_t *from,
		      uint64_t first, uint64_t end)
{
	uint64_t lo = off > first ? off : first;
	uint64_t hi = off + size < end ? off + size : end;

	if (lo < hi)
		memcpy(dst + (lo - off), from + (lo - first), hi - lo);
}

static void copy_stack(const struct replay_input *input, uint8_t *dst, uint64_t off, uint32_t size)
{
	uint64_t shared_end = (uint64_t)input->shared_off + input->shared_size;

	if (!input->shared_size) {
		memcpy(dst, input->stack + off, size);
		return;
	}
	copy_part(dst, off, size, input->stack, 0, input->shared_off);
	copy_part(dst, off, size, input->shared, input->shared_off, shared_end);
	copy_part(dst, off, size, input->stack + input->shared_off, shared_end,
		  input->regs->stack_size);
}

/* Read [addr, addr + size) if all of it is in one island, or by the caller. */
static int read_elsewhere(const struct replay_input *input, uint8_t *dst, uint32_t size,
			  uint64_t addr)
{
	for (uint32_t i = 0; i < input->hole.nr_islands; i++) {
		uint64_t off = addr - input->islands[i].addr;

		if (input->islands[i].addr && off < FPL_ISLAND_SIZE &&
		    size <= FPL_ISLAND_SIZE - off) {
			memcpy(dst, input->islands[i].bytes + off, size);
			return 0;
		}
	}
	return input->read_memory ? input->read_memory(input->arg, addr, dst, size) : -1;
}

static int env_read_stack(struct env *env, void *dst, uint32_t size, uint64_t addr)
{
	const struct fpl_regs *regs = env->input->regs;
	const struct fpl_hole *hole = &env->input->hole;
	uint64_t off = addr - regs->stack_addr;

	/* what begins before the hole ends before it */
	if (hole->size && off + size > hole->off) {
		if (off < (uint64_t)hole->off + hole->size)
			return read_elsewhere(env->input, dst, size, addr);
		off -= hole->size;
	}
	if (!size || off > regs->stack_size || size > regs->stack_size - off)
		return read_elsewhere(env->input, dst, size, addr);
	for (uint64_t page = stack_page(regs, off); page <= stack_page(regs, off + size - 1);
	     page++) {
		if (page < 32 && regs->missing >> page & 1)
			return -1;
	}
	copy_stack(env->input, dst, off, size);
	return 0;
}

static int env_read_code(struct env *env, void *dst, uint32_t size, uint64_t addr)
{
	const struct replay_input *input = env->input;

	return input->read_code ? input->read_code(input->arg, addr, dst, size) : -1;
}

/* The copy of the stack has the true return addresses already. */
static uint64_t env_trampoline(struct env *env)
{
	(void)env;
	return 0;
}

static __u64 env_return_address(struct env *env, __u64 slot, __u64 *at)
{
	(void)env;
	(void)slot;
	(void)at;
	return 0;
}

static __u64 env_returned_address(struct env *env, __u64 slot)
{
	(void)env;
	(void)slot;
	return 0;
}

static __u64 env_kernel_reg(struct env *env, __u64 slot, uint32_t idx)
{
	(void)env;
	(void)slot;
	(void)idx;
	return 0;
}

static __u64 env_program_pc(struct env *env, __u64 pc)
{
	(void)env;
	(void)pc;
	return 0;
}

static const struct fpl_mapping *env_mapping(struct env *env, uint32_t idx)
{
	return idx < env->input->nr_mappings ? &env->input->mappings[idx] : NULL;
}

static const struct fpl_object *env_object(struct env *env, uint32_t slot)
{
	return slot < env->input->nr_objects ? &env->input->objects[slot] : NULL;
}

static const uint8_t *env_chunk(struct env *env, uint32_t chunk_no)
{
	return chunk_no < env->input->nr_chunks ? env->input->chunks[chunk_no] : NULL;
}

static const struct fpl_region *env_region(struct env *env, uint32_t idx)
{
	if (!env->input->regions || env->nr_regions++ >= REPLAY_REGIONS_MAX)
		return NULL;
	return &env->input->regions[idx % FPL_REGIONS_MAX];
}

static struct fpl_script_rule *env_script_rule(struct env *env, uint32_t idx)
{
	struct fpl_script_rule *rules = env->input->script_rules;

	return rules && idx < FPL_SCRIPT_RULES_MAX && rules[idx].object ? &rules[idx] : NULL;
}

static void env_clear(void *to, uint32_t size)
{
	memset(to, 0, size);
}

/* Userspace walks without a time limit. */
static uint64_t env_now_ns(void)
{
	return 0;
}

static long env_loop(uint32_t nr, long (*body)(uint32_t idx, void *ctx), void *ctx)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (body(i, ctx))
			return i + 1;
	}
	return nr;
}

#include "bpf/script_pieces.h"
#include "bpf/v8_state.h"
#include "bpf/walk.h"

/* script_v8.h uses these members of the kernel side's memory, and in userspace an env. */
struct fpl_scratch {
	struct fpl_script_code script_code;
	struct v8_state v8;
	struct env *env;
};

#include "bpf/script_v8.h"

/* A row from code led to @pc while its mapping was unknown. Now that it is known, does no call
 * precede @pc? */
static int is_refuted(struct env *env, uint64_t pc)
{
	uint64_t call;

	return !env_read_code(env, &call, sizeof(call), pc - sizeof(call)) && !arch_is_call(call);
}

/*
 * Begin with the frames already walked, as the stopped walk had them: those behind the gap form a
 * ring that is in order. Returns FPL_FRAME_RAW if one of them is raw.
 */
static uint64_t go_on(const struct replay_input *input, struct fpl_walk *walk, __u64 *frames)
{
	uint32_t depth = input->max_depth;
	uint64_t raw = 0;
	size_t nr = 0;

	walk->max_depth = depth < FPL_DEPTH_MAX ? depth : FPL_DEPTH_MAX;
	walk->root_depth = input->root_depth < walk->max_depth ? input->root_depth : 0;
	walk->elided = 0;
	walk->credit_ns = walk->credited_ns = 0;
	for (size_t i = 0; i < input->nr_frames && nr < walk->max_depth; i++) {
		if (input->frames[i] == FPL_FRAME_GAP && walk->root_depth &&
		    i == walk->max_depth - walk->root_depth && input->elided < FPL_WALK_MAX) {
			walk->elided = input->elided;
			continue;
		}
		frames[nr++] = input->frames[i];
		raw |= input->frames[i] & FPL_FRAME_RAW;
	}
	walk->nr_frames = (uint32_t)nr;
	return raw;
}

#define REPLAY_MAPPINGS_MAX 65536u

void replay_walk(const struct replay_input *input, struct replay_result *ret)
{
	struct env env = { .input = input };
	struct fpl_walk walk;
	struct walker walker = { .walk = &walk, .frames = ret->frames, .env = &env };
	uint64_t raw = go_on(input, &walk, ret->frames);

	memcpy(walk.reg, input->regs->reg, sizeof(walk.reg));
	walk.pc = input->regs->pc;
	walk.known = input->regs->known & ARCH_ALL_REGS;
	walk.first = 0;
	walk.serial = 0;
	walk.nr = (uint32_t)(input->nr_mappings < REPLAY_MAPPINGS_MAX ? input->nr_mappings
								      : REPLAY_MAPPINGS_MAX);
	walk.exact = input->regs->exact != 0;
	/* A frame found by a frame-pointer step or a row made from code keeps its origin; the
	 * others are found here. */
	walk.origin = input->origin;
	if (walk.nr_frames &&
	    (input->regs->origin == FPL_ORIGIN_FP || input->regs->origin == FPL_ORIGIN_SYNTH))
		walk.origin = input->regs->origin;
	walk.unwind = input->unwind;
	walk.by_row = input->origin;
	walk.flags = 0;
	walk.stop = FPL_STOP_NO_CFI;
	walk.is_ring = 0;
	walk.deep = WALK_DEEP_NONE;
	if (walk.origin != FPL_ORIGIN_SYNTH || !is_refuted(&env, walk.pc))
		walk_run(&walker);
	walk_end(&walker);
	ret->nr_frames = walk.nr_frames;
	ret->elided = walk.elided;
	ret->stop = walk.stop;
	ret->open = walk.stop == FPL_STOP_NO_CFI ? walk.fp_open : WALK_OPEN_NOT;
	ret->flags = raw ? walk.flags | FPL_SAMPLE_RAW : walk.flags;
	ret->nr_script = walk.nr_script <= FPL_SCRIPT_WORDS_MAX ? (uint16_t)walk.nr_script : 0;
	memcpy(ret->script, walk.script_words, sizeof(*ret->script) * ret->nr_script);
}

size_t replay_script_read(const struct replay_input *input, const struct fpl_script_rule *rule,
			  uint64_t code, uint64_t place, struct fpl_script_code *ret)
{
	struct env env = { .input = input };
	uint64_t nr_lines;

	*ret = (struct fpl_script_code){ .header.type = FPL_RECORD_SCRIPT_CODE,
					 .code = code,
					 .content = (uint32_t)(place >> 32) };
	nr_lines = script_pieces(&env, ret, rule, code & FPL_SCRIPT_CODE_MASK & ~7ull);
	ret->nr_lines = (uint32_t)nr_lines;
	ret->header.size = (uint32_t)(sizeof(*ret) - sizeof(ret->lines) + ((nr_lines + 7) & ~7ull));
	return ret->header.size;
}

/* Read a function of V8, as replay_script_code() does. Returns 0 where none is at @code. */
static size_t read_v8(struct env *env, uint32_t rule, uint64_t code, uint64_t place,
		      struct fpl_script_code *ret)
{
	struct fpl_scratch scratch = { .env = env };

	if (v8_function(&scratch, code & FPL_SCRIPT_CODE_MASK, rule))
		return 0;
	for (uint32_t i = 0; i < V8_TURNS; i++)
		v8_copy(&scratch);
	v8_line(&scratch);
	*ret = scratch.script_code;
	ret->header.type = FPL_RECORD_SCRIPT_CODE;
	ret->header.size = offsetof(struct fpl_script_code, lines);
	ret->code = code;
	ret->content = (uint32_t)(place >> 32);
	ret->rule = rule;
	return ret->header.size;
}

size_t replay_script_code(const struct replay_input *input, uint32_t rule, uint64_t code,
			  uint64_t place, struct fpl_script_code *ret)
{
	struct env env = { .input = input };
	const struct fpl_script_rule *found = env_script_rule(&env, rule);
	size_t size;

	if (!found)
		return 0;
	if (found->is_native)
		return read_v8(&env, rule, code, place, ret);
	size = replay_script_read(input, found, code, place, ret);
	ret->rule = rule;
	return size;
}

bool replay_script_holds(const struct replay_input *input, const struct fpl_script_rule *rule,
			 uint64_t code, uint64_t place)
{
	struct env env = { .input = input };
	struct fpl_walk walk;
	uint64_t content;

	walk.script_last[0] = walk.script_last[1] = 0;
	content = script_content(&env, &walk, rule, code & FPL_SCRIPT_CODE_MASK);
	return content >> 48 == code >> 48 && (content >> 16 & UINT32_MAX) == place >> 32;
}
