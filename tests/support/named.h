/* SPDX-License-Identifier: Apache-2.0 */
/* A namer whose files are read by a real worker, made of this program. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <sys/mman.h>
#include <unistd.h>

#include "naming/namer.h"
#include "parse/parser.h"

struct named {
	struct parser *parser;
	struct namer *namer;
	int fds[8]; /* owned [nr] */
	size_t nr;
};

/* Before there are threads. @options: the parser is ours. */
static inline void named_init(struct named *named, const struct namer_options *options)
{
	struct namer_options own = *options;

	*named = (struct named){ .nr = 0 };
	assert_int_equal(parser_create(PARSER_FORK, &named->parser, NULL), 0);
	own.parser = named->parser;
	assert_int_equal(namer_create(&own, &named->namer, NULL), 0);
}

static inline void named_fini(struct named *named)
{
	namer_destroy(named->namer);
	parser_destroy(named->parser);
	while (named->nr)
		close(named->fds[--named->nr]);
}

/* Register the file open at @fd, which is duplicated. */
static inline void named_add_fd(struct named *named, uint32_t id, int fd, const char *path)
{
	struct met_file file;
	int own = dup(fd);

	assert_true(own >= 0 && named->nr < sizeof(named->fds) / sizeof(named->fds[0]));
	named->fds[named->nr++] = own;
	assert_int_equal(met_file_read(own, &file), 0);
	assert_int_equal(namer_add_object(named->namer, id, path, &file, NULL), 0);
}

/* Register a file without a name that holds @bytes. */
static inline void named_add(struct named *named, uint32_t id, const void *bytes, size_t size,
			     const char *path)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	named_add_fd(named, id, fd, path);
	close(fd);
}
