/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/catalog.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "obj/file_stat.h"
#include "parse/desk.h"
#include "proc/mapped_file.h"
#include "proc/vdso.h"
#include "profile/known_files.h"
#include "profile/object_list.h"
#include "profile/share.h"
#include "profile/turns.h"

#define REFUSALS_MAX  1024u /* paths remembered as refused, so that each is said once */
#define REFUSALS_SAID 32u   /* lines at warning level; the rest at debug */

/*
 * Descriptors that objects leave to the rest: maps, programs and links of BPF, sockets of workers,
 * outputs, files while they are read (some 50 together), and per CPU its events and their rings.
 */
#define OTHER_FILES	    64u
#define OTHER_FILES_PER_CPU 4u
#define OBJECTS_LEAST	    4u /* in any case */

/* Half of the time: turns_used() of who has it. */
#define READING_MOST_NS 1000000000ull

struct catalog {
	struct object_list list; /* of objects that are owned */
	struct turns reading;	 /* whose files the thread of the run has waited for, by CPU time */
	struct profile_object *former; /* owned [nr_former]: retired, but stacks name them */
	size_t nr_former, former_room;
	struct known_files files;
	char **refusals; /* owned [nr_refusals]: paths */
	size_t nr_refusals, nr_refused, nr_without_fd, nr_beyond, nr_beyond_share, nr_beyond_time;
	bool is_exported;      /* the files of objects are the profile's */
	uint64_t max_open;     /* objects: each has a descriptor */
	struct desk *desk;     /* owned */
	struct opener *opener; /* borrowed */
	struct object *vdso;   /* borrowed from objects */
	bool vdso_tried;
	catalog_pause_fn pause; /* may be NULL */
	void *ctx;
};

/* @nr_each: descriptors that each has. */
static uint64_t max_open_objects(uint64_t nr_each)
{
	uint64_t others = OTHER_FILES + OTHER_FILES_PER_CPU * (uint64_t)get_nprocs();
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return OBJECTS_LEAST;
	if (limit.rlim_cur < others + nr_each * OBJECTS_LEAST)
		return OBJECTS_LEAST;
	return (limit.rlim_cur - others) / nr_each;
}

int catalog_create(uint32_t nr_slots, struct parser *parser, struct catalog **ret,
		   struct fpl_err *err)
{
	struct catalog *catalog = calloc(1, sizeof(*catalog));

	if (catalog) {
		object_list_init(&catalog->list, nr_slots);
		catalog->opener = parser_opener(parser);
		catalog->max_open = max_open_objects(1);
		catalog->refusals = calloc(REFUSALS_MAX, sizeof(*catalog->refusals));
	}
	if (!catalog || known_files_init(&catalog->files) || !catalog->refusals ||
	    desk_open(parser, &catalog->desk, NULL)) {
		catalog_destroy(catalog);
		return fpl_fail(err, -ENOMEM, "objects: out of memory");
	}
	*ret = catalog;
	return 0;
}

void catalog_on_pause(struct catalog *catalog, catalog_pause_fn pause, void *ctx)
{
	catalog->pause = pause;
	catalog->ctx = ctx;
	desk_on_pause(catalog->desk, pause, ctx);
}

struct opener_wait catalog_wait(const struct catalog *catalog)
{
	return (struct opener_wait){ catalog->pause, catalog->ctx };
}

void catalog_expect_copies(struct catalog *catalog, unsigned int nr)
{
	catalog->max_open = max_open_objects(1 + nr);
}

static void object_free(struct object *object, bool has_own_fd)
{
	if (!has_own_fd)
		object->elf->fd = -1;
	elf_file_close(object->elf);
	free(object->path);
	free(object);
}

static void free_described(struct profile_object *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		profile_object_fini(&list[i]);
	free(list);
}

void catalog_destroy(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < catalog->list.nr_live; i++)
		object_free(catalog->list.live[i], !catalog->is_exported);
	object_list_fini(&catalog->list);
	free_described(catalog->former, catalog->nr_former);
	known_files_fini(&catalog->files);
	for (size_t i = 0; catalog->refusals && i < catalog->nr_refusals; i++)
		free(catalog->refusals[i]);
	free(catalog->refusals);
	desk_close(catalog->desk);
	free(catalog);
}

