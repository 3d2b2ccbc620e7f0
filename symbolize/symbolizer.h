/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to names. Objects are registered as they are first seen, with an open file so that a
 * name can be found after the process and the file are gone; tables are read on the first question.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/kernel_names.h"
#include "symbolize/symbol_source.h"

struct elf_file;
struct symbol_answer;
struct symbol_question;
struct symbolizer;

struct symbolizer_options {
	bool no_demangle;
	bool lines;   /* files and lines are wanted */
	bool inlined; /* so are the functions that are inlined at an address */
	/* Addresses come a few at a time: symbolizer_expect() goes on after the first question. */
	bool live;
	const char *debug_dir; /* NULL: /usr/lib/debug */
	/* borrowed: reads the files; NULL: they are read here. It takes no debug_dir. */
	const struct symbol_source *source;
	/* who is asked for names of the kernel, before /proc/kallsyms is read */
	struct kernel_name_source kernel;
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
 * search of debug files (by build-id, then .gnu_debuglink). A file that is written to afterwards
 * has no names from then on: they would be those of other code.
 */
FPL_MUST_CHECK int symbolizer_add_object(struct symbolizer *sym, uint32_t id, int fd,
					 const void *image, size_t image_size, const char *path,
					 struct fpl_err *err);

/*
 * Register object @id of @from, which has a source, as it was registered there: a file that was
 * written to since has no names here either. Without effect where @from has no file of it. Errors:
 * those of symbolizer_add_object().
 */
FPL_MUST_CHECK int symbolizer_adopt(struct symbolizer *sym, const struct symbolizer *from,
				    uint32_t id, struct fpl_err *err);

/* Addresses whose names are kept, with a source: what memory grows with. Cost: O(objects). */
size_t symbolizer_nr_named(const struct symbolizer *sym);

/* The descriptor of object @id, which stays the symbolizer's; -1: it has none. */
int symbolizer_fd(const struct symbolizer *sym, uint32_t id);

/* Forget the object: its file is closed, and @id may be given to another. No effect without one. */
void symbolizer_remove_object(struct symbolizer *sym, uint32_t id);

/*
 * What was said will be asked about object @id, for another thread to ask (symbol_question_ask());
 * false: nothing is left. The object and its file must stay until it is answered, or given up.
 */
bool symbolizer_question(struct symbolizer *sym, uint32_t id, struct symbol_question *ret);
/* Take over what was asked and answered: names are there from now on, or, where that failed, the
 * file is never asked again. */
void symbolizer_answer(struct symbolizer *sym, uint32_t id, struct symbol_question *question,
		       struct symbol_answer *answer);

/* Close the file of object @id, with a source: what was named keeps its names, and nothing else
 * gets one. No effect where there is none. */
void symbolizer_close_file(struct symbolizer *sym, uint32_t id);

/*
 * Say that @lookup_vaddr of object @id will be asked about: with a source, all that were said for
 * an object are named by one reading of its file. Without memory, or a source, nothing happens.
 */
void symbolizer_expect(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr);

/* Name the code at @lookup_vaddr of object @id. Always fills *ret; name NULL where there is none.
 */
void symbolizer_user(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr,
		     struct symbol *ret);

/*
 * The functions at @lookup_vaddr of object @id, the innermost first: how many of @ret
 * [SYMBOL_LINES_MAX] are filled. The last one is what symbolizer_user() names. 0 where there is no
 * debugging information, or nothing of it was wanted. Without options.inlined there is the last one
 * alone, at the line the code is of; without options.lines there are names alone. Texts are owned
 * by the symbolizer.
 */
size_t symbolizer_lines(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr,
			struct symbol_line *ret);

/*
 * Where the function at @vaddr of object @id begins, as its FDE says: of an address that
 * symbolizer_user() found no name for. Errors: -ENOENT no FDE covers it; -ENOSYS unknown: it was
 * not asked about, or has a name, or there is no source.
 */
FPL_MUST_CHECK int symbolizer_function_start(const struct symbolizer *sym, uint32_t id,
					     uint64_t vaddr, uint64_t *ret);

/*
 * The functions of object @id, and what its CFI says of the frame pointer, from the source: as in
 * symbolize/symbol_source.h. Errors: -ENOSYS there is no source, see symbolizer_elf(); -ENOENT
 * there is no such object, or its file has been the end of who read it.
 */
FPL_MUST_CHECK int symbolizer_functions(struct symbolizer *sym, uint32_t id,
					struct vaddr_range **ret, size_t *ret_nr,
					struct fpl_err *err);
FPL_MUST_CHECK int symbolizer_frames(struct symbolizer *sym, uint32_t id, const uint64_t *vaddrs,
				     size_t nr, uint8_t *ret, struct fpl_err *err);

/*
 * The file of object @id as opened for its symbols, and its separate debug file (NULL where there
 * is none): for what else their bytes tell. Returns false where the file cannot be read, or with a
 * source. Both are owned by the symbolizer.
 */
bool symbolizer_elf(struct symbolizer *sym, uint32_t id, const struct elf_file **ret,
		    const struct elf_file **ret_debug);

/*
 * Name the kernel code at @addr: by the source of kernel names, or from /proc/kallsyms, which is
 * read once, where that cannot be asked.
 */
void symbolizer_kernel(struct symbolizer *sym, uint64_t addr, struct symbol *ret);
