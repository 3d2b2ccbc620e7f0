/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Room of the first allocation. */
#define ROOM_MIN 64u

int array_reserve(void *list_ptr, size_t size, size_t *room, size_t wanted)
{
	void **list = list_ptr;
	size_t bigger_room = *room ? *room : wanted > ROOM_MIN ? wanted : ROOM_MIN;

	if (wanted <= *room)
		return 0;
	while (bigger_room < wanted) {
		if (bigger_room > SIZE_MAX / 2)
			return -ENOMEM;
		bigger_room *= 2;
	}

	void *bigger = reallocarray(*list, bigger_room, size);

	if (!bigger)
		return -ENOMEM;
	*list = bigger;
	*room = bigger_room;
	return 0;
}

void array_trim(void *list_ptr, size_t size, size_t *room, size_t nr)
{
	void **list = list_ptr;
	size_t smaller_room = nr ? nr : 1;
	void *smaller = smaller_room < *room ? reallocarray(*list, smaller_room, size) : NULL;

	if (!smaller)
		return;
	*list = smaller;
	*room = smaller_room;
}
