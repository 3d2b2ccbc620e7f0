/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/profile.h"

void profile_object_fini(struct profile_object *object)
{
	free(object->path);
	free(object->build_id);
	if (object->file)
		cleanup_fd(&object->file->fd);
	free(object->file);
	*object = (struct profile_object){ 0 };
}