struct object *catalog_at(const struct catalog *catalog, uint32_t id)
{
	return object_list_at(&catalog->list, id);
}

size_t catalog_nr(const struct catalog *catalog)
{
	return catalog->list.max_id;
}

uint32_t catalog_last_id(const struct catalog *catalog)
{
	return catalog->list.last_id;
}

struct object *catalog_live(const struct catalog *catalog, size_t i)
{
	return catalog->list.live[i];
}

size_t catalog_nr_live(const struct catalog *catalog)
{
	return catalog->list.nr_live;
}

size_t catalog_nr_of_limited(const struct catalog *catalog)
{
	return share_most_of_limited(&catalog->list.owners);
}

size_t catalog_nr_max(const struct catalog *catalog)
{
	size_t nr_slots = catalog->list.nr_slots - 1;

	return catalog->max_open < nr_slots ? catalog->max_open : nr_slots;
}

size_t catalog_nr_beyond(const struct catalog *catalog)
{
	return catalog->nr_beyond;
}

size_t catalog_nr_refused(const struct catalog *catalog)
{
	return catalog->nr_refused;
}

/* Says once per path that what is mapped there has no table and no names. */
static struct object *refuse(struct catalog *catalog, const char *path, const struct fpl_err *why)
{
	if (why->code == -EMFILE || why->code == -ENFILE) {
		/* no fault of the file: one line for all of them */
		if (catalog->nr_without_fd++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: raise the limit (ulimit -n): frames of further objects stay "
				"addresses",
				why->msg);
		return NULL;
	}
	if (why->code == -EDQUOT) {
		if (catalog->nr_beyond_share++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: frames of further ones stay addresses: raise the limit "
				"(ulimit -n)",
				why->msg);
		return NULL;
	}
	if (why->code == -EBUSY) {
		if (catalog->nr_beyond_time++ == 0)
			fpl_log(FPL_LOG_WARN, "%s: frames of further ones stay addresses",
				why->msg);
		return NULL;
	}
	if (why->code == -ENOSPC) {
		if (catalog->nr_beyond++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: its frames, and those of other files from here on, stay "
				"addresses",
				why->msg);
		return NULL;
	}
	for (size_t i = 0; i < catalog->nr_refusals; i++) {
		if (strcmp(catalog->refusals[i], path) == 0)
			return NULL;
	}
	catalog->nr_refused++;
	if (catalog->nr_refusals < REFUSALS_MAX) {
		char *copy = strdup(path);

		if (copy)
			catalog->refusals[catalog->nr_refusals++] = copy;
	}
	fpl_log(catalog->nr_refused <= REFUSALS_SAID ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s: its frames stay addresses", why->msg);
	return NULL;
}

static uint64_t max_vaddr_of(const struct elf_file *elf)
{
	uint64_t max = 0;

	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t end;

		if (s->type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(s->vaddr, s->mem_size, &end))
			return UINT64_MAX;
		if (end > max)
			max = end;
	}
	return max;
}

/* What a worker found in a file. */
struct found {
	struct elf_file *elf; /* owned until it is an object's */
	struct identity identity;
	struct trust trust;
	struct debug_link link;
};

/* Gives @object its numbers. */
static int enlist(struct catalog *catalog, struct object *object, struct fpl_err *err)
{
	int code = object_list_add(&catalog->list, object);

	if (code == -ENOSPC)
		return fpl_fail(err, code, "%s: no room for more than %u files at once",
				object->path, catalog->list.nr_slots - 1);
	return code ? fpl_fail(err, code, "%s: out of memory", object->path) : 0;
}

/* Makes an object of what was found, which is taken over. */
static int add_object(struct catalog *catalog, struct found *found, const char *path,
		      struct object **ret, struct fpl_err *err)
{
	struct object *object = calloc(1, sizeof(*object));
	struct elf_file *elf = TAKE_PTR(found->elf);

	if (!object) {
		elf_file_close(elf);
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	object->elf = elf;
	object->identity = found->identity;
	object->trust = found->trust;
	object->link = found->link;
	object->max_vaddr = max_vaddr_of(elf);
	object->is_remote = opener_holds_place(elf->fd);
	object->path = strdup(path);

	int code = object->path ? 0 : fpl_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!code && object->max_vaddr > FPL_FRAME_VADDR_MASK)
		code = fpl_fail(err, -ERANGE, "%s: addresses above %#llx", path,
				FPL_FRAME_VADDR_MASK);
	if (!code)
		code = enlist(catalog, object, err);
	if (code) {
		object_free(object, true);
		return code;
	}
	*ret = object;
	return 0;
}

