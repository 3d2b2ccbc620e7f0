/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define LAYERS_MAX   512u /* of one overlay; the kernel allows 500 */
#define OVERLAYS_MAX 4u	  /* on top of each other; the kernel allows 2 */

static bool is_local_type(const char *type)
{
	static const char *const types[] = {
		"ext4",	 "xfs",	     "btrfs", "tmpfs", "ext2",	    "ext3",
		"f2fs",	 "bcachefs", "zfs",   "ramfs", "hugetlbfs", "squashfs",
		"erofs", "iso9660",  "vfat",  "exfat", "devtmpfs",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

static int octal_digit(char c)
{
	return c >= '0' && c <= '7' ? c - '0' : -1;
}

/* Undo the kernel's escapes of blanks and backslashes, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && octal_digit(from[1]) >= 0 && octal_digit(from[2]) >= 0 &&
		    octal_digit(from[3]) >= 0) {
			*to = (char)(octal_digit(from[1]) << 6 | octal_digit(from[2]) << 3 |
				     octal_digit(from[3]));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS */
static bool parse_line(char *line, struct mount *ret)
{
	char *fields[6], *type, *options;
	unsigned long id;
	char *end, *tags;
	unsigned int major_nr, minor_nr;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&line, " ");
	if (!fields[5] || !line)
		return false;
	/* tags hold no "-" of their own; there may be no tags */
	tags = strncmp(line, "- ", 2) == 0 ? line : strstr(line, " - ");
	if (!tags)
		return false;
	tags = strchr(tags, '-') + 2;
	type = strsep(&tags, " ");
	strsep(&tags, " ");
	options = tags;
	id = strtoul(fields[0], &end, 10);
	if (*end || end == fields[0] || !options ||
	    sscanf(fields[2], "%u:%u", &major_nr, &minor_nr) != 2)
		return false;
	unescape(fields[4]);
	unescape(type);
	unescape(options);
	*ret = (struct mount){
		.id = id,
		.dev_major = major_nr,
		.dev_minor = minor_nr,
		.is_overlay = strcmp(type, "overlay") == 0,
		.is_local = is_local_type(type),
		.point = fields[4],
		.type = type,
		.options = options,
	};
	return true;
}

int mount_list_parse(char *text, struct mount_list *ret)
{
	struct mount_list list = { .text = text };
	struct mount mount;

	while (text && list.nr < MOUNTS_MAX) {
		if (!parse_line(strsep(&text, "\n"), &mount))
			continue;
		if (array_reserve(&list.mounts, sizeof(*list.mounts), &list.room, list.nr + 1)) {
			mount_list_fini(&list);
			return -ENOMEM;
		}
		list.mounts[list.nr++] = mount;
	}
	*ret = list;
	return 0;
}

void mount_list_fini(struct mount_list *list)
{
	free(list->text);
	free(list->mounts);
	*list = (struct mount_list){ 0 };
}

const struct mount *mount_list_by_id(const struct mount_list *list, uint64_t id)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (list->mounts[i].id == id)
			return &list->mounts[i];
	}
	return NULL;
}

const struct mount *mount_list_by_device(const struct mount_list *list, uint32_t dev_major,
					 uint32_t dev_minor)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (list->mounts[i].dev_major == dev_major &&
		    list->mounts[i].dev_minor == dev_minor)
			return &list->mounts[i];
	}
	return NULL;
}

/* Is @path at or below @point, which is @length long? */
static bool is_below(const char *path, const char *point, size_t length)
{
	return strncmp(path, point, length) == 0 &&
	       (length <= 1 || path[length] == '/' || !path[length]);
}

const struct mount *mount_list_by_path(const struct mount_list *list, const char *path)
{
	const struct mount *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; i < list->nr; i++) {
		size_t length = strlen(list->mounts[i].point);

		if (length < best_length || !length ||
		    !is_below(path, list->mounts[i].point, length))
			continue;
		best = &list->mounts[i];
		best_length = length;
	}
	return best;
}

static bool is_local(const struct mount *mount, const struct mount_list *own,
		     unsigned int nr_above);

/* Take the next layer off @rest, which ends at an unescaped colon. */
static bool next_layer(const char **rest, char ret[PATH_MAX])
{
	const char *from = *rest;
	size_t size = 0;

	/* two colons separate layers that hold data only */
	while (*from == ':')
		from++;
	if (!*from || *from == ',')
		return false;
	for (; *from && *from != ':' && *from != ',' && size < PATH_MAX - 1; from++) {
		if (*from == '\\' && from[1])
			from++;
		ret[size++] = *from;
	}
	ret[size] = '\0';
	*rest = from;
	return true;
}

/* Are all layers that one option of an overlay names local? */
static bool are_local(const char *layers, const struct mount_list *own, unsigned int nr_above,
		      unsigned int *nr_seen)
{
	char path[PATH_MAX];

	while (next_layer(&layers, path)) {
		const struct mount *below = path[0] == '/' ? mount_list_by_path(own, path) : NULL;

		if (++*nr_seen > LAYERS_MAX || !below || !is_local(below, own, nr_above + 1))
			return false;
	}
	return true;
}

static bool has_local_layers(const struct mount *overlay, const struct mount_list *own,
			     unsigned int nr_above)
{
	static const char *const keys[] = { "lowerdir=", "upperdir=", "lowerdir+=", "datadir+=" };
	unsigned int nr_seen = 0;

	for (const char *option = overlay->options; option; option = strchr(option, ',')) {
		option += *option == ',';
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			size_t length = strlen(keys[i]);

			if (strncmp(option, keys[i], length) == 0 &&
			    !are_local(option + length, own, nr_above, &nr_seen))
				return false;
		}
	}
	return nr_seen > 0;
}

static bool is_local(const struct mount *mount, const struct mount_list *own, unsigned int nr_above)
{
	const struct mount *known;

	if (!mount->is_overlay)
		return mount->is_local;
	known = mount_list_by_device(own, mount->dev_major, mount->dev_minor);
	if (!known || !known->is_overlay || nr_above >= OVERLAYS_MAX)
		return false;
	return strcmp(known->point, "/") == 0 || has_local_layers(known, own, nr_above);
}

bool mount_is_local(const struct mount *mount, const struct mount_list *own)
{
	return is_local(mount, own, 0);
}
