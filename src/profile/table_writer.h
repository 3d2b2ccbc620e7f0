/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes tables to the cache on disk in a thread of its own, after they were published: no sample
 * waits for a disk.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "profile/table_key.h"
#include "unwind/table.h"

/* Bytes of tables that may wait; what is beyond is not kept. */
#define TABLE_WRITER_BYTES_MAX (8ull << 20)

struct disk_cache;
struct table_writer;

/* @cache: borrowed. The thread begins with the first table. Errors: -ENOMEM. */
FPL_MUST_CHECK int table_writer_create(struct disk_cache *cache, struct table_writer **ret,
				       struct fpl_err *err);
/* Writes what waits, then ends. NULL is allowed. */
void table_writer_destroy(struct table_writer *writer);

/* Keep @table under @key; takes it over. With a @writer of NULL it is only destroyed. */
void table_writer_keep(struct table_writer *writer, const struct table_key *key,
		       struct table *table);

/* Wait until nothing waits. NULL is allowed. */
void table_writer_flush(struct table_writer *writer);
