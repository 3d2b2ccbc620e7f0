/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/finder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "obj/file_stat.h"
#include "parse/client.h"
#include "proc/mapped_file.h"
#include "proc/vdso.h"
#include "profile/known_files.h"
#include "profile/object.h"
#include "profile/share.h"
#include "profile/strangers.h"
#include "profile/turns.h"
#include "unwind/table.h"

#define REFUSALS_MAX  1024u /* paths remembered as refused, so that each is said once */
#define REFUSALS_SAID 32u   /* lines at warning level; the rest at debug */

/* A local file of this size is read in the time that the place of what is mapped takes. */
#define SOON_READ_BYTES (1 << 20)
/* The table of a new file of this size is made in less time than another question for it takes. */
#define TABLE_TOO_BYTES (64 << 10)

/*
 * Descriptors that objects leave to the rest: maps, programs and links of BPF, sockets of workers,
 * outputs, files while they are read (some 50 together), the places of files that wait for a
 * lookup, and per CPU its events and their rings.
 */
#define OTHER_FILES	    (64u + FINDER_PLACES_MAX)
#define OTHER_FILES_PER_CPU 4u
#define OBJECTS_LEAST	    4u /* in any case */

/* Half of the time: turns_used() of who has it. */
#define READING_MOST_NS 1000000000ull

/* An object that was made and not forgotten. */
struct listed {
	struct object *object; /* borrowed */
	uint64_t hash;	       /* of its identity and its trust: few objects have to be looked at */
};

struct finder {
	struct listed *objects; /* owned [nr] */
	size_t nr, room;
	struct share_book owners; /* how many of them are charged to whom */
	struct turns reading;	  /* whose files were waited for, by CPU time */
	pthread_mutex_t lock;	  /* files: the owner writes, anybody reads */
	struct known_files files;
	struct strangers strangers;
	char **refusals; /* owned [nr_refusals]: paths */
	size_t nr_refusals, nr_refused, nr_without_fd, nr_beyond, nr_beyond_share, nr_beyond_time;
	struct share_book beyond_files, beyond_time, beyond_slots; /* mappings, by owner */
	size_t nr_slots;
	uint64_t max_open;	     /* objects: each has a descriptor */
	struct parse_client *client; /* owned */
	struct opener *opener;	     /* borrowed */
	struct object *vdso;	     /* borrowed */
	bool vdso_tried;
	bool makes_tables, synth;
	uint64_t tables_ns; /* CLOCK_REALTIME, since when it does */
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

int finder_create(uint32_t nr_slots, struct parser *parser, struct finder **ret,
		  struct fpl_err *err)
{
	struct finder *finder = calloc(1, sizeof(*finder));

	if (finder) {
		pthread_mutex_init(&finder->lock, NULL);
		finder->nr_slots = nr_slots - 1;
		finder->opener = parser_opener(parser);
		finder->max_open = max_open_objects(1);
		finder->refusals = calloc(REFUSALS_MAX, sizeof(*finder->refusals));
	}
	if (!finder || !finder->refusals || client_open(parser, &finder->client, NULL)) {
		finder_destroy(finder);
		return fpl_fail(err, -ENOMEM, "objects: out of memory");
	}
	*ret = finder;
	return 0;
}

void finder_destroy(struct finder *finder)
{
	if (!finder)
		return;
	known_files_fini(&finder->files);
	for (size_t i = 0; finder->refusals && i < finder->nr_refusals; i++)
		free(finder->refusals[i]);
	free(finder->refusals);
	free(finder->objects);
	client_close(finder->client);
	pthread_mutex_destroy(&finder->lock);
	free(finder);
}

void finder_expect_copies(struct finder *finder, unsigned int nr)
{
	finder->max_open = max_open_objects(1 + nr);
}

void finder_make_tables(struct finder *finder, bool synth)
{
	finder->makes_tables = true;
	finder->synth = synth;
	finder->tables_ns = clock_ns(CLOCK_REALTIME);
}

size_t finder_nr_max(const struct finder *finder)
{
	return finder->max_open < finder->nr_slots ? finder->max_open : finder->nr_slots;
}

size_t finder_nr_beyond(const struct finder *finder)
{
	return finder->nr_beyond;
}

const struct share_book *finder_refused(const struct finder *finder, enum profile_limit limit)
{
	return limit == PROFILE_LIMIT_FILES	? &finder->beyond_files
	       : limit == PROFILE_LIMIT_READING ? &finder->beyond_time
						: &finder->beyond_slots;
}

/* @place_fd: the file's place; -1: no place, so that the owner of the process has to do. */
static void note_beyond(struct share_book *book, const struct file_hint *hint, int place_fd)
{
	struct stat stat;
	bool is_known = place_fd >= 0 && !file_stat(place_fd, &stat, NULL);

	share_take(book,
		   is_known ? owner_of_file(stat.st_uid, hint->pid, hint->owner) : hint->owner, 1);
}

/* Notes whose file it was, where there was no room for it. */
static void note_limit(struct finder *finder, int code, const struct file_hint *hint, int place_fd)
{
	if (code == -EMFILE || code == -ENFILE || code == -EDQUOT)
		note_beyond(&finder->beyond_files, hint, place_fd);
	else if (code == -EBUSY)
		note_beyond(&finder->beyond_time, hint, place_fd);
	else if (code == -ENOSPC)
		note_beyond(&finder->beyond_slots, hint, place_fd);
}

/* Says once per path that what is mapped there has no table and no names. */
static struct object *refuse(struct finder *finder, const char *path, const struct fpl_err *why)
{
	bool is_made;

