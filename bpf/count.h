/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counting: a sample whose stack was seen before costs a lookup; a new one crosses the ring once.
 * Each sample is counted in `stacks`, sent as a record of its own, or counted as lost under a name.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/maps.h"
#include "bpf/script_code.h"
#include "bpf/walk_read.h"

__u32 last_stack_id;

/* Words behind the sample: frames of the user, of the kernel and, where both walks are wanted, of
 * the other walk; its key; script words. */
static __always_inline __u32 sample_nr_words(const struct fpl_sample *sample)
{
	return (__u32)sample->nr_user + sample->nr_kernel + sample->nr_fp + sample->nr_key +
	       sample->nr_script;
}

static __always_inline __u32 new_stack_id(void)
{
	return __sync_fetch_and_add(&last_stack_id, 1) + 1;
}

/* Three hashes of one sequence of words. */
struct stack_hash {
	const __u64 *words;
	__u64 lane[3];
};

/*
 * Each lane is a bijection of its state for a given word, and of the word for a given state; the
 * seeds are secret, so that no process can make two stacks collide on purpose.
 */
static __always_inline void hash_word(struct stack_hash *hash, __u64 word)
{
	hash->lane[0] = (hash->lane[0] ^ word) * 0x9e3779b97f4a7c15ull;
	hash->lane[0] ^= hash->lane[0] >> 32;
	hash->lane[1] = (hash->lane[1] + word) * 0xc2b2ae3d27d4eb4full;
	hash->lane[1] ^= hash->lane[1] >> 29;
	hash->lane[2] = (hash->lane[2] ^ word) * 0xd6e8feb86659fd93ull;
	hash->lane[2] ^= hash->lane[2] >> 31;
}

#define HASH_WORDS 8u /* words at a time: a call of the loop body costs as much as a few words */

static long hash_some(__u32 idx, void *arg)
{
	struct stack_hash *hash = arg;

	if (idx >= FPL_FRAMES_MAX / HASH_WORDS)
		return 1;
#pragma GCC unroll 8
	for (__u32 i = 0; i < HASH_WORDS; i++)
		hash_word(hash, hash->words[idx * HASH_WORDS + i]);
	return 0;
}

/* Hash the identity of the sample, its frames and its key, which are followed by zeros up to a
 * multiple of HASH_WORDS. */
static __always_inline void sample_hash(struct fpl_scratch *s, struct stack_hash *hash)
{
	const struct fpl_sample *sample = &s->sample;
	const __u64 *comm = (const __u64 *)sample->comm;
	__u32 nr = sample_nr_words(sample);

	hash->words = s->frames;
	for (int i = 0; i < 3; i++)
		hash->lane[i] = *(volatile __u64 *)&stack_seed[i];
	hash_word(hash, (__u64)sample->tgid << 32 | (__u32)sample->stop << 8 | sample->flags);
	hash_word(hash, (__u64)sample->nr_script << 48 | (__u64)sample->nr_user << 32 |
				(__u32)sample->nr_fp << 16 | sample->nr_kernel);
	hash_word(hash, sample->start_ns);
	hash_word(hash, comm[0]);
	hash_word(hash, comm[1]);
	if (config.flags & (FPL_CONFIG_BY_TID | FPL_CONFIG_BY_CPU))
		hash_word(hash, (__u64)(config.flags & FPL_CONFIG_BY_TID ? sample->tid : 0) << 32 |
					(config.flags & FPL_CONFIG_BY_CPU ? sample->cpu : 0));
	if (config.flags & FPL_CONFIG_BY_CGROUP)
		hash_word(hash, sample->cgroup);
	if (config.nr_sources > 1)
		hash_word(hash, sample->source);
	if (sample->flags & FPL_SAMPLE_RAW) {
		hash_word(hash, sample->gen);
		hash_word(hash, sample->version);
	}
	bpf_loop((nr + HASH_WORDS - 1) / HASH_WORDS, hash_some, hash, 0);
}

/* Zero what the hash reads behind the last word. */
static __always_inline void frames_pad(struct fpl_scratch *s)
{
	__u32 nr = sample_nr_words(&s->sample);

	for (__u32 i = 0; i < HASH_WORDS; i++) {
		__u32 idx = nr + i;

		if (idx < FPL_FRAMES_MAX)
			s->frames[idx] = 0;
	}
}

