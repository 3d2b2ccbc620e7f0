/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send and receive bytes and descriptors over a local socket, whole or not at all, for callers that
 * may wait.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define WIRE_FDS_MAX 3u

/* Send all @size bytes. Errors: -EPIPE the reader has closed; else as send(2). */
FPL_MUST_CHECK int wire_send(int sock, const void *bytes, size_t size);

/* Send the @size bytes, at least one, with copies of @nr_fds descriptors, at most WIRE_FDS_MAX. */
FPL_MUST_CHECK int wire_send_fds(int sock, const void *bytes, size_t size, const int *fds,
				 size_t nr_fds);

/* Receive exactly @size bytes. Errors: -EPIPE the other side has closed; else as recv(2). */
FPL_MUST_CHECK int wire_recv(int sock, void *bytes, size_t size);

/*
 * The same with descriptors: *ret_fds are the caller's to close, -1 if fewer came. The kernel drops
 * those beyond WIRE_FDS_MAX.
 */
FPL_MUST_CHECK int wire_recv_fds(int sock, void *bytes, size_t size, int ret_fds[WIRE_FDS_MAX]);
