/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/chunk_maker.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "bpf/shared.h"
#include "profile/map_bytes.h"

enum { AHEAD = 1 };

struct chunk_maker {
	int outer_fd; /* owned */
	uint32_t nr_chunks;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake, made;
	void **chunks; /* owned [nr_chunks]; the first nr_made are there */
	uint32_t nr_made, nr_wanted;
	uint64_t bytes;
	struct fpl_err err; /* why the next one could not be made */
	bool stop;
};

static int create_chunk(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "fpl_chunk", sizeof(uint32_t), FPL_CHUNK_SIZE, 1,
			      &opts);
}

/* Returns a negative errno. */
static int make(struct chunk_maker *maker, uint32_t number, void **ret, uint64_t *ret_bytes,
		struct fpl_err *err)
{
	AUTO_FD int fd = create_chunk();

	if (fd < 0)
		return fpl_fail(err, fd, "a chunk of 1 MiB: %s", strerror(-fd));

	void *p = mmap(NULL, FPL_CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return fpl_fail(err, -errno, "a chunk of 1 MiB: mmap: %s", strerror(errno));

	int code = bpf_map_update_elem(maker->outer_fd, &number, &fd, BPF_ANY);

	if (code) {
		munmap(p, FPL_CHUNK_SIZE);
		return fpl_fail(err, code, "a chunk of 1 MiB: %s", strerror(-code));
	}
	/* the outer map and the mapping hold it: no descriptor is needed any more */
	*ret_bytes = map_bytes(fd);
	*ret = p;
	return 0;
}

static void *maker_main(void *ctx)
{
	struct chunk_maker *maker = ctx;

	pthread_mutex_lock(&maker->lock);
	while (!maker->stop) {
		uint32_t number = maker->nr_made;
		struct fpl_err err = { 0 };
		uint64_t bytes = 0;
		void *chunk = NULL;

		if (number >= maker->nr_wanted) {
			pthread_cond_wait(&maker->wake, &maker->lock);
			continue;
		}
		pthread_mutex_unlock(&maker->lock);

		int code = make(maker, number, &chunk, &bytes, &err);

		pthread_mutex_lock(&maker->lock);
		if (code) {
			maker->nr_wanted = number; /* the caller asks again */
			maker->err = err;
		} else {
			maker->chunks[number] = chunk;
			maker->bytes += bytes;
			maker->nr_made++;
		}
		pthread_cond_broadcast(&maker->made);
	}
	pthread_mutex_unlock(&maker->lock);
	return NULL;
}

static int create_outer(uint32_t nr_chunks)
{
	AUTO_FD int like = create_chunk(); /* what all that is put in must be like */
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)like);

	return like < 0 ? like
			: bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "chunks", sizeof(uint32_t),
					 sizeof(uint32_t), nr_chunks, &opts);
}

static int begin(struct chunk_maker *maker)
{
	pthread_mutex_init(&maker->lock, NULL);
	pthread_cond_init(&maker->wake, NULL);
	pthread_cond_init(&maker->made, NULL);
	return thread_begin(&maker->thread, maker_main, maker);
}

static void end(struct chunk_maker *maker)
{
	for (uint32_t i = 0; i < maker->nr_made; i++)
		munmap(maker->chunks[i], FPL_CHUNK_SIZE);
	cleanup_fd(&maker->outer_fd);
	free(maker->chunks);
	free(maker);
}

int chunk_maker_create(uint32_t nr_chunks, struct chunk_maker **ret, struct fpl_err *err)
{
	struct chunk_maker *maker = calloc(1, sizeof(*maker));

	if (!maker)
		return fpl_fail(err, -ENOMEM, "table pool: out of memory");
	maker->chunks = calloc(nr_chunks, sizeof(*maker->chunks));
	maker->nr_chunks = nr_chunks;
	maker->nr_wanted = nr_chunks > AHEAD ? AHEAD + 1 : nr_chunks;
	maker->outer_fd = maker->chunks ? create_outer(nr_chunks) : -ENOMEM;

	int code = maker->outer_fd < 0 ? maker->outer_fd : begin(maker);

	if (code) {
		end(maker);
		return fpl_fail(err, code, "table pool: %s", strerror(-code));
	}
	*ret = maker;
	return 0;
}

int chunk_maker_fd(const struct chunk_maker *maker)
{
	return maker->outer_fd;
}

void chunk_maker_destroy(struct chunk_maker *maker)
{
	if (!maker)
		return;
	pthread_mutex_lock(&maker->lock);
	maker->stop = true;
	pthread_cond_broadcast(&maker->wake);
	pthread_mutex_unlock(&maker->lock);
	pthread_join(maker->thread, NULL);
	pthread_cond_destroy(&maker->wake);
	pthread_cond_destroy(&maker->made);
	pthread_mutex_destroy(&maker->lock);
	end(maker);
}

static void want(struct chunk_maker *maker, uint32_t nr)
{
	if (nr > maker->nr_chunks)
		nr = maker->nr_chunks;
	if (nr > maker->nr_wanted)
		maker->nr_wanted = nr;
	pthread_cond_signal(&maker->wake);
}

int chunk_maker_get(struct chunk_maker *maker, uint32_t number, void **ret, struct fpl_err *err)
{
	int code = 0;

	pthread_mutex_lock(&maker->lock);
	want(maker, number + 1 + AHEAD);
	while (number >= maker->nr_made && number < maker->nr_wanted)
		pthread_cond_wait(&maker->made, &maker->lock);
	if (number < maker->nr_made)
		*ret = maker->chunks[number];
	else
		code = fpl_fail(err, maker->err.code, "%s", maker->err.msg);
	pthread_mutex_unlock(&maker->lock);
	return code;
}

uint64_t chunk_maker_bytes(struct chunk_maker *maker)
{
	pthread_mutex_lock(&maker->lock);

	uint64_t bytes = maker->bytes;

	pthread_mutex_unlock(&maker->lock);
	return bytes;
}
