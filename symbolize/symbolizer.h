/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to names. Objects are registered as they are first seen, with an open file so that a
 * name can be found after the process and the file are gone; tables are read on the first question.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct elf_file;
struct symbolizer;

struct symbolizer_options {
	bool no_demangle;
	const char *debug_dir; /* NULL: /usr/lib/debug */
};

struct symbol {
	const char *name;   /* demangled, owned by the symbolizer, NULL when there is none */
	uint64_t offset;    /* of the address in it, bytes */
	const char *module; /* kernel module, owned; NULL for the kernel itself and for user code */
};

FPL_MUST_CHECK int symbolizer_create(const struct symbolizer_options *options,
				     struct symbolizer **ret, struct fpl_err *err);
void symbolizer_destroy(struct symbolizer *sym);

/*
 * Register object @id (1.., dense). @fd is an open ELF file, duplicated here; -1 with @image set is
 * an image in memory (the vDSO), copied. @path is as the target sees it: for messages and for the
 * search of debug files (by build-id, then .gnu_debuglink).
 */
FPL_MUST_CHECK int symbolizer_add_object(struct symbolizer *sym, uint32_t id, int fd,
					 const void *image, size_t image_size, const char *path,
					 struct fpl_err *err);

/* Name the code at @lookup_vaddr of object @id. Always fills *ret; name NULL where there is none.
 */
void symbolizer_user(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr,
		     struct symbol *ret);

/*
 * The file of object @id as opened for its symbols, and its separate debug file (NULL where there
 * is none): for what else their bytes tell. Returns false where the file cannot be read. Both are
 * owned by the symbolizer.
 */
bool symbolizer_elf(struct symbolizer *sym, uint32_t id, const struct elf_file **ret,
		    const struct elf_file **ret_debug);

/* Name the kernel code at @addr (from /proc/kallsyms, read once). */
void symbolizer_kernel(struct symbolizer *sym, uint64_t addr, struct symbol *ret);
