/* SPDX-License-Identifier: Apache-2.0 */
#include "top/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/width.h"
#include "recording/keys.h"
#include "view/share.h"

#define NARROW	    44u /* columns: below, there is one share, no state and no object */
#define STATE_WIDTH 10u /* "throttled", and a space */
#define OBJECT_MIN  10u
#define OBJECT_MAX  28u
#define STACK_CHARS 4096u /* of a stack on one line: more than any screen has */
#define HOT	    20.0
#define WARM	    5.0

struct layout {
	struct page *page;
	const struct model *model;
	const struct table *table;
	struct control *control;
	size_t columns, lines;
	size_t state_columns, object_columns; /* 0: not shown */
	bool two_shares;
};

static void clear(struct page *page)
{
	for (size_t i = 0; i < page->lines.nr; i++)
		free(page->lines.list[i].text);
	page->lines.nr = 0;
}

void page_fini(struct page *page)
{
	clear(page);
	vector_fini(&page->lines);
	*page = (struct page){ 0 };
}

static bool is_full(const struct layout *layout)
{
	return layout->page->lines.nr >= layout->lines;
}

/* Append a line of @text, cut to the page. */
static int put(struct layout *layout, enum page_style style, const char *text)
{
	size_t size = 4 * layout->columns + 1;
	AUTO_FREE char *cut = malloc(size);
	struct page_line line = { .text = cut, .style = style, .share_style = style };
	int err = -ENOMEM;

	if (cut) {
		width_fit(cut, size, text, layout->columns);
		err = vector_push(&layout->page->lines, line);
	}
	if (!err)
		cut = NULL; /* the page's */
	return err;
}

FPL_PRINTF(3, 4)
static int put_format(struct layout *layout, enum page_style style, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return put(layout, style, text);
}

static void choose_columns(struct layout *layout)
{
	size_t object = layout->columns / 4;

	layout->two_shares = layout->columns >= NARROW;
	if (layout->columns < NARROW)
		return;
	layout->state_columns = layout->control->query.by_state ? STATE_WIDTH : 0;
	if (layout->columns < NARROW + layout->state_columns)
		return;
	layout->object_columns = object < OBJECT_MIN   ? OBJECT_MIN
				 : object > OBJECT_MAX ? OBJECT_MAX
						       : object;
}

/* The text of stack @idx, the leaf first, to @buf. */
static void stack_text(const struct layout *layout, uint32_t idx, char *buf, size_t size)
{
	uint32_t nr;
	const struct model *model = layout->model;
	const uint32_t *list = model_functions(model, idx, layout->control->query.kernel, &nr);
	size_t used = 0;

	*buf = '\0';
	for (uint32_t i = nr; i-- > 0 && used < size;) {
		int n = snprintf(buf + used, size - used, "%s%s", i + 1 < nr ? " < " : "",
				 model_function(model, list[i]));

		used += n > 0 ? (size_t)n : 0;
	}
}

/* The name of a row, and its place: texts that live as long as @buf [@size]. */
static const char *row_text(const struct layout *layout, const struct table_row *row, char *buf,
			    size_t size, const char **ret_place)
{
	const struct model *model = layout->model;

	switch (row->kind) {
	case TABLE_ROW_FUNCTION:
		*ret_place = model_place(model, row->index);
		return model_function(model, row->index);
	case TABLE_ROW_STACK:
		*ret_place = model_comm(model, row->index);
		stack_text(layout, row->index, buf, size);
		return buf;
	case TABLE_ROW_PROCESS:
		snprintf(buf, size, "%u", model->recording->stacks[row->index].pid);
		*ret_place = buf;
		return model_comm(model, row->index);
	case TABLE_ROW_HEADING:
		break;
	}
	*ret_place = "";
	return row->heading;
}

static enum page_style share_style(double percent)
{
	return percent >= HOT	 ? PAGE_STYLE_HOT
	       : percent >= WARM ? PAGE_STYLE_WARM
				 : PAGE_STYLE_PLAIN;
}

/* "  35.9  35.9  object      function", as far as there is room; by state that stands before the
 * object. */
