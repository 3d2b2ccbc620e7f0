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

bool table_find_rule(const struct table *table, enum fpl_cfa cfa, struct fpl_rule *ret)
{
	uint32_t at = table->rules_off & (FPL_CHUNK_SIZE - 1), step;
	uint32_t end = table->image_bytes - (table->rules_off - at);
	const uint8_t *chunk = table->chunks[table->rules_off >> FPL_CHUNK_LOG2];

	if (end > FPL_CHUNK_SIZE)
		end = FPL_CHUNK_SIZE;
	/* extended rules are no rules, so slots are looked at from the first one on */
	for (; at + FPL_RULE_REACH <= end; at += step) {
		const struct fpl_rule *rule = (const void *)(chunk + at);
		const struct fpl_ext *ext = (const void *)(rule + 1);

		step = sizeof(*rule);
		if (rule->flags & FPL_RULE_EXT)
			step *= 1 + (ext->count + 1u) / 2;
		if (rule->cfa == cfa) {
			*ret = *rule;
			return true;
		}
	}
	return false;
}

const struct fpl_rule *table_find(const struct table *table, uint64_t vaddr)
{
	uint64_t start, end;

	return table_find_reach(table, vaddr, &start, &end);
}
