/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "obj/debug_file.h"
#include "obj/elf_file.h"
#include "obj/identity.h"
#include "obj/mini_debug.h"
#include "symbolize/debug_index.h"
#include "symbolize/demangle.h"
#include "symbolize/kallsyms.h"
#include "symbolize/name_cache.h"
#include "symbolize/place_list.h"
#include "symbolize/symbol_question.h"
#include "symbolize/symtab.h"

/* Ids are dense: one far beyond is a bug of the caller and must not cost memory. */
#define OBJECTS_MAX (1u << 20)

struct object {
	char *path;		 /* owned */
	int fd;			 /* owned until the tables are read, or it is closed, then -1 */
	struct file_stamp stamp; /* of the file when it was registered */
	struct trust trust;	 /* likewise */
	uint8_t *image;		 /* owned until the tables are read */
	size_t image_size;
	bool read;		     /* the tables were asked for: tab NULL means there are none */
	struct elf_file *elf;	     /* owned */
	struct elf_file *debug;	     /* owned: separate debug file, or NULL */
	struct elf_file *supplement; /* owned: of the debugging information, or NULL */
	struct elf_file *mini;	     /* owned: .gnu_debugdata, or NULL */
	struct symtab *tab;	     /* owned */
	struct name_cache names;
	struct place_list places;  /* with a source: what it says */
	bool is_lost;		   /* with a source: it failed over this file */
	bool has_no_lines;	   /* there is no debugging information, or it cannot be read */
	struct debug_index *index; /* owned: without a source, NULL until asked for */
};

struct symbolizer {
	bool no_demangle, live, lines, inlined;
	const struct symbol_source *source; /* borrowed, or NULL */
	char *debug_dir;		    /* owned, or NULL */
	struct object **objects;	    /* owned [nr_objects], by id - 1; NULL: none */
	size_t nr_objects;
	bool kernel_read;
	struct kallsyms *kernel; /* owned; NULL: unreadable */
	struct kernel_name_source kernel_source;
	struct kernel_names kernel_told; /* by that source */
	struct name_cache kernel_names;
};

static void cleanup_symbolizer(struct symbolizer **sym)
{
	symbolizer_destroy(*sym);
}

static void object_destroy(struct object *object)
{
	if (!object)
		return;
	name_cache_fini(&object->names);
	place_list_fini(&object->places);
	debug_index_destroy(object->index);
	symtab_destroy(object->tab);
	elf_file_close(object->mini);
	elf_file_close(object->supplement);
	elf_file_close(object->debug);
	elf_file_close(object->elf);
	free(object->image);
	if (object->fd >= 0)
		close(object->fd);
	free(object->path);
	free(object);
}

/* The object that was registered with @id, or NULL. */
static struct object *object_at(const struct symbolizer *sym, uint32_t id)
{
	return id >= 1 && id <= sym->nr_objects ? sym->objects[id - 1] : NULL;
}

int symbolizer_create(const struct symbolizer_options *options, struct symbolizer **ret,
		      struct fpl_err *err)
{
	CLEANUP(cleanup_symbolizer) struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (!sym)
		return fpl_fail(err, -ENOMEM, "symbols: out of memory");
	sym->no_demangle = options->no_demangle;
	sym->live = options->live;
	sym->lines = options->lines;
	sym->inlined = options->inlined;
	sym->source = options->source;
	sym->kernel_source = options->kernel;
	if (options->debug_dir) {
		sym->debug_dir = strdup(options->debug_dir);
		if (!sym->debug_dir)
			return fpl_fail(err, -ENOMEM, "symbols: out of memory");
	}
	*ret = TAKE_PTR(sym);
	return 0;
}

void symbolizer_destroy(struct symbolizer *sym)
{
	if (!sym)
		return;
	for (size_t i = 0; i < sym->nr_objects; i++)
		object_destroy(sym->objects[i]);
	free(sym->objects);
	kallsyms_destroy(sym->kernel);
	kernel_names_fini(&sym->kernel_told);
	name_cache_fini(&sym->kernel_names);
	free(sym->debug_dir);
	free(sym);
}

