/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/text.h"
#include "profile/cache_folder.h"
#include "profile/table_entry.h"

/* The time of last use is noted this often at most: it is written to disk. */
#define TOUCH_PERIOD_S 60
/* A file of less than this saves no time (docs/decisions/0011-table-cache.md). */
#define IMAGE_BYTES_MIN 1024u

struct table_cache {
	struct cache_folder folder;
	uint64_t max_bytes;
	pthread_mutex_t lock; /* of all below */
	uint64_t hits, misses;
	uint64_t bytes;	 /* of its files, once they were counted */
	bool is_counted; /* the folder was read */
	bool is_full;	 /* nothing more can be written */
	bool has_said;	 /* a file that does not hold up was said */
};

/* Where tables are kept unless an option says so. Errors: -ENOENT the user has no home. */
static int default_path(char *ret, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *below = "";
	int n;

	/* root's must not be where a user who became root happens to have his */
	if (geteuid() == 0) {
		base = "/var/cache";
	} else if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.cache";
	}
	if (!base || base[0] != '/')
		return -ENOENT;
	n = snprintf(ret, size, "%s%s", base, below);
	if (n < 0 || (size_t)n >= size || (mkdir(ret, 0700) < 0 && errno != EEXIST))
		return -ENOENT;
	n = snprintf(ret, size, "%s%s/fpless", base, below);
	return n < 0 || (size_t)n >= size ? -ENOENT : 0;
}

int table_cache_open(const char *path, uint64_t max_bytes, struct table_cache **ret,
		     struct fpl_err *err)
{
	char text[PATH_MAX];

	if (!path && default_path(text, sizeof(text)))
		return fpl_fail(err, -ENOENT, "no place for a cache of tables");

	struct table_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return fpl_fail(err, -ENOMEM, "cache of tables: out of memory");

	int code = cache_folder_open(path ? path : text, &cache->folder, err);

	if (code) {
		free(cache);
		return !path && (code == -EROFS || code == -EACCES) ? -ENOENT : code;
	}
	pthread_mutex_init(&cache->lock, NULL);
	cache->max_bytes = max_bytes;
	*ret = cache;
	return 0;
}

void table_cache_close(struct table_cache *cache)
{
	if (!cache)
		return;
	cache_folder_close(&cache->folder);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static void name_of(const struct table_key *key, struct cache_name *ret)
{
	text_hex(key->bytes, sizeof(key->bytes), ret->text);
}

struct reader {
	int fd;
};

/* table_entry_read_fn */
static int read_at(void *ctx, uint64_t off, void *buf, size_t size)
{
	const struct reader *reader = ctx;
	ssize_t n;

	/* in ascending order, each byte once */
	(void)off;
	n = io_read(reader->fd, buf, size);
	return n < 0 ? (int)n : (size_t)n < size ? -ENODATA : 0;
}

/* One line for all files that do not hold up; the rest for who wants to know. */
static void say_bad(struct table_cache *cache, const char *name, const struct fpl_err *why)
{
	bool is_news;

	pthread_mutex_lock(&cache->lock);
	is_news = !cache->has_said;
	cache->has_said = true;
	pthread_mutex_unlock(&cache->lock);
	fpl_log(is_news ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s/%.16s...: %s: the table is compiled anew", cache->folder.path, name, why->msg);
}

struct table *table_cache_load(struct table_cache *cache, const struct table_key *key)
{
	struct table *table = NULL;
	struct cache_name name;
	struct fpl_err err = { 0 };
	struct stat st;

	if (!cache)
		return NULL;
	name_of(key, &name);

	AUTO_FD int fd = cache_folder_read(&cache->folder, &name, &st, &err);
	int code = fd < 0 ? fd : 0;

	if (!code)
		code = table_entry_read(key, (uint64_t)st.st_size, read_at,
					&(struct reader){ .fd = fd }, &table, &err);
	if (!code && time(NULL) - st.st_mtime > TOUCH_PERIOD_S)
		(void)!futimens(fd, NULL);
	if (code && code != -ENOENT && code != -ESTALE && code != -ENOMEM)
		say_bad(cache, name.text, &err);
	pthread_mutex_lock(&cache->lock);
	if (code)
		cache->misses++;
	else
		cache->hits++;
	pthread_mutex_unlock(&cache->lock);
	return code ? NULL : table;
}

/* Write the entry to @fd. */
static int write_entry(int fd, const struct table_key *key, const struct table *table)
{
	struct table_entry_header header;
	size_t left = table->image_bytes;
	int code;

	table_entry_describe(table, key, &header);
	code = io_write(fd, &header, sizeof(header));
	for (size_t i = 0; !code && i < table->nr_chunks; i++) {
		size_t part = left < FPL_CHUNK_SIZE ? left : FPL_CHUNK_SIZE;

		code = io_write(fd, table->chunks[i], part);
		left -= part;
	}
	return code;
}

/* Make room for @more bytes, at most the size of the cache; false: nothing is to be written. */
static bool make_room(struct table_cache *cache, uint64_t more)
{
	bool ok;

	pthread_mutex_lock(&cache->lock);
	if (!cache->is_counted || cache->bytes + more > cache->max_bytes) {
		/* a quarter more than needed, so that the folder is not read for each file */
		uint64_t room = cache->max_bytes - more;

		cache->bytes = cache_folder_trim(&cache->folder, room, room - room / 4);
		cache->is_counted = true;
	}
	ok = !cache->is_full && cache->bytes + more <= cache->max_bytes;
	pthread_mutex_unlock(&cache->lock);
	return ok;
}

void table_cache_store(struct table_cache *cache, const struct table_key *key,
		       const struct table *table)
{
	uint64_t size = sizeof(struct table_entry_header) + table->image_bytes;
	struct cache_name name;
	struct cache_file file;

	if (!cache || table->image_bytes < IMAGE_BYTES_MIN || size > cache->max_bytes / 2 ||
	    !make_room(cache, size))
		return;
	name_of(key, &name);

	int code = cache_folder_create(&cache->folder, &file);

	if (!code) {
		code = write_entry(file.fd, key, table);

		int closed = cache_folder_commit(&cache->folder, &file, code ? NULL : &name);

		code = code ? code : closed;
	}
	pthread_mutex_lock(&cache->lock);

	bool is_news = code && !cache->is_full;

	if (code)
		cache->is_full = true;
	else
		cache->bytes += size;
	pthread_mutex_unlock(&cache->lock);
	if (is_news)
		fpl_log(FPL_LOG_WARN, "%s: %s: no more tables are kept", cache->folder.path,
			strerror(-code));
}

void table_cache_stats(struct table_cache *cache, struct table_cache_stats *ret)
{
	*ret = (struct table_cache_stats){ 0 };
	if (!cache)
		return;
	(void)make_room(cache, 0);
	pthread_mutex_lock(&cache->lock);
	*ret = (struct table_cache_stats){ cache->hits, cache->misses, cache->bytes };
	pthread_mutex_unlock(&cache->lock);
}

const char *table_cache_path(const struct table_cache *cache)
{
	return cache ? cache->folder.path : "";
}
