/* SPDX-License-Identifier: Apache-2.0 */
/* Colours for a terminal: when to use them, and their codes. Other outputs stay plain. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* X(name, word of --color) */
#define STYLE_MODE_LIST(X)  \
	X(AUTO, "auto")     \
	X(ALWAYS, "always") \
	X(NEVER, "never")

#define X(name, word) STYLE_##name,
enum style_mode { STYLE_MODE_LIST(X) STYLE_MODE_COUNT };
#undef X

/* STYLE_MODE_COUNT if @word is not a mode. */
enum style_mode style_mode_of(const char *word);

/*
 * Should output to @fd be coloured? STYLE_AUTO: if @fd is a terminal, $TERM is neither missing nor
 * "dumb", and $NO_COLOR is not set to anything (no-color.org).
 */
bool style_is_wanted(enum style_mode mode, int fd);

enum style {
	STYLE_END, /* plain again */
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_CYAN,
};

/* The code that begins @style if @wanted, else "". */
const char *style_text(bool wanted, enum style style);
