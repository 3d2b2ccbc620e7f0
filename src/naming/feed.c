/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "profile/jvm_codes.h"
#include "profile/script_codes.h"

static void batch_init(struct feed_batch *batch)
{
	*batch = (struct feed_batch){ .broken = false };
	batch->last_object = &batch->objects;
	batch->last_stack = &batch->stacks;
	batch->last_look = &batch->looks;
	batch->last_window = &batch->windows;
}

static void object_free(struct feed_object *object)
{
	profile_object_fini(&object->object);
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
	for (struct feed_window *window = batch->windows, *next; window; window = next) {
		next = window->next;
		profile_fini(&window->profile);
		free(window);
	}
	free(batch->retired);
	batch_init(batch);
}

static void wake(struct feed *feed)
{
	uint64_t one = 1;

	(void)!write(feed->wake_fd, &one, sizeof(one));
}

/* A copy with a descriptor of its own; NULL: without memory, or one. */
static struct feed_object *copy_object(const struct profile_object *object)
{
	struct feed_object *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	copy->object = (struct profile_object){
		.id = object->id,
		.path = strdup(object->path),
		.build_id = strdup(object->build_id),
		.file_bias = object->file_bias,
		.file = malloc(sizeof(*object->file)),
	};
	if (copy->object.file) {
		*copy->object.file = *object->file;
		copy->object.file->fd = fcntl(object->file->fd, F_DUPFD_CLOEXEC, 0);
	}
	if (copy->object.path && copy->object.build_id && copy->object.file &&
	    copy->object.file->fd >= 0)
		return copy;
	object_free(copy);
	return NULL;
}

/* engine_listener.object */
static void take_object(void *ctx, const struct profile_object *object)
{
	struct feed *feed = ctx;
	struct feed_object *added = copy_object(object);

	/* its frames stay addresses then */
	if (!added)
		return;
	pthread_mutex_lock(&feed->lock);
	added->order = feed->order++;
	*feed->waiting.last_object = added;
	feed->waiting.last_object = &added->next;
	feed->waiting.nr_objects++;
	pthread_mutex_unlock(&feed->lock);
}

/* engine_listener.script_codes: before there is a thread */
static void take_script_codes(void *ctx, struct script_codes *codes)
{
	struct feed *feed = ctx;

	feed->script_codes = script_codes_get(codes);
}