static int put_row(struct layout *layout, const struct table_row *row, bool selected)
{
	const struct control *control = layout->control;
	double self = share_percent(row->self, layout->table->sum);
	double total = share_percent(row->total, layout->table->sum);
	bool by_total = control->query.sort == TABLE_SORT_TOTAL;
	char buf[STACK_CHARS], shares[32], object[4 * OBJECT_MAX + 1] = "";
	const char *place, *text = row_text(layout, row, buf, sizeof(buf), &place);
	bool kernel = row->kind == TABLE_ROW_FUNCTION &&
		      layout->model->index.functions.list[row->index].kind == FUNCTION_KERNEL;
	size_t taken = width_fit(object, sizeof(object), place, layout->object_columns);

	if (row->kind == TABLE_ROW_HEADING)
		return put_format(layout, selected ? PAGE_STYLE_SELECTED : PAGE_STYLE_HEADING, "%s",
				  text);
	if (layout->two_shares)
		snprintf(shares, sizeof(shares), "%6.1f %6.1f", self, total);
	else
		snprintf(shares, sizeof(shares), "%5.1f", by_total ? total : self);

	int err = put_format(layout,
			     selected ? PAGE_STYLE_SELECTED
			     : kernel ? PAGE_STYLE_KERNEL
				      : PAGE_STYLE_PLAIN,
			     "%s %-*s%s%*s%s%s", shares, (int)layout->state_columns,
			     layout->state_columns ? state_key(row->state) : "", object,
			     (int)(layout->object_columns - taken), "",
			     layout->object_columns ? "  " : "", text);

	if (!err && !selected) {
		struct page_line *line = &layout->page->lines.list[layout->page->lines.nr - 1];

		line->share_style = share_style(by_total ? total : self);
		line->share_bytes = strnlen(line->text, strlen(shares));
	}
	return err;
}

static int put_columns(struct layout *layout)
{
	static const char *const names[TABLE_VIEW_COUNT][2] = {
		[TABLE_VIEW_FUNCTIONS] = { "OBJECT", "FUNCTION" },
		[TABLE_VIEW_STACKS] = { "TASK", "STACK (leaf < caller)" },
		[TABLE_VIEW_PROCESSES] = { "PID", "COMMAND" },
		[TABLE_VIEW_NEIGHBOURS] = { "OBJECT", "FUNCTION" },
		[TABLE_VIEW_FRAMES] = { "OBJECT", "FUNCTION (leaf first)" },
	};
	const struct control *control = layout->control;
	const char *const *name = names[control->query.view];
	bool by_total = control->query.sort == TABLE_SORT_TOTAL;
	int object = (int)layout->object_columns, state = (int)layout->state_columns;

	if (!layout->two_shares)
		return put_format(layout, PAGE_STYLE_COLUMNS, "%s %-*s",
				  by_total ? " TOT%" : "SELF%", (int)layout->columns, name[1]);
	/* the mark of TOTAL% takes a column of the next one */
	return put_format(layout, PAGE_STYLE_COLUMNS, "%6s %6s %-*s%-*s%s%-*s",
			  by_total ? "SELF%" : "*SELF%", by_total ? "*TOTAL%" : "TOTAL%",
			  state ? state - by_total : 0, state ? "STATE" : "",
			  state ? object : object - by_total, object ? name[0] : "",
			  object ? "  " : "", (int)layout->columns, name[1]);
}

/* "  blocked 70.1 %  on-cpu 29.9 %" to @buf; "" where rows are of no states. */
static void state_shares(const struct layout *layout, char *buf, size_t size)
{
	const struct table *table = layout->table;
	size_t used = 0;

	*buf = '\0';
	if (!layout->control->query.by_state)
		return;
	for (uint8_t i = RECORDING_STATE_ON_CPU; i < RECORDING_STATE_COUNT && used < size; i++)
		if (table->states[i])
			used += (size_t)snprintf(buf + used, size - used, "  %s %.1f %%",
						 state_key(i),
						 share_percent(table->states[i], table->sum));
}

/* "fpless top: all  198 samples in 10.0 s". */
static int put_title(struct layout *layout, const struct page_facts *facts)
{
	const struct control *control = layout->control;
	char lost[48] = "", said[MEASURE_NUMBER_SIZE + sizeof(facts->measure->noun) + 8];

	if (facts->lost)
		snprintf(lost, sizeof(lost), "  lost %" PRIu64, facts->lost);
	return put_format(layout, PAGE_STYLE_TITLE, "%s%s in %.1f s%s%s  fpless top: %s",
			  control->paused ? "PAUSED  " : "",
			  measure_reported(facts->measure, layout->table->sum, said, sizeof(said)),
			  (double)facts->length_ns / 1e9,
			  control->since_start ? " since start" : "", lost, facts->what);
}

/* The choice of rows that is shown. */
static int put_choice(struct layout *layout)
{
	const struct control *control = layout->control;
	const struct table_query *query = &control->query;
	char filter[4 * CONTROL_TEXT_MAX + 1] = "", process[48] = "", states[128];
	const char *shown = query->view == TABLE_VIEW_STACKS	  ? "stacks"
			    : query->view == TABLE_VIEW_PROCESSES ? "processes"
			    : query->view == TABLE_VIEW_FUNCTIONS ? "functions"
			    : query->view == TABLE_VIEW_FRAMES	  ? "frames of a stack"
								  : "callers and callees";

	text_escape(filter, sizeof(filter), control->filter, "");
	if (query->has_process)
		snprintf(process, sizeof(process), " of pid %u", query->pid);
	state_shares(layout, states, sizeof(states));
	return put_format(layout, PAGE_STYLE_PLAIN, "%s%s%s%s%s%s%s  %.1f %% shown%s%s", shown,
			  process, query->state ? ", " : "", state_key(query->state),
			  *filter ? " /" : "", filter, *filter ? "/" : "",
			  share_percent(layout->table->shown, layout->table->sum), states,
			  query->kernel ? "" : "  without the kernel");
}

