/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "naming/names.h"
#include "naming/recorded.h"

#define BATCH_MAX 2048u /* samples that are named and printed together */
/* Files that wait for the thread: of more, those that have gone meanwhile are closed. */
#define NEWCOMERS_MAX 64u

/* A sample on its way to the thread. */
struct item {
	struct item *next;
	uint64_t unix_ns;
	size_t seq; /* order of coming, for equal times */
	struct profile_stack stack;
	uint64_t frames[];
};

/* An object on its way. */
struct newcomer {
	struct newcomer *next;
	struct profile_object object; /* owned */
	int fd;			      /* owned */
};

struct stream {
	int fd;
	enum stream_format format;
	struct engine_listener listener;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* under the lock: */
	struct item *first, **last;
	struct newcomer *newcomers, **last_newcomer;
	size_t nr_newcomers;
	uint32_t *retired; /* owned [nr_retired]: ids of objects that no later item names */
	size_t nr_retired, retired_room;
	size_t queued_bytes, seq;
	bool has_news; /* the run has paused since the thread looked */
	bool closing;
	bool broken; /* nobody reads any more */
	struct profile_stream counts;

	/* the thread's: */
	struct symbolizer_options naming;
	struct symbolizer *symbolizer;
	struct profile live; /* objects and stacks of the batch at hand */
	int error;
};

static void item_list_free(struct item *item)
{
	for (struct item *next; item; item = next) {
		next = item->next;
		free(item);
	}
}

static size_t item_bytes(const struct item *item)
{
	return sizeof(*item) + 8 * ((size_t)item->stack.nr_user + item->stack.nr_kernel) + 16;
}

static void newcomer_free(struct newcomer *newcomer)
{
	cleanup_fd(&newcomer->fd);
	free(newcomer->object.path);
	free(newcomer->object.build_id);
	free(newcomer);
}

/* Take over what has come: the object gets its place by its id. */
static void adopt(struct stream *stream, struct newcomer *newcomer)
{
	struct profile *live = &stream->live;
	uint32_t id = newcomer->object.id;
	struct fpl_err err = { 0 };

	if (id > live->nr_objects) {
		struct profile_object *bigger =
			reallocarray(live->objects, id, sizeof(*live->objects));

		if (!bigger)
			return;
		memset(bigger + live->nr_objects, 0, (id - live->nr_objects) * sizeof(*bigger));
		live->objects = bigger;
		live->nr_objects = id;
	}
	live->objects[id - 1] = newcomer->object;
	newcomer->object = (struct profile_object){ 0 };
	if (symbolizer_add_object(stream->symbolizer, id, newcomer->fd, NULL, 0,
				  live->objects[id - 1].path, &err))
		fpl_log(FPL_LOG_DEBUG, "stream: %s", err.msg);
}

/* No sample names the object any more. */
static void forget_object(struct stream *stream, uint32_t id)
{
	if (id > stream->live.nr_objects)
		return;
	symbolizer_remove_object(stream->symbolizer, id);
	free(stream->live.objects[id - 1].path);
	free(stream->live.objects[id - 1].build_id);
	stream->live.objects[id - 1] = (struct profile_object){ 0 };
}

/* A stream may go on for weeks: names that were asked for long ago go, with all others. */
static void forget_names(struct stream *stream)
{
	struct symbolizer *fresh;
	struct fpl_err err = { 0 };

	if (symbolizer_nr_named(stream->symbolizer) < STREAM_NAMES_MAX ||
	    symbolizer_create(&stream->naming, &fresh, &err))
		return;
	for (uint32_t id = 1; id <= stream->live.nr_objects; id++) {
		if (symbolizer_adopt(fresh, stream->symbolizer, id, &err))
			fpl_log(FPL_LOG_DEBUG, "stream: %s", err.msg);
	}
	symbolizer_destroy(stream->symbolizer);
	stream->symbolizer = fresh;
}

static bool is_closing(void *ctx)
{
	struct stream *stream = ctx;

	pthread_mutex_lock(&stream->lock);

	bool closing = stream->closing;

	pthread_mutex_unlock(&stream->lock);
	return closing;
}

/* Nobody reads any more: the run may end. */
static void give_up(struct stream *stream, int error)
{
	uint64_t one = 1;

	pthread_mutex_lock(&stream->lock);
	stream->broken = true;
	stream->error = error == -EPIPE ? 0 : error;
	pthread_mutex_unlock(&stream->lock);
	(void)!write(stream->listener.stop_fd, &one, sizeof(one));
}

/* A reader that stops reading must not keep the end of the run waiting. Returns false where it is
 * of no use to go on. */
