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
#include "naming/asker.h"

/* Questions that are open at once. */
#define SETTLER_MAX 256u

struct settler;

/*
 * Begins the thread, with an asker of its own as @options say: its cache is not used, since files
 * that are retired are seldom met again. Errors: -ENOMEM; as pthread_create(3).
 */
FPL_MUST_CHECK int settler_create(const struct asker_options *options, struct settler **ret);
/* Waits for the question at hand, which the workers' limits bound; the others are never asked:
 * their answer is -ECANCELED. All can still be taken. */
void settler_stop(struct settler *settler);
/* The same, and drops all. NULL is allowed. */
void settler_destroy(struct settler *settler);

/* May one more question be asked? */
bool settler_has_room(const struct settler *settler);

/* Ask about the object with @id. The question is taken over, in any case. Errors: -ENOMEM. */
FPL_MUST_CHECK int settler_ask(struct settler *settler, uint32_t id,
			       struct name_question *question);

/* Take a question and its answer, both the caller's to end. False: no answer yet. */
bool settler_take(struct settler *settler, uint32_t *ret_id, struct name_question *ret_question,
		  struct name_answer *ret);
