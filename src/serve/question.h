/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as a question to `fpless query': the path says which, parameters become its options,
 * one word each, and what they mean is checked there. Pure: the request is hostile.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define QUESTION_TARGET_MAX 4096u /* bytes of a request's target */
#define QUESTION_VALUE_MAX  512u  /* of a parameter */
#define QUESTION_WORDS_MAX  20u

struct question {
	const char *type; /* of the answer, as Content-Type has it */
	const char *file; /* what a browser is to call the answer; NULL: it shows it */
	bool is_page;	  /* the answer is a page with scripts of its own */
	char *words[QUESTION_WORDS_MAX]; /* "query", ..., NULL; the first ones are borrowed */
	unsigned nr_words;
	char text[2 * QUESTION_TARGET_MAX]; /* private: the others, each with its NUL */
	unsigned nr_text;
};

/*
 * Read @target, "/api/top?from=-1h", as it is in the request. *ret must not move. Errors: -ENOENT
 * nothing has this path; -EINVAL a parameter that is not known, given twice, too long, or has bytes
 * that no text has. Cost: O(length).
 */
FPL_MUST_CHECK int question_parse(const char *target, struct question *ret, struct fpl_err *err);
