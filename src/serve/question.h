/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as a question to `fpless query': a path says which, parameters become its options, one
 * word each, and what they mean is checked there. Pure: the request is hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define QUESTION_TARGET_MAX 4096u /* bytes of a request's target */
#define QUESTION_VALUE_MAX  512u  /* of a parameter */
#define QUESTION_WORDS_MAX  20u

#define QUESTION_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct question {
	const char *type; /* of the answer, as Content-Type has it */
	const char *file; /* what a browser is to call the answer; NULL: it shows it */
	bool is_page;	  /* the answer is a page with scripts of its own */
	char *words[QUESTION_WORDS_MAX]; /* "query", ..., NULL; the first ones are borrowed */
	unsigned nr_words;
	char text[2 * QUESTION_TARGET_MAX]; /* private: the others, each with its NUL */
	unsigned nr_text;
	const struct question_path *path; /* private, as what is below */
	const char *operand;		  /* of text: the last word; NULL: none */
	unsigned given;			  /* parameters: bits */
};

/* Begin the question that @path [@length] asks. *ret must not move. Errors: -ENOENT nothing has
 * this path. */
FPL_MUST_CHECK int question_begin(const char *path, size_t length, struct question *ret,
				  struct fpl_err *err);

/* Add the parameter @name [@length]. Errors: -EINVAL the path has no such parameter, it is given
 * twice, or @value is too long or has bytes that no text has. */
FPL_MUST_CHECK int question_add(struct question *question, const char *name, size_t length,
				const char *value, struct fpl_err *err);

/* End it; @store, "--store=FOLDER", is borrowed. Errors: -EINVAL a parameter is missing. */
FPL_MUST_CHECK int question_end(struct question *question, const char *store, struct fpl_err *err);

/*
 * All of that from @target, "/api/top?from=-1h", as it is in a request. Errors: as above; -EINVAL
 * also where it is too long. Cost: O(length).
 */
FPL_MUST_CHECK int question_parse(const char *target, const char *store, struct question *ret,
				  struct fpl_err *err);
