/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distinct stacks of a run, with their counts: equal (source, pid, start time, comm, stop,
 * flags, user frames, kernel frames, fp frames, key) are one. Stacks are found by content and by
 * the id the kernel side gave.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/profile.h"

struct stack_store;

/* @max_bytes: of frames, entries and indexes; over it stack_store_add says -ENOSPC. */
FPL_MUST_CHECK int stack_store_create(size_t max_bytes, struct stack_store **ret);
void stack_store_destroy(struct stack_store *store);

/* Before the first stack: tell stacks apart also by what PROFILE_BY_* of @by say. */
void stack_store_separate(struct stack_store *store, unsigned by);

/*
 * Take in the stack of @sample with its frames: @user [nr_user], and @rest, kernel[nr_kernel] then
 * fp[nr_fp], then key[nr_key]. sample->count samples of it are counted; with count 0 they come
 * later, by stack_store_count under sample->id. An allocation and a waker are found by their id in
 * any case. Errors: -ENOSPC over the budget; -ENOMEM.
 */
FPL_MUST_CHECK int stack_store_add(struct stack_store *store, const struct fpl_sample *sample,
				   const uint64_t *user, const uint64_t *rest);

/* Stacks have numbers from 0, in the order of their first sight. */
#define STACK_STORE_NONE UINT32_MAX

/* The stack that the last stack_store_add that succeeded has taken in. */
uint32_t stack_store_last(const struct stack_store *store);

/* The stack with @id; STACK_STORE_NONE: not found. */
uint32_t stack_store_find(const struct stack_store *store, uint32_t id);

uint32_t stack_store_nr(const struct stack_store *store);

/* May a user frame of a stack lie in the object with this id? That a stack was taken over does not
 * change the answer. */
bool stack_store_names(const struct stack_store *store, uint32_t object);

/* Samples of the stack that were counted so far, as stack_store_look says. */
uint64_t stack_store_samples(const struct stack_store *store, uint32_t stack);
uint64_t stack_store_weight(const struct stack_store *store, uint32_t stack); /* of them */

/* Facts about a stack: its frames are borrowed until stack_store_take; counts are those so far. */
void stack_store_look(const struct stack_store *store, uint32_t stack, struct profile_stack *ret);

/*
 * Add @count samples of @weight in all to the stack with @id, whose gap stood for at most
 * @elided frames in them. Errors: -ENOENT no such id.
 */
FPL_MUST_CHECK int stack_store_count(struct stack_store *store, uint32_t id, uint64_t count,
				     uint64_t weight, uint32_t elided);

/* The counted samples of the stack with @id stand for @objects allocations, in 1 / FPL_OBJECT. An
 * id that is not known is no error. */
void stack_store_objects(struct stack_store *store, uint32_t id, uint64_t objects);

/* One of the stack's samples stands for @weight and @objects that were not freed. */
void stack_store_live(struct stack_store *store, uint32_t stack, uint64_t weight, uint64_t objects);

/* Counts under an id since the last question. */
struct stack_news {
	const uint64_t *user; /* borrowed [nr_user], leaf first */
	uint16_t nr_user;
	uint8_t stop;
	uint64_t count;
};

/* The stack with @id has @count samples by now: how many are new? Errors: -ENOENT no such id. */
FPL_MUST_CHECK int stack_store_news(struct stack_store *store, uint32_t id, uint64_t count,
				    struct stack_news *ret);

/*
 * Hand the stacks over, in no order, those never counted left out; the store is empty then.
 * Errors: -ENOMEM: nothing has changed.
 */
FPL_MUST_CHECK int stack_store_take(struct stack_store *store, struct profile_stack **ret,
				    size_t *ret_nr);

/* Drop all stacks. Cost: O(stacks), and the size of the indexes; O(1) where it is empty. */
void stack_store_clear(struct stack_store *store);

/*
 * Which place each stack, by number, would have in what stack_store_take hands over now, or
 * STACK_STORE_NONE: the caller frees it. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int stack_store_places(const struct stack_store *store, uint32_t **ret);

size_t stack_store_bytes(const struct stack_store *store);
