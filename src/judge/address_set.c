/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/address_set.h"

void address_set_fini(struct address_set *set)
{
	id_table_fini(&set->table);
	vector_fini(set);
}

bool address_set_add(struct address_set *set, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15ull >> 32;

	if (ID_TABLE_FIND(&set->table, hash, i, set->list[i] == address) != ID_TABLE_NONE ||
	    set->nr >= ADDRESS_SET_MAX || vector_reserve(set, set->nr + 1) ||
	    id_table_add(&set->table, hash, (uint32_t)set->nr))
		return false;
	set->list[set->nr++] = address;
	return true;
}
