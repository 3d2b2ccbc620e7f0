/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/retirement.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "profile/collect.h"
#include "profile/lookups.h"
#include "profile/share.h"

#define LOOK_PAUSE_NS	    1000000000ull
#define LOOK_PAUSE_SHORT_NS 100000000ull
/* New objects that make a look worth it, where there is room for many. */
#define LOOK_LEAST 64u

static bool is_short(const struct retirement *retirement)
{
	size_t max = catalog_nr_max(retirement->config.catalog);

	return catalog_nr_live(retirement->config.catalog) > max / 4 * 3 ||
	       catalog_nr_of_limited(retirement->config.catalog) > share_of(max) / 4 * 3;
}

/* How many idle objects stay. */
static size_t nr_to_keep(const struct retirement *retirement)
{
	size_t share = catalog_nr_max(retirement->config.catalog) / 8;

	return share < RETIREMENT_KEEP ? share : RETIREMENT_KEEP;
}

static bool is_named(const struct retirement *retirement, const struct object *object)
{
	return intakes_name(retirement->config.intakes, object->id);
}

static bool is_needed(const struct retirement *retirement, const struct object *object)
{
	return object->round == retirement->config.tables->round ||
	       (!retirement->config.namer && is_named(retirement, object)) ||
	       !tables_may_forget(retirement->config.tables, object) ||
	       object->path[0] == '['; /* the vDSO */
}

/* The longest idle first. */
static int compare_idle(const void *left, const void *right)
{
	const struct object *a = *(struct object *const *)left, *b = *(struct object *const *)right;

	if (a->idle_ns != b->idle_ns)
		return a->idle_ns < b->idle_ns ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* The objects that nothing needs. */
struct idle {
	struct object **list; /* [nr]: idle for long enough */
	size_t nr;
	size_t nr_young; /* others */
};

static void find_idle(struct retirement *retirement, uint64_t now, struct idle *ret)
{
	tables_mark_mapped(retirement->config.tables);
	replayer_mark_mapped(retirement->config.replayer, retirement->config.tables->round);
	if (retirement->config.collect)
		collect_mark_mapped(retirement->config.collect, retirement->config.tables->round);
	for (size_t i = 0; i < catalog_nr_live(retirement->config.catalog); i++) {
		struct object *object = catalog_live(retirement->config.catalog, i);

		if (is_needed(retirement, object)) {
			object->idle_ns = 0;
			continue;
		}
		if (!object->idle_ns)
			object->idle_ns = now;
		if (now - object->idle_ns >= RETIREMENT_IDLE_NS)
			ret->list[ret->nr++] = object;
		else
			ret->nr_young++;
	}
}

/* Tells the namer of frames that are new. */
static void expect_names(struct retirement *retirement)
{
	const struct stack_store *store = retirement->config.intakes->now->store;
	uint32_t nr = stack_store_nr(store);
	struct profile_stack stack;

	for (; retirement->nr_expected < nr; retirement->nr_expected++) {
		stack_store_look(store, retirement->nr_expected, &stack);
		retirement->config.namer->expect(retirement->config.namer->ctx, stack.frames,
						 stack.nr_user);
	}
}

/* Returns true where the object can go; else its names are on their way, if they can be had. */
static bool settle_names(struct retirement *retirement, struct object *object)
{
	struct met_file file = object_file(object);
	const struct profile_object described = { .id = object->id,
						  .path = object->path,
						  .file = &file };

	if (!is_named(retirement, object))
		return true;
	if (!retirement->config.namer->settle(retirement->config.namer->ctx, &described))
		return false;
	return !catalog_keep_id(retirement->config.catalog, object);
}

/* Keep in @idle only the objects that can go. */
static void settle_all_names(struct retirement *retirement, struct idle *idle)
{
	size_t nr = idle->nr;

	idle->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		if (settle_names(retirement, idle->list[i]))
			idle->list[idle->nr++] = idle->list[i];
		else
			retirement->has_young = true;
	}
}

static void look(struct retirement *retirement, uint64_t now)
{
	size_t nr_live = catalog_nr_live(retirement->config.catalog), keep = nr_to_keep(retirement);
	AUTO_FREE struct object **list = calloc(nr_live, sizeof(*list));
	struct lookups *lookups = retirement->config.tracker->lookups;
	struct idle idle = { .list = list };

	if (!list)
		return;
	find_idle(retirement, now, &idle);
	retirement->has_young = idle.nr_young > keep;
	if (idle.nr <= keep)
		return;
	qsort(list, idle.nr, sizeof(struct object *), compare_idle);
	idle.nr -= keep / 2; /* so that the next look is not for one more */
	if (retirement->config.namer)
		expect_names(retirement);
	settle_all_names(retirement, &idle);
	if (!idle.nr || !retirement->config.before(retirement->config.ctx))
		return;
	if (lookups && lookups_forget(lookups, list, idle.nr))
		return;
	for (size_t i = 0; i < idle.nr; i++)
		retirement->config.after(retirement->config.ctx, list[i]);
	tables_forget(retirement->config.tables, list, idle.nr);
	catalog_retire(retirement->config.catalog, list, idle.nr);
	if (!lookups) {
		finder_forget(catalog_finder(retirement->config.catalog), list, idle.nr);
		catalog_free(retirement->config.catalog, list, idle.nr);
	}
	fpl_log(FPL_LOG_DEBUG, "%zu files that nothing maps any more were closed; %zu are open",
		idle.nr, catalog_nr_live(retirement->config.catalog));
}

static bool is_due(const struct retirement *retirement, uint64_t now)
{
	size_t nr, keep, nr_new;

	/* before all that has to be counted for it, since it is asked in each round */
	if (now < retirement->looked_ns + LOOK_PAUSE_SHORT_NS)
		return false;
	if (is_short(retirement))
		return true;
	if (now < retirement->looked_ns + LOOK_PAUSE_NS)
		return false;
	nr = catalog_nr_live(retirement->config.catalog);
	keep = nr_to_keep(retirement);
	nr_new = keep < LOOK_LEAST ? keep : LOOK_LEAST;
	return retirement->has_young || nr >= retirement->nr_kept + nr_new;
}

void retirement_review(struct retirement *retirement, uint64_t now)
{
	if (!is_due(retirement, now))
		return;
	retirement->looked_ns = now;
	look(retirement, now);
	retirement->nr_kept = catalog_nr_live(retirement->config.catalog);
}