static bool write_out(struct stream *stream, const char *text, size_t size)
{
	int code = io_write_patiently(stream->fd, text, size, is_closing, stream);

	if (code)
		give_up(stream, code);
	return !code;
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

	if (x->unix_ns != y->unix_ns)
		return x->unix_ns < y->unix_ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static void cleanup_names(struct names *names)
{
	names_fini(names);
}

/* Name the batch and write it to @to. Errors: -ENOMEM. */
static int write_batch(struct stream *stream, struct item *const *items, size_t nr, FILE *to)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(cleanup_names) struct names names = { 0 };
	AUTO_FREE struct profile_stack *stacks = calloc(nr, sizeof(*stacks));
	AUTO_FREE uint32_t *places = NULL;
	struct fpl_err err;
	int code = stacks ? recording_init(&recording) : -ENOMEM;

	for (size_t i = 0; !code && i < nr; i++) {
		stacks[i] = items[i]->stack;
		stacks[i].frames = items[i]->frames;
	}
	stream->live.stacks = stacks;
	stream->live.nr_stacks = code ? 0 : nr;
	if (!code)
		code = names_init(&names, &stream->live, stream->symbolizer,
				  &(struct names_options){ 0 });
	if (!code)
		code = recorded_make(&names, NULL, &recording, &places, &err);
	for (size_t i = 0; !code && i < nr; i++)
		stream_format_sample(to, stream->format, &recording, &recording.stacks[places[i]],
				     items[i]->unix_ns);
	stream->live.stacks = NULL;
	stream->live.nr_stacks = 0;
	return code;
}

/* Returns how many were printed. */
static size_t print_batch(struct stream *stream, struct item *const *items, size_t nr)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int code = to ? write_batch(stream, items, nr, to) : -ENOMEM;

	if (to && fclose(to))
		code = -ENOMEM;
	return !code && write_out(stream, text, size) ? nr : 0;
}

/* Print what was taken from the queue, in order of time. */
static void print_all(struct stream *stream, struct item *list)
{
	struct item *items[BATCH_MAX];

	while (list) {
		size_t nr = 0, printed;

		for (; list && nr < BATCH_MAX; list = list->next)
			items[nr++] = list;
		qsort(items, nr, sizeof(items[0]), by_time);

		pthread_mutex_lock(&stream->lock);
		bool broken = stream->broken;
		pthread_mutex_unlock(&stream->lock);

		printed = broken ? 0 : print_batch(stream, items, nr);
		forget_names(stream);
		pthread_mutex_lock(&stream->lock);
		stream->counts.printed += printed;
		stream->counts.unprinted += nr - printed;
		for (size_t i = 0; i < nr; i++)
			stream->queued_bytes -= item_bytes(items[i]);
		pthread_mutex_unlock(&stream->lock);
		for (size_t i = 0; i < nr; i++)
			free(items[i]);
	}
}

static void print_head(struct stream *stream)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	stream_format_head(to, stream->format);
	if (!fclose(to))
		write_out(stream, text, size);
}

static void *print_loop(void *arg)
{
	struct stream *stream = arg;
	struct symbol unused;
	bool closing = false;

	/* the run's thread comes first */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	print_head(stream);
	symbolizer_kernel(stream->symbolizer, 0, &unused); /* reads their names: 50 ms */
	while (!closing) {
		pthread_mutex_lock(&stream->lock);
		while (!stream->has_news && !stream->closing)
			pthread_cond_wait(&stream->wake, &stream->lock);

		struct item *list = stream->first;
		struct newcomer *newcomer = stream->newcomers;
		AUTO_FREE uint32_t *retired = TAKE_PTR(stream->retired);
		size_t nr_retired = stream->nr_retired;

		stream->first = NULL;
		stream->last = &stream->first;
		stream->newcomers = NULL;
		stream->last_newcomer = &stream->newcomers;
		stream->nr_newcomers = stream->nr_retired = stream->retired_room = 0;
		stream->has_news = false;
		closing = stream->closing;
		pthread_mutex_unlock(&stream->lock);
		for (struct newcomer *next; newcomer; newcomer = next) {
			next = newcomer->next;
			adopt(stream, newcomer);
			newcomer_free(newcomer);
		}
		print_all(stream, list);
		for (size_t i = 0; i < nr_retired; i++)
			forget_object(stream, retired[i]);
	}
	return NULL;
}

/* engine_listener.object */
static void take_object(void *ctx, const struct profile_object *object, int fd)
{
	struct stream *stream = ctx;
	struct newcomer *newcomer = calloc(1, sizeof(*newcomer));

	if (!newcomer)
		return;
	newcomer->object = (struct profile_object){
		.id = object->id,
		.path = strdup(object->path),
		.build_id = strdup(object->build_id),
	};
	newcomer->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!newcomer->object.path || !newcomer->object.build_id || newcomer->fd < 0) {
		newcomer_free(newcomer);
		return;
	}
	pthread_mutex_lock(&stream->lock);
	*stream->last_newcomer = newcomer;
	stream->last_newcomer = &newcomer->next;
	stream->nr_newcomers++;
	pthread_mutex_unlock(&stream->lock);
}

/* The thread does not come round to take in what has gone: takes the object out of what waits.
 * False: it does not wait. */
