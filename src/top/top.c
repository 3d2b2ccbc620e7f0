/* SPDX-License-Identifier: Apache-2.0 */
#include "top/top.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "top/display.h"
#include "top/live.h"
#include "top/plain.h"

struct top {
	struct top_options options;
	_Atomic uint32_t look_ms;
	struct feed feed;
	int error;

	/* the thread's: */
	struct live live;
	regex_t filter;
	bool has_filter;
};

/* The run may end. @error: why; 0 or -EPIPE: the reader has gone. */
static void give_up(struct top *top, int error)
{
	if (!top->error && error != -EPIPE)
		top->error = error;
	feed_give_up(&top->feed);
}

/* Write a block of the last look. */
static int write_block(struct top *top)
{
	AUTO_FREE char *text = NULL;
	CLEANUP(table_fini) struct table table = { 0 };
	struct live *live = &top->live;
	const struct plain_block block = {
		.number = live->nr_looks,
		.look = &live->look,
		.before = &live->before,
		.length_ns = window_length_ns(&live->window, top->options.since_start),
		.event = top->options.event,
		.is_time = top->options.time_of != NULL,
		.max_rows = top->options.max_rows,
	};
	size_t size = 0;
	int code = live_table(live, &top->options.query, top->options.since_start, &table);
	FILE *to = code ? NULL : open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	plain_write(to, &block, &live->model, &top->options.query, &table);
	if (fclose(to))
		return -ENOMEM;
	return io_write_patiently(top->options.fd, text, size, feed_is_closing, &top->feed);
}

/* Returns false where it is of no use to go on. */
static bool show_batch(struct top *top, struct feed_batch *batch)
{
	struct fpl_err err = { 0 };
	int code = live_add(&top->live, batch, &err);

	for (const struct feed_look *look = batch->looks; !code && look; look = look->next) {
		code = live_look(&top->live, &look->look, &err);
		if (!code)
			code = write_block(top);
	}
	if (!code)
		return true;
	if (code == -ENOMEM)
		fpl_log(FPL_LOG_ERROR, "top: %s", err.code ? err.msg : "out of memory");
	give_up(top, code);
	return false;
}

static void show_blocks(struct top *top)
{
	bool closing = false, useful = true;

	while (!closing) {
		CLEANUP(feed_batch_fini) struct feed_batch batch = { 0 };

		feed_await(&top->feed, &batch);
		useful = useful && show_batch(top, &batch);
		closing = batch.closing;
	}
}

/* display_options.quit */
static void quit(void *ctx)
{
	give_up(ctx, 0);
}

/* Returns false without a screen. */
static bool show_screen(struct top *top)
{
	const struct display_options options = {
		.feed = &top->feed,
		.live = &top->live,
		.query = &top->options.query,
		.filter = top->options.filter,
		.what = top->options.what,
		.time_of = top->options.time_of,
		.since_start = top->options.since_start,
		.colour = top->options.colour,
		.window_ms = top->options.window_ms,
		.look_ms = &top->look_ms,
		.quit = quit,
		.ctx = top,
	};
	struct fpl_err err = { 0 };
	int code = display_run(&options, &err);

	if (code)
		fpl_log(FPL_LOG_ERROR, "top: %s", err.msg);
	if (code == -ENOMEM)
		give_up(top, code);
	return !code || code == -ENOMEM;
}

/* feed_options.main */
static void show(void *ctx)
{
	struct top *top = ctx;

	if (!top->options.screen || !show_screen(top))
		show_blocks(top);
}

static int set_filter(struct top *top, struct fpl_err *err)
{
	const char *text = top->options.filter;

	if (!text)
		return 0;

	int code = regcomp(&top->filter, text, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (code) {
		regerror(code, &top->filter, why, sizeof(why));
		return fpl_fail(err, -EINVAL, "--match %s: %s", text, why);
	}
	top->has_filter = true;
	top->options.query.filter = &top->filter;
	return 0;
}

static int init(struct top *top, struct fpl_err *err)
{
	const struct top_options *options = &top->options;
	const struct live_names_options names = {
		.namer = { .parser = options->parser,
			   .cache = options->cache,
			   .no_demangle = options->no_demangle,
			   .inlined = options->inlined,
			   .asks_kernel = true },
		.names = { .by_function = true },
		.user = options->user,
		.sources = options->sources,
		.nr_sources = options->nr_sources,
	};
	const struct feed_options feed = {
		.look_ms = &top->look_ms, .looks = options->count, .main = show, .ctx = top
	};
	int code = feed_init(&top->feed, &feed, err);

	top->feed.listener.weighs = options->time_of != NULL;
	if (!code)
		code = set_filter(top, err);
	if (!code)
		code = live_init(&top->live, &names, options->window_ms * 1000000, err);
	top->live.min_share = options->min_share;
	top->live.model.texts.options.fold_recursion = options->fold_recursion;
	return code ? code : filter_create(options->stacks, &top->live.filter, err);
}

int top_create(const struct top_options *options, struct top **ret, struct fpl_err *err)
{
	struct top *top = calloc(1, sizeof(*top));
	int code;

	if (!top)
		return fpl_fail(err, -ENOMEM, "top: out of memory");
	top->options = *options;
	atomic_init(&top->look_ms, options->interval_ms);
	code = init(top, err);
	if (code)
		top_destroy(top);
	else
		*ret = top;
	return code;
}

const struct engine_listener *top_listener(struct top *top)
{
	return &top->feed.listener;
}

int top_finish(struct top *top)
{
	feed_finish(&top->feed);
	return top->error;
}

void top_destroy(struct top *top)
{
	if (!top)
		return;
	feed_finish(&top->feed);
	live_fini(&top->live);
	if (top->has_filter)
		regfree(&top->filter);
	feed_fini(&top->feed);
	free(top);
}
