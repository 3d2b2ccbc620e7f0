/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory_limit.h"
#include "base/vector.h"

static const char *name_at_hand;
static void (*call_last)(void);

void alloc_set_name(const char *name)
{
	name_at_hand = name;
}

void alloc_set_last(void (*fn)(void))
{
	call_last = fn;
}

_Noreturn void alloc_fail(void)
{
	fpl_log(FPL_LOG_ERROR, "%s%sout of memory%s", name_at_hand ? name_at_hand : "",
		name_at_hand ? ": " : "", memory_limit_advice(-ENOMEM));
	if (call_last)
		call_last();
	/* no exit(3): half an output is not to be flushed */
	_exit(ALLOC_EXIT);
}

/* @ptr, which is NULL where there is no memory. */
static void *check(void *ptr)
{
	if (!ptr)
		alloc_fail();
	return ptr;
}

void *must_malloc(size_t size)
{
	return check(malloc(size ? size : 1));
}

void *must_calloc(size_t nr, size_t size)
{
	return check(nr && size ? calloc(nr, size) : calloc(1, 1));
}

void *must_reallocarray(void *list, size_t nr, size_t size)
{
	return check(nr && size ? reallocarray(list, nr, size) : realloc(list, 1));
}

char *must_strdup(const char *text)
{
	return check(strdup(text));
}

char *must_asprintf(const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		alloc_fail();
	va_end(args);
	return text;
}

/* The target of a stream. open_memstream(3) drops what does not fit and says nothing. */
struct memory {
	VECTOR(char) bytes;
	char **text; /* borrowed: what to set when the stream is closed */
	size_t *size;
};

static ssize_t memory_write(void *cookie, const char *bytes, size_t size)
{
	struct memory *memory = cookie;

	must_reserve(&memory->bytes, memory->bytes.nr + size + 1);
	memcpy(memory->bytes.list + memory->bytes.nr, bytes, size);
	memory->bytes.nr += size;
	return (ssize_t)size;
}

/* For ftell(3). */
static int memory_seek(void *cookie, off64_t *offset, int whence)
{
	const struct memory *memory = cookie;

	if (*offset || whence == SEEK_SET)
		return -1;
	*offset = (off64_t)memory->bytes.nr;
	return 0;
}

static int memory_close(void *cookie)
{
	struct memory *memory = cookie;

	must_push(&memory->bytes, '\0');
	*memory->text = memory->bytes.list;
	*memory->size = memory->bytes.nr - 1;
	free(memory);
	return 0;
}

FILE *must_memstream(char **text, size_t *size)
{
	static const cookie_io_functions_t functions = {
		.write = memory_write,
		.seek = memory_seek,
		.close = memory_close,
	};
	struct memory *memory = must_malloc(sizeof(*memory));

	*memory = (struct memory){ .text = text, .size = size };
	return check(fopencookie(memory, "w", functions));
}

void must_memstream_close(FILE *stream)
{
	if (fclose(stream))
		alloc_fail();
}

void must_set_text(char **text, const char *by)
{
	char *copy = must_strdup(by);

	free(*text);
	*text = copy;
}
