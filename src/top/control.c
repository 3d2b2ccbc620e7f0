/* SPDX-License-Identifier: Apache-2.0 */
#include "top/control.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define CTRL(letter) ((letter)&0x1f)

/* The intervals that + and - choose from. */
static const uint32_t intervals_ms[] = { 100, 250, 500, 1000, 2000, 5000, 10000, 30000, 60000 };

void control_init(struct control *control, const struct table_query *query, uint32_t interval_ms,
		  bool since_start)
{
	*control = (struct control){
		.query = *query,
		.interval_ms = interval_ms,
		.since_start = since_start,
		.page = 1,
	};
	control->query.filter = NULL;
}

void control_fini(struct control *control)
{
	if (control->has_regex)
		regfree(&control->regex);
	control->has_regex = false;
	control->query.filter = NULL;
}

bool control_set_filter(struct control *control, const char *text)
{
	regex_t regex;
	int code = *text ? regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) : 0;

	if (code) {
		char why[CONTROL_TEXT_MAX];

		regerror(code, &regex, why, sizeof(why));
		snprintf(control->message, sizeof(control->message), "/%s/: %s", text, why);
		return false;
	}
	control_fini(control);
	snprintf(control->filter, sizeof(control->filter), "%s", text);
	control->selected = 0;
	if (*text) {
		control->regex = regex;
		control->has_regex = true;
		control->query.filter = &control->regex;
	}
	return true;
}

/* The last character of what is typed goes, all bytes of it. */
static void rub_out(struct control *control)
{
	size_t size = control->input_size;

	while (size && ((unsigned char)control->input[size - 1] & 0xc0) == 0x80)
		size--;
	control->input_size = size ? size - 1 : 0;
	control->input[control->input_size] = '\0';
}

/* A byte of a character, or a control. */
static void take_typed(struct control *control, int key)
{
	switch (key) {
	case CONTROL_KEY_ENTER:
		control->typing = false;
		control_set_filter(control, control->input);
		break;
	case CONTROL_KEY_ESCAPE:
	case CTRL('c'):
		control->typing = false;
		break;
	case CONTROL_KEY_BACKSPACE:
		rub_out(control);
		break;
	case CTRL('u'):
		control->input_size = 0;
		control->input[0] = '\0';
		break;
	default:
		if (key < 0x20 || key == 0x7f || key > 0xff ||
		    control->input_size + 1 >= sizeof(control->input))
			break;
		control->input[control->input_size++] = (char)key;
		control->input[control->input_size] = '\0';
	}
}

static void begin_typing(struct control *control)
{
	control->typing = true;
	snprintf(control->input, sizeof(control->input), "%s", control->filter);
	control->input_size = strlen(control->input);
}

static struct control_place place_of(const struct control *control)
{
	const struct table_query *query = &control->query;

	return (struct control_place){
		.view = query->view,
		.has_process = query->has_process,
		.pid = query->pid,
		.task = query->task,
		.state = query->state,
		.function = query->function,
		.stack = query->stack,
		.selected = control->selected,
	};
}

/* Remember where we are: the oldest place gives way. */
static void leave(struct control *control)
{
	if (control->nr_back == CONTROL_BACK_MAX) {
		memmove(control->back, control->back + 1,
			(CONTROL_BACK_MAX - 1) * sizeof(control->back[0]));
		control->nr_back--;
	}
	control->back[control->nr_back++] = place_of(control);
	control->selected = 0;
}

static void go_back(struct control *control)
{
	const struct control_place *place;

	if (!control->nr_back) {
		if (control->has_regex)
			control_set_filter(control, "");
		return;
	}
	place = &control->back[--control->nr_back];
	control->query.view = place->view;
	control->query.has_process = place->has_process;
	control->query.pid = place->pid;
	control->query.task = place->task;
	control->query.state = place->state;
	control->query.function = place->function;
	control->query.stack = place->stack;
	control->selected = place->selected;
}

/* One of the views to begin with: all processes again. */
static void go_to_view(struct control *control, enum table_view view)
{
	bool was_process = control->query.has_process;

	control->query.view = view;
	control->selected = 0;
	if (view == TABLE_VIEW_PROCESSES || !was_process) {
		control->query.has_process = false;
		control->query.state = RECORDING_STATE_NONE;
		control->nr_back = 0;
	}
}

static enum table_view next_view(enum table_view view)
{
	return view == TABLE_VIEW_FUNCTIONS ? TABLE_VIEW_STACKS
	       : view == TABLE_VIEW_STACKS  ? TABLE_VIEW_PROCESSES
					    : TABLE_VIEW_FUNCTIONS;
}