static __always_inline __u64 ring_wakeup(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config.wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Send the sample with its frames. Returns 0, or non-zero where the ring is full. */
static __always_inline long sample_send(struct fpl_scratch *s, __u32 count)
{
	__u32 nr = sample_nr_words(&s->sample);

	if (nr > FPL_FRAMES_MAX)
		nr = FPL_FRAMES_MAX;

	__u32 size = sizeof(s->sample) + nr * 8;

	s->sample.header.type = FPL_RECORD_STACK;
	s->sample.header.size = size;
	s->sample.count = count;
	return bpf_ringbuf_output(&ring, &s->sample, size, ring_wakeup());
}

/*
 * Are @size bytes free in the ring beside a reserve of one part in @spared? The reserve is for
 * records without a substitute: a new stack or the end of a process is lost when the ring is full,
 * but a sample can be counted without its snapshot or its time.
 */
static __always_inline int ring_has_room(__u32 size, __u32 spared)
{
	__u64 ring_size = bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) + size <= ring_size - ring_size / spared;
}

/* Send the time of a sample of the thread @tid that has just been counted in the stack with @id. */
static __always_inline void event_send(__u64 time_ns, __u64 weight, __u32 tid, __u32 id,
				       struct fpl_counters *counted)
{
	struct fpl_event *event = 0;

	if (!(config.flags & FPL_CONFIG_TIMELINE))
		return;
	if (ring_has_room(sizeof(*event), 8)) /* small: it may go further than a snapshot */
		event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		counted->events_lost++;
		return;
	}
	event->header.type = FPL_RECORD_EVENT;
	event->header.size = sizeof(*event);
	event->header.time_ns = time_ns;
	event->id = id;
	event->weight = weight;
	event->tid = tid;
	event->cpu = bpf_get_smp_processor_id();
	event->_pad = 0;
	bpf_ringbuf_submit(event, ring_wakeup());
}

/* Results of stack_find(). */
enum stack_place {
	STACK_THERE, /* the slot is the stack's */
	STACK_FREE,  /* it is not there; the slot is free, or was a moment ago */
	STACK_TAKEN, /* another stack has its hash, or its slot is being filled */
	STACK_FULL,  /* it is not there, and its group is full */
};

/* @ret_at: the place of *ret in `stacks`, counted by slots. */
static __always_inline enum stack_place stack_find(const struct stack_hash *hash, __u32 nr,
						   struct fpl_stack **ret, __u32 *ret_at)
{
	__u32 at = (hash->lane[0] >> 32) & (config.nr_stack_groups - 1);
	struct fpl_stack_group *group = bpf_map_lookup_elem(&stacks, &at);

	if (!group)
		return STACK_FULL;
	for (__u32 i = 0; i < FPL_STACKS_IN_GROUP; i++) {
		__u32 idx = ((__u32)hash->lane[0] + i) & (FPL_STACKS_IN_GROUP - 1);
		struct fpl_stack *stack = &group->stacks[idx];
		__u32 id = *(volatile __u32 *)&stack->id;

		*ret = stack;
		*ret_at = at * FPL_STACKS_IN_GROUP + idx;
		if (!id)
			return STACK_FREE;
		if (id == FPL_STACK_CLAIMED)
			return STACK_TAKEN;
		if (stack->hash[0] == hash->lane[0] && stack->hash[1] == hash->lane[1])
			return stack->check == hash->lane[2] && stack->nr_frames == nr
				       ? STACK_THERE
				       : STACK_TAKEN;
	}
	return STACK_FULL;
}

/* Add the square of a sample's weight to the stack's, a part at a time: neither overflows, but for
 * weights from 2^48 on, which count as that. */
static __always_inline void squares_add(struct fpl_stack *stack, __u64 weight)
{
	__u64 high = 0;
	__u32 low = 0;

	if (weight >> 32) {
		weight = weight >> 48 ? 0xffffffff : weight >> 16;
		high = weight * weight;
	} else {
		high = weight * weight >> 32;
		low = (__u32)(weight * weight);
	}
	if (low && (__u32)(__sync_fetch_and_add(&stack->squares_low, low) + low) < low)
		high++;
	if (high)
		__sync_fetch_and_add(&stack->squares_high, high);
}

/* Enter the stack into a slot that was free, with @count samples. Returns 0 where another CPU was
 * first. */
static __always_inline int stack_enter(struct fpl_stack *stack, const struct stack_hash *hash,
				       __u32 nr, const struct fpl_sample *sample, __u32 count)
{
	if (__sync_val_compare_and_swap(&stack->id, 0, FPL_STACK_CLAIMED))
		return 0;
	stack->hash[0] = hash->lane[0];
	stack->hash[1] = hash->lane[1];
	stack->check = hash->lane[2];
	stack->count = count;
	stack->weight = sample->weight;
	if (config.flags & FPL_CONFIG_SQUARES)
		squares_add(stack, sample->weight);
	else
		stack->objects = sample->objects;
	stack->nr_frames = nr;
	stack->elided = sample->elided;
	/* visible last, with all of the above */
	__sync_val_compare_and_swap(&stack->id, FPL_STACK_CLAIMED, sample->id);
	return 1;
}