	if (why->code == -EMFILE || why->code == -ENFILE) {
		/* no fault of the file: one line for all of them */
		if (finder->nr_without_fd++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: raise the limit (ulimit -n): frames of further objects stay "
				"addresses",
				why->msg);
		return NULL;
	}
	if (why->code == -EDQUOT) {
		if (finder->nr_beyond_share++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: frames of further ones stay addresses: raise the limit "
				"(ulimit -n)",
				why->msg);
		return NULL;
	}
	if (why->code == -EBUSY) {
		if (finder->nr_beyond_time++ == 0)
			fpl_log(FPL_LOG_WARN, "%s: frames of further ones stay addresses",
				why->msg);
		return NULL;
	}
	if (why->code == -ENOSPC) {
		if (finder->nr_beyond++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: its frames, and those of other files from here on, stay "
				"addresses",
				why->msg);
		return NULL;
	}
	for (size_t i = 0; i < finder->nr_refusals; i++) {
		if (strcmp(finder->refusals[i], path) == 0)
			return NULL;
	}
	finder->nr_refused++;
	if (finder->nr_refusals < REFUSALS_MAX) {
		char *copy = strdup(path);

		if (copy)
			finder->refusals[finder->nr_refusals++] = copy;
	}
	/* made code may be in a file in memory, to be mapped twice: no file is missing */
	is_made = why->code == -ENOEXEC && !strncmp(path, "/memfd:", 7);
	fpl_log(finder->nr_refused <= REFUSALS_SAID && !is_made ? FPL_LOG_WARN : FPL_LOG_DEBUG,
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

/* A worker found this in a file. */
struct found {
	struct elf_file *elf; /* owned until it is an object's */
	struct identity identity;
	struct trust trust;
	uint64_t owner; /* whom the object is charged to */
	struct debug_link link;
	struct client_debugging debugging;
	struct table *table; /* owned; NULL: it was not asked for, or did not come */
};

static uint64_t hash_of(const struct identity *identity, const struct trust *trust)
{
	return id_table_hash(id_table_hash(0, identity, sizeof(*identity)), trust, sizeof(*trust));
}

static int enlist(struct finder *finder, struct object *object, struct fpl_err *err)
{
	if (finder->nr >= finder->nr_slots)
		return fpl_fail(err, -ENOSPC, "%s: no room for more than %zu files at once",
				object->path, finder->nr_slots);
	if (array_reserve(&finder->objects, sizeof(*finder->objects), &finder->room,
			  finder->nr + 1))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", object->path);
	finder->objects[finder->nr++] =
		(struct listed){ object, hash_of(&object->identity, &object->trust) };
	share_take(&finder->owners, object->owner, 1);
	return 0;
}

/* Makes an object of what was found, which is taken over. */
static int add_object(struct finder *finder, struct found *found, const char *path,
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
	object->owner = found->owner;
	object->link = found->link;
	object->is_plain = !found->link.name[0] && !found->debugging.has_info &&
			   !found->debugging.alt_link.build_id_size;
	object->max_vaddr = max_vaddr_of(elf);
	object->is_remote = opener_holds_place(elf->fd);
	object->maker = code_maker_of(path);
	object->path = strdup(path);

	int code = object->path ? 0 : fpl_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!code && object->max_vaddr > FPL_FRAME_VADDR_MASK)
		code = fpl_fail(err, -ERANGE, "%s: addresses above %#llx", path,
				FPL_FRAME_VADDR_MASK);
	if (!code)
		code = enlist(finder, object, err);
	if (code)
		object_free(object);
	else
		*ret = object;
	return code;
}

static int read_names_digest(struct finder *finder, int fd, const char *path,
			     uint8_t ret[IDENTITY_DIGEST_SIZE])
{
	struct client_file file;
	int code = client_file_init(&file, fd, path);

	return code ? code : client_names_digest(finder->client, &file, ret, NULL);
}

/* Asks once per object: a file that a worker fails over is never asked about again. */
static bool has_names_digest(struct finder *finder, struct object *object)
{
	if (!object->names_asked)
		object->names_code = read_names_digest(finder, object->elf->fd, object->path,
						       object->names_digest);
	object->names_asked = true;
	return object->names_code == 0;
}

/*
 * The object that the file open at @fd is, too: a copy, or a second sighting of a file whose times
 * have changed. Equal tables are not enough: two builds may differ in nothing but which function is
 * where. If the object's file was written to since, that cannot be told any more.
 */
static struct object *find_copy(struct finder *finder, const struct found *found, int fd,
				const char *path)
{
	uint64_t hash = hash_of(&found->identity, &found->trust);
	uint8_t digest[IDENTITY_DIGEST_SIZE];
	bool asked = false;

	for (size_t i = 0; i < finder->nr; i++) {
		struct object *object = finder->objects[i].object;

		if (finder->objects[i].hash != hash ||
		    memcmp(&object->identity, &found->identity, sizeof(found->identity)) != 0 ||
		    memcmp(&object->trust, &found->trust, sizeof(found->trust)) != 0 ||
		    !file_stamp_holds(&object->stamp, object->elf->fd))
			continue;
		if (!asked && read_names_digest(finder, fd, path, digest))
			return NULL;
		asked = true;
		if (has_names_digest(finder, object) &&
		    memcmp(object->names_digest, digest, sizeof(digest)) == 0)
			return object;
	}
	return NULL;
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
		return file_hint_has_build_id(hint, elf);
	if (file->source == MAPPED_FILE_EXACT)
		return true;
	return hint->inode && hint->inode == file->stat.st_ino &&
	       hint->dev_major == major(file->stat.st_dev) &&
	       hint->dev_minor == minor(file->stat.st_dev);
}

/* Is the file of @trust writable only by users who can do anything to us anyway? */
static bool is_safe_with(const struct trust *trust)
{
	return !trust->inode && (!trust->uid || trust->uid == geteuid());
}

/*
 * The process and the file are gone, but the file may have been met before. Of several with that
 * path and build-id, which anybody can forge in a mount namespace of his own, one comes first that
 * only root or we may write.
 */
static struct object *find_by_build_id(const struct finder *finder, const struct file_hint *hint)
{
	struct object *other = NULL;

