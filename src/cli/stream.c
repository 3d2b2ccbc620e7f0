/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "naming/feed.h"
#include "naming/live_names.h"

#define BATCH_MAX 2048u /* samples that are named and printed together */

struct stream {
	int fd;
	enum stream_format format;
	struct stream_columns columns;
	struct feed feed;

	/* the thread's, until it is joined: */
	struct live_names names;
	struct profile_stream counts;
	bool is_broken; /* the reader of the output has gone */
	int error;
};

/* A reader that stops reading must not keep the end of the run waiting. Returns false if it is
 * of no use to go on. */
static bool write_out(struct stream *stream, const char *text, size_t size)
{
	int code = io_write_patiently(stream->fd, text, size, feed_is_closing, &stream->feed);

	if (!code)
		return true;
	stream->is_broken = true;
	stream->error = code == -EPIPE ? 0 : code;
	feed_give_up(&stream->feed);
	return false;
}

static int by_time(const void *a, const void *b)
{
	const struct feed_stack *x = *(struct feed_stack *const *)a;
	const struct feed_stack *y = *(struct feed_stack *const *)b;

	if (x->unix_ns != y->unix_ns)
		return x->unix_ns < y->unix_ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Name the samples and write them to @to. Errors: -ENOMEM. */
static int write_samples(struct stream *stream, struct feed_stack *const *samples, size_t nr,
			 FILE *to)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };
	AUTO_FREE struct profile_stack *stacks = calloc(nr, sizeof(*stacks));
	AUTO_FREE uint32_t *places = NULL;
	int code = stacks ? recording_init(&recording) : -ENOMEM;

	for (size_t i = 0; !code && i < nr; i++)
		stacks[i] = samples[i]->stack;
	if (!code)
		code = live_names_record(&stream->names, stacks, nr, &recording, &places, NULL);
	for (size_t i = 0; !code && i < nr; i++)
		stream_format_sample(to, stream->format, &recording,
				     &(struct stream_sample){
					     .stack = &recording.stacks[places[i]],
					     .unix_ns = samples[i]->unix_ns,
					     .weight = samples[i]->stack.weight,
				     });
	return code;
}

/* Returns how many were printed. */
static size_t print_samples(struct stream *stream, struct feed_stack *const *samples, size_t nr)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int code = to ? write_samples(stream, samples, nr, to) : -ENOMEM;

	if (to && fclose(to))
		code = -ENOMEM;
	return !code && write_out(stream, text, size) ? nr : 0;
}

/* Print what was taken from the feed, in order of time. */
static void print_all(struct stream *stream, const struct feed_batch *batch)
{
	struct feed_stack *samples[BATCH_MAX], *list = batch->stacks;

	while (list) {
		size_t nr = 0, bytes = 0, printed;

		for (; list && nr < BATCH_MAX; list = list->next) {
			bytes += feed_stack_bytes(list);
			samples[nr++] = list;
		}
		qsort(samples, nr, sizeof(samples[0]), by_time);
		printed = stream->is_broken ? 0 : print_samples(stream, samples, nr);
		stream->counts.printed += printed;
		stream->counts.unprinted += nr - printed;
		feed_release(&stream->feed, bytes);
	}
}

static void print_head(struct stream *stream)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	stream_format_head(to, stream->format, &stream->columns);
	if (!fclose(to))
		write_out(stream, text, size);
}

/* feed_options.main */
static void print_loop(void *ctx)
{
	struct stream *stream = ctx;
	bool closing = false;

	print_head(stream);
	while (!closing) {
		CLEANUP(feed_batch_fini) struct feed_batch batch = { 0 };
		struct fpl_err err = { 0 };

		feed_await(&stream->feed, &batch);
		/* without memory frames stay addresses */
		if (live_names_adopt(&stream->names, &batch, &err))
			fpl_log(FPL_LOG_DEBUG, "stream: %s", err.msg);
		print_all(stream, &batch);
		live_names_retire(&stream->names, &batch);
		closing = batch.closing;
	}
}

int stream_create(const struct stream_options *options, struct stream **ret, struct fpl_err *err)
{
	const struct live_names_options names = {
		.namer = { .parser = options->parser,
			   .cache = options->cache,
			   .no_demangle = options->no_demangle,
			   .inlined = options->inlined,
			   .lines = options->lines,
			   .asks_kernel = true },
		.user = options->user,
		.sources = options->sources,
		.nr_sources = options->nr_sources,
		.by = PROFILE_BY_PID | PROFILE_BY_TID | PROFILE_BY_COMM | PROFILE_BY_CPU |
		      (options->key ? PROFILE_BY_KEY : 0),
		.key = options->key,
	};
	struct feed_options feed = { .samples_max = STREAM_QUEUE_MAX, .main = print_loop };
	struct stream *stream = calloc(1, sizeof(*stream));
	bool is_wall = source_specs_are_wall(options->sources, options->nr_sources);
	int code;

	if (!stream)
		return fpl_fail(err, -ENOMEM, "stream: out of memory");
	stream->fd = options->fd;
	stream->format = options->format;
	stream->columns = (struct stream_columns){
		.event = options->nr_sources > 1 && !is_wall,
		.key = options->key != NULL,
		.weight = is_wall ||
			  (options->nr_sources == 1 && options->sources[0].class != SOURCE_CLOCK),
	};
	feed.ctx = stream;
	code = feed_init(&stream->feed, &feed, err);
	if (!code)
		code = live_names_init(&stream->names, &names, err);
	if (code)
		stream_destroy(stream);
	else
		*ret = stream;
	return code;
}

const struct engine_listener *stream_listener(struct stream *stream)
{
	return &stream->feed.listener;
}

int stream_finish(struct stream *stream, struct profile_stream *ret)
{
	feed_finish(&stream->feed);
	*ret = stream->counts;
	ret->unprinted += stream->feed.nr_dropped;
	ret->was_on = true;
	return stream->error;
}

void stream_destroy(struct stream *stream)
{
	if (!stream)
		return;
	feed_finish(&stream->feed);
	live_names_fini(&stream->names);
	feed_fini(&stream->feed);
	free(stream);
}
