/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vector.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "parse/client.h"
#include "parse/parser.h"
#include "obj/file_stat.h"
#include "proc/code_place.h"
#include "profile/code_loader.h"
#include "profile/code_refuse.h"
#include "profile/jvm_codes.h"
#include "symbolize/code_table.h"

#define RETRY_MIN_NS 250000000ull  /* a file that is not there yet is looked for again */
#define RETRY_MAX_NS 8000000000ull /* each time after twice the pause */
#define JVM_PAUSE_NS 200000000ull  /* between two readings of JVMs' code */
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
	uint64_t met_ns;	     /* CLOCK_MONOTONIC: last */
	struct code_table dump, map; /* empty until they are read */
};

struct code_names {
	VECTOR(struct code_image) images; /* by gen once finished */
	size_t last;			  /* found last */
	bool keeps_files;		  /* the run is cut */
	struct jvm_codes *jvms;		  /* held; its names are found after these */
	uint64_t jvm_ns;		  /* as an image's retry_ns: JVMs are read again */
	struct code_loader *loader;	  /* owned; NULL once finished */
	struct parser *parser;		  /* borrowed, until it is finished */
	struct opener *opener;		  /* of it */
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
	names->parser = parser;
	names->opener = parser_opener(parser);
	*ret = names;
	return 0;
}

static void close_place(struct code_image *image)
{
	if (image->has_place)
		code_place_close(&image->place);
	image->has_place = false;
}

static void close_files(struct code_image *image)
{
	close_place(image);
	cleanup_fd(&image->map_fd);
	cleanup_fd(&image->dump_fd);
	image->map_fd = image->dump_fd = -1;
}

void code_names_destroy(struct code_names *names)
{
	if (!names)
		return;
	code_loader_destroy(names->loader);
	jvm_codes_put(names->jvms);
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

/* Has the code of JVMs read, while it is there: what a sample has met is mostly still there a
 * little later. */
static void meet_jvm(struct code_names *names, const struct code_event *event, uint64_t now)
{
	if (!names->jvms)
		return;
	if (!jvm_codes_open(names->jvms, event->gen, event->pid, event->names_base) &&
	    now < names->jvm_ns)
		return;
	names->jvm_ns = now + JVM_PAUSE_NS;
	code_loader_read_jvms(names->loader, names->jvms);
}

static void meet(struct code_names *names, const struct code_event *event)
{
	struct code_image *image = find_image(names, event->gen);
	uint64_t now;

	if (!image)
		image = add_image(names, event);
	if (!image)
		return;
	now = clock_monotonic_ns();
	image->met_ns = now;
	if (event->names_base)
		meet_jvm(names, event, now);
	if (!image->has_place || (image->map_fd >= 0 && image->dump_fd >= 0))
		return;
	if (now < image->retry_ns)
		return;
	open_files(names, image);
	image->retry_ns = now + image->pause_ns;
	if (image->pause_ns < RETRY_MAX_NS)
		image->pause_ns *= 2;
}

static void list(struct code_names *names, const struct code_event *event)
{
	meet(names, event);
	if (names->jvms &&
	    jvm_codes_list(names->jvms, event->gen, event->pid, event->names_base, event->time_ns))
		code_loader_read_jvms(names->loader, names->jvms);
}

static struct code_order order_of(const struct code_image *image)
{
	struct code_order order = {
		.gen = image->gen,
		.parent_gen = image->parent_gen,
		.pid = image->pid,
		.own_pid = image->place.own_pid,
		.map_fd = image->map_fd,
		.dump_fd = image->dump_fd,
		.ended = image->ended,
		.at_exit = image->at_exit,
		.replaced_ns = image->replaced_ns,
	};

	code_place_map_name(&image->place, order.map_name, sizeof(order.map_name));
	return order;
}

/* Has what is open read, while the loop goes on; the image has nothing open any more then. */
static void order_files(struct code_names *names, struct code_image *image)
{
	struct code_order order = order_of(image);

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
		if (names->keeps_files)
			close_place(image);
		else
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
		close_place(image);
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
	case CODE_LISTED:
		list(names, event);
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

		if (loaded.dump.nr)
			image->dump = loaded.dump;
		if (loaded.map.nr)
			image->map = loaded.map;
	}
	code_loader_stats(names->loader, &names->loaded);
	code_loader_destroy(names->loader);
	names->loader = NULL;
	if (names->jvms)
		jvm_codes_finish(names->jvms, names->parser);
}

struct code_name code_name_of(const struct code_match *match, uint64_t lookup_addr)
{
	return (struct code_name){
		.symbol = match->name,
		.offset = lookup_addr - match->start,
		.was_replaced = match->was_replaced,
		.lines = match->lines,
	};
}

