/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope guards: a resource is released where its variable goes out of scope, unless TAKE_PTR or
 * TAKE_FD handed it over. A guarded variable is initialised in its declaration.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn)	__attribute__((__cleanup__(fn)))
#define ARRAY_SIZE(arr) (sizeof(arr) / sizeof((arr)[0]))

static inline void cleanup_free(void *var)
{
	free(*(void **)var);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_FD	  CLEANUP(cleanup_fd)

/* Hand @ptr over: yields its value and leaves NULL behind. */
#define TAKE_PTR(ptr)                              \
	({                                         \
		__typeof__(ptr) taken_ptr = (ptr); \
		(ptr) = NULL;                      \
		taken_ptr;                         \
	})

/* Hand @fd over: yields its value and leaves -1 behind. */
#define TAKE_FD(fd)                  \
	({                           \
		int taken_fd = (fd); \
		(fd) = -1;           \
		taken_fd;            \
	})
