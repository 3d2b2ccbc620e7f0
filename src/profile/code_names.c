/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vector.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "parse/parser.h"
#include "obj/file_stat.h"
#include "proc/code_place.h"
#include "profile/code_loader.h"
#include "symbolize/code_table.h"

#define RETRY_MIN_NS 250000000ull  /* a file that is not there yet is looked for again */
#define RETRY_MAX_NS 8000000000ull /* each time after twice the pause */
#define PARENTS_MAX  8u /* images a name is looked for in: a child has its parent's code */

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
	VECTOR(struct code_image) images; /* by gen once finished */
	size_t last;			  /* found last */
	struct code_loader *loader;	  /* owned; NULL once finished */
	struct opener *opener;		  /* borrowed */
	struct code_names_stats stats;
	struct code_loader_stats loaded; /* once finished */
};

int code_names_create(size_t max_bytes, struct parser *parser, struct code_names **ret)
{
	struct code_names *names = calloc(1, sizeof(*names));

	if (names)
		names->loader = code_loader_create(parser, max_bytes ? max_bytes
								     : CODE_NAMES_MEMORY_DEFAULT);
	if (!names || !names->loader) {
		free(names);
		return -ENOMEM;
	}
	names->opener = parser_opener(parser);
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
	code_loader_destroy(names->loader);
	for (size_t i = 0; i < names->images.nr; i++) {
		close_files(&names->images.list[i]);
		code_table_fini(&names->images.list[i].dump);
		code_table_fini(&names->images.list[i].map);
	}
	vector_fini(&names->images);
	free(names);
}

static struct code_image *find_image(struct code_names *names, uint64_t gen)
{
	if (names->last < names->images.nr && names->images.list[names->last].gen == gen)
		return &names->images.list[names->last];
	for (size_t i = names->images.nr; i-- > 0;) {
		if (names->images.list[i].gen == gen) {
			names->last = i;
			return &names->images.list[i];
		}
	}
	return NULL;
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
		code_refuse(&names->stats.refused, err.msg);
	}
	/* what is mapped after an exec is the new image's */
	if (image->dump_fd >= 0 || image->dump_refused || image->ended || image->replaced_ns)
		return;
	code = code_place_open_dump(&image->place, &fd, &err);
	if (!code) {
		image->dump_fd = fd;
	} else if (code != -ENOENT && code != -ESRCH && code != -ENODATA) {
		image->dump_refused = true;
		code_refuse(&names->stats.refused, err.msg);
	}
}

static struct code_image *add_image(struct code_names *names, const struct code_event *event)
{
	struct fpl_err err = { 0 };

	if (names->images.nr >= CODE_NAMES_IMAGES_MAX) {
		if (names->stats.beyond++ == 0)
			fpl_log(FPL_LOG_WARN,
				"more than %u programs make code at run time: that of the others "
				"stays addresses",
				CODE_NAMES_IMAGES_MAX);
		return NULL;
	}
	if (vector_reserve(&names->images, names->images.nr + 1))
		return NULL;

	struct code_image *image = &names->images.list[names->images.nr++];

	*image = (struct code_image){
		.gen = event->gen,
		.parent_gen = event->parent_gen,
		.pid = event->pid,
		.map_fd = -1,
		.dump_fd = -1,
		.pause_ns = RETRY_MIN_NS,
	};
	names->stats.images++;
	image->has_place = !code_place_open(names->opener, (pid_t)event->pid, event->start_ns,
					    &image->place, &err);
	if (!image->has_place)
		fpl_log(FPL_LOG_DEBUG, "%s: code made at run time stays addresses", err.msg);
	return image;
}

static void meet(struct code_names *names, const struct code_event *event)
{
	struct code_image *image = find_image(names, event->gen);
	uint64_t now;

	if (!image)
		image = add_image(names, event);
	if (!image || !image->has_place || (image->map_fd >= 0 && image->dump_fd >= 0))
		return;
	now = clock_monotonic_ns();
	if (now < image->retry_ns)
		return;
	open_files(names, image);
	image->retry_ns = now + image->pause_ns;
	if (image->pause_ns < RETRY_MAX_NS)
		image->pause_ns *= 2;
}

/* Has what is open read, while the loop goes on; the image has nothing open any more then. */
static void order_files(struct code_names *names, struct code_image *image)
{
	struct code_order order = {
		.gen = image->gen,
		.pid = image->pid,
		.own_pid = image->place.own_pid,
		.map_fd = image->map_fd,
		.dump_fd = image->dump_fd,
		.ended = image->ended,
		.at_exit = image->at_exit,
		.replaced_ns = image->replaced_ns,
	};

	code_place_map_name(&image->place, order.map_name, sizeof(order.map_name));
	image->map_fd = image->dump_fd = -1;
	close_files(image);
	if (order.map_fd < 0 && order.dump_fd < 0)
		return;
	if (code_loader_submit(names->loader, &order))
		code_refuse(&names->stats.refused, "out of memory");
}

static void end_image(struct code_names *names, const struct code_event *event)
{
	for (size_t i = 0; i < names->images.nr; i++) {
		struct code_image *image = &names->images.list[i];

		if (image->pid != event->pid || image->gen == event->gen || image->ended ||
		    !image->has_place)
			continue;
		image->replaced_ns = event->time_ns;
		open_files(names, image);
		order_files(names, image);
	}
}

static void end_process(struct code_names *names, uint32_t pid)
{
	for (size_t i = 0; i < names->images.nr; i++) {
		struct code_image *image = &names->images.list[i];

		if (image->pid != pid || image->ended || !image->has_place)
			continue;
		image->ended = true;
		open_files(names, image);
		/* a file that says nothing of itself compares as overwritten */
		if (image->map_fd >= 0 && file_stat(image->map_fd, &image->at_exit, NULL))
			image->at_exit.st_size = -1;
		image->has_place = false;
		code_place_close(&image->place);
	}
}

void code_names_tell(struct code_names *names, const struct code_event *event)
{
	switch (event->kind) {
	case CODE_MET:
		meet(names, event);
		break;
	case CODE_EXEC:
		end_image(names, event);
		break;
	case CODE_EXIT:
		end_process(names, event->pid);
		break;
	}
}

static int compare_gens(const void *left, const void *right)
{
	const struct code_image *a = left, *b = right;

	return (a->gen > b->gen) - (a->gen < b->gen);
}

static struct code_image *image_of(const struct code_names *names, uint64_t gen)
{
	const struct code_image key = { .gen = gen };

	return names->images.nr ? bsearch(&key, names->images.list, names->images.nr, sizeof(key),
					  compare_gens)
				: NULL;
}

void code_names_finish(struct code_names *names)
{
	struct code_loaded loaded;

	for (size_t i = 0; i < names->images.nr; i++) {
		open_files(names, &names->images.list[i]);
		order_files(names, &names->images.list[i]);
	}
	if (names->images.nr)
		qsort(names->images.list, names->images.nr, sizeof(*names->images.list),
		      compare_gens);
	code_loader_finish(names->loader);
	while (code_loader_take(names->loader, &loaded)) {
		struct code_image *image = image_of(names, loaded.gen);

		image->dump = loaded.dump;
		image->map = loaded.map;
	}
	code_loader_stats(names->loader, &names->loaded);
	code_loader_destroy(names->loader);
	names->loader = NULL;
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

void code_names_stats(const struct code_names *names, struct code_names_stats *ret)
{
	*ret = names->stats;
	ret->files = names->loaded.files;
	ret->refused += names->loaded.refused;
	ret->functions = names->loaded.functions;
	ret->bytes = names->loaded.bytes;
}
