/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a reader of the screen, key by key: no terminal in here. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top/table.h"

/* Keys that are no character; characters are themselves. */
enum control_key {
	CONTROL_KEY_UP = 0x110000, /* behind the last character */
	CONTROL_KEY_DOWN,
	CONTROL_KEY_LEFT,
	CONTROL_KEY_RIGHT,
	CONTROL_KEY_PAGE_UP,
	CONTROL_KEY_PAGE_DOWN,
	CONTROL_KEY_HOME,
	CONTROL_KEY_END,
	CONTROL_KEY_ENTER,
	CONTROL_KEY_BACKSPACE,
	CONTROL_KEY_ESCAPE,
};

#define CONTROL_TEXT_MAX 128u
#define CONTROL_BACK_MAX 16u

/* A place that the reader can go back to. */
struct control_place {
	enum table_view view;
	bool has_process;
	uint32_t pid, function, stack;
	uint64_t task;
	uint8_t state;
	size_t selected;
};

struct control {
	struct table_query query; /* its filter is ours */
	bool since_start, paused, help, quit;
	bool reset;		       /* the counts are to be forgotten: whoever does clears it */
	bool suspend;		       /* the program is to stop for a while: likewise */
	bool typing;		       /* the filter */
	char filter[CONTROL_TEXT_MAX]; /* "": none */
	char input[CONTROL_TEXT_MAX];  /* what is typed */
	size_t input_size;
	char message[2 * CONTROL_TEXT_MAX]; /* to be shown until the next key; "": none */
	regex_t regex;
	bool has_regex;
	uint32_t interval_ms;
	size_t selected, page; /* row under the cursor; rows that fit the screen */
	struct control_place back[CONTROL_BACK_MAX];
	size_t nr_back;
};

void control_init(struct control *control, const struct table_query *query, uint32_t interval_ms,
		  bool since_start);
void control_fini(struct control *control);

/* Show only what matches @text from now on; "": all. An invalid pattern changes nothing but the
 * message. Returns whether it was taken. */
bool control_set_filter(struct control *control, const char *text);

/* A key, while @table is shown of @model. */
void control_take_key(struct control *control, int key, const struct model *model,
		      const struct table *table);

/* Other rows are shown: the cursor stays on one of them. */
void control_fit(struct control *control, const struct table *table);
