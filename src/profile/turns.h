/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns among jobs that wait for the same few workers: next is the owner who has used the least of
 * their time lately. An owner with much use gets no second worker while one works for it, so that
 * another is free for all others (share.h); a job that has begun is not stopped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/share.h"

/* Below this time of late, which each second halves, an owner may have any number of workers. */
#define TURNS_LIGHT_NS 100000000ull

/* Zeroed: no use yet. Times: CLOCK_MONOTONIC. */
struct turns {
	struct share_book used;	   /* ns of late */
	struct share_book running; /* workers at hand */
	uint64_t faded_ns;
};

/* A waiting job: the first member of the job's own struct. */
struct turn {
	struct turn *next;
	uint64_t owner;
};

struct turn_queue {
	struct turn *first, **last;
};

void turn_queue_init(struct turn_queue *queue);
void turn_queue_push(struct turn_queue *queue, struct turn *turn);
/* Take @turn, which is in it, out. */
void turn_queue_remove(struct turn_queue *queue, struct turn *turn);
/* Take the first one out; NULL: the queue is empty. */
struct turn *turn_queue_pop(struct turn_queue *queue);

/* Take the next one out: of one owner the first that came. NULL: no job may begin. A worker begins
 * with it. Cost: O(waiting). */
struct turn *turns_begin(struct turns *turns, struct turn_queue *queue, uint64_t now_ns);
/* That worker, for @owner, is done at @now_ns. */
void turns_end(struct turns *turns, uint64_t owner, uint64_t took_ns, uint64_t now_ns);

/* @owner has used @took_ns without having waited for a turn. */
void turns_note(struct turns *turns, uint64_t owner, uint64_t took_ns, uint64_t now_ns);

/* Recent use by @owner, ns: with one worker all the time nearly 2 s. */
uint64_t turns_used(struct turns *turns, uint64_t owner, uint64_t now_ns);