static int read_names_digest(struct catalog *catalog, int fd, const char *path,
			     uint8_t ret[IDENTITY_DIGEST_SIZE])
{
	struct desk_file file;
	int code = desk_file_init(&file, fd, path);

	return code ? code : desk_names_digest(catalog->desk, &file, ret, NULL);
}

/* Asks once per object: a file that a worker fails over is never asked about again. */
static bool has_names_digest(struct catalog *catalog, struct object *object)
{
	if (!object->names_asked)
		object->names_code = read_names_digest(catalog, object->elf->fd, object->path,
						       object->names_digest);
	object->names_asked = true;
	return object->names_code == 0;
}

/*
 * The object that the file open at @fd is, too: a copy, or a second sighting of a file whose times
 * have changed. Equal tables are not enough: two builds may differ in nothing but which function is
 * where. Where the object's file was written to since, nobody can tell any more.
 */
static struct object *find_copy(struct catalog *catalog, const struct found *found, int fd,
				const char *path)
{
	uint8_t digest[IDENTITY_DIGEST_SIZE];
	bool asked = false;

	for (size_t i = 0; i < catalog->list.nr_live; i++) {
		struct object *object = catalog->list.live[i];

		if (memcmp(&object->identity, &found->identity, sizeof(found->identity)) != 0 ||
		    memcmp(&object->trust, &found->trust, sizeof(found->trust)) != 0 ||
		    !file_stamp_holds(&object->stamp, object->elf->fd))
			continue;
		if (!asked && read_names_digest(catalog, fd, path, digest))
			return NULL;
		asked = true;
		if (has_names_digest(catalog, object) &&
		    memcmp(object->names_digest, digest, sizeof(digest)) == 0)
			return object;
	}
	return NULL;
}

static bool same_build_id(const struct elf_file *elf, const struct file_hint *hint)
{
	return hint->build_id && hint->build_id_size && elf->build_id_size >= hint->build_id_size &&
	       memcmp(elf->build_id, hint->build_id, hint->build_id_size) == 0;
}

/*
 * Is @file the one that was mapped? A build-id tells for sure: what map_files opens may have been
 * mapped there since, by exec or dlopen, and what a path leads to may have replaced it. Without
 * one, on overlayfs, the numbers of a mapping are those of the layer below: no path can be trusted.
 */
static bool is_mapped_one(const struct mapped_file *file, const struct elf_file *elf,
			  const struct file_hint *hint)
{
	if (hint->build_id && hint->build_id_size)
		return same_build_id(elf, hint);
	if (file->source == MAPPED_FILE_EXACT)
		return true;
	return hint->inode && hint->inode == file->stat.st_ino &&
	       hint->dev_major == major(file->stat.st_dev) &&
	       hint->dev_minor == minor(file->stat.st_dev);
}

/* May nobody write the file of @trust but those who can do anything to us anyway? */
static bool is_safe_with(const struct trust *trust)
{
	return !trust->inode && (!trust->uid || trust->uid == geteuid());
}

/*
 * The process and the file are gone, but the file may have been met before. Of several with that
 * path and build-id, which anybody can forge in a mount namespace of his own, one comes first that
 * only root or we may write.
 */
static struct object *find_by_build_id(const struct catalog *catalog, const struct file_hint *hint)
{
	struct object *other = NULL;

	for (size_t i = 0; hint->build_id_size && i < catalog->list.nr_live; i++) {
		struct object *object = catalog->list.live[i];

		if (!same_build_id(object->elf, hint) || strcmp(object->path, hint->path) != 0)
			continue;
		if (is_safe_with(&object->trust))
			return object;
		if (!other)
			other = object;
	}
	return other;
}

/* Has a worker read the headers and the CFI of the file open at @fd. */
static int read_file(struct catalog *catalog, int fd, const char *path, struct found *ret,
		     struct fpl_err *err)
{
	struct desk_file file;
	int code = desk_file_init(&file, fd, path);

	if (code)
		return fpl_fail(err, code, "%s: %s", path, strerror(-code));
	ret->trust = file.trust;
	return desk_facts(catalog->desk, &file, &ret->elf, &ret->identity, &ret->link, err);
}

