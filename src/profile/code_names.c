/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/code_place.h"
#include "proc/process.h"
#include "profile/usage.h"
#include "symbolize/code_table.h"
#include "symbolize/jitdump.h"
#include "symbolize/perf_map.h"

#define RETRY_MIN_NS   250000000ull  /* a file that is not there yet is looked for again */
#define RETRY_MAX_NS   8000000000ull /* each time after twice the pause */
#define REFUSED_SAID   32u	     /* lines at warning level; the rest at debug */
#define MTIME_SLACK_NS 10000000ull   /* times of files are those of the last tick: 10 ms at most */
#define PARENTS_MAX    8u /* images a name is looked for in: a child has its parent's code */

struct code_image {
	uint64_t gen, parent_gen;
	uint32_t pid;
	struct code_place place; /* tmp_fd is owned */
	bool has_place, ended;
	int map_fd, dump_fd;		/* owned; -1: not there (yet) */
	bool map_refused, dump_refused; /* said */
	struct stat at_exit;		/* of the map */
	uint64_t replaced_ns;		/* CLOCK_MONOTONIC: exec; 0: not so */
	uint64_t retry_ns, pause_ns;
	struct code_table dump, map; /* empty until they are read */
};

struct code_names {
	struct code_image *images; /* owned [nr]; by gen once finished */
	size_t nr, room;
	size_t last; /* found last */
	size_t max_bytes, bytes;
	struct code_names_stats stats;
};

int code_names_create(size_t max_bytes, struct code_names **ret)
{
	struct code_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->max_bytes = max_bytes ? max_bytes : CODE_NAMES_MEMORY_DEFAULT;
	*ret = names;
	return 0;
}

static void close_files(struct code_image *image)
{
	if (image->has_place)
		code_place_close(&image->place);
	image->has_place = false;
	cleanup_fd(&image->map_fd);
	cleanup_fd(&image->dump_fd);
	image->map_fd = image->dump_fd = -1;
}

void code_names_destroy(struct code_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->nr; i++) {
		close_files(&names->images[i]);
		code_table_fini(&names->images[i].dump);
		code_table_fini(&names->images[i].map);
	}
	free(names->images);
	free(names);
}

static struct code_image *find_image(struct code_names *names, uint64_t gen)
{
	if (names->last < names->nr && names->images[names->last].gen == gen)
		return &names->images[names->last];
	for (size_t i = names->nr; i-- > 0;) {
		if (names->images[i].gen == gen) {
			names->last = i;
			return &names->images[i];
		}
	}
	return NULL;
}

