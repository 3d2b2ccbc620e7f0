/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/symbols.h"

#include <string.h>

#include "base/cleanup.h"

static void close_debug(struct desk_file *file)
{
	cleanup_fd(&file->debug_fd);
	cleanup_fd(&file->alt_fd);
}

/* Describes the file, its debug file included. */
static int describe(struct symbols *symbols, int fd, const char *path, struct desk_file *ret,
		    struct fpl_err *err)
{
	struct debug_link link;
	struct elf_file *elf;
	int code = desk_file_init(ret, fd, path);

	if (code)
		return fpl_fail(err, code, "%s: %s", path, strerror(-code));
	code = desk_facts(symbols->desk, ret, &elf, NULL, &link, err);
	if (code)
		return code;
	desk_find_debug(symbols->desk, ret, elf, &link, NULL);
	elf_file_close(elf);
	return 0;
}

static int find_names(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		      struct symbol_places *ret, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	CLEANUP(close_debug) struct desk_file file = { .debug_fd = -1, .alt_fd = -1 };
	int code = describe(symbols, fd, path, &file, err);

	return code ? code : desk_names(symbols->desk, &file, vaddrs, nr, ret, err);
}

static int find_lines(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		      struct symbol_chains *ret, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	CLEANUP(close_debug) struct desk_file file = { .debug_fd = -1, .alt_fd = -1 };
	int code = describe(symbols, fd, path, &file, err);

	if (code)
		return code;
	desk_find_alt(symbols->desk, &file);
	return desk_lines(symbols->desk, &file, vaddrs, nr, ret, err);
}

static int find_functions(void *ctx, int fd, const char *path, struct vaddr_range **ret,
			  size_t *ret_nr, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	CLEANUP(close_debug) struct desk_file file = { .debug_fd = -1, .alt_fd = -1 };
	int code = describe(symbols, fd, path, &file, err);

	return code ? code : desk_functions(symbols->desk, &file, ret, ret_nr, err);
}

static int find_frames(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		       uint8_t *ret, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	CLEANUP(close_debug) struct desk_file file = { .debug_fd = -1, .alt_fd = -1 };
	int code = describe(symbols, fd, path, &file, err);

	return code ? code : desk_frames(symbols->desk, &file, vaddrs, nr, ret, err);
}

int symbols_init(struct symbols *ret, struct parser *parser, struct fpl_err *err)
{
	*ret = (struct symbols){
		.source = { .names = find_names,
			    .lines = find_lines,
			    .functions = find_functions,
			    .frames = find_frames,
			    .ctx = ret },
	};

	int code = desk_open(parser, &ret->desk, err);

	if (!code)
		desk_hush(ret->desk); /* the search for tables has said it */
	return code;
}

void symbols_mangled(struct symbols *symbols)
{
	desk_mangled(symbols->desk);
}

void symbols_fini(struct symbols *symbols)
{
	desk_close(symbols->desk);
	symbols->desk = NULL;
}
