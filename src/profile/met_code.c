/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/met_code.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/id_table.h"
#include "base/log.h"
#include "base/vector.h"
#include "jit/hotspot.h"
#include "profile/frame.h"

struct met {
	uint64_t gen, asked;
};

struct met_code {
	pthread_mutex_t lock; /* of all below */
	VECTOR(struct met) all;
	struct id_table ids; /* of all, by both */
	size_t nr_leaves;    /* among them */
	bool is_full;	     /* said */
};

int met_code_create(struct met_code **ret)
{
	struct met_code *met = calloc(1, sizeof(*met));

	if (!met)
		return -ENOMEM;
	pthread_mutex_init(&met->lock, NULL);
	*ret = met;
	return 0;
}

void met_code_destroy(struct met_code *met)
{
	if (!met)
		return;
	vector_fini(&met->all);
	id_table_fini(&met->ids);
	pthread_mutex_destroy(&met->lock);
	free(met);
}

/* Under the lock. */
static bool has_room(const struct met_code *met, bool is_leaf)
{
	return met->all.nr < MET_CODE_MAX && (!is_leaf || met->nr_leaves < MET_CODE_LEAVES_MAX);
}

/* Under the lock. */
static void add(struct met_code *met, uint64_t gen, uint64_t asked, bool is_leaf)
{
	const struct met key = { gen, asked };
	uint64_t hash = id_table_hash(0, &key, sizeof(key));

	if (ID_TABLE_FIND(&met->ids, hash, i,
			  met->all.list[i].asked == asked && met->all.list[i].gen == gen) !=
	    ID_TABLE_NONE)
		return;
	if (!has_room(met, is_leaf)) {
		if (!met->is_full)
			fpl_log(FPL_LOG_WARN,
				"more than %zu addresses in code made at run time: what is inlined "
				"at others is not known",
				met->all.nr);
		met->is_full = true;
		return;
	}
	if (vector_reserve(&met->all, met->all.nr + 1) ||
	    id_table_add(&met->ids, hash, (uint32_t)met->all.nr))
		return;
	met->all.list[met->all.nr++] = key;
	met->nr_leaves += is_leaf;
}

void met_code_add(struct met_code *met, uint64_t gen, const uint64_t *frames, size_t nr)
{
	pthread_mutex_lock(&met->lock);
	for (size_t i = 0; i < nr; i++) {
		bool is_leaf = frame_is_exact(frames[i]);

		if (fpl_frame_is_jit(frames[i]))
			add(met, gen, hotspot_asked(frame_addr(frames[i]) - !is_leaf, is_leaf),
			    is_leaf);
	}
	pthread_mutex_unlock(&met->lock);
}

size_t met_code_take(struct met_code *met, uint64_t gen, size_t *from, uint64_t *ret, size_t max)
{
	size_t nr = 0;

	pthread_mutex_lock(&met->lock);
	for (; nr < max && *from < met->all.nr; ++*from)
		if (met->all.list[*from].gen == gen)
			ret[nr++] = met->all.list[*from].asked;
	pthread_mutex_unlock(&met->lock);
	return nr;
}