	for (size_t i = 0; hint->build_id_size && i < finder->nr; i++) {
		struct object *object = finder->objects[i].object;

		if (!file_hint_has_build_id(hint, object->elf) ||
		    strcmp(object->path, hint->path) != 0)
			continue;
		if (is_safe_with(&object->trust))
			return object;
		if (!other)
			other = object;
	}
	return other;
}

/* Has a worker read the headers and the CFI of the file open at @fd. @met: as it was found, while
 * it had a name; NULL: as it is. @with_table: the table is wanted, too. */
static int read_file(struct finder *finder, int fd, const char *path, const struct stat *met,
		     bool with_table, struct found *ret, struct fpl_err *err)
{
	struct client_file file;
	int code = client_file_init(&file, fd, path);

	if (code)
		return fpl_fail(err, code, "%s: %s", path, strerror(-code));
	if (met)
		file.trust = trust_of(met);
	ret->trust = file.trust;
	file.synth = finder->synth;
	file.synth_later = true;
	if (with_table && !client_facts_and_table(finder->client, &file, &ret->elf, &ret->identity,
						  &ret->link, &ret->debugging, &ret->table, err))
		return 0;
	/* the headers alone may be readable: then the file has names */
	return client_headers(finder->client, &file, &ret->elf, &ret->identity, &ret->link,
			      &ret->debugging, err);
}

/* May @owner have one more object, and its file read while others wait for it? */
static int check_share(struct finder *finder, const struct file_hint *hint, uint64_t owner,
		       struct fpl_err *err)
{
	char text[OWNER_TEXT_SIZE];
	size_t all = finder_nr_max(finder);