/* Add a sample to a stack that is there. */
static __always_inline void stack_add(struct fpl_stack *stack, __u64 weight)
{
	__sync_fetch_and_add(&stack->count, 1);
	__sync_fetch_and_add(&stack->weight, weight);
	if (config.flags & FPL_CONFIG_SQUARES)
		squares_add(stack, weight);
}

/* Find the stack of the sample, which has @nr words. */
static __always_inline enum stack_place sample_find(struct fpl_scratch *s, __u32 nr,
						    struct stack_hash *hash, struct fpl_stack **ret,
						    __u32 *ret_at)
{
	if (s->sample.nr_script)
		script_words_append(s, nr - s->sample.nr_script);
	frames_pad(s);
	sample_hash(s, hash);
	return stack_find(hash, nr, ret, ret_at);
}

/*
 * Count the sample; returns 0. The record is sent before the stack is entered, so no count is ever
 * without its frames. Another CPU may enter the stack first: then this record's id is in no slot,
 * and the record counts nothing.
 */
WALK_GLOBAL int sample_count(struct fpl_scratch *s, struct fpl_counters *counted)
{
	struct fpl_stack *stack = 0;
	struct stack_hash hash;
	enum stack_place place;
	__u32 at;

	if (!s || !counted)
		return 0;

	__u32 nr = sample_nr_words(&s->sample);

	place = sample_find(s, nr, &hash, &stack, &at);
	if (place == STACK_THERE && stack) {
		stack_add(stack, s->sample.weight);
		if (!(config.flags & FPL_CONFIG_SQUARES) && s->sample.objects)
			__sync_fetch_and_add(&stack->objects, s->sample.objects);
		/* two CPUs that race here may store the smaller number: harmless */
		if (s->sample.elided > stack->elided)
			stack->elided = s->sample.elided;
		s->counted_id = stack->id;
		event_send(s->sample.header.time_ns, s->sample.weight, s->sample.tid, stack->id,
			   counted);
		return 0;
	}
	if (s->sample.nr_script)
		script_codes_send(s);
	s->sample.id = new_stack_id();
	if (place == STACK_FREE && stack) {
		if (sample_send(s, 0)) {
			counted->lost[FPL_LOST_RING_FULL]++;
			return 0;
		}
		if (stack_enter(stack, &hash, nr, &s->sample, 1)) {
			s->counted_id = s->sample.id;
			event_send(s->sample.header.time_ns, s->sample.weight, s->sample.tid,
				   s->sample.id, counted);
			return 0;
		}
		s->sample.id = new_stack_id();
	}
	if (sample_send(s, 1))
		counted->lost[place == STACK_FULL ? FPL_LOST_STACK_MAP_FULL : FPL_LOST_RING_FULL]++;
	else
		s->counted_id = s->sample.id;
	return 0;
}

/* A slot of `stacks` for the stack whose record has just been sent with @id. Returns a kept place.
 */
static __noinline __u32 stack_reserve(const struct fpl_sample *sample, __u32 id)
{
	struct fpl_stack *stack = 0;
	struct stack_hash hash;
	__u32 at = 0;

	for (int i = 0; i < 3; i++)
		hash.lane[i] = *(volatile __u64 *)&stack_seed[i];
	hash_word(&hash, id); /* no other stack is to have it */
	if (stack_find(&hash, 0, &stack, &at) != STACK_FREE || !stack ||
	    __sync_val_compare_and_swap(&stack->id, 0, FPL_STACK_CLAIMED))
		return FPL_KEPT_FULL;
	stack->hash[0] = hash.lane[0];
	stack->hash[1] = hash.lane[1];
	stack->check = hash.lane[2];
	stack->elided = sample->elided;
	__sync_val_compare_and_swap(&stack->id, FPL_STACK_CLAIMED, id);
	return at + 1;
}

/*
 * Keep the stack of the sample, whose wait has just begun, in `stacks` without counting it: it has
 * no weight yet. Returns its place, FPL_KEPT_*: that of the same stack, where it is there.
 */
WALK_GLOBAL int sample_keep(struct fpl_scratch *s)
{
	struct fpl_stack *stack = 0;
	struct stack_hash hash;
	enum stack_place place;
	__u32 at = 0;

	if (!s)
		return 0;

	__u32 nr = sample_nr_words(&s->sample);

	place = sample_find(s, nr, &hash, &stack, &at);
	if (place == STACK_THERE)
		return (int)at + 1;
	if (s->sample.nr_script)
		script_codes_send(s);
	s->sample.id = new_stack_id();
	if (sample_send(s, 0))
		return (int)FPL_KEPT_FULL;
	if (place == STACK_FREE && stack && stack_enter(stack, &hash, nr, &s->sample, 0))
		return (int)at + 1;
	return (int)stack_reserve(&s->sample, s->sample.id);
}
