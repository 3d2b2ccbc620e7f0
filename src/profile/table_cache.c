/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_cache.h"

#include <errno.h>

#include "base/io.h"
#include "profile/table_entry.h"

/* A file of less than this saves no time (docs/decisions/0011-table-cache.md). */
#define IMAGE_BYTES_MIN 1024u

_Static_assert(TABLE_KEY_SIZE == CACHE_NAME_SIZE / 2, "a key is the name of its file");

/* table_entry_read_fn */
static int read_at(void *ctx, uint64_t off, void *buf, size_t size)
{
	const struct disk_cache_file *file = ctx;
	ssize_t n;

	/* in ascending order, each byte once */
	(void)off;
	n = io_read(file->fd, buf, size);
	return n < 0 ? (int)n : (size_t)n < size ? -ENODATA : 0;
}

struct table *table_cache_load(struct disk_cache *cache, const struct table_key *key)
{
	struct table *table = NULL;
	struct disk_cache_file file;
	struct fpl_err err = { 0 };
	int code = disk_cache_begin_read(cache, DISK_CACHE_TABLES, key->bytes, &file, &err);

	if (!code)
		code = table_entry_read(key, file.size, read_at, &file, &table, &err);
	disk_cache_end_read(cache, &file, code, &err);
	return code ? NULL : table;
}

/* Write the entry to @fd. */
static int write_entry(int fd, const struct table_key *key, const struct table *table)
{
	struct table_entry_header header;
	int code;

	table_entry_describe(table, key, &header);
	code = io_write(fd, &header, sizeof(header));
	for (size_t i = 0; !code && i < table->nr_chunks; i++)
		code = io_write(fd, table->chunks[i], table_chunk_bytes(table, i));
	return code;
}

void table_cache_store(struct disk_cache *cache, const struct table_key *key,
		       const struct table *table)
{
	uint64_t size = sizeof(struct table_entry_header) + table->image_bytes;
	struct disk_cache_file file;

	if (table->image_bytes < IMAGE_BYTES_MIN ||
	    !disk_cache_begin_write(cache, DISK_CACHE_TABLES, key->bytes, size, &file))
		return;
	disk_cache_end_write(cache, &file, write_entry(file.fd, key, table));
}
