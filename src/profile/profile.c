/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <stdlib.h>

#include "profile/code_names.h"

uint64_t profile_shown(const struct profile *profile)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++)
		shown += profile->stacks[i].count;
	return shown;
}

void profile_fini(struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_objects; i++) {
		free(profile->objects[i].path);
		free(profile->objects[i].build_id);
	}
	free(profile->objects);
	for (size_t i = 0; i < profile->nr_stacks; i++)
		free(profile->stacks[i].frames);
	free(profile->stacks);
	code_names_destroy(profile->code_names);
	*profile = (struct profile){ 0 };
}
