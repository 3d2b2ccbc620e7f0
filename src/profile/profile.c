/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/code_names.h"
#include "profile/jvm_codes.h"
#include "profile/script_codes.h"

/* All names, or those that there is room for. */
static void join_names(const struct profile_source *list, size_t nr, char *ret, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < nr && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? "," : "",
					 list[i].name);
	if (used >= size)
		memcpy(ret + size - 4, "...", 4);
}

void profile_set_sources(struct profile *profile, const struct profile_source *list, size_t nr)
{
	struct profile_source *all = &profile->source;

	profile->nr_sources = nr > 1 ? nr : 0;
	if (nr == 1) {
		*all = list[0];
		return;
	}
	memcpy(profile->sources, list, nr * sizeof(*list));
	*all = (struct profile_source){ 0 };
	join_names(list, nr, all->name, sizeof(all->name));
}

const struct profile_source *profile_clock(const struct profile *profile)
{
	if (!profile->nr_sources)
		return profile_source_is_clock(&profile->source) ? &profile->source : NULL;
	for (size_t i = 0; i < profile->nr_sources; i++)
		if (profile_source_is_clock(&profile->sources[i]))
			return &profile->sources[i];
	return NULL;
}

bool profile_counts_events(const struct profile *profile)
{
	return profile->nr_sources || !profile_source_is_clock(&profile->source);
}

uint64_t profile_shown(const struct profile *profile)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++)
		shown += profile->stacks[i].count;
	return shown;
}

uint32_t *profile_stack_links(const struct profile_stack *stack)
{
	size_t nr = (size_t)stack->nr_user + stack->nr_kernel + stack->nr_fp;

	return stack->nr_key == FPL_KEY_MAX ? (uint32_t *)(stack->frames + nr + FPL_WAIT_LINKS)
					    : NULL;
}

uint32_t profile_link(const struct profile *profile, const struct profile_stack *stack, size_t i)
{
	const uint32_t *links = i < profile->nr_links ? profile_stack_links(stack) : NULL;

	return links ? links[i] : 0;
}

const struct profile_stack *profile_waker(const struct profile *profile, uint32_t link)
{
	return link && link <= profile->nr_wakers ? &profile->wakers[link - 1] : NULL;
}

void profile_move_events(struct profile *profile, const uint32_t *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->nr_events; i++) {
		struct profile_event event = profile->events[i];

		event.stack = places[event.stack];
		if (event.stack != PROFILE_NO_STACK)
			profile->events[kept++] = event;
	}
	profile->nr_events = kept;
}

static int compare_id(const void *id, const void *cgroup)
{
	uint64_t a = *(const uint64_t *)id, b = ((const struct cgroup_name *)cgroup)->id;

	return (a > b) - (a < b);
}

const char *profile_cgroup(const struct profile *profile, uint64_t id)
{
	const struct cgroup_name *found =
		profile->nr_cgroups ? bsearch(&id, profile->cgroups, profile->nr_cgroups,
					      sizeof(*profile->cgroups), compare_id)
				    : NULL;

	return found ? found->path : NULL;
}

void profile_fini(struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_objects; i++)
		profile_object_fini(&profile->objects[i]);
	free(profile->objects);
	for (size_t i = 0; i < profile->nr_cgroups; i++)
		free(profile->cgroups[i].path);
	free(profile->cgroups);
	for (size_t i = 0; i < profile->nr_stacks; i++)
		free(profile->stacks[i].frames);
	free(profile->stacks);
	for (size_t i = 0; i < profile->nr_wakers; i++)
		free(profile->wakers[i].frames);
	free(profile->wakers);
	free(profile->locks);
	free(profile->threads);
	free(profile->events);
	code_names_destroy(profile->code_names);
	code_orders_destroy(profile->code_orders);
	jvm_codes_put(profile->jvm_codes);
	script_codes_put(profile->script_codes);
	*profile = (struct profile){ 0 };
}

bool profile_find_code(const struct profile *profile, const struct profile_stack *stack,
		       uint64_t lookup_addr, struct code_name *ret)
{
	struct code_match match;

	if (profile->code_names &&
	    code_names_find(profile->code_names, stack->gen, lookup_addr, stack->first_ns, ret))
		return true;
	if (!jvm_codes_find(profile->jvm_codes, stack->gen, lookup_addr, stack->first_ns, &match))
		return false;
	*ret = code_name_of(&match, lookup_addr);
	return true;
}
