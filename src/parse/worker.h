/* SPDX-License-Identifier: Apache-2.0 */
/* The process that reads files of other users: one request after the other. */
#pragma once

#include <stddef.h>

/*
 * Serves requests (parse/message.h) on @sock until it is closed. Ends at what makes no sense.
 * @nr_kept: files that it may keep from one request to the next.
 */
__attribute__((__noreturn__)) void worker_main(int sock, size_t nr_kept);
