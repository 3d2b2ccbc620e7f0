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
#include "proc/mapped_file.h"
#include "profile/jvm.h"
#include "profile/share.h"
#include "unwind/table.h"

/* A thread and what waits for it. */
struct stage {
	pthread_t thread;
	bool has_thread;
	pthread_cond_t wake;
	struct turn_queue todo;
	struct turns turns;
	bool is_busy; /* with one that is not in `todo` any more */
};

struct lookups {
	struct finder *finder;	       /* borrowed: of the stage `all` */
	struct code_names *code_names; /* borrowed: of the stage `all`; may be NULL */
	pthread_mutex_t lock;	       /* of all below */
	struct stage places, all;      /* files wait for the first, then as all lookups do */
	struct turn_queue done;
	struct share_book places_of; /* nr_places by owner */
	size_t nr_places;	     /* held */
	size_t nr_tables;	     /* in answers that were not taken */
	bool stop;
	int event_fd;
	/* of the asking thread alone: all that were asked, and what makes code in a process */
	size_t nr_open, nr_makers;
};

static bool has_table(const struct lookup *lookup)
{
	return lookup->kind == LOOKUP_FILE && lookup->file.table;
}

static bool is_of_maker(const struct lookup *lookup)
{
	return lookup->kind == LOOKUP_JVM || lookup->kind == LOOKUP_MADE;
}

/* Returns NULL for NULL. */
static struct lookup *lookup_of(struct turn *turn)
{
	return (struct lookup *)turn;
}

static void close_place(struct lookup *lookup)
{
	if (lookup->file.hint.place)
		cleanup_fd(&lookup->file.place);
	lookup->file.hint.place = NULL;
}

void lookup_free(struct lookup *lookup)
{
	if (!lookup)
		return;
	switch (lookup->kind) {
	case LOOKUP_FILE:
		close_place(lookup);
		free(lookup->file.path);
		table_destroy(lookup->file.table);
		break;
	case LOOKUP_PROCESS:
		sighting_fini(&lookup->process.sighting);
		break;
	case LOOKUP_FORGET:
		free(lookup->forget.objects);
		break;
	case LOOKUP_CODE:
		break;
	case LOOKUP_JVM:
		free(lookup->jvm.found);
		break;
	case LOOKUP_MADE:
		free(lookup->made.asked);
		free(lookup->made.found);
		break;
	case LOOKUP_CODES:
		code_orders_destroy(lookup->codes.orders);
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
	case LOOKUP_JVM:
		lookup->jvm.code =
			jvm_describe(finder_client(lookups->finder), lookup->jvm.pid,
				     lookup->jvm.base, lookup->jvm.found, &lookup->jvm.err);
		break;
	case LOOKUP_MADE:
		lookup->made.code =
			jvm_made(finder_client(lookups->finder), lookup->made.pid,
				 lookup->made.asked, lookup->made.found, &lookup->made.err);
		break;
	case LOOKUP_CODES:
		lookup->codes.orders =
			code_names_orders(lookups->code_names, lookup->codes.since_ns);
		break;
	}
}