/* The last line: what is typed, what is to be said, or the keys. */
static int put_status(struct layout *layout, const struct page_facts *facts)
{
	const struct control *control = layout->control;
	char safe[4 * CONTROL_TEXT_MAX + 1], message[8 * CONTROL_TEXT_MAX + 1];

	if (control->typing) {
		text_escape(safe, sizeof(safe), control->input, "");
		layout->page->cursor_line = layout->page->lines.nr;
		layout->page->cursor_column = 1 + width_of(safe);
		if (layout->page->cursor_column >= layout->columns)
			layout->page->cursor_column = layout->columns - 1;
		return put_format(layout, PAGE_STYLE_STATUS, "/%s", safe);
	}
	text_escape(message, sizeof(message), control->message, "");
	if (*message)
		return put(layout, PAGE_STYLE_STATUS, message);
	if (*facts->log)
		return put(layout, PAGE_STYLE_STATUS, facts->log);
	return put(layout, PAGE_STYLE_STATUS,
		   layout->columns < 60 ? "h help  q quit"
					: "h help  q quit  s sort  / filter  Enter more  Esc back  "
					  "Tab view  p pause");
}

static int put_help(struct layout *layout)
{
	static const char *const lines[] = {
		"q        quit; the books come then",
		"s        sort by self or total",
		"/        filter by a regular expression; empty: all",
		"Tab      functions, stacks, processes (1 2 3; P)",
		"Enter f  callers, callees, stacks of a function",
		"         frames of a stack, functions of a process",
		"Esc      back; then: no filter",
		"p space  pause, go on: counting does not stop",
		"k        with the kernel, or without",
		"w        the last seconds, or since the start",
		"r        forget what was counted",
		"+ -      less often, more often",
		"arrows, Page Up and Down, Home, End: move",
		"Ctrl-Z   stop for a while",
	};
	int err = 0;

	for (size_t i = 0;
	     !err && i < ARRAY_SIZE(lines) && layout->page->lines.nr + 1 < layout->lines; i++)
		err = put(layout, PAGE_STYLE_PLAIN, lines[i]);
	while (!err && layout->page->lines.nr + 1 < layout->lines)
		err = put(layout, PAGE_STYLE_PLAIN, "");
	return err || is_full(layout) ? err : put(layout, PAGE_STYLE_STATUS, "any key: back");
}

/* Rows around the cursor. */
static int put_rows(struct layout *layout, size_t nr_lines)
{
	const struct table *table = layout->table;
	struct control *control = layout->control;
	size_t *first = &layout->page->first;
	int err = 0;

	control->page = nr_lines ? nr_lines : 1;
	if (control->selected < *first)
		*first = control->selected;
	if (control->selected >= *first + control->page)
		*first = control->selected - control->page + 1;
	if (*first + control->page > table->nr)
		*first = table->nr > control->page ? table->nr - control->page : 0;
	for (size_t i = 0; !err && i < nr_lines; i++) {
		size_t row = *first + i;

		err = row < table->nr ? put_row(layout, &table->list[row], row == control->selected)
				      : put(layout, PAGE_STYLE_PLAIN,
					    table->nr || i ? ""
					    : table->sum   ? "nothing to show"
							   : "nothing was sampled yet");
	}
	return err;
}

int page_make(const struct page_facts *facts, const struct model *model, const struct table *table,
	      struct control *control, size_t columns, size_t lines, struct page *ret)
{
	struct layout layout = {
		.page = ret,
		.model = model,
		.table = table,
		.control = control,
		.columns = columns,
		.lines = lines,
	};
	/* what a low screen has no line for gives way: first the choice, then title and status */
	bool has_choice = lines >= 8, has_frame = lines >= 3;
	size_t nr_others = 1u + has_choice + 2u * has_frame;
	int err = 0;

	clear(ret);
	choose_columns(&layout);
	control_fit(control, table);
	if (control->help)
		return put_help(&layout);
	if (has_frame)
		err = put_title(&layout, facts);
	if (!err && has_choice)
		err = put_choice(&layout);
	if (!err)
		err = put_columns(&layout);
	if (!err)
		err = put_rows(&layout, lines > nr_others ? lines - nr_others : 0);
	return err || !has_frame ? err : put_status(&layout, facts);
}