	if (owner_is_limited(owner) &&
	    turns_used(&finder->reading, owner, clock_monotonic_ns()) > READING_MOST_NS)
		return fpl_fail(err, -EBUSY,
				"%s: reading files of %s has taken half of the time of late",
				hint->path, owner_text(owner, text));
	if (share_allows(&finder->owners, owner, 1, all))
		return 0;
	return fpl_fail(err, -EDQUOT,
			"%s: %s has %zu files mapped, half of what may be open at once", hint->path,
			owner_text(owner, text), (size_t)share_used(&finder->owners, owner));
}

static void remember(struct finder *finder, const struct file_stamp *stamp, struct object *object)
{
	pthread_mutex_lock(&finder->lock);
	known_files_add(&finder->files, stamp, object);
	pthread_mutex_unlock(&finder->lock);
}

static bool is_small_and_new(const struct finder *finder, const struct mapped_file *file)
{
	const struct timespec *changed = &file->stat.st_ctim;

	return (uint64_t)changed->tv_sec * NS_PER_S + (uint64_t)changed->tv_nsec >=
		       finder->tables_ns &&
	       file->stat.st_size <= TABLE_TOO_BYTES && !opener_holds_place(file->fd);
}

/* Reads the file that has just been opened, unless it was met before. */
static int identify(struct finder *finder, const struct file_hint *hint,
		    const struct mapped_file *file, const struct file_stamp *stamp,
		    struct object **ret, struct fpl_err *err)
{
	struct found found = {
		.owner = owner_of_file(file->stat.st_uid, hint->pid, hint->owner),
	};
	bool with_table = hint->table && finder->makes_tables && is_small_and_new(finder, file);
	int code = check_share(finder, hint, found.owner, err);

	if (!code) {
		code = read_file(finder, file->fd, hint->path, &file->stat, with_table, &found,
				 err);
		/* no worker has read it, or its file system is silent: that has its own bound */
		if (code != -EAGAIN && code != -ETIMEDOUT)
			turns_note(&finder->reading, found.owner, client_spent_ns(finder->client),
				   clock_monotonic_ns());
	}
	if (code)
		return code;
	if (!is_mapped_one(file, found.elf, hint)) {
		strangers_note(&finder->strangers, stamp, found.elf);
		elf_file_close(found.elf);
		table_destroy(found.table);
		return fpl_fail(err, -ESTALE,
				"pid %d: %s: is gone or was replaced, and the file there now "
				"cannot be told to be the same",
				(int)hint->pid, hint->path);
	}
	*ret = find_copy(finder, &found, file->fd, hint->path);
	if (!*ret) {
		code = add_object(finder, &found, hint->path, ret, err);
		if (!code)
			(*ret)->stamp = *stamp;
		if (!code && found.table && file_stamp_holds(stamp, file->fd))
			*hint->table = TAKE_PTR(found.table);
	}
	elf_file_close(found.elf);
	table_destroy(found.table);
	if (!code)
		remember(finder, stamp, *ret);
	return code;
}

/*
 * Finds or makes the object of a file that was just opened and is closed here.
 * Errors: -ESTALE it is not the one of the hint.
 */
static int take_file(struct finder *finder, const struct file_hint *hint, struct mapped_file *file,
		     struct object **ret, struct fpl_err *err)
{
	struct file_stamp stamp;
	int code = file_stamp_read(file->fd, &stamp);

	if (code) {
		close(file->fd);
		return fpl_fail(err, code, "pid %d: %s: %s", (int)hint->pid, hint->path,
				strerror(-code));
	}

	const struct known_file *known = known_files_find(&finder->files, &stamp);

