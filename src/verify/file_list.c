/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/file_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

void file_list_fini(struct file_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->files[i].path);
	free(list->files);
	memset(list, 0, sizeof(*list));
}

static int append(struct file_list *list, const char *path, const struct stat *st, bool from_folder)
{
	struct listed_file *file;

	if (array_reserve(&list->files, sizeof(*list->files), &list->capacity, list->nr + 1))
		return -ENOMEM;
	file = &list->files[list->nr];
	file->path = strdup(path);
	if (file->path == NULL)
		return -ENOMEM;
	file->size = (uint64_t)st->st_size;
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	file->from_folder = from_folder;
	list->nr++;
	return 0;
}

static bool looks_like_elf(const char *path)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char magic[4];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

static int by_inode(const void *a, const void *b)
{
	const struct listed_file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Keep one name of each file in files[from..]. */
static void drop_links(struct file_list *list, size_t from)
{
	size_t kept = from;

	qsort(list->files + from, list->nr - from, sizeof(list->files[0]), by_inode);
	for (size_t i = from; i < list->nr; i++) {
		struct listed_file *last = &list->files[kept - 1];

		if (kept > from && last->dev == list->files[i].dev &&
		    last->ino == list->files[i].ino)
			free(list->files[i].path);
		else
			list->files[kept++] = list->files[i];
	}
	list->nr = kept;
}

static int add_folder(struct file_list *list, const char *path, struct fpl_err *err)
{
	AUTO_FREE char *root = strdup(path);
	char *roots[] = { root, NULL };
	size_t from = list->nr;
	FTS *tree = root != NULL ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	FTSENT *entry;
	int rc = 0;

	if (tree == NULL)
		return fpl_fail(err, -ENOMEM, "%s: no memory to list it", path);
	while (rc == 0 && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_F && S_ISREG(entry->fts_statp->st_mode) &&
		    looks_like_elf(entry->fts_path))
			rc = append(list, entry->fts_path, entry->fts_statp, true);
	}
	fts_close(tree);
	if (rc != 0)
		return fpl_fail(err, rc, "%s: no memory for the list of its files", path);
	if (list->nr > from)
		drop_links(list, from);
	return 0;
}

int file_list_add(struct file_list *list, const char *path, struct fpl_err *err)
{
	struct stat st;
	int rc;

	if (stat(path, &st) != 0)
		return fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return add_folder(list, path, err);
	rc = append(list, path, &st, false);
	return rc != 0 ? fpl_fail(err, rc, "%s: no memory", path) : 0;
}

static int by_size(const void *a, const void *b)
{
	const struct listed_file *x = a, *y = b;

	return x->size > y->size ? -1 : x->size < y->size;
}

void file_list_sort_by_size(struct file_list *list)
{
	if (list->nr != 0)
		qsort(list->files, list->nr, sizeof(list->files[0]), by_size);
}
