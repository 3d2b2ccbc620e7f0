/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/jvm_codes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "parse/client.h"
#include "profile/code_refuse.h"
#include "profile/jvm.h"
#include "profile/jvm_code.h"

#define QUESTIONS_MAX 16u /* of a JVM in one reading; what is left waits for the next one */
#define FAILURES_MAX  3u  /* then a JVM is asked no more */

struct image {
	uint64_t gen;
	uint64_t base; /* where its libjvm is; 0: its memory was not opened yet */
	uint32_t pid;
	int memory_fd; /* owned; -1 with a base: it is gone, or asked no more */
	unsigned nr_failures;
	bool is_full; /* said */
	/* it registers code for debuggers: each answer has all of it, */
	bool is_listed;
	bool is_due;	    /* and it is to be asked, whatever stacks have; */
	uint64_t mapped_ns; /* CLOCK_MONOTONIC: since then code there may be other code */
	uint64_t begun_ns;  /* CLOCK_MONOTONIC: of this reading */
	struct jvm_code code;
};

struct jvm_codes {
	_Atomic uint32_t nr_holders;
	size_t max_bytes;
	bool forgets;

	/* one at a time reads or holds names; of the client and of all names, before lock */
	pthread_mutex_t reading;
	struct parse_client *client; /* owned; NULL: none yet */

	pthread_mutex_t lock; /* of all below, and of what stacks have */
	VECTOR(struct image *) images;
	uint64_t nr_functions, nr_refused;
	bool is_full; /* said */
};

int jvm_codes_create(size_t max_bytes, bool forgets, struct jvm_codes **ret)
{
	struct jvm_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	atomic_init(&codes->nr_holders, 1);
	codes->max_bytes = max_bytes;
	codes->forgets = forgets;
	pthread_mutex_init(&codes->reading, NULL);
	pthread_mutex_init(&codes->lock, NULL);
	*ret = codes;
	return 0;
}

struct jvm_codes *jvm_codes_get(struct jvm_codes *codes)
{
	if (codes)
		atomic_fetch_add(&codes->nr_holders, 1);
	return codes;
}

static void image_free(struct image *image)
{
	cleanup_fd(&image->memory_fd);
	jvm_code_fini(&image->code);
	free(image);
}

void jvm_codes_put(struct jvm_codes *codes)
{
	if (!codes || atomic_fetch_sub(&codes->nr_holders, 1) > 1)
		return;
	client_close(codes->client);
	for (size_t i = 0; i < codes->images.nr; i++)
		image_free(codes->images.list[i]);
	vector_fini(&codes->images);
	pthread_mutex_destroy(&codes->reading);
	pthread_mutex_destroy(&codes->lock);
	free(codes);
}

/* Under the lock. */
static struct image *find_image(const struct jvm_codes *codes, uint64_t gen)
{
	for (size_t i = codes->images.nr; i-- > 0;)
		if (codes->images.list[i]->gen == gen)
			return codes->images.list[i];
	return NULL;
}

/* Under both locks: drop the JVM that went first. */
static void drop_gone(struct jvm_codes *codes)
{
	struct image **list = codes->images.list;

	for (size_t i = 0; i < codes->images.nr; i++) {
		if (list[i]->memory_fd >= 0 || !list[i]->base)
			continue;
		image_free(list[i]);
		memmove(list + i, list + i + 1, (--codes->images.nr - i) * sizeof(*list));
		return;
	}
}

/* Under the lock. */
static bool has_room(struct jvm_codes *codes)
{
	if (codes->images.nr >= JVM_CODES_MAX && codes->forgets &&
	    !pthread_mutex_trylock(&codes->reading)) {
		drop_gone(codes);
		pthread_mutex_unlock(&codes->reading);
	}
	if (codes->images.nr >= JVM_CODES_MAX && !codes->is_full) {
		fpl_log(FPL_LOG_WARN,
			"more than %u JVMs or Erlangs: the code of the others stays addresses",
			JVM_CODES_MAX);
		codes->is_full = true;
	}
	return codes->images.nr < JVM_CODES_MAX &&
	       !vector_reserve(&codes->images, codes->images.nr + 1);
}

/* Under the lock. NULL: there is no room. */
static struct image *find_or_add(struct jvm_codes *codes, uint64_t gen)
{
	struct image *image = find_image(codes, gen);

	if (image || !has_room(codes))
		return image;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	*image = (struct image){ .gen = gen, .memory_fd = -1 };
	code_table_init(&image->code.all, codes->max_bytes);
	codes->images.list[codes->images.nr++] = image;
	return image;
}

