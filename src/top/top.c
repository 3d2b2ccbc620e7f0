/* SPDX-License-Identifier: Apache-2.0 */
#include "top/top.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "top/display.h"
#include "top/live.h"
#include "top/plain.h"

struct top {
	struct top_options options;
	struct engine_listener listener;
	_Atomic uint32_t look_ms;
	atomic_bool closing;
	struct feed feed;
	bool has_feed, has_thread;
	pthread_t thread;
	int error;

	/* the thread's: */
	struct live live;
	regex_t filter;
	bool has_filter;
};

static bool is_closing(void *ctx)
{
	struct top *top = ctx;

	return atomic_load(&top->closing);
}

/* The run may end. @error: why; 0 or -EPIPE: nobody looks any more. */
static void give_up(struct top *top, int error)
{
	uint64_t one = 1;

	if (!top->error && error != -EPIPE)
		top->error = error;
	(void)!write(top->listener.stop_fd, &one, sizeof(one));
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
	return io_write_patiently(top->options.fd, text, size, is_closing, top);
}

/* Returns false where it is of no use to go on. */
static bool show_batch(struct top *top, const struct feed_batch *batch)
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
		struct pollfd wait = { .fd = top->feed.wake_fd, .events = POLLIN };
		CLEANUP(feed_batch_fini) struct feed_batch batch = { 0 };

		poll(&wait, 1, -1);
		feed_take(&top->feed, &batch);
		useful = useful && show_batch(top, &batch);
		closing = batch.closing;
	}
}

/* display_options.quit */
static void quit(void *ctx)
{
	give_up(ctx, 0);
}

/* Returns false where there is none. */
static bool show_screen(struct top *top)
{
	const struct display_options options = {
		.feed = &top->feed,
		.live = &top->live,
		.query = &top->options.query,
		.filter = top->options.filter,
		.what = top->options.what,
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

static void *show(void *arg)
{
	struct top *top = arg;

	/* the run's thread comes first */
	(void)!setpriority(PRIO_PROCESS, 0, 0);
	if (!top->options.screen || !show_screen(top))
		show_blocks(top);
	return NULL;
}

/* engine_listener.object */
static void take_object(void *ctx, const struct profile_object *object, int fd)
{
	feed_object(&((struct top *)ctx)->feed, object, fd);
}

/* engine_listener.retired */
static void take_retired(void *ctx, uint32_t id)
{
	feed_retired(&((struct top *)ctx)->feed, id);
}

/* engine_listener.stack */
static void take_stack(void *ctx, const struct profile_stack *stack)
{
	feed_stack(&((struct top *)ctx)->feed, stack);
}

/* engine_listener.look */
static void take_look(void *ctx, const struct engine_look *look)
{
	feed_look(&((struct top *)ctx)->feed, look);
}

/* engine_listener.pause */
static void take_pause(void *ctx)
{
	struct top *top = ctx;

	if (!top->has_thread)
		top->has_thread = pthread_create(&top->thread, NULL, show, top) == 0;
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
		return fpl_fail(err, -EINVAL, "--filter %s: %s", text, why);
	}
	top->has_filter = true;
	top->options.query.filter = &top->filter;
	return 0;
}

static int init(struct top *top, struct fpl_err *err)
{
	const struct naming_options naming = {
		.source = top->options.source,
		.user = top->options.user,
		.no_demangle = top->options.no_demangle,
		.inlined = top->options.inlined,
	};
	int code = feed_init(&top->feed, err);

	top->has_feed = !code;
	if (!code && top->listener.stop_fd < 0)
		code = fpl_fail(err, -errno, "eventfd: %s", strerror(errno));
	if (!code)
		code = set_filter(top, err);
	return code ? code : live_init(&top->live, &naming, top->options.window_ms * 1000000, err);
}

int top_create(const struct top_options *options, struct top **ret, struct fpl_err *err)
{
	struct top *top = calloc(1, sizeof(*top));

	if (!top)
		return fpl_fail(err, -ENOMEM, "top: out of memory");
	top->options = *options;
	atomic_init(&top->look_ms, options->interval_ms);
	top->listener = (struct engine_listener){
		.object = take_object,
		.retired = take_retired,
		.stack = take_stack,
		.look = take_look,
		.look_ms = &top->look_ms,
		.looks = options->count,
		.pause = take_pause,
		.ctx = top,
		.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};

	int code = init(top, err);

	if (code) {
		top_destroy(top);
		return code;
	}
	*ret = top;
	return 0;
}

const struct engine_listener *top_listener(struct top *top)
{
	return &top->listener;
}

int top_finish(struct top *top)
{
	atomic_store(&top->closing, true);
	feed_close(&top->feed);
	if (top->has_thread)
		pthread_join(top->thread, NULL);
	top->has_thread = false;
	return top->error;
}

void top_destroy(struct top *top)
{
	if (!top)
		return;
	if (top->has_thread)
		(void)!top_finish(top);
	live_fini(&top->live);
	if (top->has_filter)
		regfree(&top->filter);
	if (top->has_feed)
		feed_fini(&top->feed);
	cleanup_fd(&top->listener.stop_fd);
	free(top);
}