/* Under the lock, which is let go of meanwhile. Without room for a place the file waits on. */
static void take_place(struct lookups *lookups, struct lookup *lookup)
{
	const struct file_hint *hint = &lookup->file.hint;
	uint64_t owner = lookup->turn.owner;

	if (lookups->nr_places < FINDER_PLACES_MAX &&
	    share_allows(&lookups->places_of, owner, 1, FINDER_PLACES_MAX)) {
		share_take(&lookups->places_of, owner, 1);
		lookups->nr_places++;
		pthread_mutex_unlock(&lookups->lock);
		lookup->file.place = mapped_file_place(hint->pid, hint->start, hint->end);
		lookup->file.hint.place = &lookup->file.place;
		pthread_mutex_lock(&lookups->lock);
	}
	turn_queue_push(&lookups->all.todo, &lookup->turn);
	pthread_cond_signal(&lookups->all.wake);
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

/* Under the lock, which is let go of meanwhile. */
static void do_all(struct lookups *lookups, struct lookup *lookup)
{
	bool has_place = lookup->kind == LOOKUP_FILE && lookup->file.hint.place;

	if (lookup->kind == LOOKUP_FILE && lookups->nr_tables < LOOKUPS_TABLES_MAX)
		lookup->file.hint.table = &lookup->file.table;
	pthread_mutex_unlock(&lookups->lock);
	look_up(lookups, lookup);
	if (has_place)
		close_place(lookup);
	pthread_mutex_lock(&lookups->lock);
	if (has_place) {
		share_give_back(&lookups->places_of, lookup->turn.owner, 1);
		lookups->nr_places--;
	}
	lookups->nr_tables += has_table(lookup);
	finish(lookups, lookup);
}

static void run_stage(struct lookups *lookups, struct stage *stage,
		      void (*work)(struct lookups *lookups, struct lookup *lookup))
{
	pthread_mutex_lock(&lookups->lock);
	while (!lookups->stop) {
		uint64_t began_ns = clock_monotonic_ns(), now_ns;
		struct lookup *lookup =
			lookup_of(turns_begin(&stage->turns, &stage->todo, began_ns));

		if (!lookup) {
			pthread_cond_wait(&stage->wake, &lookups->lock);
			continue;
		}

		uint64_t owner = lookup->turn.owner;

		stage->is_busy = true;
		work(lookups, lookup);
		stage->is_busy = false;
		now_ns = clock_monotonic_ns();
		turns_end(&stage->turns, owner, now_ns - began_ns, now_ns);
	}
	pthread_mutex_unlock(&lookups->lock);
}

static void *places_main(void *ctx)
{
	struct lookups *lookups = ctx;

	run_stage(lookups, &lookups->places, take_place);
	return NULL;
}

static void *all_main(void *ctx)
{
	struct lookups *lookups = ctx;

	run_stage(lookups, &lookups->all, do_all);
	return NULL;
}

static int begin_stage(struct lookups *lookups, struct stage *stage, void *(*run)(void *ctx))
{
	int code = thread_begin(&stage->thread, run, lookups);

	stage->has_thread = !code;
	return code;
}

static void end_stage(struct lookups *lookups, struct stage *stage)
{
	pthread_mutex_lock(&lookups->lock);
	lookups->stop = true;
	pthread_cond_signal(&stage->wake);
	pthread_mutex_unlock(&lookups->lock);
	if (stage->has_thread)
		pthread_join(stage->thread, NULL);
}

static void init_stage(struct stage *stage)
{
	pthread_cond_init(&stage->wake, NULL);
	turn_queue_init(&stage->todo);
}

static void drop(struct turn_queue *queue)
{
	struct turn *turn;

	while ((turn = turn_queue_pop(queue)))
		lookup_free(lookup_of(turn));
}

static void fini_stage(struct stage *stage)
{
	drop(&stage->todo);
	pthread_cond_destroy(&stage->wake);
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
	init_stage(&lookups->places);
	init_stage(&lookups->all);
	turn_queue_init(&lookups->done);
	lookups->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = lookups->event_fd < 0 ? -errno : begin_stage(lookups, &lookups->places, places_main);
	if (!code)
		code = begin_stage(lookups, &lookups->all, all_main);
	if (code) {
		lookups_end(lookups);
		return fpl_fail(err, code, "lookups: thread: %s", strerror(-code));
	}
	*ret = lookups;
	return 0;
}

void lookups_end(struct lookups *lookups)
{
	if (!lookups)
		return;
	end_stage(lookups, &lookups->places);
	end_stage(lookups, &lookups->all);
	fini_stage(&lookups->places);
	fini_stage(&lookups->all);
	drop(&lookups->done);
	cleanup_fd(&lookups->event_fd);
	pthread_mutex_destroy(&lookups->lock);
	free(lookups);
}

/* Does @lookup wait for its place first? Not where it is looked up at once. Under the lock. */
static bool needs_place(const struct lookups *lookups, const struct lookup *lookup)
{
	return lookup->kind == LOOKUP_FILE && !lookup->file.vdso &&
	       (lookups->all.is_busy || lookups->all.todo.first);
}

static void ask(struct lookups *lookups, struct lookup *lookup, uint64_t owner)
{
	struct stage *stage;

	lookup->turn.owner = owner;
	lookup->is_done = false;
	lookups->nr_open += lookup->kind != LOOKUP_CODE;
	lookups->nr_makers += is_of_maker(lookup);
	pthread_mutex_lock(&lookups->lock);
	stage = needs_place(lookups, lookup) ? &lookups->places : &lookups->all;
	turn_queue_push(&stage->todo, &lookup->turn);
	pthread_mutex_unlock(&lookups->lock);
	/* who is woken takes the lock first */
	pthread_cond_signal(&stage->wake);
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
	lookup->file.hint.place = NULL;
	lookup->file.hint.table = NULL;
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
	table_destroy(TAKE_PTR(lookup->file.table));
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

int lookups_jvm(struct lookups *lookups, uint32_t pid, uint64_t gen, uint64_t base, uint64_t owner)
{
	struct lookup *lookup = make(LOOKUP_JVM);

	if (lookup)
		lookup->jvm.found = calloc(1, sizeof(*lookup->jvm.found));
	if (!lookup || !lookup->jvm.found) {
		free(lookup);
		return -ENOMEM;
	}
	lookup->jvm.pid = pid;
	lookup->jvm.gen = gen;
	lookup->jvm.base = base;
	ask(lookups, lookup, owner);
	return 0;
}

int lookups_made(struct lookups *lookups, uint32_t pid, uint64_t gen,
		 const struct made_question *asked, uint64_t owner)
{
	struct lookup *lookup = make(LOOKUP_MADE);

	if (lookup) {
		lookup->made.asked = malloc(sizeof(*asked));
		lookup->made.found = calloc(1, sizeof(*lookup->made.found));
	}
	if (!lookup || !lookup->made.asked || !lookup->made.found) {
		lookup_free(lookup);
		return -ENOMEM;
	}
	*lookup->made.asked = *asked;
	lookup->made.pid = pid;
	lookup->made.gen = gen;
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

int lookups_codes(struct lookups *lookups, uint64_t number, uint64_t since_ns)
{
	struct lookup *lookup = lookups->code_names ? make(LOOKUP_CODES) : NULL;

	if (!lookup)
		return -ENOMEM;
	lookup->codes.number = number;
	lookup->codes.since_ns = since_ns;
	ask(lookups, lookup, 0);
	return 0;
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
	lookups->nr_tables -= lookup && has_table(lookup);
	if (lookup && !lookups->done.first)
		eventfd_read(lookups->event_fd, &drained);
	pthread_mutex_unlock(&lookups->lock);
	if (!lookup)
		return NULL;
	lookup->is_done = true;
	lookups->nr_open--;
	lookups->nr_makers -= is_of_maker(lookup);
	return lookup;
}

size_t lookups_nr_open(const struct lookups *lookups)
{
	return lookups->nr_open;
}

bool lookups_awaits_makers(const struct lookups *lookups)
{
	return lookups->nr_makers;
}
