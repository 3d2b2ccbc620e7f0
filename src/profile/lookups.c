/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/lookups.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"

struct lookups {
	struct finder *finder;	       /* borrowed: of the thread */
	struct code_names *code_names; /* borrowed: of the thread; may be NULL */
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct turn_queue todo, done;
	struct turns turns;
	bool stop;
	int event_fd;
	size_t nr_open; /* of the asking thread alone */
};

/* Returns NULL for NULL. */
static struct lookup *lookup_of(struct turn *turn)
{
	return (struct lookup *)turn;
}

void lookup_free(struct lookup *lookup)
{
	if (!lookup)
		return;
	switch (lookup->kind) {
	case LOOKUP_FILE:
		free(lookup->file.path);
		break;
	case LOOKUP_PROCESS:
		sighting_fini(&lookup->process.sighting);
		break;
	case LOOKUP_FORGET:
		free(lookup->forget.objects);
		break;
	case LOOKUP_CODE:
		break;
	}
	free(lookup);
}

static void look_up_file(struct lookups *lookups, struct lookup *lookup)
{
	lookup->file.object = lookup->file.vdso
				      ? finder_vdso(lookups->finder)
				      : finder_object(lookups->finder, &lookup->file.hint);
}

static void look_up(struct lookups *lookups, struct lookup *lookup)
{
	switch (lookup->kind) {
	case LOOKUP_FILE:
		look_up_file(lookups, lookup);
		break;
	case LOOKUP_PROCESS:
		lookup->process.code =
			sighting_make(lookups->finder, lookup->process.pid, lookup->process.tid,
				      NULL, &lookup->process.sighting, NULL);
		break;
	case LOOKUP_FORGET:
		finder_forget(lookups->finder, lookup->forget.objects, lookup->forget.nr);
		break;
	case LOOKUP_CODE:
		code_names_tell(lookups->code_names, &lookup->code);
		break;
	}
}

/* Under the lock. */
static void finish(struct lookups *lookups, struct lookup *lookup)
{
	if (lookup->kind == LOOKUP_CODE) {
		lookup_free(lookup);
		return;
	}
	if (!lookups->done.first)
		eventfd_write(lookups->event_fd, 1);
	turn_queue_push(&lookups->done, &lookup->turn);
}

static void *lookups_main(void *ctx)
{
	struct lookups *lookups = ctx;

	pthread_mutex_lock(&lookups->lock);
	while (!lookups->stop) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;
		struct lookup *lookup =
			lookup_of(turns_begin(&lookups->turns, &lookups->todo, began_ns));

		if (!lookup) {
			pthread_cond_wait(&lookups->wake, &lookups->lock);
			continue;
		}

		uint64_t owner = lookup->turn.owner;

		pthread_mutex_unlock(&lookups->lock);
		look_up(lookups, lookup);
		now_ns = clock_monotonic_ns();
		pthread_mutex_lock(&lookups->lock);
		turns_end(&lookups->turns, owner, now_ns - began_ns, now_ns);
		finish(lookups, lookup);
	}
	pthread_mutex_unlock(&lookups->lock);
	return NULL;
}

int lookups_begin(struct finder *finder, struct code_names *code_names, struct lookups **ret,
		  struct fpl_err *err)
{
	struct lookups *lookups = calloc(1, sizeof(*lookups));
	int code;

	if (!lookups)
		return fpl_fail(err, -ENOMEM, "lookups: out of memory");
	lookups->finder = finder;
	lookups->code_names = code_names;
	pthread_mutex_init(&lookups->lock, NULL);
	pthread_cond_init(&lookups->wake, NULL);
	turn_queue_init(&lookups->todo);
	turn_queue_init(&lookups->done);
	lookups->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = lookups->event_fd < 0 ? -errno
				     : thread_begin(&lookups->thread, lookups_main, lookups);
	if (code) {
		cleanup_fd(&lookups->event_fd);
		free(lookups);
		return fpl_fail(err, code, "lookups: thread: %s", strerror(-code));
	}
	*ret = lookups;
	return 0;
}

static void drop(struct turn_queue *queue)
{
	struct turn *turn;

	while ((turn = turn_queue_pop(queue)))
		lookup_free(lookup_of(turn));
}