static int make_room(struct symbolizer *sym, uint32_t id)
{
	size_t nr = sym->nr_objects ? sym->nr_objects : 64;
	struct object **grown;

	if (id <= sym->nr_objects)
		return 0;
	while (nr < id)
		nr *= 2;
	grown = reallocarray(sym->objects, nr, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + sym->nr_objects, 0, (nr - sym->nr_objects) * sizeof(*grown));
	sym->objects = grown;
	sym->nr_objects = nr;
	return 0;
}

int symbolizer_add_object(struct symbolizer *sym, uint32_t id, int fd, const void *image,
			  size_t image_size, const char *path, struct fpl_err *err)
{
	AUTO_FREE uint8_t *image_copy = NULL;
	AUTO_FREE char *path_copy = strdup(path);
	AUTO_FREE struct object *object = calloc(1, sizeof(*object));
	AUTO_FD int own_fd = -1;
	struct file_stamp stamp = { 0 };
	struct trust trust = { 0 };

	if (id == 0 || id > OBJECTS_MAX)
		return fpl_fail(err, -EINVAL, "%s: object id %u is out of range", path, id);
	if (!path_copy || !object || make_room(sym, id))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	if (sym->objects[id - 1])
		return fpl_fail(err, -EEXIST, "%s: object %u is %s", path, id,
				sym->objects[id - 1]->path);
	if (fd >= 0) {
		own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (own_fd < 0) {
			int rc = -errno;

			return fpl_fail(err, rc, "%s: %s", path, strerror(-rc));
		}
	} else if (image) {
		image_copy = malloc(image_size ? image_size : 1);
		if (!image_copy)
			return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
		memcpy(image_copy, image, image_size);
	}
	if (own_fd >= 0) {
		int rc = file_stamp_read(own_fd, &stamp);

		if (!rc)
			rc = trust_read(own_fd, &trust);
		if (rc)
			return fpl_fail(err, rc, "%s: %s", path, strerror(-rc));
	}
	*object = (struct object){
		.path = TAKE_PTR(path_copy),
		.fd = TAKE_FD(own_fd),
		.stamp = stamp,
		.trust = trust,
		.image = TAKE_PTR(image_copy),
		.image_size = image_size,
	};
	sym->objects[id - 1] = TAKE_PTR(object);
	return 0;
}

void symbolizer_remove_object(struct symbolizer *sym, uint32_t id)
{
	if (!object_at(sym, id))
		return;
	object_destroy(sym->objects[id - 1]);
	sym->objects[id - 1] = NULL;
}

void symbolizer_close_file(struct symbolizer *sym, uint32_t id)
{
	struct object *object = object_at(sym, id);

	if (!object || object->fd < 0)
		return;
	close(object->fd);
	object->fd = -1;
}

int symbolizer_adopt(struct symbolizer *sym, const struct symbolizer *from, uint32_t id,
		     struct fpl_err *err)
{
	int fd = symbolizer_fd(from, id), code;

	if (fd < 0)
		return 0;
	code = symbolizer_add_object(sym, id, fd, NULL, 0, from->objects[id - 1]->path, err);
	if (!code) {
		sym->objects[id - 1]->stamp = from->objects[id - 1]->stamp;
		sym->objects[id - 1]->trust = from->objects[id - 1]->trust;
	}
	return code;
}

size_t symbolizer_nr_named(const struct symbolizer *sym)
{
	size_t nr = 0;

	for (size_t i = 0; i < sym->nr_objects; i++)
		nr += sym->objects[i] ? sym->objects[i]->places.nr_known : 0;
	return nr;
}

int symbolizer_fd(const struct symbolizer *sym, uint32_t id)
{
	const struct object *object = object_at(sym, id);

	return object ? object->fd : -1;
}

/* Of a file that was written to since it was registered, whatever is read now is of other code. */
static int check_file(const struct object *object, struct fpl_err *err)
{
	if (object->fd < 0 || file_stamp_holds(&object->stamp, object->fd))
		return 0;
	return fpl_fail(err, -ESTALE, "%s: was written to while it was profiled", object->path);
}