/* engine_listener.jvm_codes: likewise */
static void take_jvm_codes(void *ctx, struct jvm_codes *codes)
{
	struct feed *feed = ctx;

	feed->jvm_codes = jvm_codes_get(codes);
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

/* engine_listener.retired */
static void take_retired(void *ctx, uint32_t id)
{
	struct feed *feed = ctx;
	struct feed_batch *batch = &feed->waiting;

	pthread_mutex_lock(&feed->lock);
	/* without memory it keeps its file */
	if (!(batch->nr_objects > FEED_OBJECTS_MAX && drop_object(batch, id)) &&
	    !array_reserve(&batch->retired, sizeof(*batch->retired), &batch->retired_room,
			   batch->nr_retired + 1))
		batch->retired[batch->nr_retired++] = (struct feed_retired){ feed->order++, id };
	pthread_mutex_unlock(&feed->lock);
	wake(feed);
}

/* A copy without what is for compare alone; NULL without memory. */
static struct feed_stack *copy_stack(const struct profile_stack *stack)
{
	size_t nr_walked = (size_t)stack->nr_user + stack->nr_kernel;
	size_t nr = nr_walked + stack->nr_key;
	struct feed_stack *copy = malloc(sizeof(*copy) + nr * sizeof(copy->frames[0]));

	if (!copy)
		return NULL;
	*copy = (struct feed_stack){ .stack = *stack };
	copy->stack.nr_fp = 0;
	if (nr_walked)
		memcpy(copy->frames, stack->frames, nr_walked * sizeof(copy->frames[0]));
	if (stack->nr_key)
		memcpy(copy->frames + nr_walked, stack->frames + nr_walked + stack->nr_fp,
		       stack->nr_key * sizeof(copy->frames[0]));
	copy->stack.frames = copy->frames;
	return copy;
}

static void append(struct feed *feed, struct feed_stack *stack)
{
	*feed->waiting.last_stack = stack;
	feed->waiting.last_stack = &stack->next;
	feed->waiting.nr_stacks++;
}

size_t feed_stack_bytes(const struct feed_stack *stack)
{
	size_t nr = (size_t)stack->stack.nr_user + stack->stack.nr_kernel;

	return sizeof(*stack) + nr * sizeof(stack->frames[0]) + 16;
}

/* engine_listener.sample */
static void take_sample(void *ctx, uint64_t unix_ns, const struct profile_stack *stack)
{
	struct feed *feed = ctx;
	struct feed_stack *added = copy_stack(stack);
	size_t bytes = added ? feed_stack_bytes(added) : 0;

	pthread_mutex_lock(&feed->lock);
	if (added && !feed->is_given_up && feed->held_bytes + bytes <= feed->options.samples_max) {
		added->unix_ns = unix_ns;
		added->seq = feed->seq++;
		feed->held_bytes += bytes;
		append(feed, TAKE_PTR(added));
	} else {
		feed->nr_dropped++;
	}
	pthread_mutex_unlock(&feed->lock);
	free(added);
}

/* engine_listener.stack */
static void take_stack(void *ctx, const struct profile_stack *stack)
{
	struct feed *feed = ctx;
	struct feed_stack *added = copy_stack(stack);

	pthread_mutex_lock(&feed->lock);
	if (added)
		append(feed, added);
	else
		feed->waiting.broken = true;
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

/* engine_listener.look */
static void take_look(void *ctx, const struct engine_look *look)
{
	struct feed *feed = ctx;
	size_t size = look->nr_stacks * sizeof(uint64_t);
	struct feed_look *added = malloc(sizeof(*added) + (look->weights ? 2 : 1) * size);

	if (!added)
		return; /* the next one says it all */
	*added = (struct feed_look){ .look = *look };
	added->look.counts = added->numbers;
	if (size)
		memcpy(added->numbers, look->counts, size);
	if (look->weights) {
		added->look.weights = added->numbers + look->nr_stacks;
		memcpy(added->numbers + look->nr_stacks, look->weights, size);
	}
	pthread_mutex_lock(&feed->lock);
	if (feed->waiting.nr_looks == FEED_LOOKS_MAX)
		drop_last_look(&feed->waiting);
	*feed->waiting.last_look = added;
	feed->waiting.last_look = &added->next;
	feed->waiting.nr_looks++;
	pthread_mutex_unlock(&feed->lock);
	wake(feed);
}

/* engine_listener.window */
static void take_window(void *ctx, struct profile *profile)
{
	struct feed *feed = ctx;
	struct feed_window *added = malloc(sizeof(*added));
	uint64_t number = profile->window.number;
	bool is_kept;

	pthread_mutex_lock(&feed->lock);
	is_kept = added && feed->waiting.nr_windows < FEED_WINDOWS_MAX;
	if (is_kept) {
		*added = (struct feed_window){ .profile = *profile, .order = feed->order++ };
		*profile = (struct profile){ 0 };
		*feed->waiting.last_window = added;
		feed->waiting.last_window = &added->next;
		feed->waiting.nr_windows++;
		added = NULL;
	} else {
		feed->nr_windows_dropped++;
	}
	pthread_mutex_unlock(&feed->lock);
	free(added);
	if (!is_kept)
		fpl_log(FPL_LOG_WARN,
			"window %llu is dropped: writing the ones before is not done yet",
			(unsigned long long)number);
	profile_fini(profile);
	wake(feed);
}

void feed_pop_object(struct feed_batch *batch, struct profile_object *ret)
{
	struct feed_object *first = batch->objects;

	batch->objects = first->next;
	batch->nr_objects--;
	*ret = first->object;
	free(first);
}

bool feed_pop_window(struct feed_batch *batch, struct profile *ret, size_t *ret_order)
{
	struct feed_window *first = batch->windows;

	if (!first)
		return false;
	batch->windows = first->next;
	batch->nr_windows--;
	*ret = first->profile;
	*ret_order = first->order;
	free(first);
	return true;
}

static void *thread_main(void *ctx)
{
	struct feed *feed = ctx;

	/* the run's thread comes first */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	feed->options.main(feed->options.ctx);
	return NULL;
}

/* engine_listener.pause: the thread begins with the first one, when the run has given up rights. */
static void take_pause(void *ctx)
{
	struct feed *feed = ctx;
	bool has_samples;

	if (!feed->has_thread)
		feed->has_thread = pthread_create(&feed->thread, NULL, thread_main, feed) == 0;
	pthread_mutex_lock(&feed->lock);
	has_samples = feed->options.samples_max && feed->waiting.stacks;
	pthread_mutex_unlock(&feed->lock);
	if (has_samples)
		wake(feed);
}

int feed_init(struct feed *ret, const struct feed_options *options, struct fpl_err *err)
{
	bool has_samples = options->samples_max, has_windows = options->windows;

	*ret = (struct feed){
		.options = *options,
		.listener = { .object = take_object,
			      .retired = take_retired,
			      .sample = has_samples ? take_sample : NULL,
			      .stack = has_samples || has_windows ? NULL : take_stack,
			      .look = has_samples || has_windows ? NULL : take_look,
			      .script_codes = has_windows ? NULL : take_script_codes,
			      .jvm_codes = has_windows ? NULL : take_jvm_codes,
			      .window = has_windows ? take_window : NULL,
			      .look_ms = options->look_ms,
			      .looks = options->looks,
			      .pause = take_pause,
			      .ctx = ret,
			      .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) },
		.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	atomic_init(&ret->closing, false);
	pthread_mutex_init(&ret->lock, NULL);
	batch_init(&ret->waiting);
	if (ret->wake_fd < 0 || ret->listener.stop_fd < 0)
		return fpl_fail(err, -errno, "eventfd: %s", strerror(errno));
	return 0;
}

void feed_fini(struct feed *feed)
{
	if (!feed->listener.ctx)
		return;
	feed_batch_fini(&feed->waiting);
	script_codes_put(feed->script_codes);
	jvm_codes_put(feed->jvm_codes);
	cleanup_fd(&feed->wake_fd);
	cleanup_fd(&feed->listener.stop_fd);
	pthread_mutex_destroy(&feed->lock);
}

bool feed_is_closing(void *feed)
{
	return atomic_load(&((struct feed *)feed)->closing);
}

void feed_finish(struct feed *feed)
{
	atomic_store(&feed->closing, true);
	wake(feed);
	if (feed->has_thread)
		pthread_join(feed->thread, NULL);
	feed->has_thread = false;
}

void feed_give_up(struct feed *feed)
{
	uint64_t one = 1;

	pthread_mutex_lock(&feed->lock);
	feed->is_given_up = true;
	pthread_mutex_unlock(&feed->lock);
	(void)!write(feed->listener.stop_fd, &one, sizeof(one));
}

void feed_take(struct feed *feed, struct feed_batch *ret)
{
	struct feed_batch *waiting = &feed->waiting;
	/* what came before that is in this batch */
	bool closing = feed_is_closing(feed);
	uint64_t count;

	(void)!read(feed->wake_fd, &count, sizeof(count));
	pthread_mutex_lock(&feed->lock);
	*ret = *waiting;
	/* an empty list's end points into what was moved */
	if (!ret->objects)
		ret->last_object = &ret->objects;
	if (!ret->stacks)
		ret->last_stack = &ret->stacks;
	if (!ret->looks)
		ret->last_look = &ret->looks;
	if (!ret->windows)
		ret->last_window = &ret->windows;
	batch_init(waiting);
	waiting->broken = ret->broken;
	pthread_mutex_unlock(&feed->lock);
	ret->closing = closing;
	ret->script_codes = feed->script_codes;
	ret->jvm_codes = feed->jvm_codes;
}

void feed_await(struct feed *feed, struct feed_batch *ret)
{
	struct pollfd wait = { .fd = feed->wake_fd, .events = POLLIN };

	(void)!poll(&wait, 1, feed_is_closing(feed) ? 0 : -1);
	feed_take(feed, ret);
}

void feed_release(struct feed *feed, size_t bytes)
{
	pthread_mutex_lock(&feed->lock);
	feed->held_bytes -= bytes;
	pthread_mutex_unlock(&feed->lock);
}
