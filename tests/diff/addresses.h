/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses from stdin, and who names them as a run does. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "naming/namer.h"
#include "parse/parser.h"

__attribute__((__noreturn__)) static inline void die(const struct fpl_err *err)
{
	fprintf(stderr, "%s\n", err->msg);
	exit(2);
}

/* [*ret_nr], the caller frees them. */
static inline uint64_t *read_addresses(size_t *ret_nr)
{
	uint64_t *vaddrs = NULL;
	size_t room = 0;
	char line[64];

	for (*ret_nr = 0; fgets_unlocked(line, sizeof(line), stdin); (*ret_nr)++) {
		if (*ret_nr == room) {
			room = room ? 2 * room : 1024;
			vaddrs = reallocarray(vaddrs, room, sizeof(*vaddrs));
			if (!vaddrs)
				abort();
		}
		vaddrs[*ret_nr] = strtoull(line, NULL, 16);
	}
	return vaddrs;
}

/* A namer with a file, which is object 1. */
struct office {
	struct parser *parser;
	struct namer *namer;
	struct met_file file;
};

static inline void office_open(struct office *ret, const char *path,
			       const struct namer_options *options)
{
	struct namer_options own = *options;
	struct fpl_err err = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || met_file_read(fd, &ret->file)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(2);
	}
	if (parser_create(PARSER_FORK, &ret->parser, &err))
		die(&err);
	own.parser = ret->parser;
	if (namer_create(&own, &ret->namer, &err) ||
	    namer_add_object(ret->namer, 1, path, &ret->file, &err))
		die(&err);
}

static inline void office_close(struct office *office)
{
	namer_destroy(office->namer);
	parser_destroy(office->parser);
	close(office->file.fd);
}