static int open_object(struct object *object, struct fpl_err *err)
{
	int rc;

	if (object->fd >= 0)
		return elf_file_open(TAKE_FD(object->fd), object->path, &object->elf, err);
	if (!object->image)
		return fpl_fail(err, -ENOENT, "%s: no file to read symbols from", object->path);
	rc = elf_file_from_memory(object->image, object->image_size, object->path, &object->elf,
				  err);
	free(object->image);
	object->image = NULL;
	return rc;
}

/* Read the tables of @object, once; whatever fails leaves it without names. */
static void read_tables(struct symbolizer *sym, struct object *object)
{
	const struct elf_file *debug[2];
	size_t nr_debug = 0;
	struct fpl_err err = { 0 };

	if (object->read)
		return;
	object->read = true;
	if (check_file(object, &err) || open_object(object, &err)) {
		fpl_log(FPL_LOG_DEBUG, "no symbols: %s", err.msg);
		return;
	}
	if (object->elf->fd >= 0 &&
	    debug_file_open(object->elf, object->path, sym->debug_dir, &object->debug, NULL) == 0)
		debug[nr_debug++] = object->debug;
	if (mini_debug_open(object->elf, &object->mini, &err) == 0)
		debug[nr_debug++] = object->mini;
	else if (err.code != -ENOENT)
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
	if (symtab_create(object->elf, debug, nr_debug, &object->tab, &err)) {
		fpl_log(FPL_LOG_WARN, "no symbols: %s", err.msg);
		return;
	}
	fpl_log(FPL_LOG_DEBUG, "%s: %zu symbols%s%s", object->path, symtab_nr_symbols(object->tab),
		object->debug ? ", debug file " : "", object->debug ? object->debug->name : "");
}

/* @raw made readable; takes it over. */
static char *readable(const struct symbolizer *sym, char *raw)
{
	char *demangled = raw && !sym->no_demangle ? demangle_name(raw) : NULL;

	if (!demangled)
		return raw;
	free(raw);
	return demangled;
}

/* The object with its tables read, or NULL where @id was never registered. */
static struct object *find_object(struct symbolizer *sym, uint32_t id)
{
	struct object *object = object_at(sym, id);

	if (object)
		read_tables(sym, object);
	return object;
}

bool symbolizer_elf(struct symbolizer *sym, uint32_t id, const struct elf_file **ret,
		    const struct elf_file **ret_debug)
{
	const struct object *object = sym->source ? NULL : find_object(sym, id);

	if (!object || !object->elf)
		return false;
	*ret = object->elf;
	*ret_debug = object->debug;
	return true;
}

/* The object for which there is a source to ask; NULL: there is none. */
static struct object *sourced_object(struct symbolizer *sym, uint32_t id)
{
	struct object *object = sym->source ? object_at(sym, id) : NULL;

	return object && object->fd >= 0 ? object : NULL;
}

void symbolizer_expect(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr)
{
	struct object *object = sourced_object(sym, id);

	/* without memory it is a question of its own later */
	if (!object || object->is_lost)
		return;
	if (!object->places.nr_rounds ||
	    (sym->live && !place_list_find(&object->places, lookup_vaddr)))
		(void)!place_list_add(&object->places, lookup_vaddr);
}

/* After a failure the file is not read again: it may have been the end of who did. */
static int lose(struct object *object, int code, const struct fpl_err *err)
{
	if (code) {
		object->is_lost = true;
		fpl_log(FPL_LOG_WARN, "%s: its functions have no names", err->msg);
	}
	return code;
}

/* What is to be asked of the file of @object: all addresses that were said. */
static void make_question(const struct symbolizer *sym, struct object *object,
			  struct symbol_question *ret)
{
	*ret = (struct symbol_question){
		.fd = object->fd,
		.path = object->path,
		.stamp = object->stamp,
		.trust = object->trust,
		.lines = (sym->lines || sym->inlined) && !object->has_no_lines,
		.mangled = sym->no_demangle,
	};
	place_list_take(&object->places, &ret->vaddrs, &ret->nr);
}

/* Takes both over. */
static int keep_answer(struct object *object, struct symbol_question *question,
		       struct symbol_answer *answer)
{
	int code = lose(object, answer->code, &answer->err);

	object->has_no_lines = object->has_no_lines || answer->has_no_lines;
	if (!code)
		code = place_list_keep(&object->places, question->vaddrs, question->nr,
				       &answer->places);
	symbol_question_fini(question);
	return code;
}

