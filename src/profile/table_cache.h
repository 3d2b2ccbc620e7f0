/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled tables kept on disk from run to run (base/disk_cache.h): named by their key
 * (profile/table_key.h), their contents as profile/table_entry.h says.
 */
#pragma once

#include "base/disk_cache.h"
#include "profile/table_key.h"
#include "unwind/table.h"

/* The table kept under @key, the caller's to destroy; NULL: no valid one. */
struct table *table_cache_load(struct disk_cache *cache, const struct table_key *key);

/* Keep @table under @key. Cost: writes it; now and then reads the folder. */
void table_cache_store(struct disk_cache *cache, const struct table_key *key,
		       const struct table *table);
