/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/array.h"
#include "base/cleanup.h"

static void batch_init(struct feed_batch *batch)
{
	*batch = (struct feed_batch){ 0 };
	batch->last_object = &batch->objects;
	batch->last_stack = &batch->stacks;
	batch->last_look = &batch->looks;
}

static void object_free(struct feed_object *object)
{
	cleanup_fd(&object->fd);
	free(object->object.path);
	free(object->object.build_id);
	free(object);
}

void feed_batch_fini(struct feed_batch *batch)
{
	for (struct feed_object *object = batch->objects, *next; object; object = next) {
		next = object->next;
		object_free(object);
	}
	for (struct feed_stack *stack = batch->stacks, *next; stack; stack = next) {
		next = stack->next;
		free(stack);
	}
	for (struct feed_look *look = batch->looks, *next; look; look = next) {
		next = look->next;
		free(look);
	}
	free(batch->retired);
	batch_init(batch);
}

int feed_init(struct feed *feed, struct fpl_err *err)
{
	batch_init(&feed->waiting);
	feed->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (feed->wake_fd < 0)
		return fpl_fail(err, -errno, "eventfd: %s", strerror(errno));
	pthread_mutex_init(&feed->lock, NULL);
	return 0;
}

void feed_fini(struct feed *feed)
{
	if (feed->wake_fd < 0)
		return;
	feed_batch_fini(&feed->waiting);
	cleanup_fd(&feed->wake_fd);
	pthread_mutex_destroy(&feed->lock);
}

static void wake(struct feed *feed)
{
	uint64_t one = 1;

	(void)!write(feed->wake_fd, &one, sizeof(one));
}

void feed_object(struct feed *feed, const struct profile_object *object, int fd)
{
	struct feed_object *added = calloc(1, sizeof(*added));

	/* its frames stay addresses then */
	if (!added)
		return;
	added->object = (struct profile_object){
		.id = object->id,
		.path = strdup(object->path),
		.build_id = strdup(object->build_id),
		.file_bias = object->file_bias,
	};
	added->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!added->object.path || !added->object.build_id || added->fd < 0) {
		object_free(added);
		return;
	}
	pthread_mutex_lock(&feed->lock);
	*feed->waiting.last_object = added;
	feed->waiting.last_object = &added->next;
	feed->waiting.nr_objects++;
	pthread_mutex_unlock(&feed->lock);
}

/* Takes the object out of those that wait. False: it does not wait. */
static bool drop_object(struct feed_batch *batch, uint32_t id)
{
	struct feed_object **at = &batch->objects, *object;

	while ((object = *at) && object->object.id != id)
		at = &object->next;
	if (!object)
		return false;
	*at = object->next;
	if (batch->last_object == &object->next)
		batch->last_object = at;
	batch->nr_objects--;
	object_free(object);
	return true;
}

void feed_retired(struct feed *feed, uint32_t id)
{
	struct feed_batch *batch = &feed->waiting;

	pthread_mutex_lock(&feed->lock);
	/* without memory it keeps its file */
	if (!(batch->nr_objects > FEED_OBJECTS_MAX && drop_object(batch, id)) &&
	    !array_reserve(&batch->retired, sizeof(*batch->retired), &batch->retired_room,
			   batch->nr_retired + 1))
		batch->retired[batch->nr_retired++] = id;
	pthread_mutex_unlock(&feed->lock);
	wake(feed);
}

void feed_stack(struct feed *feed, const struct profile_stack *stack)
{
	size_t nr = (size_t)stack->nr_user + stack->nr_kernel;
	struct feed_stack *added = malloc(sizeof(*added) + nr * sizeof(added->frames[0]));

	if (added) {
		*added = (struct feed_stack){ .stack = *stack };
		added->stack.nr_fp = 0;
		if (nr)
			memcpy(added->frames, stack->frames, nr * sizeof(added->frames[0]));
		added->stack.frames = added->frames;
	}
	pthread_mutex_lock(&feed->lock);
	if (added) {
		*feed->waiting.last_stack = added;
		feed->waiting.last_stack = &added->next;
		feed->waiting.nr_stacks++;
	} else {
		feed->waiting.broken = true;
	}
	pthread_mutex_unlock(&feed->lock);
}

/* The last look that waits goes. */
static void drop_last_look(struct feed_batch *batch)
{
	struct feed_look **at = &batch->looks;

	while ((*at)->next)
		at = &(*at)->next;
	free(*at);
	*at = NULL;
	batch->last_look = at;
	batch->nr_looks--;
}

void feed_look(struct feed *feed, const struct engine_look *look)
{
	struct feed_look *added = malloc(sizeof(*added) + look->nr_stacks * sizeof(uint64_t));

	if (!added)
		return; /* the next one says it all */
	*added = (struct feed_look){ .look = *look };
	if (look->nr_stacks)
		memcpy(added->counts, look->counts, look->nr_stacks * sizeof(added->counts[0]));
	added->look.counts = added->counts;
	pthread_mutex_lock(&feed->lock);
	if (feed->waiting.nr_looks == FEED_LOOKS_MAX)
		drop_last_look(&feed->waiting);
	*feed->waiting.last_look = added;
	feed->waiting.last_look = &added->next;
	feed->waiting.nr_looks++;
	pthread_mutex_unlock(&feed->lock);
	wake(feed);
}

void feed_close(struct feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	feed->waiting.closing = true;
	pthread_mutex_unlock(&feed->lock);
	wake(feed);
}

void feed_take(struct feed *feed, struct feed_batch *ret)
{
	uint64_t count;

	(void)!read(feed->wake_fd, &count, sizeof(count));
	pthread_mutex_lock(&feed->lock);

	struct feed_batch *waiting = &feed->waiting;

	*ret = *waiting;
	/* an empty list's end points into what was moved */
	if (!ret->objects)
		ret->last_object = &ret->objects;
	if (!ret->stacks)
		ret->last_stack = &ret->stacks;
	if (!ret->looks)
		ret->last_look = &ret->looks;
	batch_init(waiting);
	waiting->broken = ret->broken;
	waiting->closing = ret->closing;
	pthread_mutex_unlock(&feed->lock);
}