/* More of what the row under the cursor is, in its state. */
static void open_row(struct control *control, const struct model *model, const struct table *table)
{
	const struct table_row *row;
	struct table_query *query = &control->query;

	if (control->selected >= table->nr)
		return;
	row = &table->list[control->selected];
	if (row->kind == TABLE_ROW_HEADING)
		return;
	leave(control);
	query->state = row->state;
	switch (row->kind) {
	case TABLE_ROW_FUNCTION:
		query->view = TABLE_VIEW_NEIGHBOURS;
		query->function = row->index;
		break;
	case TABLE_ROW_STACK:
		query->view = TABLE_VIEW_FRAMES;
		query->stack = row->index;
		break;
	case TABLE_ROW_PROCESS:
		query->view = TABLE_VIEW_FUNCTIONS;
		query->has_process = true;
		query->pid = model->recording->stacks[row->index].pid;
		query->task = model->recording->stacks[row->index].task;
		break;
	case TABLE_ROW_HEADING:
		break;
	}
}

static void change_interval(struct control *control, bool longer)
{
	size_t i = 0, nr = ARRAY_SIZE(intervals_ms);

	if (longer) {
		while (i + 1 < nr && intervals_ms[i] <= control->interval_ms)
			i++;
	} else {
		i = nr - 1;
		while (i > 0 && intervals_ms[i] >= control->interval_ms)
			i--;
	}
	control->interval_ms = intervals_ms[i];
	snprintf(control->message, sizeof(control->message), "every %g s",
		 (double)control->interval_ms / 1000);
}

static void move_by(struct control *control, size_t nr_rows, size_t by, bool down)
{
	size_t last = nr_rows ? nr_rows - 1 : 0;

	if (!down)
		control->selected = control->selected > by ? control->selected - by : 0;
	else
		control->selected = last - control->selected > by ? control->selected + by : last;
}

/* Returns false where @key does not move the cursor. */
static bool take_movement(struct control *control, int key, size_t nr_rows)
{
	switch (key) {
	case CONTROL_KEY_UP:
		move_by(control, nr_rows, 1, false);
		return true;
	case CONTROL_KEY_DOWN:
		move_by(control, nr_rows, 1, true);
		return true;
	case CONTROL_KEY_PAGE_UP:
		move_by(control, nr_rows, control->page, false);
		return true;
	case CONTROL_KEY_PAGE_DOWN:
		move_by(control, nr_rows, control->page, true);
		return true;
	case CONTROL_KEY_HOME:
		move_by(control, nr_rows, nr_rows, false);
		return true;
	case CONTROL_KEY_END:
		move_by(control, nr_rows, nr_rows, true);
		return true;
	default:
		return false;
	}
}

/* Keys that switch something. Returns false if @key is no such key. */
static bool take_switch(struct control *control, int key)
{
	struct table_query *query = &control->query;

	switch (key) {
	case 's':
		query->sort = query->sort == TABLE_SORT_SELF ? TABLE_SORT_TOTAL : TABLE_SORT_SELF;
		return true;
	case 'k':
		query->kernel = !query->kernel;
		return true;
	case 'p':
	case ' ':
		control->paused = !control->paused;
		return true;
	case 'w':
		control->since_start = !control->since_start;
		return true;
	case 'r':
		control->reset = true;
		return true;
	case 'h':
	case '?':
		control->help = true;
		return true;
	case '/':
		begin_typing(control);
		return true;
	case '+':
	case '=':
		change_interval(control, true);
		return true;
	case '-':
		change_interval(control, false);
		return true;
	default:
		return false;
	}
}

/* Keys that go somewhere else. */
static void take_way(struct control *control, int key, const struct model *model,
		     const struct table *table)
{
	switch (key) {
	case 'q':
	case CTRL('c'):
		control->quit = true;
		break;
	case CTRL('z'):
		control->suspend = true;
		break;
	case '\t':
		go_to_view(control, next_view(control->query.view));
		break;
	case '1':
		go_to_view(control, TABLE_VIEW_FUNCTIONS);
		break;
	case '2':
		go_to_view(control, TABLE_VIEW_STACKS);
		break;
	case '3':
	case 'P':
		go_to_view(control, TABLE_VIEW_PROCESSES);
		break;
	case 'f':
	case CONTROL_KEY_ENTER:
	case CONTROL_KEY_RIGHT:
		open_row(control, model, table);
		break;
	case CONTROL_KEY_ESCAPE:
	case CONTROL_KEY_BACKSPACE:
	case CONTROL_KEY_LEFT:
		go_back(control);
		break;
	default:
		break;
	}
}

void control_take_key(struct control *control, int key, const struct model *model,
		      const struct table *table)
{
	control->message[0] = '\0';
	if (control->typing) {
		take_typed(control, key);
		return;
	}
	if (control->help && key != CTRL('z')) { /* any key: but it may be the last one */
		control->help = false;
		control->quit = key == 'q' || key == CTRL('c');
		return;
	}
	if (!take_movement(control, key, table->nr) && !take_switch(control, key))
		take_way(control, key, model, table);
}

void control_fit(struct control *control, const struct table *table)
{
	if (control->selected >= table->nr)
		control->selected = table->nr ? table->nr - 1 : 0;
}
