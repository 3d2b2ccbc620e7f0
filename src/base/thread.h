/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of fpless itself. */
#pragma once

#include <pthread.h>

#include "base/err.h"

/*
 * Begin a thread that runs @main with @ctx. All signals are blocked in it: the thread of the event
 * loop handles them. Returns 0, the thread to be joined by the caller, or a negative errno and
 * leaves @thread as it is.
 */
FPL_MUST_CHECK int thread_begin(pthread_t *thread, void *(*main)(void *), void *ctx);
