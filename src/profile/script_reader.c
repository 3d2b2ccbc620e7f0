/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/script_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"

struct script_reader {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct script_codes *now, *before; /* held; NULL: none */
	bool stop;
};

/* Under the lock: wait for the next reading. */
static void pause_reading(struct script_reader *reader)
{
	uint64_t until_ns = clock_ns(CLOCK_REALTIME) + SCRIPT_READER_PAUSE_MS * NS_PER_MS;
	const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
					.tv_nsec = (long)(until_ns % NS_PER_S) };

	if (!reader->stop && !reader->before)
		pthread_cond_timedwait(&reader->wake, &reader->lock, &until);
}

static void read_held(struct script_codes *codes, bool is_last)
{
	if (codes)
		script_codes_read(codes, is_last);
	script_codes_put(codes);
}

static void *reader_main(void *ctx)
{
	struct script_reader *reader = ctx;
	bool is_last = false;

	while (!is_last) {
		struct script_codes *now, *before;

		pthread_mutex_lock(&reader->lock);
		pause_reading(reader);
		is_last = reader->stop;
		before = TAKE_PTR(reader->before);
		now = script_codes_get(reader->now);
		pthread_mutex_unlock(&reader->lock);
		read_held(before, is_last);
		read_held(now, is_last);
	}
	return NULL;
}

int script_reader_begin(struct script_reader **ret)
{
	struct script_reader *reader = calloc(1, sizeof(*reader));
	int code;

	if (!reader)
		return -ENOMEM;
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->wake, NULL);
	code = thread_begin(&reader->thread, reader_main, reader);
	if (code)
		free(reader);
	else
		*ret = reader;
	return code;
}

void script_reader_watch(struct script_reader *reader, struct script_codes *codes)
{
	struct script_codes *left;

	pthread_mutex_lock(&reader->lock);
	left = reader->before;
	reader->before = reader->now;
	reader->now = script_codes_get(codes);
	pthread_cond_signal(&reader->wake);
	pthread_mutex_unlock(&reader->lock);
	script_codes_put(left);
}

void script_reader_finish(struct script_reader *reader)
{
	if (!reader)
		return;
	pthread_mutex_lock(&reader->lock);
	reader->stop = true;
	pthread_cond_signal(&reader->wake);
	pthread_mutex_unlock(&reader->lock);
	pthread_join(reader->thread, NULL);
	script_codes_put(reader->before);
	script_codes_put(reader->now);
	pthread_cond_destroy(&reader->wake);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}