/* The image, or one it was forked from, that has @addr in a table. */
bool code_names_find(const struct code_names *names, uint64_t gen, uint64_t lookup_addr,
		     uint64_t time_ns, struct code_name *ret)
{
	uint64_t plain = fpl_code_plain(lookup_addr);

	for (unsigned i = 0; gen && i < PARENTS_MAX; i++) {
		const struct code_image *image = image_of(names, gen);
		struct code_match match;

		if (!image)
			return false;
		if (code_table_find(&image->dump, plain, time_ns, &match) ||
		    code_table_find(&image->map, plain, time_ns, &match)) {
			*ret = code_name_of(&match, plain);
			return true;
		}
		if (jvm_codes_find(names->jvms, gen, lookup_addr, time_ns, &match)) {
			*ret = code_name_of(&match, lookup_addr);
			return true;
		}
		gen = image->parent_gen;
	}
	return false;
}

void code_names_keep_jvms(struct code_names *names, struct jvm_codes *jvms)
{
	names->jvms = jvm_codes_get(jvms);
}

void code_names_meet(struct code_names *names, uint64_t gen, const uint64_t *frames, size_t nr)
{
	if (names->jvms)
		jvm_codes_meet(names->jvms, gen, frames, nr);
}

void code_names_keep_files(struct code_names *names)
{
	names->keeps_files = true;
}

struct code_orders {
	VECTOR(struct code_order) all;
};

void code_orders_destroy(struct code_orders *orders)
{
	if (!orders)
		return;
	for (size_t i = 0; i < orders->all.nr; i++) {
		cleanup_fd(&orders->all.list[i].map_fd);
		cleanup_fd(&orders->all.list[i].dump_fd);
	}
	vector_fini(&orders->all);
	free(orders);
}

/* A child has its parent's code, too. */
static void meet_parents(struct code_names *names, const struct code_image *image)
{
	uint64_t met_ns = image->met_ns, gen = image->parent_gen;

	for (unsigned i = 1; gen && i < PARENTS_MAX; i++) {
		struct code_image *parent = find_image(names, gen);

		if (!parent)
			return;
		if (parent->met_ns < met_ns)
			parent->met_ns = met_ns;
		gen = parent->parent_gen;
	}
}

/* Drop the images that have ended and were not met since @since_ns. */
static void forget_images(struct code_names *names, uint64_t since_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < names->images.nr; i++) {
		struct code_image *image = &names->images.list[i];

		if ((image->ended || image->replaced_ns) && image->met_ns < since_ns)
			close_files(image);
		else
			names->images.list[nr++] = *image;
	}
	names->images.nr = nr;
	names->last = 0;
}

static int copy_fd(int fd)
{
	return fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Without memory, or a descriptor, its code stays addresses. */
static void add_order(struct code_orders *orders, const struct code_image *image)
{
	struct code_order order = order_of(image);

	if (vector_reserve(&orders->all, orders->all.nr + 1))
		return;
	order.map_fd = copy_fd(image->map_fd);
	order.dump_fd = copy_fd(image->dump_fd);
	orders->all.list[orders->all.nr++] = order;
}

struct code_orders *code_names_orders(struct code_names *names, uint64_t since_ns)
{
	struct code_orders *orders = calloc(1, sizeof(*orders));

	if (!orders)
		return NULL;
	for (size_t i = 0; i < names->images.nr; i++)
		if (names->images.list[i].met_ns >= since_ns)
			meet_parents(names, &names->images.list[i]);
	forget_images(names, since_ns);
	for (size_t i = 0; i < names->images.nr; i++) {
		struct code_image *image = &names->images.list[i];

		if (image->met_ns < since_ns)
			continue;
		open_files(names, image);
		add_order(orders, image);
	}
	return orders;
}

/* Takes the order's descriptors over. Errors: -ENOMEM: they stay the order's. */
static int read_order(struct code_names *names, struct code_order *order)
{
	const struct code_image image = {
		.gen = order->gen,
		.parent_gen = order->parent_gen,
		.pid = order->pid,
		.map_fd = -1,
		.dump_fd = -1,
		.ended = true,
	};
	bool has_files = order->map_fd >= 0 || order->dump_fd >= 0;

	if (vector_reserve(&names->images, names->images.nr + 1))
		return -ENOMEM;
	names->images.list[names->images.nr++] = image;
	names->stats.images++;
	if (has_files && code_loader_submit(names->loader, order))
		code_refuse(&names->stats.refused, "out of memory");
	order->map_fd = order->dump_fd = -1;
	return 0;
}

int code_names_read(struct code_orders *orders, size_t max_bytes, struct parser *parser,
		    struct code_names **ret)
{
	struct code_names *names = NULL;
	int code;

	*ret = NULL;
	if (!orders->all.nr)
		return 0;
	code = code_names_create(max_bytes, parser, &names);
	for (size_t i = 0; !code && i < orders->all.nr; i++)
		code = read_order(names, &orders->all.list[i]);
	if (code) {
		code_names_destroy(names);
		return code;
	}
	code_names_finish(names);
	*ret = names;
	return 0;
}

void code_names_stats(const struct code_names *names, struct code_names_stats *ret)
{
	struct jvm_codes_stats jvms;

	jvm_codes_stats(names->jvms, &jvms);
	*ret = names->stats;
	ret->files = names->loaded.files;
	ret->refused += names->loaded.refused + jvms.refused;
	ret->functions = names->loaded.functions + jvms.functions;
	ret->bytes = names->loaded.bytes + jvms.bytes;
}
