/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/name_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"

_Static_assert(NAME_KEY_SIZE == CACHE_NAME_SIZE / 2, "a key is the name of its file");

static int read_bytes(const struct disk_cache_file *file, const struct name_key *key,
		      struct name_entry *ret, struct fpl_err *err)
{
	size_t size = file->size;

	if (file->size > NAME_ENTRY_BYTES_MAX)
		return fpl_fail(err, -EBADMSG, "too large for names");

	AUTO_FREE uint8_t *bytes = malloc(size + 1);

	if (!bytes)
		return -ENOMEM;

	ssize_t n = io_read(file->fd, bytes, size);

	if (n < 0)
		return fpl_fail(err, (int)n, "%s", strerror((int)-n));
	return name_entry_read(key, bytes, (size_t)n, ret, err);
}

/* Read what the disk has of @file; what does not hold today is as good as absent. */
static void load(struct name_store *store, struct name_file *file, const char *path)
{
	struct disk_cache_file on_disk;
	struct fpl_err err = { 0 };
	int code = disk_cache_begin_read(store->cache, DISK_CACHE_NAMES, file->key.bytes, &on_disk,
					 &err);

	if (!code)
		code = read_bytes(&on_disk, &file->key, &file->entry, &err);
	if (!code && !name_search_holds(store->opener, &file->entry.search, path))
		code = -ESTALE;
	if (code)
		name_entry_fini(&file->entry);
	file->is_known = !code;
	disk_cache_end_read(store->cache, &on_disk, code, &err);
}

static void write_file(struct name_store *store, struct name_file *file)
{
	AUTO_FREE uint8_t *bytes = NULL;
	struct disk_cache_file on_disk;
	size_t size;

	if (!file->is_new || name_entry_write(&file->entry, &file->key, &bytes, &size))
		return;
	file->is_new = false;
	if (disk_cache_begin_write(store->cache, DISK_CACHE_NAMES, file->key.bytes, size, &on_disk))
		disk_cache_end_write(store->cache, &on_disk, io_write(on_disk.fd, bytes, size));
}

void name_store_write(struct name_store *store)
{
	for (size_t i = 0; i < store->nr; i++)
		write_file(store, &store->files[i]);
}

/* Write what is new and forget all. */
static void drop_all(struct name_store *store)
{
	name_store_write(store);
	for (size_t i = 0; i < store->nr; i++)
		name_entry_fini(&store->files[i].entry);
	store->nr = store->bytes = 0;
	id_table_fini(&store->table);
	store->table = (struct id_table){ .nr = 0 };
}

void name_store_fini(struct name_store *store)
{
	drop_all(store);
	free(store->files);
	store->files = NULL;
	store->room = 0;
}

static bool has_key(const void *ctx, uint32_t index, const void *key)
{
	const struct name_store *store = ctx;

	return memcmp(&store->files[index].key, key, sizeof(struct name_key)) == 0;
}

/* A key is a digest: any part of it is a hash. */
static uint64_t hash_of(const struct name_key *key)
{
	uint64_t hash;

	memcpy(&hash, key->bytes, sizeof(hash));
	return hash;
}

/* A place for another file, or NULL. */
static struct name_file *add_file(struct name_store *store, const struct name_key *key)
{
	if (array_reserve(&store->files, sizeof(*store->files), &store->room, store->nr + 1) ||
	    id_table_add(&store->table, hash_of(key), (uint32_t)store->nr))
		return NULL;
	store->files[store->nr] = (struct name_file){ .key = *key };
	return &store->files[store->nr++];
}

struct name_file *name_store_find(struct name_store *store, int fd, const char *path)
{
	struct name_key key;
	struct name_file *file;

	if (!disk_cache_is_open(store->cache) || name_key_read(fd, path, store->mangled, &key))
		return NULL;

	uint32_t index = id_table_find(&store->table, hash_of(&key), has_key, store, &key);

	if (index != ID_TABLE_NONE)
		return &store->files[index];
	if (store->bytes > NAME_STORE_BYTES_MAX)
		drop_all(store);
	file = add_file(store, &key);
	if (!file)
		return NULL;
	load(store, file, path);
	store->bytes += name_entry_bytes(&file->entry);
	return file;
}

void name_store_add(struct name_store *store, struct name_file *file, int fd, const char *path,
		    const struct name_search *search, const uint64_t *vaddrs,
		    const struct symbol_place *places, size_t nr, bool has_no_lines)
{
	size_t before = name_entry_bytes(&file->entry);
	struct name_key now;

	/* what was read must still be what the key is of, and what the search met */
	if (name_key_read(fd, path, store->mangled, &now) ||
	    memcmp(&now, &file->key, sizeof(now)) != 0 ||
	    !name_search_holds(store->opener, search, path))
		return;
	if (!file->is_known || memcmp(search, &file->entry.search, sizeof(*search)) != 0) {
		name_entry_fini(&file->entry);
		file->entry.search = *search;
	}
	file->is_known = file->is_new = true;
	file->entry.has_no_lines |= has_no_lines;
	/* without memory they are asked for again */
	(void)!name_entry_add(&file->entry, vaddrs, places, nr);
	store->bytes += name_entry_bytes(&file->entry) - before;
}