/* Says why a file was not read, or not to its end. */
static void refuse(struct code_names *names, const char *why)
{
	names->stats.refused++;
	fpl_log(names->stats.refused <= REFUSED_SAID ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s: code made at run time stays addresses", why);
}

/* Opens what is there by now. A map is taken by its name again: it may have been made anew. */
static void open_files(struct code_names *names, struct code_image *image)
{
	struct fpl_err err = { 0 };
	int fd, code;

	if (!image->has_place)
		return;
	code = image->map_refused ? -EPERM : code_place_open_map(&image->place, &fd, &err);
	if (!code) {
		cleanup_fd(&image->map_fd);
		image->map_fd = fd;
	} else if (code != -ENOENT && !image->map_refused) {
		image->map_refused = true;
		refuse(names, err.msg);
	}
	/* what is mapped after an exec is the new image's */
	if (image->dump_fd >= 0 || image->dump_refused || image->ended || image->replaced_ns)
		return;
	code = code_place_open_dump(&image->place, &fd, &err);
	if (!code) {
		image->dump_fd = fd;
	} else if (code != -ENOENT && code != -ESRCH && code != -ENODATA) {
		image->dump_refused = true;
		refuse(names, err.msg);
	}
}

static struct code_image *add_image(struct code_names *names, const struct process *process)
{
	struct fpl_err err = { 0 };

	if (names->nr >= CODE_NAMES_IMAGES_MAX) {
		if (names->stats.beyond++ == 0)
			fpl_log(FPL_LOG_WARN,
				"more than %u programs make code at run time: that of the others "
				"stays addresses",
				CODE_NAMES_IMAGES_MAX);
		return NULL;
	}
	if (names->nr == names->room) {
		size_t room = names->room ? 2 * names->room : 16;
		struct code_image *images = reallocarray(names->images, room, sizeof(*images));

		if (!images)
			return NULL;
		names->images = images;
		names->room = room;
	}

	struct code_image *image = &names->images[names->nr++];

	*image = (struct code_image){
		.gen = process->gen,
		.parent_gen = process->parent_gen,
		.pid = process->pid,
		.map_fd = -1,
		.dump_fd = -1,
		.pause_ns = RETRY_MIN_NS,
	};
	names->stats.images++;
	image->has_place =
		!code_place_open((pid_t)process->pid, process->start_ns, &image->place, &err);
	if (!image->has_place)
		fpl_log(FPL_LOG_DEBUG, "%s: code made at run time stays addresses", err.msg);
	return image;
}

void code_names_meet(struct code_names *names, const struct process *process)
{
	if (!process->gen)
		return;

	struct code_image *image = find_image(names, process->gen);
	uint64_t now;

	if (!image)
		image = add_image(names, process);
	if (!image || !image->has_place || (image->map_fd >= 0 && image->dump_fd >= 0))
		return;
	now = usage_monotonic_ns();
	if (now < image->retry_ns)
		return;
	open_files(names, image);
	image->retry_ns = now + image->pause_ns;
	if (image->pause_ns < RETRY_MAX_NS)
		image->pause_ns *= 2;
}

/* Puts a table that was filled in order, and says what is to be said of its file. */
static void take_in(struct code_names *names, struct code_table *table,
		    const struct code_file_result *result, const char *path)
{
	char remark[256];

	names->stats.files++;
	if (code_file_remark(result, path, remark, sizeof(remark)))
		refuse(names, remark);
	if (!table->nr || code_table_arrange(table)) {
		code_table_fini(table);
		return;
	}
	names->stats.functions += result->nr_entries;
	names->bytes += code_table_bytes(table);
	fpl_log(FPL_LOG_DEBUG, "%s: %llu functions", path, (unsigned long long)result->nr_entries);
}

static size_t bytes_left(const struct code_names *names)
{
	return names->max_bytes > names->bytes ? names->max_bytes - names->bytes : 0;
}

static void read_dump(struct code_names *names, struct code_image *image)
{
	struct code_file_result result;
	struct fpl_err err = { 0 };
	char path[64];

	if (image->dump_fd < 0)
		return;
	snprintf(path, sizeof(path), "pid %u: jit-%d.dump", image->pid, (int)image->place.own_pid);
	code_table_init(&image->dump, bytes_left(names));
	if (jitdump_read(image->dump_fd, JITDUMP_READ_MAX, (uint32_t)image->place.own_pid,
			 &image->dump, &result, &err)) {
		code_table_fini(&image->dump);
		fpl_fail_in(&err, err.code, "%s", path);
		refuse(names, err.msg);
		return;
	}
	take_in(names, &image->dump, &result, path);
}

static uint64_t ns_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* May the file have been written to at or after @time_ns (CLOCK_MONOTONIC)? */
static bool is_written_since(const struct stat *stat, uint64_t time_ns)
{
	struct timespec real, monotonic;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	return ns_of(stat->st_mtim) + MTIME_SLACK_NS >= time_ns + (ns_of(real) - ns_of(monotonic));
}

/* Was the map written to after its image was gone: by the next image, or another process with the
 * same number? */
static bool is_overwritten(const struct code_image *image)
{
	struct stat stat;

	if (!image->ended && !image->replaced_ns)
		return false;
	if (fstat(image->map_fd, &stat) < 0)
		return true;
	if (image->replaced_ns)
		return is_written_since(&stat, image->replaced_ns);
	return stat.st_size != image->at_exit.st_size ||
	       ns_of(stat.st_mtim) != ns_of(image->at_exit.st_mtim);
}

static void read_map(struct code_names *names, struct code_image *image)
{
	struct code_file_result result;
	char name[64], path[96];
	int code;

	if (image->map_fd < 0)
		return;
	code_place_map_name(&image->place, name, sizeof(name));
	snprintf(path, sizeof(path), "pid %u: %s", image->pid, name);
	code_table_init(&image->map, bytes_left(names));
	code = perf_map_read(image->map_fd, PERF_MAP_READ_MAX, &image->map, &result);
	if (!code && is_overwritten(image))
		code = -ESTALE;
	if (code) {
		struct fpl_err err = { 0 };

		code_table_fini(&image->map);
		fpl_fail(&err, code, "%s: %s", path,
			 code == -ESTALE ? "was written to after the program had ended"
					 : strerror(-code));
		refuse(names, err.msg);
		return;
	}
	take_in(names, &image->map, &result, path);
}

static void read_files(struct code_names *names, struct code_image *image)
{
	read_dump(names, image);
	read_map(names, image);
	close_files(image);
}

void code_names_exec(struct code_names *names, uint32_t pid, uint64_t gen, uint64_t time_ns)
{
	for (size_t i = 0; i < names->nr; i++) {
		struct code_image *image = &names->images[i];

		if (image->pid != pid || image->gen == gen || image->ended || !image->has_place)
			continue;
		image->replaced_ns = time_ns;
		open_files(names, image);
		read_files(names, image);
	}
}

void code_names_exit(struct code_names *names, uint32_t pid)
{
	for (size_t i = 0; i < names->nr; i++) {
		struct code_image *image = &names->images[i];

		if (image->pid != pid || image->ended || !image->has_place)
			continue;
		image->ended = true;
		open_files(names, image);
		/* a file that says nothing of itself compares as overwritten */
		if (image->map_fd >= 0 && fstat(image->map_fd, &image->at_exit) < 0)
			image->at_exit.st_size = -1;
		image->has_place = false;
		code_place_close(&image->place);
	}
}

static int compare_gens(const void *left, const void *right)
{
	const struct code_image *a = left, *b = right;

	return (a->gen > b->gen) - (a->gen < b->gen);
}

void code_names_finish(struct code_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		open_files(names, &names->images[i]);
		read_files(names, &names->images[i]);
	}
	if (names->nr)
		qsort(names->images, names->nr, sizeof(*names->images), compare_gens);
}

