/* SPDX-License-Identifier: Apache-2.0 */
#include "base/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

/* The time of last use is noted this often at most: it is written to disk. */
#define TOUCH_PERIOD_S 60

struct disk_cache {
	const char *wanted; /* borrowed: the requested path; NULL: the default */
	struct cache_folder folder;
	bool is_open;
	uint64_t max_bytes;
	pthread_mutex_t lock; /* of all below */
	struct {
		uint64_t hits, misses;
	} counts[DISK_CACHE_KIND_COUNT];
	uint64_t bytes;	 /* of its files, once they were counted */
	bool is_counted; /* the folder was read */
	bool is_full;	 /* nothing more can be written */
	bool has_said;	 /* a damaged file was reported */
};

/* Default place of the cache. Errors: -ENOENT the user has no home. */
static int default_path(bool make, char *ret, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *below = "";
	int n;

	/* root must not use the home of the user who became root */
	if (geteuid() == 0) {
		base = "/var/cache";
	} else if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.cache";
	}
	if (!base || base[0] != '/')
		return -ENOENT;
	n = snprintf(ret, size, "%s%s", base, below);
	if (n < 0 || (size_t)n >= size || (make && mkdir(ret, 0700) < 0 && errno != EEXIST))
		return -ENOENT;
	n = snprintf(ret, size, "%s%s/fpless", base, below);
	return n < 0 || (size_t)n >= size ? -ENOENT : 0;
}

int disk_cache_create(const char *path, uint64_t max_bytes, struct disk_cache **ret,
		      struct fpl_err *err)
{
	struct disk_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return fpl_fail(err, -ENOMEM, "cache on disk: out of memory");
	cache->wanted = path;
	cache->max_bytes = max_bytes;
	pthread_mutex_init(&cache->lock, NULL);
	*ret = cache;
	return 0;
}