void lookups_end(struct lookups *lookups)
{
	if (!lookups)
		return;
	pthread_mutex_lock(&lookups->lock);
	lookups->stop = true;
	pthread_cond_signal(&lookups->wake);
	pthread_mutex_unlock(&lookups->lock);
	pthread_join(lookups->thread, NULL);
	drop(&lookups->todo);
	drop(&lookups->done);
	cleanup_fd(&lookups->event_fd);
	pthread_cond_destroy(&lookups->wake);
	pthread_mutex_destroy(&lookups->lock);
	free(lookups);
}

static void ask(struct lookups *lookups, struct lookup *lookup, uint64_t owner)
{
	lookup->turn.owner = owner;
	lookup->is_done = false;
	lookups->nr_open += lookup->kind != LOOKUP_CODE;
	pthread_mutex_lock(&lookups->lock);
	turn_queue_push(&lookups->todo, &lookup->turn);
	pthread_cond_signal(&lookups->wake);
	pthread_mutex_unlock(&lookups->lock);
}

static struct lookup *make(enum lookup_kind kind)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (lookup)
		lookup->kind = kind;
	return lookup;
}

int lookups_file(struct lookups *lookups, const struct file_hint *hint, bool vdso, uint64_t owner,
		 struct lookup **ret)
{
	struct lookup *lookup = make(LOOKUP_FILE);
	size_t size = hint->build_id_size;

	if (!lookup)
		return -ENOMEM;
	lookup->file.path = strdup(hint->path);
	if (!lookup->file.path) {
		lookup_free(lookup);
		return -ENOMEM;
	}
	lookup->file.hint = *hint;
	lookup->file.hint.path = lookup->file.path;
	lookup->file.hint.owner = owner;
	lookup->file.vdso = vdso;
	if (hint->build_id && size <= sizeof(lookup->file.build_id)) {
		memcpy(lookup->file.build_id, hint->build_id, size);
		lookup->file.hint.build_id = lookup->file.build_id;
	}
	ask(lookups, lookup, owner);
	*ret = lookup;
	return 0;
}

void lookups_again(struct lookups *lookups, struct lookup *lookup)
{
	lookup->file.object = NULL;
	ask(lookups, lookup, lookup->turn.owner);
}

int lookups_process(struct lookups *lookups, uint32_t pid, uint32_t tid, uint64_t gen,
		    uint64_t owner)
{
	struct lookup *lookup = make(LOOKUP_PROCESS);

	if (!lookup)
		return -ENOMEM;
	lookup->process.pid = pid;
	lookup->process.tid = tid;
	lookup->process.gen = gen;
	ask(lookups, lookup, owner);
	return 0;
}

int lookups_forget(struct lookups *lookups, struct object *const *objects, size_t nr)
{
	struct lookup *lookup = make(LOOKUP_FORGET);

	if (lookup)
		lookup->forget.objects = calloc(nr, sizeof(struct object *));
	if (!lookup || !lookup->forget.objects) {
		free(lookup);
		return -ENOMEM;
	}
	memcpy(lookup->forget.objects, objects, nr * sizeof(struct object *));
	lookup->forget.nr = nr;
	ask(lookups, lookup, 0);
	return 0;
}

/* Those of all owners are root's, so that they stay in order. */
void lookups_code(struct lookups *lookups, const struct code_event *event)
{
	struct lookup *lookup = lookups->code_names ? make(LOOKUP_CODE) : NULL;

	if (!lookup)
		return;
	lookup->code = *event;
	ask(lookups, lookup, 0);
}

int lookups_fd(const struct lookups *lookups)
{
	return lookups->event_fd;
}

struct lookup *lookups_take(struct lookups *lookups)
{
	eventfd_t drained;
	struct lookup *lookup;

	if (!lookups->nr_open)
		return NULL;
	pthread_mutex_lock(&lookups->lock);
	lookup = lookup_of(turn_queue_pop(&lookups->done));
	if (!lookups->done.first)
		eventfd_read(lookups->event_fd, &drained);
	pthread_mutex_unlock(&lookups->lock);
	if (!lookup)
		return NULL;
	lookup->is_done = true;
	lookups->nr_open--;
	return lookup;
}

size_t lookups_nr_open(const struct lookups *lookups)
{
	return lookups->nr_open;
}