/* May the owner of a file have one more object, and its file read while the run waits for it? */
static int check_share(struct catalog *catalog, const struct file_hint *hint, uid_t uid,
		       struct fpl_err *err)
{
	size_t all = catalog_nr_max(catalog);

	if (share_is_limited(uid) &&
	    turns_used(&catalog->reading, uid, clock_monotonic_ns()) > READING_MOST_NS)
		return fpl_fail(err, -EBUSY,
				"%s: reading files of user %u has taken half of the time of late",
				hint->path, uid);
	if (share_allows(&catalog->list.owners, uid, 1, all))
		return 0;
	return fpl_fail(err, -EDQUOT,
			"%s: user %u has %zu files mapped, half of what may be open at once",
			hint->path, uid, (size_t)share_used(&catalog->list.owners, uid));
}

/* Reads the file that has just been opened, unless it was met before. */
static int identify(struct catalog *catalog, const struct file_hint *hint,
		    const struct mapped_file *file, const struct file_stamp *stamp,
		    struct object **ret, struct fpl_err *err)
{
	struct found found = { .elf = NULL };
	int code = check_share(catalog, hint, file->stat.st_uid, err);

	if (!code) {
		code = read_file(catalog, file->fd, hint->path, &found, err);
		/* nobody has read it, or its file system is silent, which has a bound of its own */
		if (code != -EAGAIN && code != -ETIMEDOUT)
			turns_note(&catalog->reading, file->stat.st_uid,
				   desk_spent_ns(catalog->desk), clock_monotonic_ns());
	}
	if (code)
		return code;
	if (!is_mapped_one(file, found.elf, hint)) {
		elf_file_close(found.elf);
		return fpl_fail(err, -ESTALE,
				"pid %d: %s: is gone or was replaced, and the file there now "
				"cannot be told to be the same",
				(int)hint->pid, hint->path);
	}
	*ret = find_copy(catalog, &found, file->fd, hint->path);
	if (!*ret) {
		code = add_object(catalog, &found, hint->path, ret, err);
		if (!code)
			(*ret)->stamp = *stamp;
	}
	elf_file_close(found.elf);
	if (!code)
		known_files_add(&catalog->files, stamp, *ret);
	return code;
}

/*
 * Finds or makes the object of a file that was just opened and is closed here.
 * Errors: -ESTALE it is not the one of the hint.
 */
static int take_file(struct catalog *catalog, const struct file_hint *hint,
		     struct mapped_file *file, struct object **ret, struct fpl_err *err)
{
	struct file_stamp stamp;
	int code = file_stamp_read(file->fd, &stamp);

	if (code) {
		close(file->fd);
		return fpl_fail(err, code, "pid %d: %s: %s", (int)hint->pid, hint->path,
				strerror(-code));
	}

	const struct known_file *known = known_files_find(&catalog->files, &stamp);

	if (known && (known->object ? is_mapped_one(file, known->object->elf, hint)
				    : file->source == MAPPED_FILE_EXACT)) {
		close(file->fd);
		*ret = known->object;
		return 0;
	}
	code = identify(catalog, hint, file, &stamp, ret, err);
	close(file->fd);
	if (catalog->pause)
		catalog->pause(catalog->ctx);
	if (code && code != -ESTALE && code != -EAGAIN && code != -EDQUOT && code != -EBUSY &&
	    code != -ETIMEDOUT && file->source == MAPPED_FILE_EXACT)
		known_files_add(&catalog->files, &stamp, NULL);
	return code;
}

/* The object of what is mapped there now, if that was met before. */
static struct object *find_known(const struct catalog *catalog, const struct file_hint *hint,
				 int place_fd)
{
	struct mapped_file file = { .fd = -1, .source = MAPPED_FILE_EXACT };

	if (place_fd < 0 || file_stat(place_fd, &file.stat, NULL))
		return NULL;

	const struct file_stamp stamp = file_stamp_of(&file.stat);
	const struct known_file *known = known_files_find(&catalog->files, &stamp);

	if (!known || !known->object || !is_mapped_one(&file, known->object->elf, hint))
		return NULL;
	return known->object;
}

/* What stands at the path of a mapping as it is here. */
struct file_here {
	int place; /* O_PATH, a regular file; -1: nothing, or a file system has to be waited for */
	struct stat stat;
};