static const struct code_image *image_of(const struct code_names *names, uint64_t gen)
{
	const struct code_image key = { .gen = gen };

	return names->nr ? bsearch(&key, names->images, names->nr, sizeof(key), compare_gens)
			 : NULL;
}

/* The image, or one it was forked from, that has @addr in a table. */
bool code_names_find(const struct code_names *names, uint64_t gen, uint64_t lookup_addr,
		     uint64_t time_ns, struct code_name *ret)
{
	for (unsigned i = 0; gen && i < PARENTS_MAX; i++) {
		const struct code_image *image = image_of(names, gen);
		struct code_match match;

		if (!image)
			return false;
		if (code_table_find(&image->dump, lookup_addr, time_ns, &match) ||
		    code_table_find(&image->map, lookup_addr, time_ns, &match)) {
			*ret = (struct code_name){
				.symbol = match.name,
				.offset = lookup_addr - match.start,
				.was_replaced = match.was_replaced,
			};
			return true;
		}
		gen = image->parent_gen;
	}
	return false;
}

bool code_names_has(const struct code_names *names, uint64_t gen)
{
	for (unsigned i = 0; gen && i < PARENTS_MAX; i++) {
		const struct code_image *image = image_of(names, gen);

		if (!image)
			return false;
		if (image->dump.nr || image->map.nr)
			return true;
		gen = image->parent_gen;
	}
	return false;
}

void code_names_stats(const struct code_names *names, struct code_names_stats *ret)
{
	*ret = names->stats;
	ret->bytes = names->bytes;
}
