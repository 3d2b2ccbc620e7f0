/* SPDX-License-Identifier: Apache-2.0 */
/* Windows on their way to who writes them: a few wait, others are dropped whole and counted. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "naming/feed.h"

static void no_thread(void *ctx)
{
	(void)ctx;
}

static void windows_wait_in_order_and_beyond_are_dropped(void **state)
{
	struct feed feed;
	struct feed_batch batch;
	struct profile profile;
	size_t order;
	struct fpl_err err;

	(void)state;
	assert_int_equal(feed_init(&feed,
				   &(struct feed_options){ .windows = true, .main = no_thread },
				   &err),
			 0);
	assert_null(feed.listener.sample);
	assert_null(feed.listener.stack);
	assert_null(feed.listener.look);
	for (unsigned i = 0; i < FEED_WINDOWS_MAX + 2; i++)
		feed.listener.window(feed.listener.ctx,
				     &(struct profile){ .window = { .number = i } });
	assert_int_equal(feed.nr_windows_dropped, 2);
	feed_take(&feed, &batch);

	/* those that were taken leave room */
	feed.listener.window(feed.listener.ctx, &(struct profile){ .window = { .number = 99 } });
	assert_int_equal(feed.nr_windows_dropped, 2);
	for (unsigned i = 0; i < FEED_WINDOWS_MAX; i++) {
		assert_true(feed_pop_window(&batch, &profile, &order));
		assert_int_equal(profile.window.number, i);
	}
	assert_false(feed_pop_window(&batch, &profile, &order));
	feed_batch_fini(&batch);
	feed_take(&feed, &batch);
	assert_true(feed_pop_window(&batch, &profile, &order));
	assert_int_equal(profile.window.number, 99);
	feed_batch_fini(&batch);
	feed_fini(&feed);
}

/* An id is given to another object behind a window whose stacks name the first. */
static void objects_and_windows_keep_their_order(void **state)
{
	char path[] = "/bin/true", build_id[] = "";
	struct met_file file = { .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	const struct profile_object object = {
		.id = 7, .path = path, .build_id = build_id, .file = &file
	};
	struct profile_object first = { 0 };
	struct profile profile;
	struct feed feed;
	struct feed_batch batch;
	struct fpl_err err;
	size_t orders[2];

	(void)state;
	assert_int_equal(feed_init(&feed,
				   &(struct feed_options){ .windows = true, .main = no_thread },
				   &err),
			 0);
	for (int i = 0; i < 2; i++) {
		feed.listener.object(feed.listener.ctx, &object);
		feed.listener.window(feed.listener.ctx, &(struct profile){ .nr_cpus = 1 });
		feed.listener.retired(feed.listener.ctx, object.id);
	}
	feed_take(&feed, &batch);
	assert_int_equal(batch.nr_objects, 2);
	assert_int_equal(batch.nr_retired, 2);
	for (int i = 0; i < 2; i++)
		assert_true(feed_pop_window(&batch, &profile, &orders[i]));
	assert_true(batch.objects->order < orders[0]);
	assert_true(orders[0] < batch.retired[0].order);
	assert_true(batch.retired[0].order < batch.objects->next->order);
	assert_true(batch.objects->next->order < orders[1]);
	assert_true(orders[1] < batch.retired[1].order);
	feed_pop_object(&batch, &first);
	assert_int_equal(first.id, object.id);
	assert_int_equal(batch.nr_objects, 1);
	profile_object_fini(&first);
	feed_batch_fini(&batch);
	feed_fini(&feed);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_wait_in_order_and_beyond_are_dropped),
		cmocka_unit_test(objects_and_windows_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