static void find_here(const struct catalog *catalog, const struct file_hint *hint,
		      struct file_here *ret)
{
	const struct opener_path where = { .folder_fd = -1,
					   .path = hint->path,
					   .flags = O_NOFOLLOW };
	AUTO_FD int fd = -1;

	ret->place = -1;
	if (!hint->build_id || !hint->build_id_size || hint->path[0] != '/' ||
	    (catalog->opener ? opener_walk_here(catalog->opener, &where, &fd)
			     : opener_walk(NULL, &where, NULL, &fd)) ||
	    file_stat(fd, &ret->stat, NULL) || !S_ISREG(ret->stat.st_mode))
		return;
	ret->place = TAKE_FD(fd);
}

/* The object of the file @here, if that was met before and has the build-id that is mapped. */
static struct object *known_here(const struct catalog *catalog, const struct file_hint *hint,
				 const struct file_here *here)
{
	const struct file_stamp stamp = file_stamp_of(&here->stat);
	const struct known_file *known =
		here->place < 0 ? NULL : known_files_find(&catalog->files, &stamp);

	if (!known || !known->object || !same_build_id(known->object->elf, hint))
		return NULL;
	return known->object;
}

/* Makes an object of the file @here. Errors: -ESTALE it is not the one that is mapped. */
static int take_here(struct catalog *catalog, const struct file_hint *hint,
		     const struct file_here *here, struct object **ret, struct fpl_err *err)
{
	struct mapped_file file = { .fd = -1, .source = MAPPED_FILE_PATH };

	if (catalog->list.nr_live >= catalog->max_open)
		return -ESTALE;

	int code = opener_take(catalog->opener, 0, here->place, &file.fd, &file.stat);

	if (!code)
		code = take_file(catalog, hint, &file, ret, err);
	return code ? -ESTALE : 0; /* whatever stands here: what is mapped may be read */
}

/* Makes an object of the file that is mapped, whose place is @place or its errno. */
static int take_mapped(struct catalog *catalog, const struct file_hint *hint, int place,
		       struct object **ret, struct fpl_err *err)
{
	const struct opener_wait wait = catalog_wait(catalog);
	struct mapped_file file;
	int code =
		mapped_file_take(catalog->opener, hint->pid, place, hint->path, &wait, &file, err);

	if (code)
		return code;
	code = take_file(catalog, hint, &file, ret, err);
	if (code != -ESTALE || file.source != MAPPED_FILE_EXACT)
		return code;
	code = mapped_file_open_path(catalog->opener, hint->pid, hint->path, &wait, &file, err);
	return code ? code : take_file(catalog, hint, &file, ret, err);
}

/*
 * The object of a mapping by the path as it is here, for a fraction of what map_files costs: the
 * kernel has said which build-id is mapped, and the file that stands here has it. In the root of
 * the process another file with that build-id may stand there. Where the one here is safe with its
 * owner, it is the one that the build-id was made for, and a user who forges a build-id misleads
 * himself alone.
 */
static int from_here(struct catalog *catalog, const struct file_hint *hint,
		     const struct file_here *here, struct object **ret, struct fpl_err *err)
{
	const struct trust trust = trust_of(&here->stat);

	if (here->place < 0 || !is_safe_with(&trust))
		return -ESTALE;
	*ret = known_here(catalog, hint, here);
	return *ret ? 0 : take_here(catalog, hint, here, ret, err);
}

/* The object of a mapping by what is mapped there now. */
static int from_process(struct catalog *catalog, const struct file_hint *hint,
			const struct file_here *here, struct object **ret, struct fpl_err *err)
{
	const struct opener_wait wait = catalog_wait(catalog);
	AUTO_FD int place = mapped_file_place(hint->pid, hint->start, hint->end, &wait);

	*ret = find_known(catalog, hint, place);
	/* of a process that has gone nothing better can be had (MAPPED_FILE_PATH) */
	if (!*ret && kill(hint->pid, 0) < 0 && errno == ESRCH)
		*ret = known_here(catalog, hint, here);
	if (*ret)
		return 0;
	if (catalog->list.nr_live >= catalog->max_open)
		return fpl_fail(err, -EMFILE, "%s: %s", hint->path, strerror(EMFILE));
	return take_mapped(catalog, hint, place, ret, err);
}