void disk_cache_destroy(struct disk_cache *cache)
{
	if (!cache)
		return;
	if (cache->is_open)
		cache_folder_close(&cache->folder);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

int disk_cache_open(struct disk_cache *cache, struct fpl_err *err)
{
	char text[PATH_MAX];

	if (!cache || cache->is_open)
		return 0;
	if (!cache->wanted && default_path(cache->max_bytes, text, sizeof(text)))
		return fpl_fail(err, -ENOENT, "no home folder for a cache on disk");

	int code = cache_folder_open(cache->wanted ? cache->wanted : text, cache->max_bytes,
				     &cache->folder, err);

	cache->is_open = !code;
	return !cache->wanted && (code == -EROFS || code == -EACCES) ? -ENOENT : code;
}

void disk_cache_try_open(struct disk_cache *cache, const char *what)
{
	struct fpl_err err = { 0 };
	int code = disk_cache_open(cache, &err);

	/* a user without a home asked for nothing */
	if (code)
		fpl_log(code == -ENOENT && !cache->wanted ? FPL_LOG_DEBUG : FPL_LOG_WARN,
			"%s: %s are not kept", err.msg, what);
}

bool disk_cache_is_open(const struct disk_cache *cache)
{
	return cache && cache->is_open;
}

static void file_init(struct disk_cache_file *file, enum disk_cache_kind kind,
		      const uint8_t *digest)
{
	*file = (struct disk_cache_file){ .kind = kind, .fd = -1, .made = { .fd = -1 } };
	text_hex(digest, CACHE_NAME_SIZE / 2, file->name.text);
}

int disk_cache_begin_read(struct disk_cache *cache, enum disk_cache_kind kind,
			  const uint8_t *digest, struct disk_cache_file *ret, struct fpl_err *err)
{
	file_init(ret, kind, digest);
	if (!disk_cache_is_open(cache))
		return -ENOENT;
	ret->fd = cache_folder_read(&cache->folder, &ret->name, &ret->stat, err);
	if (ret->fd < 0)
		return ret->fd;
	ret->size = (uint64_t)ret->stat.st_size;
	return 0;
}

/* Log one line for the first damaged file; debug lines for the others. */
static void say_bad(struct disk_cache *cache, const char *name, const struct fpl_err *why)
{
	bool is_news;

	pthread_mutex_lock(&cache->lock);
	is_news = !cache->has_said;
	cache->has_said = true;
	pthread_mutex_unlock(&cache->lock);
	fpl_log(is_news ? FPL_LOG_WARN : FPL_LOG_DEBUG, "%s/%.16s...: %s: replaced",
		cache->folder.path, name, why->msg);
}

void disk_cache_end_read(struct disk_cache *cache, struct disk_cache_file *file, int code,
			 const struct fpl_err *err)
{
	if (!disk_cache_is_open(cache))
		return;
	if (!code && time(NULL) - file->stat.st_mtime > TOUCH_PERIOD_S)
		(void)!futimens(file->fd, NULL);
	if (file->fd >= 0)
		close(TAKE_FD(file->fd));
	if (code && code != -ENOENT && code != -ESTALE && code != -ENOMEM)
		say_bad(cache, file->name.text, err);
	pthread_mutex_lock(&cache->lock);
	if (code)
		cache->counts[file->kind].misses++;
	else
		cache->counts[file->kind].hits++;
	pthread_mutex_unlock(&cache->lock);
}

/* Make room for @more bytes, at most the size of the cache; false: write nothing. */
static bool make_room(struct disk_cache *cache, uint64_t more)
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

/* Stop writing for this run: the disk is full, or worse. Logs one line. */
static void give_up(struct disk_cache *cache, int code)
{
	bool is_news;

	pthread_mutex_lock(&cache->lock);
	is_news = !cache->is_full;
	cache->is_full = true;
	pthread_mutex_unlock(&cache->lock);
	if (is_news)
		fpl_log(FPL_LOG_WARN, "%s: %s: nothing more is cached", cache->folder.path,
			strerror(-code));
}

bool disk_cache_begin_write(struct disk_cache *cache, enum disk_cache_kind kind,
			    const uint8_t *digest, uint64_t size, struct disk_cache_file *ret)
{
	if (!disk_cache_is_open(cache) || size > cache->max_bytes / 2 || !make_room(cache, size))
		return false;
	file_init(ret, kind, digest);
	ret->size = size;

	int code = cache_folder_create(&cache->folder, &ret->made);

	if (code) {
		give_up(cache, code);
		return false;
	}
	ret->fd = ret->made.fd;
	return true;
}

void disk_cache_end_write(struct disk_cache *cache, struct disk_cache_file *file, int code)
{
	uint64_t before = 0;
	struct stat st;

	/* the file that it replaces is gone */
	if (!code && fstatat(cache->folder.fd, file->name.text, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode))
		before = (uint64_t)st.st_size;
	file->fd = -1;

	int closed = cache_folder_commit(&cache->folder, &file->made, code ? NULL : &file->name);

	code = code ? code : closed;
	if (code) {
		give_up(cache, code);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	cache->bytes += file->size;
	cache->bytes -= before < cache->bytes ? before : cache->bytes;
	pthread_mutex_unlock(&cache->lock);
}

void disk_cache_stats(struct disk_cache *cache, enum disk_cache_kind kind,
		      struct disk_cache_stats *ret)
{
	*ret = (struct disk_cache_stats){ 0 };
	if (!disk_cache_is_open(cache))
		return;
	(void)make_room(cache, 0);
	pthread_mutex_lock(&cache->lock);
	*ret = (struct disk_cache_stats){ cache->counts[kind].hits, cache->counts[kind].misses,
					  cache->bytes };
	pthread_mutex_unlock(&cache->lock);
}

const char *disk_cache_path(const struct disk_cache *cache)
{
	return disk_cache_is_open(cache) ? cache->folder.path : "";
}

uint64_t disk_cache_max_bytes(const struct disk_cache *cache)
{
	return cache ? cache->max_bytes : 0;
}