static bool drop_newcomer(struct stream *stream, uint32_t id)
{
	struct newcomer **at = &stream->newcomers, *newcomer;

	while ((newcomer = *at) && newcomer->object.id != id)
		at = &newcomer->next;
	if (!newcomer)
		return false;
	*at = newcomer->next;
	if (stream->last_newcomer == &newcomer->next)
		stream->last_newcomer = at;
	stream->nr_newcomers--;
	newcomer_free(newcomer);
	return true;
}

/* engine_listener.retired */
static void take_retired(void *ctx, uint32_t id)
{
	struct stream *stream = ctx;

	pthread_mutex_lock(&stream->lock);
	/* without memory it keeps its file */
	if (!(stream->nr_newcomers > NEWCOMERS_MAX && drop_newcomer(stream, id)) &&
	    !array_reserve(&stream->retired, sizeof(*stream->retired), &stream->retired_room,
			   stream->nr_retired + 1))
		stream->retired[stream->nr_retired++] = id;
	pthread_mutex_unlock(&stream->lock);
}

/* engine_listener.sample */
static void take_sample(void *ctx, uint64_t unix_ns, const struct profile_stack *stack)
{
	struct stream *stream = ctx;
	size_t nr = (size_t)stack->nr_user + stack->nr_kernel;
	struct item *item = malloc(sizeof(*item) + 8 * nr);

	if (item) {
		*item = (struct item){ .unix_ns = unix_ns, .stack = *stack };
		item->stack.nr_fp = 0;
		memcpy(item->frames, stack->frames, 8 * nr);
	}
	pthread_mutex_lock(&stream->lock);
	if (item && !stream->broken &&
	    stream->queued_bytes + item_bytes(item) <= STREAM_QUEUE_MAX) {
		item->seq = stream->seq++;
		stream->queued_bytes += item_bytes(item);
		*stream->last = item;
		stream->last = &item->next;
		item = NULL;
	} else {
		stream->counts.unprinted++;
	}
	pthread_mutex_unlock(&stream->lock);
	free(item);
}

/* engine_listener.pause */
static void take_pause(void *ctx)
{
	struct stream *stream = ctx;

	if (!stream->has_thread)
		stream->has_thread = pthread_create(&stream->thread, NULL, print_loop, stream) == 0;
	pthread_mutex_lock(&stream->lock);
	stream->has_news = stream->has_news || stream->first || stream->nr_retired;
	if (stream->has_news)
		pthread_cond_signal(&stream->wake);
	pthread_mutex_unlock(&stream->lock);
}

int stream_create(const struct stream_options *options, struct stream **ret, struct fpl_err *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return fpl_fail(err, -ENOMEM, "stream: out of memory");
	stream->fd = options->fd;
	stream->format = options->format;
	stream->last = &stream->first;
	stream->last_newcomer = &stream->newcomers;
	stream->live = (struct profile){
		.event = "",
		.user = options->user,
		.kernel = true,
		.by = PROFILE_BY_PID | PROFILE_BY_TID | PROFILE_BY_COMM | PROFILE_BY_CPU,
	};
	stream->naming = (struct symbolizer_options){
		.source = options->source,
		.live = true,
		.no_demangle = options->no_demangle,
		.inlined = options->inlined,
		.lines = options->lines,
	};
	pthread_mutex_init(&stream->lock, NULL);
	pthread_cond_init(&stream->wake, NULL);
	stream->listener = (struct engine_listener){
		.object = take_object,
		.retired = take_retired,
		.sample = take_sample,
		.pause = take_pause,
		.ctx = stream,
		.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};

	int code = stream->listener.stop_fd < 0
			   ? fpl_fail(err, -errno, "eventfd: %s", strerror(errno))
			   : 0;

	if (!code)
		code = symbolizer_create(&stream->naming, &stream->symbolizer, err);
	if (code) {
		stream_destroy(stream);
		return code;
	}
	*ret = stream;
	return 0;
}

const struct engine_listener *stream_listener(struct stream *stream)
{
	return &stream->listener;
}

int stream_finish(struct stream *stream, struct profile_stream *ret)
{
	pthread_mutex_lock(&stream->lock);
	stream->closing = true;
	pthread_cond_signal(&stream->wake);
	pthread_mutex_unlock(&stream->lock);
	if (stream->has_thread)
		pthread_join(stream->thread, NULL);
	stream->has_thread = false;
	*ret = stream->counts;
	ret->was_on = true;
	return stream->error;
}

void stream_destroy(struct stream *stream)
{
	struct profile_stream unused;

	if (!stream)
		return;
	(void)!stream_finish(stream, &unused);
	item_list_free(stream->first);
	for (struct newcomer *n = stream->newcomers, *next; n; n = next) {
		next = n->next;
		newcomer_free(n);
	}
	free(stream->retired);
	symbolizer_destroy(stream->symbolizer);
	profile_fini(&stream->live);
	cleanup_fd(&stream->listener.stop_fd);
	pthread_cond_destroy(&stream->wake);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}