bool jvm_codes_open(struct jvm_codes *codes, uint64_t gen, uint32_t pid, uint64_t base)
{
	struct image *image;
	bool is_new;
	int fd;

	pthread_mutex_lock(&codes->lock);
	image = find_image(codes, gen);
	is_new = image && !image->base;
	pthread_mutex_unlock(&codes->lock);
	if (!is_new)
		return false;
	/* it leads to the memory of this image, and of no other, for good */
	fd = jvm_open_memory(pid);
	pthread_mutex_lock(&codes->lock);
	image = find_image(codes, gen);
	if (image && !image->base) {
		image->pid = pid;
		image->memory_fd = fd;
		image->base = base;
		fd = -1;
	}
	pthread_mutex_unlock(&codes->lock);
	cleanup_fd(&fd);
	return true;
}

bool jvm_codes_list(struct jvm_codes *codes, uint64_t gen, uint32_t pid, uint64_t base,
		    uint64_t time_ns)
{
	struct image *image;

	pthread_mutex_lock(&codes->lock);
	image = find_or_add(codes, gen);
	if (image) {
		image->is_listed = image->is_due = true;
		image->mapped_ns = time_ns;
	}
	pthread_mutex_unlock(&codes->lock);
	if (image)
		jvm_codes_open(codes, gen, pid, base);
	return image != NULL;
}

void jvm_codes_meet(struct jvm_codes *codes, uint64_t gen, const uint64_t *frames, size_t nr)
{
	struct image *image;

	pthread_mutex_lock(&codes->lock);
	image = find_or_add(codes, gen);
	if (image)
		jvm_code_meet(&image->code, frames, nr);
	pthread_mutex_unlock(&codes->lock);
}

/* Bytes that all names but those of @image take; with NULL all. */
static size_t bytes_of_others(const struct jvm_codes *codes, const struct image *image)
{
	size_t bytes = 0;

	for (size_t i = 0; i < codes->images.nr; i++)
		if (codes->images.list[i] != image)
			bytes += code_table_bytes(&codes->images.list[i]->code.all);
	return bytes;
}

static void refuse(struct jvm_codes *codes, const struct image *image, const char *why)
{
	struct fpl_err err = { 0 };

	fpl_fail(&err, 0, "pid %u: code made at run time: %s", image->pid, why);
	pthread_mutex_lock(&codes->lock);
	code_refuse(&codes->nr_refused, err.msg);
	pthread_mutex_unlock(&codes->lock);
}

/* A JVM that goes away while it is read is nothing to speak of. */
static void fail(struct jvm_codes *codes, struct image *image, int code, const struct fpl_err *err)
{
	bool is_gone = code == -EFAULT || code == -ENOENT;

	fpl_log(FPL_LOG_DEBUG, "%s", err->msg);
	if (!is_gone && ++image->nr_failures < FAILURES_MAX)
		return;
	if (!is_gone)
		refuse(codes, image, "it could not be read");
	pthread_mutex_lock(&codes->lock);
	cleanup_fd(&image->memory_fd);
	image->memory_fd = -1;
	pthread_mutex_unlock(&codes->lock);
}

static void take_in(struct jvm_codes *codes, struct image *image, const struct code_table *table)
{
	size_t others, nr;
	bool is_listed;
	uint64_t mapped_ns;
	int code;

	pthread_mutex_lock(&codes->lock);
	others = bytes_of_others(codes, image);
	is_listed = image->is_listed;
	mapped_ns = image->mapped_ns;
	pthread_mutex_unlock(&codes->lock);
	if (is_listed)
		jvm_code_drop(&image->code, table, mapped_ns, image->begun_ns);
	code = jvm_code_add(&image->code, table,
			    codes->max_bytes > others ? codes->max_bytes - others : 0, &nr);
	pthread_mutex_lock(&codes->lock);
	codes->nr_functions += nr;
	pthread_mutex_unlock(&codes->lock);
	if (!code || image->is_full)
		return;
	image->is_full = true;
	refuse(codes, image,
	       code == -ENOSPC ? "more than --jit-memory has room for" : strerror(-code));
}

