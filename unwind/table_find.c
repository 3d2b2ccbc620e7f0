/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

/* Access of lookup.h to the image: chunk numbers count from the table's own first. */
struct env {
	const struct table *table;
};

static const __u8 *env_chunk(struct env *env, __u32 chunk_no)
{
	return chunk_no < env->table->nr_chunks ? env->table->chunks[chunk_no] : NULL;
}

#include "bpf/lookup.h"

const struct fpl_rule *table_find_reach(const struct table *table, uint64_t vaddr,
					uint64_t *ret_start, uint64_t *ret_end)
{
	static const struct fpl_rule none[FPL_RULE_REACH / sizeof(struct fpl_rule)];
	struct env env = { .table = table };
	const struct fpl_object object = {
		.images = { { .rules_off = table->rules_off, .dir_off = table->dir_off } },
		.nr_pages = table->nr_pages,
		.first_vaddr = table->first_vaddr,
	};
	struct lookup_reach reach;
	const struct fpl_rule *rule = table_lookup(&env, &object, &object.images[0], vaddr, &reach);

	*ret_start = reach.start;
	*ret_end = reach.end;
	return rule ? rule : none;
}

const struct fpl_rule *table_find(const struct table *table, uint64_t vaddr)
{
	uint64_t start, end;

	return table_find_reach(table, vaddr, &start, &end);
}
