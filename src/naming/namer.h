/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to names: the one way there is. Objects are registered with their open files, what will
 * be asked about them is gathered, workers read each file once for all of it (naming/asker.h), and
 * what they said is remembered. For one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/identity.h"
#include "profile/engine.h"
#include "symbolize/symbol_place.h"

struct disk_cache;
struct namer;
struct parser;

struct namer_options {
	struct parser *parser;	  /* borrowed: its workers read the files */
	struct disk_cache *cache; /* borrowed; keeps names from run to run; NULL: nothing does */
	bool no_demangle;
	bool lines;   /* files and lines are wanted */
	bool inlined; /* so are the functions that are inlined at an address */
	bool is_live; /* addresses come a few at a time, for long: workers keep what they read */
	/* The kernel is asked for names of its own before /proc/kallsyms is read. */
	bool asks_kernel;
};

struct symbol {
	const char *name; /* demangled, owned by the namer; NULL: no name */
	/* Start of the symbol; without one, of the function, as its FDE says; SYMBOL_NO_START:
	 * unknown. */
	uint64_t start;
	const char *module; /* kernel module, owned; NULL for the kernel itself and for user code */
};

/* Addresses that were known from earlier runs, and that workers were asked about. */
struct namer_stats {
	uint64_t nr_known, nr_asked;
};

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int namer_create(const struct namer_options *options, struct namer **ret,
				struct fpl_err *err);
/* Writes names that are new to the cache, too. NULL is allowed. */
void namer_destroy(struct namer *namer);

/*
 * Register object @id (1.., dense), which its process sees as @path, and whose descriptor stays the
 * caller's and open until the object is removed. One that was registered keeps its names. A file
 * that is written to afterwards has no names from then on: they would be those of other code.
 * Errors: -EINVAL @id is out of range; -ENOMEM.
 */
FPL_MUST_CHECK int namer_add_object(struct namer *namer, uint32_t id, const char *path,
				    const struct met_file *file, struct fpl_err *err);
/* The same of all objects of @profile whose files are open. */
FPL_MUST_CHECK int namer_add_profile(struct namer *namer, const struct profile *profile,
				     struct fpl_err *err);
/* Forget the object: @id may be given to another. No effect without one. */
void namer_remove_object(struct namer *namer, uint32_t id);
/* Is there a file to ask about object @id? */
bool namer_has_file(const struct namer *namer, uint32_t id);

/* Addresses whose names are remembered: what memory grows with. Cost: O(objects). */
size_t namer_nr_named(const struct namer *namer);
/* Forget all of them; objects stay. What was handed out is gone. */
void namer_forget_names(struct namer *namer);
/* Write names that are new to the cache. */
void namer_keep(struct namer *namer, struct namer_stats *ret);

/*
 * The run calls these hooks for objects that go before its end, so that their frames are named in
 * time. It may use them as long as the namer exists.
 */
const struct engine_namer *namer_hooks(struct namer *namer);

/* Say that @lookup_vaddr of object @id will be asked about: all that were said are named by one
 * reading of its file. Without memory nothing happens. */
void namer_expect(struct namer *namer, uint32_t id, uint64_t lookup_vaddr);

/* Name the code at @lookup_vaddr of object @id. Always fills *ret. */
void namer_user(struct namer *namer, uint32_t id, uint64_t lookup_vaddr, struct symbol *ret);

/*
 * The functions at @lookup_vaddr of object @id, the innermost first: how many of @ret
 * [SYMBOL_LINES_MAX] are filled. The last one is what namer_user() names. 0 where there is no
 * debugging information, or nothing of it was wanted. Without options.inlined there is the last one
 * alone, at the line the code is of; without options.lines there are names alone. Texts are owned
 * by the namer.
 */
size_t namer_lines(struct namer *namer, uint32_t id, uint64_t lookup_vaddr,
		   struct symbol_line *ret);

/* Leave of the functions @lines [@nr] what the options want: how many are left. */
size_t namer_wanted_lines(const struct namer *namer, struct symbol_line *lines, size_t nr);

/*
 * Fill @ret [@nr] with what the CFI of object @id says of the frame pointer at @vaddrs [@nr],
 * ascending: SYMBOL_FRAME_*. Errors: -ENOENT there is no such object, or its file has been the end
 * of who read it; those of naming/asker.h.
 */
FPL_MUST_CHECK int namer_frames(struct namer *namer, uint32_t id, const uint64_t *vaddrs, size_t nr,
				uint8_t *ret, struct fpl_err *err);

/*
 * The same of the variables at @vaddrs: as client_data() (parse/client.h). The caller ends *ret by
 * symbol_places_fini().
 */
FPL_MUST_CHECK int namer_data(struct namer *namer, uint32_t id, const uint64_t *vaddrs, size_t nr,
			      struct symbol_places *ret, struct fpl_err *err);

/* Name the kernel code at @addr (naming/kernel_names.h). */
void namer_kernel(struct namer *namer, uint64_t addr, struct symbol *ret);
/* Is it in a function through which threads go to sleep (kernel_names_is_scheduler())? */
bool namer_is_scheduler(struct namer *namer, uint64_t addr);
