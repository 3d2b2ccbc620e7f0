/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses of objects whose files are about to be closed, found by a thread: the thread
 * of the run only hands questions over and takes answers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "parse/parser.h"
#include "symbolize/symbol_question.h"

/* Questions that are open at once. */
#define OBJECT_NAMER_MAX 256u

struct object_namer;

/* @parser: borrowed; workers of it read the files. The thread begins with the first question. */
FPL_MUST_CHECK int object_namer_create(struct parser *parser, struct object_namer **ret);
/* Waits for the question at hand, which the workers' limits bound; the others are dropped. NULL is
 * allowed. */
void object_namer_destroy(struct object_namer *namer);

/* May one more question be asked? */
bool object_namer_has_room(const struct object_namer *namer);

/* Ask about the object with @id, a file of the user @uid. The question is taken over, in any case.
 * Errors: -ENOMEM; as pthread_create(3). */
FPL_MUST_CHECK int object_namer_ask(struct object_namer *namer, uint32_t id, uint64_t uid,
				    struct symbol_question *question);

/* Take a question and its answer, both the caller's to end. False: there is none yet. */
bool object_namer_take(struct object_namer *namer, uint32_t *ret_id,
		       struct symbol_question *ret_question, struct symbol_answer *ret);
