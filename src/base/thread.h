/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of fpless itself. */
#pragma once

#include <pthread.h>

#include "base/err.h"

/*
 * Begin a thread that runs @main with @ctx. All signals are blocked in it: they are for the thread
 * that runs the loop. Returns 0, the thread to be joined by the caller, or a negative errno and
 * leaves @thread as it is.
 */
FPL_MUST_CHECK int thread_begin(pthread_t *thread, void *(*main)(void *), void *ctx);