/* Ask one question. Returns whether there was one, and an answer. */
static bool ask(struct jvm_codes *codes, struct image *image)
{
	uint64_t asked[CLIENT_ASKED_MAX];
	uint32_t met[CLIENT_ASKED_MAX];
	struct code_table table;
	struct fpl_err err = { 0 };
	size_t nr = 0;
	bool is_due = false;
	int code;

	pthread_mutex_lock(&codes->lock);
	if (image->memory_fd >= 0) {
		nr = jvm_code_ask(&image->code, asked, met, ARRAY_SIZE(asked));
		is_due = image->is_due;
		image->is_due = false;
	}
	pthread_mutex_unlock(&codes->lock);
	if (!nr && !is_due)
		return false;
	code_table_init(&table, codes->max_bytes);
	code = jvm_code(codes->client, image->pid, image->memory_fd, image->base, asked, nr, &table,
			&err);
	if (code)
		fail(codes, image, code, &err);
	else
		take_in(codes, image, &table);
	pthread_mutex_lock(&codes->lock);
	jvm_code_settle(&image->code, asked, met, nr);
	pthread_mutex_unlock(&codes->lock);
	code_table_fini(&table);
	return !code;
}

/* Under reading. */
static void read_image(struct jvm_codes *codes, struct image *image)
{
	uint64_t now = clock_monotonic_ns();
	unsigned nr = 0;

	image->begun_ns = now;
	while (nr < QUESTIONS_MAX && ask(codes, image))
		nr++;
	if (nr < QUESTIONS_MAX)
		image->code.read_ns = now;
}

/* Image @idx; NULL: there are no more. */
static struct image *image_at(struct jvm_codes *codes, size_t idx)
{
	struct image *image;

	pthread_mutex_lock(&codes->lock);
	image = idx < codes->images.nr ? codes->images.list[idx] : NULL;
	pthread_mutex_unlock(&codes->lock);
	return image;
}

/* Is there anything to ask? */
static bool has_new(struct jvm_codes *codes)
{
	bool ret = false;

	pthread_mutex_lock(&codes->lock);
	for (size_t i = 0; !ret && i < codes->images.nr; i++)
		ret = codes->images.list[i]->memory_fd >= 0 &&
		      (codes->images.list[i]->is_due || codes->images.list[i]->code.news.nr);
	pthread_mutex_unlock(&codes->lock);
	return ret;
}

/* All names go where they take too much: those that stacks still have are asked anew. */
static void make_room(struct jvm_codes *codes)
{
	pthread_mutex_lock(&codes->lock);
	if (bytes_of_others(codes, NULL) > codes->max_bytes / 4 * 3)
		for (size_t i = 0; i < codes->images.nr; i++)
			jvm_code_forget(&codes->images.list[i]->code);
	pthread_mutex_unlock(&codes->lock);
}

/* Under reading, which keeps all images. */
static void read_all(struct jvm_codes *codes, struct parser *parser)
{
	struct image *image;

	if (!has_new(codes) || (!codes->client && client_open(parser, &codes->client, NULL)))
		return;
	if (codes->forgets)
		make_room(codes);
	for (size_t i = 0; (image = image_at(codes, i)); i++)
		read_image(codes, image);
}

void jvm_codes_read(struct jvm_codes *codes, struct parser *parser)
{
	if (pthread_mutex_trylock(&codes->reading))
		return;
	read_all(codes, parser);
	pthread_mutex_unlock(&codes->reading);
}

void jvm_codes_hold(struct jvm_codes *codes, struct parser *parser)
{
	struct image *image;

	if (!codes)
		return;
	pthread_mutex_lock(&codes->reading);
	read_all(codes, parser);
	for (size_t i = 0; (image = image_at(codes, i)); i++)
		if (jvm_code_arrange(&image->code))
			refuse(codes, image, "out of memory");
}

void jvm_codes_release(struct jvm_codes *codes)
{
	if (codes)
		pthread_mutex_unlock(&codes->reading);
}

void jvm_codes_finish(struct jvm_codes *codes, struct parser *parser)
{
	jvm_codes_hold(codes, parser);
	client_close(codes->client);
	codes->client = NULL;
	jvm_codes_release(codes);
}

bool jvm_codes_find(struct jvm_codes *codes, uint64_t gen, uint64_t lookup_addr, uint64_t time_ns,
		    struct code_match *ret)
{
	const struct image *image;

	if (!codes)
		return false;
	pthread_mutex_lock(&codes->lock);
	image = find_image(codes, gen);
	pthread_mutex_unlock(&codes->lock);
	return image && jvm_code_find(&image->code, lookup_addr, time_ns, ret);
}

void jvm_codes_stats(struct jvm_codes *codes, struct jvm_codes_stats *ret)
{
	*ret = (struct jvm_codes_stats){ 0 };
	if (!codes)
		return;
	pthread_mutex_lock(&codes->lock);
	*ret = (struct jvm_codes_stats){
		.functions = codes->nr_functions,
		.refused = codes->nr_refused,
		.bytes = bytes_of_others(codes, NULL),
	};
	pthread_mutex_unlock(&codes->lock);
}
