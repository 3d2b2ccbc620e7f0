/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the windows of a store to a target, in their order, and notes after each how far it is. The
 * store is the queue: what is not taken is asked for again. The store is read by fpless query, a
 * process for each look at it, which has none of this one's connections.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/service.h"
#include "push/cursor.h"
#include "push/http.h"
#include "push/labels.h"
#include "push/push_metrics.h"
#include "push/target.h"

#define PUSHER_TRIES	 5u /* of a request, with once */
#define PUSHER_PAUSE_MAX (300 * NS_PER_S)

struct pusher {
	/* All is borrowed. */
	const struct target *target;
	const char *program, *store, *metrics; /* "": no metrics */
	struct http *http;
	const struct cursor_file *cursor_file;
	const struct labels_given *labels;
	const struct service *service;
	int stop_fd; /* readable: end soon */
	uint64_t since_ns, max_age_ns, every_ns, retry_ns;
	bool once;

	/* private */
	struct cursor cursor;
	bool has_cursor;
	struct push_sums sums;
	size_t limit;	 /* of windows in one look */
	unsigned nr_bad; /* failures in a row */
	bool is_down;	 /* it was said that nothing can be sent */
};

/*
 * Send until stop_fd is readable or, with once, until there is nothing more. *ret_left: with once,
 * something was not taken. Errors: the cursor cannot be read or written.
 */
FPL_MUST_CHECK int pusher_run(struct pusher *pusher, bool *ret_left, struct fpl_err *err);