struct object *catalog_object(struct catalog *catalog, const struct file_hint *hint)
{
	struct file_here here;
	struct object *object = NULL;
	struct fpl_err err = { 0 };

	find_here(catalog, hint, &here);

	int code = from_here(catalog, hint, &here, &object, &err);

	if (code == -ESTALE)
		code = from_process(catalog, hint, &here, &object, &err);
	cleanup_fd(&here.place);
	if (!code)
		return object;
	object = find_by_build_id(catalog, hint);
	return object ? object : refuse(catalog, hint->path, &err);
}

struct object *catalog_vdso(struct catalog *catalog)
{
	AUTO_FD int fd = -1;
	struct found found = { .elf = NULL };
	struct fpl_err err = { 0 };

	if (catalog->vdso_tried)
		return catalog->vdso;
	catalog->vdso_tried = true;

	int code = vdso_open(&fd, &err);

	if (code == -ENOENT)
		return NULL;
	if (!code)
		code = read_file(catalog, fd, "[vdso]", &found, &err);
	if (!code)
		code = add_object(catalog, &found, "[vdso]", &catalog->vdso, &err);
	if (!code)
		code = file_stamp_read(catalog->vdso->elf->fd, &catalog->vdso->stamp);
	return code ? refuse(catalog, "[vdso]", &err) : catalog->vdso;
}

static char *hex_of(const uint8_t *bytes, size_t size)
{
	char *text = malloc(2 * size + 1);

	if (text)
		text_hex(bytes, size, text);
	return text;
}

/* Where code is in the file, less where it is in memory: of the first segment that holds code. */
static uint64_t file_bias_of(const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_X)
			return s->off - s->vaddr;
	}
	return 0;
}

int catalog_describe(const struct object *object, struct profile_object *ret)
{
	*ret = (struct profile_object){
		.id = object->id,
		.path = strdup(object->path),
		.build_id = hex_of(object->elf->build_id, object->elf->build_id_size),
		.file_bias = file_bias_of(object->elf),
	};
	if (ret->path && ret->build_id)
		return 0;
	free(ret->path);
	free(ret->build_id);
	*ret = (struct profile_object){ 0 };
	return -ENOMEM;
}

static bool is_live(const struct object *object)
{
	return !object->is_retired;
}

int catalog_keep_id(struct catalog *catalog, struct object *object)
{
	if (array_reserve(&catalog->former, sizeof(*catalog->former), &catalog->former_room,
			  catalog->nr_former + 1) ||
	    catalog_describe(object, &catalog->former[catalog->nr_former]))
		return -ENOMEM;
	catalog->nr_former++;
	object->is_kept = true;
	return 0;
}

void catalog_retire(struct catalog *catalog, struct object *const *objects, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		objects[i]->is_retired = true;
	known_files_forget(&catalog->files, is_live);
	for (size_t i = 0; i < nr; i++) {
		object_list_remove(&catalog->list, objects[i], objects[i]->is_kept);
		object_free(objects[i], true);
	}
}

/* What the profile says of @object, its file included, which is still closed here until then. */
static int export_object(const struct object *object, struct profile_object *ret)
{
	int code = catalog_describe(object, ret);

	ret->file = code ? NULL : malloc(sizeof(*ret->file));
	if (!ret->file)
		return -ENOMEM;
	*ret->file = object_file(object);
	return 0;
}

int catalog_export(struct catalog *catalog, struct profile_object **ret)
{
	size_t nr = catalog_nr(catalog);
	struct profile_object *list = calloc(nr ? nr : 1, sizeof(*list));
	int code = list ? 0 : -ENOMEM;

	for (; !code && catalog->nr_former; catalog->nr_former--) {
		const struct profile_object *former = &catalog->former[catalog->nr_former - 1];

		list[former->id - 1] = *former;
	}
	for (size_t i = 0; !code && i < catalog->list.nr_live; i++) {
		const struct object *object = catalog->list.live[i];

		code = export_object(object, &list[object->id - 1]);
	}
	catalog->is_exported = !code;
	if (code) {
		/* the descriptors are still ours */
		for (size_t i = 0; list && i < nr; i++) {
			if (list[i].file)
				list[i].file->fd = -1;
		}
		free_described(list, list ? nr : 0);
		return code;
	}
	*ret = list;
	return 0;
}
