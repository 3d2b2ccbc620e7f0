/* SPDX-License-Identifier: Apache-2.0 */
#include "top/display.h"

#include <errno.h>

#include "base/cleanup.h"
#include "top/control.h"
#include "top/page.h"
#include "top/screen.h"

struct display {
	const struct display_options *options;
	struct live *live;
	struct screen *screen;
	struct control control;
	struct table table;
	struct page page;
	bool is_stale;	/* the screen shows what was */
	bool is_closed; /* nothing comes any more */
};

static void display_fini(struct display *display)
{
	screen_close(display->screen);
	page_fini(&display->page);
	table_fini(&display->table);
	control_fini(&display->control);
}

static int draw(struct display *display)
{
	const struct display_options *options = display->options;
	struct live *live = display->live;
	struct control *control = &display->control;
	char log[256];
	size_t columns, lines;

	screen_last_log(display->screen, log, sizeof(log));

	const struct page_facts facts = {
		.what = options->what,
		.time_of = options->time_of,
		.log = log,
		.length_ns = window_length_ns(&live->window, control->since_start),
		.lost = live->look.lost,
		.window_ms = options->window_ms,
	};

	table_fini(&display->table);
	screen_size(display->screen, &columns, &lines);
	if (live_table(live, &control->query, control->since_start, &display->table) ||
	    page_make(&facts, &live->model, &display->table, control, columns, lines,
		      &display->page))
		return -ENOMEM;
	screen_draw(display->screen, &display->page);
	display->is_stale = false;
	return 0;
}

/* Take in what the run has told. Who has paused sees what was; it counts when they go on. */
static int take_news(struct display *display, struct fpl_err *err)
{
	CLEANUP(feed_batch_fini) struct feed_batch batch = { 0 };
	int code;

	feed_take(display->options->feed, &batch);
	display->is_closed = batch.closing;
	code = live_add(display->live, &batch, err);
	for (const struct feed_look *look = batch.looks; !code && look; look = look->next) {
		if (display->control.paused)
			continue;
		code = live_look(display->live, &look->look, err);
		display->is_stale = true;
	}
	return code;
}

/* Do what the control asks for. */
static void obey(struct display *display)
{
	struct control *control = &display->control;

	if (control->reset)
		window_reset(&display->live->window);
	control->reset = false;
	if (control->suspend)
		screen_suspend(display->screen, true);
	control->suspend = false;
	if (control->quit)
		display->options->quit(display->options->ctx);
	atomic_store(display->options->look_ms, control->interval_ms);
	display->is_stale = true;
}

static void take_events(struct display *display)
{
	enum screen_event event;
	int key = 0;

	while ((event = screen_next(display->screen, &key)) != SCREEN_NOTHING) {
		display->is_stale = true;
		switch (event) {
		case SCREEN_KEY:
			control_take_key(&display->control, key, &display->live->model,
					 &display->table);
			obey(display);
			break;
		case SCREEN_SUSPEND:
			screen_suspend(display->screen, false);
			break;
		case SCREEN_GONE:
			display->options->quit(display->options->ctx);
			break;
		case SCREEN_RESIZED:
		case SCREEN_NOTHING:
			break;
		}
	}
}

int display_run(const struct display_options *options, struct fpl_err *err)
{
	CLEANUP(display_fini)
	struct display display = { .options = options, .live = options->live, .is_stale = true };
	struct control *control = &display.control;
	int code = screen_open(options->colour, &display.screen, err);

	if (code)
		return code;
	control_init(control, options->query, *options->look_ms, options->since_start);
	control_set_filter(control, options->filter ? options->filter : "");
	while (!code && !display.is_closed) {
		if (display.is_stale && draw(&display))
			return fpl_fail(err, -ENOMEM, "out of memory for a page");
		screen_wait(display.screen, options->feed->wake_fd);
		take_events(&display);
		code = take_news(&display, err);
	}
	return code;
}
