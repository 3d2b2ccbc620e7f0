/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/comm_filter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Names judged lately, by hash: a later one takes the place. */
#define NR_RECENT 1024u

struct judged {
	struct fpl_comm comm;
	uint32_t verdict; /* 0: free */
};

struct comm_filter {
	regex_t regex;
	bool by_key;
	void (*tell)(void *ctx, const struct fpl_comm *comm, uint32_t verdict);
	void *ctx;
	struct judged recent[NR_RECENT];
};

int comm_filter_create(const char *regex, bool by_key, struct comm_filter **ret,
		       struct fpl_err *err)
{
	struct comm_filter *filter = calloc(1, sizeof(*filter));
	char why[128];
	int code;

	if (!filter)
		return fpl_fail(err, -ENOMEM, "--comm: out of memory");
	code = regcomp(&filter->regex, regex, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, &filter->regex, why, sizeof(why));
		free(filter);
		return fpl_fail(err, code == REG_ESPACE ? -ENOMEM : -EINVAL, "--comm %s: %s", regex,
				why);
	}
	filter->by_key = by_key;
	*ret = filter;
	return 0;
}

void comm_filter_destroy(struct comm_filter *filter)
{
	if (!filter)
		return;
	regfree(&filter->regex);
	free(filter);
}

void comm_filter_tell(struct comm_filter *filter,
		      void (*tell)(void *ctx, const struct fpl_comm *comm, uint32_t verdict),
		      void *ctx)
{
	filter->tell = tell;
	filter->ctx = ctx;
}

/* Its place among those judged lately: FNV-1a, 32 bits. */
static struct judged *place_of(struct comm_filter *filter, const struct fpl_comm *comm)
{
	uint32_t hash = 0x811c9dc5u;

	for (size_t i = 0; i < sizeof(comm->name); i++)
		hash = (hash ^ (uint8_t)comm->name[i]) * 0x01000193u;
	return &filter->recent[hash % NR_RECENT];
}

static bool wants(struct comm_filter *filter, const char *comm)
{
	struct fpl_comm key = { 0 };
	struct judged *judged;
	char text[FPL_COMM_SIZE + 1] = "";

	memcpy(key.name, comm, strnlen(comm, sizeof(key.name)));
	judged = place_of(filter, &key);
	if (!judged->verdict || memcmp(&judged->comm, &key, sizeof(key)) != 0) {
		memcpy(text, key.name, sizeof(key.name));
		judged->comm = key;
		judged->verdict = regexec(&filter->regex, text, 0, NULL, 0) == 0
					  ? FPL_COMM_WANTED
					  : FPL_COMM_UNWANTED;
		if (filter->tell)
			filter->tell(filter->ctx, &key, judged->verdict);
	}
	return judged->verdict == FPL_COMM_WANTED;
}

bool comm_filter_wants(struct comm_filter *filter, const char *comm, uint8_t flags,
		       const uint64_t *key, uint16_t nr_key)
{
	if (flags & FPL_SAMPLE_WAKER)
		return true;
	return wants(filter, filter->by_key && nr_key == FPL_KEY_MAX ? (const char *)key : comm);
}

bool comm_filter_wants_stack(struct comm_filter *filter, const struct profile_stack *stack)
{
	return comm_filter_wants(filter, stack->comm, stack->flags,
				 stack->frames + stack->nr_user + stack->nr_kernel + stack->nr_fp,
				 stack->nr_key);
}

uint64_t comm_filter_apply(struct comm_filter *filter, struct profile *profile)
{
	AUTO_FREE uint32_t *places = calloc(profile->nr_stacks + 1, sizeof(*places));
	uint64_t nr_filtered = 0;
	size_t kept = 0;

	filter->tell = NULL; /* nothing is sampled any more */
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		struct profile_stack *stack = &profile->stacks[i];

		if (comm_filter_wants_stack(filter, stack)) {
			if (places)
				places[i] = (uint32_t)kept;
			profile->stacks[kept++] = *stack;
			continue;
		}
		if (places)
			places[i] = PROFILE_NO_STACK;
		nr_filtered += stack->count;
		free(stack->frames);
	}
	profile->nr_stacks = kept;
	if (places)
		profile_move_events(profile, places);
	else
		profile->nr_events = 0; /* the profile has no stacks left for these times */
	return nr_filtered;
}