	if (known && (known->object ? is_mapped_one(file, known->object->elf, hint)
				    : file->source == MAPPED_FILE_EXACT)) {
		close(file->fd);
		*ret = known->object;
		return 0;
	}
	code = identify(finder, hint, file, &stamp, ret, err);
	close(file->fd);
	if (code && code != -ESTALE && code != -EAGAIN && code != -EDQUOT && code != -EBUSY &&
	    code != -ETIMEDOUT && file->source == MAPPED_FILE_EXACT)
		remember(finder, &stamp, NULL);
	return code;
}

/* The object of what is mapped there now, if that was met before. */
static struct object *find_known(const struct finder *finder, const struct file_hint *hint,
				 int place_fd)
{
	struct mapped_file file = { .fd = -1, .source = MAPPED_FILE_EXACT };

	if (place_fd < 0 || file_stat(place_fd, &file.stat, NULL))
		return NULL;

	const struct file_stamp stamp = file_stamp_of(&file.stat);
	const struct known_file *known = known_files_find(&finder->files, &stamp);

	if (!known || !known->object || !is_mapped_one(&file, known->object->elf, hint))
		return NULL;
	return known->object;
}

enum { NO_PLACE = -EINPROGRESS }; /* in place of an errno: it was not asked for */

/* The file at a mapping's path as it is here. */
struct file_here {
	int place; /* O_PATH, a regular file; -1: nothing, or a file system has to be waited for */
	struct stat stat;
};

static void find_here(const struct finder *finder, const struct file_hint *hint,
		      struct file_here *ret)
{
	const struct opener_path where = { .folder_fd = -1,
					   .path = hint->path,
					   .flags = O_NOFOLLOW };
	AUTO_FD int fd = -1;

	ret->place = -1;
	if (!hint->build_id || !hint->build_id_size || hint->path[0] != '/' ||
	    (finder->opener ? opener_walk_here(finder->opener, &where, &fd)
			    : opener_walk(NULL, &where, NULL, &fd)) ||
	    file_stat(fd, &ret->stat, NULL) || !S_ISREG(ret->stat.st_mode))
		return;
	ret->place = TAKE_FD(fd);
}

/* The object of the file @here, if that was met before and has the build-id that is mapped. */
static struct object *known_here(const struct finder *finder, const struct file_hint *hint,
				 const struct file_here *here)
{
	const struct file_stamp stamp = file_stamp_of(&here->stat);
	const struct known_file *known =
		here->place < 0 ? NULL : known_files_find(&finder->files, &stamp);

	if (!known || !known->object || !file_hint_has_build_id(hint, known->object->elf))
		return NULL;
	return known->object;
}

/* Was the file @here read before, and has it another build-id than what is mapped? */
static bool is_other_here(const struct finder *finder, const struct file_hint *hint,
			  const struct file_here *here)
{
	const struct file_stamp stamp = file_stamp_of(&here->stat);
	const struct known_file *known = known_files_find(&finder->files, &stamp);

	if (known && known->object)
		return !file_hint_has_build_id(hint, known->object->elf);
	return strangers_have(&finder->strangers, &stamp, hint->build_id, hint->build_id_size);
}

/* Holds the place of what is mapped: the process may end before it is asked for. */
static void need_place(const struct file_hint *hint, int *place)
{
	if (*place == NO_PLACE)
		*place = mapped_file_place(hint->pid, hint->start, hint->end);
}

static bool is_soon_read(const struct mapped_file *file)
{
	return file->stat.st_size <= SOON_READ_BYTES && !opener_holds_place(file->fd);
}

/*
 * Makes an object of the file @here. Errors: -ESTALE it is not the one that is mapped: then @place
 * will be needed.
 */
static int take_here(struct finder *finder, const struct file_hint *hint,
		     const struct file_here *here, int *place, struct object **ret,
		     struct fpl_err *err)
{
	struct mapped_file file = { .fd = -1, .source = MAPPED_FILE_PATH };

	if (finder->nr >= finder->max_open)
		return -ESTALE;

	int code = opener_take(finder->opener, 0, here->place, &file.fd, &file.stat);

	/* without a name it would be of another trust, and take a worker of its own */
	file.stat = here->stat;
	if (!code && !is_soon_read(&file))
		need_place(hint, place);
	if (!code)
		code = take_file(finder, hint, &file, ret, err);
	return code ? -ESTALE : 0; /* whatever stands here: what is mapped may be read */
}

/* Makes an object of the file that is mapped, whose place is @place or its errno. */
static int take_mapped(struct finder *finder, const struct file_hint *hint, int place,
		       struct object **ret, struct fpl_err *err)
{
	struct mapped_file file;
	int code = mapped_file_take(finder->opener, hint->pid, place, hint->path, &file, err);

	if (code)
		return code;
	code = take_file(finder, hint, &file, ret, err);
	if (code != -ESTALE || file.source != MAPPED_FILE_EXACT)
		return code;
	code = mapped_file_open_path(finder->opener, hint->pid, hint->path, &file, err);
	return code ? code : take_file(finder, hint, &file, ret, err);
}

/*
 * The object of a mapping by the path as it is here, for a fraction of what map_files costs: the
 * kernel has said which build-id is mapped, and the file that stands here has it. In the root of
 * the process another file with that build-id may stand there. Where the one here is safe with its
 * owner, it is the one that the build-id was made for, and a user who forges a build-id misleads
 * himself alone.
 */
static int from_here(struct finder *finder, const struct file_hint *hint,
		     const struct file_here *here, int *place, struct object **ret,
		     struct fpl_err *err)
{
	const struct trust trust = trust_of(&here->stat);

