/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow: as { list, nr, room } of a struct, or as variables. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/*
 * Make room for @wanted entries of @size bytes. @list_ptr: the address of the pointer to the array,
 * which may move; *room: its capacity, at first 64 or @wanted. Errors: -ENOMEM, without any change.
 * Cost: O(1) for each entry, over all calls.
 */
FPL_MUST_CHECK int array_reserve(void *list_ptr, size_t size, size_t *room, size_t wanted);

/* Give back the room behind the first @nr entries; where that is not possible it stays. */
void array_trim(void *list_ptr, size_t size, size_t *room, size_t nr);