/* One reading of the file for all addresses that are to be asked. */
static int ask_names(const struct symbolizer *sym, struct object *object)
{
	struct symbol_question question;
	struct symbol_answer answer;

	make_question(sym, object, &question);
	symbol_question_ask(&question, sym->source, &answer);
	return keep_answer(object, &question, &answer);
}

bool symbolizer_question(struct symbolizer *sym, uint32_t id, struct symbol_question *ret)
{
	struct object *object = sourced_object(sym, id);

	if (!object || object->is_lost || !object->places.nr)
		return false;
	make_question(sym, object, ret);
	return true;
}

void symbolizer_answer(struct symbolizer *sym, uint32_t id, struct symbol_question *question,
		       struct symbol_answer *answer)
{
	(void)!keep_answer(object_at(sym, id), question, answer);
}

/* The place of @vaddr, which is not known yet, by reading the file. */
static const struct symbol_place *find_by_asking(const struct symbolizer *sym,
						 struct object *object, uint64_t vaddr)
{
	const struct symbol_place *place = NULL;

	if (object->places.nr) {
		if (ask_names(sym, object))
			return NULL;
		place = place_list_find(&object->places, vaddr);
	}
	/* an address nobody said would be asked about: one more reading of the file */
	if (!place && !place_list_add(&object->places, vaddr) && !ask_names(sym, object))
		place = place_list_find(&object->places, vaddr);
	return place;
}

static void name_by_source(struct symbolizer *sym, uint32_t id, uint64_t vaddr, struct symbol *ret)
{
	struct object *object = object_at(sym, id);
	const struct symbol_place *place;

	if (!object || object->is_lost)
		return;
	place = place_list_find(&object->places, vaddr);
	if (!place && object->fd >= 0)
		place = find_by_asking(sym, object, vaddr);
	if (place && place->name)
		*ret = (struct symbol){ .name = place->name, .offset = vaddr - place->start };
}

int symbolizer_functions(struct symbolizer *sym, uint32_t id, struct vaddr_range **ret,
			 size_t *ret_nr, struct fpl_err *err)
{
	struct object *object = sourced_object(sym, id);

	if (!sym->source)
		return -ENOSYS;
	if (!object || object->is_lost || check_file(object, err))
		return -ENOENT;
	return sym->source->functions(sym->source->ctx, object->fd, object->path, ret, ret_nr, err);
}

int symbolizer_frames(struct symbolizer *sym, uint32_t id, const uint64_t *vaddrs, size_t nr,
		      uint8_t *ret, struct fpl_err *err)
{
	struct object *object = sourced_object(sym, id);

	if (!sym->source)
		return -ENOSYS;
	if (!object || object->is_lost || check_file(object, err))
		return -ENOENT;
	return sym->source->frames(sym->source->ctx, object->fd, object->path, vaddrs, nr, ret,
				   err);
}

int symbolizer_function_start(const struct symbolizer *sym, uint32_t id, uint64_t vaddr,
			      uint64_t *ret)
{
	const struct object *object = sym->source ? object_at(sym, id) : NULL;
	const struct symbol_place *place = object ? place_list_find(&object->places, vaddr) : NULL;

	if (!place || place->name)
		return -ENOSYS;
	*ret = place->start;
	return place->start == SYMBOL_NO_START ? -ENOENT : 0;
}

static void name_here(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr,
		      struct symbol *ret)
{
	struct symtab_match match;
	struct object *object = find_object(sym, id);

	if (!object || !object->tab || !symtab_find(object->tab, lookup_vaddr, &match))
		return;
	if (!name_cache_find(&object->names, match.idx, &ret->name))
		ret->name = name_cache_add(&object->names, match.idx,
					   readable(sym, symtab_name(object->tab, &match)));
	ret->offset = ret->name ? lookup_vaddr - match.start : 0;
}

void symbolizer_user(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr, struct symbol *ret)
{
	*ret = (struct symbol){ .name = NULL };
	if (sym->source)
		name_by_source(sym, id, lookup_vaddr, ret);
	else
		name_here(sym, id, lookup_vaddr, ret);
}