	if (here->place < 0 || !is_safe_with(&trust))
		return -ESTALE;
	*ret = known_here(finder, hint, here);
	if (*ret)
		return 0;
	/* the process may be in another root */
	if (is_other_here(finder, hint, here))
		return -ESTALE;
	return take_here(finder, hint, here, place, ret, err);
}

/* The object of a mapping by what is mapped there now, whose place is @place or its errno. */
static int from_process(struct finder *finder, const struct file_hint *hint,
			const struct file_here *here, int place, struct object **ret,
			struct fpl_err *err)
{
	*ret = find_known(finder, hint, place);
	/* of a process that has gone nothing better can be had (MAPPED_FILE_PATH) */
	if (!*ret && kill(hint->pid, 0) < 0 && errno == ESRCH)
		*ret = known_here(finder, hint, here);
	if (*ret)
		return 0;
	if (finder->nr >= finder->max_open)
		return fpl_fail(err, -EMFILE, "%s: %s", hint->path, strerror(EMFILE));
	return take_mapped(finder, hint, place, ret, err);
}

struct object *finder_object(struct finder *finder, const struct file_hint *hint)
{
	struct file_here here;
	struct object *object = NULL;
	struct fpl_err err = { 0 };
	int place = hint->place ? *hint->place : NO_PLACE;

	find_here(finder, hint, &here);

	int code = from_here(finder, hint, &here, &place, &object, &err);

	if (code == -ESTALE) {
		need_place(hint, &place);
		code = from_process(finder, hint, &here, place, &object, &err);
	}
	if (code)
		object = find_by_build_id(finder, hint);
	if (!object)
		note_limit(finder, code, hint, place < 0 ? here.place : place);
	cleanup_fd(&here.place);
	if (!hint->place)
		cleanup_fd(&place);
	return object ? object : refuse(finder, hint->path, &err);
}

/* Is @object one that the owner of the catalog knows, too, and keeps? */
static bool is_admitted(const struct object *object)
{
	return object && object->id && !object->is_retired;
}

struct object *finder_known(struct finder *finder, const struct file_hint *hint)
{
	struct file_here here;
	struct object *object = NULL;

	find_here(finder, hint, &here);
	if (here.place >= 0) {
		const struct trust trust = trust_of(&here.stat);

		pthread_mutex_lock(&finder->lock);
		if (is_safe_with(&trust))
			object = known_here(finder, hint, &here);
		pthread_mutex_unlock(&finder->lock);
	}
	cleanup_fd(&here.place);
	return is_admitted(object) ? object : NULL;
}

static bool is_kept(const struct object *object)
{
	return !object->is_forgotten;
}

void finder_forget(struct finder *finder, struct object *const *objects, size_t nr)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < nr; i++) {
		objects[i]->is_forgotten = true;
		share_give_back(&finder->owners, objects[i]->owner, 1);
	}
	pthread_mutex_lock(&finder->lock);
	known_files_forget(&finder->files, is_kept);
	pthread_mutex_unlock(&finder->lock);
	for (size_t i = 0; i < finder->nr; i++) {
		if (is_kept(finder->objects[i].object))
			finder->objects[nr_kept++] = finder->objects[i];
	}
	finder->nr = nr_kept;
}

struct object *finder_vdso(struct finder *finder)
{
	AUTO_FD int fd = -1;
	struct found found = { .elf = NULL };
	struct fpl_err err = { 0 };

	if (finder->vdso_tried)
		return finder->vdso;
	finder->vdso_tried = true;

	int code = vdso_open(&fd, &err);

	if (code == -ENOENT)
		return NULL;
	if (!code)
		code = read_file(finder, fd, "[vdso]", NULL, false, &found, &err);
	if (!code)
		code = add_object(finder, &found, "[vdso]", &finder->vdso, &err);
	if (!code)
		code = file_stamp_read(finder->vdso->elf->fd, &finder->vdso->stamp);
	return code ? refuse(finder, "[vdso]", &err) : finder->vdso;
}

struct parse_client *finder_client(struct finder *finder)
{
	return finder->client;
}
