/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Comparing a field's number or text with a filter's; no memory of others is read here. */
#pragma once

#include "bpf/shared.h"

/* Does the test hold for @have, the number in its field, extended to 64 bits by its sign? */
static inline __attribute__((__always_inline__)) int event_compare(const struct fpl_test *test,
								   __u64 have)
{
	int is_signed = test->field.kind == FPL_FIELD_SIGNED;
	int is_less = is_signed ? (__s64)have < (__s64)test->value : have < test->value;

	switch (test->op) {
	case FPL_TEST_EQ:
		return have == test->value;
	case FPL_TEST_NE:
		return have != test->value;
	case FPL_TEST_LT:
		return is_less;
	case FPL_TEST_LE:
		return is_less || have == test->value;
	case FPL_TEST_GT:
		return !is_less && have != test->value;
	case FPL_TEST_GE:
		return !is_less;
	default:
		return (have & test->value) != 0;
	}
}

/* A text of FPL_FIELD_TEXT_MAX bytes and a pattern of FPL_TEST_TEXT, compared step by step. */
struct text_match {
	const char *text, *pattern;
	__u32 t, p;	   /* how far both have come */
	__u32 star_t;	   /* where the text of the last * ends so far, */
	__u32 behind_star; /* and where the pattern goes on; 0: there was no star */
	int is_plain;	   /* a * in the pattern is a * */
	int is_match;
};

#define MATCH_STEPS_MAX 4096u

static long text_match_step(__u32 idx, void *arg)
{
	struct text_match *match = arg;
	char c = match->pattern[match->p & (FPL_TEST_TEXT - 1)];
	char have = match->text[match->t & (FPL_FIELD_TEXT_MAX - 1)];

	(void)idx;
	if (c == '*' && !match->is_plain) {
		match->behind_star = ++match->p;
		match->star_t = match->t;
		return 0;
	}
	if (!have && !c) {
		match->is_match = 1;
		return 1;
	}
	if (have && (c == have || (c == '?' && !match->is_plain))) {
		match->t++;
		match->p++;
		return 0;
	}
	/* the star takes one byte more, if there is one */
	if (!match->behind_star || !have)
		return 1;
	match->t = ++match->star_t;
	match->p = match->behind_star;
	return 0;
}