static size_t lines_by_source(struct symbolizer *sym, uint32_t id, uint64_t vaddr,
			      struct symbol_line *ret)
{
	struct object *object = object_at(sym, id);
	const struct symbol_line *lines;
	uint32_t nr = object ? place_list_lines(&object->places, vaddr, &lines) : 0;

	if (nr)
		memcpy(ret, lines, nr * sizeof(*ret));
	return nr;
}

/* The debugging information of @object, opened once: of its debug file where that has some. */
static struct debug_index *find_index(const struct symbolizer *sym, struct object *object)
{
	const struct debug_index_options options = { .no_demangle = sym->no_demangle };
	struct fpl_err err = { 0 };
	int code = -ENOENT;

	if (object->index || object->has_no_lines || !object->elf)
		return object->index;
	(void)!debug_alt_open(object->debug ? object->debug : object->elf, sym->debug_dir,
			      &object->supplement);
	if (object->debug)
		code = debug_index_create(object->debug, object->supplement, &options,
					  &object->index, &err);
	if (code == -ENOENT)
		code = debug_index_create(object->elf, object->supplement, &options, &object->index,
					  &err);
	if (code) {
		object->has_no_lines = true;
		fpl_log(code == -ENOENT ? FPL_LOG_DEBUG : FPL_LOG_WARN, "no lines: %s", err.msg);
	}
	return object->index;
}

static size_t lines_here(struct symbolizer *sym, uint32_t id, uint64_t vaddr,
			 struct symbol_line *ret)
{
	struct object *object = find_object(sym, id);
	struct debug_index *index = object ? find_index(sym, object) : NULL;

	return index ? debug_index_find(index, vaddr, ret) : 0;
}

size_t symbolizer_lines(struct symbolizer *sym, uint32_t id, uint64_t lookup_vaddr,
			struct symbol_line *ret)
{
	struct symbol symbol;
	size_t nr = 0;

	if (!sym->lines && !sym->inlined)
		return 0;
	symbolizer_user(sym, id, lookup_vaddr, &symbol);
	nr = sym->source ? lines_by_source(sym, id, lookup_vaddr, ret)
			 : lines_here(sym, id, lookup_vaddr, ret);
	if (!nr)
		return 0;
	if (symbol.name)
		ret[nr - 1].name = symbol.name;
	if (!sym->inlined && nr > 1) {
		ret[nr - 1].file = ret[0].file;
		ret[nr - 1].line = ret[0].line;
		ret[nr - 1].column = ret[0].column;
		ret[0] = ret[nr - 1];
		nr = 1;
	}
	for (size_t i = 0; i < nr && !sym->lines; i++)
		ret[i] = (struct symbol_line){ .name = ret[i].name };
	return nr;
}

static void read_kernel(struct symbolizer *sym)
{
	struct fpl_err err = { 0 };

	if (sym->kernel_read)
		return;
	sym->kernel_read = true;
	if (kallsyms_read("/proc/kallsyms", &sym->kernel, &err))
		fpl_log(FPL_LOG_WARN, "kernel functions have no names: %s", err.msg);
	else
		fpl_log(FPL_LOG_DEBUG, "/proc/kallsyms: %zu symbols",
			kallsyms_nr_symbols(sym->kernel));
}

void symbolizer_kernel(struct symbolizer *sym, uint64_t addr, struct symbol *ret)
{
	struct kallsyms_match match;

	*ret = (struct symbol){ .name = NULL };

	int found = kernel_names_find(&sym->kernel_told, &sym->kernel_source, addr, &match);

	if (found < 0) {
		read_kernel(sym);
		found = sym->kernel && kallsyms_find(sym->kernel, addr, &match);
	}
	if (!found)
		return;
	/* Most are plain C and stay where they are; Rust in the kernel is mangled. */
	ret->name = match.name;
	if (match.name[0] == '_' && !sym->no_demangle) {
		const char *demangled = NULL;

		if (!name_cache_find(&sym->kernel_names, match.start, &demangled))
			demangled = name_cache_add(&sym->kernel_names, match.start,
						   demangle_name(match.name));
		if (demangled)
			ret->name = demangled;
	}
	ret->module = match.module;
	ret->offset = addr - match.start;
}
