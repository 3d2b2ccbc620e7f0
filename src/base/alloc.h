/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is there, or the process ends: one line on stderr, exit code ALLOC_EXIT. Functions
 * that use it have no -ENOMEM, and their callers no check of it.
 *
 * The rule: only code that runs after the last sample was taken, or where none is taken, uses it:
 * reading, merging and drawing recordings, differences, reports. Code that also runs while samples
 * are taken (the engine, names and recordings for top and --stream), and code of the processes that
 * read files of targets, uses malloc(3), vector_push() and id_table_add(), and returns -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define ALLOC_EXIT 2 /* CLI_EXIT_CANNOT_RUN */

/* As without must_, but that they return no NULL; of no bytes, too. To be freed by free(3). */
__attribute__((__malloc__, __returns_nonnull__)) void *must_malloc(size_t size);
__attribute__((__malloc__, __returns_nonnull__)) void *must_calloc(size_t nr, size_t size);
__attribute__((__returns_nonnull__)) void *must_reallocarray(void *list, size_t nr, size_t size);
__attribute__((__malloc__, __returns_nonnull__)) char *must_strdup(const char *text);
/* Replace *text, which is owned or NULL, by a copy of @by. */
void must_set_text(char **text, const char *by);
__attribute__((__malloc__, __returns_nonnull__, __format__(__printf__, 1, 2))) char *
must_asprintf(const char *fmt, ...);

/*
 * A stream into memory, which fails for nothing else: when it is closed, *text is what was written,
 * with a NUL behind its *size bytes, to be freed.
 */
__attribute__((__returns_nonnull__)) FILE *must_memstream(char **text, size_t *size);
void must_memstream_close(FILE *stream);

/* There is no memory: end the process. Prints "fpless: <name>: out of memory<advice>". */
_Noreturn void alloc_fail(void);

/* End the process where @error, of a function that can fail for nothing else, is not 0. */
static inline void alloc_check(int error)
{
	if (__builtin_expect(error != 0, 0))
		alloc_fail();
}

/* Name the file being made, for the message. @name is borrowed; NULL: no file. */
void alloc_set_name(const char *name);

/* Have @fn called before the process ends, which must not allocate; NULL: nothing is called. */
void alloc_set_last(void (*fn)(void));
