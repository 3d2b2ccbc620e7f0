/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen full of a live view: lines that fit it, of any size, as text. A pure function of what is
 * shown.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "top/control.h"
#include "top/model.h"
#include "top/table.h"

enum page_style {
	PAGE_STYLE_PLAIN,
	PAGE_STYLE_TITLE,
	PAGE_STYLE_COLUMNS,  /* names of columns */
	PAGE_STYLE_HEADING,  /* of rows */
	PAGE_STYLE_SELECTED, /* the row under the cursor */
	PAGE_STYLE_KERNEL,
	PAGE_STYLE_HOT,	 /* of the share: 20 % and more */
	PAGE_STYLE_WARM, /* 5 % and more */
	PAGE_STYLE_STATUS,
	PAGE_STYLE_COUNT,
};

struct page_line {
	char *text;		     /* owned: at most as many columns as the page has */
	size_t share_bytes;	     /* of it, at its beginning, that are of share_style */
	enum page_style share_style; /* else style */
	enum page_style style;
};

struct page {
	VECTOR(struct page_line) lines;
	size_t cursor_line, cursor_column; /* where text is typed */
	size_t first;			   /* row of the table in the first line of rows */
};

struct page_facts {
	const char *what;    /* what is sampled; escaped */
	const char *time_of; /* rows are ns of this; NULL: samples */
	const char *log;     /* the last line that was logged; "": none */
	uint64_t length_ns;  /* that the samples are of */
	uint64_t lost;	     /* since the start */
	uint64_t window_ms;
};

/*
 * Lay out @table for @columns and @lines, both at least 1. control->page becomes the rows that fit.
 * @ret->first, of the page before, changes only as far as the cursor needs. Errors: -ENOMEM;
 * page_fini is safe then.
 */
FPL_MUST_CHECK int page_make(const struct page_facts *facts, const struct model *model,
			     const struct table *table, struct control *control, size_t columns,
			     size_t lines, struct page *ret);
void page_fini(struct page *page);
