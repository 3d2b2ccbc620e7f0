/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/turns.h"

#include "base/clock.h"

void turn_queue_init(struct turn_queue *queue)
{
	*queue = (struct turn_queue){ .last = &queue->first };
}

void turn_queue_push(struct turn_queue *queue, struct turn *turn)
{
	turn->next = NULL;
	*queue->last = turn;
	queue->last = &turn->next;
}

void turn_queue_remove(struct turn_queue *queue, struct turn *turn)
{
	struct turn **at = &queue->first;

	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
	if (queue->last == &turn->next)
		queue->last = at;
}

struct turn *turn_queue_pop(struct turn_queue *queue)
{
	struct turn *first = queue->first;

	if (first)
		turn_queue_remove(queue, first);
	return first;
}

static void fade(struct turns *turns, uint64_t now_ns)
{
	uint64_t nr = (now_ns - turns->faded_ns) / NS_PER_S;

	if (now_ns < turns->faded_ns || !nr)
		return;
	turns->faded_ns += nr * NS_PER_S;
	for (size_t i = 0; i < turns->used.nr; i++)
		turns->used.owners[i].used = nr < 64 ? turns->used.owners[i].used >> nr : 0;
}

uint64_t turns_used(struct turns *turns, uint64_t owner, uint64_t now_ns)
{
	fade(turns, now_ns);
	return share_used(&turns->used, owner);
}

static bool may_begin(const struct turns *turns, uint64_t owner, uint64_t used_ns)
{
	return !owner_is_limited(owner) || used_ns < TURNS_LIGHT_NS ||
	       !share_used(&turns->running, owner);
}

struct turn *turns_begin(struct turns *turns, struct turn_queue *queue, uint64_t now_ns)
{
	struct turn *next = NULL;
	uint64_t least = UINT64_MAX;

	for (struct turn *turn = queue->first; turn; turn = turn->next) {
		uint64_t used = turns_used(turns, turn->owner, now_ns);

		if (used < least && may_begin(turns, turn->owner, used)) {
			next = turn;
			least = used;
		}
	}
	if (!next)
		return NULL;
	turn_queue_remove(queue, next);
	share_take(&turns->running, next->owner, 1);
	return next;
}

void turns_note(struct turns *turns, uint64_t owner, uint64_t took_ns, uint64_t now_ns)
{
	fade(turns, now_ns);
	share_take(&turns->used, owner, took_ns);
}

void turns_end(struct turns *turns, uint64_t owner, uint64_t took_ns, uint64_t now_ns)
{
	turns_note(turns, owner, took_ns, now_ns);
	share_give_back(&turns->running, owner, 1);
}
