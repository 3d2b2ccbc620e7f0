/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places that most walks ended in, as the notes of a recording list them ("incomplete.most[]"):
 * lists of several recordings as one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

#define PLACE_LIST_MAX 5u /* as many are listed */

/* Is @key one of an element of the list? */
bool place_list_has_key(const char *key);

/*
 * Make the list of @to that of both: equal places (stop, function, object) become one, most samples
 * first. @ret_common: how many were in both lists. Errors: -EOVERFLOW samples beyond 64 bits.
 */
FPL_MUST_CHECK int place_list_merge(struct recording *to, const struct recording *from,
				    size_t *ret_common);
